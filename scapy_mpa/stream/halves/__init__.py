# SPDX-License-Identifier: GPL-2.0-or-later
"""One direction of a TCP connection: its segments, and the readers of its octets."""
