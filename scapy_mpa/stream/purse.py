# SPDX-License-Identifier: GPL-2.0-or-later
"""The purse that pays for the searches for FPDUs in all directions of a capture.

New octets fill it, new connections do not.  So no content makes the cost of an octet grow.  Even a
capture of very many connections, each made to be searched, costs only a few times as much for an
octet as any other.  A search gets only a share of the purse, so that something is left for the next
search.  True FPDUs nearly always are found at once, and cost next to nothing.

A search is a generator that returns its result.  A segment pays for a slice of work.  When that is
spent, the search yields, and goes on with the next segment.  So no segment takes long.  Only a
decision that cannot wait, for example at the end of a connection, is made in one go.

The unit of all costs is an octet of a CRC.  A step costs the octets that it reads, and the calls of
functions that it makes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Generator, Hashable
from math import inf
from typing import Any, Final, TypeAlias, TypeVar

CALL: Final = 50
"""What a call of a function costs, in octets of a CRC."""
LOOK: Final = 4
"""Calls for a look at a place where an FPDU may begin."""
FAILURE: Final = 80
"""Calls for a try that finds nothing."""

# What searches may spend with one segment: so many calls take some 5 ms.  With a super-segment
# they may make a call for each octet.  A CRC is faster than calls of the same cost by this factor.
_SLICE: Final = 4_000 * CALL
_FASTER: Final = 16
# The purse at first; what it gets for a segment, for each octet, and in addition for each octet of
# a direction that is known to carry FPDUs; and the most that it holds.  So a segment of 1460 octets
# pays for some 5,000 calls.  That is 50 times the cost of a segment that is not searched.
_AT_FIRST: Final = 1 << 20
_BY_SEGMENT: Final = 1 << 13
_BY_OCTET: Final = 128
_BY_KNOWN_OCTET: Final = 40
_AT_MOST: Final = 1 << 26
# The most that one search may cost.
_BY_SEARCH: Final = 1 << 22
# Searches that wait for the next segment, at most.  The oldest is forgotten, and begins again.
_WAITING: Final = 8

_Result = TypeVar("_Result")
Search: TypeAlias = Generator[None, None, _Result]
"""A search.  It yields when it must wait for the next segment."""


class Allowance:
    """What one search may still spend.

    :param lent: what the search may spend.
    :param is_short: whether the search wants more than the purse can lend.
    """

    def __init__(self, purse: Purse, lent: int, *, is_short: bool) -> None:
        self.purse = purse
        self.is_short = is_short
        self.left = lent

    def spend(self, octets: int = 0, *, calls: int = 0) -> bool:
        """Spend the cost of reading octets and calling functions; return whether anything is left.

        :param calls: how many functions are called, roughly.
        """
        cost = octets + CALL * calls
        self.left -= cost
        purse = self.purse
        purse.left -= cost
        purse.slice -= octets // _FASTER + CALL * calls
        return self.left > 0


class Purse:
    """The purse of all connections of a capture."""

    def __init__(self) -> None:
        self.left = _AT_FIRST
        """What searches may still spend."""
        self.slice: float = _SLICE
        """What is left of the slice of work that the segment pays for.  When it is 0 or less, a
        search must wait for the next segment."""
        self._waiting: OrderedDict[Hashable, Search[Any]] = OrderedDict()
        self.cut_short = 0
        """Searches that were not finished because little was left."""
        self.unsearched = 0
        """Directions without FPDUs in which such a search was not finished."""

    def fill(self, octets: int) -> None:
        """Add the share of a segment, and begin its slice.

        :param octets: its new octets.
        """
        if octets:
            self.left = min(self.left + _BY_SEGMENT + _BY_OCTET * octets, _AT_MOST)
        self.slice = max(_SLICE, octets * CALL) if self.left > 0 else 0

    def fill_more(self, octets: int) -> None:
        """Add the share of octets of a direction that is known to carry FPDUs."""
        self.left = min(self.left + _BY_KNOWN_OCTET * octets, _AT_MOST)

    def lend(self) -> Allowance:
        """Return the allowance of a search: at most half of the purse."""
        lent = max(0, min(_BY_SEARCH, self.left // 2))
        return Allowance(self, lent, is_short=lent < _BY_SEARCH)

    def search(
        self, key: Hashable, begin: Callable[[], Search[_Result]], *, at_once: bool
    ) -> _Result | None:
        """Go on with a search, or begin it; return its result, None while it waits.

        :param key: distinguishes the search from all others.  It must change when a search that
            waits cannot go on.
        :param at_once: the search cannot wait for the next segment.
        """
        search = self._waiting.pop(key, None) or begin()
        left = self.slice
        if at_once:
            self.slice = inf
        try:
            next(search)
        except StopIteration as end:
            result: _Result = end.value
            return result
        finally:
            if at_once:
                self.slice = left
        self._waiting[key] = search
        if len(self._waiting) > _WAITING:
            self._waiting.popitem(last=False)
        return None

    def waits(self, key: Hashable) -> bool:
        """Return whether a search waits for the next segment."""
        return key in self._waiting
