# SPDX-License-Identifier: GPL-2.0-or-later
"""Convert 32-bit sequence numbers to positions that never wrap.

Inside the stream core, a *position* in a TCP half connection is an integer whose low 32 bits are
the sequence number.  In ``stream`` and ``clean``, only this module and the straight path handle the
wrap.  MSNs and TSNs have 32 bits, too, and are converted here.  DDP-SSNs have 16 bits, and are
converted in :mod:`scapy_mpa.dialects.sctp.half`.
"""

from __future__ import annotations

from typing import Final

SEQUENCE_SPACE: Final = 1 << 32
"""Number of sequence numbers: 0 follows the last one."""

SEQUENCE_WINDOW: Final = 1 << 30
"""A sequence number farther from the highest position, in octets, does not belong to its stream."""

NEAR_OCTETS: Final = 1 << 24
"""Octets with numbers this near are most likely of the same connection.  It is more than nearly any
window, and more than one side of a router is ahead of the other in a capture.  By chance, the
numbers of two connections are as near in 1 of 128 cases."""

SEQUENCE_HALF: Final = SEQUENCE_SPACE // 2
SEQUENCE_MASK: Final = SEQUENCE_SPACE - 1

NOWHERE: Final = (1 << 63) - 1
"""A position that no octets reach."""


def first_position(seq: int) -> int:
    """Return the position for the first sequence number seen.

    It is increased by 2^32, so that the positions of earlier octets are above zero, too.
    """
    # Not a sum, which would take 1.5 times the memory.
    return seq | SEQUENCE_SPACE


def unwrap(seq: int, near: int) -> int:
    """Return the position closest to ``near`` that has the sequence number ``seq``."""
    return near + ((seq - near + SEQUENCE_HALF) & SEQUENCE_MASK) - SEQUENCE_HALF


def compact(position: int) -> int:
    """Return the same position as a smaller object: a sum takes 1.5 times the memory."""
    return position & NOWHERE


def sequence_number(position: int) -> int:
    """Return the 32-bit sequence number of a position."""
    return position & SEQUENCE_MASK
