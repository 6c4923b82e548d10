# SPDX-License-Identifier: GPL-2.0-or-later
"""Records in the order in which their octets were captured, within a bound.

They are found in another order: after a hole, or where startup frames are missing, later than they
were captured.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Final

from scapy_mpa.stream.segment import SECOND

HELD_NS: Final = 5 * SECOND
"""How long a text of a live capture waits for others of earlier frames, by the times of frames: a
hole is given up after less."""
HELD_OCTETS: Final = 32 << 20
"""How many octets of text wait at most."""


class Sorter:
    """Takes texts in any order, gives them in the order of their frames.

    :param is_live: whether somebody waits for them.
    """

    def __init__(self, *, is_live: bool) -> None:
        self._is_live = is_live
        self._texts: list[tuple[int, int, int, bytes]] = []
        """A heap: frame, how many came before, time, text."""
        self._count = 0
        self._held = 0
        self._last = 0
        """The highest frame whose text was given."""

    def is_late(self, frame: int) -> bool:
        """Tell whether texts of later frames were given."""
        return frame < self._last

    def add(self, frame: int, time_ns: int, text: bytes) -> None:
        """Take a text.

        :param frame: what it is sorted by; of the same frame, the first taken comes first.
        :param time_ns: when that was captured.
        """
        heappush(self._texts, (frame, self._count, time_ns, text))
        self._count += 1
        self._held += len(text)

    def due(self, now_ns: int) -> bytes:
        """Return what waits no longer.

        :param now_ns: the time of the newest frame.
        """
        return self._taken(now_ns - HELD_NS if self._is_live else 0, HELD_OCTETS)

    def rest(self) -> bytes:
        """Return all that waits."""
        return self._taken(0, 0)

    def _taken(self, until_ns: int, held: int) -> bytes:
        """Return texts of before a time, and others as long as more octets wait than may."""
        texts, found = self._texts, []
        while texts and (texts[0][2] < until_ns or self._held > held):
            frame, _, _, text = heappop(texts)
            self._last = max(self._last, frame)
            self._held -= len(text)
            found.append(text)
        return b"".join(found)
