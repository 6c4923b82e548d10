# SPDX-License-Identifier: GPL-2.0-or-later
"""How many octets half connections may hold, each and all together."""

from __future__ import annotations

from collections import OrderedDict
from typing import Protocol

from scapy_mpa.stream.limits import Limits

__all__ = ["Budget", "Holder"]


class Holder(Protocol):
    """Who holds octets."""

    held: int

    def relieve(self) -> None:
        """Hold fewer octets, if that is possible."""


class Budget:
    """Keeps count; who began to hold octets first has to give up some when there are too many."""

    __slots__ = ("_holders", "_total", "_whole", "each")

    def __init__(self, limits: Limits) -> None:
        self.each = limits.octets_per_half
        """Octets that one holder may hold.  Holders see to it themselves."""
        self._whole = limits.octets_in_total
        # There may be very many, of which the first goes each time: a plain dictionary would look
        # for it behind all that went before.
        self._holders: OrderedDict[Holder, int] = OrderedDict()
        self._total = 0

    def update(self, holder: Holder) -> None:
        """Take note of what a holder holds now."""
        self.count(holder)
        while self._total > self._whole:
            oldest = next(iter(self._holders))
            before = self._total
            oldest.relieve()
            self.count(oldest)
            if oldest not in self._holders:
                # It has let go of all, perhaps to others.
                continue
            if self._total >= before:
                # It cannot do with less: let the others come first next time.
                self._holders.move_to_end(oldest)
                return

    def count(self, holder: Holder) -> None:
        """Take note of what a holder holds now, which is no more than before."""
        held = holder.held
        self._total += held - self._holders.get(holder, 0)
        if held:
            self._holders[holder] = held
        else:
            self._holders.pop(holder, None)
            if not self._holders:
                # There may have been very many, and a dictionary does not shrink by itself.
                self._holders.clear()
