# SPDX-License-Identifier: GPL-2.0-or-later
"""Which Request a Reply answers, where startups were rejected (RFC 5044 7.1.2 rule 3).

The Initiator sends nothing between its Request and the Reply, and the segment of the Reply
acknowledges what the Responder had received.  So that tells, even where startup frames are missing
or were captured in another order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scapy_mpa.stream.fpdus.candidate import FPDUReader
from scapy_mpa.stream.fpdus.heads import begins_otherwise
from scapy_mpa.stream.halves.extent import is_whole, span
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.halves.phase import Phase
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.stream.octets.scan import (
    FoundStartup,
    has_request,
    may_be_payload,
    may_be_rtr,
    request_before,
    startups_between,
)
from scapy_mpa.stream.segment import ACK
from scapy_mpa.stream.sequence import sequence_number, unwrap
from scapy_mpa.stream.startup.received import Received
from scapy_mpa.stream.startup.steps import StartupState, declared
from scapy_mpa.wire.interoperability import agreed_markers
from scapy_mpa.wire.startup import StartupKind

if TYPE_CHECKING:
    from scapy_mpa.stream.startup.startup_phase import StartupPhase

__all__ = [
    "accepted_request",
    "answers_another",
    "awaits_reply",
    "find_repeated",
    "find_reply",
    "follows_accept",
    "had_others",
    "is_answered",
    "is_last_request",
    "is_of_accepted",
    "is_rtr",
    "is_the_rejected",
    "received_before",
    "received_of",
    "rejected_up_to",
    "remember",
    "replied_to",
    "was_accepted",
]

_REJECTIONS: Final = 8
"""Rejections in a row that need not have been captured."""


# -- what their senders had received ---------------------------------------------------------


def received_before(startup: StartupPhase, half: HalfConnection, found: FoundStartup) -> int | None:
    """Return what the sender of a startup frame had received when it sent it, as a sequence number;
    None if that is not known: the segment it is in did not come last, and was not remembered."""
    if startup.received is not None:
        said = startup.received.before(half.direction, found.position)
        if said is not None:
            return said
    segment = half.owner.common.current
    if segment is None or not segment.flags & ACK:
        return None
    if (segment.flow == half.owner.identity.flow) == bool(half.direction):
        return None
    begin = unwrap(segment.seq, found.position)
    return segment.ack if begin < found.end and found.position < begin + segment.length else None


def remember(startup: StartupPhase, half: HalfConnection, position: int, received: int) -> None:
    """Keep what had been received by who sent what may be a startup frame.

    :param position: where that begins.
    :param received: as a sequence number.
    """
    kept = startup.received or received_of(startup)
    kept.remember(half.direction, position, received)


def received_of(startup: StartupPhase) -> Received:
    """Return what is kept of who sent startup frames; there is something from now on."""
    if startup.received is None:
        startup.received = Received()
    return startup.received


def is_answered(startup: StartupPhase, half: HalfConnection, found: FoundStartup) -> bool:
    """Tell whether a Reply acknowledges what seems to be a Request, and nothing behind it."""
    return (
        found.startup.kind is StartupKind.REQUEST
        and startup.received is not None
        and startup.received.is_acknowledged(1 - half.direction, sequence_number(found.end))
    )


def replied_to(startup: StartupPhase) -> int | None:
    """Return the sequence number of what the Responder had when it sent a Reply that was captured
    before its Request; None if that is not known."""
    return None if startup.received is None else startup.received.replied_to


def rejected_up_to(startup: StartupPhase) -> tuple[int, int]:
    """Return where, by direction, the startup frames end of a connection that was rejected."""
    one, other = startup.origins
    received = replied_to(startup)
    if received is None or startup.initiator is None:
        return one, other
    end = unwrap(received, startup.halves[startup.initiator].high or 0)
    return (one, max(end, other)) if startup.initiator else (max(end, one), other)


# -- a Reply comes -------------------------------------------------------------------------------


def answers_another(startup: StartupPhase, half: HalfConnection, found: FoundStartup) -> bool:
    """Tell whether a Reply answers another Request than the last one that was captured.

    If the Responder had more than that, and what it sent before the Reply is not known, it had
    rejected that one.
    """
    asking = startup.halves[1 - half.direction]
    end = startup.origins[asking.direction]
    received = received_before(startup, half, found)
    island = half.islands.at(found.position)
    is_first = (
        island is not None
        and island.start == span(half)[0]
        and island.captured_until(island.start, found.position) == found.position
    )
    if is_first and (half.begin is not None or received is None or unwrap(received, end) <= end):
        # All that it sent before is known, or may be.
        return False
    if startup.ends_at(half.direction, found.position):
        return False
    if not is_last_request(asking, end, received):
        return True
    crc = found.startup.crc or bool(startup.uses_crc)
    return had_others(asking, end, received, markers=found.startup.markers, crc=crc)


def had_others(
    asking: HalfConnection, end: int, received: int | None, *, markers: bool, crc: bool
) -> bool:
    """Tell whether the Responder had octets behind a Request that are no FPDUs, when it replied.

    FPDUs are what an Initiator sends that goes on too early.

    :param end: where the Request ends.
    :param received: sequence number of what the Responder had; None if that is not known.
    :param markers: whether FPDUs would have Markers.
    :param crc: whether they would have CRCs.
    """
    if received is None or unwrap(received, end) <= end:
        return False
    island = asking.islands.at(end)
    if island is None:
        return True
    if not island.holds(end):
        # FPDUs are not held any more, nor is what was found to be none.
        return not any(run.start <= end < run.end for run in island.runs)
    reader = FPDUReader(end, markers=markers, crc=crc)
    return not reader.verifies(island, end)


def is_last_request(asking: HalfConnection, end: int, received: int | None) -> bool:
    """Tell whether nothing shows that another Request was sent behind the one up to ``end``.

    :param received: sequence number of what the Responder had received when it sent the Reply.
    """
    if received == sequence_number(end):
        return True
    if asking.islands.at(end) is not None:
        return not _has_request(asking, end)
    return (asking.acknowledged or 0) <= end


def awaits_reply(startup: StartupPhase, asking: HalfConnection, received: int | None) -> bool:
    """Tell whether the last that a side sent is a Request that was not answered.

    :param received: sequence number of what its peer had received then.
    """
    end = startup.origins[asking.direction]
    return (
        startup.state is StartupState.REQUESTED
        and asking.direction == startup.initiator
        and (
            received == sequence_number(end)
            or (asking.islands.at(end) is None and (asking.acknowledged or 0) <= end)
        )
    )


# -- a Request comes -----------------------------------------------------------------------------


def was_accepted(startup: StartupPhase, half: HalfConnection, found: FoundStartup) -> bool:
    """Tell whether what seems to be a Request ends with what the Responder had received when it
    sent a Reply that accepts, captured before it."""
    return (
        found.startup.kind is StartupKind.REQUEST
        and half.direction == startup.initiator
        and startup.declared[1 - half.direction] is not None
        and replied_to(startup) == sequence_number(found.end)
    )


def is_rtr(startup: StartupPhase, half: HalfConnection, found: FoundStartup) -> bool:
    """Tell whether what seems to be an Rtr Frame begins where the Request ends that was accepted,
    and was not captured: with what the Responder had not received when it sent the Reply."""
    return (
        found.startup.kind is StartupKind.RTR
        and half.direction == startup.initiator
        and replied_to(startup) == sequence_number(found.position)
    )


def find_reply(startup: StartupPhase) -> None:
    """Take what seemed to be a Reply, in the midst of other octets, if it answers the Request that
    was captured behind it."""
    assert startup.initiator is not None
    half = startup.halves[1 - startup.initiator]
    doubtful = half.doubtful
    if doubtful is None or half.streaming is None:
        return
    if doubtful.found.startup.kind is not StartupKind.REPLY:
        return
    end = sequence_number(startup.origins[startup.initiator])
    if received_before(startup, half, doubtful.found) == end:
        half.streaming.confirm()


def accepted_request(startup: StartupPhase) -> FoundStartup | None:
    """Return the Request that was taken for one rejected before, if an FPDU follows it: then it is
    the one that the Reply has accepted.

    The segment that brings the Reply acknowledges more if it is not the first that did.
    """
    found = None if startup.received is None else startup.received.request
    if found is None or startup.state is not StartupState.IDLE or startup.initiator is None:
        return None
    asking = startup.halves[startup.initiator]
    reply = startup.declared[1 - startup.initiator]
    island = None if asking.framing is not None else asking.islands.at(found.end)
    if reply is None or island is None or not island.holds(found.end):
        return None
    request = declared(found.startup, None)
    _, markers = agreed_markers(request.offer, reply.offer)
    reader = FPDUReader(found.end, markers=markers, crc=request.crc or reply.crc)
    return found if reader.verifies(island, found.end) else None


def is_the_rejected(startup: StartupPhase, half: HalfConnection, found: FoundStartup) -> bool:
    """Tell whether a Request was rejected by a Reply captured before it: it ends no later than what
    the Responder had then, or is the first, if that is not known."""
    if half.direction != startup.initiator:
        return False
    received = replied_to(startup)
    if received is not None:
        # The last of several Replies tells of the Requests before the one that it answers, too.
        return found.end <= unwrap(received, found.end)
    return startup.declared[half.direction] is None and found.position == span(half)[0]


def is_of_accepted(startup: StartupPhase, half: HalfConnection, found: FoundStartup) -> bool:
    """Tell whether a Request is the one that was accepted by a Reply captured before it."""
    return (
        half.direction == startup.initiator
        and startup.declared[1 - half.direction] is not None
        and is_last_request(half, found.end, replied_to(startup))
    )


def follows_accept(startup: StartupPhase, half: HalfConnection, found: FoundStartup) -> bool:
    """Tell whether what seems to be a Request stands behind the one that was accepted, of which
    nothing is known but how far it reached when it was answered.

    FPDUs are all that the Initiator sends then.
    """
    received = replied_to(startup)
    return (
        found.startup.kind is StartupKind.REQUEST
        and startup.state is StartupState.IDLE
        and half.direction == startup.initiator
        and startup.declared[1 - half.direction] is not None
        and received is not None
        and found.position >= unwrap(received, found.position)
    )


def find_repeated(
    startup: StartupPhase, received: int | None = None, *, final: bool = False
) -> None:
    """Take another Request that follows the last one: that one was rejected.

    It follows directly, or ends where the Responder says, or nothing will tell any more.

    :param received: sequence number of what the Responder had received when it sent a Reply.
    :param final: nothing more will come.
    """
    if startup.initiator is None:
        return
    asking = startup.halves[startup.initiator]
    for _ in range(_REJECTIONS):
        origin = startup.origins[startup.initiator]
        if startup.state is not StartupState.REQUESTED or asking.phase is not Phase.HELD:
            return
        if received == sequence_number(origin):
            # It answers this one.
            return
        end = None if received is None else unwrap(received, origin)
        if not (_has_request(asking, origin) or _has_request_before(asking, origin, end)):
            behind = _request_behind(startup, asking, origin) if final else None
            if behind is None:
                return
            end = behind.end
        startup.state = StartupState.REJECTED
        startup.is_repeated = is_whole(startup.halves[1 - startup.initiator])
        startup.resume_streaming(asking)
        if end is not None and asking.streaming is not None:
            # It may stand behind a hole.
            asking.streaming.answer(end)
        startup.is_repeated = False


def _has_request_before(half: HalfConnection, begin: int, end: int | None) -> bool:
    """Tell whether a Request begins behind ``begin`` and ends with what its peer had received.

    :param end: where that was; None if it is not known.
    """
    if end is None or half.framing is not None:
        return False
    island = half.islands.at(end - 1)
    return island is not None and request_before(island, begin, end)


def _request_behind(startup: StartupPhase, half: HalfConnection, begin: int) -> FoundStartup | None:
    """Return the Request that fills whole segments anywhere behind ``begin``, if no FPDU begins
    there; None if there is none.

    In segments of one octet any does: there text behind a Key is none, and one that ends a payload
    has a CRC behind it.
    """
    crc, markers = startup.uses_crc, startup.has_markers(half.direction)
    reader = FPDUReader(begin, markers=bool(markers), crc=bool(crc))
    island = half.islands.at(begin)
    if half.framing is not None or (
        island is not None and (not island.holds(begin) or reader.verifies(island, begin))
    ):
        return None
    requests = (
        found
        for each in half.islands.items
        for found in startups_between(each, begin, each.end)
        if found.startup.kind is StartupKind.REQUEST
        and _may_end(each, found.end)
        and (not may_be_payload(found) or each.fills_segments(found.position, found.end))
    )
    return next(requests, None)


def _may_end(island: Island, position: int) -> bool:
    """Tell whether a Request may end at a position: what may follow it does, as far as is there."""
    return (
        not begins_otherwise(island, position)
        or may_be_rtr(island, position)
        or has_request(island, position)
    )


def _has_request(half: HalfConnection, position: int) -> bool:
    """Tell whether the Key of a Request stands at a position, where no FPDUs are known."""
    island = half.islands.at(position) if half.framing is None else None
    return island is not None and has_request(island, position)
