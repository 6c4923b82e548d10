# SPDX-License-Identifier: GPL-2.0-or-later
"""From 32-bit sequence numbers to positions that never wrap.

Inside the stream core a place in a TCP half connection is a *position*: an integer whose low 32
bits are the sequence number.  Of the rooms ``stream`` and ``clean`` none but this module and the
straight path reckon with their wrap; MSNs and TSNs, which do so at the same place, become positions
here, too.  DDP-SSNs have 16 bits, and become numbers that never wrap in
:mod:`scapy_mpa.dialects.sctp.half`.
"""

from __future__ import annotations

from typing import Final

SEQUENCE_SPACE: Final = 1 << 32
"""How many sequence numbers there are: 0 follows the last one."""

SEQUENCE_WINDOW: Final = 1 << 30
"""Octets from the highest position seen beyond which a sequence number means something else."""

SEQUENCE_HALF: Final = SEQUENCE_SPACE // 2
SEQUENCE_MASK: Final = SEQUENCE_SPACE - 1

NOWHERE: Final = 1 << 62
"""A position that no octets reach."""

_ANY: Final = (1 << 63) - 1


def first_position(seq: int) -> int:
    """Return the position for the first sequence number seen.

    It lies one lap up, so that octets from before it still get a position above zero.
    """
    # As an object that is kept: a sum takes half as much memory again.
    return seq | SEQUENCE_SPACE


def unwrap(seq: int, near: int) -> int:
    """Return the position with sequence number ``seq`` that lies closest to ``near``."""
    return near + ((seq - near + SEQUENCE_HALF) & SEQUENCE_MASK) - SEQUENCE_HALF


def compact(position: int) -> int:
    """Return the same position as an object to be kept: a sum takes half as much memory again."""
    return position & _ANY


def sequence_number(position: int) -> int:
    """Return the 32-bit sequence number of a position, or of any number that stands for one."""
    return position & SEQUENCE_MASK
