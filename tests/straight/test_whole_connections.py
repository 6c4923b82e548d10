# SPDX-License-Identifier: GPL-2.0-or-later
"""Connections from their SYN to their end, and one odd thing somewhere: both ways say the same.

The odd thing is drawn, and so is its place: in the handshake, in the startup, among the FPDUs, at
the end, while the connection lingers, or in the next connection on the same ports.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.stream import flows as core
from scapy_mpa.stream.limits import Limits
from tests.straight.ways import recovery, same, straight
from tests.stream.startup import reply, request
from tests.stream.talk import Talk
from tests.truth import messages, mpastream, pcapfile
from tests.truth.impair import ACK, FIN, PSH, RST, SYN, Segment

SECOND = 1_000_000_000
BEGIN = 1_700_000_000 * SECOND
URG, ECE = 0x20, 0x40


class Captured(NamedTuple):
    """A segment where and when it was captured."""

    time_ns: int
    port: int
    segment: Segment
    lacks: int = 0
    """Octets that the snap length cut off."""


def startup_of(
    direction: int,
    revision: int,
    enhanced: dict[str, int] | None,
    data: bytes,
    *,
    crc: bool,
    markers: tuple[bool, bool],
) -> bytes:
    """The Request or Reply of a connection.

    :param enhanced: its control flags if it is an enhanced one.
    """
    if enhanced is not None:
        data = mpastream.enhanced_data(4, 4, **enhanced) + data
    return (request, reply)[direction](
        markers=markers[1 - direction],
        crc=crc,
        revision=revision,
        enhanced=enhanced is not None,
        private_data=data,
    )


def one_of(
    rng: random.Random,
    *,
    port: int,
    begin: int,
    revision: int,
    crc: bool,
    markers: tuple[bool, bool],
    close: str,
    isns: tuple[int, int] | None = None,
) -> list[Captured]:
    """An ordinary connection."""
    data = bytes(rng.choice((0, 0, 8, 300)))
    flags = {name: rng.randint(0, 1) for name in "abcd"}
    enhanced = flags if revision == 2 and rng.random() < 0.7 else None
    streams = []
    for index in (0, 1):
        startup = startup_of(index, revision, enhanced, data, crc=crc, markers=markers)
        ulpdus = [messages.send(msn, rng.randbytes(rng.choice((0, 40, 700))))[0] for msn in (1, 2)]
        ulpdus += messages.write(rng.getrandbits(32), 0, rng.randbytes(3000), mulpdu=900)
        stream = mpastream.build_stream(ulpdus, markers=markers[index], crc=crc)[0]
        streams.append((startup, stream))
    talk = Talk(isns or (rng.getrandbits(32), rng.getrandbits(32)))
    if rng.random() > 0.7:
        # The last segment of the handshake.
        talk.segments.pop()
    for direction in (0, 1):
        talk.say(direction, streams[direction][0])
        if rng.random() < 0.5:
            talk.say(1 - direction, flags=ACK)
    rests = [stream[: rng.choice((len(stream), len(stream), 0, 1000))] for _, stream in streams]
    size = rng.choice((300, 1448, 1448, 9000))
    while any(rests):
        direction = rng.choice([each for each in (0, 1) if rests[each]])
        if len(rests[0]) == len(streams[0][1]) and rng.random() < 0.9:
            direction = 0
        talk.say(direction, rests[direction][:size])
        rests[direction] = rests[direction][size:]
        if rng.random() < 0.5:
            talk.say(1 - direction, flags=ACK)
    first = rng.randint(0, 1)
    if close in ("fin", "half"):
        talk.say(first, flags=FIN | ACK)
        if rng.random() < 0.5:
            talk.say(1 - first, flags=ACK)
    if close == "fin":
        talk.say(1 - first, flags=FIN | ACK)
        if rng.random() < 0.8:
            talk.say(first, flags=ACK)
    elif close == "rst":
        talk.say(first, flags=RST | rng.choice((0, ACK)))
    step = rng.choice((1_000, 1_000_000, 3 * SECOND))
    return [
        Captured(begin + number * step, port, each) for number, each in enumerate(talk.segments)
    ]


def again(rng: random.Random, all_: list[Captured], at: int) -> None:
    """A segment comes twice."""
    behind = rng.randint(at + 1, len(all_))
    all_.insert(behind, all_[at]._replace(time_ns=all_[behind - 1].time_ns))


def lost(rng: random.Random, all_: list[Captured], at: int) -> None:
    """A segment is not captured."""
    del all_[at]


def late(rng: random.Random, all_: list[Captured], at: int) -> None:
    """A segment is captured after others."""
    each = all_.pop(at)
    behind = rng.randint(at, min(len(all_), at + rng.choice((1, 3, 30))))
    all_.insert(behind, each)


def flagged(rng: random.Random, all_: list[Captured], at: int) -> None:
    """A segment has other flags."""
    each = all_[at].segment
    flags = each.flags ^ rng.choice((URG, SYN, FIN, RST, ACK, ECE, PSH))
    all_[at] = all_[at]._replace(segment=each._replace(flags=flags))


def numbered(rng: random.Random, all_: list[Captured], at: int) -> None:
    """A segment has other numbers."""
    each = all_[at].segment
    by = rng.choice((-5000, -1, 1, 20, 100, 70_000, 1 << 31))
    field = rng.choice(("seq", "ack"))
    number = (getattr(each, field) + by) % 2**32
    all_[at] = all_[at]._replace(segment=each._replace(**{field: number}))


def cut(rng: random.Random, all_: list[Captured], at: int) -> None:
    """The capture lacks the end of a segment."""
    length = len(all_[at].segment.payload)
    all_[at] = all_[at]._replace(lacks=rng.randint(0, length))


def joined(rng: random.Random, all_: list[Captured], at: int) -> None:
    """A segment brings what the next one of its direction brings, too."""
    each = all_[at]
    for index in range(at + 1, len(all_)):
        behind = all_[index]
        if behind.port == each.port and behind.segment.direction == each.segment.direction:
            both = each.segment._replace(
                flags=each.segment.flags | behind.segment.flags,
                payload=each.segment.payload + behind.segment.payload,
            )
            all_[at] = each._replace(segment=both)
            del all_[index]
            return


def split(rng: random.Random, all_: list[Captured], at: int) -> None:
    """A segment comes as two."""
    each = all_[at].segment
    length = rng.randint(0, len(each.payload))
    first = each._replace(payload=each.payload[:length], flags=each.flags & ~FIN)
    second = each._replace(payload=each.payload[length:], seq=(each.seq + length) % 2**32)
    all_[at : at + 1] = [all_[at]._replace(segment=first), all_[at]._replace(segment=second)]


def damaged(rng: random.Random, all_: list[Captured], at: int) -> None:
    """An octet of a segment is wrong."""
    payload = bytearray(all_[at].segment.payload)
    if payload:
        payload[rng.randrange(min(len(payload), rng.choice((1, 24, 9000))))] ^= rng.choice((1, 64))
    all_[at] = all_[at]._replace(segment=all_[at].segment._replace(payload=bytes(payload)))


def stray(rng: random.Random, all_: list[Captured], at: int) -> None:
    """A segment that nobody has called for."""
    each = all_[at].segment
    flags = rng.choice((SYN, SYN | ACK, RST, RST | ACK, FIN | ACK, ACK))
    payload = rng.choice((b"", b"", b"?", bytes(50)))
    numbers = {name: getattr(each, name) for name in ("seq", "ack")}
    if rng.random() < 0.5:
        numbers["seq"] = (each.seq + rng.choice((-1, 1, 100, 1 << 28))) % 2**32
    direction = rng.choice((each.direction, each.direction, 1 - each.direction))
    if direction != each.direction:
        numbers = {"seq": each.ack, "ack": (each.seq + len(each.payload)) % 2**32}
    added = Segment(direction, numbers["seq"], numbers["ack"], flags, payload)
    all_.insert(at, all_[at]._replace(segment=added))


def none(rng: random.Random, all_: list[Captured], at: int) -> None:
    """Nothing is odd."""


ODD: list[Callable[[random.Random, list[Captured], int], None]] = [
    none,
    again,
    lost,
    late,
    flagged,
    numbered,
    cut,
    joined,
    split,
    damaged,
    stray,
]


def as_file(captured: list[Captured]) -> bytes:
    """A pcap file of what was captured."""
    return pcapfile.stamped(
        (time_ns, pcapfile.frame(segment, ports=(port, 4000)), min(lacks, len(segment.payload)))
        for time_ns, port, segment, lacks in captured
    )


def drawn(rng: random.Random, odd: list[Callable[..., None]], **kind: object) -> list[Captured]:
    """A few connections, on the same ports or on others, and what is odd of them."""
    pause = rng.choice((0, 0.1, 20, 40, 300))
    captured: list[Captured] = []
    begin, isns = BEGIN, None
    port = 40000
    for _ in range(rng.choice((1, 2, 2, 3))):
        if rng.random() < 0.2:
            isns = rng.getrandbits(32), rng.getrandbits(32)
        close = rng.choice(("fin", "fin", "fin", "rst", "half", "none"))
        each = one_of(rng, port=port, begin=begin, close=close, isns=isns, **kind)  # type: ignore[arg-type]
        captured += each
        begin = each[-1].time_ns + int(pause * SECOND)
        if rng.random() < 0.3:
            # Another one begins while it goes on.
            port += 1
            begin = each[rng.randrange(len(each))].time_ns
    captured.sort(key=lambda each: each.time_ns)
    for thing in odd:
        if captured:
            # Of a connection, most is FPDUs.
            at = rng.choice((rng.randrange(12), rng.randrange(len(captured))))
            thing(rng, captured, min(len(captured) - 1, at))
    return captured


KINDS = {
    "revision": st.sampled_from((0, 1, 1, 2)),
    "crc": st.sampled_from((True, True, True, False)),
    "markers": st.tuples(st.booleans(), st.booleans()),
}


@given(
    seed=st.integers(0, 2**32),
    odd=st.lists(st.sampled_from(ODD), min_size=1, max_size=2),
    most=st.sampled_from((1 << 17, 1 << 17, 1 << 17, 1, 2)),
    idle=st.sampled_from((7200, 7200, 30)),
    **KINDS,
)
def test_something_odd(
    seed: int,
    odd: list[Callable[..., None]],
    most: int,
    idle: int,
    revision: int,
    crc: bool,
    markers: tuple[bool, bool],
) -> None:
    """Whatever it is, and wherever it stands."""
    rng = random.Random(seed)
    captured = drawn(rng, odd, revision=revision, crc=crc, markers=markers)
    octets = as_file(captured)
    limits = Limits(connections=most, idle_seconds=idle)
    same(octets, limits)


def usual(
    revision: int, close: str, *, markers: tuple[bool, bool], rtr: bool, data: bytes
) -> list[Segment]:
    """A connection in which each FPDU has a segment of its own."""
    talk = Talk((1000, 2**32 - 100))
    enhanced = {"a": int(rtr), "b": int(rtr)} if revision == 2 else None
    for direction in (0, 1):
        startup = startup_of(direction, revision, enhanced, data, crc=True, markers=markers)
        talk.say(direction, startup)
        talk.say(1 - direction, flags=ACK)
    streams = []
    for direction in (0, 1):
        ulpdus = [messages.send(msn, bytes(40 * msn))[0] for msn in range(10)]
        if rtr and not direction:
            ulpdus.insert(0, messages.send(1, b"")[0])
        stream, truth = mpastream.build_stream(ulpdus, markers=markers[direction])
        streams.append([stream[each.start : each.end] for each in truth])
    last = streams[0].pop()
    for each in zip(*streams, strict=False):
        for direction, fpdu in enumerate(each):
            talk.say(direction, fpdu)
            talk.say(1 - direction, flags=ACK)
    if close == "rst":
        talk.say(0, flags=RST | ACK)
    if close in ("fin", "half"):
        talk.say(1, flags=FIN | ACK)
        talk.say(0, flags=ACK)
    if close == "half" and len(streams[0]) < len(streams[1]):
        talk.say(0, last)
    if close == "fin":
        talk.say(0, flags=FIN | ACK)
        talk.say(1, flags=ACK)
        talk.say(1, flags=ACK)
    return talk.segments


@pytest.mark.parametrize("revision", [0, 1, 2])
@pytest.mark.parametrize("close", ["fin", "rst", "half", "none"])
@pytest.mark.parametrize("rtr", [False, True])
@pytest.mark.parametrize("data", [b"", bytes(300)])
def test_recovery_is_not_needed(
    monkeypatch: pytest.MonkeyPatch, close: str, revision: int, rtr: bool, data: bytes
) -> None:
    """For what is ordinary it is not even loaded, and the same is reported."""
    markers = (True, True) if revision == 0 else (False, rtr)
    segments = usual(revision, close, markers=markers, rtr=rtr and revision == 2, data=data)
    octets = pcapfile.pcap(pcapfile.frames(segments))
    lines = recovery(octets)
    monkeypatch.setattr(core.Flows, "recovery", lambda _: pytest.fail("it was asked for"))
    assert straight(octets) == lines
