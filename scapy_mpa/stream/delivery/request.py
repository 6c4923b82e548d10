# SPDX-License-Identifier: GPL-2.0-or-later
"""RDMA Read Requests and Atomic Requests (RFC 5040 4.4, RFC 7306 5.2.1)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from scapy_mpa.stream.delivery.segment import WITH_HEADER, DDPSegment, Origin
from scapy_mpa.stream.events import MessageRecovered
from scapy_mpa.stream.limits import LATE_SEGMENTS
from scapy_mpa.stream.sequence import unwrap
from scapy_mpa.wire.rdmap import (
    ATOMIC_RESPONSE_LENGTH,
    ReadRequest,
    parse_atomic_request,
    parse_atomic_response,
    parse_read_request,
)
from scapy_mpa.wire.rdmap_names import Opcode, QueueNumber

OUTSTANDING_REQUESTS: Final = 256
"""Requests of one direction that are kept until they are answered.  IRD and ORD are 16383 at most
(RFC 6581 9.1); Linux siw has 128 at most.  A Response may be compared with each of them."""

REQUESTS: Final = frozenset({Opcode.READ_REQUEST, Opcode.ATOMIC_REQUEST})
"""Opcodes of the messages that ask for a Response."""

RESPONSES: Final = frozenset({Opcode.READ_RESPONSE, Opcode.ATOMIC_RESPONSE})


@dataclass(slots=True, eq=False)
class Request:
    """An RDMA Read Request or an Atomic Request."""

    msn: int
    """Its MSN."""
    origin: Origin | None = None
    """The origin of its segment, None if it was not captured."""
    captured: int = 0
    """The last frame that brought its octets."""
    end_seq: int = 0
    """The sequence number after its FPDU."""
    read: ReadRequest | None = None
    """The header of an RDMA Read Request."""
    identifier: int | None = None
    """The Request Identifier of an Atomic Request."""
    is_doubtful: bool = False
    """True if a Response without a known Request may have answered it."""
    is_known: bool = field(init=False)
    """True if it is known what it asks for: it was captured, and is whole."""
    begin: int = field(init=False)
    """The Tagged Offset at which an RDMA Read Response begins."""
    size: int = field(init=False)
    """Octets of the Response."""
    end: int = field(init=False)
    """The Tagged Offset after the last octet that an RDMA Read Request asks for."""

    def __post_init__(self) -> None:
        read = self.read
        self.is_known = self.origin is not None
        self.begin = 0 if read is None else read.sink_to
        self.size = ATOMIC_RESPONSE_LENGTH if read is None else read.rdma_read_size
        self.end = self.begin + self.size

    def is_answered_by(self, first: DDPSegment) -> bool:
        """True if a Response may answer it when its turn comes, even with another size.

        :param first: the first segment of the Response.
        """
        read = self.read
        begins = read is not None and (first.header.stag, first.offset) == (
            read.sink_stag,
            read.sink_to,
        )
        return begins or self.fits(first)

    def fits(self, segment: DDPSegment) -> bool:
        """True if a segment may belong to a Response to it, by the fields of the segment."""
        if not self.is_known:
            return True
        if self.read is not None:
            return self.holds(segment)
        body = segment.rdmap_header
        is_whole = len(body) == ATOMIC_RESPONSE_LENGTH
        return not segment.header.tagged and (
            not is_whole
            or parse_atomic_response(body).original_request_identifier == self.identifier
        )

    def was_sent_before(self, first: DDPSegment) -> bool:
        """True if the sender of a Response may have had the Request.

        Its acknowledgement number shows that, else the order of capture, roughly.
        """
        received = first.received
        if received is None or not self.is_known:
            return self.captured <= first.captured + LATE_SEGMENTS
        return unwrap(received, self.end_seq) >= self.end_seq

    def holds(self, segment: DDPSegment) -> bool:
        """True if a segment may belong to the RDMA Read Response, if that is as requested."""
        read = self.read
        if read is None or not segment.header.tagged:
            return False
        if not self.size:
            # Its STag and TO mean nothing (RFC 5041 5.2).
            return not segment.length and segment.header.last
        end = segment.offset + segment.length
        return (
            segment.header.stag == read.sink_stag
            and segment.offset >= self.begin
            and (end == self.end if segment.header.last else end < self.end)
        )

    def unanswered(self) -> MessageRecovered:
        """Return the missing Response as an event."""
        assert self.origin is not None
        connection, direction, frame, time_ns, _ = self.origin
        name: dict[str, Any] = {"opcode": Opcode.ATOMIC_RESPONSE, "qn": QueueNumber.ATOMIC_RESPONSE}
        if self.read is not None:
            name = {"opcode": Opcode.READ_RESPONSE, "stag": self.read.sink_stag, "to": self.begin}
        return MessageRecovered(
            connection,
            1 - direction,
            frame,
            time_ns,
            **name,
            length=self.size,
            missing=((self.begin, self.size),) if self.size else (),
            answers=self.msn,
            requested=True,
            read_request=self.read,
            request_identifier=self.identifier,
            request_frame=frame,
        )


def request_of(segment: DDPSegment) -> Request | None:
    """Return the Request that a segment holds, None if it holds no whole one."""
    msn, opcode = segment.header.msn, segment.opcode
    if msn is None or opcode not in REQUESTS:
        return None
    body = segment.rdmap_header
    if len(body) != WITH_HEADER[opcode]:
        return None
    if opcode == Opcode.READ_REQUEST:
        read, identifier = parse_read_request(body), None
    else:
        read, identifier = None, parse_atomic_request(body).request_identifier
    return Request(msn, segment.origin, segment.captured, segment.end_seq, read, identifier)
