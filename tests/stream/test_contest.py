# SPDX-License-Identifier: GPL-2.0-or-later
"""A SYN amid a connection: astray, so that the connection goes on, or the next one's beginning."""

from __future__ import annotations

import pytest

from scapy_mpa.stream.events import ConnectionEnded, Event, FPDURecovered
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.limits import Limits
from tests.stream.feed import as_segment, feed
from tests.stream.talk import STREAM, ULPDUS, check_whole, ends, found, started, whole
from tests.truth.impair import ACK, RST, SYN, Segment

ISNS = [5, 900, 1500, 4000, 70_000, 1_500_000_000, 3_000_000_000]
HALF = len(STREAM) // 2


def numbered(*parts: list[Segment]) -> list[Event]:
    """The events of segments, one part behind the other."""
    segments = [each for part in parts for each in part]
    return feed(as_segment(number, each) for number, each in enumerate(segments, 1))


@pytest.mark.parametrize("isn", ISNS)
@pytest.mark.parametrize("by", [0, 1])
@pytest.mark.parametrize("copies", [1, 3])
def test_a_stray_syn_ends_nothing(isn: int, by: int, copies: int) -> None:
    """Its receiver challenges it, and the connection goes on, as octets behind it show."""
    talk = started()
    for direction in (0, 1):
        talk.say(direction, STREAM[:HALF], size=300)
    for _ in range(copies):
        talk.copy(by, isn, b"", SYN)
    # The challenge.
    talk.say(1 - by, flags=ACK)
    for direction in (0, 1):
        talk.say(direction, STREAM[HALF:], size=300)
    talk.close()
    events = talk.fed()
    check_whole(events)
    assert {each.connection.number: each.ending for each in ends(events)} == {
        0: "closed",
        1: "capture ended",
    }


def test_octets_of_a_long_connection_go_on_behind_a_stray_syn() -> None:
    """When enough of them have come, the SYN is let go of: the connection is ordinary again."""
    talk = started()
    talk.copy(0, 70_000, b"", SYN)
    talk.say(0, STREAM * 8, size=20)
    events = [as_segment(number, each) for number, each in enumerate(talk.segments, 1)]
    flows = Flows()
    told = [event for each in events for event in flows.receive(each)]
    assert [each.connection.number for each in ends(told)] == [1]
    assert events[0].flow in flows.directions


@pytest.mark.parametrize("isn", ISNS)
@pytest.mark.parametrize("lacks", [(), (0,), (1,), (0, 1)])
def test_the_next_connection_takes_the_ports(isn: int, lacks: tuple[int, ...]) -> None:
    """Whatever of its handshake was captured behind the SYN, it ends the one that was there."""
    first, second = started((1_000_000, 2_000_000)), whole((isn, 77_000_000))
    for direction in (0, 1):
        first.say(direction, STREAM, size=300)
    taken = [each for number, each in enumerate(second.segments[1:]) if number not in lacks]
    events = numbered(first.segments, second.segments[:1], taken)
    check_whole(events, 0)
    check_whole(events, 1)
    assert [each.ending for each in ends(events)] == ["reused", "closed"]


@pytest.mark.parametrize("late", range(1, 6))
def test_octets_under_way_behind_the_next_syn(late: int) -> None:
    """They are of the connection that was there, which the next one ends only then."""
    first, second = started((1_000_000, 2_000_000)), whole((90_000_000, 77_000_000))
    for direction in (0, 1):
        first.say(direction, STREAM, size=300)
    events = numbered(
        first.segments[:-late], second.segments[:1], first.segments[-late:], second.segments[1:]
    )
    check_whole(events, 0)
    check_whole(events, 1)
    assert [each.ending for each in ends(events)] == ["reused", "closed"]


def test_a_challenge_that_was_answered_with_a_rst() -> None:
    """It ends the connection that is there; the SYN that is sent again begins the next one."""
    first, second = started((1_000_000, 2_000_000)), whole((90_000_000, 77_000_000))
    for direction in (0, 1):
        first.say(direction, STREAM, size=300)
    syn = second.segments[0]
    first.segments.append(syn)
    first.say(1, flags=ACK)
    first.say(0, flags=RST)
    events = numbered(first.segments, [syn], second.segments[1:])
    check_whole(events, 0)
    check_whole(events, 1)
    assert [(each.connection.number, each.ending) for each in ends(events)] == [
        (0, "reset"),
        (1, "closed"),
    ]


def test_stray_syns_of_several_numbers() -> None:
    """None of them ends anything."""
    talk = started()
    for at in range(0, len(STREAM), 300):
        for direction in (0, 1):
            talk.say(direction, STREAM[at : at + 300])
            talk.copy(direction, 70_000_000 * (at + 1), b"", SYN)
    talk.close()
    events = talk.fed()
    check_whole(events)
    assert [each.ending for each in ends(events) if each.connection.number == 0] == ["closed"]


@pytest.mark.parametrize("end", ["capture", "limit"])
def test_what_is_not_settled_is_told_at_the_end(end: str) -> None:
    """Both connections end, the earlier one with all that it brought."""
    talk = started()
    talk.say(0, STREAM, size=300)
    talk.copy(0, 70_000_000, b"", SYN)
    segments = [as_segment(number, each) for number, each in enumerate(talk.segments, 1)]
    flows = Flows(limits=Limits(connections=1))
    events = [event for each in segments for event in flows.receive(each)]
    if end == "limit":
        other = segments[0]._replace(flow=bytes(12))
        events += flows.receive(other)
        assert {each.connection.number for each in ends(events)} == {0, 1}
    events += flows.finish()
    assert [e.ulpdu for e in events if isinstance(e, FPDURecovered)] == ULPDUS
    told = [each.connection.number for each in events if isinstance(each, ConnectionEnded)]
    assert sorted(told) == ([0, 1, 2] if end == "limit" else [0, 1])


def test_others_are_not_touched() -> None:
    """A stray SYN to one connection, and another that begins beside it."""
    talk, other = started(), whole((5, 6))
    talk.copy(0, 70_000_000, b"", SYN)
    talk.say(0, STREAM, size=300)
    mine = [as_segment(number, each) for number, each in enumerate(talk.segments, 1)]
    theirs = [
        as_segment(100 + number, each)._replace(
            flow=bytes([each.direction] * 6 + [1 - each.direction] * 6)
        )
        for number, each in enumerate(other.segments, 1)
    ]
    events = feed([*mine, *theirs])
    assert found(events, 0, 0) == ULPDUS
    assert found(events, 2, 0) == ULPDUS
