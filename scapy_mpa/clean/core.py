# SPDX-License-Identifier: GPL-2.0-or-later
"""What the stream core knows of a direction, whichever path has it."""

from __future__ import annotations

import sys
from typing import Final, NamedTuple

from scapy_mpa.stream.connections.connection import Connection
from scapy_mpa.stream.direction import Direction
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.halves.phase import Phase

NEVER: Final = sys.maxsize
"""The number of no frame, and a position that no octets reach."""


class Core(NamedTuple):
    """One direction."""

    half: HalfConnection
    """As recovery has it, or had it last: its phase is still the same."""
    high: int | None
    """The highest position seen."""
    awaited: int
    """Position of the first octet that FPDUs after it wait for, NEVER if there is none such."""
    has_fpdus: bool
    """Whether an FPDU was found."""


def cores_of(connection: Connection, one: Direction | None) -> tuple[Core, Core]:
    """Return what is known of both directions of a connection.

    :param one: direction 0, if the straight path has the connection.
    """
    first, second = connection.halves
    return _core(first, one), _core(second, None if one is None else one.peer)


def _core(half: HalfConnection, direction: Direction | None) -> Core:
    has_it = direction if direction is not None and not direction.takes_no_octets else half
    missing = has_it.first_missing if half.phase is Phase.FULL else None
    return Core(
        half,
        has_it.high,
        NEVER if missing is None else missing,
        half.fpdus > 0 or has_it.fpdus > 0,
    )
