# SPDX-License-Identifier: GPL-2.0-or-later
"""Which segments make up a connection (RFC 9293), and what it is called."""

from __future__ import annotations

from scapy_mpa.stream.events import Event
from scapy_mpa.stream.flows import Flows
from tests.stream.feed import as_segment, feed
from tests.stream.talk import Talk, check_whole, ends, flow_of, received, whole
from tests.truth.impair import ACK


def test_numbers_in_order_of_appearance() -> None:
    """0, 1, ... in the order of first segments, whatever the order of ends."""
    flows = Flows()
    talks = [whole((100 * number, 7)).segments for number in range(5)]
    events: list[Event] = []
    for number, talk in enumerate(talks):
        events += received(flows, talk[:1], number, connection=9 - number)
    for number, talk in reversed(list(enumerate(talks))):
        events += received(flows, talk[1:], 100, connection=9 - number)
    events += flows.finish()
    assert {each.connection.number for each in ends(events)} == set(range(5))
    for connection in {each.connection for each in ends(events)}:
        other = 9 - connection.number
        check_whole(events, connection.number)
        assert connection.flow == flow_of(other, 0)
        assert connection.endpoints == ("10.0.0.1:40000", f"10.1.0.{other}:4000")


def test_direction_0_is_the_sender_of_the_first_captured_segment() -> None:
    """The capture begins with the Responder's answer: that is direction 0."""
    talk = whole()
    del talk.segments[0]
    events = talk.fed()
    check_whole(events)
    assert ends(events)[0].connection.endpoints == ("10.0.0.2:4000", "10.0.0.1:40000")
    assert ends(events)[0].initiator == "10.0.0.1:40000"


def test_a_first_number_may_be_given() -> None:
    """Several captures can be counted through."""
    flows = Flows(first_number=7)
    events = received(flows, whole().segments)
    events += flows.finish()
    assert {each.connection.number for each in events} == {7}


def test_ipv6_endpoints() -> None:
    """36 octets of flow are IPv6: text as in RFC 5952, in brackets."""
    address = bytes.fromhex("fd00" + "00" * 13 + "01"), bytes.fromhex("fd00" + "00" * 13 + "02")
    flows = (
        address[0] + address[1] + b"\x9c\x40\x0f\xa0",
        address[1] + address[0] + b"\x0f\xa0\x9c\x40",
    )
    events = feed(
        as_segment(number, each)._replace(flow=flows[each.direction])
        for number, each in enumerate(whole().segments, 1)
    )
    check_whole(events)
    assert ends(events)[0].connection.endpoints == ("[fd00::1]:40000", "[fd00::2]:4000")


def test_hundreds_of_connections_at_once() -> None:
    """Segments of 200 connections in turn: no state of one leaks into another."""
    talks = [whole((number * 4_000_000, 2**32 - 10 - number)).segments for number in range(200)]
    flows = Flows()
    events: list[Event] = []
    for turn, segments in enumerate(zip(*talks, strict=True)):
        for number, each in enumerate(segments):
            events += received(flows, [each], 200 * turn + number, connection=number)
    events += flows.finish()
    assert len(ends(events)) == len(talks)
    for number in range(len(talks)):
        check_whole(events, number)


def test_thousands_of_connections_are_told_of_once() -> None:
    """Whatever is done to make room, a connection that has just begun is not ended by it."""
    flows = Flows()
    events: list[Event] = []
    count = 5000
    first = Talk().segments[0]
    later = first._replace(seq=first.seq + 1, flags=ACK, payload=b"x")
    for at, each in ((0, first), (count, later)):
        for number in range(count):
            now = 17 * 10**17
            events += received(flows, [each], at + number, connection=number, later=now)
    assert not events
    assert [each.connection.number for each in ends(flows.finish())] == list(range(count))


def test_a_connection_from_an_endpoint_to_itself() -> None:
    """Both directions have one flow; nothing can be told apart, nothing breaks."""
    flow = bytes.fromhex("7f000001 7f000001 0fa0 0fa0")
    segments = [
        as_segment(number, each)._replace(flow=flow) for number, each in enumerate(whole().segments)
    ]
    assert len(ends(feed(segments))) >= 1
