# SPDX-License-Identifier: GPL-2.0-or-later
"""What may be searched for FPDUs in all directions of a capture together.

New octets fill it, and new connections do not.  So no content makes the cost of an octet grow, and
a capture of very many connections, each made to be searched, costs a few times as much for an octet
as any other.  No search gets more than a share of what is there, so that something is left for the
next one.  True FPDUs are found at once nearly always, and take next to nothing.

All costs are in one unit: an octet of a CRC costs 1, and a call of a function some 50.
"""

from typing import Final

# What is there at first, what a segment and each octet bring, what an octet brings in addition once
# its direction is known to carry FPDUs, and what there may be at most.  So a segment of 1460 octets
# pays for some 5,000 calls.  That is 50 times what a segment takes if nothing is searched.
_AT_FIRST: Final = 3 << 19
_BY_SEGMENT: Final = 1 << 13
_BY_OCTET: Final = 128
_BY_KNOWN_OCTET: Final = 40
_AT_MOST: Final = 1 << 26
# One search may take at most this part of what is there, and in addition this part of that for
# places that only a CRC can prove.
_SHARE: Final = 4
# With less than that, directions that can wait do.
_LEAST: Final = 1 << 14


class Allowance:
    """What one search may still spend.

    :param lent: what it may spend.
    :param is_short: whether that is less than it wants.
    """

    __slots__ = ("_lent", "is_short", "left", "spare")

    def __init__(self, lent: int, *, is_short: bool) -> None:
        self._lent = lent
        self.is_short = is_short
        self.left = lent
        self.spare = lent // _SHARE
        """For places that only a CRC can prove.  Others have their own, so that none is missed."""

    def spend(self, cost: int) -> bool:
        """Spend something; tell whether anything is left."""
        self.left -= cost
        return self.left > 0

    @property
    def spent(self) -> int:
        """What it has spent."""
        return self._lent + self._lent // _SHARE - self.left - self.spare


class Purse:
    """One for all connections of a capture."""

    __slots__ = ("_left", "cut_short", "unsearched")

    def __init__(self) -> None:
        self._left = _AT_FIRST
        self.cut_short = 0
        """Searches that were not finished because little was left."""
        self.unsearched = 0
        """Directions that were not searched to the end because of that, and in which nothing was
        found."""

    @property
    def is_empty(self) -> bool:
        """Whether to wait until more octets have come."""
        return self._left < _LEAST

    def fill(self, octets: int) -> None:
        """Take note of a segment that brought new octets."""
        if octets:
            self._left = min(self._left + _BY_SEGMENT + _BY_OCTET * octets, _AT_MOST)

    def fill_more(self, octets: int) -> None:
        """Take note of octets of a direction that is known to carry FPDUs."""
        self._left = min(self._left + _BY_KNOWN_OCTET * octets, _AT_MOST)

    def lend(self, wanted: int) -> Allowance:
        """Return what a search may spend that wants so much."""
        lent = max(0, min(wanted, self._left // _SHARE))
        return Allowance(lent, is_short=lent < wanted)

    def spend(self, cost: int) -> bool:
        """Spend something; tell whether anything is left."""
        self._left -= cost
        return self._left > 0
