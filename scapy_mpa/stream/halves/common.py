# SPDX-License-Identifier: GPL-2.0-or-later
"""The object that all TCP connections of a capture share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scapy_mpa.stream.budget import Budget
from scapy_mpa.stream.octets.overlap import RecentOctets
from scapy_mpa.stream.purse import Purse

if TYPE_CHECKING:
    from scapy_mpa.stream.events import Event
    from scapy_mpa.stream.halves.other import OtherFramings
    from scapy_mpa.stream.segment import Segment


class Common:
    """Shared by all connections.  A copy in each would cost too much memory: there may be 100,000.

    :param budget: bounds the octets that all half connections together hold.
    :param others: finds connections that speak another framing.
    """

    __slots__ = ("budget", "current", "emit", "others", "purse", "recent")

    emit: Callable[[Event], None]
    """Called with each event."""

    def __init__(self, budget: Budget, others: OtherFramings[Any] | None = None) -> None:
        self.budget = budget
        self.recent = RecentOctets()
        """Recent octets, kept to compare copies with them."""
        self.purse = Purse()
        """Pays for the searches for FPDUs."""
        self.others = others
        self.current: Segment | None = None
        """The segment that is being received, if any."""
