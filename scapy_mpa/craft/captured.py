# SPDX-License-Identifier: GPL-2.0-or-later
"""Which octets of a conversation a list of segments holds, and what that leaves of each item.

Where octets come twice, the first captured count (RFC 5044 A.3).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from scapy_mpa.craft.layout import Placed
from scapy_mpa.craft.segment import Segment
from scapy_mpa.stream.segment import RST, SYN

__all__ = ["Captured", "Fate", "captured"]

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


class _Piece(NamedTuple):
    start: int
    """Offset in what the side sends."""
    end: int
    octets: bytes
    frame: int


def captured(
    placed: Iterable[Placed], segments: Sequence[Segment], isns: tuple[int, int]
) -> list[Captured]:
    """Return what ``segments`` have of each item that puts octets into the stream.

    :param segments: as they were captured, in this order; the numbers of their frames are their
        places, from 1.
    :param isns: initial sequence numbers of Initiator and Responder.
    """
    pieces = (_Pieces(), _Pieces())
    for frame, segment in enumerate(segments, 1):
        octets = segment.octets[: segment.captured]
        if octets and not segment.flags & RST:
            offset = segment.seq - isns[segment.side] - 1 & _WORD
            if segment.flags & SYN:
                offset = offset + 1 & _WORD
            # What lies before the stream, a keep-alive probe for one.
            offset -= 1 << 32 if offset >> 31 else 0
            pieces[segment.side].add(offset, octets, frame)
    return [pieces[getattr(each.item, "side", 0)].captured(each) for each in placed if each.octets]


class _Pieces:
    """What was captured of a direction: pieces that do not overlap, in the order of the stream."""

    __slots__ = ("_items", "_starts")

    def __init__(self) -> None:
        self._items: list[_Piece] = []
        self._starts: list[int] = []

    def add(self, start: int, octets: bytes, frame: int) -> None:
        """Add octets that were captured, as far as they are new."""
        end = start + len(octets)
        items, starts = self._items, self._starts
        index = bisect_right(starts, start)
        at = max(start, items[index - 1].end) if index else start
        while at < end:
            upto = min(end, starts[index]) if index < len(starts) else end
            if at < upto:
                items.insert(index, _Piece(at, upto, octets[at - start : upto - start], frame))
                starts.insert(index, at)
                index += 1
            if index == len(items):
                return
            # Go on behind what was there.
            at = items[index].end
            index += 1

    def captured(self, placed: Placed) -> Captured:
        """Return what was captured of an item."""
        start, end = placed.start, placed.end
        index = max(0, bisect_right(self._starts, start) - 1)
        there = 0
        frames: list[int] = []
        is_altered = False
        while index < len(self._items) and self._starts[index] < end:
            piece = self._items[index]
            index += 1
            low, high = max(start, piece.start), min(end, piece.end)
            if low >= high:
                continue
            there += high - low
            if not frames or frames[-1] != piece.frame:
                frames.append(piece.frame)
            sent = placed.octets[low - start : high - start]
            is_altered |= piece.octets[low - piece.start : high - piece.start] != sent
        fate: Fate = "missing"
        if there == end - start:
            fate = "altered" if is_altered else "whole"
        elif there:
            fate = "part"
        return Captured(placed, fate, tuple(dict.fromkeys(frames)))
