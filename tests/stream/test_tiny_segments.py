# SPDX-License-Identifier: GPL-2.0-or-later
"""The longest FPDUs in segments of a few octets, each of which takes many times what it carries."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from scapy_mpa.stream.events import FPDURecovered, GapFound
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.limits import Limits
from tests.stream.feed import as_segment, fpdus
from tests.stream.scene import begun
from tests.stream.talk import Talk
from tests.truth import messages, mpastream


def told(talk: Talk, limits: Limits) -> tuple[list[FPDURecovered], list[GapFound]]:
    """The FPDUs and gaps of a connection under limits."""
    flows = Flows(limits=limits)
    segments = (as_segment(number, each) for number, each in enumerate(talk.segments, 1))
    events = [event for segment in segments for event in flows.receive(segment)]
    events += flows.finish()
    return fpdus(events, 0), [each for each in events if isinstance(each, GapFound)]


@pytest.mark.slow
@pytest.mark.parametrize("size", [3, 8])
@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("holes", [(), (30_000,), range(40, 20_000, 400)])
def test_the_longest_fpdu_in_tiny_segments(size: int, markers: bool, holes: Sequence[int]) -> None:
    """It is found, with all frames that brought it, under the limits as they are."""
    rng = random.Random(size)
    ulpdus = [
        messages.write(7, 0, rng.randbytes(60_000), 65_000)[0],
        messages.send(1, b"and go on")[0],
    ]
    octets, truth = mpastream.build_stream(ulpdus, markers=markers)
    talk = begun(markers=markers)
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


@pytest.mark.parametrize("size", [1, 2])
def test_an_fpdu_beyond_the_limit_costs_no_other(size: int) -> None:
    """What holding its segments would take is more than a direction may hold: it is a gap."""
    ulpdus = [messages.write(7, 0, bytes(60_000), 65_000)[0], messages.send(1, b"and go on")[0]]
    talk = begun()
    talk.say(0, mpastream.build_stream([*ulpdus, *ulpdus[1:] * 3])[0], size=size)
    found, gaps = told(talk, Limits())
    assert [each.ulpdu for each in found] == [ulpdus[1]] * 4
    assert {each.reason for each in gaps} == {"limit"}
