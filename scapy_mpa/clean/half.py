# SPDX-License-Identifier: GPL-2.0-or-later
"""One direction of what is written: how far it has come, and what is acknowledged."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Final

from scapy_mpa.capture.reframe import Reframer
from scapy_mpa.clean.slot import Item
from scapy_mpa.stream.sequence import sequence_number, unwrap
from scapy_mpa.wire.fpdu import MARKER_INTERVAL, MARKER_LENGTH

_UNACKNOWLEDGED: Final = 256
"""Ends of segments that are remembered, of those written anew and not acknowledged.  Of more, every
second is forgotten, and acknowledgements name the one before it."""


@dataclass(slots=True, eq=False)
class WrittenHalf:
    """One direction, as it is written."""

    reframer: Reframer | None = None
    """Has the headers of its first frame."""
    new: int | None = None
    """The sequence number of the next octet to write."""
    old: int | None = None
    """The position of that octet in the captured stream, None if that is not known."""
    acknowledged: int | None = None
    """What the other direction says in its acknowledgements."""
    boundaries: list[tuple[int, int, int]] = field(default_factory=list)
    """The ends of segments that are not acknowledged: position, sequence number as written, and how
    many octets before it have their captured numbers.  Segments with captured numbers that follow
    each other are one."""
    hint: int | None = None
    """What the other direction last acknowledged, as captured; before MPA was written, the most
    that it has."""
    mentioned: int | None = None
    """Up to where frames that were copied before MPA was written have octets, or speak of some."""
    startups: list[Item] = field(default_factory=list)
    """The last startup frames that were captured."""
    fpdus_from: int | None = None
    """Position after which octets are those of FPDUs."""
    lowest: int | None = None
    """Position of the first FPDU known."""
    copied: int = 0
    """The number of the last frame with payload that was copied."""
    has_syn: bool = False
    has_fin: bool = False

    def advance(self, position: int, new: int) -> None:
        """Go on after what was written."""
        self.old = position if self.old is None else max(self.old, position)
        self.new = sequence_number(new)

    def expect_ack(self, position: int, new: int, plain: int = 0) -> None:
        """Take note of a place that may be acknowledged.

        :param plain: how many octets before it are as captured, each of which may be, too.
        """
        boundaries = self.boundaries
        if boundaries and plain and boundaries[-1][2] and boundaries[-1][0] + plain == position:
            # They follow others that are as captured.
            plain += boundaries.pop()[2]
        if len(boundaries) >= _UNACKNOWLEDGED:
            del boundaries[::2]
        boundaries.append((position, sequence_number(new), plain))
        if self.hint is not None:
            # It may wait for what had to be written before it.
            self.acknowledge(self.hint)

    def take_hint(self, ack: int) -> None:
        """Take an acknowledgement number, which may have been captured late, before MPA."""
        if self.hint is None or unwrap(ack, self.hint) > self.hint:
            self.hint = ack

    def acknowledge(self, ack: int) -> bool:
        """Take an acknowledgement number as captured; tell whether it says anything new."""
        boundaries = self.boundaries
        if self.old is None or not boundaries:
            return False
        position, before = unwrap(ack, self.old), self.acknowledged
        count = bisect_right(boundaries, position, key=itemgetter(0))
        if count:
            self.acknowledged = boundaries[count - 1][1]
            del boundaries[:count]
        if boundaries:
            end, new, plain = boundaries[0]
            if end - plain < position:
                self.acknowledged = sequence_number(new - end + position)
                boundaries[0] = end, new, end - position
        return self.acknowledged != before

    def streaming(self, start: int, end: int, *, is_accepted: bool) -> list[tuple[int, int]]:
        """Return which octets between two positions are neither startup frames nor FPDUs.

        :param is_accepted: whether what follows startup frames must be FPDUs.
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
        """Tell whether no startup frame that is not written yet begins before a number."""
        return all(
            each.is_written or unwrap(number, each.start) <= each.start for each in self.startups
        )

    def begins_before(self, number: int | None) -> bool:
        """Tell whether the first startup frame begins before a sequence number."""
        if number is None or not self.startups:
            return False
        start = self.startups[0].start
        return unwrap(number, start) > start

    @property
    def is_shifted(self) -> bool:
        """Whether sequence numbers are other than captured."""
        return (
            self.new is not None and self.old is not None and sequence_number(self.old) != self.new
        )

    def keeps(self, position: int) -> bool:
        """Tell whether a segment without octets has the sequence number there that it had.

        Not if it says that more was sent than is written.
        """
        if self.old is None:
            return self.new is None or self.new == sequence_number(position)
        return not self.is_shifted and position <= self.old + self.has_fin

    def hole_before(self, item: Item) -> int:
        """Return the octets that are missing before an item, without the Markers among them."""
        assert self.old is not None
        missing = item.start - self.old - item.drift
        if missing <= 0:
            return 0
        if item.phase is not None:
            # Markers are where the distance from one of them is a multiple of 512.
            first = -(-(item.phase - missing) // MARKER_INTERVAL)
            last = -(-item.phase // MARKER_INTERVAL)
            missing -= MARKER_LENGTH * (last - first)
        return max(missing, 0)
