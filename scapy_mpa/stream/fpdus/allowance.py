# SPDX-License-Identifier: GPL-2.0-or-later
"""What searches in one direction may cost: it grows with the octets that the stream brings.

So no content makes the cost of an octet grow.
"""

from typing import Final

# At first: enough for a few short FPDUs between holes.
_AT_FIRST: Final = 1 << 12
# What each octet brings.  The first ones bring more.  To look at an octet costs 1.
_FOR_AN_OCTET: Final = 6
_FOR_A_FIRST_OCTET: Final = 12
_FIRST_OCTETS: Final = 1 << 16
_AT_MOST: Final = 3 << 20
# The same for places that only a CRC can prove.  Other places have their own, so none is missed.
_SPARE_AT_FIRST: Final = 1 << 18
_SPARE_FOR_AN_OCTET: Final = 4


class Allowance:
    """What one direction may still spend."""

    __slots__ = ("_first_octets", "left", "spare")

    def __init__(self) -> None:
        self.left = _AT_FIRST
        self.spare = _SPARE_AT_FIRST
        self._first_octets = _FIRST_OCTETS

    def earn(self, octets: int) -> None:
        """Take note of octets that have come."""
        first = min(octets, self._first_octets)
        self._first_octets -= first
        earned = _FOR_AN_OCTET * octets + (_FOR_A_FIRST_OCTET - _FOR_AN_OCTET) * first
        self.left = min(self.left + earned, _AT_MOST)
        self.spare = min(self.spare + _SPARE_FOR_AN_OCTET * octets, _AT_MOST)

    def spend(self, cost: int) -> bool:
        """Spend something; tell whether anything is left."""
        self.left -= cost
        return self.left > 0
