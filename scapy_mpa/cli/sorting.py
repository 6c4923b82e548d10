# SPDX-License-Identifier: GPL-2.0-or-later
"""Sorts records by the frames that brought their octets, with bounded delay and memory.

Records may be found later than their octets were captured: after a hole, or where startup frames
are missing.
"""

from __future__ import annotations

from heapq import heappop, heappush
from math import inf
from typing import Final

from scapy_mpa.stream.segment import SECOND

HELD_NS: Final = 5 * SECOND
"""Time for which a text of a live capture waits for texts of earlier frames, by the times of
frames.  A hole is given up sooner."""
HELD_OCTETS: Final = 32 << 20
"""Octets of text that wait, at most."""


class Sorter:
    """Takes texts in any order, returns them in the order of their frames.

    :param is_live: whether the capture is live, so that texts must not wait long.
    """

    def __init__(self, *, is_live: bool) -> None:
        self._is_live = is_live
        self._texts: list[tuple[int, int, int, bytes]] = []
        """A heap: frame, number of texts taken before, time, text."""
        self._count = 0
        self._held = 0
        self._last = 0
        """The highest frame whose text was returned."""

    def is_late(self, frame: int) -> bool:
        """Return whether the text of a later frame was returned already."""
        return frame < self._last

    def add(self, frame: int, time_ns: int, text: bytes) -> None:
        """Take a text.

        :param frame: the frame to sort by; texts of one frame stay in the order of their arrival.
        :param time_ns: time of that frame, in nanoseconds since the epoch.
        """
        heappush(self._texts, (frame, self._count, time_ns, text))
        self._count += 1
        self._held += len(text)

    def due(self, now_ns: int) -> bytes:
        """Return the texts that have waited long enough.

        :param now_ns: time of the newest frame, in nanoseconds since the epoch.
        """
        return self._taken(now_ns - HELD_NS if self._is_live else -inf, HELD_OCTETS)

    def rest(self) -> bytes:
        """Return all waiting texts."""
        return self._taken(inf, 0)

    def _taken(self, until_ns: float, held: int) -> bytes:
        """Return texts from before a time, and more until at most ``held`` octets wait."""
        texts, found = self._texts, []
        while texts and (texts[0][2] < until_ns or self._held > held):
            frame, _, _, text = heappop(texts)
            self._last = max(self._last, frame)
            self._held -= len(text)
            found.append(text)
        return b"".join(found)
