# SPDX-License-Identifier: GPL-2.0-or-later
"""One direction of a TCP connection: segments in, and what reads its octets."""
