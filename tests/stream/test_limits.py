# SPDX-License-Identifier: GPL-2.0-or-later
"""Limits of memory that the user sets: nothing false because of them, and every loss is told."""

from __future__ import annotations

import itertools
import math
import pathlib
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.capture import open_capture
from scapy_mpa.stream.events import ErrorFound, Event, FPDURecovered, GapFound
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.limits import Limits
from tests.captures import OVER_TCP, capture_name
from tests.stream.feed import as_segment, decoded, expected, feed, fpdus, reported
from tests.stream.talk import (
    REQUEST,
    STREAM,
    ULPDUS,
    Talk,
    ends,
    received,
    started,
    whole,
)
from tests.truth import impair, messages, mpastream
from tests.truth.cases import case
from tests.truth.impair import SYN, Segment

SECOND = 1_000_000_000


COUNTS = "octets_per_half", "octets_in_total", "connections"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *itertools.product(COUNTS, [0, -1, 1.5, "4M", None, math.inf]),
        *itertools.product(["idle_seconds"], [0, -1.0, "an hour", None, math.nan]),
    ],
)
def test_values_that_make_no_sense(name: str, value: Any) -> None:
    """Counts are integers of at least 1, a time is a number above 0."""
    with pytest.raises(ValueError, match=name):
        Limits(**{name: value})


# -- octets ----------------------------------------------------------------------------------------


def run(segments: list[Segment], limits: Limits) -> list[Event]:
    """The events of a connection."""
    return feed(
        (as_segment(number, each) for number, each in enumerate(segments, 1)), limits=limits
    )


def gaps_of(events: list[Event], direction: int, base: int) -> list[tuple[int, int]]:
    """From and up to which offset, in order."""
    found = [
        ((each.seq - base + 2**31) % 2**32 - 2**31, each.length)
        for each in events
        if isinstance(each, GapFound) and each.direction == direction
    ]
    return sorted((start, start + length) for start, length in found)


def check_the_gap(talk: Talk, most: int, seq: int, length: int) -> list[Event]:
    """So many octets are too many: they are a gap, and nothing is wrong with them."""
    events = run(talk.segments, Limits(octets_per_half=most))
    (gap,) = [each for each in events if isinstance(each, GapFound)]
    assert (gap.seq, gap.length, gap.reason) == (seq, length, "limit")
    assert not [each for each in events if isinstance(each, ErrorFound)]
    return events


def test_part_of_an_fpdu() -> None:
    """Octets that wait for the rest of their FPDU are a gap if there are too many of them."""
    octets, truth = mpastream.build_stream([messages.send(1, bytes(3000), 4000)[0]])
    talk = started()
    at = talk.say(0, octets, size=1000)
    talk.say(0, STREAM)
    talk.close()
    events = check_the_gap(talk, 2200, at, 2000)
    assert ends(events)[0].halves[0].gaps == 1
    assert truth[0].start < 2000 < truth[0].end
    assert [each.ulpdu for each in fpdus(events)] == ULPDUS


def test_what_waits_for_the_reply() -> None:
    """FPDUs that come before the Reply, whose first octets are not there to tell what they are."""
    talk = Talk()
    talk.say(0, REQUEST)
    seq = talk.say(0, STREAM[:190], size=100)
    check_the_gap(talk, 500, seq, 190)


@given(
    seed=st.integers(0, 2**32),
    copies=st.sampled_from(("none", "equal", "overlapping")),
    half=st.one_of(st.integers(1, 3000), st.integers(1, 200_000)),
    total=st.one_of(st.integers(1, 3000), st.integers(1, 400_000)),
)
def test_whatever_the_limits(seed: int, copies: str, half: int, total: int) -> None:
    """No error, no FPDU that is not there, none twice; one that is not found touches a gap."""
    known: dict[str, Any] = {"begin": "SYN", "startup": "both", "startup_pieces": "whole"}
    made = case(seed, **known, copies=copies, damage="none", payload="random", snap=0)
    events = run(made.segments, Limits(octets_per_half=half, octets_in_total=total))
    assert not [each for each in events if isinstance(each, ErrorFound)]
    (end,) = ends(events)
    for direction, each in enumerate(made.halves):
        found = Counter(reported(event) for event in fpdus(events, direction))
        assert all(count == 1 for count in found.values())
        wanted = {fpdu.start: expected(each, fpdu) for fpdu in each.truth}
        assert found.keys() <= set(wanted.values())
        gaps = gaps_of(events, direction, each.base)
        assert end.halves[direction].gaps == len(gaps)
        assert all(one[1] <= other[0] for one, other in itertools.pairwise(gaps))
        if not made.dimensions.crc:
            # Where no CRC speaks for them, a few next to a gap are passed over.
            continue
        for fpdu in impair.capturable(made.segments, each, direction):
            assert wanted[fpdu.start] in found or any(
                start < fpdu.end and fpdu.start < stop for start, stop in gaps
            )


@pytest.mark.parametrize("limit", [1, 2000, 70_000])
@pytest.mark.parametrize("path", OVER_TCP, ids=capture_name)
def test_captures(path: pathlib.Path, limit: int) -> None:
    """Limits take from what is found, and add nothing to it."""
    told = []
    for limits in (None, Limits(octets_per_half=limit, octets_in_total=2 * limit)):
        with open_capture(path) as capture:
            events = feed(decoded(capture), limits=limits)
        # Whose FPDU it is may take more octets to tell than the limit lets be held.
        told.append(
            {
                (each.connection, each.direction, each.seq, isinstance(each, ErrorFound))
                for each in events
                if isinstance(each, FPDURecovered | ErrorFound)
            }
        )
    assert told[1] <= told[0]


# -- connections -----------------------------------------------------------------------------------


def opened(flows: Flows, numbers: list[int], second: int = 0) -> list[Event]:
    """What is said when connections begin, one a millisecond."""
    syn = Segment(0, 1000, 0, SYN, b"")
    later = (1_700_000_000 + second) * SECOND
    return [
        event
        for at, number in enumerate(numbers)
        for event in received(flows, [syn], at, connection=number, later=later)
    ]


@pytest.mark.parametrize("most", [1, 2, 7, 8, 100, 1000])
def test_connections_are_limited(most: int) -> None:
    """Those idle for longest go, for the reason that there are too many."""
    flows = Flows(limits=Limits(connections=most))
    ended: list[int] = []
    for number in range(3 * most):
        events = opened(flows, [number])
        assert {each.ending for each in ends(events)} <= {"limit"}
        ended += [each.connection.number for each in ends(events)]
        assert number + 1 - len(ended) <= most
        assert number + 1 - len(ended) >= most - most // 8 - 1 or number + 1 < most
    assert ended == list(range(len(ended)))


def test_what_an_ended_connection_holds_is_a_gap() -> None:
    """Its holes, and what waits for the rest of an FPDU."""
    talk = started()
    talk.miss(0, STREAM[:50])
    talk.say(0, STREAM[50:100])
    flows = Flows(limits=Limits(connections=1, idle_seconds=math.inf))
    events = received(flows, talk.segments) + opened(flows, [5])
    told = [each for each in events if isinstance(each, GapFound)]
    assert {each.reason for each in told} == {"limit"}
    assert sum(each.length for each in told) == 100
    assert [each.ending for each in ends(events)] == ["limit"]


def test_idle_connections_make_room() -> None:
    """They are ended as idle, all of them, when there are as many as may be."""
    flows = Flows(limits=Limits(connections=20, idle_seconds=60))
    opened(flows, list(range(15)))
    opened(flows, list(range(15, 20)), second=100)
    events = opened(flows, [20], second=101)
    assert {each.ending for each in ends(events)} == {"idle"}
    assert [each.connection.number for each in ends(events)] == list(range(15))


@pytest.mark.parametrize("in_turn", [False, True])
def test_a_limit_of_one(in_turn: bool) -> None:
    """Connections one after the other need no more.

    In turn, each segment ends the connection of the one before: nothing breaks or is false.
    """
    segments = whole().segments
    said = [(each, number) for number in range(5) for each in segments]
    if in_turn:
        said = [(each, number) for each in segments for number in range(2)]
    flows = Flows(limits=Limits(connections=1))
    events: list[Event] = []
    for frame, (each, number) in enumerate(said, 1):
        events += received(flows, [each], frame, connection=number)
    events += flows.finish()
    assert not [each for each in events if isinstance(each, ErrorFound)]
    assert {each.ulpdu for each in fpdus(events)} <= set(ULPDUS)
    if not in_turn:
        assert [each.ending for each in ends(events)] == ["closed"] * 5
        assert not [each for each in events if isinstance(each, GapFound)]
