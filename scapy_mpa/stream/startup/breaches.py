# SPDX-License-Identifier: GPL-2.0-or-later
"""What breaks the rules of startup (RFC 5044 7.1.2), where the table does not show it.

:mod:`~scapy_mpa.stream.startup.steps` lists the rules, and the function that holds each.
"""

from typing import NamedTuple

from scapy_mpa.stream.fpdus.candidate import FPDUReader
from scapy_mpa.stream.halves.extent import is_whole, span
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.octets.scan import (
    LEAST_OF_KEY,
    FoundStartup,
    startup_reach,
)
from scapy_mpa.stream.segment import ACK, Segment
from scapy_mpa.stream.sequence import unwrap
from scapy_mpa.stream.startup.startup_phase import StartupPhase
from scapy_mpa.stream.startup.steps import (
    StartupState,
    Step,
    reply_problems,
    rtr_may_follow,
    rtr_problems,
)
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import ErrorCode
from scapy_mpa.wire.fpdu import HEADER_LENGTH, MARKER_LENGTH
from scapy_mpa.wire.rdmap import parse_control
from scapy_mpa.wire.rdmap_names import Opcode
from scapy_mpa.wire.startup import KEY_LENGTH, KEYS, STARTUP_HEADER_LENGTH, StartupKind


class Breach(NamedTuple):
    """A rule that is broken."""

    half: HalfConnection
    code: ErrorCode | None
    position: int
    text: str


def of_frame(
    startup: StartupPhase, half: HalfConnection, found: FoundStartup, what: Step
) -> list[Breach]:
    """Return what is wrong with a startup frame, and with where it stands."""
    frame, direction = found.startup, half.direction
    own, peers = startup.declared[direction], startup.declared[1 - direction]
    texts = frame.problems()
    if what.breach is not None:
        texts.append(what.breach)
    elif frame.kind is StartupKind.REPLY:
        # In osc it is the rule.
        is_osc = startup.dialect_of(frame) is Dialect.OSC
        texts += [] if is_osc else reply_problems(peers, frame)
        texts += _octets_before(startup, half, found)
    elif frame.kind is StartupKind.RTR:
        texts += rtr_problems(own, peers, frame)
    there = len(found.octets)
    # If the capture ends first, the rest may have come.
    how = half.how_it_ended(found.position + there) if found.lacking else None
    code = ErrorCode.INVALID_STARTUP_FRAME
    breaches = [Breach(half, code, found.position, text) for text in texts]
    early = startup.early_ack
    if what is Step.ACCEPT and frame.kind is StartupKind.REPLY and early is not None:
        haste = _of_haste(startup, early, found.end)
        breaches += [] if haste is None else [haste]
    if how is not None:
        breaches.append(cut_short(half, found.position, there, how))
    return breaches


def cut_short(
    half: HalfConnection,
    position: int,
    there: int,
    how: str,
    *,
    what: str = "a startup frame",
    clause: str = "RFC 5044 7.1.2 rule 10",
) -> Breach:
    """Return that a connection ended within a startup frame (rule 10).

    :param there: octets of the frame that there are.
    :param how: how the connection ended.
    """
    text = f"the connection was {how} {there} octets into {what} ({clause})"
    return Breach(half, ErrorCode.CONNECTION_LOST, position, text)


def _octets_before(
    startup: StartupPhase, answering: HalfConnection, found: FoundStartup
) -> list[str]:
    """Tell whether something else than the Reply stood where it had to begin (rules 3, 5).

    The Initiator takes for it what it had not received when it sent its Request.
    """
    begin = _begin_of_answer(startup, answering)
    if begin is None:
        return []
    island = answering.islands.at(found.position)
    if island is None or begin >= found.position:
        return []
    if island.start > begin and not answering.fpdus:
        return []
    text = f"{found.position - begin} octets before the Reply stand where it must begin"
    return [f"{text} (RFC 5044 7.1.2 rules 3, 5)"]


def _begin_of_answer(startup: StartupPhase, answering: HalfConnection) -> int | None:
    """Return where the Reply must begin, None if that is not known."""
    if startup.answer_at is None:
        return None
    # After a Request from both sides, the Reply follows the Responder's own.
    return max(startup.answer_at, startup.origins[answering.direction])


def hear(startup: StartupPhase, segment: Segment) -> Breach | None:
    """Tell whether the Responder spoke before it had an FPDU (RFC 5044 7.1.2 rule 4).

    What it had is acknowledged by the segment in which it speaks.  An Rtr Frame serves as well.

    :param segment: of the Responder, and taken already.
    """
    assert startup.initiator is not None
    asking = startup.halves[startup.initiator]
    answering = startup.halves[1 - startup.initiator]
    if not segment.flags & ACK or answering.framing is None:
        return None
    asked = startup.fpdus_from(asking)
    answered = answering.framing.origin
    had = unwrap(segment.ack, asked)
    if had > asked - startup.saw_rtr and (
        had <= asked or rtr_may_follow(*startup.declared) or not _has_no_fpdu(asking, asked, had)
    ):
        startup.is_silent = False
    elif _has_spoken(answering, segment, answered):
        island = answering.islands.at(answered)
        if island is not None and startup_reach(island, answered):
            # It repeats its Reply, which is reported with that.
            return None
        spares = None, Opcode.TERMINATE
        if startup.negotiating is not None and _first_opcode(answering, segment) in spares:
            # What went wrong is reported before the connection is reset (RFC 6581 9.3).
            return None
        startup.is_silent = False
        text = "the Responder sends before it has received an FPDU (RFC 5044 7.1.2 rule 4)"
        return Breach(answering, None, answered, text)
    return None


def _has_no_fpdu(asking: HalfConnection, asked: int, had: int) -> bool:
    """Tell whether the Responder has octets of the Initiator, and no good FPDU among them.

    That is known if all of them were captured.  Without CRCs any octets are a good FPDU to its
    receiver, once there are as many as their ULPDU_Length says.

    :param asked: where FPDUs begin.
    :param had: what the Responder had received.
    """
    framing = asking.framing
    if framing is None or asking.fpdus > asking.crc_bad:
        return False
    island = asking.islands.at(asked)
    if island is None or had > min(island.end, island.captured_until(asked, had)):
        return False
    reader = FPDUReader(asked, markers=framing.markers, crc=False)
    return framing.crc or isinstance(reader.fpdu_at(island, asked, had), int)


def _has_spoken(answering: HalfConnection, segment: Segment, answered: int) -> bool:
    """Tell whether a segment shows that octets were sent after a Reply.

    One without octets stands after a FIN by one, which need not have been captured.

    :param answered: where the Reply ends.
    """
    end = unwrap(segment.seq, answered) + segment.length
    if answering.fin is not None:
        return min(end, answering.fin) > answered
    return end > answered + (not segment.length)


def _first_opcode(answering: HalfConnection, segment: Segment) -> int | None:
    """Return the opcode of the Responder's first FPDU, None as long as it is not there."""
    framing = answering.framing
    assert framing is not None
    # After Marker and ULPDU_Length come the control octets of DDP and RDMAP.
    at = framing.origin + (MARKER_LENGTH if framing.markers else 0) + HEADER_LENGTH + 1
    island = answering.islands.at(framing.origin)
    if island is not None and island.holds(framing.origin):
        is_there = island.holds(at) and at < island.captured_until(at, at + 1)
        octet = island.read(at, at + 1) if is_there else b""
    else:
        # It was read with this segment.
        begin = at - unwrap(segment.seq, at)
        octet = segment.payload[begin : begin + 1] if begin >= 0 else b""
    return parse_control(octet[0]).opcode if octet else None


def speak(startup: StartupPhase, segment: Segment) -> Breach | None:
    """Tell whether the Initiator went on before it had the Reply (RFC 5044 7.1.2 rule 3).

    The segment in which it goes on acknowledges what it had.  That is kept until the Reply is
    captured.

    :param segment: of the Initiator, with octets, and taken already.
    """
    assert startup.initiator is not None
    asking = startup.halves[startup.initiator]
    answering = startup.halves[1 - startup.initiator]
    asked = startup.fpdus_from(asking)
    begin = unwrap(segment.seq, asked)
    if begin + segment.length <= asked - startup.saw_rtr:
        return None
    startup.is_waiting = False
    if startup.state is StartupState.REQUESTED:
        # If that segment is missing, the next one may acknowledge FPDUs after the Reply.
        startup.early_ack = answering.acknowledged if begin <= asked else None
    elif answering.framing is not None and answering.acknowledged is not None:
        return _of_haste(startup, answering.acknowledged, answering.framing.origin)
    return None


def _of_haste(startup: StartupPhase, had: int, answered: int) -> Breach | None:
    """Tell whether the Initiator had not all of the Reply.

    :param had: what it had received, as a position.
    :param answered: where the Reply ends.
    """
    if had >= answered or startup.initiator is None:
        return None
    asking = startup.halves[startup.initiator]
    text = "the Initiator sends before it has received the Reply (RFC 5044 7.1.2 rule 3)"
    return Breach(asking, None, startup.fpdus_from(asking), text)


def of_beginning(startup: StartupPhase) -> Breach | None:
    """Tell whether a side began with FPDUs and neither sent a Request (RFC 5044 7.1.2 rule 1).

    That is certain only if both directions were captured from the SYN on, with nothing missing, and
    if CRCs show that these are FPDUs.
    """
    if startup.initiator is not None or any(startup.origins):
        return None
    for half in startup.halves:
        if half.framing is None or not half.framing.crc:
            continue
        at = _first_fpdu(half)
        if at is not None and at == half.begin and all(map(is_whole, startup.halves)):
            text = "FPDUs come first, and nobody has sent a Request (RFC 5044 7.1.2 rule 1)"
            return Breach(half, ErrorCode.INVALID_STARTUP_FRAME, at, text)
    return None


def of_silence(startup: StartupPhase, how: str | None) -> Breach | None:
    """Tell whether a Request was sent and no Reply came back (RFC 5044 7.1.2 rules 3, 5, 9).

    :param how: how the connection ended; None if that was not captured.
    """
    if startup.state is not StartupState.REQUESTED or startup.initiator is None:
        return None
    asking = startup.halves[startup.initiator]
    answering = startup.halves[1 - startup.initiator]
    # Of the Initiator it is enough to know how much it sent.
    if not is_whole(asking, span(asking)[1]) or _may_be_answered(startup, answering):
        return None
    has_fpdus = [half for half in (answering, asking) if half.framing is not None]
    if len(has_fpdus) == 2 or (has_fpdus and startup.answer_at is None):
        half = has_fpdus[0]
        at = startup.origins[startup.initiator] if half is asking else _first_fpdu(half)
        if at is None:
            return None
        text = "FPDUs follow a Request, and no Reply has answered it (RFC 5044 7.1.2 rules 3, 5)"
        return Breach(half, ErrorCode.INVALID_STARTUP_FRAME, at, text)
    if answering.octets:
        begin = startup.answer_at
        if begin is None:
            return None
        there = (answering.high or 0) - begin
        if there > 0:
            return _of_answer(answering, begin, there, how)
    origin = startup.origins[startup.initiator]
    more = span(asking)[1] - origin
    if more > 0:
        # Either it has not waited, or PD_Length is too small.
        text = f"{more} octets after a Request that was not answered"
        text += " (RFC 5044 7.1.2 rules 3, 9)"
        return Breach(asking, ErrorCode.INVALID_STARTUP_FRAME, origin, text)
    if how is None:
        return None
    text = f"the connection was {how} before its Request was answered (RFC 5044 7.1.2 rule 3)"
    return Breach(asking, ErrorCode.CONNECTION_LOST, origin, text)


def _may_be_answered(startup: StartupPhase, answering: HalfConnection) -> bool:
    """Tell whether a Reply may lie in what was not captured of a Responder.

    Where other octets stand in its place, there is none, whatever the snap length cut off.
    """
    begin = _begin_of_answer(startup, answering)
    known = startup.origins[answering.direction] if begin is None else begin
    if begin is not None and _begins(answering, StartupKind.REPLY, begin) is False:
        known = span(answering)[1]
    return not is_whole(answering, known)


def _of_answer(answering: HalfConnection, begin: int, there: int, how: str | None) -> Breach | None:
    """Return what is wrong with octets that answer a Request and are no whole Reply.

    :param begin: where they begin.
    :param there: how many there are.
    :param how: how the connection ended; None if that was not captured.
    """
    island = answering.islands.at(begin)
    is_whole_header = there >= STARTUP_HEADER_LENGTH
    if island is not None and is_whole_header and startup_reach(island, begin) > island.end:
        # What it lacks is reported with it.
        return None
    if is_whole_header or not _begins(answering, StartupKind.REPLY, begin):
        text = f"{there} octets answer a Request, and are no Reply (RFC 5044 7.1.2 rules 3, 5)"
        return Breach(answering, ErrorCode.INVALID_STARTUP_FRAME, begin, text)
    return None if how is None else cut_short(answering, begin, there, how)


def _begins(half: HalfConnection, kind: StartupKind, position: int) -> bool | None:
    """Tell whether octets may be the first ones of a startup frame, as far as they were captured;
    None if they are not held any more."""
    island = half.islands.at(position)
    if island is None:
        return None
    end = island.captured_until(position, min(position + KEY_LENGTH, island.end))
    if not island.holds(position, end):
        return None
    return KEYS[kind].startswith(island.read(position, end))


def of_part(startup: StartupPhase, how: str | None) -> Breach | None:
    """Tell whether the connection ended within what it began with (rule 10).

    That is the header of a Request, or what another framing begins with.

    :param how: how the connection ended; None if that was not captured.
    """
    if how is None or startup.state is not StartupState.IDLE:
        return None
    for half in startup.halves:
        begin, there = half.begin, half.octets
        if begin is None or there < LEAST_OF_KEY or not is_whole(half):
            continue
        if there < STARTUP_HEADER_LENGTH and _begins(half, StartupKind.REQUEST, begin):
            return cut_short(half, begin, there, how)
        island, others = half.islands.at(begin), half.owner.common.others
        other = others.begins(island, begin) if others and island is not None else None
        if other is not None and there < other.length:
            return cut_short(half, begin, there, how, what=other.name, clause=other.clause)
    return None


def _first_fpdu(half: HalfConnection) -> int | None:
    """Return where the first FPDU of a direction begins."""
    return next((run.start for island in half.islands.items for run in island.runs), None)
