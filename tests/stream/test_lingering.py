# SPDX-License-Identifier: GPL-2.0-or-later
"""How long closed connections linger if interfaces have their own clocks."""

from __future__ import annotations

import pytest

from scapy_mpa.stream.events import Event
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.limits import Limits
from scapy_mpa.stream.lingering import LINGER_NS, Lingering
from scapy_mpa.stream.segment import SECOND
from tests.stream.talk import STREAM, check_whole, ends, received, started
from tests.truth.impair import SYN, Segment

SYN_ALONE = [Segment(0, 1, 0, SYN, b"")]
"""The beginning of another connection."""


def released(lingering: Lingering[str], time_ns: int) -> list[str]:
    """The connections that are released when a segment of another one comes."""
    gone = []
    for each in lingering.advance(time_ns):
        lingering.discard(each)
        gone.append(each)
    return gone


@pytest.mark.parametrize("begin", [0, -(10**18)])
def test_one_clock(begin: int) -> None:
    """Each connection lingers for half a minute after its end, also before 1970."""
    lingering: Lingering[str] = Lingering()
    lingering.add("a", begin + 1 * SECOND)
    lingering.add("b", begin + 9 * SECOND)
    begin += LINGER_NS
    assert released(lingering, begin + 1 * SECOND) == []
    assert released(lingering, begin + 2 * SECOND) == ["a"]
    assert lingering.apart_ns == 0
    assert released(lingering, begin + 10 * SECOND) == ["b"]
    assert released(lingering, 1 << 62) == []


def test_a_clock_that_is_ahead() -> None:
    """It does not shorten the time of connections that ended by another clock."""
    lingering: Lingering[str] = Lingering()
    assert released(lingering, 1000 * SECOND) == []
    lingering.add("a", 1 * SECOND)
    assert released(lingering, 1001 * SECOND) == []
    assert released(lingering, 2 * SECOND) == []
    assert released(lingering, 1001 * SECOND + LINGER_NS) == ["a"]
    assert lingering.apart_ns == 999 * SECOND


def test_idle_by_another_clock() -> None:
    """No connection is ended as idle because another interface is hours ahead."""
    flows = Flows(limits=Limits(connections=40, idle_seconds=60))
    talks = [started() for _ in range(20)]
    hours = 7200 * SECOND
    events: list[Event] = []
    for number, talk in enumerate(talks):
        for at, each in enumerate(talk.segments, 1):
            events += received(flows, [each], at, connection=number)
            events += received(flows, [each], at, connection=1000 + number, later=hours)
    for number, talk in enumerate(talks):
        talk.segments.clear()
        talk.say(0, STREAM)
        talk.say(1, STREAM)
        talk.close()
        events += received(flows, talk.segments, 50, connection=number)
        events += received(flows, SYN_ALONE, 60, connection=2000 + number, later=hours)
    events += flows.finish()
    assert not [each for each in ends(events) if each.ending == "idle"]
    closed = {each.connection.number for each in ends(events) if each.ending == "closed"}
    assert len(closed) >= 15
    for number in closed:
        check_whole(events, number)
