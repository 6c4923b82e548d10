# SPDX-License-Identifier: GPL-2.0-or-later
"""The octets of a conversation that a list of segments holds, and which items are whole.

The first captured copy of an octet counts (RFC 5044 A.3).  Offsets count the octets that a side
sends, without the SYN.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final, NamedTuple

from scapy_mpa.craft.layout import Placed
from scapy_mpa.craft.segment import Segment
from scapy_mpa.wire.tcp import RST, SYN

_WORD: Final = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Captured:
    """An item of a script, and how much of it a list of segments holds."""

    placed: Placed
    is_whole: bool
    """Whether all its octets were captured as sent."""
    frames: tuple[int, ...]
    """The numbers, from 1, of the segments with its octets, in the order of the stream."""


class _Piece(NamedTuple):
    start: int
    end: int
    octets: bytes
    frame: int


_start: Final = attrgetter("start")


def first_followed(segments: Sequence[Segment]) -> int:
    """Return the place, from 0, of the first segment that shows a connection.

    A segment with neither a SYN nor octets may be a late one of an earlier connection.
    """
    for place, segment in enumerate(segments):
        if segment.octets or segment.flags & SYN:
            return place
    return len(segments)


def captured_items(
    placed: Iterable[Placed], segments: Iterable[Segment], isns: tuple[int, int]
) -> list[Captured]:
    """Return how much ``segments`` hold of each item that has octets in the stream.

    :param segments: in the order of capture; their frames are numbered from 1.
    :param isns: initial sequence numbers of Initiator and Responder.
    """
    streams = _Stream(isns[0]), _Stream(isns[1])
    for frame, segment in enumerate(segments, 1):
        streams[segment.side].take(segment, frame)
    return [streams[getattr(each.item, "side", 0)].captured(each) for each in placed if each.octets]


class _Stream:
    """The captured octets of a direction: pieces that do not overlap, in the order of the stream.

    :param isn: initial sequence number.
    """

    def __init__(self, isn: int) -> None:
        self._isn = isn
        self._items: list[_Piece] = []

    def take(self, segment: Segment, frame: int) -> None:
        """Take those of the captured octets of a segment that are new."""
        if segment.flags & RST:
            # Its octets are a remark, not part of the stream (RFC 9293 3.5.3).
            return
        offset = segment.seq + bool(segment.flags & SYN) - self._isn - 1 & _WORD
        # An octet before the stream has a negative offset.
        start = offset - (1 << 32 if offset >> 31 else 0)
        octets = segment.octets[: segment.captured]
        end = start + len(octets)
        items = self._items
        index = bisect_right(items, start, key=_start)
        at = max(start, items[index - 1].end) if index else start
        while at < end:
            upto = min(end, items[index].start) if index < len(items) else end
            if at < upto:
                items.insert(index, _Piece(at, upto, octets[at - start : upto - start], frame))
                index += 1
            if index == len(items):
                return
            # Go on after the piece that was there.
            at = items[index].end
            index += 1

    def captured(self, placed: Placed) -> Captured:
        """Return how much of an item was captured."""
        start, end = placed.start, placed.end
        octets: list[bytes] = []
        frames: list[int] = []
        first = max(0, bisect_right(self._items, start, key=_start) - 1)
        for index in range(first, len(self._items)):
            piece = self._items[index]
            if piece.start >= end:
                break
            low, high = max(start, piece.start), min(end, piece.end)
            if low < high:
                octets.append(piece.octets[low - piece.start : high - piece.start])
                frames.append(piece.frame)
        return Captured(placed, b"".join(octets) == placed.octets, tuple(dict.fromkeys(frames)))
