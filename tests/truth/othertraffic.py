# SPDX-License-Identifier: GPL-2.0-or-later
"""Octets of protocols that are not iWARP, of client and server: whole protocols, and tables.

The framing of each follows its specification: lengths, tags, counters and, if the protocol has
them, its own CRC32c digests are right.  Encrypted octets are random.
"""

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


# -- tables and records ----------------------------------------------------------------------------

# These look most like rows of FPDUs without CRCs: many words that read as ULPDU_Length and control
# octets, lengths that lead from one to the next, numbers that count, and records that repeat at a
# fixed distance.  Each seed gives another table.


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


def value(rng: random.Random, size: int) -> bytes:
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


def _tags(rng: random.Random, most: int, octets: int) -> bytes:
    def tag(_: int) -> bytes:
        numbers = rng.randrange(most), rng.choice(CONTROLS), rng.randrange(1 << 16)
        return struct.pack(">HHI", *numbers)

    return filled(tag, octets)


def tags(rng: random.Random) -> bytes:
    """Records of a length, flags and an id, all different."""
    return _tags(rng, rng.choice((100, 2_000, 65_536)), OCTETS)


def tags_repeated(rng: random.Random) -> bytes:
    """Blocks of such records.  A few blocks alternate, or one repeats."""
    count = rng.randint(1, 4)
    records = [_tags(rng, 2_000, rng.choice((64, 256, 500, 960))) for _ in range(count)]
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
        return (head + value(rng, width))[:width]

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
        body = head + value(rng, size)
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
