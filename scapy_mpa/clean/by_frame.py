# SPDX-License-Identifier: GPL-2.0-or-later
"""What waits for its place in a stream, by the frames that completed it.

It waits in the order of the stream.  To force the slot of a frame is to ask how far along the
stream lies what was completed up to that frame; to go over all that waits for each slot would cost
the more the more memory may be taken.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

__all__ = ["ByFrame"]


class ByFrame:
    """What waits in one direction.

    :param pending: position, serial number, the number of the frame that completed it, and
        anything else, of each item.
    """

    __slots__ = ("_heap", "_waiting")

    def __init__(self, pending: Iterable[tuple[int, int, int, object]]) -> None:
        self._heap = [(completed, start, serial) for start, serial, completed, _ in pending]
        heapify(self._heap)
        self._waiting = {serial for _, _, serial in self._heap}

    @property
    def is_stale(self) -> bool:
        """Most entries are of what waits no longer: to make another takes fewer steps than it took
        to remove these."""
        return len(self._heap) > 2 * len(self._waiting)

    def add(self, start: int, serial: int, completed: int) -> None:
        """Take note of an item that waits from now on."""
        heappush(self._heap, (completed, start, serial))
        self._waiting.add(serial)

    def remove(self, serial: int) -> None:
        """Take note that an item waits no longer."""
        self._waiting.remove(serial)

    def pop_upto(self, number: int) -> int | None:
        """Return the highest position of what was completed up to a frame; None if nothing was.

        The caller sees to it that nothing up to that position waits any longer.
        """
        heap, waiting = self._heap, self._waiting
        highest = None
        while heap and heap[0][0] <= number:
            _, start, serial = heappop(heap)
            if serial in waiting and (highest is None or start > highest):
                highest = start
        return highest
