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
from collections.abc import Callable, Iterator

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


def tags_at_512(rng: random.Random) -> bytes:
    """Records that repeat every 512 octets, as Markers do, with small numbers in them."""
    size = rng.choice((64, 128, 256, 512))
    control = rng.choice(CONTROLS)
    record = bytearray(words(rng, size))
    for at in range(0, size, rng.choice((16, 32, 64))):
        record[at : at + 4] = struct.pack(">HH", rng.choice((size - 6, 26, 14, 58)), control)
    for at in rng.sample(range(0, size, 4), min(size // 16, 8)):
        record[at : at + 4] = struct.pack(">I", 4 * rng.randrange(128))
    return filled(lambda _: bytes(record))


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


def rows(rng: random.Random) -> bytes:
    """Rows of a table: a constant head, and columns."""
    head = struct.pack(">HI", 0x8100 | rng.choice((0x40, 0)), rng.choice((7, 0)))
    width = rng.choice((24, 32, 56))
    return filled(
        lambda _: struct.pack(">H", rng.randrange(20, 90)) + head + rng.randbytes(width - 6)
    )


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


def _numbers(rng: random.Random) -> Iterator[float]:
    """Numbers of one column: they count, rise and fall, repeat, or are small."""
    kind = rng.randrange(5)
    value = rng.randrange(1_000)
    number = 0
    while True:
        number += 1
        if kind == 0:
            yield value + number
        elif kind == 1:
            yield rng.randrange(rng.choice((4, 256, 65_536)))
        elif kind == 2:
            yield rng.choice((0, 0, 0, 1, -1, 2))
        elif kind == 3:
            yield value + number % 12 * 4
        else:
            yield int(1_000_000 * rng.gauss(0, 1))


def numbers(code: str, *, whole: bool = True) -> Callable[[random.Random], bytes]:
    """A matrix of numbers of one type, each column with its own kind of numbers.

    :param code: a format of struct, with the byte order.
    """

    def made(rng: random.Random) -> bytes:
        columns = [_numbers(rng) for _ in range(rng.choice((1, 3, 8, 64, 128)))]
        scale = 1 if whole else rng.choice((1.0, 0.5, 0.1))
        size = struct.calcsize(code)
        half = 1 << (8 * size - 1)

        def row(_: int) -> bytes:
            values = [next(each) for each in columns]
            if whole:
                return b"".join(
                    struct.pack(code, (int(each) + half) % (2 * half) - half) for each in values
                )
            return b"".join(struct.pack(code, each * scale) for each in values)

        return struct.pack(">II", 2, len(columns)) + filled(row)

    return made


# -- records with a length ----------------------------------------------------------------------


def sized(
    form: str, *, least: int = 0, counts_itself: bool = False
) -> Callable[[random.Random], bytes]:
    """Records with a length before them, as in many protocols.

    :param form: a format of struct for the length.
    :param counts_itself: whether the length counts its own octets, too.
    """

    def made(rng: random.Random) -> bytes:
        extra = struct.calcsize(form) if counts_itself else 0

        def record(_: int) -> bytes:
            body = words(rng, rng.randint(least, rng.choice((40, 300))))
            return struct.pack(form, len(body) + extra) + body

        return filled(record)

    return made


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


def diameter(rng: random.Random) -> bytes:
    """Diameter: AVPs, padded to four octets (RFC 6733 3, 4.1)."""

    def avp(code: int, octets: bytes) -> bytes:
        size = 8 + len(octets)
        return struct.pack(">II", code, 0x40 << 24 | size) + octets + bytes(-size % 4)

    def message(number: int) -> bytes:
        body = b"".join(
            avp(rng.choice((263, 264, 296, 416, 415)), words(rng, rng.choice((4, 13, 40))))
            for _ in range(rng.randint(3, 12))
        )
        head = struct.pack(">IIIII", 1 << 24 | 20 + len(body), 0xC0 << 24 | 272, 4, number, number)
        return head + body

    return filled(message)


def memcached(rng: random.Random) -> bytes:
    """memcached, binary protocol: responses, whose magic is 0x81."""

    def response(number: int) -> bytes:
        value = words(rng, rng.choice((0, 8, 64, 500)))
        head = struct.pack(
            ">BBHBBHIIQ",
            0x81,
            rng.choice((0, 1, 0x40, 0x42)),
            0,
            4,
            0,
            0,
            4 + len(value),
            number,
            number,
        )
        return head + bytes(4) + value

    return filled(response)


def x11(rng: random.Random) -> bytes:
    """X11: events and replies of 32 octets and more, with counting numbers."""
    size = rng.choice((0, 4, 30))

    def reply(number: int) -> bytes:
        more = rng.choice((0, size))
        head = struct.pack(">BBHI", 1, 0, number & 65_535, more)
        return head + words(rng, 24 + 4 * more)

    return filled(reply)


def turn(rng: random.Random) -> bytes:
    """TURN over TCP: ChannelData, padded to four octets (RFC 8656 12.4)."""

    def data(_: int) -> bytes:
        body = words(rng, rng.choice((20, 160, 172, 1_000)))
        channel = 0x4000 | rng.choice((0, 1, 0x43, 0x143))
        return struct.pack(">HH", channel, len(body)) + body + bytes(-len(body) % 4)

    return filled(data)


def rpc(rng: random.Random) -> bytes:
    """ONC RPC: NFS replies by record marking (RFC 5531 11)."""

    def reply(number: int) -> bytes:
        data = words(rng, 4 * rng.randint(1, 500))
        body = struct.pack(">IIIIII", number, 1, 0, 0, 0, 0) + struct.pack(">II", 0, len(data))
        return struct.pack(">I", 1 << 31 | len(body) + len(data)) + body + data

    return filled(reply)


def ipfix(rng: random.Random) -> bytes:
    """IPFIX: sets of flow records (RFC 7011 3.1, 3.3.2)."""

    def message(number: int) -> bytes:
        flows = b"".join(
            struct.pack(">IIHHQQ", 10 << 24 | at, 10 << 24, 80, rng.randrange(65_536), at, at * 99)
            for at in range(rng.randint(1, 30))
        )
        body = struct.pack(">HH", 256, 4 + len(flows)) + flows
        return struct.pack(">HHIII", 10, 16 + len(body), 1_700_000_000, number, 0) + body

    return filled(message)


def postgresql(rng: random.Random) -> bytes:
    """PostgreSQL: DataRow messages with binary columns."""
    width = rng.choice((1, 4, 12))

    def row(number: int) -> bytes:
        body = struct.pack(">H", width)
        for at in range(width):
            value = rng.choice((number, at, 0, rng.getrandbits(31)))
            body += struct.pack(">II", 4, value)
        return b"D" + struct.pack(">I", 4 + len(body)) + body

    return filled(row)


TABLES: dict[str, Callable[[random.Random], bytes]] = {
    "OpenFlow table features": openflow_features,
    "tags": tags,
    "tags, repeated": tags_repeated,
    "tags every 512 octets": tags_at_512,
    "tags that lead on": tags_that_lead,
    "rows": rows,
    "counted rows": counted_rows,
    "doubles, big endian": numbers(">d", whole=False),
    "int16, big endian": numbers(">h"),
    "int32, big endian": numbers(">i"),
    "int32, little endian": numbers("<i"),
    "a length of 2 octets": sized(">H"),
    "a length of 2 octets, itself counted": sized(">H", counts_itself=True),
    "a length of 4 octets": sized(">I"),
    "a length of 2 octets and a type": sized(">Hxx", least=12),
    "DNS": dns,
    "RTP": rtp,
    "Diameter": diameter,
    "memcached": memcached,
    "X11": x11,
    "TURN": turn,
    "ONC RPC": rpc,
    "IPFIX": ipfix,
    "PostgreSQL": postgresql,
}
"""The octets of a server, by name."""
