# SPDX-License-Identifier: GPL-2.0-or-later
"""What the Initiator sends first after a Reply that accepts: an Rtr Frame, or FPDUs.

S in Request and Reply of revision 1 announces an Rtr Frame (rtr-frame-proposal-2007 2), or means
nothing.  Unless the user says that the proposal is spoken, the Initiator's octets are held until
their first ones show which.
"""

from __future__ import annotations

from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.halves.phase import Phase
from scapy_mpa.stream.octets.scan import FoundStartup, rtr_at
from scapy_mpa.stream.startup.startup_phase import StartupPhase
from scapy_mpa.stream.startup.steps import StartupState
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import ErrorCode
from scapy_mpa.wire.startup import STARTUP_HEADER_LENGTH


def find(startup: StartupPhase, *, final: bool) -> None:
    """See what the Initiator sends after a Reply that accepts.

    :param final: nothing more will come.
    """
    assert startup.initiator is not None
    half = startup.halves[startup.initiator]
    found = _look(half, startup.origins[startup.initiator], final=final)
    if found is None:
        return
    if half.phase in (Phase.HELD, Phase.FULL) and not isinstance(found, bool):
        _take(half, found)
    else:
        _miss(startup, half)
        startup.begin_fpdus()


def _miss(startup: StartupPhase, half: HalfConnection) -> None:
    """Report that something else comes, where the user says that S is more than an echo."""
    position = startup.origins[half.direction]
    if startup.forced is not Dialect.RTR_PROPOSAL_2007 or (half.high or 0) <= position:
        return
    if all(each is not None and each.revision == 1 and each.s_bit for each in startup.declared):
        text = "no Rtr Frame, which S of Request and Reply has announced"
        text += " (rtr-frame-proposal-2007 2)"
        half.wrong(ErrorCode.INVALID_STARTUP_FRAME, position, text)


def find_unanswered(startup: StartupPhase, half: HalfConnection, *, final: bool) -> None:
    """Take an Rtr Frame after a Request whose Reply was not captured."""
    if startup.state is StartupState.REQUESTED and half.phase is Phase.HELD:
        found = _look(half, startup.origins[half.direction], final=final)
        if isinstance(found, FoundStartup):
            _take(half, found)


def _take(half: HalfConnection, found: FoundStartup) -> None:
    island = half.islands.at(found.position)
    assert island is not None
    half.owner.on_startup(half, island, found)


def _look(half: HalfConnection, position: int, *, final: bool) -> FoundStartup | bool | None:
    """Return the Rtr Frame at a position, False if there is none, None if that is not known."""
    island = half.islands.at(position)
    if island is None or not island.holds(position):
        # What lies after a hole there does not begin there.
        return False if final and (half.high or 0) <= position else None
    if final and island.end == half.high and island.end < position + STARTUP_HEADER_LENGTH:
        # No more was sent.
        return False
    return rtr_at(island, position, final=final)
