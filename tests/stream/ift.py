# SPDX-License-Identifier: GPL-2.0-or-later
"""Streams of iWARP Framing for TCP, made by hand from the figures of the draft (4.1, 5.1)."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from crc32c import crc32c

from scapy_mpa.records import Record, record_of
from scapy_mpa.stream.events import Event
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.limits import Limits
from scapy_mpa.stream.messages import Messages
from scapy_mpa.stream.segment import ACK, FIN, SYN, Segment
from scapy_mpa.wire.dialect import Dialect
from tests.stream.feed import INITIATOR_FLOW, RESPONDER_FLOW

PH, R, HC, PC, IH, IP, SP, SM, RM = (1 << bit for bit in range(31, 22, -1))
"""The flags, from the most significant bit (4.2)."""
BOTH = R | HC | PC
"""RDMA mode with both CRCs."""

VTAG_A, VTAG_B = 0xA1B2, 0xC3D4
"""What node A and node B announce: frames of A carry that of B."""

ISN = 1000
FIRST = ISN + 1 + 64
"""Sequence number of the first octet behind an indication."""

ORDERED = "in order", None
CONFIRMED = "speculative", True
TAKEN_BACK = "speculative", False
NEVER = "speculative", None
"""How a frame was placed, and whether that was confirmed."""


def crc(octets: bytes) -> bytes:
    """A CRC as it is on the wire."""
    return crc32c(octets).to_bytes(4, "little")


def indication(flags: int, vtag: int, *, version: int = 1, bc_version: int = 1) -> bytes:
    """An adaption indication (4.1)."""
    body = struct.pack(">IHHIHH44x", 0x52444450, version, bc_version, flags, vtag, 0)
    return body + crc(body)


def frame(
    ddp: bytes, payload: bytes = b"", vtag: int = VTAG_B, *, hc: bool = True, pc: bool = True
) -> bytes:
    """A frame (5.1)."""
    head = struct.pack(">HHH", len(ddp), len(payload), vtag) + ddp
    return head + (crc(head) if hc else b"") + payload + (crc(payload) if pc else b"")


def send(msn: int, mo: int = 0, last: bool = True) -> bytes:
    """The DDP header of a Send (RFC 5041 4.3, RFC 5040 4.1)."""
    return struct.pack(">BBIIII", last << 6 | 1, 0x43, 0, 0, msn, mo)


def read_request(msn: int) -> bytes:
    """The DDP header of an RDMA Read Request (RFC 5040 4.4)."""
    return struct.pack(">BBIIII", 0x41, 0x41, 0, 1, msn, 0)


def write(stag: int, to: int, last: bool = True) -> bytes:
    """The DDP header of an RDMA Write (RFC 5041 4.2)."""
    return struct.pack(">BBIQ", 0x80 | last << 6 | 1, 0x40, stag, to)


def stream(count: int = 6, size: int = 100, **crcs: bool) -> list[bytes]:
    """Frames with a Send each."""
    return [frame(send(msn), bytes([msn % 256]) * size, **crcs) for msn in range(1, count + 1)]


def places(octets: list[bytes]) -> list[int]:
    """Where each begins."""
    return [sum(map(len, octets[:number])) for number in range(len(octets))]


class Capture:
    """A capture of one connection, segment by segment."""

    def __init__(self, limits: Limits | None = None, dialect: Dialect | None = None) -> None:
        self._flows = Flows(limits=limits, dialect=dialect)
        self._messages = Messages()
        self._number = 0
        self.records: list[Record] = []
        """What was reported so far."""

    def segment(
        self,
        octets: bytes = b"",
        at: int = 0,
        *,
        side: int = 0,
        flags: int = ACK,
        ack: int = FIRST,
        length: int | None = None,
    ) -> list[Record]:
        """Take a segment; return what it brings to light.

        :param at: octets before it behind the indication.
        :param length: octets that it had, if the capture cut it.
        """
        self._number += 1
        flow = RESPONDER_FLOW if side else INITIATOR_FLOW
        there = len(octets) if length is None else length
        segment = Segment(
            flow, FIRST + at, ack, flags, octets, there, self._number, self._number * 1000
        )
        return self._told(self._flows.receive(segment))

    def begin(self, flags: int = R | HC | PC, answer: int = R | HC | PC) -> list[Record]:
        """Have a handshake and both indications captured."""
        start = len(self.records)
        self.segment(at=-65, flags=SYN, ack=0)
        self.segment(at=-65, flags=SYN | ACK, side=1, ack=ISN + 1)
        self.segment(indication(flags, VTAG_A), -64, ack=ISN + 1)
        self.segment(indication(answer | PH, VTAG_B), -64, side=1)
        return self.records[start:]

    def acknowledge(self, upto: int, count: int = 1) -> list[Record]:
        """Have node B acknowledge what node A has sent, so many times."""
        start = len(self.records)
        for _ in range(count):
            self.segment(side=1, ack=FIRST + upto)
        return self.records[start:]

    def close(self, at: int) -> list[Record]:
        """Have node A send its FIN, and end the capture."""
        start = len(self.records)
        self.segment(at=at, flags=FIN | ACK)
        self.finish()
        return self.records[start:]

    def finish(self) -> list[Record]:
        """End the capture."""
        return self._told(self._flows.finish())

    def _told(self, events: Iterable[Event]) -> list[Record]:
        told = []
        for event in events:
            messages = self._messages.take(event)
            told += [record_of(event, payload=True)]
            told += map(record_of, messages)
        self.records += told
        return told


def of(records: Iterable[Record], *types: str) -> list[Record]:
    """The records of some types."""
    return [record for record in records if record["type"] in types]


def frames(records: Iterable[Record]) -> list[tuple[object, ...]]:
    """Of each frame its place, how it was placed, and whether that was confirmed."""
    return [
        (record["offset"], record["placed"], record["confirmed"])
        for record in of(records, "ift_frame")
    ]


def errors(records: Iterable[Record]) -> list[str]:
    """The texts of the errors."""
    return [str(record["text"]) for record in of(records, "error")]
