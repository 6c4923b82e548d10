# SPDX-License-Identifier: GPL-2.0-or-later
"""Counters of one direction, and what is kept beside them."""

from scapy_mpa.stream.halves.acknowledgements import Acknowledgements
from scapy_mpa.stream.halves.lost import Lost
from scapy_mpa.stream.sequence import SEQUENCE_WINDOW, unwrap


class Counters:
    """Counts, as :class:`~scapy_mpa.stream.events.HalfSummary` explains them, and more."""

    __slots__ = (
        "acks",
        "crc_bad",
        "differs",
        "early_ack",
        "farthest_ahead",
        "gaps",
        "lost",
        "open_at",
        "out_of_order",
        "reached",
        "retransmitted",
        "retransmitted_octets",
        "streamed",
        "unsearched",
        "without_crcs",
    )

    def __init__(self) -> None:
        self.crc_bad = 0
        self.gaps = 0
        self.lost: Lost | None = None
        """Where a startup frame may yet be captured, if FPDUs are read already."""
        self.out_of_order = 0
        self.farthest_ahead = 0
        self.retransmitted = 0
        self.retransmitted_octets = 0
        self.open_at: tuple[int, bool] = 0, False
        """Where the FPDU ends that lies farthest, of those found, and whether its message is to go
        on after it."""
        self.differs = False
        """Whether copies of its octets differed."""
        self.acks: Acknowledgements | None = None
        """Those that say which holes may be closed, and what holes were left after; None if there
        never was a hole."""
        self.early_ack: int | None = None
        """What the peer had acknowledged before anything of the direction was captured: a sequence
        number."""

        self.reached = 0
        """Up to where the FPDU reaches that the last hole cut off, by what it says."""
        self.streamed = 0
        """Position up to which octets of streaming mode were reported."""
        self.without_crcs: object = None
        """Octets in which no FPDU has a good CRC, and what was known when they were searched."""
        self.unsearched = False
        """Whether it was not searched for FPDUs to the end, and is counted as such."""

    def note_end(self, end: int, *, is_last: bool) -> None:
        """Take an FPDU that ends at a position, and may be the last of its message."""
        if end > self.open_at[0]:
            self.open_at = end, not is_last

    def note_early_ack(self, ack: int) -> None:
        """Take an acknowledgement number, as long as nothing of the direction was captured."""
        early = self.early_ack
        self.early_ack = ack if early is None else max(early, unwrap(ack, early))

    def acknowledged_early(self, end: int) -> int:
        """Return the position of what was acknowledged then; 0 if nothing near ``end`` was."""
        position = end if self.early_ack is None else unwrap(self.early_ack, end)
        return position if abs(position - end) < SEQUENCE_WINDOW else 0

    def ahead(self, distance: int) -> None:
        """Count an FPDU out of order, so many octets before its turn."""
        self.out_of_order += 1
        self.farthest_ahead = max(self.farthest_ahead, distance)
