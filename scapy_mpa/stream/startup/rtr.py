# SPDX-License-Identifier: GPL-2.0-or-later
"""What the Initiator sends first after a Reply that accepts: an Rtr Frame, or FPDUs.

S in Request and Reply of revision 1 announces an Rtr Frame (rtr-frame-proposal-2007 2), or means
nothing.  The Initiator's octets are held until the first ones show which.
"""

from __future__ import annotations

from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.halves.phase import Phase
from scapy_mpa.stream.octets.scan import FoundStartup, rtr_at
from scapy_mpa.stream.startup.startup_phase import StartupPhase
from scapy_mpa.wire.startup import STARTUP_HEADER_LENGTH


def find(startup: StartupPhase, *, final: bool) -> None:
    """Take the Rtr Frame after a Reply that accepts, or begin FPDUs if there is none.

    :param final: nothing more will come.
    """
    half, _ = startup.sides
    found = _look(half, startup.origins[half.direction], final=final)
    if found is None:
        return
    if half.phase in (Phase.HELD, Phase.FULL) and not isinstance(found, bool):
        _take(half, found)
    else:
        startup.begin_fpdus()


def _take(half: HalfConnection, found: FoundStartup) -> None:
    island = half.islands.at(found.position)
    assert island is not None
    half.owner.on_startup(half, island, found)


def _look(half: HalfConnection, position: int, *, final: bool) -> FoundStartup | bool | None:
    """Return the Rtr Frame at a position, False if there is none, None if that is not known."""
    island = half.islands.at(position)
    if island is None or not island.holds(position):
        # Octets after a hole do not show what begins at the position.
        return False if final and (half.high or 0) <= position else None
    if final and island.end == half.high and island.end < position + STARTUP_HEADER_LENGTH:
        # The octets sent are too few for an Rtr Frame.
        return False
    return rtr_at(island, position, final=final)
