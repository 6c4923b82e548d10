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
    "SMB": smb,
    "iSCSI": iscsi,
    "random octets": random_octets,
    "text about iWARP": words,
    "a capture of iWARP": capture_of_iwarp,
}
