# SPDX-License-Identifier: GPL-2.0-or-later
"""Positions to which the Markers of an island point, each tried as seldom as possible.

After a hole, only Markers show where FPDUs begin (RFC 5044 4.3).  Wrong Markers can be many, and
an island grows segment by segment.  So each Marker is read once.  Its position is tried again only
when the octets that were missing there have arrived.
"""

from __future__ import annotations

from heapq import heappop, heappush


class Leads:
    """Positions of FPDUs, as the Markers in a stretch of octets give them.

    :param begin: where the stretch begins.
    """

    __slots__ = ("_known", "_untried", "_waiting", "begin", "end")

    def __init__(self, begin: int) -> None:
        self.begin = begin
        self.end = begin
        """All Markers that begin from ``begin`` up to this position were read."""
        self._known: set[int] = set()
        self._untried: list[int] = []
        """Heap of positions not tried yet, negated: the last position comes first."""
        self._waiting: list[tuple[int, int]] = []
        """Heap: the position that octets must reach, and the position to try then."""

    @property
    def length(self) -> int:
        """Length of the stretch in octets."""
        return self.end - self.begin

    def add(self, start: int) -> None:
        """Note a position to which a Marker points."""
        if start not in self._known:
            self._known.add(start)
            heappush(self._untried, -start)

    def wait(self, start: int, need: int) -> None:
        """Keep a position until octets up to ``need`` were captured."""
        heappush(self._waiting, (need, start))

    def due(self, begin: int, end: int) -> list[int]:
        """Return the positions to try now.

        :param begin: where the captured octets begin.
        :param end: where they end.
        """
        due = []
        while self._untried and -self._untried[0] >= begin:
            due.append(-heappop(self._untried))
        while self._waiting and self._waiting[0][0] <= end:
            due.append(heappop(self._waiting)[1])
        due.sort()
        return due
