# SPDX-License-Identifier: GPL-2.0-or-later
"""From DDP segments to RDMAP messages (RFC 5041 4 and 5, RFC 5040 4).

An Untagged message is named by Queue Number and Message Sequence Number, and the Message Offset
of each segment says where it lies, so its segments may be recovered in any order.  A Tagged
message has no name and no mark at its beginning: it is the segments between two Last flags, one
behind the other in the stream and in Tagged Offset.  So segments are looked at in the order of
the stream; what was recovered ahead of it waits here.
"""

from __future__ import annotations

from bisect import bisect_left
from heapq import heappop, heappush
from typing import Final, NamedTuple

from scapy_mpa.stream.events import (
    ConnectionEnded,
    ConnectionId,
    Event,
    FPDURecovered,
    MessageRecovered,
)
from scapy_mpa.stream.sequence import first_position, unwrap
from scapy_mpa.wire.ddp import DDPHeader, parse_ddp
from scapy_mpa.wire.errors import RemoteProtocolError
from scapy_mpa.wire.fpdu import fpdu_layout
from scapy_mpa.wire.rdmap import parse_control
from scapy_mpa.wire.rdmap_names import TAGGED_OPCODES

__all__ = ["OPEN_MESSAGES", "WAITING_SEGMENTS", "Messages"]

OPEN_MESSAGES: Final = 1024
"""Messages of one direction that may lack segments at one time: a sender cuts up one message at
a time, so only loss leaves any open.  The oldest is reported as incomplete."""

_RANGES: Final = 1024
# Stretches of one message with holes between: more are no loss but an attack, and do not count.

WAITING_SEGMENTS: Final = 65_536
"""Segments of one direction that may wait for earlier ones, more than a TCP window holds."""


class _Segment(NamedTuple):
    """What counts of a DDP segment."""

    start: int
    end: int
    header: DDPHeader
    opcode: int
    length: int
    """Octets behind the DDP header."""
    fpdu: FPDURecovered


class _Message:
    """A message as far as it is there."""

    __slots__ = ("_end", "_ranges", "begun", "first", "last_segment", "segments")

    def __init__(self, first: _Segment, *, begun: bool) -> None:
        self.first = first
        self.last_segment = first
        self.begun = begun
        """Whether the first segment is known to be there."""
        self.segments = 0
        self._ranges: list[tuple[int, int]] = []
        self._end: int | None = None
        self.add(first)

    def add(self, segment: _Segment) -> None:
        """Add a segment."""
        header = segment.header
        at = header.to if header.tagged else header.mo
        assert at is not None
        self.segments += 1
        self.last_segment = segment
        end = at + segment.length
        if header.last:
            self._end = end
        ranges = self._ranges
        # In stream order, all but the odd segment follows the one before.
        if ranges and ranges[-1][1] == at:
            ranges[-1] = (ranges[-1][0], end)
        elif len(ranges) < _RANGES:
            index = bisect_left(ranges, (at, 0))
            ranges.insert(index, (at, end))
            self._merge(index)

    def _merge(self, index: int) -> None:
        """Make one of the stretch at ``index`` and those that it touches."""
        ranges = self._ranges
        start, end = ranges[index]
        first = index
        while first > 0 and ranges[first - 1][1] >= start:
            first -= 1
        last = index + 1
        while last < len(ranges) and ranges[last][0] <= end:
            last += 1
        touched = ranges[first:last]
        ranges[first:last] = [(touched[0][0], max(stop for _, stop in touched))]

    @property
    def start(self) -> int:
        """The lowest Tagged Offset or Message Offset."""
        return self._ranges[0][0]

    @property
    def next_offset(self) -> int:
        """The offset behind the highest one."""
        return self._ranges[-1][1]

    @property
    def length(self) -> int:
        """Octets that are there, each counted once."""
        return sum(end - start for start, end in self._ranges)

    @property
    def is_complete(self) -> bool:
        """Whether every octet is there."""
        if self._end is None or len(self._ranges) != 1 or not self.begun:
            return False
        start, end = self._ranges[0]
        return end == self._end and (self.first.header.tagged or start == 0)

    def event(self) -> MessageRecovered:
        """Return what there is to say of it."""
        header = self.first.header
        fpdu = self.last_segment.fpdu
        return MessageRecovered(
            connection=fpdu.connection,
            direction=fpdu.direction,
            frame=fpdu.frame,
            time_ns=fpdu.time_ns,
            opcode=self.first.opcode,
            length=self.length,
            fpdus=self.segments,
            complete=self.is_complete,
            qn=header.qn,
            msn=header.msn,
            stag=header.stag,
            to=self.start if header.tagged else None,
            seq=self.first.fpdu.seq,
        )


class _HalfMessages:
    """The messages of one direction."""

    __slots__ = ("_count", "_expected", "_out", "_tagged", "_unsure", "_untagged", "_waiting")

    def __init__(self, out: list[MessageRecovered]) -> None:
        self._out = out
        self._expected: int | None = None
        """Position behind the last segment looked at."""
        self._unsure: set[int] = set()
        """Opcodes of which the end of a Tagged message may have been missed."""
        self._waiting: list[tuple[int, int, _Segment]] = []
        self._count = 0
        self._tagged: dict[int, _Message] = {}
        self._untagged: dict[tuple[int | None, int | None, int], _Message] = {}

    def place(self, fpdu: FPDURecovered, header: int) -> int:
        """Return the position of an FPDU's first octet."""
        if self._expected is None:
            position = first_position(fpdu.seq)
            # Where the stream began before the first FPDU found, others may be missing.
            self._expected = position - (header if fpdu.offset is None else fpdu.offset)
            if fpdu.offset is None:
                self._unsure.update(TAGGED_OPCODES)
        else:
            position = unwrap(fpdu.seq, self._expected)
        return position - header

    def take(self, segment: _Segment, *, ahead: bool) -> None:
        """Take a segment; ``ahead`` if others that lie before it may still come."""
        self._count += 1
        heappush(self._waiting, (segment.start, self._count, segment))
        if not ahead:
            self._deliver(segment.start)
        elif len(self._waiting) > WAITING_SEGMENTS:
            self._deliver(self._waiting[0][0])

    def _deliver(self, upto: int) -> None:
        """Look at all that lies up to ``upto``, and at what follows without a hole."""
        waiting = self._waiting
        while waiting and (waiting[0][0] <= upto or waiting[0][0] == self._expected):
            segment = heappop(waiting)[2]
            if segment.start != self._expected:
                self._unsure.update(TAGGED_OPCODES)
            self._expected = max(self._expected or 0, segment.end)
            if segment.header.tagged:
                self._add_tagged(segment)
            else:
                self._add_untagged(segment)

    def _add_tagged(self, segment: _Segment) -> None:
        header = segment.header
        message = self._tagged.pop(segment.opcode, None)
        if message is not None and (
            message.first.header.stag != header.stag or message.next_offset != header.to
        ):
            self._out.append(message.event())
            message = None
        if message is None:
            message = _Message(segment, begun=segment.opcode not in self._unsure)
        else:
            message.add(segment)
        self._unsure.discard(segment.opcode)
        if header.last:
            self._out.append(message.event())
        else:
            self._tagged[segment.opcode] = message

    def _add_untagged(self, segment: _Segment) -> None:
        header = segment.header
        key = (header.qn, header.msn, segment.opcode)
        message = self._untagged.get(key)
        if message is None:
            message = self._untagged[key] = _Message(segment, begun=True)
        else:
            message.add(segment)
        if message.is_complete:
            self._out.append(message.event())
            del self._untagged[key]
        elif len(self._untagged) > OPEN_MESSAGES:
            self._out.append(self._untagged.pop(next(iter(self._untagged))).event())

    def finish(self) -> None:
        """Report what stays incomplete."""
        if self._waiting:
            self._deliver(max(start for start, _, _ in self._waiting))
        for message in (*self._tagged.values(), *self._untagged.values()):
            self._out.append(message.event())


class Messages:
    """Takes the events of the stream core, gives the messages that they complete."""

    __slots__ = ("_halves", "_out")

    def __init__(self) -> None:
        self._out: list[MessageRecovered] = []
        self._halves: dict[tuple[ConnectionId, int], _HalfMessages] = {}

    def take(self, event: Event) -> list[MessageRecovered]:
        """Take an event; return the messages that are whole now, or never will be.

        FPDUs that no receiver would have accepted, or that carry no DDP header, bring nothing.
        """
        if isinstance(event, FPDURecovered):
            self._take_fpdu(event)
        elif isinstance(event, ConnectionEnded):
            for direction in (0, 1):
                half = self._halves.pop((event.connection, direction), None)
                if half is not None:
                    half.finish()
        if not self._out:
            return []
        out = list(self._out)
        self._out.clear()
        return out

    def _take_fpdu(self, fpdu: FPDURecovered) -> None:
        if fpdu.crc == "bad":
            return
        try:
            header = parse_ddp(fpdu.ulpdu)
        except RemoteProtocolError:
            return
        layout = fpdu_layout(fpdu.ulpdu_length, fpdu.phase)
        key = (fpdu.connection, fpdu.direction)
        half = self._halves.get(key)
        if half is None:
            half = self._halves[key] = _HalfMessages(self._out)
        start = half.place(fpdu, layout.header)
        segment = _Segment(
            start,
            start + layout.length,
            header,
            parse_control(header.rsvdulp).opcode,
            max(0, fpdu.ulpdu_length - header.length),
            fpdu._replace(octets=b""),
        )
        half.take(segment, ahead=fpdu.out_of_order)
