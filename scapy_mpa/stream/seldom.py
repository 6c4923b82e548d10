# SPDX-License-Identifier: GPL-2.0-or-later
"""What is kept of a half connection when something happens that in most of them never does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from scapy_mpa.stream.holes import Acknowledgements

__all__ = ["NOTHING", "Seldom"]


class Seldom:
    """Counts, as :class:`~scapy_mpa.stream.events.HalfSummary` explains them, and more."""

    __slots__ = ("acks", "crc_bad", "farthest_ahead", "gaps", "out_of_order", "retransmitted")

    def __init__(self) -> None:
        self.crc_bad = 0
        self.gaps = 0
        self.out_of_order = 0
        self.farthest_ahead = 0
        self.retransmitted = 0
        self.acks: Acknowledgements | None = None
        """Those that say which holes may be closed, and what holes were left behind; None if there
        never was a hole."""

    def ahead(self, distance: int) -> None:
        """Count an FPDU out of order, so many octets before its turn."""
        self.out_of_order += 1
        self.farthest_ahead = max(self.farthest_ahead, distance)


NOTHING: Final = Seldom()
"""What all of them begin with; nothing is changed there."""
