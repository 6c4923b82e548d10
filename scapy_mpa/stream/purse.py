# SPDX-License-Identifier: GPL-2.0-or-later
"""The purse that pays for the searches for FPDUs in all directions of a capture.

New octets fill it, new connections do not.  So no content makes the cost of an octet grow.  Even a
capture of very many connections, each made to be searched, costs only a few times as much for an
octet as any other.  A search gets only a share of the purse, so that something is left for the next
search.  True FPDUs nearly always are found at once, and cost next to nothing.

The unit of all costs is an octet of a CRC.  A step costs the octets that it reads, and the calls of
functions that it makes.
"""

from typing import Final

CALL: Final = 50
"""What a call of a function costs, in octets of a CRC."""
LOOK: Final = 4
"""Calls for a look at a place where an FPDU may begin."""
FAILURE: Final = 80
"""Calls for a try that finds nothing."""

# The purse at first; what it gets for a segment, for each octet, and in addition for each octet of
# a direction that is known to carry FPDUs; and the most that it holds.  So a segment of 1460 octets
# pays for some 5,000 calls.  That is 50 times the cost of a segment that is not searched.
_AT_FIRST: Final = 5 << 18
_BY_SEGMENT: Final = 1 << 13
_BY_OCTET: Final = 128
_BY_KNOWN_OCTET: Final = 40
_AT_MOST: Final = 1 << 26
# One search gets at most this part of the purse.
_SHARE: Final = 2
# When this part of an allowance is left, no further places are looked for.  Weighing uses the rest.
_KEPT: Final = 8
# If less is left, directions that can wait do so.
_LEAST: Final = 1 << 14


class Allowance:
    """What one search may still spend.

    :param lent: what the search may spend.
    :param is_short: whether the search wants more.
    """

    __slots__ = ("_lent", "is_short", "left")

    def __init__(self, lent: int, *, is_short: bool) -> None:
        self._lent = lent
        self.is_short = is_short
        self.left = lent

    def spend(self, octets: int = 0, *, calls: int = 0) -> bool:
        """Spend the cost of reading octets and calling functions; return whether anything is left.

        :param calls: how many functions are called, roughly.
        """
        self.left -= octets + CALL * calls
        return self.left > 0

    def look(self) -> bool:
        """Spend the cost of looking at a place; return whether others may be looked at."""
        self.spend(calls=LOOK)
        return self.left > self._lent // _KEPT

    @property
    def spent(self) -> int:
        """What the search has spent."""
        return self._lent - self.left


class Purse:
    """The purse of all connections of a capture."""

    __slots__ = ("_left", "cut_short", "unsearched")

    def __init__(self) -> None:
        self._left = _AT_FIRST
        self.cut_short = 0
        """Searches that were not finished because little was left."""
        self.unsearched = 0
        """Directions without FPDUs in which such a search was not finished."""

    @property
    def is_empty(self) -> bool:
        """Whether a search should wait for more octets."""
        return self._left < _LEAST

    def fill(self, octets: int) -> None:
        """Add the share of a segment with new octets."""
        if octets:
            self._left = min(self._left + _BY_SEGMENT + _BY_OCTET * octets, _AT_MOST)

    def fill_more(self, octets: int) -> None:
        """Add the share of octets of a direction that is known to carry FPDUs."""
        self._left = min(self._left + _BY_KNOWN_OCTET * octets, _AT_MOST)

    def lend(self, wanted: int) -> Allowance:
        """Return the allowance of a search that wants so much."""
        lent = max(0, min(wanted, self._left // _SHARE))
        return Allowance(lent, is_short=lent < wanted)

    def spend(self, cost: int) -> bool:
        """Spend a cost; return whether anything is left."""
        self._left -= cost
        return self._left > 0
