# SPDX-License-Identifier: GPL-2.0-or-later
"""The times at which the frames of a capture were captured."""

from __future__ import annotations

from typing import Final

from scapy_mpa.stream.sequence import NOWHERE

REMEMBERED: Final = 1 << 17
"""The times of so many last frames are remembered.  It is a power of two, since a frame's number
modulo this is the index of its time.  Frames seldom wait longer for a hole to be filled."""


class Clock:
    """The times of the first frame and of the last frames.

    The reader of a capture writes to ``times`` and ``newest`` after :meth:`make_room`, since a call
    of :meth:`note` for each frame would cost too much.

    :param begin_ns: time of the first frame, in nanoseconds since the epoch.
    :param remembers: whether the times of frames will be needed.
    """

    def __init__(self, begin_ns: int = 0, *, remembers: bool = True) -> None:
        self.begin_ns = begin_ns
        self.remembers = remembers
        self.newest = 0
        """Number of the last frame that was noted."""
        self.times: list[int | None] = []
        """Times of frames in nanoseconds since the epoch, at their numbers modulo REMEMBERED."""
        self.room = 0
        """There is room for the times of all frames with lower numbers."""

    def make_room(self, frame: int) -> None:
        """Make room for the times of all frames up to a number, and of as many more."""
        if len(self.times) < REMEMBERED:
            wanted = min(REMEMBERED, 2 * frame + 1)
            self.times += [None] * (wanted - len(self.times))
        self.room = NOWHERE if len(self.times) == REMEMBERED else len(self.times)

    def note(self, frame: int, time_ns: int) -> None:
        """Note the time of a frame."""
        if frame >= self.room:
            self.make_room(frame)
        self.times[frame % REMEMBERED] = time_ns
        self.newest = frame

    def time_ns(self, frame: int) -> int | None:
        """Return the time of a frame in nanoseconds since the epoch; None if not remembered."""
        at = frame % REMEMBERED
        is_known = frame > self.newest - REMEMBERED and at < len(self.times)
        return self.times[at] if is_known else None
