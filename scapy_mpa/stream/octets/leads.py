# SPDX-License-Identifier: GPL-2.0-or-later
"""Places to which the Markers of an island point, so that none of them is tried twice.

After a hole Markers alone say where FPDUs begin (RFC 5044 4.3).  An honest one is believed at
once; those that point anywhere are many, and an island grows segment by segment.  So each Marker
is read once, and a place is looked at again only when octets are there that it lacked.
"""

from __future__ import annotations

from heapq import heappop, heappush


class Leads:
    """Where the Markers of a stretch of octets say that FPDUs begin.

    :param begin: where the stretch begins.
    """

    __slots__ = ("_early", "_known", "_waiting", "begin", "end")

    def __init__(self, begin: int) -> None:
        self.begin = begin
        self.end = begin
        """Markers that begin before this position, and not before ``begin``, were read."""
        self._known: set[int] = set()
        self._early: list[int] = []
        """Places before the octets that are there, negative, so that the last comes first."""
        self._waiting: list[tuple[int, int]] = []
        """How far octets must reach for a place to be tried, and the place."""

    @property
    def length(self) -> int:
        """Octets of the stretch."""
        return self.end - self.begin

    def add(self, start: int) -> None:
        """Take note of a place to which a Marker points."""
        if start not in self._known:
            self._known.add(start)
            heappush(self._early, -start)

    def wait(self, start: int, need: int) -> None:
        """Keep a place until octets are there up to ``need``."""
        heappush(self._waiting, (need, start))

    def due(self, begin: int, end: int) -> list[int]:
        """Return the places that are to be tried now that octets ``begin`` to ``end`` are there."""
        due = []
        while self._early and -self._early[0] >= begin:
            due.append(-heappop(self._early))
        while self._waiting and self._waiting[0][0] <= end:
            due.append(heappop(self._waiting)[1])
        due.sort()
        return due
