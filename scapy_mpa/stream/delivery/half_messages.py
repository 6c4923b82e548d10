# SPDX-License-Identifier: GPL-2.0-or-later
"""The DDP segments of one direction in the order of its stream (RFC 5041 5, RFC 5040 4).

Only the order says where a Tagged message begins, and whether anything is missing that may have
been one.  So what was recovered ahead of it waits here.  That makes an FPDU's record a matter of
Placement, and a message's one of Delivery (RFC 5041 5.4).

Without a startup frame nobody knows which FPDU of a direction comes first.  So the first ones wait
as well, for as long as a capture may hold a frame after others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from scapy_mpa.stream.delivery.assembly import DDPMessage
from scapy_mpa.stream.delivery.pairing import PATIENCE, Hole, Requests
from scapy_mpa.stream.delivery.responses import Responses
from scapy_mpa.stream.delivery.segment import DDPSegment
from scapy_mpa.stream.delivery.tagged import TaggedMessages
from scapy_mpa.stream.delivery.turns import Turns
from scapy_mpa.stream.delivery.untagged import UntaggedMessages
from scapy_mpa.stream.events import GapFound, MessageRecovered
from scapy_mpa.stream.sequence import first_position, unwrap
from scapy_mpa.wire.fpdu import MARKER_INTERVAL, MARKER_LENGTH
from scapy_mpa.wire.rdmap_names import Opcode

__all__ = ["WAITING_SEGMENTS", "HalfMessages"]

WAITING_SEGMENTS: Final = 65_536
"""Segments of one direction that may wait for earlier ones, more than a TCP window holds."""

_HELD_BY_EACH: Final = 1000
_HELD_BY_PIECE: Final = 250
_HELD_BY_SKIPPED: Final = 250
# Octets of memory that a waiting segment, a message or a Request takes, a stretch of a message, and
# one of skipped MSNs.


@dataclass(slots=True, eq=False)
class _Beginning:
    """What is known of where a direction begins, as long as FPDUs before the first may come."""

    near: int
    """Around which sequence numbers are placed."""
    until: int
    """The last frame that may bring one."""
    upto: int = 0
    """What begins here or before has nothing missing before it, for all that is known."""


@dataclass(slots=True, eq=False)
class HalfMessages:
    """The messages of one direction."""

    _out: list[MessageRecovered]
    """Where they go."""
    asked: Requests
    """The Requests of this direction."""
    responses: Responses
    """The Responses of this direction."""
    _turns: Turns = field(default_factory=Turns)
    beginning: _Beginning | None = None
    """Only while segments wait for it to be known."""
    _given_up: int = 0
    """Position up to which octets were given up."""
    _tagged: TaggedMessages = field(init=False)
    _untagged: UntaggedMessages = field(init=False)
    held: int = 0
    """Octets of memory taken, roughly."""

    def __post_init__(self) -> None:
        self._tagged = TaggedMessages(self._out)
        self._untagged = UntaggedMessages(self._out, self.asked, self.responses)

    # -- in --------------------------------------------------------------------------------------

    def take(self, segment: DDPSegment) -> bool:
        """Take a segment that a receiver accepts; tell whether nothing is kept of it."""
        turns = self._turns
        is_due = turns.place(segment, self._near(segment))
        if segment.is_lost:
            # It is as good as missing.
            is_due = False
        elif is_due:
            # Nearly all are.
            is_due = self._look_at(segment)
        else:
            turns.wait(segment)
            if self.beginning is not None:
                self._await_beginning(self.beginning, segment)
            else:
                self._deliver(turns.due_with(segment, WAITING_SEGMENTS))
        if segment.settled:
            self._untagged.settle(segment.start)
            self.responses.settle(segment.start)
        return is_due

    def expire(self, frame: int) -> None:
        """Wait no more for what comes before the first FPDU if a frame is captured too late."""
        if self.beginning is not None and frame > self.beginning.until:
            self._begin()

    def gap(self, gap: GapFound) -> None:
        """Take note of octets that will stay missing."""
        self._begin()
        if self._turns.expected is None:
            self._note_hole()
            return
        seq, length = gap.place
        end = unwrap(seq, self._turns.expected) + length
        self._given_up = max(self._given_up, end)
        if not self._turns.waiting:
            self._note_last_gap()
        if gap.reason != "snap length":
            self._untagged.settle(end)
            self.responses.settle(end)

    def _note_last_gap(self) -> None:
        """Take note of octets given up of which no segment after them tells."""
        if self._turns.expected is not None and self._given_up > self._turns.expected:
            self._note_hole()

    def _note_hole(self) -> None:
        self._untagged.holes += 1
        self.asked.is_whole = False

    def flush(self) -> None:
        """Look at what still waits."""
        self._begin()
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
        self._untagged.relieve()
        self.responses.finish()
        self.asked.give_up()
        self.weigh()

    def weigh(self) -> None:
        """Find out what is held."""
        responses = self.responses
        count = len(self._turns.waiting) + len(self._untagged) + len(self._tagged)
        count += len(self.asked) + len(responses)
        pieces = self._tagged.pieces + self._untagged.pieces + responses.pieces
        self.held = count * _HELD_BY_EACH + pieces * _HELD_BY_PIECE
        self.held += self._untagged.skipped * _HELD_BY_SKIPPED

    # -- where it begins -------------------------------------------------------------------------

    def _near(self, segment: DDPSegment) -> int:
        """Return a position around which sequence numbers lie, and see to where they begin."""
        if self._turns.expected is not None:
            return self._turns.expected
        seq, offset, header, _ = segment.place
        beginning = self.beginning
        position = first_position(seq) if beginning is None else unwrap(seq, beginning.near)
        if offset is not None:
            # Where the stream began before the first FPDU found, others may be missing.
            self._begin(position - offset)
        elif beginning is None:
            self.beginning = _Beginning(position, segment.origin[2] + PATIENCE)
            if not segment.is_fpdu:
                self._begin_unknown(position - header)
        return position

    def _await_beginning(self, beginning: _Beginning, segment: DDPSegment) -> None:
        """See whether it is known where the direction begins, now that one more segment waits."""
        if not segment.out_of_order:
            beginning.upto = max(beginning.upto, segment.start)
        if len(self._turns.waiting) > WAITING_SEGMENTS:
            self._begin()

    def _begin(self, position: int | None = None) -> None:
        """Look at what waits for it to be known where the direction begins.

        :param position: where that is; None if nothing tells.
        """
        beginning, self.beginning = self.beginning, None
        if position is not None:
            self._turns.expected = position
            self._deliver(self._turns.due(position))
        elif beginning is not None:
            self._begin_unknown(
                self._turns.waiting[0][0] if self._turns.waiting else beginning.near
            )
            self._deliver(self._turns.due(beginning.upto))

    def _begin_unknown(self, start: int) -> None:
        """Take it that nobody knows what came before the octets from a position on."""
        self.beginning = None
        self._turns.expected = start
        self.asked.hidden = True
        self.responses.begin_unsure()
        self._tagged.begin_unsure()
        self._untagged.begin_unknown()

    # -- in the order of the stream --------------------------------------------------------------

    def _deliver(self, due: Iterator[DDPSegment]) -> None:
        """Look at what is due."""
        for segment in due:
            self._look_at(segment)

    def _look_at(self, segment: DDPSegment) -> bool:
        """Look at the segment whose turn it is, or was; tell whether nothing is kept of it."""
        turns, start = self._turns, segment.start
        assert turns.expected is not None
        is_late = start < turns.expected
        if start > turns.expected:
            self._lose(segment)
        if segment.end > turns.expected:
            turns.expected = segment.end
        if not segment.has_header:
            return False
        if segment.captured > self.asked.captured:
            self.asked.captured = segment.captured
        if not segment.header.tagged:
            return self._untagged.add(segment)
        if is_late:
            # What lies before and after it was looked at long ago.
            message = DDPMessage(segment, begun=False)
            message.add(segment)
            if segment.opcode == Opcode.READ_RESPONSE:
                self.responses.take_late(message)
            else:
                self._out.append(message.event())
        elif segment.opcode == Opcode.READ_RESPONSE:
            self._untagged.give_place()
            self.responses.take(segment)
        else:
            return self._tagged.add(segment)
        return False

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
        self._untagged.give_place()
        self.responses.take(Hole(octets, segment.captured if segment.has_header else 0))
