# SPDX-License-Identifier: GPL-2.0-or-later
"""Which Response answers which Request (RFC 5040 5.2, RFC 7306 5.2 and 7), one by one."""

from __future__ import annotations

import re

import pytest

from scapy_mpa.stream import messages as stream_messages
from scapy_mpa.stream.delivery.request import OUTSTANDING_REQUESTS
from scapy_mpa.stream.events import FPDURecovered
from scapy_mpa.stream.messages import Messages
from tests.stream.exchange import answers, exchanged, spoken
from tests.stream.spoken import (
    ATOMIC_REQUEST,
    READ_REQUEST,
    READ_RESPONSE,
    messages_of,
)
from tests.stream.talk import Talk, started
from tests.stream.work import calls
from tests.truth import messages, mpastream
from tests.truth.impair import ACK


def test_request_and_response_say_what_is_read() -> None:
    """Both records have the Request's header; a Response of several segments is one message."""
    request, response = exchanged(">R1:3000 <R:3000/1014")
    header = (7, 1000, 3000, 99, 5001)
    assert request.read_request == response.read_request == header
    assert (request.answers, request.requested, request.as_requested) == (None, None, None)
    assert (response.answers, response.requested, response.as_requested) == (1, True, True)
    assert (response.complete, response.length, response.fpdus) == (True, 3000, 3)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        # Another size than was asked for (RFC 5040 5.2.2).
        (">R1 <R:40", "1~"),
        (">R1 <R:99", "1~"),
        (">R1 <R:101", "1~"),
        (">R1 <R:0", "1~"),
        # STag and TO mean nothing where there are no octets (RFC 5041 5.2); the order decides.
        (">R1:0 >R2 >R3:0 <R:0@2s1 <R <R:0@4s3", "1 2 3"),
        # To elsewhere: nobody asked for it, and the Request stays unanswered.
        (">R1 <Rs8", "- / 1"),
        (">R1 <R@1001", "- / 1"),
        # Everything was captured, and there is no Request.
        (">S <R", "-"),
        (">R1 <R <R", "1 -"),
        (">S <A1=5", "-"),
        # The Request is not in the capture, whether something shows the hole or not.
        (">S >R1- <R", "?"),
        (">R1- <R >S", "?"),
        (">R1- <R >R2 <R", "? 2"),
        # Nobody knows what was in an FPDU with a bad CRC, be it the last one or not.
        (">S >R1! <R", "?"),
        (">S >R1! >S <R", "?"),
        # Captured before its Request, as in captures that were put together of two.
        (">S <R >R1 >S <R@5 >R2@5", "1 2"),
        # One direction was captured on its own, and put before the other one.
        ("<R <A1=77 <R@5 >S*0 >R1 >S*0 >A2=77 >S*0 >R3@5 >S*0", "1 2. 3"),
        ("<R <A1=77 <R@5 >S*10 >R1 >S*10 >A2=77 >S*10 >R3@5 >S*10", "1 2. 3"),
        ("<R <A1=77 <R@5 >S*200 >R1 >S*200 >A2=77 >S*200 >R3@5 >S*200", "1 2. 3"),
        # Nobody asks for it by the end: it waits, and so do those behind it.
        (">S <R >S*10", "-"),
        (">S <R >S*10 >R1@5 <R@5", "- 1"),
        (">S <R >S*200", "-"),
        (">S <R >S*200 >R1@5 <R@5", "- 1"),
        # Without octets, and the beginning is missing: there may be a Request for none before it.
        ("... >R5:0 >R6 >S <R:0 <R", "? 6"),
        ("... >R6 >S <R:0 <R", "? 6"),
        # Nor does one answer a Request to the same buffer that was captured after it.
        ("... <S >S <R >R5 <R", "? 5"),
        # Unless the capture has them in the wrong order: nobody knows whether it was answered.
        ("... >R4@9 <S <R@9 <R >R5", "4 ?"),
        ("... >S <S >S <R >R5 <R >R6 <R", "? 5 6"),
        ("... >S <S <A1=1 >A2=1 <A2=1", "? 2."),
        # Nor one of another size: a Request before the capture may have asked for that.
        ("... >S <S >R4:3000 >S <R:1500", "?"),
        ("... >S <S >R4:1500 >S <R:3000", "?"),
        # A missing Request may be the one that is answered; what comes later is told again.  Behind
        # another Response nothing is missing, so one to a Request before it is told as well.
        ("... >R4@4 >R5@5 >R6@5- >R7@7 >R8@8 <R@4 <R@5 <R@5 <R@7 <R@8", "? 5 ? ? 8"),
        ("... >R4@4 >R5@5 >R6@6- >R7@7 >R8@8 <R@4 <R@5 <R@6 <R@7 <R@8", "? 5 ? ? 8"),
        ("... >R4@4 >R5@5 >R6@7- >R7@7 >R8@8 <R@4 <R@5 <R@7 <R@7 <R@8", "? 5 ? 7 8"),
        # Atomic Operations are in the order of all Requests (RFC 7306 5.2.2, 7).
        (">A1=77 >R2 >A3=77 >A4=78 <A1=77 <R <A2=77 <A3=99", "1. 2 3. - / 4"),
        # No conforming sender cuts up an RDMAP header, so nobody knows what such a one asks for.
        (">R1|10 <R", "?"),
        (">R1 >R2@2|10 >R3@3 <R <R@2 <R@3", "1 ? 3"),
        (">A1=77 >R2 <A1=77|8 <R", "? 2 / 1"),
        # A hole as long as a Response: it cannot be told whether it was one.  Then one too short.
        (">R1 <R >R2 <R >R3 <R", "1 2 3"),
        (">R1 <R >R2 <R- >R3 <R", "1 +"),
        (">R1 <R >R2 <S- <R >R3 <R", "1 2 3"),
        # An MSN that comes late asks as well, whether something else is missing before or not.
        (">S >R2@2 >R1@1 <R@1 <R@2", "1 2"),
        (">S >R2@2 >R1@1 <R@2 <R@1", "2 1"),
        (">S >R2@2 >R1@1 <R@2", "2 / 1"),
        (">S! >R2@2 >R1@1 <R@1 <R@2", "1 2"),
        (">S! >R2@2 >R1@1 <R@2 <R@1", "2 1"),
        (">S! >R2@2 >R1@1 <R@2", "2 / 1"),
        # A Request that was missing when its Response came does not wait for another one.
        (">R1! >R2@2 <R <R@2 >R1 >R3 <R", "? 2 3"),
        # What is known late of a Request counts at its place in the order.
        (">R1! >R3:60 >R2:50 >R1:40 <R:40 <R:50 <R:60", "1 2 3"),
        # A sender should keep to the order of Tagged Offsets, and need not (RFC 5041 5.3).
        (">R1:380 >R2:50 <R:380/114%1023 <R:50", "1 2"),
        (">R1:380 >R2:50 <R:380/114%2103 <R:50", "1 2"),
        (">R1:380 >R2:50 <R:380/114%2013 <R:50", "1 2"),
        (">R1:380 >R2:50 <R:380/114%0213 <R:50", "1 2"),
        # One of 100 octets answers a Request from before the capture, not one for 64 octets.
        ("... <S >S >R2:64 <R <R:64", "? 2"),
        # What they begin with is the same; how long they are tells them apart.
        ("... <S >R2:64 >R3:20 >R4:300 <R:20", "3 / 4"),
        ("... <S >R2:64 >R3:20 >R4:300 <R:64", "2 / 3 4"),
        ("... <S >R2:64 >R3:20 >R4:300 <R:300", "4"),
        # Parts of two Responses, one to a Request of which only the MSN is known: which one the
        # second part is of cannot be told, nor whether it asked for what follows.
        (">R1:300 >R2:300- >R3:10@9000 <R:300/114-12 <R:300/114-01 <R:10@9000", "1. ? ?"),
    ],
)
def test_what_is_answered(words: str, expected: str) -> None:
    """Which Request, as far as the order, the octets and what was captured tell."""
    found = exchanged(words)
    assert answers(found) == expected
    assert not any(each.duplicates for each in found)
    if not set(words) & {"!", "-", "."}:
        assert all(each.complete for each in found if each.fpdus)
        asked = [each.request_identifier for each in found if each.opcode == ATOMIC_REQUEST]
        assert asked == [int(each) for each in re.findall(r">A\d+=(\d+)", words)]


@pytest.mark.parametrize("size", [0, 100])
@pytest.mark.parametrize("far", [False, True])
def test_a_request_that_shows_behind_its_response(size: int, far: bool) -> None:
    """Where the beginning is missing, a direction may be known for what it is after the other one.

    Which Request a Response answered is not known if several are alike; so one that was captured
    before that Response is not unanswered.  One that was captured long after it may be.
    """
    talk = Talk()
    talk.segments.clear()
    for direction, ulpdu, _ in spoken(f">R1:{size} >R2:{size} >R3:{size}" + 3 * f" <R:{size}"):
        talk.say(direction, mpastream.build_stream([ulpdu])[0])
    *fpdus, end = talk.fed()
    one, two, three, *given = (each for each in fpdus if isinstance(each, FPDURecovered))
    assert [each.offset for each in (one, two, three, *given)] == [None] * 6
    if far:
        three = three._replace(frame=200, frames=(200,))
    found = messages_of([one, two, *given, three, end])
    assert answers(found) == ("? ? ? / 3" if far else "? ? ?")


def test_the_missing_response() -> None:
    """A record of its own says what was asked for, in the direction in which it would have come."""
    found = exchanged(">R1 >R2:50@3 <R")
    assert answers(found) == "1 / 2"
    missing = found[-1]
    what = missing.direction, missing.opcode, missing.captured_length, missing.length
    assert what == (1, READ_RESPONSE, 0, 50)
    assert (missing.stag, missing.to, missing.missing) == (7, 3, ((3, 50),))
    assert not missing.complete


def test_the_missing_response_to_a_request_for_nothing() -> None:
    """It is missing, but no octets are."""
    found = exchanged(">R1:0")
    assert answers(found) == "/ 1"
    assert (found[-1].complete, found[-1].length, found[-1].missing) == (False, 0, ())


def test_a_response_with_a_hole_in_its_midst() -> None:
    """The Request says that what follows the hole belongs to it, and what is missing."""
    found = exchanged(">R1:3000 <R:3000/1014-1 >R2 <R")
    assert answers(found) == "1 2"
    torn = next(each for each in found if each.opcode == READ_RESPONSE)
    assert (torn.complete, torn.captured_length, torn.length) == (False, 2000, 3000)
    assert torn.missing == ((2000, 1000),)


@pytest.mark.parametrize("lost", ["0", "2", "01", "12"])
def test_a_response_that_lost_its_beginning_or_end(lost: str) -> None:
    """Where it begins and ends is known from the Request."""
    found = exchanged(f">R1:3000 <R:3000/1014-{lost} >R2@9 <R@9")
    torn = next(each for each in found if each.opcode == READ_RESPONSE)
    assert (torn.answers, torn.length, torn.complete) == (1, 3000, False)
    assert torn.missing == ((1000 + 1000 * int(lost[0]), 1000 * len(lost)),)
    assert answers(found).endswith(" 2")


@pytest.mark.parametrize("atomic", [False, True])
@pytest.mark.parametrize("between", [0, 1, 3])
def test_a_response_whose_copy_comes_late(between: int, atomic: bool) -> None:
    """Nobody looks for what it answers, and its Request is not said to have no Response."""
    talk = started()
    said = [f"A{msn}={100 + msn}" if atomic else f"R{msn}:50@{msn}" for msn in range(1, 5)]
    asks, gives = (
        [ulpdu for _, ulpdu, _ in spoken(" ".join(side + each for each in said))] for side in "><"
    )
    talk.say(0, mpastream.build_stream(asks)[0])
    octets, truth = mpastream.build_stream(gives)
    late = octets[truth[0].start : truth[0].end]
    seq = talk.miss(1, late)
    talk.say(1, octets[truth[1].start : truth[between].end] or b"")
    for msn in range(1, 80):
        for direction in (0, 1):
            talk.say(direction, mpastream.build_stream(messages.send(msn, b"more"))[0])
    talk.copy(1, seq, late)
    talk.close()
    found = messages_of(talk.fed())
    told, _, absent = answers(found).partition(" / ")
    expected = [f"{msn}{'.' * atomic}" for msn in range(2, between + 2)]
    # Without another Atomic Response before it, its MSN says that it is none that comes late.
    assert told.split() == [*expected, "1." if atomic and not between else "?"]
    assert set(absent.split()) <= {str(msn) for msn in range(between + 2, 5)}


def test_requests_on_another_queue_are_requests() -> None:
    """Linux siw answers an RDMA Read Request on QN 0 or 7."""
    asks = messages.read_request(1, 7, 1000, 100, 1, 1)[0]
    for qn in (0, 7):
        moved = asks[:6] + qn.to_bytes(4, "big") + asks[10:]
        assert answers(exchanged([(0, moved, ""), *spoken("<R")])) == "1"


def test_malformed_requests_ask_for_nothing() -> None:
    """Too short, too long, or without L."""
    for octets in (bytes(27), bytes(29), b""):
        (asks,) = messages.untagged_message(READ_REQUEST, 1, 1, octets)
        found = exchanged([(0, asks, ""), *spoken("<R")])
        assert answers(found) == "-"
        assert found[0].read_request is None


def test_outstanding_requests_are_limited() -> None:
    """The oldest are forgotten; from then on nothing is denied."""
    count = OUTSTANDING_REQUESTS + 100
    octets, _ = mpastream.build_stream(
        [messages.read_request(msn, 7, 1000 * msn, 10, 1, 1)[0] for msn in range(1, count + 1)]
    )
    talk = started()
    talk.say(0, octets, size=50_000)
    given, _ = mpastream.build_stream(
        [messages.read_response(7, 1000 * msn, bytes(10))[0] for msn in (1, 101)]
    )
    talk.say(1, given)
    talk.close()
    found = messages_of(talk.fed())
    assert answers(found) == " ".join(["? 101 /", *map(str, range(102, count + 1))])


def test_waiting_responses_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer that answers what nobody asked does not fill the memory."""
    monkeypatch.setattr(stream_messages, "HELD_IN_TOTAL", 100_000)
    count = 300
    octets, _ = mpastream.build_stream([messages.read_response(1, 0, b"x")[0]] * count)
    talk = started()
    talk.say(0, mpastream.build_stream([b""])[0])
    talk.say(1, octets, size=50_000)
    events = talk.fed()
    taker = Messages()
    early = [each for one in events[:-1] for each in taker.take(one)]
    assert len(early) > 90
    late = taker.take(events[-1])
    assert len(early + late) == count
    # Requests that would show after all have no chance any more to be found.
    assert all(each.complete and each.requested is None for each in early + late)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["holes", "floods", "strays"])
def test_time_is_linear_whatever_is_asked_and_answered(kind: str) -> None:
    """Requests that nobody answers, and a hole before every Response: each costs about the same."""

    def spent(count: int) -> int:
        asks = [messages.read_request(msn, 7, 0, 50, 1, 1)[0] for msn in range(1, count + 1)]
        gives = [messages.read_response(7, 0, bytes(50))[0] for _ in range(count)]
        if kind == "strays":
            asks = asks[:1]
        octets = [mpastream.build_stream(each) for each in (asks, gives)]
        talk = started()
        talk.say(0, octets[0][0], size=5000)
        for number, fpdu in enumerate(octets[1][1]):
            captured = kind != "holes" or number % 2 == 0
            talk.say(1, octets[1][0][fpdu.start : fpdu.end], captured=captured)
            talk.say(0, flags=ACK)
        events = talk.fed()
        taker = Messages()
        return calls(lambda: [taker.take(each) for each in events])

    small, large = spent(300), spent(2400)
    assert large < 1.5 * 8 * small
