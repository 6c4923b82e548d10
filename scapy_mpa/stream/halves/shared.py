# SPDX-License-Identifier: GPL-2.0-or-later
"""What all TCP connections of a capture share, on the straight path and in recovery."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scapy_mpa.stream.octets.overlap import RecentOctets
from scapy_mpa.stream.purse import Purse
from scapy_mpa.stream.shapes import Kind, ShapeTables

if TYPE_CHECKING:
    from scapy_mpa.stream.budget import Budget
    from scapy_mpa.stream.halves.other import OtherFramings
    from scapy_mpa.stream.segment import Segment


class Shared:
    """The objects that all connections of a capture share.

    :param budget: bounds the octets that all directions together hold.
    :param others: finds connections that speak another framing.
    """

    to_recovery: Callable[[Any], object]
    """Gives a connection to recovery."""

    def __init__(self, budget: Budget, others: OtherFramings[Any] | None = None) -> None:
        self.budget = budget
        self.others = others
        self.purse = Purse()
        """Pays for the searches for FPDUs."""
        self.recent = RecentOctets()
        """Recent octets, kept to compare copies with them."""
        self.rows: list[Any] = []
        """Rows of FPDUs, and events of anything else, in the order in which they were found."""
        self.tables = ShapeTables()
        self.unread_shapes = self.tables[Kind(crc=True, marked=False, from_start=True)]
        """The empty table of a direction that reads no FPDUs."""
        self.current: Segment | None = None
        """The segment that recovery is taking, if any."""
