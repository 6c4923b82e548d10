# SPDX-License-Identifier: GPL-2.0-or-later
"""The order of the segments in the stream of one direction: each waits for those before it."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Generic, TypeVar

from scapy_mpa.stream.events import DDPCarrier, SoftUiWARPRecovered

__all__ = ["Turns"]

_Item = TypeVar("_Item")


class Turns(Generic[_Item]):
    """The segments of one direction that wait, and where the next one begins."""

    __slots__ = ("_count", "expected", "waiting")

    def __init__(self) -> None:
        self.expected: int | None = None
        """Position behind the last segment looked at; None: nobody knows where the first is."""
        self.waiting: list[tuple[int, int, int, _Item]] = []
        self._count = 0
        # So that items are never compared.

    @property
    def last(self) -> int:
        """Where the last one begins that waits."""
        return max((start for start, *_ in self.waiting), default=0)

    def wait(self, carrier: DDPCarrier, start: int, end: int, item: _Item) -> None:
        """Have a segment wait."""
        if isinstance(carrier, SoftUiWARPRecovered):
            self.expected = start
        self._count += 1
        heappush(self.waiting, (start, self._count, end, item))

    def due_with(
        self, carrier: DDPCarrier, start: int, most: int
    ) -> Iterator[tuple[int, int, _Item]]:
        """Give what is due now that a segment waits: start, end, item.

        :param start: where it begins.
        :param most: how many may wait.
        """
        if not carrier.out_of_order:
            return self.due(start)
        return self.due(self.waiting[0][0]) if len(self.waiting) > most else iter(())

    def due(self, upto: int) -> Iterator[tuple[int, int, _Item]]:
        """Give all that begins up to ``upto``, and what follows without a hole: start, end, item.

        Whoever looks at one moves ``expected`` on.
        """
        waiting = self.waiting
        while waiting and (waiting[0][0] <= upto or waiting[0][0] == self.expected):
            start, _, end, item = heappop(waiting)
            yield start, end, item
