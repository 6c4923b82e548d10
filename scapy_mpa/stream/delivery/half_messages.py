# SPDX-License-Identifier: GPL-2.0-or-later
"""The DDP segments of one direction in the order of its stream (RFC 5041 5, RFC 5040 4).

Only the order shows where a Tagged message begins, and whether a message may be missing.  So
segments that were recovered out of order wait here.  The record of an FPDU is its Placement, the
record of a message its Delivery (RFC 5041 5.4).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import InitVar, dataclass, field

from scapy_mpa.stream.delivery.assembly import DDPMessage
from scapy_mpa.stream.delivery.held import HELD_BY_EACH
from scapy_mpa.stream.delivery.pairing import Hole, Requests
from scapy_mpa.stream.delivery.responses import Responses
from scapy_mpa.stream.delivery.segment import DDPSegment
from scapy_mpa.stream.delivery.tagged import TaggedMessages
from scapy_mpa.stream.delivery.turns import Turns
from scapy_mpa.stream.delivery.untagged import UntaggedMessages
from scapy_mpa.stream.delivery.whole import MessageShape
from scapy_mpa.stream.events import GapFound, MessageRecovered
from scapy_mpa.stream.ordinary import Row
from scapy_mpa.stream.sequence import SEQUENCE_MASK
from scapy_mpa.wire.fpdu import MARKER_INTERVAL, MARKER_LENGTH
from scapy_mpa.wire.rdmap_names import Opcode


@dataclass(slots=True, eq=False)
class HalfMessages:
    """The messages of one direction."""

    out: InitVar[list[MessageRecovered]]
    """Takes the messages."""
    requests: Requests
    """The Requests of this direction."""
    responses: Responses
    """The Responses of this direction."""
    _turns: Turns = field(default_factory=Turns)
    _given_up: int = 0
    """Position up to which octets were given up."""
    _tagged: TaggedMessages = field(init=False)
    _untagged: UntaggedMessages = field(init=False)
    held: int = 0
    """Octets of memory taken, roughly."""
    is_at_rest: bool = False
    """True if nothing waited in either direction after the last segment not taken by
    :meth:`take_whole`.  Then a message in one FPDU changes only the expected position and MSN."""

    def __post_init__(self, out: list[MessageRecovered]) -> None:
        self._tagged = TaggedMessages(out)
        self._untagged = UntaggedMessages(out, self.requests, self.responses)

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
        if segment.settled:
            self._untagged.settle(segment.start)
            self.responses.settle(segment.start)

    def take_whole(self, row: Row, shape: MessageShape) -> Row | None:
        """Take the next FPDU of the stream if it is a whole message; return the message's row.

        None, and nothing is taken, if the FPDU or its MSN is not next, or its MO is not 0.
        """
        turns, requests, responses = self._turns, self.requests, self.responses
        frame, time_ns, direction, at, fpdu, first, second, third, frames, octets, ack = row
        start = turns.expected
        if start is None or (direction.origin + at - start) & SEQUENCE_MASK:
            return None
        if not shape.tagged and (third or not self._untagged.take_send(second)):
            return None
        turns.expected = start + fpdu.size
        requests.shown = frame
        last = frames if isinstance(frames, int) else max(frames)
        requests.captured = max(requests.captured, last)
        if direction.settled:
            responses.settled = max(responses.settled, start)
        return frame, time_ns, direction, at, shape, first, second, third, frames, octets, ack

    def gap(self, gap: GapFound) -> None:
        """Take note of octets that will stay missing."""
        if self._turns.expected is None:
            self._note_hole()
            return
        end = self._turns.end_of(gap)
        self._given_up = max(self._given_up, end)
        if not self._turns.waiting:
            self._note_last_gap()
        if gap.reason != "snap length":
            self._untagged.settle(end)
            self.responses.settle(end)

    def _note_last_gap(self) -> None:
        """Note a hole if no segment follows the octets given up."""
        if self._turns.expected is not None and self._given_up > self._turns.expected:
            self._note_hole()

    def _note_hole(self) -> None:
        self._untagged.holes += 1
        self.requests.is_whole = False

    def flush(self) -> None:
        """Deliver the segments that still wait."""
        if self._turns.waiting:
            self._deliver(self._turns.due())
            self._note_last_gap()

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
        self.responses.relieve()
        self.requests.give_up()
        self.weigh()

    @property
    def waits(self) -> bool:
        """True if anything waits for another segment."""
        parts = self._turns.waiting, self.responses.waiting, self.requests.unanswered
        return any(parts) or self._tagged.is_open or self._untagged.is_open

    def weigh(self) -> None:
        """Set ``held``."""
        waiting = len(self._turns.waiting) * HELD_BY_EACH
        parts = self._tagged, self._untagged, self.responses, self.requests
        self.held = waiting + sum([each.held for each in parts])

    def _begin_unknown(self) -> None:
        """Note that the capture may lack segments before the first one."""
        self.requests.may_lack_some = True
        self.responses.begin_unsure()
        self._tagged.begin_unsure()
        self._untagged.begin_unknown()

    # -- in the order of the stream --------------------------------------------------------------

    def _deliver(self, due: Iterator[DDPSegment]) -> None:
        """Deliver the segments that are due."""
        for segment in due:
            self._deliver_one(segment)

    def _deliver_one(self, segment: DDPSegment) -> None:
        """Add the next segment, or a late one, to its message."""
        turns, start = self._turns, segment.start
        assert turns.expected is not None
        is_late = start < turns.expected
        if start > turns.expected:
            self._note_hole_before(segment)
        if segment.end > turns.expected:
            turns.expected = segment.end
        if not segment.has_header:
            return
        requests = self.requests
        requests.shown = requests.now
        if segment.captured > requests.captured:
            requests.captured = segment.captured
        if not segment.header.tagged:
            self._untagged.add(segment)
        elif is_late:
            # The segments before and after it were delivered earlier.
            message = DDPMessage(segment, begun=False)
            message.add(segment)
            is_response = segment.opcode == Opcode.READ_RESPONSE
            (self.responses if is_response else self._tagged).take_late(message)
        elif segment.opcode == Opcode.READ_RESPONSE:
            self.responses.take(segment)
        else:
            self._tagged.add(segment)

    def _note_hole_before(self, segment: DDPSegment) -> None:
        """Note the hole before a segment, and how many octets it had without Markers."""
        assert self._turns.expected is not None
        self._note_hole()
        start = segment.start
        octets = start - self._turns.expected
        phase = segment.phase if segment.has_header else None
        if phase is not None:
            # Position of the first Marker at or after the beginning of the hole.
            first = self._turns.expected + (octets - phase) % MARKER_INTERVAL
            octets -= MARKER_LENGTH * max(0, -((first - start) // MARKER_INTERVAL))
        self._tagged.note_hole()
        self.responses.take(Hole(octets, segment.captured if segment.has_header else 0))
