# SPDX-License-Identifier: GPL-2.0-or-later
"""When frames were captured of which something is told only later.

An FPDU of which the snap length cut off something is held back for a while, and so is what follows
it.  Still it was complete with the frame that brought its last octet, and that is the frame that
its record names.  All connections share one place, so that what is kept does not grow with them.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

__all__ = ["KEPT_MOMENTS", "Moments"]

KEPT_MOMENTS: Final = 8192
"""Frames whose times are kept at least: a few connections' worth of what is held back."""


class Moments:
    """The shared place."""

    __slots__ = ("_frames", "_times")

    def __init__(self) -> None:
        self._frames: list[int] = []
        self._times: list[int] = []

    def note(self, frame: int, time_ns: int) -> None:
        """Keep the time of a frame; frames come in ascending order."""
        self._frames.append(frame)
        self._times.append(time_ns)
        if len(self._frames) >= 2 * KEPT_MOMENTS:
            del self._frames[:KEPT_MOMENTS], self._times[:KEPT_MOMENTS]

    def time_of(self, frame: int) -> int | None:
        """Return when a frame was captured, in nanoseconds since the epoch, if it was kept."""
        index = bisect_left(self._frames, frame)
        if index == len(self._frames) or self._frames[index] != frame:
            return None
        return self._times[index]
