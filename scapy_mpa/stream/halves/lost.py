# SPDX-License-Identifier: GPL-2.0-or-later
"""A startup frame that may yet be captured, though the FPDUs after it are read already."""

from __future__ import annotations

from scapy_mpa.stream.octets.island import Island
from scapy_mpa.stream.octets.islands import Islands
from scapy_mpa.stream.octets.scan import FoundStartup, find_startups


class Lost:
    """The hole in which it lies.

    :param begin: position of its first octet.
    :param end: where FPDUs begin.
    """

    __slots__ = ("_begin", "_end", "_islands")

    def __init__(self, begin: int, end: int) -> None:
        self._begin = begin
        self._end = end
        self._islands = Islands()

    def fill(self, position: int, octets: bytes, frame: int) -> tuple[Island, FoundStartup] | None:
        """Take octets of a segment that may lie there; return the frame once it is whole."""
        octets = octets[max(0, self._begin - position) : max(0, self._end - position)]
        if not octets:
            return None
        self._islands.insert(max(position, self._begin), octets, frame)
        island = self._islands.items[0]
        if (island.start, island.end) != (self._begin, self._end):
            return None
        found = next(find_startups(island, self._begin), None)
        return None if found is None or found.end != self._end else (island, found)
