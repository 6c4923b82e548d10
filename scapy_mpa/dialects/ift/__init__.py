# SPDX-License-Identifier: GPL-2.0-or-later
"""iWARP Framing for TCP: frames in the octets of one direction, and what is placed."""
