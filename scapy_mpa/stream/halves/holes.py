# SPDX-License-Identifier: GPL-2.0-or-later
"""Holes in one direction: which are still waited for, and what becomes of the others.

A hole is *open* while the receiver may wait for it.  Once it need not (the peer has acknowledged
what lies in it), it is *closed*: the island after it is framed as well as can be without the
missing octets; but a late copy may still fill the hole.  It is a *gap* when that is no longer
waited for, either: when nothing more will come, when too many holes are closed, or when a limit is
reached.

Nothing waits for a hole before the startup frames once FPDUs begin
(:mod:`~scapy_mpa.stream.halves.early`).
"""

from __future__ import annotations

from typing import Final

from scapy_mpa.stream.events import GapReason
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.halves.phase import Phase
from scapy_mpa.stream.halves.streaming import is_unknown, streaming_of
from scapy_mpa.stream.limits import LATE_SEGMENTS
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.stream.sequence import SEQUENCE_WINDOW, unwrap

HELD_ISLANDS: Final = 1024
"""Islands of one half connection: bounds what a segment that spans them all may cost."""


def check(half: HalfConnection) -> None:
    """Close what the peer has acknowledged, and give up what waits for too long."""
    islands = half.islands
    items = islands.items
    while half.held > half.budget.each or len(items) > HELD_ISLANDS:
        before = half.held
        relieve(half)
        if half.held >= before:
            break
    if islands.after_open_hole() is not None:
        _close_acknowledged(half)
    else:
        half.noted = ()
    # A capture can miss a segment and hold its spurious retransmission.  As long as nobody knows
    # what is there, all of it may tell.
    if (
        not is_unknown(half)
        and len(items) > LATE_SEGMENTS
        and items[LATE_SEGMENTS].start <= (islands.front or 0)
    ):
        give_up(half, "acknowledged")


def relieve(half: HalfConnection) -> None:
    """Hold fewer octets: those that wait longest are given up."""
    items = half.islands.items
    before = half.held
    streaming = streaming_of(half)
    if streaming is not None:
        streaming.decide()
    # That may have begun the Full Operation Phase.
    if streaming is not None and half.phase is Phase.STREAMING:
        streaming.stop_looking()
    elif len(items) == 1 and items[0].runs and items[0].runs[0].broken_at is None:
        # Only as much as is needed to go on after the last FPDU, which is believed now, and to
        # search before the first one.
        run = items[0].runs[0]
        run.last = run.end
        half.release(items[0], items[0].start if items[0].settled else run.start, run.end)
    if half.held >= before and items:
        give_up(half, "limit")


def give_up(half: HalfConnection, reason: GapReason) -> None:
    """Finish the first island, report the holes before and after it, and free its memory."""
    islands = half.islands
    first = islands.items[0]
    half.report_gap(islands.floor, first.start, reason)
    if islands.front is not None and first.start > islands.front:
        _close(half, first)
    lost = _finish(half, first, is_over=reason != "limit")
    half.release(first, first.start, first.end)
    if islands.items and islands.items[0] is first:
        # Else it was a startup frame, with which the Full Operation Phase has begun.
        del islands.items[0]
    islands.floor = first.end
    following = islands.items[0] if islands.items else None
    if following is None or following.start == first.end:
        half.report_gap(lost, first.end, reason)
    else:
        half.report_gap(lost, following.start, reason)
        islands.floor = following.start
        if islands.front is None or following.start > islands.front:
            _close(half, following)
        if following.runs and following.settled:
            # What lies before its first FPDU belonged to one that will never be whole.
            half.release(following, following.start, following.runs[0].start)
            following.runs[0].start = following.start
    if not islands.items:
        islands.front = first.end


def finish(half: HalfConnection, reason: GapReason) -> None:
    """Take it that nothing more will come: report what can be said now."""
    streaming = streaming_of(half)
    if streaming is not None:
        streaming.look_no_more()
    for hole in () if half.early is None else half.early.holes():
        half.report_gap(*hole, reason)
    end = half.islands.front
    while items := half.islands.items:
        end = items[-1].end
        give_up(half, reason)
    if end is not None:
        _report_missing(half, end, reason)
    half.budget.update(half)


def _report_missing(half: HalfConnection, end: int, reason: GapReason) -> None:
    """Report what the peer or the FIN says was sent after the last octets.

    :param end: where these end.
    """
    upto = half.fin
    acknowledged = half.acknowledged or 0
    early = end if half.early_ack is None else unwrap(half.early_ack, end)
    if abs(early - end) < SEQUENCE_WINDOW:
        acknowledged = max(acknowledged, early)
    # One octet more than was captured is the acknowledgement of a FIN that was not.
    if upto is None and acknowledged > end + 1:
        upto = acknowledged
    if upto is not None:
        half.report_gap(end, upto, reason)


def _close_acknowledged(half: HalfConnection) -> None:
    """Close the holes that the peer acknowledged long enough ago."""
    segments, acknowledged = half.owner.segments, half.acknowledged
    if acknowledged is not None and (not half.noted or half.noted[-1][1] != acknowledged):
        half.noted += ((segments, acknowledged),)
    while half.noted and half.noted[0][0] + LATE_SEGMENTS <= segments:
        half.passed, half.noted = half.noted[0][1], half.noted[1:]
    while (island := half.islands.after_open_hole()) is not None and island.start <= half.passed:
        if half.other is None:
            _close(half, island)
        elif half.islands.items[0] is not island:
            # Its frames are reported in order, so that no late copy is waited for.
            give_up(half, "acknowledged")
        else:
            half.report_gap(half.islands.floor, island.start, "acknowledged")
            half.islands.floor = island.start
            _close(half, island)


def _close(half: HalfConnection, island: Island) -> None:
    """Go on after a hole that the receiver does not wait for."""
    half.islands.front = island.start
    island.open_left = False
    island.need = island.start
    half.advance(island)


def _finish(half: HalfConnection, island: Island, *, is_over: bool) -> int:
    """Make of an island what can be made of it; return where the octets begin that are lost.

    :param is_over: nothing more will come, so that none are.
    """
    island.look_again()
    if not is_over:
        return half.reader.give_up(island)
    # The first may make way for the other.
    streaming = streaming_of(half)
    if streaming is not None:
        streaming.finish(island)
    if half.reader is not streaming:
        half.reader.finish(island)
    return island.end
