# SPDX-License-Identifier: GPL-2.0-or-later
"""Streams of iWARP Framing for TCP, made by hand from the figures of the draft (4.1, 5.1)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import accumulate

from scapy_mpa.stream.limits import Limits
from tests.recovery.reading import Record, plain
from tests.truth import messages, pcapfile
from tests.truth.impair import ACK, SYN, Segment
from tests.truth.mpastream import crc_field

PH, R, HC, PC, IH, IP, SP, SM, RM = (1 << bit for bit in range(31, 22, -1))
"""The flags, from the most significant bit (4.2)."""
BOTH = R | HC | PC
"""RDMA mode with both CRCs."""

VTAG_A, VTAG_B = 0xA1B2, 0xC3D4
"""The VTags that node A and node B announce. Frames of A carry that of B."""

FIRST = 1001
"""Sequence number of the first octet of either side."""


def indication(flags: int, vtag: int, *, version: int = 1) -> bytes:
    """An adaption indication (4.1)."""
    body = struct.pack(">IHHIHH44x", 0x52444450, version, 1, flags, vtag, 0)
    return body + crc_field(body)


def frame(
    ddp: bytes, payload: bytes = b"", flags: int = BOTH, *, vtag: int = VTAG_B, size: int = -1
) -> bytes:
    """A frame (5.1).

    :param flags: HC and PC say which CRCs it has.
    :param size: a wrong payload_size. The header CRC is good all the same.
    """
    head = struct.pack(">HHH", len(ddp), len(payload) if size < 0 else size, vtag) + ddp
    head += crc_field(head) if flags & HC else b""
    return head + payload + (crc_field(payload) if flags & PC else b"")


def send(msn: int, mo: int = 0, last: bool = True) -> bytes:
    """The DDP header of a Send (RFC 5041 4.3, RFC 5040 4.1)."""
    return messages.untagged_header(messages.SEND, 0, msn, mo, last)


def write(stag: int, to: int, last: bool = True) -> bytes:
    """The DDP header of an RDMA Write (RFC 5041 4.2)."""
    return messages.tagged_header(messages.WRITE, stag, to, last)


def sends(count: int, flags: int = BOTH, size: int = 100) -> list[bytes]:
    """Frames with one Send each."""
    return [frame(send(msn), bytes([msn % 256]) * size, flags) for msn in range(1, count + 1)]


def places(octets: Sequence[bytes]) -> list[int]:
    """The start of each frame, and the end of the last."""
    return list(accumulate(map(len, octets), initial=0))


class Capture:
    """A capture of one connection, segment by segment.

    :param flags: of the indications that A and B send after the handshake. By default none is sent.
    """

    def __init__(self, *flags: int, limits: Limits | None = None) -> None:
        self._limits = limits
        self._frames: list[tuple[int, bytes, int]] = []
        self.records: list[Record] = []
        """What is reported at the end of the capture."""
        for side in (0, 1):
            self.segment(at=-1, side=side, flags=ACK * side | SYN)
        if flags:
            self.segment(indication(flags[0], VTAG_A))
            self.segment(indication(flags[1] | PH, VTAG_B), side=1, ack=64)

    def segment(
        self,
        octets: bytes = b"",
        at: int = 0,
        *,
        side: int = 0,
        flags: int = ACK,
        ack: int = 0,
        lacks: int = 0,
    ) -> None:
        """Send a segment.

        :param at: octets of its side before it.
        :param ack: octets of the other side that it acknowledges.
        :param lacks: its octets that the snap length cuts off.
        """
        acknowledged = FIRST + ack if flags & ACK else 0
        frame = pcapfile.frame(Segment(side, FIRST + at, acknowledged, flags, octets))
        self._frames.append((len(self._frames) * 1000, frame, lacks))

    def finish(self) -> None:
        """End the capture, and read it."""
        octets = pcapfile.stamped(self._frames)
        self.records = plain(octets, messages=True, limits=self._limits)

    def of(self, kind: str) -> list[Record]:
        """The records of a type."""
        return [record for record in self.records if record["type"] == kind]

    @property
    def errors(self) -> list[str]:
        """The texts of the errors."""
        return [record["text"] for record in self.of("error")]

    def check_errors(self, beginnings: Sequence[str]) -> None:
        """Check that there are these errors, by the beginnings of their texts."""
        pairs = zip(self.errors, beginnings, strict=True)
        assert all(text.startswith(each) for text, each in pairs), self.errors

    @property
    def end(self) -> Record:
        """The record of the connection, which is the last."""
        (ended,) = self.of("connection")
        return ended
