# SPDX-License-Identifier: GPL-2.0-or-later
"""A plain walker over captures of iWARP connections: the source of the expectations.

The whole capture is read first.  Then each connection is walked from its beginning, with all of its
octets.  Nothing here is clever, and nothing is shared with the code under test.  The walker knows
classic pcap (also gzipped), Ethernet, 802.1Q, IPv4, IPv6 without extension headers, TCP, and MPA
(RFC 5044 4.1, 4.3, 4.4, 7.1.1).

Rules where the standard leaves room:

- Each direction is walked from the end of its own startup frame to its first hole.  An Rtr Frame
  (rtr-frame-proposal-2007) directly after the Request is the Initiator's second startup frame.
  Octets are FPDUs even after a Reply with R=1, or without a Reply.
- If the peer's startup frame has M=1, and nothing was rejected, 4 of every 512 octets are a Marker,
  from the first octet on.  Its value is not checked.
- An FPDU with ULPDU_Length 0 is an FPDU: it is whole, has a CRC, and others follow it.
- A capture that has softuiwarp in its name is padded by (ULPDU_Length + 2) mod 4 octets.
- The length of an FPDU with a bad CRC may be wrong, so its end is uncertain.  The walk goes on
  there only if the next FPDU's CRC is good.

    python -m tests.truth.walker CAPTURE...

writes for each capture ``tests/expected/NAME.json``, or ``tests/expected/crafted/NAME.json`` if it
is in ``pcaps/crafted`` (NAME: the capture's, without ``.pcap`` and ``.gz``), an object with the
members below. Connections are numbered from 0 in the order of their first segments, also those
without MPA. A role is ``"i"`` (Initiator) or ``"r"`` (Responder), and means the sender.

``packets``
    frames in the file
``connections``
    TCP connections
``startup``
    ``[connection, kind, revision, M, C, R, pd_length, private data in hex]``, kind ``"request"``,
    ``"reply"`` or ``"rtr"``, M, C, R 0 or 1; only whole frames, in this order.
``fpdus``
    ``[connection, role, seq, ulpdu_length, verdict, tagged, last, ddp_version, rdmap_version,
    opcode]``, by connection, Initiator before Responder, in stream order. ``seq`` is the TCP
    sequence number of the ULPDU_Length field. The verdict is ``"good"`` or ``"bad"``, or
    ``"off"`` where no startup frame of the connection has C=1. ``tagged`` and ``last`` are 0 or 1.
    A field outside a ULPDU of less than two octets is null.
``holes``
    ``[connection, role, seq, length]``: octets that were never captured, before captured ones.
``rest``
    ``[connection, role, octets]``: contiguous octets after the last FPDU, if any.  They are an
    FPDU cut off by a hole or by the end of the connection or capture, or octets after a bad FPDU.

Every FPDU is listed, without a digest, so that a test can name the one that differs.
"""

import gzip
import json
import pathlib
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from crc32c import crc32c

from tests.captures import expectation

SYN, ACK = 0x02, 0x10

REQUEST_KEY = b"MPA ID Req Frame"
REPLY_KEY = b"MPA ID Rep Frame"
RTR_KEYS = b"MPA ID Rtr Frame", b"MPA ID RtR Frame"


@dataclass
class TCPSegment:
    """One captured TCP segment.  A snap length may have cut its payload."""

    src: tuple[bytes, int]
    dst: tuple[bytes, int]
    seq: int
    flags: int
    payload: bytes


@dataclass
class Stream:
    """The octets of one direction; offset 0 is the octet after the SYN."""

    isn: int | None = None
    octets: bytearray = field(default_factory=bytearray)
    captured: bytearray = field(default_factory=bytearray)

    def put(self, offset: int, payload: bytes) -> None:
        """Place a segment's octets.  Octets that were captured before stay."""
        if offset < 0:
            payload, offset = payload[-offset:], 0
        missing = offset + len(payload) - len(self.octets)
        if missing > 0:
            self.octets.extend(bytes(missing))
            self.captured.extend(bytes(missing))
        for index, octet in enumerate(payload, offset):
            if not self.captured[index]:
                self.captured[index] = 1
                self.octets[index] = octet

    def contiguous(self) -> bytes:
        """The octets up to the first one that was never captured."""
        hole = self.captured.find(0)
        return bytes(self.octets if hole < 0 else self.octets[:hole])

    def holes(self) -> list[tuple[int, int]]:
        """(offset, length) of every run of octets never captured.  The last octet is in none."""
        found = []
        start = self.captured.find(0)
        while start >= 0:
            end = self.captured.find(1, start)
            found.append((start, end - start))
            start = self.captured.find(0, end)
        return found

    def seq(self, offset: int) -> int:
        """The TCP sequence number of an offset."""
        if self.isn is None:
            raise ValueError("nothing of this direction was captured")
        return (self.isn + 1 + offset) % 2**32


def extension_of(revision: int) -> int:
    """Octets before the private data that PD_Length does not count: 8 for erdma, Rev 129."""
    return 8 if revision == 129 else 0


@dataclass
class Startup:
    """A Request or Reply (RFC 5044 7.1.1) with its length in the stream."""

    kind: str
    markers: int
    crc: int
    rejected: int
    revision: int
    private_data: bytes

    @property
    def size(self) -> int:
        return 20 + extension_of(self.revision) + len(self.private_data)


@dataclass
class WalkedFPDU:
    """One FPDU: TCP sequence number of its ULPDU_Length field, ULPDU, CRC field as it is."""

    seq: int
    ulpdu: bytes
    crc_good: bool
    crc_zero: bool


@dataclass
class Connection:
    """Both directions of a TCP connection, with what the walk found."""

    initiator: tuple[bytes, int]
    syn: int | None
    segments: list[TCPSegment] = field(default_factory=list)
    streams: dict[str, Stream] = field(default_factory=dict)
    request: Startup | None = None
    reply: Startup | None = None
    rtr: Startup | None = None
    fpdus: dict[str, list[WalkedFPDU]] = field(default_factory=dict)
    rest: dict[str, int] = field(default_factory=dict)

    @property
    def crc_on(self) -> bool:
        """CRCs are on where either startup frame has C=1 (RFC 5044 7.1.1)."""
        return any(frame is not None and frame.crc for frame in (self.request, self.reply))


def read_pcap(path: pathlib.Path) -> Iterator[bytes]:
    """The captured octets of each frame of a classic pcap file of link type Ethernet."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    for order in "<>":
        if struct.unpack_from(order + "I", data)[0] in (0xA1B2C3D4, 0xA1B23C4D):
            break
    else:
        raise ValueError(f"{path}: not a classic pcap file")
    if struct.unpack_from(order + "I", data, 20)[0] != 1:
        raise ValueError(f"{path}: link type is not Ethernet")
    at = 24
    while at < len(data):
        length = struct.unpack_from(order + "I", data, at + 8)[0]
        yield data[at + 16 : at + 16 + length]
        at += 16 + length


def parse_frame(octets: bytes) -> TCPSegment | None:
    """The TCP segment in an Ethernet frame; None for any other traffic."""
    ethertype = int.from_bytes(octets[12:14], "big")
    at = 14
    while ethertype == 0x8100:
        ethertype = int.from_bytes(octets[at + 2 : at + 4], "big")
        at += 4
    if ethertype == 0x0800:
        protocol = octets[at + 9]
        src, dst = octets[at + 12 : at + 16], octets[at + 16 : at + 20]
        end = at + int.from_bytes(octets[at + 2 : at + 4], "big")
        at += 4 * (octets[at] & 15)
    elif ethertype == 0x86DD:
        protocol = octets[at + 6]
        src, dst = octets[at + 8 : at + 24], octets[at + 24 : at + 40]
        end = at + 40 + int.from_bytes(octets[at + 4 : at + 6], "big")
        at += 40
    else:
        return None
    if protocol != 6:
        return None
    sport, dport, seq, size, flags = struct.unpack_from(">HHI4xBB", octets, at)
    payload = octets[at + 4 * (size >> 4) : end]
    return TCPSegment((src, sport), (dst, dport), seq, flags, payload)


def group(segments: list[TCPSegment]) -> list[Connection]:
    """Sort segments into connections.  A SYN with another sequence number starts a new one."""
    connections: list[Connection] = []
    current: dict[frozenset[tuple[bytes, int]], Connection] = {}
    for segment in segments:
        key = frozenset((segment.src, segment.dst))
        syn = segment.seq if segment.flags & (SYN | ACK) == SYN else None
        connection = current.get(key)
        if connection is None or (syn is not None and syn != connection.syn):
            connection = current[key] = Connection(segment.src, syn)
            connections.append(connection)
        connection.segments.append(segment)
    return connections


def reassemble(connection: Connection) -> None:
    """Fill the connection's two streams from all of its segments."""
    for role in "ir":
        stream = connection.streams[role] = Stream()
        mine = [s for s in connection.segments if (s.src == connection.initiator) == (role == "i")]
        for segment in mine:
            if segment.flags & SYN:
                stream.isn = segment.seq
        if stream.isn is None and mine:
            stream.isn = (mine[0].seq - 1) % 2**32
        newest = 0
        for segment in mine:
            assert stream.isn is not None
            first = (segment.seq + bool(segment.flags & SYN)) % 2**32
            # The one offset with these low 32 bits within 2 GiB of the newest one.
            ahead = (first - (stream.isn + 1) - newest + 2**31) % 2**32 - 2**31
            offset = newest + ahead
            newest = max(newest, offset)
            if segment.payload:
                stream.put(offset, segment.payload)


def find_startup(octets: bytes, key: bytes, kind: str) -> Startup | None:
    """The startup frame at the beginning of a direction, if it is whole."""
    if octets[:16] != key or len(octets) < 20:
        return None
    flags, revision, pd_length = struct.unpack_from(">BBH", octets, 16)
    begin = 20 + extension_of(revision)
    if len(octets) < begin + pd_length:
        return None
    data = octets[begin : begin + pd_length]
    return Startup(kind, flags >> 7, flags >> 6 & 1, flags >> 5 & 1, revision, data)


def walk_fpdus(
    octets: bytes,
    begin: int,
    stream: Stream,
    crc_on: bool,
    softuiwarp: bool = False,
    marked: bool = False,
) -> tuple[list[WalkedFPDU], int]:
    """The FPDUs from offset begin, and how many octets remain after the last one.

    marked: of every 512 octets, the first 4 are a Marker, which the CRC covers.
    """
    places: Sequence[int] = range(begin, len(octets))
    plain = octets[begin:]
    if marked:
        places = [place for place in places if (place - begin) % 512 >= 4]
        plain = bytes(octets[place] for place in places)
    fpdus: list[WalkedFPDU] = []
    at = 0
    start = begin
    is_certain = True
    while at + 2 <= len(plain):
        ulpdu_length = int.from_bytes(plain[at : at + 2], "big")
        crc_at = at + 2 + ulpdu_length
        crc_at += (ulpdu_length + 2) % 4 if softuiwarp else -(ulpdu_length + 2) % 4
        if crc_at + 4 > len(plain):
            break
        crc_field = plain[crc_at : crc_at + 4]
        good = crc32c(octets[start : places[crc_at]]).to_bytes(4, "little") == crc_field
        if not is_certain and not good:
            break
        is_certain = good or not crc_on
        ulpdu = plain[at + 2 : at + 2 + ulpdu_length]
        fpdus.append(WalkedFPDU(stream.seq(places[at]), ulpdu, good, crc_field == bytes(4)))
        start = places[crc_at + 3] + 1
        at = crc_at + 4
    return fpdus, len(octets) - start


def reassembled(path: pathlib.Path) -> tuple[int, list[Connection]]:
    """Number of frames in the capture, and its connections with their streams."""
    frames = [*read_pcap(path)]
    connections = group([each for each in map(parse_frame, frames) if each is not None])
    for connection in connections:
        reassemble(connection)
    return len(frames), connections


def walk(path: pathlib.Path) -> tuple[int, list[Connection]]:
    """Number of frames in the capture, and its connections with everything found in them."""
    packets, connections = reassembled(path)
    for connection in connections:
        octets = {role: connection.streams[role].contiguous() for role in "ir"}
        connection.request = find_startup(octets["i"], REQUEST_KEY, "request")
        connection.reply = find_startup(octets["r"], REPLY_KEY, "reply")
        if connection.request is not None:
            after_request = octets["i"][connection.request.size :]
            for key in RTR_KEYS:
                connection.rtr = connection.rtr or find_startup(after_request, key, "rtr")
        request, reply = connection.request, connection.reply
        rejected = reply is not None and reply.rejected
        for role, startup, peers in (("i", request, reply), ("r", reply, request)):
            if startup is None:
                connection.fpdus[role], connection.rest[role] = [], 0
            else:
                begin = startup.size
                if role == "i" and connection.rtr is not None:
                    begin += connection.rtr.size
                connection.fpdus[role], connection.rest[role] = walk_fpdus(
                    octets[role],
                    begin,
                    connection.streams[role],
                    connection.crc_on,
                    "softuiwarp" in path.name,
                    marked=bool(peers is not None and peers.markers and not rejected),
                )
    return packets, connections


def verdict(connection: Connection, fpdu: WalkedFPDU) -> str:
    """good, bad, or off if the startup frames leave CRCs off."""
    if not connection.crc_on:
        return "off"
    return "good" if fpdu.crc_good else "bad"


def control(ulpdu: bytes) -> list[int | None]:
    """tagged, last, DDP version, RDMAP version, opcode (RFC 5041 4.1, RFC 5040 4.1)."""
    fields: list[int | None] = [None] * 5
    if len(ulpdu) >= 1:
        fields[:3] = [ulpdu[0] >> 7, ulpdu[0] >> 6 & 1, ulpdu[0] & 3]
    if len(ulpdu) >= 2:
        fields[3:] = [ulpdu[1] >> 6, ulpdu[1] & 15]
    return fields


def expectations(path: pathlib.Path) -> dict[str, int | list[list[object]]]:
    """The expectations of a capture, as in the module docstring."""
    packets, connections = walk(path)
    rows: dict[str, list[list[object]]] = {"startup": [], "fpdus": [], "holes": [], "rest": []}
    for number, connection in enumerate(connections):
        for frame in (connection.request, connection.reply, connection.rtr):
            if frame is not None:
                flags = frame.markers, frame.crc, frame.rejected
                data = frame.private_data
                row = [number, frame.kind, frame.revision, *flags, len(data), data.hex()]
                rows["startup"].append(row)
        for role in "ir":
            stream = connection.streams[role]
            for fpdu in connection.fpdus[role]:
                found = fpdu.seq, len(fpdu.ulpdu), verdict(connection, fpdu)
                rows["fpdus"].append([number, role, *found, *control(fpdu.ulpdu)])
            for offset, length in stream.holes():
                rows["holes"].append([number, role, stream.seq(offset), length])
            if connection.rest[role]:
                rows["rest"].append([number, role, connection.rest[role]])
    return {"packets": packets, "connections": len(connections), **rows}


def to_json(expected: dict[str, int | list[list[object]]]) -> str:
    """Compact JSON with one row a line, so that changes to a file are readable."""
    members = []
    for name, value in expected.items():
        if isinstance(value, list):
            rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in value)
            text = f"[\n{rows}]" if rows else "[]"
        else:
            text = json.dumps(value)
        members.append(f"{json.dumps(name)}:{text}")
    return "{" + ",\n".join(members) + "}\n"


def write(
    arguments: list[str], walk: Callable[[pathlib.Path], dict[str, int | list[list[object]]]]
) -> None:
    """Write what ``walk`` finds in each capture: its expectations."""
    for argument in arguments:
        path = pathlib.Path(argument)
        target = expectation(path)
        target.write_text(to_json(walk(path)))
        print(target)


if __name__ == "__main__":
    write(sys.argv[1:], expectations)
