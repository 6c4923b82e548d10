# SPDX-License-Identifier: GPL-2.0-or-later
"""The DDP segments of one direction in the order of its stream (RFC 5041 5, RFC 5040 4).

Only the order says where a Tagged message begins, and whether anything is missing that may have
been one.  So what was recovered ahead of it waits here.  That makes an FPDU's record a matter of
Placement, and a message's one of Delivery (RFC 5041 5.4).

Where a direction begins may be told only behind its first FPDUs: without the SYN nobody knows that
a startup frame was overtaken by them.  So these wait as well, for as long as a capture may hold a
frame behind others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scapy_mpa.stream.delivery.assembly import DDPMessage
from scapy_mpa.stream.delivery.pairing import PATIENCE, Hole, Requests
from scapy_mpa.stream.delivery.responses import Responses
from scapy_mpa.stream.delivery.segment import WITH_HEADER, DDPSegment
from scapy_mpa.stream.delivery.split import LONGEST_HEADER
from scapy_mpa.stream.delivery.tagged import TaggedMessages
from scapy_mpa.stream.delivery.turns import Turns
from scapy_mpa.stream.delivery.untagged import UntaggedMessages
from scapy_mpa.stream.events import (
    DDPCarrier,
    FPDURecovered,
    GapFound,
    MessageRecovered,
    Place,
    StartupSeen,
)
from scapy_mpa.stream.sequence import first_position, unwrap
from scapy_mpa.wire.ddp import ddp_header_of
from scapy_mpa.wire.fpdu import MARKER_INTERVAL, MARKER_LENGTH
from scapy_mpa.wire.rdmap import parse_control
from scapy_mpa.wire.rdmap_names import Opcode

__all__ = ["WAITING_SEGMENTS", "HalfMessages"]

WAITING_SEGMENTS: Final = 65_536
"""Segments of one direction that may wait for earlier ones, more than a TCP window holds."""

_HELD_BY_EACH: Final = 1000
_HELD_BY_STRETCH: Final = 130
_HELD_BY_SKIPPED: Final = 250
# Octets of memory that a waiting segment, a message or a Request takes, a stretch of a message, and
# one of skipped MSNs.


class _Beginning:
    """What is known of where a direction begins, as long as a startup frame may tell.

    :param position: of an octet of its first FPDU that was recovered.
    :param frame: that brought it.
    """

    __slots__ = ("at", "near", "until", "upto")

    def __init__(self, position: int, frame: int) -> None:
        self.near = position
        """Around which sequence numbers are placed."""
        self.until = frame + PATIENCE
        """The last frame that may bring a startup frame."""
        self.at: int | None = None
        """Where the last startup frame ends that stands before all that waits."""
        self.upto = 0
        """What begins here or before has nothing missing before it, for all that is known."""


class HalfMessages:
    """The messages of one direction.

    :param out: where they go.
    :param asked: the Requests of this direction.
    :param responses: the Responses of this direction.
    """

    __slots__ = (
        "_given_up",
        "_out",
        "_tagged",
        "_turns",
        "_untagged",
        "asked",
        "beginning",
        "held",
        "responses",
    )

    def __init__(self, out: list[MessageRecovered], asked: Requests, responses: Responses) -> None:
        self._out = out
        self.asked = asked
        self.responses = responses
        self._turns: Turns[DDPSegment | None] = Turns()
        self.beginning: _Beginning | None = None
        """Only while segments wait for it to be known."""
        self._given_up = 0
        """Position up to which octets were given up."""
        self._tagged = TaggedMessages(out)
        self._untagged = UntaggedMessages(out, asked, responses)
        self.held = 0
        """Octets of memory taken, roughly."""

    # -- in --------------------------------------------------------------------------------------

    def take(self, carrier: DDPCarrier) -> None:
        """Take an FPDU that a receiver accepts, or what else carries a DDP segment."""
        place = carrier.place
        start = self._position(carrier, place) - place[2]
        end = start + place[3]
        segment = _segment_of(carrier, start)
        if segment is None and carrier.crc == "unknown":
            # Its header was cut off: it is as good as missing.
            pass
        elif start == self._turns.expected and not self._turns.waiting:
            # Nearly all are.
            self._look_at(start, end, segment)
        else:
            self._turns.wait(carrier, start, end, segment)
            if self.beginning is not None:
                self._await_beginning(self.beginning, start, is_ahead=carrier.out_of_order)
            else:
                self._deliver(self._turns.due_with(carrier, start, WAITING_SEGMENTS))
        if carrier.settled:
            self._untagged.settle(start)
            self.responses.settle(start)

    def startup(self, event: StartupSeen) -> None:
        """Take note of where the Full Operation Phase may begin."""
        beginning = self.beginning
        if beginning is None or not self._turns.waiting:
            return
        end = unwrap(event.seq, beginning.near) + event.startup.length
        first = self._turns.waiting[0][0]
        if end <= first:
            beginning.at = max(end, beginning.at or 0)
        if end == first:
            self._begin()

    def expire(self, frame: int) -> None:
        """Wait no more for a startup frame if none has come that is captured so late as a frame."""
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
        """Take note of octets given up of which no segment behind them tells."""
        if self._turns.expected is not None and self._given_up > self._turns.expected:
            self._note_hole()

    def _note_hole(self) -> None:
        self._untagged.holes += 1
        self.asked.is_whole = False

    def flush(self) -> None:
        """Look at what still waits."""
        self._begin()
        if self._turns.waiting:
            self._deliver(self._turns.due(self._turns.last))
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
        stretches = self._tagged.stretches + self._untagged.stretches + responses.stretches
        self.held = count * _HELD_BY_EACH + stretches * _HELD_BY_STRETCH
        self.held += self._untagged.skipped * _HELD_BY_SKIPPED

    # -- where it begins -------------------------------------------------------------------------

    def _position(self, carrier: DDPCarrier, place: Place) -> int:
        """Return the position that the sequence number of a carrier stands for."""
        seq, offset, header, _ = place
        if self._turns.expected is not None:
            return unwrap(seq, self._turns.expected)
        beginning = self.beginning
        position = first_position(seq) if beginning is None else unwrap(seq, beginning.near)
        if offset is not None:
            # Where the stream began before the first FPDU found, others may be missing.
            self._begin(position - offset)
        elif beginning is None:
            self.beginning = _Beginning(position, carrier.frame)
            if not isinstance(carrier, FPDURecovered):
                self._begin_unknown(position - header)
        return position

    def _await_beginning(self, beginning: _Beginning, start: int, *, is_ahead: bool) -> None:
        """See whether it is known where the direction begins, now that one more segment waits.

        :param start: of the segment.
        :param is_ahead: whether something is missing before it.
        """
        if not is_ahead:
            beginning.upto = max(beginning.upto, start)
        if start == beginning.at or len(self._turns.waiting) > WAITING_SEGMENTS:
            self._begin()

    def _begin(self, position: int | None = None) -> None:
        """Look at what waits for it to be known where the direction begins.

        :param position: where that is; None: where the last startup frame ends, if there was one.
        """
        beginning, self.beginning = self.beginning, None
        if position is None and beginning is not None:
            position = beginning.at
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

    def _deliver(self, due: Iterator[tuple[int, int, DDPSegment | None]]) -> None:
        """Look at what is due."""
        for start, end, segment in due:
            self._look_at(start, end, segment)

    def _look_at(self, start: int, end: int, segment: DDPSegment | None) -> None:
        """Look at the segment in the carrier from ``start`` to ``end``, None if it has none."""
        assert self._turns.expected is not None
        is_late = start < self._turns.expected
        if start > self._turns.expected:
            self._lose(start, segment)
        self._turns.expected = max(self._turns.expected, end)
        if segment is None:
            return
        self.asked.captured = max(self.asked.captured, segment.captured)
        if not segment.header.tagged:
            self._untagged.add(segment)
        elif is_late:
            # What lies before and behind it was looked at long ago.
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
            self._tagged.add(segment)

    def _lose(self, start: int, segment: DDPSegment | None) -> None:
        """Take note of a hole before ``start``."""
        assert self._turns.expected is not None
        self._note_hole()
        octets = start - self._turns.expected
        phase = None if segment is None else segment.phase
        if phase is not None:
            # Markers, the first of them at or behind the beginning of the hole.
            first = self._turns.expected + (octets - phase) % MARKER_INTERVAL
            octets -= MARKER_LENGTH * max(0, -((first - start) // MARKER_INTERVAL))
        self._tagged.lose()
        self._untagged.give_place()
        self.responses.take(Hole(octets, 0 if segment is None else segment.captured))


def _segment_of(carrier: DDPCarrier, start: int) -> DDPSegment | None:
    """Return the DDP segment that a carrier brings, None if it has none that was captured."""
    ulpdu = carrier.ulpdu
    header = ddp_header_of(ulpdu)
    if header is None:
        return None
    opcode = parse_control(header.rsvdulp).opcode
    length = max(0, carrier.ulpdu_length - header.length)
    there = len(ulpdu) - header.length
    has_body = opcode in WITH_HEADER and length == there <= LONGEST_HEADER
    return DDPSegment(
        start,
        header,
        opcode,
        length,
        length - there,
        ulpdu[header.length :] if has_body and not header.tagged else b"",
        carrier.phase,
        (carrier.connection, carrier.direction, carrier.frame, carrier.time_ns, carrier.seq),
        max(carrier.frames),
    )
