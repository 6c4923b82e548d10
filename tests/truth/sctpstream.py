# SPDX-License-Identifier: GPL-2.0-or-later
"""DDP over SCTP, built by hand: RFC 4960 3, RFC 5043 5, RFC 6581 7 and 9.

It uses nothing of the package: headers are written here once more.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace

from crc32c import crc32c as crc32c

from . import pcapfile
from .mpastream import enhanced_data

PORTS = (40000, 4000)
TAGS = (0x22222222, 0x11111111)
"""The Verification Tag of each sender's packets.  Its peer has chosen it."""
HOSTS = ("10.0.0.1", "10.0.0.2")

DATA, INIT, INIT_ACK, SACK, ABORT = 0, 1, 2, 3, 6
SHUTDOWN, SHUTDOWN_ACK, COOKIE_ECHO, COOKIE_ACK, SHUTDOWN_COMPLETE = 7, 8, 10, 11, 14
SEGMENT, CONTROL = 16, 17
U, B, E = 4, 2, 1

INITIATE, ACCEPT, REJECT, TERMINATE = 1, 2, 3, 4
ENHANCED_INITIATE, ENHANCED_ACCEPT, ENHANCED_REJECT = 5, 6, 7

enhanced = enhanced_data


def chunk(kind: int, flags: int, value: bytes) -> bytes:
    """A chunk with its pad."""
    size = 4 + len(value)
    return struct.pack(">BBH", kind, flags, size) + value + bytes(-size % 4)


def packet(side: int, *chunks: bytes, tag: int | None = None, bad: bool = False) -> bytes:
    """An SCTP packet."""
    ports = PORTS[side], PORTS[1 - side]
    head = struct.pack(">HHI", *ports, TAGS[side] if tag is None else tag)
    body = b"".join(chunks)
    checksum = crc32c(head + bytes(4) + body) ^ bad
    return head + struct.pack("<I", checksum) + body


def init(
    side: int, tsn: int, *, adaptation: int | None = 1, streams: tuple[int, int] = (4, 4)
) -> bytes:
    """An INIT of side 0, or an INIT ACK of side 1."""
    value = struct.pack(">IIHHI", TAGS[1 - side], 65535, *streams, tsn)
    if side:
        value += struct.pack(">HH", 7, 10) + b"cookie" + bytes(2)
    if adaptation is not None:
        value += struct.pack(">HHI", 0xC006, 8, adaptation)
    return chunk(INIT_ACK if side else INIT, 0, value)


def data(
    tsn: int, ppid: int, user_data: bytes, *, stream: int = 0, flags: int = U | B | E
) -> bytes:
    """A DATA chunk."""
    return chunk(DATA, flags, struct.pack(">IHHI", tsn & 0xFFFFFFFF, stream, 0, ppid) + user_data)


def control(ddp_ssn: int, code: int, private_data: bytes = b"") -> bytes:
    """The user data of a session control message."""
    return struct.pack(">HH", ddp_ssn & 0xFFFF, code) + private_data


def segment(ddp_ssn: int, ulpdu: bytes) -> bytes:
    """The user data of a DDP Segment Chunk."""
    return struct.pack(">H", ddp_ssn & 0xFFFF) + ulpdu


def send(msn: int, payload: bytes) -> bytes:
    """A Send that is one DDP segment."""
    return struct.pack(">BBIIII", 0x41, 0x43, 0, 0, msn, 0) + payload


def write(stag: int, to: int, payload: bytes, *, last: bool = True) -> bytes:
    """A segment of an RDMA Write."""
    return struct.pack(">BBIQ", 0x81 | last << 6, 0x40, stag, to) + payload


def frame(side: int, octets: bytes, *, ipv6: bool = False) -> bytes:
    """An Ethernet frame with an SCTP packet."""
    return pcapfile.datagram(("fd00::1", "fd00::2") if ipv6 else HOSTS, side, 132, octets)


@dataclass(frozen=True)
class Unit:
    """One DATA chunk that must be found."""

    side: int
    tsn: int
    ppid: int
    user_data: bytes
    flags: int = U | B | E
    stream: int = 0

    def fragments(self, size: int) -> list[Unit]:
        """The same user data in DATA chunks of ``size`` octets.  The next TSNs must be free."""
        starts = range(0, max(1, len(self.user_data)), size)
        return [
            replace(
                self,
                tsn=self.tsn + index,
                user_data=self.user_data[at : at + size],
                flags=U | B * (at == 0) | E * (at == starts[-1]),
            )
            for index, at in enumerate(starts)
        ]
