# SPDX-License-Identifier: GPL-2.0-or-later
"""Takes a segment into its direction: its flags, its new octets, and its copies."""

from __future__ import annotations

from scapy_mpa.stream.events import OverlapDiffers
from scapy_mpa.stream.halves import holes
from scapy_mpa.stream.halves.early import EarlyOctets
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.halves.phase import Phase
from scapy_mpa.stream.octets.chunk import CHUNK_OVERHEAD
from scapy_mpa.stream.octets.islands import Inserted
from scapy_mpa.stream.segment import Segment
from scapy_mpa.stream.sequence import SEQUENCE_WINDOW, compact, first_position, unwrap
from scapy_mpa.wire.tcp import FIN, RST, SYN


def receive(half: HalfConnection, segment: Segment) -> None:
    """Take a segment of a direction."""
    high = half.high
    flags = segment.flags
    position = first_position(segment.seq) if high is None else unwrap(segment.seq, high)
    if flags & SYN:
        position = compact(position + 1)
        if half.begin is None:
            _begin_at(half, position)
    elif segment.length and half.islands.front is None:
        half.islands.front = position
    if high is None or (flags & SYN and not half.octets):
        # Before any octets, a segment that is no SYN shows nothing: it may be a stray RST.
        half.high = high = position
    if flags & FIN and abs(position - high) < SEQUENCE_WINDOW:
        fin = position + segment.length
        # A FIN before the first octet belongs to an earlier connection.
        if half.begin is None or fin >= half.begin:
            half.fin = fin
    # Octets of a RST explain it, and are not part of the stream (RFC 9293 3.5.3).
    if segment.length and not flags & RST:
        _take(half, position, segment)
        end = position + segment.length
        if end > high:
            half.high = compact(end)


def _begin_at(half: HalfConnection, position: int) -> None:
    """Take a SYN: the octets of the direction begin at a position."""
    half.begin = position
    if half.framing is None:
        # Octets that were captured before the SYN may not be the first ones.
        islands = half.islands
        islands.front = islands.floor = position
        for island in islands.items:
            island.open_left = islands.lies_beyond(island)


def _take(half: HalfConnection, position: int, segment: Segment) -> None:
    """Take the octets of a segment.

    :param position: of its first octet.
    """
    islands = half.islands
    before = half.held
    octets = segment.payload
    cut = segment.length - len(octets)
    if cut > 0:
        octets += bytes(cut)
    inserted = islands.insert(position, octets, segment.frame)
    repeated = inserted.repeated
    # Of the octets before the highest one, those that were not captured before fill a hole.
    before = min(position + len(octets), half.high or 0) - position
    half.counters.late += before > sum(end - start for start, end in repeated)
    if half.early is not None and position < half.early.end:
        repeated = _fill_early(half, half.early, position, octets, segment.frame, repeated)
    if repeated:
        _compare(half, position, segment.payload, repeated)
    half.octets += inserted.fresh
    half.held += inserted.fresh + CHUNK_OVERHEAD * inserted.chunks
    if cut > 0:
        _mark_cut(half, position + len(segment.payload), position + segment.length, inserted)
    half.fill_purse(inserted.fresh)
    if not inserted.islands:
        return
    for island in inserted.islands:
        half.advance(island)
    if len(islands.items) > 1 or half.held > half.budget.each or island.open_left:
        holes.check(half)
    else:
        half.acks = ()
    if half.held != before:
        half.budget.update(half)


def _fill_early(
    half: HalfConnection,
    early: EarlyOctets,
    position: int,
    octets: bytes,
    frame: int,
    repeated: list[tuple[int, int]],
) -> list[tuple[int, int]]:
    """Take the octets of a late copy that lie before the first FPDU.

    :param repeated: stretches of the copy that are not waited for.
    :return: the stretches that had been captured before.
    """
    inserted = early.fill(position, octets, frame)
    half.octets += inserted.fresh
    half.counters.late += inserted.fresh > 0
    late = early.startup()
    while len(early) > holes.HELD_ISLANDS:
        # From now on, octets of copies in this hole count as captured before.
        half.report_gap(*early.give_up(), "limit")
    if not any(early.holes()):
        half.early = None
    if late is not None:
        half.owner.on_startup(half, *late)
    after = [(max(start, early.end), end) for start, end in repeated if end > early.end]
    return inserted.repeated + after


def _mark_cut(half: HalfConnection, start: int, end: int, inserted: Inserted) -> None:
    """Note the octets that the snap length cut off a segment, unless they were captured before.

    They stay cut off, and read as zeros, even after a copy brings them.
    """
    half.is_cut = half.is_cut or half.phase in (Phase.STREAMING, Phase.HELD)
    for known_start, known_end in (*inserted.repeated, (end, end)):
        if start < min(known_start, end):
            half.islands.mark_absent(start, min(known_start, end))
            half.octets -= min(known_start, end) - start
        start = max(start, known_end)


def _compare(
    half: HalfConnection, position: int, octets: bytes, repeated: list[tuple[int, int]]
) -> None:
    """Compare a copy of octets with the first one (RFC 5044 A.3).

    :param octets: the captured octets; the snap length may have cut off the rest.
    """
    if len(octets) <= 1 and position + 1 == half.high:
        # A keep-alive probe repeats the last octet, perhaps with another value.
        return
    captured = position + len(octets)
    stretches = [(start, min(end, captured)) for start, end in repeated if start < captured]
    half.counters.count_copy(sum(end - start for start, end in stretches))
    united: list[tuple[int, int]] = []
    for start, end in stretches:
        # Join stretches that touch: the first may lie before a startup frame's end.
        if united and united[-1][1] == start:
            start = united.pop()[0]
        united.append((start, end))
    shared = half.owner.shared
    for start, end in united:
        again = octets[start - position : end - position]
        stretch = shared.recent.differing(start, again, half.islands, half.key)
        if stretch is not None:
            first, after = stretch
            shared.rows.append(OverlapDiffers(*half.head(first), length=after - first))
