# SPDX-License-Identifier: GPL-2.0-or-later
"""Placement before Delivery (RFC 5044 2, 7.2): how many FPDUs, and how far ahead."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from tests.stream.feed import feed_truth, fpdus, halves
from tests.stream.startup import ended
from tests.truth import impair


@given(
    seed=st.integers(0, 2**32),
    size=st.sampled_from((300, 1460, 4000)),
    rate=st.sampled_from((0.1, 0.5)),
)
def test_the_distance_is_that_of_the_capture(seed: int, size: int, rate: float) -> None:
    """In any order, the distance follows from the frames captured until then."""
    rng = random.Random(seed)
    pair = halves(rng, markers=(True, True), crc=True, count=25)
    sendings = [impair.reorder(impair.cut_mss(half.octets, size), rng, rate) for half in pair]
    segments = impair.conversation(pair, (sendings[0], sendings[1]), rng)
    events = feed_truth(segments)
    for direction, half in enumerate(pair):
        farthest = 0
        starts = {fpdu.seq_offset: fpdu.start for fpdu in half.truth}
        ahead = [each for each in fpdus(events, direction) if each.out_of_order]
        first_missing: dict[int, int] = {}
        for each in ahead:
            if each.frame not in first_missing:
                found = impair.first_captured(segments[: each.frame], half, direction)
                first_missing[each.frame] = found.index(None)
            assert each.offset is not None
            assert starts[each.offset] > first_missing[each.frame]
            farthest = max(farthest, starts[each.offset] - first_missing[each.frame])
        summary = ended(events).halves[direction]
        assert (summary.out_of_order, summary.farthest_ahead) == (len(ahead), farthest)
