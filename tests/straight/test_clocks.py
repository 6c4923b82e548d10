# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures from several interfaces, each with a clock of its own, read both ways."""

from __future__ import annotations

import random

from hypothesis import assume, example, given
from hypothesis import strategies as st

from scapy_mpa.stream.limits import Limits
from tests.straight.ways import recovery, straight
from tests.stream.feed import halves
from tests.truth import impair, pcapfile

BEGIN = 1_000_000_000
"""Seconds that the first clock shows at first."""

CLOCKS = st.sampled_from((0, 1, 10, 20, 29))
"""Seconds by which another clock is ahead.  If it is more, the octets of a hole come too late."""


# A hole of one direction was acknowledged, and only the other direction goes on.
@example(seed=35259684, clocks=[(0, 0)], by_direction=False, late=0, close="fin", crc=False)
@given(
    seed=st.integers(0, 2**32),
    clocks=st.lists(st.tuples(CLOCKS, CLOCKS), min_size=1, max_size=4),
    by_direction=st.booleans(),
    late=st.integers(0, 40),
    close=st.sampled_from(("fin", "rst")),
    crc=st.booleans(),
)
def test_every_fpdu_is_found(
    seed: int, clocks: list[tuple[int, int]], by_direction: bool, late: int, close: str, crc: bool
) -> None:
    """Each FPDU is found once, even if its segment is captured after the end of its connection.

    Each end is reported once.  by_direction: another interface captures each direction.
    """
    rng = random.Random(seed)
    scripts = []
    fpdus = 0
    for number, pair in enumerate(clocks):
        sides = halves(rng, markers=(False, True), crc=crc, count=10, mulpdu=900)
        cut = [impair.cut_mss(each.octets, 700) for each in sides]
        segments = impair.conversation(sides, (cut[0], cut[1]), rng, close=close)
        octets = pcapfile.frames(segments, ports=(40000 + number, 4000))
        script = [
            (BEGIN + pair[each.direction if by_direction else 0], frame)
            for each, frame in zip(segments, octets, strict=True)
        ]
        fpdus += sum(len(each.truth) for each in sides)
        data = [at for at, each in enumerate(segments) if each.payload]
        # Neither a startup frame nor a first FPDU is late.  Short FPDUs may fill no other segment.
        assume(len(data) > 4)
        lagging = script.pop(rng.choice(data[4:]))
        scripts.append((script, lagging))
    frames: list[tuple[int, bytes]] = []
    waiting: list[tuple[int, tuple[int, bytes]]] = []
    while scripts:
        script, lagging = rng.choice(scripts)
        frames += script[:3]
        del script[:3]
        if not script:
            scripts.remove((script, lagging))
            waiting.append((len(frames) + late, lagging))
        now = len(frames)
        frames += [each for at, each in waiting if at <= now]
        waiting = [each for each in waiting if each[0] > now]
    frames += [each for _, each in waiting]
    capture = pcapfile.stamped(
        (second * 1_000_000_000 + number * 1_000_000, frame, 0)
        for number, (second, frame) in enumerate(frames)
    )
    lines = recovery(capture, Limits())
    assert sum(line.startswith('{"type":"fpdu"') for line in lines) == fpdus
    assert sum(line.startswith('{"type":"connection"') for line in lines) == len(clocks)
    assert not [line for line in lines if line.startswith(('{"type":"gap"', '{"type":"error"'))]
    assert straight(capture, Limits()) == lines
