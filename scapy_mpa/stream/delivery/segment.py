# SPDX-License-Identifier: GPL-2.0-or-later
"""What counts of one DDP segment, to messages and to checks (RFC 5041 4)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, TypeAlias

from scapy_mpa.stream.delivery.split import LONGEST_HEADER
from scapy_mpa.stream.events import (
    ConnectionId,
    DDPCarrier,
    FPDURecovered,
    Place,
    SoftUiWARPRecovered,
)
from scapy_mpa.stream.sequence import sequence_number
from scapy_mpa.wire.ddp import UNTAGGED_LENGTH, DDPHeader, ddp_header_of, parse_ddp
from scapy_mpa.wire.fpdu import HEADER_LENGTH, MARKER_INTERVAL, fpdu_layout, strip_markers
from scapy_mpa.wire.rdmap import (
    ATOMIC_REQUEST_LENGTH,
    ATOMIC_RESPONSE_LENGTH,
    HEADER_OPCODES,
    READ_REQUEST_LENGTH,
)
from scapy_mpa.wire.rdmap_names import Opcode

__all__ = ["WITH_HEADER", "DDPSegment", "Origin", "segment_of_event", "segment_of_row"]

WITH_HEADER: Final[dict[int, int]] = {
    Opcode.READ_REQUEST: READ_REQUEST_LENGTH,
    Opcode.ATOMIC_REQUEST: ATOMIC_REQUEST_LENGTH,
    Opcode.ATOMIC_RESPONSE: ATOMIC_RESPONSE_LENGTH,
}
"""Opcodes of the messages whose RDMAP header says which Request and Response belong together, and
how many octets that has."""

Origin: TypeAlias = tuple[ConnectionId, int, int, int, int]
"""Connection, direction, frame, time in nanoseconds and sequence number: the first fields of
:class:`~scapy_mpa.stream.events.FPDURecovered`."""

_KEPT: Final = LONGEST_HEADER + 1
# One more shows that a message is longer than its RDMAP header may be.
_BODY: Final = HEADER_LENGTH + UNTAGGED_LENGTH
_NO_HEADER: Final = DDPHeader(tagged=False, last=False)
_OPCODE: Final = 0x0F
_LOW: Final = 0xFFFFFFFF


class DDPSegment:
    """What counts of a DDP segment, whatever brought it."""

    __slots__ = (
        "acknowledged",
        "body",
        "captured",
        "cut_off",
        "end",
        "follows",
        "has_header",
        "header",
        "is_fpdu",
        "is_lost",
        "length",
        "offset",
        "opcode",
        "origin",
        "out_of_order",
        "phase",
        "place",
        "settled",
        "start",
        "ulpdu",
    )

    origin: Origin
    place: Place
    start: int
    """Position of the first octet of what carries it.  :class:`~.turns.Turns` sets both."""
    end: int
    has_header: bool
    """Whether all of its header is there, and something can be told of it."""
    header: DDPHeader
    opcode: int
    offset: int
    """Tagged Offset or Message Offset."""
    length: int
    """Octets after the DDP header."""
    cut_off: int
    """How many of them the snap length cut off."""
    body: bytes
    """The first of those octets, if the message is to be an RDMAP header and nothing else."""
    ulpdu: bytes
    """What is there of the segment if there is no header."""
    is_lost: bool
    """Whether the capture lacks so much of it that it is as good as missing."""
    is_fpdu: bool
    """Whether MPA carries it."""
    follows: bool
    """Whether nothing lies between it and the segment before, wherever that seems to end."""
    phase: int | None
    """Offset of the FPDU's first octet modulo 512, None without Markers."""
    captured: int
    """The frame that brought the last of its octets."""
    out_of_order: bool
    settled: bool
    acknowledged: int | None
    """As :class:`~scapy_mpa.stream.events.FPDURecovered` has them."""

    @property
    def is_message(self) -> bool:
        """Whether it is all of an Untagged message, or holds all of its RDMAP header.

        There are receivers that take it for that whatever MO is.
        """
        return self.header.last and (not self.offset or self.length == WITH_HEADER.get(self.opcode))

    @property
    def rdmap_header(self) -> bytes:
        """The octets that are all of its RDMAP header, or a part; none if the capture lacks any."""
        return b"" if self.cut_off or self.length > LONGEST_HEADER else self.body


def segment_of_row(row: Any) -> DDPSegment:
    """Return the segment in an ordinary FPDU (:data:`~scapy_mpa.stream.ordinary.Row`)."""
    frame, time_ns, direction, at, shape, first, second, third, frames, octets, ack = row
    table = shape.table
    place = at + shape.lead
    seq = sequence_number(direction.origin + place)
    segment = DDPSegment()
    segment.origin = direction.connection.identity, direction.index, frame, time_ns, seq
    segment.place = seq, place if table.from_start else None, shape.lead, shape.size
    segment.phase = at % MARKER_INTERVAL if table.marked else None
    segment.captured = frames if isinstance(frames, int) else max(frames)
    segment.out_of_order = table.ahead
    segment.settled = direction.settled and not table.ahead
    segment.acknowledged = ack
    segment.has_header = segment.is_fpdu = True
    segment.is_lost = segment.follows = False
    segment.cut_off = 0
    segment.body = segment.ulpdu = b""
    segment.length = shape.payload
    opcode = segment.opcode = shape.control[1] & _OPCODE
    fields = _control_fields(shape.control)
    if shape.tagged:
        segment.header = DDPHeader(*fields, first, second)
        segment.offset = second
        return segment
    segment.header = DDPHeader(*fields, None, None, first, second >> 32, second & _LOW, third)
    segment.offset = third
    if opcode in HEADER_OPCODES:
        layout = fpdu_layout(shape.ulpdu_length, segment.phase)
        end = _BODY + min(shape.payload, _KEPT)
        segment.body = strip_markers(octets, layout.markers)[_BODY:end]
    return segment


@lru_cache(maxsize=1024)
def _control_fields(control: bytes) -> tuple[bool, bool, int, int, int]:
    """Return the fields of a DDP header that its control octets hold."""
    return parse_ddp(control.ljust(UNTAGGED_LENGTH, b"\0"))[:5]


def segment_of_event(carrier: DDPCarrier) -> DDPSegment:
    """Return the segment that an event brings."""
    segment = DDPSegment()
    connection, direction = carrier.connection, carrier.direction
    segment.origin = connection, direction, carrier.frame, carrier.time_ns, carrier.seq
    segment.place = carrier.place
    segment.phase = carrier.phase
    segment.captured = max(carrier.frames)
    segment.out_of_order = carrier.out_of_order
    segment.settled = carrier.settled
    segment.is_fpdu = isinstance(carrier, FPDURecovered)
    segment.follows = isinstance(carrier, SoftUiWARPRecovered)
    segment.acknowledged = carrier.acknowledged if isinstance(carrier, FPDURecovered) else None
    ulpdu = carrier.ulpdu
    header = ddp_header_of(ulpdu)
    segment.has_header = header is not None
    segment.is_lost = header is None and carrier.crc == "unknown"
    segment.ulpdu = segment.body = b""
    if header is None:
        segment.header = _NO_HEADER
        segment.ulpdu = ulpdu
        segment.length = carrier.ulpdu_length
        segment.opcode = segment.offset = segment.cut_off = 0
        return segment
    segment.header = header
    segment.length = max(0, carrier.ulpdu_length - header.length)
    segment.cut_off = segment.length - (len(ulpdu) - header.length)
    opcode = segment.opcode = header.rsvdulp & _OPCODE
    segment.offset = (header.to if header.tagged else header.mo) or 0
    if opcode in HEADER_OPCODES and not header.tagged:
        segment.body = ulpdu[header.length :][:_KEPT]
    return segment
