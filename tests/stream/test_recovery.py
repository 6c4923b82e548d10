# SPDX-License-Identifier: GPL-2.0-or-later
"""Every FPDU whose octets were captured is found exactly once, and nothing else (RFC 5044 6)."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import example, given
from hypothesis import strategies as st

from scapy_mpa.stream.events import Event, GapFound
from tests.stream.feed import expected, feed_truth, fpdus, halves, reported
from tests.stream.sending import WAYS, cut
from tests.truth import impair


def check_found(
    events: list[Event],
    segments: list[impair.Segment],
    pair: tuple[impair.Half, impair.Half],
) -> None:
    """What was found is what could be found: no more, no less, each once."""
    for direction, half in enumerate(pair):
        wanted = Counter(
            expected(half, fpdu) for fpdu in impair.capturable(segments, half, direction)
        )
        found = Counter(reported(each) for each in fpdus(events, direction))
        assert found == wanted


@given(
    seed=st.integers(0, 2**32),
    markers=st.tuples(st.booleans(), st.booleans()),
    mulpdu=st.sampled_from((64, 500, 1442, 8940)),
    ways=st.tuples(st.sampled_from(WAYS[:4]), st.sampled_from(WAYS[:4])),
    missed=st.sampled_from((0.01, 0.1, 0.3)),
    acks_missed=st.sampled_from((0, 1)),
)
# More islands than are held.
@example(
    seed=245679,
    markers=(False, False),
    mulpdu=64,
    ways=("segment size", "any size"),
    missed=0.3,
    acks_missed=1,
)
def test_capture_loss_costs_only_what_it_hit(
    seed: int,
    markers: tuple[bool, bool],
    mulpdu: int,
    ways: tuple[str, str],
    missed: float,
    acks_missed: float,
) -> None:
    """With CRCs, holes that are never filled cost the FPDUs in them and no other."""
    rng = random.Random(seed)
    pair = halves(rng, markers=markers, crc=True, count=rng.randint(1, 25), mulpdu=mulpdu)
    both = []
    for half, way in zip(pair, ways, strict=True):
        sendings = cut(way, half, rng)
        sendings = impair.lose_and_retransmit(sendings, rng, rng.choice((0, 0.1)))
        sendings = impair.miss(sendings, rng, missed)
        both.append(sendings)
    segments = impair.conversation(
        pair, (both[0], both[1]), rng, ack_missed=acks_missed, close=rng.choice(("fin", None))
    )
    events = feed_truth(segments)
    check_found(events, segments, pair)
    for direction, half in enumerate(pair):
        check_gaps(events, segments, half, direction)


def check_gaps(
    events: list[Event], segments: list[impair.Segment], half: impair.Half, direction: int
) -> None:
    """Gaps lie where octets are missing, and nowhere else."""
    captured = impair.first_captured(segments, half, direction)
    missing = {at for at, octet in enumerate(captured) if octet is None}
    gaps = [each for each in events if isinstance(each, GapFound) and each.direction == direction]
    told = [(each.seq - half.base) % 2**32 + at for each in gaps for at in range(each.length)]
    assert len(told) == len(set(told))
    # What a limit makes it give up is part of the gap, but for what was found.
    given_up = any(each.reason == "limit" for each in gaps)
    assert set(told) <= (missing | unused(events, half, direction) if given_up else missing)
    last = max((at for at, octet in enumerate(captured) if octet is not None), default=-1)
    assert {at for at in missing if at < last} <= set(told)


def unused(events: list[Event], half: impair.Half, direction: int) -> set[int]:
    """Octets that are those of no FPDU that was found."""
    found = {(each.seq - half.base) % 2**32 for each in fpdus(events, direction)}
    return {
        at
        for fpdu in half.truth
        if fpdu.seq_offset not in found
        for at in range(fpdu.start, fpdu.end)
    }


def test_islands_are_read_as_they_arrive() -> None:
    """With Markers, what lies behind a hole is found before the hole is filled (RFC 5044 4.3)."""
    rng = random.Random(5)
    pair = halves(rng, markers=(True, False), crc=True, count=30)
    sendings = impair.cut_mss(pair[0].octets, 1460)
    late = [sendings[0], *sendings[2:], sendings[1]]
    segments = impair.conversation(pair, (late, []), rng, close=None)
    events = feed_truth(segments)
    found = fpdus(events, 0)
    ahead = [each for each in found if each.out_of_order]
    filled = max(each.frame for each in found)
    assert len(found) == len(pair[0].truth)
    assert len(ahead) > len(found) / 2
    assert all(each.frame < filled for each in ahead)
    assert {each.located_by for each in ahead} == {"marker", "length"}
    check_found(events, segments, (pair[0], impair.Half(b"", b"", [], 0)))
