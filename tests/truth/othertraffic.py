# SPDX-License-Identifier: GPL-2.0-or-later
"""Octets of protocols that are not iWARP, of client and server, some 400 KB in all.

The framing of each follows its specification: lengths, tags, counters and, if the protocol has
them, its own CRC32c digests are right.  Encrypted octets are random.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

from . import impair, messages, mpastream, pcapfile
from .mpastream import crc_field

Exchange = tuple[bytes, bytes]
"""The octets of the client, and those of the server."""

VOLUME = 290_000
"""Octets of bulk data: more than are searched before a direction counts as other traffic."""

WORDS = b"the queue pair was moved to the error state MPA ID Req Frame AC AD AE A@ RFC".split()


def text(rng: random.Random, size: int) -> bytes:
    """Text of English words."""
    page = b" ".join(rng.choices(WORDS, k=2_000)) + b" "
    return (page * (size // len(page) + 1))[:size]


def http(rng: random.Random) -> Exchange:
    """HTTP/1.1: pages by Content-Length and in chunks, and a file of random octets (RFC 9112)."""
    asks, answers = b"", b""
    for number, size in enumerate((3_000, 40_000, 160_000, VOLUME // 2)):
        asks += b"GET /doc/%d.html HTTP/1.1\r\nHost: example.net\r\nAccept: */*\r\n\r\n" % number
        if number == 2:
            answers += b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            for _ in range(size // 4096):
                answers += b"1000\r\n" + text(rng, 4096) + b"\r\n"
            answers += b"0\r\n\r\n"
        else:
            body = rng.randbytes(size) if number == 3 else text(rng, size)
            answers += b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    return asks, answers


def tls(rng: random.Random) -> Exchange:
    """TLS 1.3: hellos, then records of application data (RFC 8446 5.1)."""

    def record(kind: int, octets: bytes) -> bytes:
        return struct.pack(">BHH", kind, 0x0303, len(octets)) + octets

    def hello(kind: int) -> bytes:
        body = b"\x03\x03" + rng.randbytes(32) + b"\x20" + rng.randbytes(32)
        body += b"\x00\x02\x13\x01\x01\x00\x00\x06\x00\x2b\x00\x02\x03\x04"
        return record(22, bytes([kind]) + len(body).to_bytes(3, "big") + body)

    asks, answers = hello(1), hello(2) + record(20, b"\x01")
    while len(answers) < VOLUME:
        asks += record(23, rng.randbytes(rng.randint(40, 900)))
        answers += record(23, rng.randbytes(rng.choice((60, 1400, 16_401))))
    return asks, answers


def smb(rng: random.Random) -> Exchange:
    """SMB 3 over TCP: reads and writes of files (MS-SMB2 2.1, 2.2.1.2)."""

    def message(command: int, number: int, flags: int, body: bytes) -> bytes:
        header = b"\xfeSMB" + struct.pack(
            "<HHIHHIIQIIQ16x", 64, 1, 0, command, 64, flags, 0, number, 0xFEFF, 5, 0x10000000001
        )
        return struct.pack(">I", len(header) + len(body)) + header + body

    asks, answers = b"", b""
    number = 0
    while len(answers) < VOLUME:
        number += 1
        size = rng.choice((512, 4_096, 65_536))
        data = rng.choice((bytes(size), rng.randbytes(size), text(rng, size)))
        if rng.random() < 0.3:
            asks += message(9, number, 0, struct.pack("<HHIQ16s16x", 49, 112, size, 0, b"f") + data)
            answers += message(9, number, 1, struct.pack("<HHII4x", 17, 0, size, 0))
        else:
            asks += message(8, number, 0, struct.pack("<HBBIQ16s17x", 49, 80, 0, size, 0, b"f"))
            answers += message(8, number, 1, struct.pack("<HBBII4x", 17, 80, 0, size, 0) + data)
    return asks, answers


def nvme_tcp(rng: random.Random) -> Exchange:
    """NVMe/TCP with header and data digests (NVMe/TCP Transport 3.3, 3.4.1.1)."""

    def pdu(kind: int, header: bytes, data: bytes = b"") -> bytes:
        offset = 8 + len(header) + 4 if data else 0
        whole = 8 + len(header) + 4 + (len(data) + 4 if data else 0)
        flags = 1 | (2 | 4 if data else 0)
        head = struct.pack("<BBBBI", kind, flags, 8 + len(header), offset, whole) + header
        return head + crc_field(head) + (data + crc_field(data) if data else b"")

    asks = struct.pack("<BBBBIHBBI112x", 0, 0, 128, 0, 128, 0, 0, 3, 0)
    answers = struct.pack("<BBBBIHBBI112x", 1, 0, 128, 0, 128, 0, 0, 3, 131_072)
    number = 0
    while len(answers) < VOLUME:
        number = (number + 1) % 65_536
        size = rng.choice((512, 4_096, 131_072))
        command = struct.pack("<BBHI", 2, 0x40, number, 1) + bytes(24) + rng.randbytes(32)
        asks += pdu(4, command)
        for at in range(0, size, 16_384):
            data = rng.choice((bytes, rng.randbytes))(min(size, 16_384))
            answers += pdu(7, struct.pack("<HHII4x", number, 0, at, len(data)), data)
        answers += pdu(5, struct.pack("<IIHHHH", 0, 0, 1, 1, number, 0))
    return asks, answers


def iscsi(rng: random.Random) -> Exchange:
    """iSCSI with header and data digests: SCSI reads and writes (RFC 7143 11.2 to 11.7)."""

    def pdu(opcode: int, flags: int, tag: int, rest: bytes, data: bytes = b"") -> bytes:
        header = struct.pack(">BBHI", opcode, flags, 0, len(data)) + bytes(8)
        header += struct.pack(">I", tag) + rest.ljust(28, b"\0")
        padded = data + bytes(-len(data) % 4)
        return header + crc_field(header) + (padded + crc_field(padded) if data else b"")

    asks, answers = b"", b""
    number = 0
    while len(answers) < VOLUME:
        number += 1
        size = rng.choice((512, 8_192, 65_536))
        data = rng.choice((bytes(size), rng.randbytes(size), text(rng, size)))
        counters = struct.pack(">III", size, number, number)
        command = struct.pack(">BBIBHB", 0x28, 0, rng.getrandbits(32), 0, size // 512, 0)
        if rng.random() < 0.3:
            asks += pdu(0x01, 0xA1, number, counters + command, data)
        else:
            asks += pdu(0x01, 0xC1, number, counters + command)
            for at in range(0, size, 8_192):
                place = struct.pack(">IIIIII", 0xFFFFFFFF, 0, number, number + 64, 0, at)
                answers += pdu(0x25, 0x80, number, place, data[at : at + 8_192])
        answers += pdu(0x21, 0x80, number, counters)
    return asks, answers


def random_octets(rng: random.Random) -> Exchange:
    """Random octets only."""
    return rng.randbytes(VOLUME // 2), rng.randbytes(VOLUME)


def words(rng: random.Random) -> Exchange:
    """Text about iWARP, with Keys."""
    return text(rng, VOLUME // 2), text(rng, VOLUME)


def capture_of_iwarp(rng: random.Random) -> Exchange:
    """A capture file sent as payload, with one full-size FPDU in each of its frames."""
    ulpdus = messages.write(7, 0, rng.randbytes(VOLUME), 1442)
    octets, truth = mpastream.build_stream(ulpdus)
    half = impair.Half(mpastream.startup_frame(mpastream.REQUEST_KEY, crc=1), octets, truth, 9)
    reply = impair.Half(mpastream.startup_frame(mpastream.REPLY_KEY, crc=1), b"", [], 9)
    sendings = impair.cut_aligned(octets, truth)
    segments = impair.conversation((half, reply), (sendings, []), rng)
    file = pcapfile.pcap(pcapfile.frames(segments))
    return b"RETR iwarp.pcap\r\n", file


TRAFFIC: dict[str, Callable[[random.Random], Exchange]] = {
    "HTTP": http,
    "TLS": tls,
    "SMB": smb,
    "NVMe/TCP": nvme_tcp,
    "iSCSI": iscsi,
    "random octets": random_octets,
    "text about iWARP": words,
    "a capture of iWARP": capture_of_iwarp,
}
