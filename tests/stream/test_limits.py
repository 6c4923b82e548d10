# SPDX-License-Identifier: GPL-2.0-or-later
"""Limits of memory, and the memory that connections take.

Limits that the user sets cause no false report, and every loss is reported.
"""

import itertools
import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.stream.checks import Checks
from scapy_mpa.stream.events import Event, GapFound
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.limits import Limits
from scapy_mpa.stream.messages import Messages
from tests.recovery.reading import judge, plain
from tests.stream.feed import as_segment, feed_truth
from tests.stream.talk import STREAM, Talk, ends, received, say_startup, started, whole
from tests.stream.work import traced
from tests.truth import impair
from tests.truth.cases import case
from tests.truth.impair import ACK, RST, SYN, Segment

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
    """Counts must be integers of at least 1, and a time must be above 0."""
    with pytest.raises(ValueError, match=name):
        Limits(**{name: value})


# -- octets ----------------------------------------------------------------------------------------


def test_a_copied_syn_after_a_limit() -> None:
    """The SYN does not move the end of its direction back: a RST at that end still counts."""
    talk = started()
    talk.say(0, STREAM[:190])
    talk.miss(1, STREAM)
    talk.segments.append(talk.segments[0])
    talk.say(0, flags=RST | ACK)
    events = feed_truth(talk.segments, Limits(octets_per_half=1))
    found = [(each.length, each.reason) for each in events if isinstance(each, GapFound)]
    assert found == [(190, "limit"), (len(STREAM), "connection ended")]


@given(
    seed=st.integers(0, 2**32),
    copies=st.sampled_from(("none", "equal", "overlapping")),
    half=st.one_of(st.integers(1, 3000), st.integers(1, 200_000)),
    total=st.one_of(st.integers(1, 3000), st.integers(1, 400_000)),
)
def test_any_limits(seed: int, copies: str, half: int, total: int) -> None:
    """No error, no false FPDU, none twice.  An FPDU that is not found touches a gap.

    What was captured whole is a gap only because of a limit.
    """
    known: dict[str, Any] = {"begin": "SYN", "startup": "both", "startup_pieces": "whole"}
    made = case(seed, **known, copies=copies, damage="none", payload="random", snap=0)
    limits = Limits(octets_per_half=half, octets_in_total=total)
    records = plain(made.pcap(), limits=limits)
    outcome = judge(made, records)
    assert not outcome.false
    assert not [each for each in records if each["type"] == "error"]
    found = {(each["src"], each["seq"]) for each in records if each["type"] == "fpdu"}
    for direction, (source, each) in enumerate(zip(made.endpoints, made.halves, strict=True)):
        holes = sorted(
            (at, at + gap["length"])
            for gap in records
            if gap["type"] == "gap" and gap["src"] == source
            for at in [(gap["seq"] - each.base + 2**31) % 2**32 - 2**31]
        )
        assert records[-1]["gaps"][("src", "dst")[direction]] == len(holes)
        assert all(one[1] <= other[0] for one, other in itertools.pairwise(holes))
        if not made.dimensions.crc:
            # Without CRCs, a few FPDUs next to a gap are not found.
            continue
        for fpdu in impair.capturable(made.segments, each, direction):
            assert (source, (each.base + fpdu.seq_offset) % 2**32) in found or any(
                start < fpdu.end and fpdu.start < stop for start, stop in holes
            )


# -- connections -----------------------------------------------------------------------------------


def opened(flows: Flows, numbers: list[int], second: int = 0) -> list[Event]:
    """The events when connections begin, one a millisecond."""
    syn = Segment(0, 1000, 0, SYN, b"")
    later = (1_700_000_000 + second) * SECOND
    return [
        event
        for at, number in enumerate(numbers)
        for event in received(flows, [syn], at, connection=number, later=later)
    ]


@pytest.mark.parametrize("most", [1, 2, 7, 8, 100, 1000])
def test_connections_are_limited(most: int) -> None:
    """The connections that were idle longest are ended, with the reason "limit"."""
    flows = Flows(limits=Limits(connections=most))
    ended: list[int] = []
    for number in range(3 * most):
        events = opened(flows, [number])
        assert {each.ending for each in ends(events)} <= {"limit"}
        ended += [each.connection.number for each in ends(events)]
        assert number + 1 - len(ended) <= most
        assert number + 1 - len(ended) >= most - most // 8 - 1 or number + 1 < most
    assert ended == list(range(len(ended)))


def test_octets_of_an_ended_connection_are_a_gap() -> None:
    """Its holes become gaps, and so do octets that wait for the rest of an FPDU."""
    talk = started()
    talk.miss(0, STREAM[:50])
    talk.say(0, STREAM[50:100])
    flows = Flows(limits=Limits(connections=1, idle_seconds=math.inf))
    events = received(flows, talk.segments) + opened(flows, [5])
    gaps = [each for each in events if isinstance(each, GapFound)]
    assert {each.reason for each in gaps} == {"limit"}
    assert sum(each.length for each in gaps) == 100
    (limited,) = ends(events)
    assert limited.ending == "limit"
    # Neither side has ended it.
    assert limited.end and limited.end[:4] == ("limit", len(talk.segments), "limit", "limit")


def test_idle_connections_make_room() -> None:
    """At the limit of connections, all idle ones are ended as idle."""
    flows = Flows(limits=Limits(connections=20, idle_seconds=60))
    opened(flows, list(range(15)))
    opened(flows, list(range(15, 20)), second=100)
    events = opened(flows, [20], second=101)
    assert {each.ending for each in ends(events)} == {"idle"}
    assert [each.connection.number for each in ends(events)] == list(range(15))


@pytest.mark.parametrize("end", ["finish", "standing", "identity"])
@pytest.mark.parametrize("total", [100, 1000, 5000])
def test_connections_that_need_the_memory_of_others(end: str, total: int) -> None:
    """Each is reported once, though the move of one to recovery takes the octets of another."""
    talk, most = Talk(), 30
    say_startup(talk, captured="Q")
    flows = Flows(limits=Limits(octets_in_total=total, connections=most))
    for number in range(most):
        received(flows, talk.segments, connection=number)
    found = list(flows.standing()) if end == "standing" else []
    found += ends(opened(flows, [most]) if end == "identity" else [])
    found += ends(flows.finish())
    numbers = [each.connection.number for each in found]
    assert sorted(set(numbers)) == list(range(most + (end == "identity")))
    assert len(numbers) == len(set(numbers)) * (1 + (end == "standing"))


# -- memory ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("hole", [False, True])
def test_memory_of_ordinary_traffic_is_bounded(hole: bool) -> None:
    """16 MiB of other traffic leave almost nothing in memory, with a hole or without."""
    flows = Flows()
    payload = random.Random(1).randbytes(65_000)
    talk = Talk()
    received(flows, talk.segments)
    first = as_segment(0, talk.segments[0])
    with traced() as memory:
        for number in range(250):
            seq = (talk.next[0] + 65_000 * number + 10 * hole) % 2**32
            octets = bytes(bytearray(payload))
            flows.receive(first._replace(seq=seq, flags=ACK, payload=octets, length=65_000))
        held, peak = memory()
    assert held < 6 << 20 and peak < 12 << 20


def test_memory_of_connections_in_order() -> None:
    """An idle connection without missing FPDUs costs little: there may be 100,000 of them."""
    talk, flows = whole(close=False), Flows()
    count = 250
    with traced() as memory:
        for number in range(count):
            received(flows, talk.segments, 100 * number, connection=number, later=17 * 10**17)
        held = memory()[0]
    # All connections share the octets that are kept for comparison.  These do not count.
    assert held - (256 << 10) < 2 * count * 1300


@pytest.mark.parametrize(("consumer", "most"), [(Messages, 2000), (Checks, 1000)])
def test_memory_of_messages_and_checks(consumer: type[Messages] | type[Checks], most: int) -> None:
    """The cost of an idle connection for messages and for checks, in octets a direction."""
    count = 500
    talk, flows, takes = whole(close=False), Flows(), consumer()
    events = []
    for number in range(count):
        events += received(flows, talk.segments, 100 * number, connection=number)
    # What all connections share does not count.
    for event in events[: len(events) // count]:
        consumer().take(event)
    with traced() as memory:
        for event in events:
            takes.take(event)
        held = memory()[0]
    assert held < 2 * count * most
