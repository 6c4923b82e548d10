# SPDX-License-Identifier: GPL-2.0-or-later
"""The DDP segments of one direction in the order of its stream (RFC 5041 5, RFC 5040 4).

Only the order says where a Tagged message begins, and whether anything is missing that may have
been one.  So what was recovered ahead of it waits here.  That makes an FPDU's record a matter of
Placement, and a message's one of Delivery (RFC 5041 5.4).
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
    """Where they go."""
    asked: Requests
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
    """Whether nothing waited in either direction after the last segment of a message in parts, so
    that a message in one FPDU changes nothing but what comes next."""

    def __post_init__(self, out: list[MessageRecovered]) -> None:
        self._tagged = TaggedMessages(out)
        self._untagged = UntaggedMessages(out, self.asked, self.responses)

    # -- in --------------------------------------------------------------------------------------

    def take(self, segment: DDPSegment) -> None:
        """Take a segment that a receiver accepts."""
        turns = self._turns
        if turns.expected is None and segment.place[1] is None:
            self._begin_unknown()
        if segment.is_lost:
            # It is as good as missing.
            turns.place(segment)
        else:
            self._deliver(turns.take(segment))
        if segment.settled:
            self._untagged.settle(segment.start)
            self.responses.settle(segment.start)

    def take_whole(self, row: Row, shape: MessageShape) -> Row | None:
        """Take an FPDU that is a message and the next one of its stream; return the message's row.

        None if it is not the next one, or if more must be seen to; then nothing was taken.
        """
        turns, responses = self._turns, self.responses
        frame, time_ns, direction, at, fpdu, first, second, third, frames, octets, ack = row
        start = turns.expected
        if start is None or (direction.origin + at - start) & SEQUENCE_MASK:
            return None
        if not shape.tagged and (third or not self._untagged.take_send(second)):
            return None
        turns.expected = start + fpdu.size
        asked = self.asked
        asked.shown = frame
        asked.captured = max(asked.captured, frames if isinstance(frames, int) else max(frames))
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
        """Take note of octets given up that no segment follows."""
        if self._turns.expected is not None and self._given_up > self._turns.expected:
            self._note_hole()

    def _note_hole(self) -> None:
        self._untagged.holes += 1
        self.asked.is_whole = False

    def flush(self) -> None:
        """Look at what still waits."""
        if self._turns.waiting:
            self._deliver(self._turns.due())
            self._note_last_gap()

    def finish(self) -> None:
        """Report what stays incomplete; nothing more will come."""
        self._tagged.close()
        self._untagged.close()
        self.responses.finish()

    def relieve(self) -> None:
        """Hold less: report all that can still change as it is."""
        self.flush()
        self._tagged.close()
        self._untagged.close()
        self.responses.relieve()
        self.asked.give_up()
        self.weigh()

    @property
    def waits(self) -> bool:
        """Whether anything waits for another segment."""
        parts = self._turns.waiting, self.responses.waiting, self.asked.unanswered
        return any(parts) or self._tagged.is_open or self._untagged.is_open

    def weigh(self) -> None:
        """Find out what is held."""
        waiting = len(self._turns.waiting) * HELD_BY_EACH
        parts = self._tagged, self._untagged, self.responses, self.asked
        self.held = waiting + sum([each.held for each in parts])

    def _begin_unknown(self) -> None:
        """Take it that nobody knows what came before the first segment."""
        self.asked.hidden = True
        self.responses.begin_unsure()
        self._tagged.begin_unsure()
        self._untagged.begin_unknown()

    # -- in the order of the stream --------------------------------------------------------------

    def _deliver(self, due: Iterator[DDPSegment]) -> None:
        """Look at what is due."""
        for segment in due:
            self._look_at(segment)

    def _look_at(self, segment: DDPSegment) -> None:
        """Look at the segment whose turn it is, or was."""
        turns, start = self._turns, segment.start
        assert turns.expected is not None
        is_late = start < turns.expected
        if start > turns.expected:
            self._lose(segment)
        if segment.end > turns.expected:
            turns.expected = segment.end
        if not segment.has_header:
            return
        asked = self.asked
        asked.shown = asked.now
        if segment.captured > asked.captured:
            asked.captured = segment.captured
        if not segment.header.tagged:
            self._untagged.add(segment)
        elif is_late:
            # What lies before and after it was looked at long ago.
            message = DDPMessage(segment, begun=False)
            message.add(segment)
            is_response = segment.opcode == Opcode.READ_RESPONSE
            (self.responses if is_response else self._tagged).take_late(message)
        elif segment.opcode == Opcode.READ_RESPONSE:
            self.responses.take(segment)
        else:
            self._tagged.add(segment)

    def _lose(self, segment: DDPSegment) -> None:
        """Take note of a hole before a segment."""
        assert self._turns.expected is not None
        self._note_hole()
        start = segment.start
        octets = start - self._turns.expected
        phase = segment.phase if segment.has_header else None
        if phase is not None:
            # Markers, the first of them at or after the beginning of the hole.
            first = self._turns.expected + (octets - phase) % MARKER_INTERVAL
            octets -= MARKER_LENGTH * max(0, -((first - start) // MARKER_INTERVAL))
        self._tagged.lose()
        self.responses.take(Hole(octets, segment.captured if segment.has_header else 0))
