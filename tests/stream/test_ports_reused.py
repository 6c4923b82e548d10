# SPDX-License-Identifier: GPL-2.0-or-later
"""The same addresses and ports again: another connection, or the same one (RFC 9293 3.4)."""

from __future__ import annotations

import random

import pytest

from scapy_mpa.stream.events import Event
from scapy_mpa.stream.segment import SECOND
from tests.stream.feed import as_segment, feed, feed_truth
from tests.stream.talk import (
    REPLY,
    REQUEST,
    STREAM,
    TRUTH,
    ULPDUS,
    Talk,
    check_whole,
    ends,
    found,
    started,
    whole,
)
from tests.truth import messages, mpastream
from tests.truth.impair import ACK, FIN, RST, SYN, Segment


def check_both(events: list[Event], *endings: str) -> None:
    """Two connections, all FPDUs of each, and how they end."""
    check_whole(events, 0)
    check_whole(events, 1)
    assert [(each.connection.number, each.ending) for each in ends(events)] == [*enumerate(endings)]


def after(first: list[Segment], second: list[Segment], seconds: int) -> list[Event]:
    """The events of segments, and of others so long after them."""
    segments = [as_segment(number, each) for number, each in enumerate(first + second, 1)]
    return feed(
        each._replace(time_ns=each.time_ns + seconds * SECOND * (number >= len(first)))
        for number, each in enumerate(segments)
    )


def test_ports_used_again() -> None:
    """A SYN with another initial sequence number is another connection (RFC 9293 3.4)."""
    events = feed_truth(whole((1000, 2000)).segments + whole((900_000, 5)).segments)
    check_both(events, "closed", "closed")


@pytest.mark.parametrize("isn", [(500, 70_000), (3_000_000_000, 5)])
def test_ports_used_again_before_the_end_was_captured(isn: tuple[int, int]) -> None:
    """The first connection has no end in the capture: it was over when the second began."""
    events = feed_truth(said(STREAM, "", isn=(1000, 2000)) + whole(isn).segments)
    check_both(events, "reused", "closed")


def test_ports_used_again_and_the_new_syn_was_not_captured() -> None:
    """The SYN,ACK with another initial sequence number says so as well."""
    second = whole((900_000_000, 50_000))
    events = feed_truth(whole((1000, 2000)).segments + second.segments[1:])
    check_whole(events, 0)
    assert sorted(found(events, 1, 0) + found(events, 1, 1)) == sorted(ULPDUS * 2)


@pytest.mark.parametrize("ending", ["closed", "reset"])
@pytest.mark.parametrize("by", [78_000_000, 900_000_000, -78_000_000, -1_000_000_000])
def test_ports_used_again_and_no_syn_was_captured(ending: str, by: int) -> None:
    """Behind a FIN there are no octets, nor before a SYN, nor far behind a RST: what lies there is
    another connection's, however short the time that has passed."""
    isn = 1_500_000_000
    second = whole((isn + by, isn + by))
    events = feed_truth(said(STREAM, ending, isn=(isn, isn)) + second.segments[2:])
    check_both(events, ending, "closed")


@pytest.mark.parametrize("far", [1, 300, 1 << 20])
def test_octets_under_way_when_a_rst_was_sent(far: int) -> None:
    """They are those of the connection that it has ended, with a hole before them or without."""
    talk = started()
    talk.say(0, STREAM)
    talk.say(1, flags=RST | ACK)
    talk.miss(0, bytes(far))
    talk.say(0, STREAM)
    assert len(ends(talk.fed())) == 1


def test_a_retransmitted_syn_is_no_new_connection() -> None:
    """The same initial sequence number: the same connection, even after data."""
    talk = Talk((1000, 2000))
    talk.segments[1:1] = [talk.segments[0]] * 2
    talk.segments.append(talk.segments[-2])
    talk.say(0, REQUEST)
    talk.copy(0, 1000, b"", SYN)
    talk.say(1, REPLY)
    talk.copy(1, 2000, b"", SYN | ACK)
    talk.say(0, STREAM)
    talk.copy(0, 1000, b"", SYN)
    talk.say(1, STREAM)
    talk.close()
    events = talk.fed()
    check_whole(events)
    assert len(ends(events)) == 1


def test_a_syn_refused_and_tried_again() -> None:
    """SYN, RST, another SYN with another number: two connections, the second one works."""
    refused = Talk((77, 0), syn=False)
    refused.next = [77, 0]
    refused.say(0, flags=SYN)
    refused.say(1, flags=RST | ACK)
    second = whole((2_500_000_000, 40))
    events = feed_truth(refused.segments + second.segments)
    check_whole(events, 1)
    assert [each.ending for each in ends(events)] == ["reset", "closed"]


def test_a_stray_segment_before_the_syn() -> None:
    """An acknowledgement left over from before does not spoil the new connection."""
    talk = whole((3_000_000_000, 77))
    talk.segments.insert(0, Segment(0, 100, 5, ACK, b""))
    talk.segments.insert(0, Segment(1, 2_000_000_000, 5, ACK, b""))
    events = talk.fed()
    number = ends(events)[-1].connection.number
    check_whole(events, number)
    assert ends(events)[-1].ending == "closed"


def test_a_syn_captured_behind_the_first_octets() -> None:
    """The order of capture is not that of sending: it is still the connection's own SYN."""
    talk = whole()
    syn = talk.segments.pop(0)
    talk.segments.insert(4, syn)
    events = talk.fed()
    check_whole(events)
    assert len(ends(events)) == 1


OTHER_STREAM, OTHER_TRUTH = mpastream.build_stream(
    [messages.send(msn, random.Random(1000 + msn).randbytes(200))[0] for msn in range(1, 9)]
)
"""As long as ``STREAM``, and of other octets."""


def said(
    octets: bytes,
    ending: str,
    *,
    size: int = 500,
    other: bytes | None = None,
    isn: tuple[int, int] = (1000, 0xFFFFF000),
) -> list[Segment]:
    """The segments of a connection with the same octets in both directions, or other ones."""
    talk = started(isn)
    talk.say(0, octets, size=size)
    talk.say(1, octets if other is None else other, size=size)
    if ending == "closed":
        talk.close()
    elif ending == "reset":
        talk.say(0, flags=RST | ACK)
    return talk.segments


@pytest.mark.parametrize("missed", [0, 3, 5, 6])
@pytest.mark.parametrize("ending", ["closed", "reset"])
@pytest.mark.parametrize("size", [100, 500])
@pytest.mark.parametrize("only", [None, 0, 1])
def test_the_same_numbers_and_other_octets(
    only: int | None, size: int, ending: str, missed: int
) -> None:
    """There are senders that begin with the same number each time: it is another connection.

    :param only: the direction of which the octets differ, None: both.
    :param missed: segments of the first connection that were not captured.
    """
    one, other = (OTHER_STREAM if only in (None, at) else STREAM for at in (0, 1))
    events = feed_truth(said(STREAM, ending)[missed:] + said(one, "closed", size=size, other=other))
    if not missed:
        check_whole(events, 0)
    for direction in (0, 1):
        truth = TRUTH if only == 1 - direction else OTHER_TRUTH
        assert found(events, 1, direction) == [each.ulpdu for each in truth]
    assert [each.ending for each in ends(events)] == [ending, "closed"]
    assert not any(half.retransmitted for each in ends(events) for half in each.halves)


@pytest.mark.parametrize("ending", ["closed", "reset"])
@pytest.mark.parametrize("size", [100, 500])
@pytest.mark.parametrize("missed", [0, 3])
def test_the_same_numbers_and_the_same_octets(missed: int, size: int, ending: str) -> None:
    """They are copies, whatever segments they come in."""
    events = feed_truth(said(STREAM, ending)[missed:] + said(STREAM, ending, size=size))
    check_whole(events)
    assert [each.ending for each in ends(events)] == [ending]


@pytest.mark.parametrize("pause", [0, 1, 100_000])
@pytest.mark.parametrize("acks", [0, 100])
def test_a_copy_of_the_syn_comes_late(acks: int, pause: int) -> None:
    """It ends nothing as long as the connection lives, however much has come, or time passed."""
    one = started()
    one.say(0, STREAM)
    one.say(1, STREAM)
    for _ in range(acks):
        one.say(0, flags=ACK)
    events = after(one.segments, whole().segments, pause)
    check_whole(events)
    assert [each.ending for each in ends(events)] == ["closed"]


@pytest.mark.parametrize("away", [-300_000_000, -70_000, -1000])
def test_octets_astray(away: int) -> None:
    """They acknowledge what the peer did send, so they are of no other connection."""
    talk = started((1_000_000_000, 2_000_000_000))
    talk.say(0, STREAM[:600], size=300)
    talk.copy(0, talk.next[0] + away - 600, b"something else")
    talk.say(0, STREAM[600:], size=300)
    talk.say(1, STREAM)
    talk.close()
    events = talk.fed()
    assert found(events, 0, 0) == found(events, 0, 1) == ULPDUS
    assert [each.ending for each in ends(events)] == ["closed"]


@pytest.mark.parametrize("above", [70_000, 300_000_000])
@pytest.mark.parametrize("begun", [2, 3, 5, 12])
def test_the_fins_of_the_connection_before_come_again(begun: int, above: int) -> None:
    """They end nothing: they lie before all octets of this one."""
    first, second = whole((1000, 2000), 150), whole((1000 + above, 2000 + above), 150)
    fins = [each for each in first.segments if each.flags & FIN]
    segments = [*first.segments, *second.segments[:begun], *fins, *second.segments[begun:]]
    check_both(feed_truth(segments), "closed", "closed")
