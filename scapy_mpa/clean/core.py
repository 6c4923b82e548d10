# SPDX-License-Identifier: GPL-2.0-or-later
"""What the stream core knows of a direction, in recovery or on the straight path."""

from __future__ import annotations

import sys
from typing import Final, NamedTuple

from scapy_mpa.stream.connections.connection import Connection
from scapy_mpa.stream.direction import Direction
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.halves.phase import Phase

NEVER: Final = sys.maxsize
"""A frame number and a position higher than any other."""


class Core(NamedTuple):
    """One direction."""

    half: HalfConnection
    """The direction in recovery.  Its phase is right on the straight path, too."""
    high: int | None
    """The highest position captured."""
    awaited: int
    """Position of the first missing octet that later FPDUs wait for, NEVER if none do."""
    has_fpdus: bool
    """Whether an FPDU was found."""


def cores_of(connection: Connection, first: Direction | None) -> tuple[Core, Core]:
    """Return what is known of both directions of a connection.

    :param first: direction 0, if the connection is on the straight path.
    """
    halves = connection.halves
    return _core(halves[0], first), _core(halves[1], None if first is None else first.peer)


def _core(half: HalfConnection, direction: Direction | None) -> Core:
    current = direction if direction is not None and not direction.reads_no_fpdus else half
    missing = current.first_missing if half.phase is Phase.FULL else None
    return Core(half, current.high, NEVER if missing is None else missing, half.counters.fpdus > 0)
