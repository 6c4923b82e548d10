# SPDX-License-Identifier: GPL-2.0-or-later
"""The order of the segments in the stream of one direction: each waits for those before it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf

from scapy_mpa.stream.delivery.segment import DDPSegment
from scapy_mpa.stream.sequence import unwrap

__all__ = ["Turns"]


@dataclass(slots=True, eq=False)
class Turns:
    """The segments of one direction that wait, and where the next one begins."""

    expected: int | None = None
    """Position after the last segment looked at; None: nobody knows where the first is."""
    waiting: list[tuple[int, int, DDPSegment]] = field(default_factory=list)
    _count: int = 0
    # So that segments are never compared.

    def place(self, segment: DDPSegment, near: int) -> bool:
        """Set where a segment begins and ends; tell whether it is the one that is due.

        :param near: a position around which sequence numbers are placed.
        """
        seq, _, leading, extent = segment.place
        start = segment.start = unwrap(seq, near) - leading
        segment.end = start + extent
        return start == self.expected and not self.waiting

    def wait(self, segment: DDPSegment) -> Iterator[DDPSegment]:
        """Have a segment wait; give what is due now."""
        if segment.follows:
            self.expected = segment.start
        self._count += 1
        heappush(self.waiting, (segment.start, self._count, segment))
        return iter(()) if segment.out_of_order else self.due(segment.start)

    def due(self, upto: float = inf) -> Iterator[DDPSegment]:
        """Give all that begin up to a position, and what follows without a hole.

        Whoever looks at one moves ``expected`` on.
        """
        waiting = self.waiting
        while waiting and (waiting[0][0] <= upto or waiting[0][0] == self.expected):
            yield heappop(waiting)[2]
