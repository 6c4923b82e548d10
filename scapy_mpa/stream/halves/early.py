# SPDX-License-Identifier: GPL-2.0-or-later
"""Octets of streaming mode that may yet be captured, though FPDUs are read already.

Nothing waits for them.  What a late copy brings is counted, and not kept.  If nothing at all was
captured, a startup frame lies there (:mod:`~scapy_mpa.stream.startup.lost`), which is kept.
"""

from __future__ import annotations

from collections.abc import Iterator

from scapy_mpa.stream.octets.island import Island
from scapy_mpa.stream.octets.islands import Inserted, Islands
from scapy_mpa.stream.octets.scan import FoundStartup, find_startups


class Early:
    """What was captured before the place where FPDUs begin, and the holes between.

    :param islands: all that was captured of the direction.
    :param end: where FPDUs begin.
    """

    __slots__ = ("_holds_startup", "_islands", "end")

    def __init__(self, islands: Islands, end: int) -> None:
        self.end = end
        self._islands = Islands()
        self._islands.floor = islands.floor
        self._islands.items = items = []
        for each in islands.items:
            # Only places count, so that octets are left out.
            stretch = Island(min(each.start, end))
            stretch.end = min(each.end, end)
            items.append(stretch)
            if each.end >= end:
                break
        self._holds_startup = len(items) == 1 and items[0].start == end

    def __len__(self) -> int:
        """How many stretches there are."""
        return len(self._islands.items)

    def holes(self) -> Iterator[tuple[int, int]]:
        """Yield where octets are missing."""
        return self._islands.holes()

    def fill(self, position: int, octets: bytes, frame: int) -> Inserted:
        """Take octets of a segment that begins before FPDUs do."""
        inserted = self._islands.insert(position, octets[: self.end - position], frame)
        if not self._holds_startup:
            for island in inserted.islands:
                island.release(island.start, island.end)
        return inserted

    def startup(self) -> tuple[Island, FoundStartup] | None:
        """Return the startup frame that was captured now, and the island that holds it."""
        if not self._holds_startup or any(self.holes()):
            return None
        island = self._islands.items[0]
        found = next(find_startups(island, island.start), None)
        return None if found is None or found.end != self.end else (island, found)

    def give_up(self) -> tuple[int, int]:
        """Wait no more for what is missing before the first stretch; return where that is."""
        islands = self._islands
        first = islands.items.pop(0)
        hole = islands.floor, first.start
        islands.floor = first.end
        return hole
