# SPDX-License-Identifier: GPL-2.0-or-later
"""Octets of streaming mode that may still be captured, though FPDUs are read already.

Nothing waits for them.  The octets of a late copy are counted, and not kept.  One exception: if
nothing of streaming mode was captured, a startup frame lies there
(:mod:`~scapy_mpa.stream.startup.beginnings`).  That is kept.
"""

from __future__ import annotations

from collections.abc import Iterator

from scapy_mpa.stream.octets.island import Island
from scapy_mpa.stream.octets.islands import Inserted, Islands
from scapy_mpa.stream.octets.scan import FoundStartup, find_startups


class EarlyOctets:
    """Captured stretches before the first FPDU, and the holes between them.

    :param islands: all captured octets of the direction.
    :param end: position of the first FPDU.
    """

    __slots__ = ("_holds_startup", "_islands", "end")

    def __init__(self, islands: Islands, end: int) -> None:
        self.end = end
        self._islands = Islands()
        self._islands.floor = islands.floor
        self._islands.items = items = []
        for island in islands.items:
            # Only positions matter, so the octets are left out.
            stretch = Island(min(island.start, end))
            stretch.end = min(island.end, end)
            items.append(stretch)
            if island.end >= end:
                break
        self._holds_startup = len(items) == 1 and items[0].start == end

    def __len__(self) -> int:
        """Return the number of stretches."""
        return len(self._islands.items)

    def holes(self) -> Iterator[tuple[int, int]]:
        """Yield the start and end of each hole."""
        return self._islands.holes()

    def fill(self, position: int, octets: bytes, frame: int) -> Inserted:
        """Take the octets of a segment that begins before the first FPDU."""
        inserted = self._islands.insert(position, octets[: self.end - position], frame)
        if not self._holds_startup:
            for island in inserted.islands:
                island.release(island.start, island.end)
        return inserted

    def startup(self) -> tuple[Island, FoundStartup] | None:
        """Return the island and the startup frame in it, once all its octets are captured."""
        if not self._holds_startup or any(self.holes()):
            return None
        island = self._islands.items[0]
        found = next(find_startups(island, island.start), None)
        return None if found is None or found.end != self.end else (island, found)

    def give_up(self) -> tuple[int, int]:
        """Give up the hole before the first stretch; return its start and end."""
        islands = self._islands
        first = islands.items.pop(0)
        hole = islands.floor, first.start
        islands.floor = first.end
        return hole
