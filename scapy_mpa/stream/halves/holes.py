# SPDX-License-Identifier: GPL-2.0-or-later
"""Holes in one direction: open, closed, or gaps.

A hole is *open* while the receiver may wait for it.  It is *closed* after the peer has acknowledged
its octets.  Then the island after it is read as well as possible, but a late copy may still fill
the hole.  It becomes a *gap* when nothing more will come, when too many holes are closed, or when a
limit is reached.

Once FPDUs begin, nothing waits for holes before them (:mod:`~scapy_mpa.stream.halves.early`).
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
"""Islands of one half connection, at most: bounds the cost of a segment that spans them all."""


def check(half: HalfConnection) -> None:
    """Close the holes that the peer has acknowledged, and give up islands that wait too long."""
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
        half.acks = ()
    if _has_surplus(half):
        give_up(half, "acknowledged")


def _has_surplus(half: HalfConnection) -> bool:
    """Return whether more closed holes are kept than late copies may still fill.

    A capture can miss a segment and hold its spurious retransmission.  Until it is known what the
    octets are, any of them may show it.
    """
    islands = half.islands
    items = islands.items
    if is_unknown(half) or len(items) <= LATE_SEGMENTS:
        return False
    return items[LATE_SEGMENTS].start <= (islands.front or 0)


def changes_soon(half: HalfConnection) -> bool:
    """Return whether more segments alone, of any kind, close a hole or make it a gap."""
    island = half.islands.after_open_hole()
    is_closing = island is not None and island.start <= (half.acknowledged or 0)
    return is_closing or _has_surplus(half)


def relieve(half: HalfConnection) -> None:
    """Hold fewer octets: those that wait longest are given up."""
    items = half.islands.items
    before = half.held
    streaming = streaming_of(half)
    if streaming is not None:
        streaming.decide()
    # The decision may have begun the Full Operation Phase.
    if streaming is not None and half.phase is Phase.STREAMING:
        streaming.stop_looking()
    elif len(items) == 1 and items[0].runs and items[0].runs[0].broken_at is None:
        # The last FPDU is believed now.  Keep only the octets after it, and those before the first
        # FPDU that are still to be searched.
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
    lost_from = _finish(half, first, is_over=reason != "limit")
    half.release(first, first.start, first.end)
    if islands.items and islands.items[0] is first:
        # Otherwise it held a startup frame, after which the Full Operation Phase has begun.
        del islands.items[0]
    islands.floor = first.end
    following = islands.items[0] if islands.items else None
    if following is None or following.start == first.end:
        half.report_gap(lost_from, first.end, reason)
    else:
        half.report_gap(lost_from, following.start, reason)
        islands.floor = following.start
        if islands.front is None or following.start > islands.front:
            _close(half, following)
        if following.runs and following.settled:
            # The octets before its first FPDU belong to one that will never be whole.
            half.release(following, following.start, following.runs[0].start)
            following.runs[0].start = following.start
    if not islands.items:
        islands.front = first.end


def finish(half: HalfConnection, reason: GapReason) -> None:
    """Read and report what is left of a direction: nothing more will come."""
    streaming = streaming_of(half)
    if streaming is not None:
        streaming.look_no_more()
    for hole in () if half.early is None else half.early.holes():
        half.report_gap(*hole, reason)
    end = half.islands.front
    while items := half.islands.items:
        end = items[-1].end
        give_up(half, reason)
    if half.high is None and half.early_acks is not None:
        # Nothing of the direction was captured.
        end, _ = half.early_acks
    if end is not None:
        _report_missing(half, end, reason)
    half.budget.update(half)


def _report_missing(half: HalfConnection, end: int, reason: GapReason) -> None:
    """Report a gap after the captured octets, if acknowledgements or the FIN show one.

    :param end: position after the last captured octet.
    """
    sent_to = half.fin
    acknowledged = half.acknowledged or 0
    early = end if half.early_acks is None else unwrap(half.early_acks[1], end)
    if abs(early - end) < SEQUENCE_WINDOW:
        acknowledged = max(acknowledged, early)
    # One octet more than was captured may be a FIN that was not.
    if sent_to is None and acknowledged > end + 1:
        sent_to = acknowledged
    if sent_to is not None:
        half.report_gap(end, sent_to, reason)


def _close_acknowledged(half: HalfConnection) -> None:
    """Close the holes that the peer acknowledged long enough ago."""
    segments, acknowledged = half.owner.segments, half.acknowledged
    if acknowledged is not None and (not half.acks or half.acks[-1][1] != acknowledged):
        half.acks += ((segments, acknowledged),)
    while half.acks and half.acks[0][0] + LATE_SEGMENTS <= segments:
        half.closed_to, half.acks = half.acks[0][1], half.acks[1:]
    while (island := half.islands.after_open_hole()) is not None and island.start <= half.closed_to:
        if half.other is None:
            _close(half, island)
        elif half.islands.items[0] is not island:
            # Frames of another framing are reported in order, so no late copy is waited for.
            give_up(half, "acknowledged")
        else:
            half.report_gap(half.islands.floor, island.start, "acknowledged")
            half.islands.floor = island.start
            _close(half, island)


def _close(half: HalfConnection, island: Island) -> None:
    """Close the hole before an island, and read the island."""
    half.islands.front = island.start
    island.open_left = False
    island.need = island.start
    half.advance(island)


def _finish(half: HalfConnection, island: Island, *, is_over: bool) -> int:
    """Read an island for the last time; return the position from which its octets are lost.

    :param is_over: nothing more will come, so no octets are lost.
    """
    island.look_again()
    if not is_over:
        return half.reader.give_up(island)
    # The first call may replace the reader.
    streaming = streaming_of(half)
    if streaming is not None:
        streaming.finish(island)
    if half.reader is not streaming:
        half.reader.finish(island)
    return island.end
