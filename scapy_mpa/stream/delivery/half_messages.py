# SPDX-License-Identifier: GPL-2.0-or-later
"""The DDP segments of one direction in the order of its stream (RFC 5041 5, RFC 5040 4).

Only the order shows where a Tagged message begins, and whether a message may be missing.  So
segments that were recovered out of order wait here.  The record of an FPDU is its Placement, the
record of a message its Delivery (RFC 5041 5.4).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from scapy_mpa.stream.delivery.assembly import LISTED_PARTS, DDPMessage
from scapy_mpa.stream.delivery.held import HELD_BY_EACH, HELD_BY_PIECE
from scapy_mpa.stream.delivery.pairing import Requests
from scapy_mpa.stream.delivery.responses import Responses
from scapy_mpa.stream.delivery.segment import DDPSegment, segment_of
from scapy_mpa.stream.delivery.tagged import TaggedMessages
from scapy_mpa.stream.delivery.turns import Turns
from scapy_mpa.stream.delivery.untagged import UntaggedMessages
from scapy_mpa.stream.delivery.whole import goes_on, message_shapes
from scapy_mpa.stream.events import GapFound, MessageRecovered
from scapy_mpa.stream.ordinary import Row
from scapy_mpa.stream.sequence import SEQUENCE_MASK
from scapy_mpa.wire.rdmap_names import Opcode


@dataclass(slots=True, eq=False)
class HalfMessages:
    """The messages of one direction."""

    out: list[MessageRecovered]
    """Takes the messages."""
    requests: Requests
    """The Requests of this direction."""
    responses: Responses
    """The Responses of this direction."""
    _turns: Turns = field(init=False)
    _tagged: TaggedMessages = field(init=False)
    _untagged: UntaggedMessages = field(init=False)
    parts: list[Row] = field(default_factory=list)
    """The rows of a message in progress, if it is plain."""
    is_at_rest: bool = True
    """True if nothing waits in either direction, except rows of a message in progress.  Then a
    plain message changes only the expected position and MSN."""

    def __post_init__(self) -> None:
        self._turns = self.requests.turns
        self._tagged = TaggedMessages(self.out)
        self._untagged = UntaggedMessages(self.out, self.requests, self.responses)

    # -- in --------------------------------------------------------------------------------------

    def take(self, segment: DDPSegment) -> None:
        """Take a segment that a receiver accepts, in order of recovery."""
        turns = self._turns
        if turns.expected is None and segment.place[1] is None:
            self._begin_unknown()
        if segment.is_lost:
            turns.place(segment)
        else:
            self._deliver(turns.take(segment))

    def take_rows(self, rows: list[Any], at: int, found: list[Any], *, fpdus: bool) -> int:
        """Take rows while each is next in the stream, and its message is plain.

        Nothing waits.  So only the position, the MSN, and the message in progress change.

        :param at: where to begin in ``rows``.
        :param found: takes each row if ``fpdus``; and, after the last row of a message, the row of
            the message.
        :return: the index of the first row that was not taken.
        """
        _, _, direction, begin, *_ = rows[at]
        turns, parts = self._turns, self.parts
        position = turns.position_of(rows[at])
        if position is None:
            return at
        end = begin
        send, sends = self._untagged.next_send, 0
        while at < len(rows) and type(rows[at]) is tuple:
            row = rows[at]
            frame, time_ns, carrier, offset, shape, first, number, mo, frames, _, ack = row
            tagged, shapes = shape.tagged, shape.message
            if shapes is None:
                shapes = shape.message = message_shapes(shape)
            if offset != end or carrier is not direction or not shapes:
                break
            if not (tagged or parts or (number == send and not mo)):
                break
            if parts and (not goes_on(parts[-1], row) or len(parts) >= LISTED_PARTS):
                break
            at += 1
            end = offset + shape.size
            if fpdus:
                found.append(row)
            if not shape.last:
                # The octets are not needed any more.
                parts.append((*row[:9], b"", ack))
                continue
            if not tagged:
                send, sends = (send + 1) & SEQUENCE_MASK, sends + 1
            message, whole, parts = shapes[bool(parts)], [*parts, row], []
            found.append(
                (frame, time_ns, direction, offset, message, first, number, mo, frames, whole, ack)
            )
        if end == begin:
            return at
        self.parts = parts
        self._untagged.note_sends(sends)
        turns.expected = position + end - begin
        return at

    def deliver_rows(self) -> None:
        """Take the rows of a message in progress as segments: something is not ordinary."""
        self.is_at_rest = False
        parts, self.parts = self.parts, []
        for row in parts:
            segment = segment_of(row)
            assert segment is not None
            # They were expected, and came without a hole.
            segment.follows = True
            self.take(segment)

    def gap(self, gap: GapFound) -> None:
        """Take note of octets that will stay missing."""
        turns, requests = self._turns, self.requests
        if turns.expected is not None:
            requests.gaps_to = max(requests.gaps_to, turns.end_of(gap))
        if turns.expected is None or requests.gaps_to > turns.expected:
            requests.is_whole = False

    def flush(self) -> None:
        """Deliver what still waits."""
        self.deliver_rows()
        self._deliver(self._turns.due())

    def finish(self) -> None:
        """Report the incomplete messages; no more segments will come."""
        self._tagged.close()
        self._untagged.close()
        self.responses.finish()

    def relieve(self) -> None:
        """Free memory: report all open messages as they are now."""
        self.flush()
        self._tagged.close()
        self._untagged.close()
        # Their Requests may still come.
        self.responses.requests.is_in_order = False
        self.responses.finish()
        self.requests.give_up()

    @property
    def waits(self) -> bool:
        """True if anything waits for another segment."""
        parts = self._turns.waiting, self.responses.waiting, self._untagged.in_progress
        return any(parts) or self._tagged.is_open

    @property
    def held(self) -> int:
        """Octets of memory taken, roughly."""
        items = len(self._turns.waiting) + len(self.responses.waiting) + len(self.requests.queue)
        held = items * HELD_BY_EACH + len(self.parts) * HELD_BY_PIECE
        return held + self._tagged.held + self._untagged.held + self.responses.reads.held

    def _begin_unknown(self) -> None:
        """Note that the capture may lack segments before the first one."""
        self.requests.is_in_order = False
        self.responses.take(None)
        self._tagged.note_hole()
        self._untagged.begin_unknown()

    # -- in the order of the stream --------------------------------------------------------------

    def _deliver(self, due: Iterator[tuple[DDPSegment, int]]) -> None:
        """Add the segments that are due to their messages, see :meth:`~.turns.Turns.due`."""
        for segment, missing in due:
            if missing > 0:
                self.requests.is_whole = False
                self._tagged.note_hole()
                self.responses.take(None)
            if segment.has_header:
                self._add(segment, is_late=missing < 0)

    def _add(self, segment: DDPSegment, *, is_late: bool) -> None:
        """Add the next segment to its message.  A late one is a message by itself."""
        self.requests.captured = max(self.requests.captured, segment.captured)
        if is_late:
            # The segments before and after it were delivered earlier.
            self.responses.requests.doubt(segment)
            self.out.append(DDPMessage(segment, begun=False).event())
        elif not segment.header.tagged:
            self._untagged.add(segment)
        elif segment.opcode == Opcode.READ_RESPONSE:
            self.responses.take(segment)
        else:
            self._tagged.add(segment)
