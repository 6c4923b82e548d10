# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures with each segment twice, read both ways, give each FPDU once, and one connection.

Two interfaces that write a buffer at a time make such a capture.  So does appending a file to
itself.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from scapy_mpa.stream.limits import Limits
from tests.straight.ways import recovery, straight
from tests.stream.feed import halves
from tests.truth import impair, pcapfile
from tests.truth.impair import Half, Segment

SECOND = 1_000_000_000
BEGIN = 1_700_000_000 * SECOND
WHOLE = 1 << 30
"""A block that no capture fills."""

SIZES = st.one_of(st.integers(1, 300), st.just(WHOLE))
CLOSES = st.sampled_from(("fin", "rst", None))
CLOCKS = st.sampled_from((0, 1_000, SECOND, 20 * SECOND, -100 * SECOND))
"""Differences of clocks.  Half a minute after the end, a SYN begins a new connection."""


def connection(
    rng: random.Random,
    *,
    close: str | None = "fin",
    crc: bool = True,
    markers: tuple[bool, bool] = (False, False),
    count: int = 20,
    like: tuple[Half, Half] | None = None,
) -> tuple[tuple[Half, Half], list[Segment]]:
    """Both directions of a connection, and its segments.

    :param like: directions of another connection, with the same initial sequence numbers.
    """
    sides = halves(rng, markers=markers, crc=crc, count=count, mulpdu=900)
    if like is not None:
        sides = replace(sides[0], isn=like[0].isn), replace(sides[1], isn=like[1].isn)
    cut = [impair.cut_mss(each.octets, rng.choice((300, 700, 1448))) for each in sides]
    return sides, impair.conversation(sides, (cut[0], cut[1]), rng, close=close)


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
    # Copies count while the connection lingers, so the last clock is at most CLOCKS ahead.
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
