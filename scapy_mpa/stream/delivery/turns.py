# SPDX-License-Identifier: GPL-2.0-or-later
"""The order of the segments in the stream of one direction: each waits for those before it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf

from scapy_mpa.stream.delivery.segment import DDPSegment
from scapy_mpa.stream.events import GapFound
from scapy_mpa.stream.ordinary import Row
from scapy_mpa.stream.sequence import SEQUENCE_MASK, first_position, unwrap


@dataclass(slots=True, eq=False)
class Turns:
    """The waiting segments of one direction, and the position at which the next one begins."""

    expected: int | None = None
    """Position after the last segment processed; None before the first segment."""
    waiting: list[tuple[int, int, DDPSegment]] = field(default_factory=list)
    _count: int = 0
    # Orders segments with the same position, so that the heap never compares segments.

    def place(self, segment: DDPSegment) -> None:
        """Set the positions at which a segment begins and ends."""
        seq, offset, leading, extent = segment.place
        near = self.expected
        if near is None:
            near = first_position(seq)
            # Segments may be missing before the first one found, which may be before the beginning.
            self.expected = near - (leading if offset is None else max(offset, 0))
        start = segment.start = unwrap(seq, near) - leading
        segment.end = start + extent

    def position_of(self, row: Row) -> int | None:
        """Return the position of a row that is next in the stream; None if it is not."""
        _, _, direction, offset, shape, *_ = row
        seq = (direction.origin + offset) & SEQUENCE_MASK
        expected = self.expected
        if expected is None:
            return first_position(seq) if shape.table.from_start and not offset else None
        return expected if expected & SEQUENCE_MASK == seq else None

    def end_of(self, gap: GapFound) -> int:
        """Return the position after a gap.  A segment must have come before."""
        assert self.expected is not None
        seq, length = gap.place
        return unwrap(seq, self.expected) + length

    def take(self, segment: DDPSegment) -> Iterator[tuple[DDPSegment, int]]:
        """Take a segment. Yield those that are due now, usually this one; see :meth:`due`."""
        self.place(segment)
        if segment.follows:
            self.expected = segment.start
        self._count += 1
        heappush(self.waiting, (segment.start, self._count, segment))
        read_to = segment.read_to
        return self.due(-1 if read_to is None else unwrap(read_to, segment.start))

    def due(self, upto: float = inf) -> Iterator[tuple[DDPSegment, int]]:
        """Yield the segments that begin by ``upto``, and those that follow without a hole.

        With each, the octets missing before it; less than 0 if it comes late.
        """
        waiting = self.waiting
        while waiting and (waiting[0][0] <= upto or waiting[0][0] == self.expected):
            start, _, segment = heappop(waiting)
            assert self.expected is not None
            missing = start - self.expected
            self.expected = max(self.expected, segment.end)
            yield segment, missing
