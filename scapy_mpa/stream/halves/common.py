# SPDX-License-Identifier: GPL-2.0-or-later
"""What all TCP connections of a capture have in common."""

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
    """Each connection leads here and has nothing of it, for there may be a hundred thousand.

    :param budget: what all half connections together may hold.
    :param others: what finds connections that speak another framing.
    """

    __slots__ = ("budget", "current", "emit", "others", "purse", "recent")

    emit: Callable[[Event], None]
    """Called with each event."""

    def __init__(self, budget: Budget, others: OtherFramings[Any] | None = None) -> None:
        self.budget = budget
        self.recent = RecentOctets()
        """Where octets are kept for comparison."""
        self.purse = Purse()
        """What may be searched for FPDUs."""
        self.others = others
        self.current: Segment | None = None
        """The segment that is being received, if one is."""
