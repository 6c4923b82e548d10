# SPDX-License-Identifier: GPL-2.0-or-later
"""What searches in one direction may cost: it grows with the octets that the stream brings.

So no content makes the cost of an octet grow.
"""

from typing import Final

__all__ = ["Allowance", "Reserve"]

# What a direction may have of the reserve: enough for a few short FPDUs amid holes.  What the
# reserve has at most, and the share of it that one may have at a time.
_OF_RESERVE: Final = 1 << 12
_IN_RESERVE: Final = 1 << 20
_SHARE: Final = 4
# What each octet brings.  The first ones bring more.  To look at an octet costs 1.
_FOR_AN_OCTET: Final = 6
_FOR_A_FIRST_OCTET: Final = 12
_FIRST_OCTETS: Final = 1 << 16
_AT_MOST: Final = 3 << 20
# What is kept for the octets to come.
_SCARCE: Final = 1 << 19
# The same for places that only a CRC can prove.  Other places have their own, so none is missed.
_SPARE_AT_FIRST: Final = 1 << 18
_SPARE_FOR_AN_OCTET: Final = 4


class Reserve:
    """What the directions of a capture may spend together beside what their octets bring."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = _IN_RESERVE

    def earn(self, octets: int) -> None:
        """Take note of octets that have come in any of them."""
        self._left = min(self._left + octets, _IN_RESERVE)

    def lend(self, wanted: int) -> int:
        """Return how much of it one may have that wants so much."""
        lent = min(wanted, self._left // _SHARE)
        self._left -= lent
        return lent


class Allowance:
    """What one direction may still spend."""

    __slots__ = ("_first_octets", "_may_borrow", "_reserve", "left", "spare")

    def __init__(self, reserve: Reserve) -> None:
        self._reserve = reserve
        self._may_borrow = _OF_RESERVE
        self.left = 0
        self.spare = _SPARE_AT_FIRST
        self._first_octets = _FIRST_OCTETS

    def earn(self, octets: int) -> None:
        """Take note of octets that have come."""
        self._reserve.earn(octets)
        first = min(octets, self._first_octets)
        self._first_octets -= first
        earned = _FOR_AN_OCTET * octets + (_FOR_A_FIRST_OCTET - _FOR_AN_OCTET) * first
        self.left = min(self.left + earned, _AT_MOST)
        self.spare = min(self.spare + _SPARE_FOR_AN_OCTET * octets, _AT_MOST)

    def spend(self, cost: int) -> bool:
        """Spend something; tell whether anything is left."""
        self.left -= cost
        if self.left <= 0 and self._may_borrow > 0:
            lent = self._reserve.lend(self._may_borrow)
            self._may_borrow -= lent
            self.left += lent
        return self.left > 0

    @property
    def is_scarce(self) -> bool:
        """Whether little is left."""
        return self.left < _SCARCE
