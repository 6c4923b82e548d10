# SPDX-License-Identifier: GPL-2.0-or-later
"""RDMA Read Requests and Atomic Requests (RFC 5040 4.4, RFC 7306 5.2.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from scapy_mpa.stream.delivery.segment import WITH_HEADER, DDPSegment, Origin
from scapy_mpa.stream.events import MessageRecovered
from scapy_mpa.wire.rdmap import (
    ATOMIC_RESPONSE_LENGTH,
    ReadRequest,
    parse_atomic_request,
    parse_atomic_response,
    parse_read_request,
)
from scapy_mpa.wire.rdmap_names import Opcode, QueueNumber

OUTSTANDING_REQUESTS: Final = 1024
"""Requests of one direction that are kept until they are answered.  IRD and ORD are 16383 at most
(RFC 6581 9.1); implementations have a few hundred at most."""

Key: TypeAlias = tuple[str, int, int]
"""The fields that a Request and its Response share: their kind, then Data Sink STag and Tagged
Offset, or the Request Identifier."""

REQUESTS: Final = frozenset({Opcode.READ_REQUEST, Opcode.ATOMIC_REQUEST})
"""Opcodes of the messages that ask for a Response."""

EMPTY: Final[Key] = ("empty", 0, 0)
"""The key of all Requests for no octets: the STag and TO of a Response without octets mean nothing
(RFC 5041 5.2)."""


@dataclass(slots=True, eq=False)
class Request:
    """An RDMA Read Request or an Atomic Request."""

    msn: int
    """Its MSN."""
    origin: Origin | None = None
    """The origin of its segment, None if it was not captured."""
    captured: int = 0
    """The last frame that brought its octets."""
    read: ReadRequest | None = None
    """The header of an RDMA Read Request."""
    identifier: int | None = None
    """The Request Identifier of an Atomic Request."""
    begin: int = 0
    """The Tagged Offset at which an RDMA Read Response begins."""
    size: int = 0
    """Octets of the Response; 0 if the Request was not captured."""
    key: Key | None = None
    answered: bool = False
    serial: int = 0

    def __post_init__(self) -> None:
        read, identifier = self.read, self.identifier
        if read is not None:
            self.begin, self.size = read.sink_to, read.rdma_read_size
            self.key = ("read", read.sink_stag, read.sink_to) if self.size else EMPTY
        elif identifier is not None:
            self.size = ATOMIC_RESPONSE_LENGTH
            self.key = ("atomic", identifier, 0)

    @property
    def end(self) -> int:
        """The Tagged Offset after the last octet that an RDMA Read Request asks for."""
        return self.begin + self.size

    def holds(self, segment: DDPSegment) -> bool:
        """True if a segment may belong to the RDMA Read Response, if that is as requested."""
        read = self.read
        if read is None:
            return False
        if not self.size:
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
        return Request(msn, segment.origin, segment.captured, read=parse_read_request(body))
    identifier = parse_atomic_request(body).request_identifier
    return Request(msn, segment.origin, segment.captured, identifier=identifier)


def keys_of(first: DDPSegment) -> tuple[Key, ...]:
    """Return the possible keys of the Request that a Response answers.

    :param first: the first segment of the Response.
    """
    header = first.header
    if header.stag is None or header.to is None:
        body = first.rdmap_header
        if len(body) != ATOMIC_RESPONSE_LENGTH:
            return ()
        return (("atomic", parse_atomic_response(body).original_request_identifier, 0),)
    place = ("read", header.stag, header.to)
    return (EMPTY, place) if header.last and not first.length else (place,)
