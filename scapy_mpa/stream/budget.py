# SPDX-License-Identifier: GPL-2.0-or-later
"""The octets that half connections may hold, each and all together."""

from __future__ import annotations

from collections import OrderedDict
from typing import Protocol

from scapy_mpa.stream.limits import Limits


class Holder(Protocol):
    """An object that holds octets."""

    @property
    def held(self) -> int:
        """How many."""

    def relieve(self) -> None:
        """Hold fewer octets, if that is possible."""


class Budget:
    """Counts held octets.  If there are too many, the oldest holder gives up some."""

    def __init__(self, limits: Limits) -> None:
        self.each = limits.octets_per_half
        """Octets that one holder may hold.  Holders keep to it themselves."""
        self.room = limits.octets_in_total
        """Octets that may still be held; less than 0 if too many are held."""
        # There may be very many holders, and the first is removed each time.  A plain dictionary
        # would pass over all removed ones before it.
        self._holders: OrderedDict[Holder, int] = OrderedDict()

    def update(self, holder: Holder) -> None:
        """Count what a holder holds now, and make room if necessary."""
        self.count(holder)
        self.make_room()

    def make_room(self) -> None:
        """Have the oldest holders give up octets until there is room, if that is possible."""
        while self.room < 0 and self._holders:
            oldest = next(iter(self._holders))
            before = self.room
            oldest.relieve()
            self.count(oldest)
            if oldest not in self._holders:
                # It has released all its octets, perhaps to other holders.
                continue
            if self.room <= before:
                # It cannot hold fewer octets: next time others come first.
                self._holders.move_to_end(oldest)
                return

    def count(self, holder: Holder) -> None:
        """Count what a holder holds now, without making room."""
        held, before = holder.held, self._holders.get(holder, 0)
        if held == before:
            return
        self.room -= held - before
        if held:
            self._holders[holder] = held
        else:
            self._holders.pop(holder, None)
            if not self._holders:
                # A dictionary does not shrink by itself, and there may have been very many holders.
                self._holders.clear()
