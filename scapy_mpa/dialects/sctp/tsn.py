# SPDX-License-Identifier: GPL-2.0-or-later
"""Transmission Sequence Numbers of one direction: which have come (RFC 4960 3.3.1)."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from scapy_mpa.stream.sequence import first_position, unwrap

__all__ = ["HOLES", "NEAR", "TSNSpace"]

NEAR: Final = 1 << 15
"""TSNs from the Initial TSN in which the first captured DATA chunk lies (RFC 4960 3.3.2), unless
more were missed: a session has no more chunks under way (RFC 5043 10).  A chunk of another
association lies there by one chance in 131072."""

HOLES: Final = 1024
"""Holes that are remembered; of more, the oldest is forgotten, and with it which of the TSNs before
its end have come."""

_HELD_BY_HOLE: Final = 100
"""Octets of memory that a hole takes, roughly."""


class TSNSpace:
    """Takes 32-bit TSNs, gives positions that never wrap, and tells copies."""

    __slots__ = ("_acknowledged", "_ends", "_first", "_forgotten", "_starts")

    def __init__(self) -> None:
        # Stretches of TSNs that have come, ascending, with a hole between each two.
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._first: int | None = None
        """The position of the direction's first TSN, if that is known."""
        self._acknowledged = -1
        """The highest position that the peer has acknowledged, with all before it."""
        self._forgotten = -1
        """The end of the last hole that was forgotten, -1 if none was."""

    def may_begin_with(self, tsn: int) -> bool:
        """Tell whether a TSN may be the Initial TSN of what has come, if anything has."""
        return not self._starts or 0 <= self._starts[0] - self.position(tsn) < NEAR

    def begin(self, tsn: int) -> None:
        """Take note of the Initial TSN (RFC 4960 3.3.2); the first word on it counts."""
        if self._first is None:
            self._first = self.position(tsn)

    @property
    def is_empty(self) -> bool:
        """Whether none has come."""
        return not self._starts

    @property
    def highest(self) -> int:
        """The highest position that has come, -1 if none has."""
        return self._ends[-1] - 1 if self._ends else -1

    @property
    def held(self) -> int:
        """Octets of memory that holes take, roughly."""
        return max(0, len(self._starts) - 1) * _HELD_BY_HOLE

    def relieve(self) -> None:
        """Forget the older half of the holes, if there are any."""
        if len(self._starts) > 1:
            self._forget(len(self._starts) // 2)

    def acknowledge(self, tsn: int) -> None:
        """Take note of a Cumulative TSN Ack of the peer (RFC 4960 3.3.4)."""
        self._acknowledged = max(self._acknowledged, self.position(tsn))

    @property
    def is_whole(self) -> bool:
        """Whether nothing before the highest is missing, from the very first on."""
        is_one = len(self._starts) == 1 and self._forgotten < 0
        return is_one and self._starts[0] == self._first

    @property
    def is_gapless(self) -> bool:
        """Whether no TSN is known to be missing, be it by what the peer has acknowledged."""
        if not self._starts:
            return self._acknowledged < (0 if self._first is None else self._first)
        return self._acknowledged <= self.highest and not self.lacks_before(self.highest)

    @property
    def is_complete(self) -> bool:
        """Whether nothing at all is missing: the peer has acknowledged just what has come."""
        if not self._starts:
            return self._first is not None and self._acknowledged == self._first - 1
        return self.is_whole and self._acknowledged == self.highest

    def lacks_before(self, position: int) -> bool:
        """Tell whether any TSN before one that has come is known to be missing."""
        index = bisect_right(self._starts, position) - 1
        if 0 <= self._forgotten <= position:
            return True
        return index > 0 or (self._first is not None and self._starts[index] > self._first)

    def position(self, tsn: int) -> int:
        """Return the position of a TSN."""
        if self._ends:
            return unwrap(tsn, self._ends[-1])
        return first_position(tsn) if self._first is None else unwrap(tsn, self._first)

    def take(self, position: int) -> bool:
        """Take a TSN by its position; return whether it has not come before."""
        starts, ends = self._starts, self._ends
        if ends and position == ends[-1]:
            # Nearly all do.
            ends[-1] = position + 1
            return True
        if self._first is not None and position < self._first:
            return False
        index = bisect_right(starts, position)
        if index and position < ends[index - 1]:
            return False
        joins_left = bool(index) and ends[index - 1] == position
        joins_right = index < len(starts) and starts[index] == position + 1
        if joins_left and joins_right:
            ends[index - 1] = ends[index]
            del starts[index], ends[index]
        elif joins_left:
            ends[index - 1] = position + 1
        elif joins_right:
            starts[index] = position
        else:
            starts.insert(index, position)
            ends.insert(index, position + 1)
            if len(starts) > HOLES + 1:
                self._forget(1)
        return True

    def _forget(self, count: int) -> None:
        """Forget the oldest holes."""
        self._forgotten = max(self._forgotten, self._starts[count])
        del self._starts[1 : count + 1], self._ends[:count]

    def is_unsure(self, position: int) -> bool:
        """Tell whether a TSN that was not taken may be none that came before.

        It lies before the first one, or in a hole that was forgotten.
        """
        return position < self._forgotten or (self._first is not None and position < self._first)
