# SPDX-License-Identifier: GPL-2.0-or-later
"""Broken rules of startup (RFC 5044 7.1.2) that the table does not show.

:mod:`~scapy_mpa.stream.startup.steps` lists the rules, and the function that checks each.
"""

from typing import NamedTuple

from scapy_mpa.stream.fpdus.candidate import FPDUReader
from scapy_mpa.stream.halves.extent import is_whole, span
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.octets.scan import LEAST_OF_KEY, FoundStartup, startup_reach
from scapy_mpa.stream.segment import Segment
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
from scapy_mpa.wire.fpdu import SOFTUIWARP, STANDARD
from scapy_mpa.wire.startup import STARTUP_HEADER_LENGTH, StartupKind


class Breach(NamedTuple):
    """A rule that is broken."""

    half: HalfConnection
    code: ErrorCode | None
    position: int
    text: str


def of_frame(
    startup: StartupPhase, half: HalfConnection, found: FoundStartup, role: Step
) -> list[Breach]:
    """Return the rules that a startup frame breaks, by its fields or by its place."""
    frame, direction = found.startup, half.direction
    own, peers = startup.declared[direction], startup.declared[1 - direction]
    texts = frame.problems(startup.dialect_of(frame))
    if role.breach is not None:
        texts.append(role.breach)
    elif frame.kind is StartupKind.REPLY:
        # In osc, the Reply's revision always exceeds the Request's.
        is_osc = startup.dialect_of(frame) is Dialect.OSC
        texts += [] if is_osc else reply_problems(peers, frame)
        texts += _octets_before(startup, half, found)
    elif frame.kind is StartupKind.RTR:
        texts += rtr_problems(own, peers, frame)
    length = len(found.octets)
    # If the capture ended first, the rest may have come.
    how = half.how_it_ended(found.position + length) if found.lacking else None
    code = ErrorCode.INVALID_STARTUP_FRAME
    breaches = [Breach(half, code, found.position, text) for text in texts]
    early = startup.early_ack
    if role is Step.ACCEPT and frame.kind is StartupKind.REPLY and early is not None:
        too_early = _initiator_too_early(startup, early, found.end)
        breaches += [] if too_early is None else [too_early]
    if how is not None:
        breaches.append(cut_short(half, found.position, length, how))
    return breaches


def cut_short(
    half: HalfConnection,
    position: int,
    length: int,
    how: str,
    *,
    what: str = "a startup frame",
    clause: str = "RFC 5044 8",
) -> Breach:
    """Return the breach that a connection ended within a startup frame (RFC 5044 8).

    :param length: octets of the frame that were captured.
    :param how: how the connection ended.
    """
    text = f"the connection was {how} {length} octets into {what} ({clause})"
    return Breach(half, ErrorCode.CONNECTION_LOST, position, text)


def _octets_before(
    startup: StartupPhase, responder: HalfConnection, found: FoundStartup
) -> list[str]:
    """Return what is wrong if other octets stand where the Reply must begin (rules 3, 5).

    The Initiator reads all octets that it receives after its Request as the Reply.
    """
    if startup.reply_at is None:
        return []
    # If both sides sent a Request, the Reply follows the Responder's Request.
    begin = max(startup.reply_at, startup.origins[responder.direction])
    island = responder.islands.at(found.position)
    if island is None or begin >= found.position:
        return []
    if island.start > begin and not responder.counters.fpdus:
        return []
    text = f"{found.position - begin} octets before the Reply stand where it must begin"
    return [f"{text} (RFC 5044 7.1.2 rules 3, 5)"]


def of_early_responder(startup: StartupPhase, received: int | None, *, ends: bool) -> Breach | None:
    """Return a breach if the Responder sends before it has an FPDU (RFC 5044 7.1.2 rule 4).

    An Rtr Frame serves as well.  A Terminate may answer a damaged FPDU (RFC 5044 8), and with
    revision 2 any error (RFC 6581 9.3).

    :param received: the sequence number up to which it has acknowledged octets by its first FPDU.
    :param ends: whether its first FPDU is a Terminate.
    """
    initiator, responder = startup.sides
    startup.is_silent = False
    if received is None or responder.framing is None or (ends and startup.negotiating is not None):
        return None
    fpdus_at = startup.fpdus_from(initiator)
    upto = unwrap(received, fpdus_at)
    if initiator.fin is not None:
        # A FIN counts as an octet, but is none.
        upto = min(upto, initiator.fin)
    if upto > fpdus_at - startup.saw_rtr and (
        upto <= fpdus_at
        or rtr_may_follow(*startup.declared)
        or not _has_no_fpdu(initiator, fpdus_at, upto, any_crc=ends)
    ):
        return None
    text = "the Responder sends before it has received an FPDU (RFC 5044 7.1.2 rule 4)"
    return Breach(responder, None, responder.framing.origin, text)


def _has_no_fpdu(initiator: HalfConnection, fpdus_at: int, received: int, *, any_crc: bool) -> bool:
    """Return whether the Responder has octets of the Initiator, but no good FPDU.

    This is known only if all of them were captured.  Without CRCs, a receiver takes any octets for
    a good FPDU, once as many have come as their ULPDU_Length says.

    :param fpdus_at: where FPDUs begin.
    :param received: position up to which the Responder had received octets.
    :param any_crc: whether an FPDU with a bad CRC counts, too.
    """
    framing = initiator.framing
    if framing is None or initiator.counters.fpdus > initiator.counters.crc_bad:
        return False
    island = initiator.islands.at(fpdus_at)
    if island is None or received > min(island.end, island.captured_until(fpdus_at, received)):
        return False
    run = island.runs[-1] if island.runs else None
    if run is not None and run.broken_at is not None and run.end < received:
        # It is not known yet what follows a damaged FPDU.
        return False
    if framing.crc and not any_crc:
        return True
    # SoftUiWARP's pad may be shorter, and only later FPDUs show whose it is.
    formats = (STANDARD,) if framing.markers else (STANDARD, SOFTUIWARP)
    readers = [
        FPDUReader(fpdus_at, markers=framing.markers, crc=False, layout_of=each.layout)
        for each in formats
    ]
    return all(isinstance(reader.fpdu_at(island, fpdus_at, received), int) for reader in readers)


def of_early_initiator(startup: StartupPhase, segment: Segment) -> Breach | None:
    """Return a breach if the Initiator sends more before it has the Reply (RFC 5044 7.1.2 rule 3).

    The acknowledgement in its segment shows what it had received.  It is kept until the Reply is
    captured.

    :param segment: of the Initiator, with octets that were taken already.
    """
    initiator, responder = startup.sides
    fpdus_at = startup.fpdus_from(initiator)
    begin = unwrap(segment.seq, fpdus_at)
    if begin + segment.length <= fpdus_at - startup.saw_rtr:
        return None
    startup.is_waiting = False
    if startup.state is StartupState.REQUESTED:
        # If the first such segment is missing, the next one may acknowledge FPDUs after the Reply.
        startup.early_ack = responder.acknowledged if begin <= fpdus_at else None
    elif responder.framing is not None and responder.acknowledged is not None:
        return _initiator_too_early(startup, responder.acknowledged, responder.framing.origin)
    return None


def _initiator_too_early(startup: StartupPhase, received: int, reply_end: int) -> Breach | None:
    """Return a breach if the Initiator had not received all of the Reply.

    :param received: position up to which it had received octets.
    :param reply_end: where the Reply ends.
    """
    if received >= reply_end or startup.initiator is None:
        return None
    initiator, _ = startup.sides
    text = "the Initiator sends before it has received the Reply (RFC 5044 7.1.2 rule 3)"
    return Breach(initiator, None, startup.fpdus_from(initiator), text)


def of_beginning(startup: StartupPhase) -> Breach | None:
    """Return a breach if FPDUs come first, and no side sent a Request (RFC 5044 7.1.2 rule 1).

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
    """Return a breach if a Request was sent and no Reply came (RFC 5044 7.1.2 rules 3, 5, 9).

    :param how: how the connection ended; None if that was not captured.
    """
    if startup.state is not StartupState.REQUESTED or startup.initiator is None:
        return None
    initiator, responder = startup.sides
    if not is_whole(initiator) or not is_whole(responder):
        return None
    with_fpdus = [half for half in (responder, initiator) if half.framing is not None]
    if len(with_fpdus) == 2 or (with_fpdus and startup.reply_at is None):
        half = with_fpdus[0]
        at = startup.origins[startup.initiator] if half is initiator else _first_fpdu(half)
        if at is None:
            return None
        text = "FPDUs follow a Request, and no Reply has answered it (RFC 5044 7.1.2 rules 3, 5)"
        return Breach(half, ErrorCode.INVALID_STARTUP_FRAME, at, text)
    origin, begin = startup.origins[startup.initiator], startup.reply_at
    length = 0 if begin is None else (responder.high or 0) - begin
    if begin is not None and length > 0:
        island = responder.islands.at(begin)
        if island is None or startup_reach(island, begin) <= island.end:
            text = f"{length} octets answer a Request, and are no Reply (RFC 5044 7.1.2 rules 3, 5)"
            return Breach(responder, ErrorCode.INVALID_STARTUP_FRAME, begin, text)
        if length >= STARTUP_HEADER_LENGTH:
            # The missing octets of the Reply are reported with it.
            return None
    more = span(initiator)[1] - origin
    if length <= 0 and more > 0:
        # Either the Initiator has not waited, or PD_Length is too small.
        text = f"{more} octets after a Request that was not answered"
        text += " (RFC 5044 7.1.2 rules 3, 9)"
        return Breach(initiator, ErrorCode.INVALID_STARTUP_FRAME, origin, text)
    if how is None:
        return None
    text = f"the connection was {how} before its Request was answered (RFC 5044 7.1.2 rule 3)"
    return Breach(initiator, ErrorCode.CONNECTION_LOST, origin, text)


def of_part(startup: StartupPhase, how: str | None) -> Breach | None:
    """Return a breach if the connection ended within its first header (RFC 5044 8).

    That is the header of a Request, or the beginning of another framing.

    :param how: how the connection ended; None if that was not captured.
    """
    if how is None or startup.state is not StartupState.IDLE:
        return None
    for half in startup.halves:
        begin, length, others = half.begin, half.octets, half.owner.shared.others
        island = None if begin is None else half.islands.at(begin)
        if begin is None or island is None or length < LEAST_OF_KEY or not is_whole(half):
            continue
        if length < STARTUP_HEADER_LENGTH and startup_reach(island, begin):
            return cut_short(half, begin, length, how)
        other = others.begins(island, begin) if others else None
        if other is not None and length < other.length:
            return cut_short(half, begin, length, how, what=other.name, clause=other.clause)
    return None


def _first_fpdu(half: HalfConnection) -> int | None:
    """Return where the first FPDU of a direction begins; None if none is held."""
    return next((run.start for island in half.islands.items for run in island.runs), None)
