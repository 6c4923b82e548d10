# SPDX-License-Identifier: GPL-2.0-or-later
"""The captured octets of one direction, and the startup frames in them."""
