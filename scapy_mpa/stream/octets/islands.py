# SPDX-License-Identifier: GPL-2.0-or-later
"""The captured octets of one direction: islands, with holes between them.

:class:`Islands` keeps the islands in order.  It joins two islands when the hole between them is
filled.  The first captured copy of an octet counts (RFC 5044 A.3).  A hole is *open* while the
receiver may still wait for its octets.
"""

from bisect import bisect_right, insort
from collections.abc import Iterator
from operator import attrgetter
from typing import Final, NamedTuple

from scapy_mpa.stream.octets.chunk import Chunk
from scapy_mpa.stream.octets.island import Island

_start_of: Final = attrgetter("start")
_NO_ISLANDS: Final[list[Island]] = []
"""The shared empty list of directions without octets.  It stays empty: the first island makes a new
list."""


class Inserted(NamedTuple):
    """Where the octets of one segment went."""

    islands: list[Island]
    """The islands that grew."""
    fresh: int
    """How many octets were new."""
    repeated: list[tuple[int, int]]
    """Stretches that were captured before."""
    chunks: int
    """How many chunks the new octets made."""


class Islands:
    """All islands of one direction, ascending."""

    __slots__ = ("floor", "front", "items")

    def __init__(self) -> None:
        self.items = _NO_ISLANDS
        self.floor = 0
        """Octets before this position are no longer taken."""
        self.front: int | None = None
        """An island that starts at or before this position has no open hole before it.  None until
        octets are captured."""

    def insert(self, position: int, octets: bytes, frame: int) -> Inserted:
        """Take the octets of a segment that begins at ``position``; the first copy counts."""
        items = self.items
        end = position + len(octets)
        if items and position == items[-1].end:
            island = items[-1]
            island.append(Chunk(position, octets, frame))
            return Inserted([island], len(octets), [], 1)
        return self._insert_between(position, end, octets, frame)

    def _insert_between(self, position: int, end: int, octets: bytes, frame: int) -> Inserted:
        grown: list[Island] = []
        repeated: list[tuple[int, int]] = []
        fresh = chunks = 0
        at = position
        if at < self.floor:
            at = min(end, self.floor)
            repeated.append((position, at))
        while at < end:
            index = self._index_of(at)
            island = self.items[index] if index >= 0 else None
            if island is not None and at < island.end:
                stop = min(end, island.end)
                repeated.append((at, stop))
            else:
                following = self.items[index + 1] if index + 1 < len(self.items) else None
                stop = end if following is None else min(end, following.start)
                chunk = Chunk(at, octets[at - position : stop - position], frame)
                fresh += stop - at
                chunks += 1
                island = self._place(index, chunk)
                if island not in grown:
                    grown.append(island)
            at = stop
        return Inserted(grown, fresh, repeated, chunks)

    def _index_of(self, position: int) -> int:
        """Return the index of the last island that starts at or before ``position``, else -1."""
        return bisect_right(self.items, position, key=_start_of) - 1

    def _place(self, index: int, chunk: Chunk) -> Island:
        """Append a chunk to the island at ``index`` if they touch, else make a new island."""
        items = self.items
        if index >= 0 and items[index].end == chunk.position:
            island = items[index]
        else:
            island = Island(chunk.position)
            index += 1
            if items:
                items.insert(index, island)
            else:
                # A list made with its one item takes less memory.
                items = self.items = [island]
        island.append(chunk)
        following = items[index + 1] if index + 1 < len(items) else None
        if following and following.start == island.end and not following.has_hole:
            island.join(items.pop(index + 1))
        return island

    def mark_absent(self, start: int, end: int) -> None:
        """Note that the octets from ``start`` up to ``end`` were cut off, and read as zeros."""
        for island in self.items[max(0, self._index_of(start)) :]:
            if island.start >= end:
                break
            if island.absent is None:
                island.absent = []
            insort(island.absent, (max(start, island.start), min(end, island.end)))

    # -- islands and holes ---------------------------------------------------------------------

    def at(self, position: int) -> Island | None:
        """Return the island that holds the octet at a position."""
        index = self._index_of(position)
        return self.items[index] if index >= 0 and position < self.items[index].end else None

    def whole(self) -> list[Island]:
        """Return the islands whose first octets were not released."""
        return [island for island in self.items if island.held == island.start]

    def holes(self, begin: int = 0) -> Iterator[tuple[int, int]]:
        """Yield the holes before captured octets, open or closed.

        :param begin: position before which holes are left out.
        """
        at = max(begin, self.floor)
        for island in self.items:
            if at < island.start:
                yield at, island.start
            at = max(at, island.end)

    def lies_beyond(self, island: Island) -> bool:
        """True if an open hole lies before an island."""
        return self.front is not None and island.start > self.front

    def is_ahead(self, island: Island, position: int) -> bool:
        """True if missing octets before a position may yet be captured."""
        runs = island.runs
        return self.lies_beyond(island) or (len(runs) > 1 and position >= runs[1].start)

    def after_open_hole(self) -> Island | None:
        """Return the island after the first open hole, None if there is no such hole."""
        items = self.items
        if self.front is None or not items or items[-1].start <= self.front:
            return None
        return items[self._index_of(self.front) + 1]

    def _front_island(self) -> Island | None:
        """Return the island before the first open hole, None if its octets were given up."""
        assert self.front is not None
        index = self._index_of(self.front)
        return self.items[index] if index >= 0 else None

    def front_end(self) -> int:
        """Return the position up to which all octets were captured or given up."""
        island = self._front_island()
        assert self.front is not None
        return self.front if island is None else island.end

    def read_to(self, island: Island) -> int | None:
        """Return the position before which only late copies bring more FPDUs.

        None if no hole before it was closed.

        :param island: contains an FPDU after that position.
        """
        front = self._front_island() if self.lies_beyond(island) else island
        if front is None or front is self.items[0]:
            return None
        return front.runs[0].end if front.runs else front.start

    def delivery_point(self, island: Island) -> int:
        """Return the position of the first octet that was neither captured nor given up.

        :param island: contains an FPDU after that position.
        """
        return self.front_end() if self.lies_beyond(island) else island.runs[0].end
