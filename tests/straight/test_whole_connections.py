# SPDX-License-Identifier: GPL-2.0-or-later
"""Whole connections, as several interfaces captured them, or with something odd in them.

Each interface has a clock of its own.  Interfaces that capture the same packets, and write a buffer
at a time, make copies of segments.  So does appending a file to itself.  Each FPDU and connection
is still reported once.

Up to two odd things are drawn, and their places: in the handshake, in the startup, among the FPDUs,
at the end, while the connection lingers, or in the next connection on the same ports.
"""

import itertools
import json
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from hypothesis import assume, example, given
from hypothesis import strategies as st

from scapy_mpa.stream.limits import Limits
from tests.straight.ways import by_turns, connection, recovery, same, straight
from tests.stream.startup import reply, request
from tests.stream.talk import Talk
from tests.truth import messages, mpastream, pcapfile
from tests.truth.impair import ACK, FIN, PSH, RST, SYN, Half, Segment

SECOND = 1_000_000_000
BEGIN = 1_700_000_000 * SECOND
WHOLE = 1 << 30
"""A block that no capture fills."""

SIZES = st.one_of(st.integers(1, 300), st.just(WHOLE))
CLOSES = st.sampled_from(("fin", "rst", None))
CLOCKS = st.sampled_from((0, 1_000, SECOND, 20 * SECOND, -100 * SECOND))
"""Differences between the first and the last clock.  Half a minute after the end, a SYN begins a
new connection."""


def capture(segments: Sequence[Segment]) -> list[tuple[int, bytes]]:
    """The time and octets of each frame."""
    frames = enumerate(pcapfile.frames(segments))
    return [(BEGIN + number * 1_000_000, frame) for number, frame in frames]


def in_blocks(
    frames: list[tuple[int, bytes]], size: int, apart_ns: int, times: int
) -> Iterator[tuple[int, bytes]]:
    """Blocks of frames of one interface, each followed by the same packets of the others.

    :param apart_ns: how far the clock of each interface is ahead of the one before.
    """
    for at in range(0, len(frames), size):
        for copy in range(times):
            for time_ns, frame in frames[at : at + size]:
                yield time_ns + copy * apart_ns, frame


def read(frames: Sequence[tuple[int, bytes]]) -> list[dict[str, Any]]:
    """The records of a capture, which are the same both ways."""
    octets = pcapfile.stamped((time_ns, frame, 0) for time_ns, frame in frames)
    lines = recovery(octets, Limits())
    assert straight(octets, Limits()) == lines
    return [json.loads(line) for line in lines]


def check(records: list[dict[str, Any]], connections: list[tuple[Half, Half]]) -> None:
    """Check that each FPDU, startup frame and connection is reported once, and nothing wrong."""
    kinds = [each["type"] for each in records]
    assert not {"gap", "error", "overlap"} & set(kinds)
    assert kinds.count("connection") == len(connections)
    assert kinds.count("startup") == 2 * len(connections)
    fpdus = [each for each in records if each["type"] == "fpdu"]
    assert sorted((each["seq"], each["ulpdu_length"]) for each in fpdus) == sorted(
        ((half.base + each.seq_offset) % 2**32, each.ulpdu_length)
        for half in itertools.chain(*connections)
        for each in half.truth
    )


def interleaved(
    frames: list[tuple[int, bytes]], rng: random.Random, chance: float
) -> Iterator[tuple[int, bytes]]:
    """Two copies of all frames, each in order, the second anywhere after the first."""
    first = second = 0
    while second < len(frames):
        if first < len(frames) and (second == first or rng.random() < chance):
            yield frames[first]
            first += 1
        else:
            yield frames[second]
            second += 1


@given(
    seed=st.integers(0, 2**32),
    size=SIZES,
    chance=st.sampled_from((None, None, 0.3, 0.7, 0.995)),
    apart_ns=CLOCKS,
    times=st.integers(2, 3),
    close=CLOSES,
    crc=st.booleans(),
    markers=st.tuples(st.booleans(), st.booleans()),
)
@example(1, 140, None, 0, 2, "fin", True, (False, False))
def test_copies(
    seed: int,
    size: int,
    chance: float | None,
    apart_ns: int,
    times: int,
    close: str | None,
    crc: bool,
    markers: tuple[bool, bool],
) -> None:
    """A connection as two or three interfaces saw it, in blocks or in any interleaving."""
    rng = random.Random(seed)
    sides, segments = connection(rng, close=close, crc=crc, markers=markers)
    frames = capture(segments)
    # A connection that is over lingers for 30 s, and takes copies in that time only.
    copies = in_blocks(frames, size, apart_ns // (times - 1), times)
    check(read(list(copies if chance is None else interleaved(frames, rng, chance))), [sides])


@given(
    seed=st.integers(0, 2**32),
    copies=st.tuples(st.integers(1, 2), st.integers(1, 2)),
    close=st.sampled_from(("fin", "rst")),
    crc=st.booleans(),
    count=st.sampled_from(((1, 1), (5, 5), (20, 20), (20, 3), (3, 20), (300, 5))),
)
def test_the_same_initial_numbers_again(
    seed: int, copies: tuple[int, int], close: str, crc: bool, count: tuple[int, int]
) -> None:
    """Two connections with the same initial numbers and other octets are kept apart.

    Each is captured once or twice.
    """
    rng = random.Random(seed)
    sides, segments = connection(rng, close=close, crc=crc, count=count[0])
    others, more = connection(rng, crc=crc, count=count[1], like=sides)
    check(read(capture(segments * copies[0] + more * copies[1])), [sides, others])


AHEAD = st.sampled_from((0, 1, 10, 20, 29))
"""Seconds by which another clock is ahead.  If it is more, the octets of a hole come too late."""


# A hole of one direction was acknowledged, and only the other direction goes on.
@example(seed=35259684, ahead=[(0, 0)], by_direction=False, late=0, close="fin", crc=False)
@given(
    seed=st.integers(0, 2**32),
    ahead=st.lists(st.tuples(AHEAD, AHEAD), min_size=1, max_size=4),
    by_direction=st.booleans(),
    late=st.integers(0, 40),
    close=st.sampled_from(("fin", "rst")),
    crc=st.booleans(),
)
def test_every_fpdu_is_found(
    seed: int, ahead: list[tuple[int, int]], by_direction: bool, late: int, close: str, crc: bool
) -> None:
    """Each FPDU is found once, even if its segment is captured after the end of its connection.

    Each end is reported once.  by_direction: another interface captures each direction.
    """
    rng = random.Random(seed)
    scripts, late_ones, connections = [], [], []
    for number, pair in enumerate(ahead):
        options: dict[str, Any] = {"markers": (False, True), "crc": crc, "count": 10}
        sides, segments = connection(rng, sizes=(700,), close=close, **options)
        octets = pcapfile.frames(segments, ports=(40000 + number, 4000))
        script = [
            (pair[each.direction if by_direction else 0], frame)
            for each, frame in zip(segments, octets, strict=True)
        ]
        connections.append(sides)
        data = [at for at, each in enumerate(segments) if each.payload]
        # Neither a startup frame nor a first FPDU is late.  Short FPDUs may fill no other segment.
        assume(len(data) > 4)
        late_ones.append(script.pop(rng.choice(data[4:])))
        scripts.append(script)
    frames = by_turns(rng, scripts)
    for script, lagging in zip(scripts, late_ones, strict=True):
        end = len(frames) - frames[::-1].index(script[-1])
        frames.insert(end + late, lagging)
    captured = [
        (BEGIN + second * SECOND + number * 1_000_000, frame)
        for number, (second, frame) in enumerate(frames)
    ]
    check(read(captured), connections)


# -- something odd ---------------------------------------------------------------------------------


URG, ECE = 0x20, 0x40


class Captured(NamedTuple):
    """A segment with the time of its capture, and the port of the Initiator."""

    time_ns: int
    port: int
    segment: Segment
    lacks: int = 0
    """Octets that the snap length cut off."""


def usual(
    rng: random.Random,
    *,
    port: int,
    begin: int,
    crc: bool,
    markers: tuple[bool, bool],
    close: str,
    isns: tuple[int, int] | None = None,
) -> list[Captured]:
    """An ordinary connection."""
    data = bytes(rng.choice((0, 0, 8, 300)))
    streams = []
    for index in (0, 1):
        ulpdus = [messages.send(msn, rng.randbytes(rng.choice((0, 40, 700))))[0] for msn in (1, 2)]
        ulpdus += messages.write(rng.getrandbits(32), 0, rng.randbytes(3000), mulpdu=900)
        streams.append(mpastream.build_stream(ulpdus, markers=markers[index], crc=crc)[0])
    talk = Talk(isns or (rng.getrandbits(32), rng.getrandbits(32)))
    if rng.random() > 0.7:
        # The last segment of the handshake.
        talk.segments.pop()
    for direction, frame in enumerate((request, reply)):
        talk.say(direction, frame(markers=markers[1 - direction], crc=crc, private_data=data))
        if rng.random() < 0.5:
            talk.say(1 - direction, flags=ACK)
    rests = [stream[: rng.choice((len(stream), len(stream), 0, 1000))] for stream in streams]
    size = rng.choice((300, 1448, 1448, 9000))
    while any(rests):
        direction = rng.choice([each for each in (0, 1) if rests[each]])
        if len(rests[0]) == len(streams[0]) and rng.random() < 0.9:
            direction = 0
        talk.say(direction, rests[direction][:size])
        rests[direction] = rests[direction][size:]
        if rng.random() < 0.5:
            talk.say(1 - direction, flags=ACK)
    first = rng.randint(0, 1)
    for direction, flags in {
        "fin": [(first, FIN | ACK), (1 - first, FIN | ACK), (first, ACK)],
        "half": [(first, FIN | ACK), (1 - first, ACK)],
        "rst": [(first, RST | rng.choice((0, ACK)))],
        "none": [],
    }[close]:
        talk.say(direction, flags=flags)
    step = rng.choice((1_000, 1_000_000, 3 * SECOND))
    return [
        Captured(begin + number * step, port, each) for number, each in enumerate(talk.segments)
    ]


def late(rng: random.Random, all_: list[Captured], at: int) -> None:
    """A segment is captured after others."""
    each = all_.pop(at)
    all_.insert(rng.randint(at, min(len(all_), at + rng.choice((1, 3, 30)))), each)


def again(rng: random.Random, all_: list[Captured], at: int) -> None:
    """A segment comes twice."""
    after = rng.randint(at + 1, len(all_))
    all_.insert(after, all_[at]._replace(time_ns=all_[after - 1].time_ns))


def changed(rng: random.Random, all_: list[Captured], at: int) -> None:
    """A segment has other flags or numbers, a wrong octet, or its end was cut off."""
    each = all_[at].segment
    payload = bytearray(each.payload)
    by = rng.choice((-5000, -1, 1, 20, 100, 70_000, 1 << 31))
    if payload:
        payload[rng.randrange(min(len(payload), rng.choice((1, 24, 9000))))] ^= rng.choice((1, 64))
    fields: dict[str, Any] = rng.choice(
        (
            {"flags": each.flags ^ rng.choice((URG, SYN, FIN, RST, ACK, ECE, PSH))},
            {"seq": (each.seq + by) % 2**32},
            {"ack": (each.ack + by) % 2**32},
            {"payload": bytes(payload)},
            {},
        )
    )
    lacks = 0 if fields else rng.randint(0, len(each.payload))
    all_[at] = all_[at]._replace(segment=each._replace(**fields), lacks=lacks)


def split(rng: random.Random, all_: list[Captured], at: int) -> None:
    """A segment comes as two."""
    each = all_[at].segment
    length = rng.randint(0, len(each.payload))
    first = each._replace(payload=each.payload[:length], flags=each.flags & ~FIN)
    second = each._replace(payload=each.payload[length:], seq=(each.seq + length) % 2**32)
    all_[at : at + 1] = [all_[at]._replace(segment=first), all_[at]._replace(segment=second)]


def stray(rng: random.Random, all_: list[Captured], at: int) -> None:
    """A segment comes that neither side sent."""
    each = all_[at].segment
    flags = rng.choice((SYN, SYN | ACK, RST, RST | ACK, FIN | ACK, ACK))
    payload = rng.choice((b"", b"", b"?", bytes(50)))
    seq, ack, direction = each.seq, each.ack, each.direction
    if rng.random() < 0.3:
        seq, ack, direction = ack, (seq + len(each.payload)) % 2**32, 1 - direction
    elif rng.random() < 0.5:
        seq = (seq + rng.choice((-1, 1, 100, 1 << 28))) % 2**32
    all_.insert(at, all_[at]._replace(segment=Segment(direction, seq, ack, flags, payload)))


def lost(rng: random.Random, all_: list[Captured], at: int) -> None:
    """A segment is not captured."""
    del all_[at]


ODD = [again, lost, late, changed, changed, changed, split, stray]


def drawn(
    rng: random.Random, odd: list[Callable[..., None]], *, crc: bool, markers: tuple[bool, bool]
) -> list[Captured]:
    """A few connections, on the same ports or on others, with odd things in them."""
    pause = rng.choice((0, 0.1, 20, 40, 300))
    captured: list[Captured] = []
    begin, isns = BEGIN, None
    port = 40000
    for _ in range(rng.choice((1, 2, 2, 3))):
        if rng.random() < 0.2:
            isns = rng.getrandbits(32), rng.getrandbits(32)
        close = rng.choice(("fin", "fin", "fin", "rst", "half", "none"))
        each = usual(rng, port=port, begin=begin, crc=crc, markers=markers, close=close, isns=isns)
        captured += each
        begin = each[-1].time_ns + int(pause * SECOND)
        if rng.random() < 0.3:
            # Another connection begins while this one goes on.
            port += 1
            begin = each[rng.randrange(len(each))].time_ns
    captured.sort(key=lambda each: each.time_ns)
    for thing in odd:
        if captured:
            # Most segments carry FPDUs, so the first ones are chosen more often.
            at = rng.choice((rng.randrange(12), rng.randrange(len(captured))))
            thing(rng, captured, min(len(captured) - 1, at))
    return captured


# A RST acknowledges octets that were not captured.
@example(seed=60259, odd=[lost], most=1 << 17, idle=7200, crc=True, markers=(False, False))
# Octets that were not captured are acknowledged, between stalls.
@example(seed=12636, odd=[split, again], most=1 << 17, idle=7200, crc=True, markers=(False, False))
# A stray RST comes before the SYN,ACK, and has another number.
@example(seed=1348076367, odd=[stray], most=1 << 17, idle=7200, crc=True, markers=(False, False))
# The acknowledged place lies before the SYN,ACK, or far from it.
@example(seed=475878046, odd=[changed], most=1 << 17, idle=7200, crc=False, markers=(False, False))
@example(seed=2642692490, odd=[changed], most=1 << 17, idle=7200, crc=True, markers=(False, False))
# By its number, a segment that acknowledges octets belongs to another connection.
@example(seed=415530887, odd=[changed], most=1 << 17, idle=7200, crc=True, markers=(True, True))
# An octet far ahead waits in the direction that is not in order.
@example(seed=239720, odd=[stray], most=1 << 17, idle=7200, crc=True, markers=(False, False))
@given(
    seed=st.integers(0, 2**32),
    odd=st.lists(st.sampled_from(ODD), max_size=2),
    most=st.sampled_from((1 << 17, 1 << 17, 1 << 17, 1, 2)),
    idle=st.sampled_from((7200, 7200, 30)),
    crc=st.sampled_from((True, True, True, False)),
    markers=st.tuples(st.booleans(), st.booleans()),
)
def test_something_odd(
    seed: int,
    odd: list[Callable[..., None]],
    most: int,
    idle: int,
    crc: bool,
    markers: tuple[bool, bool],
) -> None:
    """Both ways give the same records and lines, whatever is odd."""
    rng = random.Random(seed)
    captured = drawn(rng, odd, crc=crc, markers=markers)
    octets = pcapfile.stamped(
        (time_ns, pcapfile.frame(segment, ports=(port, 4000)), min(lacks, len(segment.payload)))
        for time_ns, port, segment, lacks in captured
    )
    same(octets, Limits(connections=most, idle_seconds=idle))
