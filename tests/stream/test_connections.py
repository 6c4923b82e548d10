# SPDX-License-Identifier: GPL-2.0-or-later
"""Which segments make up a connection, when it begins and how it ends (RFC 9293, RFC 5044 7.2)."""

from __future__ import annotations

import gc
import random
import tracemalloc
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scapy_mpa.stream.events import (
    ConnectionEnded,
    ErrorFound,
    Event,
    FPDURecovered,
    GapFound,
    StartupSeen,
)
from scapy_mpa.stream.flows import LINGER_NS, Flows
from scapy_mpa.stream.limits import Limits
from scapy_mpa.stream.segment import Segment as Captured
from tests.stream.feed import as_segment, feed, fpdus
from tests.truth import messages, mpastream
from tests.truth.impair import ACK, FIN, PSH, RST, SYN, Segment

REQUEST = mpastream.startup_frame(mpastream.REQUEST_KEY, crc=1)
REPLY = mpastream.startup_frame(mpastream.REPLY_KEY, crc=1)
STREAM, TRUTH = mpastream.build_stream(
    [messages.send(msn, random.Random(msn).randbytes(200))[0] for msn in range(1, 9)]
)
ULPDUS = [fpdu.ulpdu for fpdu in TRUTH]


class Talk:
    """One TCP connection, written down segment by segment; direction 0 opens it.

    What is said follows what was said before in the same direction, and acknowledges all that the
    other direction has said, captured or not.
    """

    def __init__(self, isn: tuple[int, int] = (1000, 0xFFFFF000), *, syn: bool = True) -> None:
        self.segments: list[Segment] = []
        self.isn = isn
        self.next = [isn[0], isn[1]]
        if syn:
            self.say(0, flags=SYN)
            self.say(1, flags=SYN | ACK)
            self.say(0, flags=ACK)
        else:
            self.next = [isn[0] + 1, isn[1] + 1]

    def say(
        self,
        direction: int,
        octets: bytes = b"",
        *,
        flags: int = PSH | ACK,
        size: int | None = None,
        captured: bool = True,
    ) -> int:
        """Send octets, in segments of ``size``; return the sequence number of the first one."""
        first = self.next[direction]
        step = size or max(1, len(octets))
        for at in range(0, max(1, len(octets)), step):
            self.copy(direction, self.next[direction], octets[at : at + step], flags, captured)
            self.next[direction] += len(octets[at : at + step]) + bool(flags & (SYN | FIN))
        return first % 2**32

    def copy(
        self,
        direction: int,
        seq: int,
        octets: bytes,
        flags: int = PSH | ACK,
        captured: bool = True,
    ) -> None:
        """Send a segment that moves nothing on: a retransmission, a probe, a forgery."""
        ack = self.next[1 - direction] % 2**32 if flags & ACK else 0
        if captured:
            self.segments.append(Segment(direction, seq % 2**32, ack, flags, octets))

    def miss(self, direction: int, octets: bytes) -> int:
        """Send octets that the receiver gets and the capture does not."""
        return self.say(direction, octets, captured=False)

    def close(self) -> None:
        """FIN from both sides, both acknowledged."""
        self.say(0, flags=FIN | ACK)
        self.say(1, flags=FIN | ACK)
        self.say(0, flags=ACK)

    def fed(self) -> list[Event]:
        """The events of this connection alone."""
        return feed(as_segment(number, each) for number, each in enumerate(self.segments, 1))


def started(isn: tuple[int, int] = (1000, 0xFFFFF000)) -> Talk:
    """A connection whose Full Operation Phase has begun."""
    talk = Talk(isn)
    talk.say(0, REQUEST)
    talk.say(1, REPLY)
    return talk


def whole(isn: tuple[int, int] = (1000, 0xFFFFF000), size: int = 500) -> Talk:
    """A connection from SYN to FIN, with FPDUs in both directions."""
    talk = started(isn)
    talk.say(0, STREAM, size=size)
    talk.say(1, STREAM, size=size)
    talk.close()
    return talk


def flow_of(number: int, direction: int) -> bytes:
    """Addresses and ports of one of many connections."""
    ends = b"\x0a\x00\x00\x01", b"\x0a\x01" + number.to_bytes(2, "big")
    ports = b"\x9c\x40", b"\x0f\xa0"
    return ends[direction] + ends[1 - direction] + ports[direction] + ports[1 - direction]


def ends(events: list[Event]) -> list[ConnectionEnded]:
    """The ends of connections, in order."""
    return [each for each in events if isinstance(each, ConnectionEnded)]


def found(events: list[Event], number: int, direction: int) -> list[bytes]:
    """The ULPDUs of one direction of one connection."""
    return [each.ulpdu for each in fpdus(events, direction) if each.connection.number == number]


def check_whole(events: list[Event], number: int = 0) -> None:
    """All FPDUs of a connection, each once, and nothing wrong with it."""
    assert found(events, number, 0) == ULPDUS
    assert found(events, number, 1) == ULPDUS
    assert not [
        each
        for each in events
        if isinstance(each, ErrorFound | GapFound) and each.connection.number == number
    ]


# -- numbers and names -----------------------------------------------------------------------------


def test_numbers_in_order_of_appearance() -> None:
    """0, 1, ... in the order of first segments, whatever the order of ends."""
    segments = []
    frame = 0
    talks = [whole((100 * number, 7)).segments for number in range(5)]
    for number, talk in enumerate(talks):
        frame += 1
        segments.append(as_segment(frame, talk[0])._replace(flow=flow_of(9 - number, 0)))
    for number, talk in reversed(list(enumerate(talks))):
        for each in talk[1:]:
            frame += 1
            flow = flow_of(9 - number, each.direction)
            segments.append(as_segment(frame, each)._replace(flow=flow))
    events = feed(segments)
    for number in range(5):
        check_whole(events, number)
        (identity,) = {
            each.connection for each in fpdus(events) if each.connection.number == number
        }
        assert identity.flow == flow_of(9 - number, 0)
        assert identity.endpoints == ("10.0.0.1:40000", f"10.1.0.{9 - number}:4000")


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
    events: list[Event] = []
    for number, each in enumerate(whole().segments, 1):
        events += flows.receive(as_segment(number, each))
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


def test_a_thousand_connections_at_once() -> None:
    """Segments of 1,000 connections in turn: no state of one leaks into another."""
    octets, _ = mpastream.build_stream([messages.send(1, b"x" * 60)[0]] * 3)
    talks = []
    for number in range(1000):
        talk = started((number * 4_000_000, 2**32 - 10 - number))
        talk.say(0, octets, size=100)
        talk.say(1, octets, size=100)
        talk.close()
        talks.append(talk.segments)
    segments = []
    for turn in range(len(talks[0])):
        for number, talk in enumerate(talks):
            each = talk[turn]
            captured = as_segment(len(segments) + 1, each)
            segments.append(captured._replace(flow=flow_of(number, each.direction)))
    events = feed(segments)
    count = Counter(
        (each.connection.number, each.direction, each.offset)
        for each in events
        if isinstance(each, FPDURecovered)
    )
    assert set(count.values()) == {1} and len(count) == 2 * 3 * 1000
    assert len(ends(events)) == 1000
    assert not [each for each in events if isinstance(each, ErrorFound | GapFound)]


def test_thousands_of_connections_are_told_of_once() -> None:
    """Whatever is done to make room, a connection that has just begun is not ended by it."""
    flows = Flows()
    events: list[Event] = []
    count = 5000
    for turn in (0, 1):
        for number in range(count):
            segment = as_segment(turn * count + number, Talk().segments[0])
            if turn:
                segment = segment._replace(flags=ACK, payload=b"x", length=1, seq=segment.seq + 1)
            now = 1_700_000_000_000_000_000 + segment.time_ns
            events += flows.receive(segment._replace(flow=flow_of(number, 0), time_ns=now))
    assert not events
    assert [each.connection.number for each in ends(flows.finish())] == list(range(count))


def test_a_connection_from_an_endpoint_to_itself() -> None:
    """Both directions have one flow; nothing can be told apart, nothing breaks."""
    flow = bytes.fromhex("7f000001 7f000001 0fa0 0fa0")
    segments = [
        as_segment(number, each)._replace(flow=flow) for number, each in enumerate(whole().segments)
    ]
    assert len(ends(feed(segments))) >= 1


# -- the same ports again --------------------------------------------------------------------------


def test_ports_used_again() -> None:
    """A SYN with another initial sequence number is another connection (RFC 9293 3.4)."""
    first, second = whole((1000, 2000)), whole((900_000, 5))
    events = feed(
        as_segment(number, each) for number, each in enumerate(first.segments + second.segments, 1)
    )
    check_whole(events, 0)
    check_whole(events, 1)
    assert [(each.connection.number, each.ending) for each in ends(events)] == [
        (0, "closed"),
        (1, "closed"),
    ]


@pytest.mark.parametrize("isn", [(500, 70_000), (3_000_000_000, 5)])
def test_ports_used_again_before_the_end_was_captured(isn: tuple[int, int]) -> None:
    """The first connection has no end in the capture: it was over when the second began."""
    first, second = started((1000, 2000)), whole(isn)
    first.say(0, STREAM, size=300)
    first.say(1, STREAM, size=300)
    events = feed(
        as_segment(number, each) for number, each in enumerate(first.segments + second.segments, 1)
    )
    check_whole(events, 0)
    check_whole(events, 1)
    assert [each.ending for each in ends(events)] == ["reused", "closed"]


def test_ports_used_again_and_the_new_syn_was_not_captured() -> None:
    """The SYN,ACK with another initial sequence number says so as well."""
    first, second = whole((1000, 2000)), whole((900_000_000, 50_000))
    events = feed(
        as_segment(number, each)
        for number, each in enumerate(first.segments + second.segments[1:], 1)
    )
    check_whole(events, 0)
    assert sorted(found(events, 1, 0) + found(events, 1, 1)) == sorted(ULPDUS * 2)


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
    events = feed(
        as_segment(number, each)
        for number, each in enumerate(refused.segments + second.segments, 1)
    )
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


@pytest.mark.parametrize("missed", [3, 5, 6])
def test_the_same_numbers_again_and_the_first_syn_was_not_captured(missed: int) -> None:
    """Behind the end of a connection, a SYN just before its first octets is of another one."""
    one, other = whole(), whole()
    segments = one.segments[missed:] + other.segments
    events = feed(as_segment(number, each) for number, each in enumerate(segments, 1))
    check_whole(events, 1)
    assert [each.ending for each in ends(events)] == ["closed", "closed"]


# -- the end ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("close", ["one after the other", "at the same time", "twice"])
def test_fin_from_both_sides(close: str) -> None:
    """Both half connections are closed (RFC 5044 7.2, RFC 9293 3.6)."""
    talk = started()
    talk.say(0, STREAM)
    talk.say(1, STREAM)
    if close == "at the same time":
        before = talk.next[1]
        talk.say(0, flags=FIN | ACK)
        talk.copy(1, before, b"", FIN | ACK)
        talk.next[1] += 1
        talk.copy(0, talk.next[0], b"", ACK)
        talk.copy(1, talk.next[1], b"", ACK)
    else:
        talk.close()
        if close == "twice":
            talk.copy(0, talk.next[0] - 1, b"", FIN | ACK)
            talk.copy(1, talk.next[1] - 1, b"", FIN | ACK)
    events = talk.fed()
    check_whole(events)
    assert [each.ending for each in ends(events)] == ["closed"]


def test_fin_in_the_last_data_segment() -> None:
    """FIN comes behind the octets of its segment (RFC 9293 3.4)."""
    talk = started()
    talk.say(0, STREAM[:500])
    talk.say(0, STREAM[500:], flags=PSH | FIN | ACK)
    talk.say(1, STREAM, flags=PSH | FIN | ACK)
    talk.say(0, flags=ACK)
    events = talk.fed()
    check_whole(events)
    assert [each.ending for each in ends(events)] == ["closed"]


def test_fin_captured_before_the_octets_before_it() -> None:
    """FIN says where the octets end, not that they are all there."""
    talk = started()
    begin = len(talk.segments)
    talk.say(0, STREAM, size=300)
    talk.say(0, flags=FIN | ACK)
    talk.segments[begin:] = talk.segments[: begin - 1 : -1]
    begin = len(talk.segments)
    talk.say(1, STREAM, size=300, flags=PSH | ACK)
    talk.say(1, flags=FIN | ACK)
    talk.segments[begin:] = talk.segments[: begin - 1 : -1]
    events = talk.fed()
    assert sorted(found(events, 0, 0)) == sorted(ULPDUS)
    assert sorted(found(events, 0, 1)) == sorted(ULPDUS)
    assert [each.ending for each in ends(events)] == ["closed"]
    assert not [each for each in events if isinstance(each, ErrorFound | GapFound)]


def test_half_closed() -> None:
    """One FIN only; the other direction may go on for long (RFC 9293 3.6)."""
    talk = started()
    talk.say(0, STREAM)
    talk.say(0, flags=FIN | ACK)
    talk.say(1, STREAM, size=100)
    events = talk.fed()
    check_whole(events)
    assert [each.ending for each in ends(events)] == ["half closed"]


def test_capture_ends_first() -> None:
    """No FIN, no RST: the capture is over, and nothing is wrong."""
    talk = started()
    talk.say(0, STREAM)
    talk.say(1, STREAM)
    events = talk.fed()
    check_whole(events)
    assert [each.ending for each in ends(events)] == ["capture ended"]


@pytest.mark.parametrize("by", [0, 1])
def test_reset(by: int) -> None:
    """RST ends the connection (RFC 5044 8 code 1, RFC 9293 3.5)."""
    talk = started()
    talk.say(0, STREAM)
    talk.say(1, STREAM)
    talk.say(by, flags=RST | ACK)
    events = talk.fed()
    check_whole(events)
    assert [each.ending for each in ends(events)] == ["reset"]


def test_octets_under_way_when_the_reset_was_sent() -> None:
    """What the peer of who resets had sent is still captured, and found."""
    talk = started()
    talk.say(0, STREAM)
    talk.say(1, STREAM[:600], size=300)
    talk.say(0, flags=RST | ACK)
    talk.say(1, STREAM[600:], size=300)
    events = talk.fed()
    check_whole(events)
    assert [each.ending for each in ends(events)] == ["reset"]


def test_late_copies_belong_to_the_connection_that_is_over() -> None:
    """A retransmission behind the last FIN opens no connection."""
    talk = started()
    seq = talk.say(0, STREAM, size=500)
    talk.say(1, STREAM)
    talk.close()
    talk.copy(0, seq + 500, STREAM[500:1000])
    events = talk.fed()
    check_whole(events)
    (end,) = ends(events)
    assert end.halves[0].retransmitted == 1


def test_a_connection_that_is_over_ends_while_the_capture_goes_on() -> None:
    """Its end is told, and its memory free, once no late copy is to be expected."""
    flows = Flows()
    events: list[Event] = []
    for number, each in enumerate(whole().segments, 1):
        events += flows.receive(as_segment(number, each))
    assert not ends(events)
    other = as_segment(900, whole((5, 6)).segments[0])
    later = other._replace(flow=flow_of(5, 0), time_ns=other.time_ns + LINGER_NS + 10**9)
    events = flows.receive(later)
    assert [each.ending for each in ends(events)] == ["closed"]
    assert [each.connection.number for each in ends(flows.finish())] == [1]


def test_finish_starts_afresh() -> None:
    """After the end of a capture nothing is left of it."""
    flows = Flows()
    for number, each in enumerate(whole().segments, 1):
        flows.receive(as_segment(number, each))
    assert len(ends(flows.finish())) == 1
    assert flows.finish() == []


# -- not all of it was captured --------------------------------------------------------------------


@pytest.mark.parametrize("side", [0, 1])
def test_one_side_only(side: int) -> None:
    """A capture of one direction: its FPDUs are found, the other's octets are not asked for."""
    talk = whole()
    talk.segments = [each for each in talk.segments if each.direction == side]
    events = talk.fed()
    assert [each.ulpdu for each in fpdus(events)] == ULPDUS
    assert not [each for each in events if isinstance(each, ErrorFound | GapFound)]
    assert [each.ending for each in ends(events)] == ["half closed"]


def test_without_the_syn_but_with_the_startup_frames() -> None:
    """The startup frames say where the Full Operation Phase begins, with or without a SYN."""
    talk = whole()
    del talk.segments[:3]
    events = talk.fed()
    check_whole(events)
    assert fpdus(events, 0)[0].located_by == fpdus(events, 1)[0].located_by == "start"
    assert [each.offset for each in fpdus(events, 0)] == [fpdu.seq_offset for fpdu in TRUTH]


def test_the_capture_begins_in_the_midst_of_delayed_startup() -> None:
    """Streaming octets first, of which the beginning is missing, and then the startup frames."""
    talk = Talk(syn=False)
    talk.say(0, b"the rest of a line\r\n")
    talk.say(1, b"ready\r\n")
    talk.say(0, REQUEST)
    talk.say(1, REPLY)
    talk.say(0, STREAM)
    talk.say(1, STREAM)
    talk.close()
    check_whole(talk.fed())


def ordinary(kind: str, rng: random.Random, size: int) -> bytes:
    """Octets that are not iWARP."""
    if kind == "http":
        line = b"GET /index.html HTTP/1.1\r\nHost: example.net\r\nAccept: */*\r\n\r\n"
        return line * (size // len(line))
    if kind == "tls":
        records = b""
        while len(records) < size:
            length = rng.randint(100, 1400)
            records += b"\x17\x03\x03" + length.to_bytes(2, "big") + rng.randbytes(length)
        return records
    if kind == "random":
        return rng.randbytes(size)
    if kind == "As":
        return b"A" * size
    if kind == "header words":
        return b"\x00\x40\x41\x43" * (size // 4)
    return bytes(size)


ORDINARY = ["http", "tls", "random", "As", "header words", "zeros"]


@pytest.mark.parametrize("kind", ORDINARY)
@pytest.mark.parametrize("syn", [False, True])
def test_ordinary_traffic_is_not_taken_for_iwarp(kind: str, syn: bool) -> None:
    """No startup frame, no FPDU, no error, whatever the octets."""
    rng = random.Random(kind)
    talk = Talk(syn=syn)
    for _ in range(8):
        talk.say(0, ordinary(kind, rng, 1000), size=1460)
        talk.say(1, ordinary(kind, rng, 20_000), size=1460)
    talk.close()
    events = talk.fed()
    assert {type(each) for each in events} == {ConnectionEnded}
    assert ends(events)[0].initiator is None
    assert ends(events)[0].halves[1].markers is None


@pytest.mark.parametrize("hole", [False, True])
def test_memory_of_ordinary_traffic_is_bounded(hole: bool) -> None:
    """16 MiB that are not iWARP leave next to nothing behind, with a hole or without."""
    flows = Flows()
    payload = random.Random(1).randbytes(65_000)
    talk = Talk()
    for number, each in enumerate(talk.segments):
        flows.receive(as_segment(number, each))
    first = as_segment(0, talk.segments[0])
    gc.collect()
    tracemalloc.start()
    for number in range(250):
        seq = (talk.next[0] + 65_000 * number + 10 * hole) % 2**32
        octets = bytes(bytearray(payload))
        flows.receive(first._replace(seq=seq, flags=ACK, payload=octets, length=65_000))
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 6 << 20 and peak < 12 << 20


def test_memory_of_small_segments_is_bounded() -> None:
    """Segments of one octet beyond a hole: what they cost in memory is what counts."""
    flows = Flows()
    talk = started()
    for number, each in enumerate(talk.segments):
        flows.receive(as_segment(number, each))
    first = as_segment(0, talk.segments[0])._replace(flags=ACK, length=1)
    gc.collect()
    tracemalloc.start()
    for number in range(80_000):
        octet = bytes([number & 0xFF])
        seq = (talk.next[0] + 1000 + number) % 2**32
        flows.receive(first._replace(seq=seq, payload=octet))
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert held < 1.3 * Limits().octets_per_half


def test_memory_of_connections_in_order() -> None:
    """What an idle connection costs, whose FPDUs all came: there may be 100,000 of them."""
    talk = started()
    for direction in (0, 1):
        talk.say(direction, STREAM, size=500)
    flows = Flows()
    count = 1000
    gc.collect()
    tracemalloc.start()
    for number in range(count):
        for at, each in enumerate(talk.segments):
            segment = as_segment(number * 100 + at, each)
            now = 1_700_000_000_000_000_000 + segment.time_ns
            flows.receive(segment._replace(flow=flow_of(number, each.direction), time_ns=now))
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    # But for the octets kept for comparison, which all share.
    assert held - (256 << 10) < 2 * count * 1344


def test_memory_of_connections_that_never_end_is_bounded() -> None:
    """A scan of ports leaves many a SYN and no end; not all of them are kept for ever."""
    flows = Flows()
    first = as_segment(0, Talk().segments[0])
    gc.collect()
    tracemalloc.start()
    held = []
    for number in range(12_000):
        flow = flow_of(number, 0)
        # One in ten seconds: nobody answers for days.
        flows.receive(first._replace(flow=flow, time_ns=number * 10**10))
        if number in (6_000, 11_999):
            held.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert held[1] < 1.2 * held[0]


# -- whatever comes --------------------------------------------------------------------------------

PIECES = [
    REQUEST,
    REPLY,
    mpastream.startup_frame(mpastream.REQUEST_KEY, markers=1, crc=1, private_data=b"x" * 9),
    mpastream.startup_frame(mpastream.REPLY_KEY, markers=1, rejected=1),
    mpastream.startup_frame(mpastream.REPLY_KEY, revision=2, enhanced=1),
    mpastream.startup_frame(mpastream.REQUEST_KEY, revision=0, pd_length=65535),
    STREAM,
    STREAM[: TRUTH[1].end],
    STREAM[TRUTH[0].end : TRUTH[3].end - 7],
    mpastream.build_stream(ULPDUS, markers=True)[0],
    mpastream.build_stream(ULPDUS, markers=True, crc=False)[0][:1500],
    mpastream.build_stream(ULPDUS, damage={1: mpastream.Damage(ulpdu_length=90)})[0],
    mpastream.build_stream([b"", b"", ULPDUS[0]])[0],
    b"\x00\x12\x41\x43" * 40,
    b"\xff\xff\x41\x43" * 20,
    bytes(700),
    b"",
]

PAYLOADS = st.one_of(
    st.sampled_from(PIECES),
    st.tuples(st.sampled_from(PIECES), st.integers(0, 600), st.integers(0, 900)).map(
        lambda cut: cut[0][cut[1] : cut[1] + cut[2]]
    ),
    st.lists(st.sampled_from(PIECES), min_size=2, max_size=4).map(b"".join),
    st.binary(max_size=80),
)

ANY = st.tuples(
    st.integers(0, 1),
    st.one_of(st.integers(0, 3000), st.integers(0, 2**32 - 1), st.none()),
    st.one_of(st.none(), st.integers(0, 5000), st.integers(0, 2**32 - 1)),
    st.one_of(st.just(PSH | ACK), st.sampled_from([SYN, SYN | ACK, FIN | ACK, RST, 0])),
    PAYLOADS,
    st.one_of(st.just(0), st.just(0), st.just(0), st.integers(1, 3000)),
)


def check_sane(events: list[Event]) -> None:
    """What holds for the events of any segments at all."""
    count = Counter(each.connection.number for each in ends(events))
    assert set(count.values()) <= {1}
    assert {each.connection.number for each in events} == set(count)
    for each in events:
        assert each.direction in (0, 1)
        if isinstance(each, FPDURecovered):
            assert 0 <= each.seq < 2**32 and each.frames and each.ulpdu is not None
            assert each.frame >= max(each.frames)
        elif isinstance(each, GapFound):
            assert each.length > 0
        elif isinstance(each, StartupSeen):
            assert each.octets.startswith(b"MPA ID Re")


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(script=st.lists(ANY, max_size=25), syn=st.booleans(), begun=st.booleans())
def test_whatever_comes_there_are_events_and_no_exception(
    script: list[tuple[int, int | None, int | None, int, bytes, int]], syn: bool, begun: bool
) -> None:
    """Any sequence number, acknowledgement, flags and octets, and octets that were cut off."""
    talk = Talk((1000, 1000), syn=syn)
    if begun:
        talk.say(0, REQUEST)
        talk.say(1, REPLY)
    captured = [as_segment(number, each) for number, each in enumerate(talk.segments, 1)]
    for direction, seq, ack, flags, octets, cut in script:
        if seq is None:
            seq = talk.next[direction]
        if ack is None:
            ack = talk.next[1 - direction]
        talk.next[direction] = (seq + len(octets) + cut) % 2**32
        segment = Segment(direction, seq % 2**32, ack % 2**32, flags, octets)
        each: Captured = as_segment(len(captured) + 1, segment)
        captured.append(each._replace(length=len(octets) + cut))
    check_sane(feed(captured))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    said=st.lists(st.tuples(st.integers(0, 1), PAYLOADS), max_size=8),
    size=st.sampled_from((1, 3, 64, 500)),
)
def test_octet_by_octet_or_in_one_piece(said: list[tuple[int, bytes]], size: int) -> None:
    """The same octets give the same startup frames and FPDUs, however they are cut.

    As long as all is in order, that is: behind a lie, where segments begin is evidence itself.
    """
    results = []
    for step in (None, size):
        talk = started()
        for direction, octets in said:
            if octets:
                talk.say(direction, octets, size=step)
        talk.close()
        events = talk.fed()
        in_order = not any(isinstance(each, ErrorFound) for each in events)
        results.append(
            Counter(
                (type(each), each.direction, each.seq, each.octets)
                for each in events
                if isinstance(each, StartupSeen) or (in_order and isinstance(each, FPDURecovered))
            )
        )
    assert results[0] == results[1]
