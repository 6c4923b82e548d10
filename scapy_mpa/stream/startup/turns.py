# SPDX-License-Identifier: GPL-2.0-or-later
"""Whose turn it is: startup frames in the order of sending, in whatever order they were captured.

A Reply answers the last Request that was sent before it, and accepts or rejects it (RFC 5044 7.1.2
rule 3).  If it is the first thing that the Responder sent, and accepts, nothing was rejected
before.  Any other one is *put off* until all is there that was sent before it: in its own
direction, and in the other one what its segment acknowledges.  So is the conclusion that a Request
is none since no FPDU follows it: it may have been rejected.

That takes both SYNs, which tell where octets begin.  What is waited for may not have been captured
at all, so nothing waits for longer than holes are kept open that the peer has acknowledged
(:data:`~scapy_mpa.stream.halves.holes.LATE_SEGMENTS`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.halves.holes import LATE_SEGMENTS
from scapy_mpa.stream.halves.phase import Phase
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.stream.octets.scan import FoundStartup, key_in
from scapy_mpa.stream.segment import ACK, Segment
from scapy_mpa.stream.sequence import unwrap
from scapy_mpa.stream.startup import answers
from scapy_mpa.stream.startup.steps import StartupState
from scapy_mpa.wire.startup import StartupKind

if TYPE_CHECKING:
    from scapy_mpa.stream.halves.streaming import Streaming
    from scapy_mpa.stream.startup.startup_phase import StartupPhase

__all__ = ["note", "put_off", "resume", "wait_no_more"]


def put_off(
    startup: StartupPhase,
    half: HalfConnection,
    island: Island,
    found: FoundStartup,
    *,
    is_refuted: bool,
) -> bool:
    """Tell whether a startup frame must wait for what was sent before it.

    If a Reply need not, or no longer, the Request that it answers is taken first.

    :param island: that holds it.
    :param is_refuted: whether what follows it shows that it is none, unless it was rejected.
    """
    other = startup.halves[1 - half.direction]
    if half.begin is None or other.begin is None:
        return False
    received: int | None = None
    if found.startup.kind is StartupKind.REPLY:
        if found.position == half.begin and not found.startup.rejected:
            return False
        received = answers.received_before(startup, half, found)
        if received is not None:
            answers.remember(startup, half, found.position, received)
    elif found.startup.kind is not StartupKind.REQUEST or not is_refuted:
        return False
    had = other.acknowledged or 0 if received is None else unwrap(received, other.begin)
    is_ahead = half.islands.lies_beyond(island)
    is_early = False
    if had > other.begin:
        # Up to where all octets are there, or not waited for.
        islands = other.islands
        is_early = had > (other.begin if islands.front is None else islands.front_end())
    if (is_ahead or is_early) and _has_time(startup, half):
        if not is_ahead and half.streaming is not None:
            half.streaming.put_off = found.position
        return True
    asking = other.streaming if found.startup.kind is StartupKind.REPLY else None
    if asking is not None:
        if asking.put_off is not None:
            asking.resume()
        if received is not None:
            asking.answer(had)
    return False


def _has_time(startup: StartupPhase, half: HalfConnection) -> bool:
    """Tell whether a startup frame of a direction may wait; the time begins with the first."""
    assert half.streaming is not None
    segments = half.owner.segments
    if half.streaming.waits_until is None:
        _wait_until(startup, segments + LATE_SEGMENTS)
    return segments < (half.streaming.waits_until or 0)


def _wait_until(startup: StartupPhase, segments: int | None) -> None:
    for half in startup.halves:
        if half.streaming is not None:
            half.streaming.waits_until = segments


def note(startup: StartupPhase, half: HalfConnection, segment: Segment) -> None:
    """Keep what the sender of a segment had received, if that may bring a Reply.

    One that stands behind another that is put off is not looked at when it comes; nor is one before
    FPDUs of which it is not certain where their Markers are.
    """
    streaming = half.streaming
    if streaming is None:
        framing = half.framing
        is_due = framing is not None and not framing.from_start
    else:
        is_waiting = bool(streaming.waits_until) or startup.state is StartupState.REJECTED
        is_due = is_waiting or half.begin is None
    if not is_due or half.high is None or not segment.flags & ACK:
        return
    at = key_in(segment.payload)
    if at < len(segment.payload):
        answers.remember(startup, half, unwrap(segment.seq, half.high) + at, segment.ack)


def resume(startup: StartupPhase, streaming: Streaming, segments: int) -> None:
    """Take the startup frames whose turn has come, or that have waited for long enough.

    :param streaming: of a direction that knows how long they may wait.
    :param segments: of the connection received so far.
    """
    if segments < (streaming.waits_until or 0):
        _go_on(startup, final=False)
    else:
        wait_no_more(startup)
        _wait_until(startup, None)


def wait_no_more(startup: StartupPhase) -> None:
    """Take what was put off as it stands; from now on nothing waits."""
    waiting = [each for half in startup.halves if (each := half.streaming) and each.waits_until]
    _wait_until(startup, 0)
    for streaming in waiting:
        streaming.resume_all()
    if waiting:
        _go_on(startup, final=True)


def _go_on(startup: StartupPhase, *, final: bool) -> None:
    """Take what was put off, and what follows it that was there before.

    :param final: nothing waits any more.
    """
    come_to = -1
    while sum(startup.origins) > come_to:
        come_to = sum(startup.origins)
        for half in startup.halves:
            if half.streaming is not None and half.streaming.put_off is not None:
                half.streaming.resume()
        for half in startup.halves:
            if half.phase is Phase.HELD and startup.state is StartupState.REJECTED:
                startup.reconsider(half)
        if final and startup.state is StartupState.REJECTED:
            startup.resume_streaming(*startup.halves)
