# SPDX-License-Identifier: GPL-2.0-or-later
"""Which Response answers which Request (RFC 5040 5.2, RFC 7306 5.2 and 7)."""

import re

import pytest

from scapy_mpa.stream import messages as stream_messages
from scapy_mpa.stream.delivery.request import OUTSTANDING_REQUESTS
from scapy_mpa.stream.messages import Messages
from tests.stream.exchange import answers, exchanged, messages_of, parsed, talk_of
from tests.stream.feed import fpdus
from tests.stream.work import calls
from tests.truth import messages


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        # Another size than requested (RFC 5040 5.2.2).
        (">R1 <R:99", "1~"),
        (">R1 <R:101", "1~"),
        (">R1 <R:0", "1~"),
        # STag and TO mean nothing without octets (RFC 5041 5.2).  The order decides.
        (">R1:0 >R2 >R3:0 <R:0@2s1 <R <R:0@4s3", "1 2 3"),
        # A Response to another STag or TO was not asked for.  The Request stays unanswered.
        (">R1 <Rs8", "- / 1"),
        (">R1 <R@1001", "- / 1"),
        # A Response is missing, where no octets may be missing.
        (">R1 >R2:50@3 <R", "1 / 2"),
        (">R1:0@3", "/ 1"),
        # All was captured, and there is no Request.
        (">S <R", "-"),
        (">R1 <R <R", "1 -"),
        (">S <A1=5", "-"),
        # The Request was not captured, whether the hole is visible or not.
        (">S >R1- <R", "?"),
        (">R1- <R >S", "?"),
        (">R1- <R >R2 <R", "? 2"),
        # Segments wait after an earlier hole, so a Request comes to its turn after a later gap.
        (">S- >R1 <R- >R2- <R", "?"),
        (">S- >R1 <R >R2@5- <R@5", "1 ?"),
        # The content of an FPDU with a bad CRC is unknown.
        (">S >R1! <R", "?"),
        (">S >R1! >S <R", "?"),
        # The Response was captured before its Request, as in a capture merged from two.
        (">S <R >R1 >S <R@5 >R2@5", "1 2"),
        # The directions were captured apart, and one capture was put before the other.
        ("<R <A1=77 <R@5 >S*0 >R1 >S*0 >A2=77 >S*0 >R3@5 >S*0", "1 2. 3"),
        ("<R <A1=77 <R@5 >S*200 >R1 >S*200 >A2=77 >S*200 >R3@5 >S*200", "1 2. 3"),
        # Until the end, no Request comes for the first Response.  Later Responses wait, too.
        (">S <R >S*200", "-"),
        (">S <R >S*200 >R1@5 <R@5", "- 1"),
        # The beginning is missing: exactly one Request must fit, by fields that mean something.
        ("... >R5:0 >R6 >S <R:0 <R", "? 6"),
        ("... >R6 >S <R:0 <R", "? 6"),
        # A Response does not answer a Request to the same buffer that was captured after it.
        ("... <S >S <R >R5 <R", "? 5"),
        # After one pair, the order is known, whatever the order of capture.
        ("... >R4@9 <S <R@9 <R >R5", "4 5"),
        ("... >S <S >S <R >R5 <R >R6 <R", "? + 6"),
        ("... >S <S <A1=1 >A2=1 <A2=1", "? 2."),
        # A Response of another size is not paired: an earlier Request may have asked for that size.
        ("... >S <S >R4:3000 >S <R:1500", "?"),
        # A Response may answer a missing Request.  Later Responses are paired again.
        ("... >R4@4 >R5@5 >R6@5- >R7@7 >R8@8 <R@4 <R@5 <R@5 <R@7 <R@8", "? ? ? 7 8"),
        ("... >R4@4 >R5@5 >R6@6- >R7@7 >R8@8 <R@4 <R@5 <R@6 <R@7 <R@8", "? ? ? 7 8"),
        ("... >R4@4 >R5@5 >R6@7- >R7@7 >R8@8 <R@4 <R@5 <R@7 <R@7 <R@8", "? ? ? 7 8"),
        # Atomic Operations are in the order of all Requests (RFC 7306 5.2.2, 7).
        (">A1=77 >R2 >A3=77 >A4=78 <A1=77 <R <A2=77 <A3=99", "1. 2 3. - / 4"),
        # No conforming sender cuts an RDMAP header, so what such a Request asks for is unknown.
        (">R1|10 <R", "?"),
        (">R1 >R2@2|10 >R3@3 <R <R@2 <R@3", "1 ? 3"),
        (">A1=77 >R2 <A1=77|8 <R", "? 2 / 1"),
        # A hole that may have been a Response, and a hole that is too short for one.
        (">R1 <R >R2 <R- >R3 <R", "1 +"),
        (">R1 <R >R2 <S- <R >R3 <R", "1 2 3"),
        # A Response of 100 octets answers an earlier Request, not the Request for 64 octets.
        ("... <S >S >R2:64 <R <R:64", "? 2"),
        # The Responses begin with the same octets, but their lengths distinguish them.
        ("... <S >R2:64 >R3:20 >R4:300 <R:20", "3 / 2 4"),
        ("... <S >R2:64 >R3:20 >R4:300 <R:64", "2 / 3 4"),
        ("... <S >R2:64 >R3:20 >R4:300 <R:300", "4 / 2 3"),
        # Parts of two Responses, where only the MSN of one Request is known.  It is unknown which
        # Response the second part belongs to, and whether that Request asked for what follows.
        (">R1:300 >R2:300- >R3:10@9000 <R:300/114-12 <R:300/114-01 <R:10@9000", "1. ? ?"),
    ],
)
def test_answered_requests(words: str, expected: str) -> None:
    """The report names the Request if order, octets and capture show it.

    A missing Response to a Read has a record with the requested octets.
    """
    found = exchanged(words)
    assert answers(found) == expected
    requests = {each.msn: each.read_request for each in found if each.read_request}
    for each in found:
        if each.opcode == messages.READ_RESPONSE and not each.fpdus:
            asked = requests[each.answers]
            place = each.stag, each.to, each.length
            assert place == (asked.sink_stag, asked.sink_to, asked.rdma_read_size)
            assert each.missing == ((each.to, each.length),) * bool(each.length)
            # Without a beginning, direction 0 is that of the first segment.
            assert each.direction == (not words.startswith("... <"))
            assert (each.captured_length, each.complete) == (0, False)
    assert not any(each.duplicates for each in found)
    if not set(words) & {"!", "-", "."}:
        assert all(each.complete for each in found if each.fpdus)
        asked = [
            each.request_identifier for each in found if each.opcode == messages.ATOMIC_REQUEST
        ]
        assert asked == [int(each) for each in re.findall(r">A\d+=(\d+)", words)]


@pytest.mark.parametrize(("size", "expected"), [(0, "? ? ?"), (100, "+ + 3")])
def test_a_request_recognised_after_its_response(size: int, expected: str) -> None:
    """If the beginning is missing, one direction may be recognised after the other one.

    If several Requests are equal, it is unknown which Request a Response answers.  So none of these
    Requests is reported as unanswered.
    """
    words = f"... >R1:{size} >R2:{size} >R3:{size}" + 3 * f" <R:{size}"
    first, second, third, *responses, end = talk_of(words).fed()
    assert [each.offset for each in fpdus([first, second, third, *responses])] == [None] * 6
    found = messages_of([first, second, *responses, third, end])
    assert answers(found) == expected


@pytest.mark.parametrize("lost", ["0", "1", "2", "01", "12"])
def test_a_response_that_lost_a_part(lost: str) -> None:
    """The Request shows where the Response begins and ends, and which parts belong to it."""
    found = exchanged(f">R1:3000 <R:3000/1014-{lost} >R2@9 <R@9")
    response = next(each for each in found if each.opcode == messages.READ_RESPONSE)
    assert (response.answers, response.length, response.complete) == (1, 3000, False)
    assert response.captured_length == 3000 - 1000 * len(lost)
    assert response.missing == ((1000 + 1000 * int(lost[0]), 1000 * len(lost)),)
    assert answers(found).endswith(" 2")


@pytest.mark.parametrize("atomic", [False, True])
@pytest.mark.parametrize("between", [0, 1, 3])
def test_a_response_whose_copy_comes_late(between: int, atomic: bool) -> None:
    """The late Response is not paired, and its Request is not reported as unanswered."""
    numbers = range(1, 5)
    asked = [f">A{msn}={100 + msn}" if atomic else f">R{msn}:50@{msn}" for msn in numbers]
    answered = [f"<A{msn}={100 + msn}" if atomic else f"<R:50@{msn}" for msn in numbers]
    first, *others = answered[: between + 1]
    after = [*others, *[">S <S"] * 80]
    talk = talk_of(" ".join([*asked, f"{first}-", *after]))
    copy = talk_of(" ".join([*asked, first])).segments[-4]
    talk.segments.insert(-3, copy)
    found = messages_of(talk.fed())
    paired, _, unanswered = answers(found).partition(" / ")
    expected = [f"{msn}{'.' * atomic}" for msn in range(2, between + 2)]
    assert paired.split() == [*expected, "?"]
    assert set(unanswered.split()) <= {"1", *map(str, range(between + 2, 5))}


REQUEST = messages.read_request(1, 7, 1000, 100, 1, 1)[0]


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        # Linux siw answers an RDMA Read Request on QN 0 or 7.
        *((REQUEST[:6] + qn.to_bytes(4, "big") + REQUEST[10:], "1") for qn in (0, 7)),
        # It is unknown what one asks for that is too short or too long.
        *((REQUEST[:18] + bytes(octets), "?") for octets in (0, 27, 29)),
    ],
)
def test_requests_against_the_rules(request_: bytes, expected: str) -> None:
    """They are answered if their fields are known."""
    found = exchanged([(0, request_, ""), *parsed("<R")])
    assert answers(found) == expected
    assert (found[0].read_request is None) == (expected == "?")


def test_outstanding_requests_are_limited() -> None:
    """The oldest Requests are forgotten.  Then no Response is reported as not asked for."""
    count = OUTSTANDING_REQUESTS + 100
    asked = " ".join(f">R{msn}:10@{1000 * msn}" for msn in range(1, count + 1))
    found = exchanged(f"{asked} <R:10@1000 <R:10@101000")
    assert answers(found) == " ".join(["? 101 /", *map(str, range(102, count + 1))])


def test_waiting_responses_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Responses that were not asked for do not fill the memory."""
    monkeypatch.setattr(stream_messages, "HELD_IN_TOTAL", 100_000)
    *events, end = talk_of(">E" + " <R:1@0s1" * 300).fed()
    taker = Messages()
    early = [each for event in events for each in taker.take(event)]
    assert len(early) > 90
    found = early + taker.take(end)
    # Their Requests are unknown: they may still come.
    assert answers(found) == " ".join("?" * 300)
    assert all(each.complete for each in found)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["holes", "floods", "strays", "others"])
def test_time_is_linear(kind: str) -> None:
    """Each Response costs about the same: many Requests, many holes, none that fits."""

    def spent(count: int) -> int:
        asked = range(1, 2 if kind == "strays" else count + 1)
        words = [f">R{msn}:50@0" for msn in asked]
        for number in range(count):
            lost = "-" * (kind == "holes" and number % 2)
            words += [f"<R:50@0{'s8' * (kind == 'others')}{lost}", ">E"]
        events, taker = talk_of(" ".join(words)).fed(), Messages()
        return calls(lambda: [taker.take(each) for each in events])

    small, large = spent(300), spent(2400)
    assert large < 1.5 * 8 * small
