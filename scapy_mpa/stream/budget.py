# SPDX-License-Identifier: GPL-2.0-or-later
"""How many octets half connections may hold, each and all together."""

from __future__ import annotations

from collections import OrderedDict
from typing import Protocol

from scapy_mpa.stream.limits import Limits


class Holder(Protocol):
    """Who holds octets."""

    held: int

    def relieve(self) -> None:
        """Hold fewer octets, if that is possible."""


class Budget:
    """Keeps count; who began to hold octets first has to give up some when there are too many."""

    __slots__ = ("_holders", "each", "room")

    def __init__(self, limits: Limits) -> None:
        self.each = limits.octets_per_half
        """Octets that one holder may hold.  Holders see to it themselves."""
        self.room = limits.octets_in_total
        """Octets that may be held beside those that are, less than 0 if these are too many."""
        # There may be very many, of which the first goes each time: a plain dictionary would look
        # for it after all that went before.
        self._holders: OrderedDict[Holder, int] = OrderedDict()

    def update(self, holder: Holder) -> None:
        """Take note of what a holder holds now."""
        self.count(holder)
        self.make_room()

    def make_room(self) -> None:
        """See to it that no more octets are held than may be, if that is possible."""
        while self.room < 0 and self._holders:
            oldest = next(iter(self._holders))
            before = self.room
            oldest.relieve()
            self.count(oldest)
            if oldest not in self._holders:
                # It has let go of all, perhaps to others.
                continue
            if self.room <= before:
                # It cannot do with less: let the others come first next time.
                self._holders.move_to_end(oldest)
                return

    def count(self, holder: Holder) -> None:
        """Take note of what a holder holds now; nobody is to make room yet."""
        held = holder.held
        self.room -= held - self._holders.get(holder, 0)
        if held:
            self._holders[holder] = held
        else:
            self._holders.pop(holder, None)
            if not self._holders:
                # There may have been very many, and a dictionary does not shrink by itself.
                self._holders.clear()
