# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures with SYNs amid connections, read both ways."""

from __future__ import annotations

import json
import random
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.stream.limits import Limits
from tests.straight.ways import recovery, straight
from tests.stream.feed import halves
from tests.truth import impair, pcapfile
from tests.truth.impair import FIN, SYN, Half, Segment
from tests.truth.mpastream import TrueFPDU

FAR = 1 << 20
"""So far from the octets of a connection a stray SYN's number lies: nothing tells of one nearer
which of the two a late copy is of."""


def script(
    rng: random.Random, sides: tuple[Half, Half], *, reordered: bool, close: str | None
) -> list[Segment]:
    """The segments of a connection."""
    cut = [impair.cut_mss(each.octets, rng.choice((300, 700, 1448))) for each in sides]
    if reordered:
        cut = [
            impair.reorder(impair.lose_and_retransmit(each, rng, 0.1), rng, 0.1, 4) for each in cut
        ]
    return impair.conversation(sides, (cut[0], cut[1]), rng, close=close)


def number_far_from(rng: random.Random, half: Half) -> int:
    """An initial sequence number that is far from all octets of a direction."""
    end = half.isn + len(half.startup) + len(half.octets)
    return (rng.randrange(end + FAR, half.isn - FAR + 2**32)) % 2**32


@given(
    seed=st.integers(0, 2**32),
    strays=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 1), st.integers(1, 3)), max_size=4),
    markers=st.tuples(st.booleans(), st.booleans()),
    crc=st.booleans(),
    reordered=st.booleans(),
    again=st.sampled_from((None, "whole", "no SYN,ACK", "no ACK", "neither")),
)
def test_every_fpdu_is_found(
    seed: int,
    strays: list[tuple[float, int, int]],
    markers: tuple[bool, bool],
    crc: bool,
    reordered: bool,
    again: str | None,
) -> None:
    """Those of a connection, and of the one that takes its ports then.

    A SYN with other numbers amid it ends it.  No FPDU is reported twice then.
    """
    rng = random.Random(seed)
    sides = halves(rng, markers=markers, crc=crc, count=30, mulpdu=900)
    close = "fin" if again is None else None
    segments = script(rng, sides, reordered=reordered, close=close)
    # Before the connection is over: behind that, the next one may begin.
    last = max((at for at, each in enumerate(segments) if each.flags & FIN), default=len(segments))
    stray = [(4 + int(at * (last - 4)), direction, copies) for at, direction, copies in strays]
    for at, direction, copies in sorted(stray, reverse=True):
        number = number_far_from(rng, sides[direction])
        segments[at:at] = [Segment(direction, number, 0, SYN, b"")] * copies
    fpdus: list[TrueFPDU] = [each for side in sides for each in side.truth]
    if again is not None:
        others = halves(rng, markers=markers, crc=crc, count=10, mulpdu=900)
        others = (replace(others[0], isn=number_far_from(rng, sides[0])), others[1])
        more = script(rng, others, reordered=reordered, close="fin")
        missing = {"whole": (), "no SYN,ACK": (1,), "no ACK": (2,), "neither": (1, 2)}[again]
        segments += [each for at, each in enumerate(more) if at not in missing]
        fpdus += [each for side in others for each in side.truth]
    capture = pcapfile.pcap(pcapfile.frames(segments))
    lines = recovery(capture, Limits())
    found = [record for line in lines if (record := json.loads(line))["type"] == "fpdu"]
    if stray:
        assert len(found) <= len(fpdus)
        assert len({(each["src"], each["seq"]) for each in found}) == len(found)
    else:
        assert len(found) == len(fpdus)
        assert {each["crc"] for each in found} == {"good" if crc else "off"}
        assert not [line for line in lines if line.startswith(('{"type":"gap"', '{"type":"error"'))]
    assert straight(capture, Limits()) == lines
