# SPDX-License-Identifier: GPL-2.0-or-later
"""How a connection ends (RFC 9293 3.5, 3.6; RFC 5044 7.2, 8)."""

from __future__ import annotations

from itertools import product

import pytest

from scapy_mpa.stream.events import ErrorFound, Event, GapFound
from scapy_mpa.stream.flows import LINGER_NS, Flows
from scapy_mpa.stream.sequence import SEQUENCE_WINDOW
from tests.stream.talk import (
    REPLY,
    REQUEST,
    STREAM,
    ULPDUS,
    Talk,
    check_whole,
    ends,
    found,
    received,
    started,
    whole,
)
from tests.truth.impair import ACK, FIN, PSH, RST, SYN, Segment


def both(begin: int = 0, end: int | None = None, talk: Talk | None = None) -> Talk:
    """A connection in which both sides send these octets of the stream."""
    talk = talk or started()
    talk.say(0, STREAM[begin:end])
    talk.say(1, STREAM[begin:end])
    return talk


def check_end(events: list[Event], ending: str) -> None:
    """All FPDUs of both sides, and how the connection ended."""
    check_whole(events)
    assert [each.ending for each in ends(events)] == [ending]


@pytest.mark.parametrize("close", ["one after the other", "at the same time", "twice"])
def test_fin_from_both_sides(close: str) -> None:
    """Both half connections are closed (RFC 5044 7.2, RFC 9293 3.6)."""
    talk = both()
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
    check_end(talk.fed(), "closed")


def test_fin_in_the_last_data_segment() -> None:
    """FIN comes behind the octets of its segment (RFC 9293 3.4)."""
    talk = started()
    talk.say(0, STREAM[:500])
    talk.say(0, STREAM[500:], flags=PSH | FIN | ACK)
    talk.say(1, STREAM, flags=PSH | FIN | ACK)
    talk.say(0, flags=ACK)
    check_end(talk.fed(), "closed")


def test_fin_captured_before_the_octets_before_it() -> None:
    """FIN says where the octets end, not that they are all there."""
    talk = started()
    for direction in (0, 1):
        begin = len(talk.segments)
        talk.say(direction, STREAM, size=300)
        talk.say(direction, flags=FIN | ACK)
        talk.segments[begin:] = talk.segments[: begin - 1 : -1]
    events = talk.fed()
    for direction in (0, 1):
        assert sorted(found(events, 0, direction)) == sorted(ULPDUS)
    assert [each.ending for each in ends(events)] == ["closed"]
    assert not [each for each in events if isinstance(each, ErrorFound | GapFound)]


@pytest.mark.parametrize("ending", ["half closed", "capture ended"])
def test_no_fin_from_one_side_or_both(ending: str) -> None:
    """The other direction may go on for long (RFC 9293 3.6), and nothing is wrong."""
    talk = started()
    talk.say(0, STREAM)
    if ending == "half closed":
        talk.say(0, flags=FIN | ACK)
    talk.say(1, STREAM, size=100)
    check_end(talk.fed(), ending)


@pytest.mark.parametrize("by", [0, 1])
@pytest.mark.parametrize("away", [0, 1, 65_535, SEQUENCE_WINDOW - 1, -1, -1000])
def test_a_reset_that_may_lie_in_a_window(away: int, by: int) -> None:
    """It ends the connection (RFC 5044 8 code 1, RFC 9293 3.5).

    How large the window is, and what was sent beyond what was captured, is not known.
    """
    talk = both()
    talk.copy(by, talk.next[by] + away, b"", RST | ACK)
    check_end(talk.fed(), "reset")


FAR = SEQUENCE_WINDOW, -SEQUENCE_WINDOW, 1 << 31
NEAR = 1, 100, 900_000, SEQUENCE_WINDOW - 1, -1, -500
EITHER, PAUSES = (0, 1), (0, 2 * LINGER_NS)


@pytest.mark.parametrize(
    ("away", "by", "pause", "remark", "end"),
    [
        # No window is larger than 1 GiB (RFC 7323 2.3), so it is dropped (RFC 9293 3.10.7.4).
        *product(FAR, EITHER, PAUSES, (b"", b"go away"), ["closed"]),
        # It is not the next number, and challenged or dropped (RFC 5961 3.2).
        *product(NEAR, EITHER, PAUSES, [b""], ("closed", "capture ended")),
    ],
)
def test_a_reset_behind_which_the_connection_goes_on(
    away: int, by: int, pause: int, remark: bytes, end: str
) -> None:
    """It is as if there were none, for however long both are silent."""
    talk = both(end=600)
    talk.copy(by, talk.next[by] + away, remark, RST)
    at = len(talk.segments)
    both(600, talk=talk)
    talk.say(0, flags=ACK)
    if end == "closed":
        talk.close()
    events = received(flows := Flows(), talk.segments[:at])
    events += received(flows, talk.segments[at:], at + 1, later=pause) + flows.finish()
    check_end(events, end)


@pytest.mark.parametrize("far", [SEQUENCE_WINDOW, -SEQUENCE_WINDOW, -1000])
def test_a_reset_with_a_remark_before_all_octets(far: int) -> None:
    """The remark is not where they begin (RFC 9293 3.5.3)."""
    talk = Talk(syn=False)
    talk.say(0, REQUEST)
    talk.say(1, flags=ACK)
    talk.copy(1, talk.next[1] + far, b"go away", RST)
    talk.say(1, REPLY)
    both(talk=talk).close()
    check_end(talk.fed(), "closed")


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
    assert [each.ending for each in ends(talk.fed())] == ["reset"]


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
    assert [each.ending for each in ends(talk.closed())] == ["closed"]


@pytest.mark.parametrize("by", [0, 1])
@pytest.mark.parametrize("captured", [False, True])
def test_octets_under_way_when_the_reset_was_sent(captured: bool, by: int) -> None:
    """They are captured behind it, and acknowledge nothing beyond it, captured or not."""
    talk = both(end=600)
    talk.say(by, STREAM[600:], captured=captured)
    talk.say(by, flags=RST | ACK)
    talk.say(1 - by, STREAM[600:], size=300)
    events = talk.fed()
    assert found(events, 0, 1 - by) == ULPDUS
    assert [each.ending for each in ends(events)] == ["reset"]
    if captured:
        check_whole(events)


def test_a_reset_that_answers_no_syn() -> None:
    """It must acknowledge the SYN (RFC 9293 3.10.7.3)."""
    talk = Talk(syn=False)
    talk.copy(0, talk.isn[0], b"", SYN)
    talk.segments.append(Segment(1, 0, talk.isn[0] + 500, RST | ACK, b""))
    talk.segments += whole().segments[1:]
    check_end(talk.fed(), "closed")


@pytest.mark.parametrize("isn", [7, 0x80000000, 0xC0000000])
def test_a_reset_of_a_syn(isn: int) -> None:
    """It has the number 0, since nothing says which one is due (RFC 9293 3.5.2)."""
    talk = Talk((isn, 0), syn=False)
    talk.copy(0, isn, b"", SYN)
    talk.copy(1, 0, b"", RST | ACK)
    assert [each.ending for each in ends(talk.fed())] == ["reset"]


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
    assert not ends(received(flows, whole().segments))
    other = whole((5, 6)).segments[:1]
    events = received(flows, other, 900, connection=5, later=LINGER_NS + 10**9)
    assert [each.ending for each in ends(events)] == ["closed"]
    assert [each.connection.number for each in ends(flows.finish())] == [1]


def test_finish_starts_afresh() -> None:
    """After the end of a capture nothing is left of it."""
    flows = Flows()
    received(flows, whole().segments)
    assert len(ends(flows.finish())) == 1
    assert flows.finish() == []
