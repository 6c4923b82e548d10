# SPDX-License-Identifier: GPL-2.0-or-later
"""How a connection ends (RFC 9293 3.5, 3.6; RFC 5044 7.2, 8)."""

from __future__ import annotations

import pytest

from scapy_mpa.stream.events import (
    ErrorFound,
    Event,
    GapFound,
)
from scapy_mpa.stream.flows import LINGER_NS, Flows
from scapy_mpa.stream.sequence import SEQUENCE_WINDOW
from tests.stream.feed import as_segment, feed
from tests.stream.talk import (
    REPLY,
    REQUEST,
    STREAM,
    ULPDUS,
    Talk,
    check_whole,
    ends,
    flow_of,
    found,
    started,
    whole,
)
from tests.truth.impair import ACK, FIN, PSH, RST, SYN, Segment


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


@pytest.mark.parametrize("pause", [0, 2 * LINGER_NS])
@pytest.mark.parametrize("remark", [b"", b"go away"])
@pytest.mark.parametrize("by", [0, 1])
@pytest.mark.parametrize("far", [SEQUENCE_WINDOW, -SEQUENCE_WINDOW, 1 << 31])
def test_a_reset_outside_any_window(far: int, by: int, remark: bytes, pause: int) -> None:
    """Its receiver drops it (RFC 9293 3.10.7.4), and the connection goes on as if there were none.

    No window is larger than 1 GiB (RFC 7323 2.3).
    """
    talk = started()
    talk.say(0, STREAM[:600])
    talk.say(1, STREAM[:600])
    talk.copy(by, talk.next[by] + far, remark, RST)
    behind = len(talk.segments)
    talk.say(0, STREAM[600:])
    talk.say(1, STREAM[600:])
    talk.close()
    flows = Flows()
    events: list[Event] = []
    for number, each in enumerate(talk.segments, 1):
        segment = as_segment(number, each)
        later = pause * (number > behind)
        events += flows.receive(segment._replace(time_ns=segment.time_ns + later))
    events += flows.finish()
    check_whole(events)
    assert [each.ending for each in ends(events)] == ["closed"]


@pytest.mark.parametrize("far", [SEQUENCE_WINDOW, -SEQUENCE_WINDOW, -1000])
def test_a_reset_with_a_remark_before_all_octets(far: int) -> None:
    """The remark is not where they begin (RFC 9293 3.5.3)."""
    talk = Talk(syn=False)
    talk.say(0, REQUEST)
    talk.say(1, flags=ACK)
    talk.copy(1, talk.next[1] + far, b"go away", RST)
    talk.say(1, REPLY)
    talk.say(0, STREAM)
    talk.say(1, STREAM)
    talk.close()
    events = talk.fed()
    check_whole(events)
    assert [each.ending for each in ends(events)] == ["closed"]


@pytest.mark.parametrize("by", [0, 1])
@pytest.mark.parametrize("away", [1, 65_535, SEQUENCE_WINDOW - 1, -1, -1000])
def test_a_reset_that_may_lie_in_a_window(away: int, by: int) -> None:
    """How large that is, and what was sent beyond what was captured, is not known."""
    talk = started()
    talk.say(0, STREAM)
    talk.say(1, STREAM)
    talk.copy(by, talk.next[by] + away, b"", RST | ACK)
    events = talk.fed()
    check_whole(events)
    assert [each.ending for each in ends(events)] == ["reset"]


@pytest.mark.parametrize("pause", [0, 2 * LINGER_NS])
@pytest.mark.parametrize("by", [0, 1])
@pytest.mark.parametrize("away", [1, 100, 900_000, SEQUENCE_WINDOW - 1, -1, -500])
@pytest.mark.parametrize("end", ["closed", "capture ended"])
def test_a_reset_in_the_window_and_the_connection_goes_on(
    end: str, away: int, by: int, pause: int
) -> None:
    """Its receiver challenges or drops it: it is not the next number (RFC 5961 3.2)."""
    talk = started()
    talk.say(0, STREAM[:600])
    talk.say(1, STREAM[:600])
    talk.copy(by, talk.next[by] + away, b"", RST)
    at = len(talk.segments)
    talk.say(0, STREAM[600:])
    talk.say(1, STREAM[600:])
    talk.say(0, flags=ACK)
    if end == "closed":
        talk.close()
    events = fed_with_pause(talk, at, pause)
    check_whole(events)
    assert [each.ending for each in ends(events)] == [end]


def fed_with_pause(talk: Talk, at: int, pause: int) -> list[Event]:
    """The events of a connection that is silent for some nanoseconds after ``at`` segments."""
    segments = [as_segment(number, each) for number, each in enumerate(talk.segments, 1)]
    return feed(
        each if each.frame <= at else each._replace(time_ns=each.time_ns + pause)
        for each in segments
    )


@pytest.mark.parametrize("away", [0, 100])
@pytest.mark.parametrize("by", [0, 1])
@pytest.mark.parametrize("goes_on", ["FIN of its sender", "FIN of its receiver", "octets"])
def test_what_shows_that_a_reset_was_dropped(goes_on: str, by: int, away: int) -> None:
    """The one that is expected ends the connection, whatever its sender says after it.

    Its receiver may have sent octets before the RST arrived.
    """
    talk = started()
    talk.say(0, STREAM)
    talk.say(1, STREAM[:600])
    talk.say(0, flags=ACK)
    talk.copy(by, talk.next[by] + away, b"", RST | ACK)
    if goes_on == "octets":
        talk.say(1, STREAM[600:])
    else:
        talk.say(by if goes_on == "FIN of its sender" else 1 - by, flags=FIN | ACK)
    events = talk.fed()
    assert [each.ending for each in ends(events)] == ["reset"]


@pytest.mark.parametrize("by", [0, 1])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_reset_in_a_hole_of_the_capture(when: str, by: int) -> None:
    """It lies where the captured octets end, but its receiver had acknowledged more."""
    talk = started()
    talk.say(by, STREAM[:600])
    talk.say(1 - by, STREAM)
    at = talk.next[by]
    talk.miss(by, STREAM[600:])
    if when == "before":
        talk.say(1 - by, flags=ACK)
    talk.copy(by, at, b"", RST)
    talk.say(1 - by, flags=ACK)
    talk.close()
    events = talk.fed()
    assert [each.ending for each in ends(events)] == ["closed"]


@pytest.mark.parametrize("by", [0, 1])
def test_a_reset_after_octets_that_were_not_captured(by: int) -> None:
    """The octets under way to its sender acknowledge nothing beyond it."""
    talk = started()
    talk.say(by, STREAM[:600])
    talk.say(1 - by, STREAM[:600])
    talk.miss(by, STREAM[600:])
    talk.say(by, flags=RST | ACK)
    talk.say(1 - by, STREAM[600:], size=300)
    events = talk.fed()
    assert found(events, 0, 1 - by) == ULPDUS
    assert [each.ending for each in ends(events)] == ["reset"]


def test_a_reset_that_answers_no_syn() -> None:
    """It must acknowledge the SYN (RFC 9293 3.10.7.3)."""
    talk = Talk(syn=False)
    talk.copy(0, talk.isn[0], b"", SYN)
    talk.segments.append(Segment(1, 0, talk.isn[0] + 500, RST | ACK, b""))
    whole_talk = whole()
    talk.segments += whole_talk.segments[1:]
    events = talk.fed()
    check_whole(events)
    assert [each.ending for each in ends(events)] == ["closed"]


@pytest.mark.parametrize("isn", [7, 0x80000000, 0xC0000000])
def test_a_reset_of_a_syn(isn: int) -> None:
    """It has the number 0, since nothing says which one is due (RFC 9293 3.5.2)."""
    talk = Talk((isn, 0), syn=False)
    talk.copy(0, isn, b"", SYN)
    talk.copy(1, 0, b"", RST | ACK)
    assert [each.ending for each in ends(talk.fed())] == ["reset"]


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


@pytest.mark.parametrize("lost", [0, 100])
def test_a_reset_amid_an_fpdu(lost: int) -> None:
    """It is cut short, unless the peer acknowledges octets that were not captured (RFC 5044 8)."""
    talk = started()
    talk.say(0, STREAM[:-100])
    talk.miss(0, STREAM[len(STREAM) - lost :])
    talk.say(1, flags=ACK)
    talk.say(0, flags=RST | ACK)
    events = talk.fed()
    assert found(events, 0, 0) == ULPDUS[:-1]
    wrong = [each.text for each in events if isinstance(each, ErrorFound)]
    assert [text.startswith("the connection was reset") for text in wrong] == [True] * (not lost)
    assert [each.length for each in events if isinstance(each, GapFound)] == [100] * bool(lost)


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
