# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables and records of protocols that are not iWARP: the octets of client and server.

``othertraffic`` has whole protocols.  These tables look most like rows of FPDUs without CRCs: many
words that read as ULPDU_Length and control octets, lengths that lead from one to the next, numbers
that count, and records that repeat at a fixed distance.  The framing of each follows its
specification.  Each seed gives another table.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

OCTETS = 50_000
"""Octets of a table, roughly: enough for dozens of the rows that a search looks for."""

REQUEST = b"\x00\x0cGET TABLE\r\n"
CONTROLS = (0x8000, 0x8001, 0x8002, 0xC000, 0x8140, 0xC140, 0xC142, 0x4143, 0x4043, 0x0003)
"""Flags, types and classes that are also control octets of DDP and RDMAP, of either version (RFC
5041 4.2, RFC 5040 4.1)."""

OXM_LENGTHS = (
    *(4, 4, 8, 6, 6, 2, 2, 1, 1, 1, 1, 4, 4, 2, 2, 2, 2, 2, 2, 1),
    *(2, 4, 4, 6, 6, 16, 16, 4, 1, 1, 16, 6, 6, 4, 1, 1, 3, 8, 2, 1),
)
"""Octets of each OpenFlow basic match field (OpenFlow 1.3 7.2.3.7)."""


def filled(make: Callable[[int], bytes], octets: int = OCTETS) -> bytes:
    """Records one after the other, each made from its number."""
    made: list[bytes] = []
    size = number = 0
    while size < octets:
        made.append(make(number))
        size += len(made[-1])
        number += 1
    return b"".join(made)


def words(rng: random.Random, size: int) -> bytes:
    """Octets of a value: text, zeros, small numbers, or anything."""
    kind = rng.randrange(4)
    if kind == 0:
        return bytes(rng.choices(b"etaoin shrdlu", k=size))
    if kind == 1:
        return bytes(size)
    if kind == 2:
        return (b"\0\0\0" + bytes([rng.randrange(64)])) * (size // 4) + bytes(size % 4)
    return rng.randbytes(size)


# -- OpenFlow -----------------------------------------------------------------------------------


def _property(kind: int, octets: bytes) -> bytes:
    size = 4 + len(octets)
    return struct.pack(">HH", kind, size) + octets + bytes(-size % 8)


def _oxm(field: int) -> bytes:
    return struct.pack(">HBB", 0x8000, field << 1, OXM_LENGTHS[field])


def openflow_features(rng: random.Random) -> bytes:
    """OpenFlow 1.3: table features of a switch with equal tables (A.3.5.5)."""
    fields = [sorted(rng.sample(range(40), rng.randint(6, 40))) for _ in range(2)]
    lists = [b"".join(map(_oxm, each)) for each in fields]
    instructions = b"".join(struct.pack(">HH", each, 4) for each in (1, 3, 4, 5))
    actions = b"".join(struct.pack(">HH", each, 4) for each in (0, 11, 12, 15, *range(16, 25)))
    properties = _property(0, instructions) + _property(2, bytes(range(1, rng.randint(8, 60))))
    properties += _property(4, actions) + _property(6, actions)
    for kind, which in ((8, 0), (10, 0), (12, 1), (14, 1)):
        properties += _property(kind, lists[which])
    most = (1 << 64) - 1

    def table(number: int) -> bytes:
        size = 64 + len(properties)
        name = rng.choice((b"table", b"t%d" % number))
        return (
            struct.pack(">HB5x32sQQII", size, number & 255, name, most, most, 0, 1_000_000)
            + properties
        )

    tables = filled(table, 160_000)
    out = struct.pack(">BBHI", 4, 0, 8, 1)
    for at in range(0, len(tables), 60_000):
        part = tables[at : at + 60_000]
        out += struct.pack(">BBHIHHI", 4, 19, 16 + len(part), 2, 12, 1, 0) + part
    return out


# -- tables of tags and numbers -----------------------------------------------------------------


def tags(rng: random.Random) -> bytes:
    """Records of a length, flags and an id, all different."""
    most = rng.choice((100, 2_000, 65_536))
    return filled(
        lambda _: struct.pack(
            ">HHI", rng.randrange(most), rng.choice(CONTROLS), rng.randrange(1 << 16)
        )
    )


def tags_repeated(rng: random.Random) -> bytes:
    """Blocks of such records.  A few blocks alternate, or one repeats."""
    records = [
        filled(
            lambda _: struct.pack(
                ">HHI", rng.randrange(2_000), rng.choice(CONTROLS), rng.randrange(1 << 16)
            ),
            rng.choice((64, 256, 500, 960)),
        )
        for _ in range(rng.randint(1, 4))
    ]
    return filled(lambda number: records[number % len(records)])


def tags_that_lead(rng: random.Random) -> bytes:
    """Records of several kinds.  As with FPDUs, the length of each leads to the next one.

    Ids, times, constants or zeros stand in the places of STag and TO, or MSN and MO.
    """
    kind = rng.choice((0x8000, 0xC000, 0xC140, 0x8140))
    stag = rng.choice((0, 7, rng.getrandbits(32)))
    sizes = rng.choice(((40,), (20, 24, 28), tuple(range(14, 400))))
    ids = rng.choice(
        (lambda _: 0, lambda _: rng.getrandbits(64), lambda at: at, lambda at: at << 32)
    )

    def record(number: int) -> bytes:
        size = rng.choice(sizes)
        head = struct.pack(">HHIQ", size, kind, stag, ids(number))
        return head + rng.randbytes(size - 14) + bytes(-(2 + size) % 4 + 4)

    return filled(record)


def counted_rows(rng: random.Random) -> bytes:
    """Rows of a fixed width that begin with a number that counts, and hold flags and zeros."""
    width = rng.choice((16, 24, 32, 48))
    control = rng.choice(CONTROLS)
    zeros = rng.choice((0, 4, 8))

    def row(number: int) -> bytes:
        head = struct.pack(">IHH", number, width - rng.choice((0, 6)), control)
        head += bytes(zeros) + struct.pack(">I", number)
        return (head + words(rng, width))[:width]

    return filled(row)


# -- records with a length ----------------------------------------------------------------------


def dns(rng: random.Random) -> bytes:
    """DNS over TCP: a zone is transferred (RFC 1035 4.2.2, RFC 5936)."""

    def message(number: int) -> bytes:
        records = b""
        count = rng.randint(1, 20)
        for _ in range(count):
            name = b"\xc0\x0c" if rng.random() < 0.5 else b"\x04host\xc0\x0c"
            records += name + struct.pack(">HHIH", 1, 1, 86_400, 4) + rng.randbytes(4)
        head = struct.pack(">HHHHHH", 0x1234 + number // 50, 0x8580, 1, count, 0, 0)
        body = head + b"\x07example\x03org\0" + struct.pack(">HH", 252, 1) + records
        return struct.pack(">H", len(body)) + body

    return filled(message)


def rtp(rng: random.Random) -> bytes:
    """RTP over TCP: packets after lengths, with counting numbers (RFC 4571 2, RFC 3550 5.1)."""
    size = rng.choice((20, 160, 320, 1_400))
    source = rng.getrandbits(32)

    def packet(number: int) -> bytes:
        head = struct.pack(
            ">BBHII", 0x80, rng.choice((0, 96)), number & 65_535, number * size, source
        )
        body = head + words(rng, size)
        return struct.pack(">H", len(body)) + body

    return filled(packet)


TABLES: dict[str, Callable[[random.Random], bytes]] = {
    "OpenFlow table features": openflow_features,
    "tags": tags,
    "tags, repeated": tags_repeated,
    "tags that lead on": tags_that_lead,
    "counted rows": counted_rows,
    "DNS": dns,
    "RTP": rtp,
}
"""The octets of a server, by name."""
