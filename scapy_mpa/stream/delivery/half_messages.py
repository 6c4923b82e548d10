# SPDX-License-Identifier: GPL-2.0-or-later
"""The RDMAP messages of one direction (RFC 5041 4 and 5, RFC 5040 4).

An Untagged message is named by Queue Number and Message Sequence Number, and the Message Offset
of each segment says where it lies, so its segments may be recovered in any order.  A Tagged
message has no name and no mark at its beginning: it is the segments between two Last flags, one
behind the other in the stream, to one STag.  So segments are looked at in the order of the stream;
what was recovered ahead of it waits here.  That makes an FPDU's record a matter of Placement, and
a message's one of Delivery (RFC 5041 5.4).

Where a direction begins may be told only behind its first FPDUs: without the SYN nobody knows that
a startup frame was overtaken by them.  So these wait as well, for as long as a capture may hold a
frame behind others.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Final, TypeAlias

from scapy_mpa.stream.delivery.assembly import WITH_HEADER, DDPMessage, DDPSegment
from scapy_mpa.stream.delivery.msn import FIRST_MSN, SKIPPED_STRETCHES, MSNSequence, Skipped
from scapy_mpa.stream.delivery.pairing import OUTSTANDING_REQUESTS, PATIENCE, Hole, Requests
from scapy_mpa.stream.delivery.request import REQUESTS, Request, request_of
from scapy_mpa.stream.delivery.responses import Responses
from scapy_mpa.stream.delivery.split import LONGEST_HEADER
from scapy_mpa.stream.events import (
    DDPCarrier,
    FPDURecovered,
    GapFound,
    MessageRecovered,
    Place,
    SoftUiWARPRecovered,
    StartupSeen,
)
from scapy_mpa.stream.sequence import first_position, sequence_number, unwrap
from scapy_mpa.wire.ddp import ddp_header_of
from scapy_mpa.wire.fpdu import MARKER_INTERVAL, MARKER_LENGTH
from scapy_mpa.wire.rdmap import parse_control
from scapy_mpa.wire.rdmap_names import TAGGED_OPCODES, UNTAGGED_QUEUES, Opcode, QueueNumber

__all__ = ["OPEN_MESSAGES", "WAITING_SEGMENTS", "HalfMessages"]

OPEN_MESSAGES: Final = 1024
"""Messages of one direction that may lack segments at one time: a sender cuts up one message at
a time, so only loss leaves any open.  The oldest is reported as incomplete."""

WAITING_SEGMENTS: Final = 65_536
"""Segments of one direction that may wait for earlier ones, more than a TCP window holds."""

_HELD_BY_EACH: Final = 1000
_HELD_BY_STRETCH: Final = 130
# Octets of memory that a waiting segment, a message or a Request takes, and a stretch of a message.

_Key: TypeAlias = tuple[int | None, int | None, int]
"""QN, MSN and opcode of an Untagged message."""


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
        "_asked",
        "_count",
        "_due",
        "_expected",
        "_first_msn",
        "_given_up",
        "_holes",
        "_newest",
        "_out",
        "_queues",
        "_responses",
        "_stretches",
        "_tagged",
        "_unsure",
        "_untagged",
        "_waiting",
        "beginning",
        "held",
    )

    def __init__(self, out: list[MessageRecovered], asked: Requests, responses: Responses) -> None:
        self._out = out
        self._asked = asked
        self._responses = responses
        self._expected: int | None = None
        """Position behind the last segment looked at; None: nobody knows where the first is."""
        self.beginning: _Beginning | None = None
        """Only while segments wait for it to be known."""
        self._given_up = 0
        """Position up to which octets were given up."""
        self._holes = 0
        """Holes seen so far."""
        self._unsure: frozenset[int] = frozenset()
        """Opcodes of which the end of a Tagged message may have been missed."""
        self._waiting: list[tuple[int, int, int, DDPSegment | None]] = []
        self._count = 0
        self._tagged: dict[int, DDPMessage] = {}
        self._untagged: dict[_Key, DDPMessage] = {}
        self._due: dict[_Key, int] | None = None
        """Of those, the ones that lack what lies in a hole, and the position in the stream before
        which all of their segments lie; made with the first such one."""
        self._first_msn: int | None = FIRST_MSN
        """The MSN that comes first on a queue; None: the beginning was not captured."""
        self._queues: dict[int, MSNSequence] = {}
        """Those on which there were messages."""
        self._newest: dict[int | None, DDPMessage] = {}
        """By queue, the message with the highest MSN, while it is open."""
        self._stretches = 0
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
        elif start == self._expected and not self._waiting:
            # Nearly all are.
            self._look_at(start, end, segment)
        else:
            self._wait(carrier, start, end, segment)
        if carrier.settled:
            self._settle(start)

    def _wait(self, carrier: DDPCarrier, start: int, end: int, segment: DDPSegment | None) -> None:
        """Have a segment wait for those before it, if any are to be waited for."""
        waiting = self._waiting
        if isinstance(carrier, SoftUiWARPRecovered):
            self._expected = start
        self._count += 1
        heappush(waiting, (start, self._count, end, segment))
        if self.beginning is not None:
            self._await_beginning(self.beginning, start, is_ahead=carrier.out_of_order)
        elif not carrier.out_of_order:
            self._deliver(start)
        elif len(waiting) > WAITING_SEGMENTS:
            self._deliver(waiting[0][0])

    def lose(self) -> None:
        """Take note of an FPDU of which no receiver passes on what is in it: a Request, it may be.

        Where it leaves a hole is seen by what follows it, if anything does.
        """
        self._asked.is_whole = False

    def startup(self, event: StartupSeen) -> None:
        """Take note of where the Full Operation Phase may begin."""
        beginning = self.beginning
        if beginning is None or not self._waiting:
            return
        end = unwrap(event.seq, beginning.near) + event.startup.length
        first = self._waiting[0][0]
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
        if self._expected is None:
            self._note_hole()
            return
        seq, length = gap.place
        end = unwrap(seq, self._expected) + length
        self._given_up = max(self._given_up, end)
        if not self._waiting:
            self._note_last_gap()
        if gap.reason != "snap length":
            self._settle(end)

    def _note_last_gap(self) -> None:
        """Take note of octets given up of which no segment behind them tells."""
        if self._expected is not None and self._given_up > self._expected:
            self._note_hole()

    def _note_hole(self) -> None:
        self._holes += 1
        self._asked.is_whole = False

    def flush(self) -> None:
        """Look at what still waits."""
        self._begin()
        if self._waiting:
            self._deliver(max(start for start, *_ in self._waiting))
            self._note_last_gap()

    def release(self) -> None:
        """Look at the Responses that waited for what the other direction has brought."""
        self._responses.release()

    def finish(self) -> None:
        """Report what stays incomplete; nothing more will come."""
        self._report_open()
        self._responses.finish()

    def finish_requests(self) -> None:
        """Report what stays unanswered; nothing more will come in the other direction."""
        self._asked.finish()

    def relieve(self) -> None:
        """Hold less: report all that can still change as it is."""
        self.flush()
        self._report_open()
        self._responses.finish()
        self._asked.give_up()
        self.weigh()

    def weigh(self) -> None:
        """Find out what is held."""
        responses = self._responses
        count = len(self._waiting) + len(self._untagged) + len(self._tagged)
        count += len(self._asked) + len(responses)
        stretches = self._stretches + responses.stretches
        self.held = count * _HELD_BY_EACH + stretches * _HELD_BY_STRETCH

    # -- where it begins -------------------------------------------------------------------------

    def _position(self, carrier: DDPCarrier, place: Place) -> int:
        """Return the position that the sequence number of a carrier stands for."""
        seq, offset, header, _ = place
        if self._expected is not None:
            return unwrap(seq, self._expected)
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
        if start == beginning.at or len(self._waiting) > WAITING_SEGMENTS:
            self._begin()

    def _begin(self, position: int | None = None) -> None:
        """Look at what waits for it to be known where the direction begins.

        :param position: where that is; None: where the last startup frame ends, if there was one.
        """
        beginning, self.beginning = self.beginning, None
        if position is None and beginning is not None:
            position = beginning.at
        if position is not None:
            self._expected = position
            self._deliver(position)
        elif beginning is not None:
            self._begin_unknown(self._waiting[0][0] if self._waiting else beginning.near)
            self._deliver(beginning.upto)

    def _begin_unknown(self, start: int) -> None:
        """Take it that nobody knows what came before the octets from a position on."""
        self.beginning = None
        self._expected = start
        self._unsure = TAGGED_OPCODES
        self._asked.hidden = True
        self._responses.begin_unsure()
        self._first_msn = None
        self._queues.clear()

    # -- in the order of the stream --------------------------------------------------------------

    def _deliver(self, upto: int) -> None:
        """Look at all that lies up to ``upto``, and at what follows without a hole."""
        waiting = self._waiting
        while waiting and (waiting[0][0] <= upto or waiting[0][0] == self._expected):
            start, _, end, segment = heappop(waiting)
            self._look_at(start, end, segment)

    def _look_at(self, start: int, end: int, segment: DDPSegment | None) -> None:
        """Look at the segment in the carrier from ``start`` to ``end``, None if it has none."""
        assert self._expected is not None
        is_late = start < self._expected
        if start > self._expected:
            self._lose(start, segment)
        self._expected = max(self._expected, end)
        if segment is None:
            return
        self._asked.captured = max(self._asked.captured, segment.captured)
        if not segment.header.tagged:
            self._add_untagged(segment)
        elif is_late:
            # What lies before and behind it was looked at long ago.
            message = DDPMessage(segment, begun=False)
            if segment.opcode == Opcode.READ_RESPONSE:
                self._responses.take_late(message)
            else:
                self._out.append(message.event())
        elif segment.opcode == Opcode.READ_RESPONSE:
            self._give_place()
            self._responses.take(segment)
        else:
            self._add_tagged(segment)

    def _lose(self, start: int, segment: DDPSegment | None) -> None:
        """Take note of a hole before ``start``."""
        assert self._expected is not None
        self._note_hole()
        self._unsure = TAGGED_OPCODES
        octets = start - self._expected
        phase = None if segment is None else segment.phase
        if phase is not None:
            # Markers, the first of them at or behind the beginning of the hole.
            first = self._expected + (octets - phase) % MARKER_INTERVAL
            octets -= MARKER_LENGTH * max(0, -((first - start) // MARKER_INTERVAL))
        for opcode in list(self._tagged):
            # Nothing tells whether the next segment is of the same message.
            self._close(opcode)
        self._give_place()
        self._responses.take(Hole(octets, 0 if segment is None else segment.captured))

    # -- Tagged --------------------------------------------------------------------------------

    def _add_tagged(self, segment: DDPSegment) -> None:
        opcode = segment.opcode
        message = self._tagged.get(opcode)
        if message is not None and message.first.header.stag != segment.header.stag:
            self._close(opcode)
            message = None
        if message is None:
            message = DDPMessage(segment, begun=opcode not in self._unsure)
            self._tagged[opcode] = message
            self._stretches += message.stretches
        else:
            self._extend(message, segment)
        if opcode in self._unsure:
            self._unsure -= {opcode}
        if segment.header.last:
            self._close(opcode)

    def _close(self, opcode: int) -> None:
        """Report a Tagged message."""
        message = self._tagged.pop(opcode)
        self._stretches -= message.stretches
        self._report(message)

    # -- Untagged ------------------------------------------------------------------------------

    def _add_untagged(self, segment: DDPSegment) -> None:
        key = _key_of(segment)
        message = self._untagged.get(key)
        has_header = message is None and segment.is_message
        if message is None:
            message = self._open_untagged(segment)
            self._untagged[key] = message
            self._stretches += message.stretches
        else:
            self._extend(message, segment)
        is_whole = message.has_all_segments
        if is_whole or has_header:
            self._ask(message)
        if is_whole:
            self._close_untagged(key)
        elif len(self._untagged) > OPEN_MESSAGES:
            self._close_untagged(next(iter(self._untagged)))

    def _close_untagged(self, key: _Key) -> None:
        """Report an Untagged message."""
        message = self._untagged.pop(key)
        if self._due is not None:
            self._due.pop(key, None)
        if self._newest.get(key[0]) is message:
            del self._newest[key[0]]
        self._stretches -= message.stretches
        self._report(message)

    def _open_untagged(self, segment: DDPSegment) -> DDPMessage:
        """Begin a message, and see to its place in the order of its queue."""
        qn, msn = segment.header.qn, segment.header.msn
        assert qn is not None and msn is not None
        sequence = self._sequence(qn)
        holes = self._holes
        if sequence is not None:
            number = sequence.place(msn)
            if sequence.is_behind(number):
                return self._open_late(segment, sequence, number)
            holes = sequence.holes
            is_lossless = holes == self._holes
            before = self._newest.get(qn)
            if before is not None and before.holes != self._holes:
                # The next one begins, so that what it lacks lies in a hole.
                self._fall_due(before, segment.start)
                self._stand_in(before)
            if qn == QueueNumber.ATOMIC_RESPONSE:
                self._give_place()
            sequence.holes = self._holes
            skipped = sequence.note(number, segment.start, segment.origin, is_lossless=is_lossless)
            if skipped is not None:
                self._skip(sequence, skipped)
        message = DDPMessage(segment, holes=holes)
        if sequence is not None:
            self._newest[qn] = message
        if holes != self._holes and segment.offset:
            self._stand_in(message)
        if qn == QueueNumber.READ_REQUEST:
            self._asked.is_whole = True
        return message

    def _fall_due(self, message: DDPMessage, position: int) -> None:
        """Take note of a position before which all segments of a message lie."""
        if self._due is None:
            self._due = {}
        self._due[_key_of(message.first)] = position

    def _sequence(self, qn: int) -> MSNSequence | None:
        """Return the MSNs of a queue, None if there is none with this number."""
        sequence = self._queues.get(qn)
        if sequence is None and qn in UNTAGGED_QUEUES:
            sequence = self._queues[qn] = MSNSequence(qn, self._first_msn)
        return sequence

    def _open_late(self, segment: DDPSegment, sequence: MSNSequence, number: int) -> DDPMessage:
        """Begin a message behind one of its queue with a higher MSN."""
        skipped = sequence.fill(number)
        self._limit_skipped(sequence)
        message = DDPMessage(segment, is_late=True, repeats=skipped is None)
        if skipped is None:
            return message
        if segment.start < skipped.position:
            # A late copy has brought it: the sender has kept to the order.
            self._fall_due(message, skipped.position)
        message.stands_in = not skipped.is_lossless and skipped.qn == QueueNumber.READ_REQUEST
        return message

    def _ask(self, message: DDPMessage) -> None:
        """Take note of a message that is whole, in case it is a Request, also one that was cut off.

        Also on another queue: there are Responders that do not mind.
        """
        if message.asks is not None or message.first.opcode not in REQUESTS:
            return
        request = message.asks = request_of(message)
        if message.repeats:
            return
        qn, msn = message.first.header.qn, message.first.header.msn
        if message.stands_in:
            if request is not None:
                self._asked.fill(request)
        elif request is not None:
            self._asked.ask(request)
        elif message.is_cut_off and qn == QueueNumber.READ_REQUEST and msn is not None:
            self._asked.ask(Request(msn))

    def _stand_in(self, message: DDPMessage) -> None:
        """Take note of a Request of which the capture may never show what it asks for."""
        header = message.first.header
        is_request = header.qn == QueueNumber.READ_REQUEST and message.first.opcode in REQUESTS
        if is_request and header.msn is not None and not message.stands_in:
            message.stands_in = True
            self._asked.ask(Request(header.msn))

    def _give_place(self) -> None:
        """Have an Atomic Response that is not whole take its place before what comes now.

        What it lacks was sent before that.
        """
        message = self._newest.get(QueueNumber.ATOMIC_RESPONSE)
        if message is None or message.is_given or message.first.opcode != Opcode.ATOMIC_RESPONSE:
            return
        message.is_given = True
        message.is_over = False
        self._responses.take(message)

    def _skip(self, sequence: MSNSequence, skipped: Skipped) -> None:
        """Take note of MSNs of which no segment was seen."""
        if skipped.is_lossless:
            # There is nothing to wait for.
            sequence.settle(skipped)
            self._report_skipped(skipped)
            return
        sequence.skipped.append(skipped)
        self._limit_skipped(sequence)
        if skipped.qn == QueueNumber.READ_REQUEST:
            if skipped.end - skipped.first > OUTSTANDING_REQUESTS:
                self._asked.give_up()
                return
            for number in range(skipped.first, skipped.end):
                self._asked.ask(Request(sequence_number(number)))

    def _limit_skipped(self, sequence: MSNSequence) -> None:
        """Report what was skipped first if there is too much of it."""
        while len(sequence.skipped) > SKIPPED_STRETCHES:
            self._report_skipped(sequence.settle_oldest())

    # -- out -----------------------------------------------------------------------------------

    def _extend(self, message: DDPMessage, segment: DDPSegment) -> None:
        before = message.stretches
        message.add(segment)
        self._stretches += message.stretches - before

    def _report(self, message: DDPMessage) -> None:
        first = message.first
        if first.opcode != Opcode.ATOMIC_RESPONSE or first.header.tagged:
            self._out.append(message.event())
        elif message.is_given:
            self._responses.close(message)
        elif message.is_late:
            self._responses.take_late(message)
        else:
            self._responses.take(message)

    def _report_skipped(self, skipped: Skipped) -> None:
        """Report messages of which nothing was seen."""
        connection, direction, frame, time_ns, _ = skipped.behind
        self._out.append(
            MessageRecovered(
                connection=connection,
                direction=direction,
                frame=frame,
                time_ns=time_ns,
                opcode=None,
                length=0,
                fpdus=0,
                complete=False,
                qn=skipped.qn,
                msn=sequence_number(skipped.first),
                stag=None,
                to=None,
                seq=None,
                missing=((0, None),),
                messages=skipped.end - skipped.first,
            )
        )

    def _settle(self, position: int) -> None:
        """Report what lies before ``position`` and is not whole, for it will never be."""
        due = self._due
        while due:
            key, end = next(iter(due.items()))
            if end > position:
                break
            self._close_untagged(key)
        for sequence in self._queues.values():
            while sequence.skipped and sequence.skipped[0].position <= position:
                self._report_skipped(sequence.settle_oldest())
        self._responses.settle(position)

    def _report_open(self) -> None:
        """Report what is not whole as it is."""
        for opcode in list(self._tagged):
            self._close(opcode)
        for key in list(self._untagged):
            self._close_untagged(key)
        for sequence in self._queues.values():
            while sequence.skipped:
                self._report_skipped(sequence.settle_oldest())


def _key_of(segment: DDPSegment) -> _Key:
    """Return what the segments of one Untagged message have in common."""
    return segment.header.qn, segment.header.msn, segment.opcode


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
