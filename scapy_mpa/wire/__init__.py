# SPDX-License-Identifier: GPL-2.0-or-later
"""Codecs and rules of MPA, DDP and RDMAP: octets in, values out, no state and no I/O."""
