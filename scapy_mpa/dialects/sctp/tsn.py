# SPDX-License-Identifier: GPL-2.0-or-later
"""Transmission Sequence Numbers captured in one direction (RFC 4960 3.3.1)."""

from __future__ import annotations

from typing import Final

from scapy_mpa.stream.limits import LATE_SEGMENTS
from scapy_mpa.stream.sequence import first_position, unwrap

TSNS_AHEAD: Final = 4096
"""TSNs that are kept after a hole, at most: an eighth of the chunks that RFC 5043 10 allows in
flight.  If there are more, the holes before them are given up."""

_HELD_BY_EACH: Final = 100
"""Octets of memory that a TSN after a hole takes, roughly."""


class TSNSpace:
    """Converts 32-bit TSNs to positions that never wrap, and recognises copies."""

    __slots__ = ("_acknowledged", "_ahead", "_end", "_highest", "_is_whole")

    def __init__(self) -> None:
        self._end: int | None = None
        """All TSNs before this position have come, or are not waited for."""
        self._ahead: set[int] = set()
        """Positions of the TSNs that have come after a hole."""
        self._highest = -1
        self._acknowledged = -1
        """The position up to which the peer has acknowledged all TSNs."""
        self._is_whole = False
        """True if the Initial TSN is known, and no TSN after it was given up."""

    def begin(self, tsn: int) -> None:
        """Take the Initial TSN, before any other TSN (RFC 4960 3.3.2)."""
        self._end = self.position(tsn)
        self._highest = self._end - 1
        self._is_whole = True

    @property
    def is_empty(self) -> bool:
        """True if neither a TSN nor the Initial TSN has come."""
        return self._end is None

    @property
    def held(self) -> int:
        """Octets of memory taken, roughly."""
        return len(self._ahead) * _HELD_BY_EACH

    @property
    def is_gapless(self) -> bool:
        """True if no TSN is missing before the highest one captured or acknowledged."""
        return self._is_whole and not self._ahead and self._acknowledged <= self._highest

    @property
    def is_complete(self) -> bool:
        """True if the peer has acknowledged all captured TSNs, and no others."""
        return self.is_gapless and self._acknowledged == self._highest

    def acknowledge(self, tsn: int) -> None:
        """Note a Cumulative TSN Ack of the peer (RFC 4960 3.3.4)."""
        self._acknowledged = max(self._acknowledged, self.position(tsn))

    def position(self, tsn: int) -> int:
        """Return the position of a TSN."""
        return first_position(tsn) if self._end is None else unwrap(tsn, self._end)

    def take(self, position: int) -> bool:
        """Take a TSN; return False if it came before, or is not waited for any longer."""
        if self._end is None:
            # The Initial TSN is unknown, and earlier TSNs may come late.
            self._end = position - LATE_SEGMENTS
        if position < self._end or position in self._ahead:
            return False
        self._highest = max(self._highest, position)
        self._ahead.add(position)
        while self._end in self._ahead:
            self._ahead.remove(self._end)
            self._end += 1
        if len(self._ahead) > TSNS_AHEAD:
            self.give_up()
        return True

    def give_up(self) -> None:
        """Wait no longer for the TSNs missing before the highest one."""
        if self._ahead:
            self._ahead.clear()
            self._end = self._highest + 1
            self._is_whole = False
