# SPDX-License-Identifier: GPL-2.0-or-later
"""What is counted in one direction, whether the straight path or recovery follows it."""

from scapy_mpa.stream.events import HalfSummary


class Counters:
    """The counters of one direction; :class:`~scapy_mpa.stream.events.HalfSummary` explains them.

    A direction on the straight path and its half connection in recovery share one object.
    """

    __slots__ = (
        "crc_bad",
        "farthest_ahead",
        "fpdus",
        "gaps",
        "late",
        "longest",
        "out_of_order",
        "retransmitted",
        "retransmitted_octets",
    )

    def __init__(self) -> None:
        self.fpdus = self.crc_bad = self.gaps = 0
        self.longest = 0
        """Octets of the longest verified FPDU that several segments brought."""
        self.out_of_order = self.farthest_ahead = 0
        self.retransmitted = self.retransmitted_octets = self.late = 0

    def count_ahead(self, fpdus: int, distance: int) -> None:
        """Count FPDUs out of order; the farthest comes ``distance`` octets before its turn."""
        self.out_of_order += fpdus
        self.farthest_ahead = max(self.farthest_ahead, distance)

    def count_copy(self, octets: int) -> None:
        """Count a segment that repeats so many captured octets."""
        self.retransmitted += 1
        self.retransmitted_octets += octets

    def summary(self, octets: int, markers: bool | None, crcs: str | None = None) -> HalfSummary:
        """Return the totals of the direction."""
        return HalfSummary(
            markers,
            self.fpdus,
            octets,
            self.crc_bad,
            self.gaps,
            self.out_of_order,
            self.retransmitted,
            self.farthest_ahead,
            crcs,
            self.retransmitted_octets,
            self.late,
        )
