# SPDX-License-Identifier: GPL-2.0-or-later
"""Startup frames of startups that were rejected before the one that is known.

That leaves the TCP connection open for another startup (RFC 5044 7.1.2 rule 3).  They change
nothing any more when they are captured late, and are told all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.octets.scan import FoundStartup, startups_between
from scapy_mpa.stream.sequence import unwrap
from scapy_mpa.stream.startup.answers import had_others, received_before, rejected_up_to, replied_to
from scapy_mpa.stream.startup.steps import StartupState
from scapy_mpa.wire.startup import StartupKind

if TYPE_CHECKING:
    from scapy_mpa.stream.startup.startup_phase import StartupPhase

__all__ = ["is_bygone", "may_be_late", "tell_missed"]


def is_bygone(startup: StartupPhase, half: HalfConnection, found: FoundStartup) -> bool:
    """Tell whether a startup frame is of a startup that was rejected before the one that is known,
    by what the Responder had received."""
    if _is_of_rejected(startup, half, found):
        return True
    if found.startup.kind is StartupKind.REPLY:
        return found.startup.rejected and _rejects_another(startup, half, found)
    return found.startup.kind is StartupKind.REQUEST and _precedes_accepted(startup, half, found)


def _rejects_another(startup: StartupPhase, half: HalfConnection, found: FoundStartup) -> bool:
    """Tell whether a Reply rejects a Request before the last one, or one that is known to be
    rejected: the Responder had received no more than that, but something before it."""
    is_rejected = startup.state is StartupState.REJECTED
    if not (is_rejected or startup.state is StartupState.REQUESTED):
        return False
    received = received_before(startup, half, found)
    if received is None or half.direction == startup.initiator:
        return False
    asking = startup.halves[1 - half.direction]
    end = (rejected_up_to(startup) if is_rejected else startup.origins)[asking.direction]
    if not end:
        # Of the Request that was rejected nothing is known.
        return False
    had = unwrap(received, end)
    is_before = had <= end if is_rejected else had < end
    return is_before and (asking.begin is None or had > asking.begin)


def _precedes_accepted(startup: StartupPhase, half: HalfConnection, found: FoundStartup) -> bool:
    """Tell whether a Request stands before the one that was accepted by a Reply captured before
    both."""
    reply = startup.declared[1 - half.direction]
    if startup.state is not StartupState.IDLE or half.direction != startup.initiator:
        return False
    return reply is not None and had_others(
        half,
        found.end,
        replied_to(startup),
        markers=reply.markers,
        crc=reply.crc or found.startup.crc,
    )


def _is_of_rejected(startup: StartupPhase, half: HalfConnection, found: FoundStartup) -> bool:
    """Tell whether a startup frame ends no later than those of a connection that was rejected, and
    then used for another startup."""
    received = startup.received
    return (
        received is not None
        and received.rejected is not None
        and found.end <= received.rejected[half.direction]
    )


def may_be_late(startup: StartupPhase, half: HalfConnection, found: FoundStartup) -> bool:
    """Tell whether a startup frame captured behind what has followed it may have been rejected."""
    is_asking = half.direction == startup.initiator
    if found.startup.kind is StartupKind.REQUEST:
        return is_asking
    return found.startup.rejected and not is_asking


def tell_missed(startup: StartupPhase, half: HalfConnection, limit: int) -> None:
    """Pass on startup frames that lie before a position, and were captured behind one that ends
    there: each may have been rejected.

    :param limit: where a startup frame begins or ends that is known.
    """
    received = startup.received
    missed = [
        (found, island.frames(found.position, found.end))
        for island in half.islands.items
        for found in startups_between(island, island.start, min(island.end, limit))
        if received is None or received.is_unknown(half.direction, found.position)
    ]
    # As they are passed on, octets are let go of, and it is forgotten which others were.
    for found, frames in missed:
        half.owner.on_late_startup(half, found, frames)
