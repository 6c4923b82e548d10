# SPDX-License-Identifier: GPL-2.0-or-later
"""What may be searched for FPDUs in all directions of a capture of which nothing is known.

New octets fill it, and new connections do not: a capture of very many of them, each made to be
searched, costs a few times as much for an octet as any other.  No search gets more than a share of
what is there, so that something is left for the next one.  True FPDUs are found at once nearly
always, and take next to nothing.
"""

from typing import Final

# What is there at first, what a segment and each octet bring, and what there may be at most: as a
# look counts (Sight.allowance), some 50 for a call of a function.  A segment takes more than a
# hundred of these anyway.
_AT_FIRST: Final = 23 << 15
_BY_SEGMENT: Final = 1 << 13
_BY_OCTET: Final = 88
_AT_MOST: Final = 1 << 26
# The share of what is there that one search may take: the last one of some octets, and one that may
# be followed by another of the same octets and more.
_SHARE: Final = 2
_SHARE_OF_EARLY: Final = 8
# With less than that, directions that can wait do.
_LEAST: Final = 1 << 14


class Purse:
    """One for all connections of a capture."""

    __slots__ = ("_left", "cut_short", "unsearched")

    def __init__(self) -> None:
        self._left = _AT_FIRST
        self.cut_short = 0
        """Searches that got less than they needed."""
        self.unsearched = 0
        """Directions that were not searched to the end because of that, and in which nothing was
        found."""

    @property
    def is_empty(self) -> bool:
        """Whether to wait until more octets have come."""
        return self._left < _LEAST

    def fill(self, octets: int) -> None:
        """Take note of a segment that brought octets in a direction of which nothing is known."""
        if octets:
            self._left = min(self._left + _BY_SEGMENT + _BY_OCTET * octets, _AT_MOST)

    def lend(self, wanted: int, *, final: bool) -> int:
        """Return what a search may cost that wants so much.

        :param final: there will not be another one of the same octets, and more of them.
        """
        return max(0, min(wanted, self._left // (_SHARE if final else _SHARE_OF_EARLY)))

    def settle(self, cost: int, *, is_short: bool) -> None:
        """Take note of what a search has cost.

        :param is_short: whether it got less than it wanted, and that was not enough.
        """
        self._left -= cost
        self.cut_short += is_short
