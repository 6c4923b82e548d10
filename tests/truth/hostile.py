# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures that are expensive to read, each with a clean one: as many segments, of the same sizes.

``HOSTILE[name](scale)`` gives both as lists of frames.  They differ in one thing only: a hole, a
length, a Marker, or the size of segments.  So the difference in cost is the cost of that thing.
"""

import random
import struct
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from . import messages, mpastream, pcapfile, sctpstream
from .impair import ACK, PSH, SYN, Segment

MSS = 1448


class Pair(NamedTuple):
    """Frames of a hostile capture and of its clean counterpart."""

    hostile: list[bytes]
    clean: list[bytes]


class _Flow:
    """A connection on which only the Initiator sends FPDUs, in segments given one by one."""

    def __init__(self, number: int = 0, *, markers: bool = False) -> None:
        self.hosts = f"10.1.{number >> 8}.{number & 255}", "10.0.0.2"
        request = mpastream.startup_frame(mpastream.REQUEST_KEY, crc=1)
        reply = mpastream.startup_frame(mpastream.REPLY_KEY, crc=1, markers=int(markers))
        self.base = 1 + len(request)
        self.opening = [Segment(0, 0, 0, SYN, b""), Segment(1, 0, 1, SYN | ACK, b"")]
        self.startup = [
            Segment(0, 1, 1, PSH | ACK, request),
            Segment(1, 1, self.base, PSH | ACK, reply),
        ]

    def data(self, offset: int, octets: bytes) -> Segment:
        """A segment of the Full Operation Phase.  It acknowledges octets up to the Reply."""
        return Segment(0, self.base + offset, 21, PSH | ACK, octets)

    def frames(self, segments: list[Segment]) -> list[bytes]:
        """The frames of segments."""
        return pcapfile.frames(segments, hosts=self.hosts)


def _writes(octets: int, *, mulpdu: int = 1442) -> list[bytes]:
    return messages.write(1, 0, random.Random(1).randbytes(octets), mulpdu)


def _cut(octets: bytes, size: int = MSS) -> list[tuple[int, bytes]]:
    return [(at, octets[at : at + size]) for at in range(0, len(octets), size)]


def _whole(flow: _Flow, pieces: list[tuple[int, bytes]]) -> list[bytes]:
    data = [flow.data(at, octets) for at, octets in pieces]
    return flow.frames(flow.opening + flow.startup + data)


def _in_one_flow(
    hostile: list[tuple[int, bytes]], clean: list[tuple[int, bytes]], *, markers: bool = False
) -> Pair:
    """Pieces of a connection, at their offsets."""
    flow = _Flow(markers=markers)
    return Pair(_whole(flow, hostile), _whole(flow, clean))


def _after_a_hole(pieces: list[tuple[int, bytes]], scale: int) -> Pair:
    """Pieces without the first one, which was not captured."""
    return _in_one_flow(pieces[1:], _writes_cut(scale)[1:scale])


def _writes_cut(scale: int, *, markers: bool = False) -> list[tuple[int, bytes]]:
    """At least ``scale`` segments of RDMA Writes."""
    return _cut(mpastream.build_stream(_writes(scale * MSS), markers=markers)[0])


def holes_at_the_start(scale: int) -> Pair:
    """Flows whose first octets were never captured: all others wait after a hole."""
    flows = [_Flow(number) for number in range(scale // 20)]
    pieces = _cut(mpastream.build_stream(_writes(20 * MSS))[0])[:20]
    moved = [(at + 8, piece) for at, piece in pieces]
    return Pair(*(_interleaved([_whole(flow, each) for flow in flows]) for each in (moved, pieces)))


def half_open_flows(scale: int) -> Pair:
    """Flows with the Initiator's side only: SYN, Request, one FPDU, then nothing."""
    octets, _ = mpastream.build_stream(messages.send(1, bytes(64)))
    hostile, clean = [], []
    for number in range(scale // 5):
        flow = _Flow(number)
        data = flow.data(0, octets)
        clean.append(_whole(flow, [(0, octets)]))
        alone = [flow.opening[0], flow.startup[0], data]
        hostile.append(flow.frames([*alone, data._replace(seq=data.seq + 5000), data]))
    return Pair(_interleaved(hostile), _interleaved(clean))


def syn_flood(scale: int) -> Pair:
    """Only SYNs, each in its own flow."""
    flow = _Flow()
    syn = flow.opening[0]
    hostile = [
        pcapfile.frame(syn, hosts=flow.hosts, ports=(1024 + number, 4000))
        for number in range(scale)
    ]
    octets, _ = mpastream.build_stream(_writes(scale * 20, mulpdu=64))
    return Pair(hostile, _whole(flow, _cut(octets, len(octets) // scale + 1)))


def _small(scale: int, *, markers: bool = False) -> list[tuple[int, bytes]]:
    """``scale`` small segments of small Writes."""
    clean, _ = mpastream.build_stream(_writes(scale * 64, mulpdu=64), markers=markers)
    return _cut(clean[: scale * 64], 64)


def one_octet_segments_some_twice(scale: int) -> Pair:
    """One octet a segment: a small FPDU, then a large one.  Now and then four octets come again."""
    small, large = messages.send(1, b"small"), _writes(60_000, mulpdu=60_014)
    octets, _ = mpastream.build_stream([*small, *large])
    pieces = _cut(octets[: scale * 9 // 10], 1)
    for at in range(40, len(pieces), 10):
        pieces.insert(at + at // 10, (at - 20, octets[at - 20 : at - 16]))
    return _in_one_flow(pieces, _small(scale))


def one_octet_segments_after_a_hole(scale: int) -> Pair:
    """Each octet in its own segment, every block of 400 backwards."""
    octets, _ = mpastream.build_stream(_writes(scale, mulpdu=1442), markers=True)
    order = [at for begin in range(4, scale, 400) for at in reversed(range(begin, begin + 400))]
    pieces = [(at, octets[at : at + 1]) for at in order if at < scale]
    return _in_one_flow(pieces, _small(scale, markers=True), markers=True)


def markers_that_point_nowhere(scale: int) -> Pair:
    """After a hole, each Marker points to a place at which no FPDU begins."""
    clean = _writes_cut(scale, markers=True)
    forged = bytearray(b"".join(piece for _, piece in clean))
    rng = random.Random(2)
    for at in range(0, len(forged), 512):
        forged[at + 2 : at + 4] = (4 * rng.randrange(1, 400)).to_bytes(2, "big")
    return _in_one_flow(_cut(bytes(forged))[1:scale], clean[1:scale], markers=True)


def _beyond(scale: int) -> list[tuple[int, bytes]]:
    """Segments in which each ULPDU_Length exceeds the rest of its segment by two words."""
    words = b"".join((MSS - at + 2).to_bytes(2, "big") + b"\xc1\x40" for at in range(0, MSS, 4))
    return [(number * MSS, words) for number in range(scale)]


def _within(scale: int) -> list[tuple[int, bytes]]:
    """Segments full of first words of RDMA Writes, each of 32 octets."""
    words = b"\x00\x18\xc1\x40" * (MSS // 4)
    return [(number * MSS, words) for number in range(scale)]


def _filled() -> bytes:
    """FPDUs, each longer than all before, whose payload consists of good FPDUs."""
    sizes = range(2 * MSS, 64_000, 500)
    return mpastream.build_stream(
        [messages.write(1, 0, (_GOOD * 2000)[:size], 64_000)[0] for size in sizes]
    )[0]


def _unknown(words: bytes, scale: int) -> Pair:
    """Segments full of these octets.  The clean capture has random octets."""
    flow = _Flow()
    hostile = [flow.data(at * MSS, (words * MSS)[:MSS]) for at in range(scale)]
    noise = random.Random(3).randbytes(MSS)
    clean = [flow.data(at * MSS, noise) for at in range(scale)]
    return Pair(flow.frames(hostile), flow.frames(clean))


def _requests(scale: int) -> Pair:
    """After the SYN, Requests only, dozens to a segment."""
    flow = _Flow()
    octets = mpastream.startup_frame(mpastream.REQUEST_KEY) * (scale * MSS // 20)
    segments = [Segment(0, 1 + at, 1, PSH | ACK, piece) for at, piece in _cut(octets)]
    return Pair(flow.frames(flow.opening + segments), _writes_in_order(scale))


def _replies(block: int, scale: int) -> Pair:
    """After the SYNs, Replies only: so many segments of one side, then as many of the other."""
    flow = _Flow()
    octets = mpastream.startup_frame(mpastream.REPLY_KEY) * (scale * MSS // 40)
    pieces = _cut(octets)
    segments = [
        Segment(direction, 1 + at, 1 + pieces[begin][0] + direction * block * MSS, PSH | ACK, piece)
        for begin in range(0, len(pieces), block)
        for direction in (0, 1)
        for at, piece in pieces[begin : begin + block]
    ]
    return Pair(flow.frames(flow.opening + segments), _writes_in_order(scale))


def startup_frames_mid_connection(scale: int) -> Pair:
    """Without the SYN, Requests and Replies by turns in one direction."""
    flow = _Flow()
    keys = mpastream.REQUEST_KEY, mpastream.REPLY_KEY
    octets = b"".join(map(mpastream.startup_frame, keys)) * (scale * MSS // 40)
    segments = [flow.data(at, piece) for at, piece in _cut(octets)]
    return Pair(flow.frames(segments), _writes_in_order(scale))


def rejected_startups(scale: int) -> Pair:
    """Requests and Replies that reject them by turns, each in its own segment."""
    flow = _Flow()
    request = mpastream.startup_frame(mpastream.REQUEST_KEY)
    reply = mpastream.startup_frame(mpastream.REPLY_KEY, rejected=1)
    size = len(request)
    segments: list[Segment] = []
    for at in range(1, size * scale // 2, size):
        segments.append(Segment(0, at, at, PSH | ACK, request))
        segments.append(Segment(1, at, at + size, PSH | ACK, reply))
    return Pair(flow.frames(flow.opening + segments), _writes_in_order(scale, 20))


def _alone(octets: bytes, scale: int) -> Pair:
    """Connections with one captured segment.  It repeats these octets; the clean one has FPDUs."""
    clean, _ = mpastream.build_stream(_writes(3 * MSS, mulpdu=64))
    bodies = (octets * MSS)[:MSS], clean[100 : 100 + MSS]
    sent = [Segment(0, 1000, 1, PSH | ACK, body) for body in bodies]
    flows = [_Flow(number) for number in range(scale)]
    return Pair(*([frame for flow in flows for frame in flow.frames([each])] for each in sent))


def _apart(octets: bytes, rng: random.Random, count: int) -> bytes:
    """The same octets again and again, with four other octets after each."""
    return b"".join(octets + rng.randbytes(4) for _ in range(count))


def _headers_and_markers() -> bytes:
    """Headers, and between them words that point back to one of them."""
    rng = random.Random(5)
    octets = b""
    while len(octets) < MSS:
        length = 24 + 4 * rng.randrange(8)
        octets += struct.pack(">HBBIQ", length, 0xC1, 0x40, 1, len(octets))
        octets += b"".join(
            struct.pack(">I", back + 48 * rng.randrange(4)) for back in range(16, 48, 4)
        )
    return octets


def _writes_in_order(scale: int, size: int = MSS) -> list[bytes]:
    octets, _ = mpastream.build_stream(_writes(scale * size))
    return _whole(_Flow(), _cut(octets, size)[:scale])


def _read_requests(octets: int, jump: int) -> bytes:
    """Octets of Read Requests.  If MSNs jump, every other one is damaged."""
    ulpdus: list[bytes] = []
    msn = 1
    while len(ulpdus) * 52 < octets:
        ulpdus += messages.read_request(msn, 1, 0, 8, 2, 0)
        msn += 1 + jump * (len(ulpdus) % 2)
    damage = {at: mpastream.Damage(crc_xor=1) for at in range(0, len(ulpdus), 2) if jump}
    return mpastream.build_stream(ulpdus, damage=damage)[0]


def _interleaved(flows: list[list[bytes]]) -> list[bytes]:
    """One frame of each flow by turns, until all are used."""
    longest = max(map(len, flows))
    return [flow[at] for at in range(longest) for flow in flows if at < len(flow)]


def sctp_associations(scale: int) -> Pair:
    """Associations of one packet, with a session on each of dozens of streams."""
    chunks = [_control(at, at, 0, 1) for at in range(40)]
    hostile = []
    for number in range(scale):
        frame = sctpstream.frame(0, sctpstream.packet(0, *chunks, tag=number + 1))
        hostile.append(frame[:26] + bytes((10, 2, number >> 8, number & 255)) + frame[30:])
    return Pair(hostile, _of_association(_sends(scale)))


def _control(tsn: int, stream: int, ddp_ssn: int, code: int) -> bytes:
    octets = sctpstream.control(ddp_ssn, code)
    return sctpstream.data(100 + tsn, sctpstream.CONTROL, octets, stream=stream & 0xFFFF)


def _in_one_association(chunks: list[bytes]) -> Pair:
    """Chunks of an SCTP association, dozens to a packet, and as many DDP Segments."""
    scale = len(chunks) // 40
    return Pair(_of_association(chunks), _of_association(_sends(scale)))


def _sends(scale: int) -> list[bytes]:
    """A session with 40 small DDP Segments to a packet, in order."""
    chunks = [_control(0, 0, 0, sctpstream.INITIATE)]
    for at in range(1, 40 * scale):
        octets = sctpstream.segment(at, sctpstream.send(at, b""))
        chunks.append(sctpstream.data(100 + at, sctpstream.SEGMENT, octets))
    return chunks


def _of_association(chunks: list[bytes]) -> list[bytes]:
    """The frames of an association in which one side sends these chunks, 40 to a packet."""
    init = sctpstream.init(0, 100, streams=(65535, 65535))
    packets = [sctpstream.packet(0, init, tag=0)]
    packets += [sctpstream.packet(0, *chunks[at : at + 40]) for at in range(0, len(chunks), 40)]
    return [sctpstream.frame(0, packet) for packet in packets]


_WRITE = struct.pack(">HBBIQ", 24, 0xC1, 0x40, 1, 0)
_SEND = struct.pack(">HBBIIII", 22, 0x41, 0x43, 0, 0, 1, 0)
_GOOD = mpastream.build_stream(messages.send(1, bytes(12)))[0]
_SOUND = (_WRITE + b"\x00\x0e\xc1\x40" + bytes(4)) * 30

_ALONE = {
    # Headers of RDMA Writes that make sense.  Each has a different TO, and no CRC is good.
    "sound headers": b"".join(
        struct.pack(">HBBIQHBBI", 24, 0xC1, 0x40, 1, at, 14, 0xC1, 0x40, 0)
        for at in range(0, MSS, 24)
    ),
    # Headers whose lengths all lead to one place, and words that all point back to it.
    "Markers": b"".join(
        struct.pack(">HBBIQ", 512 - at - 6 if at < 512 else 400, 0xC1, 0x40, 1, 0)
        for at in range(0, 528, 16)
    )
    + b"".join(struct.pack(">I", back) for back in range(16, MSS - 512, 4)),
    "headers and Markers": _headers_and_markers(),
    # FPDUs with good CRCs.  After each, four octets follow that belong to no FPDU.
    "good CRCs": _apart(_GOOD, random.Random(6), 30),
    # FPDUs with good CRCs.  After each, three with bad CRCs follow.  Their lengths lead nowhere.
    "good CRCs and bad ones": (
        _GOOD
        + 3 * struct.pack(">HBBIIIII4s", 26, 0x41, 0x43, 0, 0, 1, 0, 0, b"bad!")
        + b"\xff\xff\xff\xff"
    )
    * 12,
    "zero lengths": mpastream.build_stream([b"", b""])[0] + b"none",
    "startup frames": _SOUND + mpastream.startup_frame(mpastream.REQUEST_KEY) + _SOUND,
}
"""Octets that the only segment of a connection repeats."""

ALONE: dict[str, Callable[[int], Pair]] = {
    f"{what} in connections of their own": partial(_alone, octets)
    for what, octets in _ALONE.items()
}
"""Captures of connections of one segment each, as in ``HOSTILE``."""

HOSTILE: dict[str, Callable[[int], Pair]] = {
    "a hole at the start of every flow": holes_at_the_start,
    "half-open flows": half_open_flows,
    "nothing but SYNs": syn_flood,
    # In order.
    "one octet a segment": lambda scale: _in_one_flow(
        _cut(mpastream.build_stream(_writes(scale))[0][:scale], 1), _small(scale)
    ),
    "one octet a segment, some twice": one_octet_segments_some_twice,
    "one octet a segment, after a hole, backwards": one_octet_segments_after_a_hole,
    "Markers that point nowhere": markers_that_point_nowhere,
    "lengths just beyond the island": lambda scale: _after_a_hole(_beyond(scale), scale),
    # The first length stands at the start of the phase, so it is believed at first.
    "lengths just beyond what is there, in order": lambda scale: _in_one_flow(
        _beyond(scale), _writes_cut(scale)[:scale]
    ),
    "lengths that lead within the island": lambda scale: _after_a_hole(_within(scale), scale),
    # These lengths follow a good FPDU.
    "lengths that lead within what is there, in order": lambda scale: _in_one_flow(
        [(0, mpastream.build_stream(messages.send(1, bytes(MSS - 24)))[0]), *_within(scale)[1:]],
        _writes_cut(scale)[:scale],
    ),
    "good FPDUs in longer and longer ones": lambda scale: _in_one_flow(
        _cut(_filled())[:scale], _writes_cut(scale)[:scale]
    ),
    # Good FPDUs of zero length in pairs.  No FPDU follows a pair.
    "zero lengths that lead nowhere": lambda scale: _after_a_hole(
        _cut(_apart(mpastream.build_stream([b"", b""])[0], random.Random(4), scale * MSS // 20)),
        scale,
    ),
    # As many islands as there are segments.
    "every other segment missing": lambda scale: _in_one_flow(
        _writes_cut(2 * scale)[1 : 2 * scale : 2], _writes_cut(2 * scale)[:scale]
    ),
    # Without startup frames, each word reads as the header of an FPDU with a bad CRC.
    "headers in unknown traffic": partial(_unknown, b"\x00\x40\x41\x43\x00\x40\xc1\x40"),
    # Each word begins like the header of a Send that makes no sense.
    "half headers in unknown traffic": partial(_unknown, b"\x41\x43"),
    # Only headers of Sends that make sense, without CRCs.
    "sound headers in unknown traffic": partial(_unknown, _SEND),
    "startup frames after startup frames, in order": _requests,
    "startup frames after startup frames, both ways": partial(_replies, 1),
    "startup frames after startup frames, mid-connection": startup_frames_mid_connection,
    "rejected startups": rejected_startups,
    "Replies both ways in blocks": partial(_replies, 8),
    # Every other Read Request is damaged, and the MSN of the next one is a thousand ahead.  Nearly
    # as many Requests are remembered.
    "MSNs skipped after damage": lambda scale: _in_one_flow(
        *(_cut(_read_requests(scale * MSS, jump)) for jump in (1000, 0))
    ),
    **ALONE,
    # A session on each of very many streams, with its first message only.
    "SCTP sessions, dozens to a packet": lambda scale: _in_one_association(
        [_control(at, at, 0, 1) for at in range(40 * scale)]
    ),
    "SCTP associations": sctp_associations,
    "session control messages, dozens to a packet": lambda scale: _in_one_association(
        [_control(at, 0, at, 1 + at % 8) for at in range(40 * scale)]
    ),
}
"""Name to the function that makes the captures.  Scale is about the number of segments."""
