# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures of several interfaces, each with a clock of its own, give each FPDU and connection once.

Interfaces that capture the same packets, and write a buffer at a time, make copies of segments.  So
does appending a file to itself.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

from hypothesis import assume, example, given
from hypothesis import strategies as st

from scapy_mpa.stream.limits import Limits
from tests.straight.ways import by_turns, connection, recovery, straight
from tests.truth import pcapfile
from tests.truth.impair import Half, Segment

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
    frames: list[tuple[int, bytes]], size: int, apart_ns: int, times: int = 2
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
    found = sorted(
        (each["seq"], each["ulpdu_length"]) for each in records if each["type"] == "fpdu"
    )
    assert found == sorted(
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
