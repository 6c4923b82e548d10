# SPDX-License-Identifier: GPL-2.0-or-later
"""One direction of a written connection: what was written of it, and what was acknowledged."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Final

from scapy_mpa.capture.frame import Frame
from scapy_mpa.clean.slot import Item
from scapy_mpa.stream.sequence import sequence_number, unwrap
from scapy_mpa.wire.fpdu import MARKER_INTERVAL, MARKER_LENGTH

_UNACKNOWLEDGED: Final = 256
"""Ends of unacknowledged segments that are remembered, at most.  If there are more, every second
one is forgotten.  An acknowledgement of it then counts for the end before it."""


@dataclass(slots=True, eq=False)
class WrittenHalf:
    """One direction of a written connection."""

    headers: Frame | None = None
    """The headers of its first frame."""
    seq: int | None = None
    """The sequence number of the next octet to write."""
    startup_end: int = 0
    """The written sequence number after the last startup frame."""
    end: int | None = None
    """Position in the captured stream after the octets that were written, None if not known."""
    acknowledged: int | None = None
    """The acknowledgement number that the other direction writes."""
    boundaries: list[tuple[int, int, int]] = field(default_factory=list)
    """The ends of written segments that are not acknowledged: position, written sequence number,
    and how many octets before it have their captured sequence numbers.  Adjacent segments with
    captured sequence numbers share one entry."""
    captured_ack: int | None = None
    """The last captured acknowledgement number of the other direction.  Until MPA is written, the
    highest one."""
    copied_end: int | None = None
    """Sequence number after all octets that copied frames contain or acknowledge.  Only frames
    copied before MPA is written count."""
    startups: list[Item] = field(default_factory=list)
    """The last startup frames that were captured."""
    fpdus_from: int | None = None
    """Position from which on all octets belong to FPDUs."""
    first_fpdu: int | None = None
    """The lowest position of an FPDU so far."""
    streamed: int = 0
    """Position after the octets in streaming mode that were written."""
    last_copied: int = 0
    """The number of the last frame that was copied with its payload."""
    has_syn: bool = False
    has_fin: bool = False

    def advance(self, position: int, seq: int) -> None:
        """Note that the octets up to a position were written.

        :param seq: the sequence number of the next octet to write.
        """
        self.end = position if self.end is None else max(self.end, position)
        self.seq = sequence_number(seq)

    def expect_ack(self, position: int, seq: int, kept: int = 0) -> None:
        """Remember the end of a segment, which may be acknowledged.

        :param seq: its written sequence number.
        :param kept: how many octets before it have their captured sequence numbers.  Each of these
            may be acknowledged, too.
        """
        boundaries = self.boundaries
        if boundaries and kept and boundaries[-1][2] and boundaries[-1][0] + kept == position:
            # The segment before has its captured sequence numbers, too.
            kept += boundaries.pop()[2]
        if len(boundaries) >= _UNACKNOWLEDGED:
            del boundaries[::2]
        boundaries.append((position, sequence_number(seq), kept))
        if self.captured_ack is not None:
            # The acknowledgement may have been captured before this segment was written.
            self.acknowledge(self.captured_ack)

    def note_ack(self, ack: int) -> None:
        """Take a captured acknowledgement number before MPA is written; it may be an old one."""
        if self.captured_ack is None or unwrap(ack, self.captured_ack) > self.captured_ack:
            self.captured_ack = ack

    def acknowledge(self, ack: int) -> bool:
        """Take a captured acknowledgement number; return whether the written one changes."""
        boundaries = self.boundaries
        if self.end is None or not boundaries:
            return False
        position, before = unwrap(ack, self.end), self.acknowledged
        count = bisect_right(boundaries, position, key=itemgetter(0))
        if count:
            self.acknowledged = boundaries[count - 1][1]
            del boundaries[:count]
        if boundaries:
            end, seq, kept = boundaries[0]
            if end - kept < position:
                self.acknowledged = sequence_number(seq - end + position)
                boundaries[0] = end, seq, end - position
        return self.acknowledged != before

    def acknowledge_all(self) -> None:
        """Let the other direction acknowledge all that was written.

        A Reply acknowledges the Request that it answers (RFC 5044 7.1.2 rule 2).
        """
        self.acknowledged = self.seq

    def streaming_pieces(self, start: int, end: int, *, is_accepted: bool) -> list[tuple[int, int]]:
        """Return the ranges between two positions that are neither startup frames nor FPDUs.

        :param is_accepted: whether only FPDUs may follow the startup frames.
        """
        if self.fpdus_from is not None:
            end = min(end, self.fpdus_from)
        elif is_accepted and self.startups:
            end = min(end, self.startups[-1].end)
        pieces = []
        for each in self.startups:
            if each.start < end and start < each.end:
                if start < each.start:
                    pieces.append((start, each.start))
                start = each.end
        if start < end:
            pieces.append((start, end))
        return pieces

    def has_all_before(self, number: int) -> bool:
        """Return whether all startup frames before a sequence number were written."""
        return all(
            each.is_written or unwrap(number, each.start) <= each.start for each in self.startups
        )

    def begins_before(self, number: int | None) -> bool:
        """Return whether the first startup frame begins before a sequence number."""
        if number is None or not self.startups:
            return False
        start = self.startups[0].start
        return unwrap(number, start) > start

    @property
    def is_shifted(self) -> bool:
        """Whether written sequence numbers differ from the captured ones."""
        return (
            self.seq is not None and self.end is not None and sequence_number(self.end) != self.seq
        )

    def is_as_captured(self, position: int) -> bool:
        """Return whether it ends at a position, and sequence numbers are the captured ones."""
        return self.end in (None, position) and not self.is_shifted

    def keeps_seq(self, position: int) -> bool:
        """Return whether an empty segment at a position can keep its sequence number.

        It cannot if that number is after the octets that were written.
        """
        if self.end is None:
            return self.seq is None or self.seq == sequence_number(position)
        return not self.is_shifted and position <= self.end + self.has_fin

    def hole_before(self, item: Item) -> int:
        """Return how many octets are missing before an item, without the Markers among them."""
        assert self.end is not None
        missing = item.start - self.end - item.drift
        if missing <= 0:
            return 0
        if item.phase is not None:
            # The distance between two Markers is a multiple of 512.
            first = -(-(item.phase - missing) // MARKER_INTERVAL)
            last = -(-item.phase // MARKER_INTERVAL)
            missing -= MARKER_LENGTH * (last - first)
        return max(missing, 0)
