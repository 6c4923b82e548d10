# SPDX-License-Identifier: GPL-2.0-or-later
"""Which octets of a conversation a list of segments holds, and what that leaves of each item.

Where octets come twice, the first captured count (RFC 5044 A.3).  Offsets are those in what a side
sends, the SYN not counted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from scapy_mpa.craft.layout import Placed
from scapy_mpa.craft.segment import Segment
from scapy_mpa.stream.segment import ACK, FIN, RST, SYN

__all__ = [
    "Captured",
    "CapturedStream",
    "Difference",
    "Fate",
    "captured_items",
    "captured_streams",
    "first_followed",
]

Fate: TypeAlias = Literal["whole", "altered", "part", "missing"]
"""Of the octets of an item: all are there as they were sent; all are there, but what was captured
first differs; only some are there; none is."""

_WORD: Final = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Captured:
    """An item of a script, and what a list of segments has of it."""

    placed: Placed
    fate: Fate
    frames: tuple[int, ...]
    """Which segments brought its octets, by number from 1, in the order of the stream."""


class Difference(NamedTuple):
    """A stretch that came twice, from the first to the last octet that differs."""

    start: int
    end: int
    frame: int
    """Which segment brought the second copy, by number from 1."""


class _Piece(NamedTuple):
    start: int
    end: int
    octets: bytes
    frame: int


def first_followed(segments: Sequence[Segment]) -> int:
    """Return the place of the first segment that shows a connection, from 0.

    One with neither a SYN nor octets may as well be a late word of a connection that is over.
    """
    for place, segment in enumerate(segments):
        if segment.octets or segment.flags & SYN:
            return place
    return len(segments)


def captured_streams(
    segments: Sequence[Segment], isns: tuple[int, int]
) -> tuple[CapturedStream, CapturedStream]:
    """Return what ``segments`` have of what Initiator and Responder send.

    :param segments: as they were captured, in this order; the numbers of their frames are their
        places, from 1.
    :param isns: initial sequence numbers of Initiator and Responder.
    """
    streams = CapturedStream(isns[0]), CapturedStream(isns[1])
    begin = first_followed(segments)
    for frame, segment in enumerate(segments[begin:], begin + 1):
        streams[segment.side].take(segment, frame)
        if segment.flags & ACK and not segment.flags & RST:
            streams[1 - segment.side].acknowledge(segment.ack)
    return streams


def captured_items(
    placed: Iterable[Placed], streams: tuple[CapturedStream, CapturedStream]
) -> list[Captured]:
    """Return what was captured of each item that puts octets into the stream."""
    return [streams[getattr(each.item, "side", 0)].captured(each) for each in placed if each.octets]


class CapturedStream:
    """What was captured of a direction: pieces that do not overlap, in the order of the stream.

    :param isn: initial sequence number.
    """

    def __init__(self, isn: int) -> None:
        self._isn = isn
        self._items: list[_Piece] = []
        self._starts: list[int] = []
        self.has_syn = False
        """Whether the SYN was captured."""
        self.fin: int | None = None
        """Offset of the FIN, if that was captured."""
        self.acknowledged = 0
        """Offset up to which the other side acknowledges octets, the FIN counted like one."""
        self.octets = 0
        """How many octets were captured, each counted once."""
        self._stretches = 0
        self._grown: list[tuple[int, int, int]] = []
        """Octets and stretches without a hole that there were with a segment, and its number."""
        self.repeating = 0
        """How many segments brought octets captured before."""
        self.differences: list[Difference] = []

    def _offset(self, number: int) -> int:
        """Return the offset of a sequence number; what lies before the stream is negative."""
        offset = number - self._isn - 1 & _WORD
        return offset - (1 << 32 if offset >> 31 else 0)

    def take(self, segment: Segment, frame: int) -> None:
        """Take a segment of this direction."""
        flags = segment.flags
        if flags & RST:
            # What it carries is a remark, not part of the stream (RFC 9293 3.5.3).
            return
        start = self._offset(segment.seq) + bool(flags & SYN)
        self.has_syn |= bool(flags & SYN)
        if flags & FIN:
            self.fin = start + len(segment.octets)
        octets = segment.octets[: segment.captured]
        if octets:
            self._add(start, octets, frame)
            self._grown.append((self.octets, self._stretches, frame))

    def first_beyond(self, octets: int, stretches: int) -> int | None:
        """Return with which segment, by number from 1, there were more than so many octets, or so
        many stretches of them with holes between; None if there never were."""
        return next(
            (frame for had, apart, frame in self._grown if had > octets or apart > stretches), None
        )

    def acknowledge(self, ack: int) -> None:
        """Take an acknowledgement number of the other side."""
        self.acknowledged = max(self.acknowledged, self._offset(ack))

    def _add(self, start: int, octets: bytes, frame: int) -> None:
        """Add octets that were captured, as far as they are new."""
        end = start + len(octets)
        # A keep-alive probe repeats the last octet, and need not repeat it rightly.
        is_probe = len(octets) == 1 and bool(self._items) and end == self._items[-1].end
        if not is_probe and self._compare(start, octets, frame):
            self.repeating += 1
        items, starts = self._items, self._starts
        index = bisect_right(starts, start)
        at = max(start, items[index - 1].end) if index else start
        while at < end:
            upto = min(end, starts[index]) if index < len(starts) else end
            if at < upto:
                touches_last = bool(index) and items[index - 1].end == at
                touches_next = index < len(items) and items[index].start == upto
                self._stretches += 1 - touches_last - touches_next
                items.insert(index, _Piece(at, upto, octets[at - start : upto - start], frame))
                starts.insert(index, at)
                self.octets += upto - at
                index += 1
            if index == len(items):
                return
            # Go on after what was there.
            at = items[index].end
            index += 1

    def _reaching_into(self, start: int, end: int) -> Iterator[tuple[_Piece, int, int]]:
        """Yield each piece with octets from ``start`` up to ``end``, and from where to where."""
        for index in range(max(0, bisect_right(self._starts, start) - 1), len(self._items)):
            piece = self._items[index]
            if piece.start >= end:
                return
            low, high = max(start, piece.start), min(end, piece.end)
            if low < high:
                yield piece, low, high

    def _compare(self, start: int, octets: bytes, frame: int) -> bool:
        """Hold octets against those captured before; return whether there are such."""
        upto: int | None = None
        stretch: Difference | None = None
        for piece, low, high in self._reaching_into(start, start + len(octets)):
            if low != upto:
                self.differences += [] if stretch is None else [stretch]
                stretch = None
            here = octets[low - start : high - start]
            there = piece.octets[low - piece.start : high - piece.start]
            if here != there:
                pairs = enumerate(zip(here, there, strict=True), low)
                unlike = [at for at, (one, other) in pairs if one != other]
                first = unlike[0] if stretch is None else stretch.start
                stretch = Difference(first, unlike[-1] + 1, frame)
            upto = high
        self.differences += [] if stretch is None else [stretch]
        return upto is not None

    def holes(self) -> list[tuple[int, int]]:
        """Return from where to where octets are missing before others that were captured.

        Where the SYN was not captured nobody knows what came before the first ones.
        """
        found = []
        at = 0 if self.has_syn or not self._items else self._items[0].start
        for piece in self._items:
            if piece.start > at:
                found.append((at, piece.start))
            at = piece.end
        return found

    @property
    def end(self) -> int | None:
        """Offset after the last octet that was captured; None: nothing is known of any."""
        if self._items:
            return self._items[-1].end
        return 0 if self.has_syn else None

    def captured(self, placed: Placed) -> Captured:
        """Return what was captured of an item."""
        start, end = placed.start, placed.end
        there = 0
        frames: list[int] = []
        is_altered = False
        for piece, low, high in self._reaching_into(start, end):
            there += high - low
            frames.append(piece.frame)
            sent = placed.octets[low - start : high - start]
            is_altered |= piece.octets[low - piece.start : high - piece.start] != sent
        fate: Fate = "missing"
        if there == end - start:
            fate = "altered" if is_altered else "whole"
        elif there:
            fate = "part"
        return Captured(placed, fate, tuple(dict.fromkeys(frames)))
