# SPDX-License-Identifier: GPL-2.0-or-later
"""The facts about one DDP segment that messages and checks need (RFC 5041 4)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias

from scapy_mpa.stream.events import CARRIERS, Carrier, ConnectionId, FPDURecovered, Place
from scapy_mpa.stream.ordinary import Row
from scapy_mpa.stream.sequence import SEQUENCE_MASK, sequence_number
from scapy_mpa.wire.ddp import UNTAGGED_LENGTH, DDPHeader, ddp_header_of, parse_ddp
from scapy_mpa.wire.fpdu import (
    HEADER_LENGTH,
    MARKER_INTERVAL,
    SOFTUIWARP,
    fpdu_layout,
    strip_markers,
)
from scapy_mpa.wire.rdmap import HEADER_LENGTHS, HEADER_OPCODES
from scapy_mpa.wire.rdmap_names import OPCODE_BITS, Opcode

_PAIRED: Final = (Opcode.READ_REQUEST, Opcode.ATOMIC_REQUEST, Opcode.ATOMIC_RESPONSE)
WITH_HEADER: Final[dict[int, int]] = {each: HEADER_LENGTHS[each][0] for each in _PAIRED}
"""Octets of the RDMAP header, by opcode, where it shows which Request and Response belong
together."""

Origin: TypeAlias = tuple[ConnectionId, int, int, int, int]
"""Connection, direction, frame, time in nanoseconds and sequence number: the first fields of
:class:`~scapy_mpa.stream.events.FPDURecovered`."""

_LONGEST_HEADER: Final = max(most for _, most in HEADER_LENGTHS.values())
# One octet more shows that a message is too long for an RDMAP header.
_KEPT: Final = _LONGEST_HEADER + 1
_BODY: Final = HEADER_LENGTH + UNTAGGED_LENGTH
_NO_HEADER: Final = DDPHeader(tagged=False, last=False)


@dataclass(slots=True, eq=False)
class DDPSegment:
    """A DDP segment, from an FPDU or another carrier."""

    origin: Origin
    place: Place
    frames: tuple[int, ...]
    """The frames that brought its octets."""
    read_to: int | None
    """Segments that begin up to this sequence number are due now.  None: this one is out of order,
    and no hole before it was closed."""
    acknowledged: int | None
    """As :class:`~scapy_mpa.stream.events.FPDURecovered` has it."""
    header: DDPHeader
    opcode: int
    offset: int
    """Tagged Offset or Message Offset."""
    length: int
    """Octets after the DDP header."""
    cut_off: int = 0
    """How many octets of ``length`` the snap length cut off."""
    body: bytes = b""
    """The first octets after the DDP header, if the message is an RDMAP header and nothing else.
    Without a DDP header, all captured octets of the segment."""
    is_fpdu: bool = True
    """True if MPA carries it."""
    follows: bool = False
    """True if it begins where the FPDU before it ends, whatever length was reported for that: it
    may have been reported with the pad of RFC 5044, before SoftUiWARP was recognised."""
    has_header: bool = True
    """True if its DDP header was captured, and has no error that makes the rest unreadable."""
    is_acceptable: bool = True
    """True if a receiver accepts it."""
    is_lost: bool = False
    """True if so little of it was captured that it counts as missing."""
    start: int = 0
    """Position of the first octet of its carrier.  :class:`~.turns.Turns` sets start and end."""
    end: int = 0

    @property
    def captured(self) -> int:
        """The last of the frames that brought its octets."""
        return max(self.frames)

    @property
    def end_seq(self) -> int:
        """The sequence number after its carrier."""
        seq, _, leading, extent = self.place
        return seq - leading + extent

    @property
    def received(self) -> int | None:
        """The sequence number up to which its sender had received octets.

        None if that is not known: later segments may have been captured before it was found.
        """
        return self.acknowledged if self.origin[2] == self.captured else None

    @property
    def is_message(self) -> bool:
        """True if it is a whole Untagged message, or holds its whole RDMAP header.

        Some receivers accept such an RDMAP header at any MO.
        """
        return self.header.last and (not self.offset or self.length == WITH_HEADER.get(self.opcode))

    @property
    def rdmap_header(self) -> bytes:
        """The octets of its RDMAP header; none if it is not whole or not all was captured.

        MULPDU is 128 at least (RFC 5044 4.5), so a conforming sender never cuts one up.
        """
        is_whole = self.is_message and not self.cut_off and self.length <= _LONGEST_HEADER
        return self.body if is_whole else b""


def segment_of(item: Any) -> DDPSegment | None:
    """Return the DDP segment of a row or an event, None if it carries no RDMAP."""
    if type(item) is tuple:
        return _of_row(item)
    return _of_event(item) if isinstance(item, CARRIERS) and item.carries_rdmap else None


def _of_row(row: Row) -> DDPSegment:
    """Return the segment in an ordinary FPDU (:data:`~scapy_mpa.stream.ordinary.Row`)."""
    frame, time_ns, direction, at, shape, first, second, third, frames, octets, ack = row
    table = shape.table
    offset = at + shape.lead
    seq = sequence_number(direction.origin + offset)
    opcode = shape.opcode
    fields = _control_fields(shape.control)
    body = b""
    if shape.tagged:
        header, place = DDPHeader(*fields, first, second), second
    else:
        header = DDPHeader(*fields, None, None, first, second >> 32, second & SEQUENCE_MASK, third)
        place = third
        if opcode in HEADER_OPCODES:
            phase = at % MARKER_INTERVAL if table.marked else None
            markers = fpdu_layout(shape.ulpdu_length, phase).markers
            body = strip_markers(octets, markers)[_BODY : _BODY + min(shape.payload, _KEPT)]
    return DDPSegment(
        (direction.connection.identity, direction.index, frame, time_ns, seq),
        (seq, offset if table.from_start else None, shape.lead, shape.size),
        (frames,) if isinstance(frames, int) else frames,
        None if table.ahead else seq,
        ack,
        header,
        opcode,
        place,
        shape.payload,
        0,
        body,
    )


@lru_cache(maxsize=1024)
def _control_fields(control: bytes) -> tuple[bool, bool, int, int, int]:
    """Return the fields of a DDP header that its control octets hold."""
    return parse_ddp(control.ljust(UNTAGGED_LENGTH, b"\0"))[:5]


def _of_event(carrier: Carrier) -> DDPSegment:
    """Return the segment that an event brings."""
    ulpdu, length = carrier.ulpdu, carrier.ulpdu_length
    found = ddp_header_of(ulpdu)
    header = found or _NO_HEADER
    opcode = header.rsvdulp & OPCODE_BITS
    captured = len(ulpdu)
    body = ulpdu
    if found is not None:
        captured -= header.length
        length = max(0, length - header.length)
        is_header = opcode in HEADER_OPCODES and not header.tagged
        body = ulpdu[header.length :][:_KEPT] if is_header else b""
    fpdu = carrier if isinstance(carrier, FPDURecovered) else None
    place = carrier.place
    read_to: int | None = place[0]
    if carrier.out_of_order:
        read_to = None if fpdu is None else fpdu.read_to
    return DDPSegment(
        (carrier.connection, carrier.direction, carrier.frame, carrier.time_ns, carrier.seq),
        place,
        carrier.frames,
        read_to,
        None if fpdu is None else fpdu.acknowledged,
        header,
        opcode,
        (header.to if header.tagged else header.mo) or 0,
        length,
        length - captured,
        body,
        fpdu is not None,
        fpdu is not None and fpdu.form is SOFTUIWARP,
        found is not None,
        carrier.is_acceptable,
        found is None and carrier.crc == "unknown",
    )
