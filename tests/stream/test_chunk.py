# SPDX-License-Identifier: GPL-2.0-or-later
"""Tiny segments, merged where holding them one by one would take too much."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.stream.events import FPDURecovered, GapFound
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.limits import Limits
from scapy_mpa.stream.octets.chunk import CHUNK_OVERHEAD, Chunk, merge, weight_of
from scapy_mpa.stream.octets.island import Island
from tests.stream.feed import as_segment, fpdus
from tests.stream.talk import Talk, started
from tests.truth import messages, mpastream

SEGMENTS = st.lists(
    st.tuples(st.integers(1, 7) | st.sampled_from((1, 1, 1, 90, 5000)), st.integers(1, 9)),
    min_size=1,
    max_size=40,
)


@given(
    segments=SEGMENTS, at=st.tuples(st.integers(0, 300), st.integers(1, 300)), again=st.booleans()
)
def test_merged_segments(segments: list[tuple[int, int]], at: tuple[int, int], again: bool) -> None:
    """Octets and frames of any stretch are what they were, and less memory is taken."""
    begins = [1000, *accumulate((size for size, _ in segments), initial=1000)][1:]
    octets = random.Random(len(segments)).randbytes(begins[-1] - 1000)
    chunks = [
        Chunk(begin, octets[begin - 1000 : begin - 1000 + size], frame)
        for begin, (size, frame) in zip(begins, segments, strict=False)
    ]
    plain, merged = Island(1000), Island(1000)
    for chunk in chunks:
        plain.append(chunk)
        merged.append(chunk)
        if again:
            merged.merge()
    before = sum(map(weight_of, merged.chunks(1000, merged.end)))
    saved = merged.merge()
    held = merged.chunks(1000, merged.end)
    assert before - saved == sum(map(weight_of, held))
    assert saved >= 0
    assert merge(held) == held
    start = min(1000 + at[0], plain.end - 1)
    end = min(start + at[1], plain.end)
    assert merged.read(start, end) == plain.read(start, end)
    assert merged.frames(start, end) == plain.frames(start, end)


@given(
    sizes=st.lists(st.integers(1, 6), min_size=3, max_size=12),
    gone=st.tuples(st.integers(1, 10), st.integers(1, 3)),
)
def test_what_was_released_stays_apart(sizes: list[int], gone: tuple[int, int]) -> None:
    """Octets on both sides of others that were let go of are not merged into one piece."""
    island = Island(1000)
    octets = random.Random(len(sizes)).randbytes(sum(sizes))
    begins = [1000, *accumulate(sizes, initial=1000)][1:]
    for frame, (begin, size) in enumerate(zip(begins, sizes, strict=False), 1):
        island.append(Chunk(begin, octets[begin - 1000 : begin - 1000 + size], frame))
    first, last = (begins[min(at, len(sizes))] for at in (gone[0], sum(gone)))
    island.release(first, last)
    held = [at for each in island.chunks(1000, island.end) for at in range(each.position, each.end)]
    island.merge()
    pieces = island.chunks(1000, island.end)
    assert [at for each in pieces for at in range(each.position, each.end)] == held
    for each in pieces:
        assert each.octets == octets[each.position - 1000 : each.end - 1000]


def told(talk: Talk, limits: Limits) -> tuple[list[FPDURecovered], list[GapFound]]:
    """The FPDUs and gaps of a connection under limits."""
    flows = Flows(limits=limits)
    segments = (as_segment(number, each) for number, each in enumerate(talk.segments, 1))
    events = [event for segment in segments for event in flows.receive(segment)]
    events += flows.finish()
    return fpdus(events, 0), [each for each in events if isinstance(each, GapFound)]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("holes", [(), (3,), (30_000,), range(40, 20_000, 400)])
def test_the_longest_fpdu_in_tiny_segments(size: int, markers: bool, holes: Sequence[int]) -> None:
    """It is found, with all frames that brought it, under the limits as they are."""
    rng = random.Random(size)
    ulpdus = [
        messages.write(7, 0, rng.randbytes(60_000), 65_000)[0],
        messages.send(1, b"and go on")[0],
    ]
    octets, truth = mpastream.build_stream(ulpdus, markers=markers)
    talk = started()
    if markers:
        talk = Talk()
        for direction, key in enumerate((mpastream.REQUEST_KEY, mpastream.REPLY_KEY)):
            talk.say(direction, mpastream.startup_frame(key, markers=1, crc=1))
    begin, first = talk.next[0], len(talk.segments) + 1
    talk.say(0, octets, size=size)
    for hole in reversed(holes):
        # They come late: behind all others.
        missed = (hole // size) * size
        late = talk.segments.pop(first - 1 + hole // size)
        talk.segments.append(late)
        assert late.seq == (begin + missed) % 2**32
    found, gaps = told(talk, Limits())
    assert [each.ulpdu for each in found] == ulpdus
    assert gaps == []
    count = -(-truth[0].end // size)
    assert len(found[0].frames) == count
    if not holes:
        assert found[0].frames == tuple(range(first, first + count))


def test_merging_in_vain_is_not_tried_for_each_segment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many short segments that are not tiny, and before them others that reach the limit."""
    gone_over = 0
    merge_of = Island.merge

    def counting(island: Island) -> int:
        nonlocal gone_over
        gone_over += island.count(island.start)
        return merge_of(island)

    monkeypatch.setattr(Island, "merge", counting)
    limits = Limits(octets_per_half=1 << 18)
    talk = started()
    flows = Flows(limits=limits)
    template = [as_segment(number, each) for number, each in enumerate(talk.segments, 1)]
    for each in template:
        flows.receive(each)
    (ahead,) = [
        each for each in template if each.payload and each.seq == talk.next[0] - each.length
    ]
    many = limits.octets_per_half // (5 + CHUNK_OVERHEAD) - 20
    places = [(1 << 20) + 5 * number for number in range(many)]
    for place in places:
        flows.receive(ahead._replace(seq=talk.next[0] + place, payload=bytes(5), length=5))
    for number in range(1000):
        seq = talk.next[0] + 100 + 500 * number
        flows.receive(ahead._replace(seq=seq, payload=bytes(300), length=300))
    assert many < gone_over < 2 * many
