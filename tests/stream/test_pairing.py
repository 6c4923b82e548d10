# SPDX-License-Identifier: GPL-2.0-or-later
"""Which Response answers which Request (RFC 5040 5.2, RFC 7306 5.2 and 7), one by one."""

from __future__ import annotations

from typing import TypeAlias

import pytest

from scapy_mpa.stream.delivery.pairing import OUTSTANDING_REQUESTS
from scapy_mpa.stream.delivery.responses import WAITING_RESPONSES
from scapy_mpa.stream.events import ConnectionId, FPDURecovered, MessageRecovered
from scapy_mpa.stream.messages import HELD_IN_TOTAL, Messages
from tests.stream.spoken import (
    ATOMIC_REQUEST,
    READ_REQUEST,
    READ_RESPONSE,
    RESPONSES,
)
from tests.stream.talk import Talk, started
from tests.stream.work import calls
from tests.truth import messages, mpastream
from tests.truth.impair import ACK
from tests.truth.mpastream import Damage


def exchanged(
    *said: tuple[int, list[bytes]],
    lost: tuple[int, ...] = (),
    bad: tuple[int, ...] = (),
    begun: bool = True,
) -> list[MessageRecovered]:
    """The messages of what is said by direction, one FPDU a segment.

    :param lost: those that are not captured.
    :param bad: those with a bad CRC, which are known at once to bring nothing.
    :param begun: whether the capture has what comes before them.
    """
    talk = started()
    if not begun:
        talk.segments.clear()
    number = 0
    for direction, ulpdus in said:
        for ulpdu in ulpdus:
            damage = {0: Damage(flip=(10, 1))} if number in bad else None
            octets, _ = mpastream.build_stream([ulpdu], damage=damage)
            talk.say(direction, octets, captured=number not in lost)
            number += 1
    talk.close()
    taker = Messages()
    return [each for one in talk.fed() for each in taker.take(one)]


def reading(msn: int, size: int = 100, stag: int = 7, to: int = 1000) -> tuple[int, list[bytes]]:
    """The Initiator asks for octets."""
    return 0, messages.read_request(msn, stag, to, size, 99, 5000 + msn)


def read(
    size: int = 100, stag: int = 7, to: int = 1000, mulpdu: int = 1442
) -> tuple[int, list[bytes]]:
    """The Responder sends some."""
    return 1, messages.read_response(stag, to, bytes(size), mulpdu)


Said: TypeAlias = tuple[int | None, bool | None, bool | None]


def responses(found: list[MessageRecovered]) -> list[Said]:
    """Of each Response: which MSN it answers, whether it was asked for, and as it is."""
    return [
        (each.answers, each.requested, each.as_requested)
        for each in found
        if each.opcode in RESPONSES and each.fpdus
    ]


def unanswered(found: list[MessageRecovered]) -> list[int | None]:
    """The MSNs of Requests without a Response."""
    return [each.answers for each in found if each.opcode in RESPONSES and not each.fpdus]


def test_request_and_response_say_what_is_read() -> None:
    """Both records have the Request's header; a Response of several segments is one message."""
    request, response = exchanged(reading(1, 3000), read(3000, mulpdu=1014))
    header = (7, 1000, 3000, 99, 5001)
    assert request.read_request == response.read_request == header
    assert (request.answers, request.requested, request.as_requested) == (None, None, None)
    assert (response.answers, response.requested, response.as_requested) == (1, True, True)
    assert (response.complete, response.size, response.fpdus) == (True, 3000, 3)


@pytest.mark.parametrize("size", [40, 99, 101, 0])
def test_a_response_of_another_size(size: int) -> None:
    """It is complete as a message, but not what was asked for (RFC 5040 5.2.2)."""
    found = exchanged(reading(1), read(size))
    assert responses(found) == [(1, True, False)]
    assert found[-1].complete
    assert not unanswered(found)


def test_empty_reads() -> None:
    """STag and TO mean nothing where there are no octets (RFC 5041 5.2); the order decides."""
    said = [reading(1, 0), reading(2), reading(3, 0), read(0, 1, 2), read(), read(0, 3, 4)]
    assert responses(exchanged(*said)) == [(msn, True, True) for msn in (1, 2, 3)]


@pytest.mark.parametrize("wrong", [read(stag=8), read(to=1001)])
def test_a_response_to_elsewhere(wrong: tuple[int, list[bytes]]) -> None:
    """Nobody asked for it, and the Request stays unanswered."""
    found = exchanged(reading(1), wrong)
    assert responses(found) == [(None, False, None)]
    assert unanswered(found) == [1]


def test_a_response_without_a_request() -> None:
    """Everything was captured, and there is none."""
    assert responses(exchanged((0, messages.send(1, b"x")), read())) == [(None, False, None)]
    found = exchanged(reading(1), read(), read())
    assert responses(found) == [(1, True, True), (None, False, None)]
    atomic = messages.atomic_response(1, 5, 6)
    assert responses(exchanged((0, messages.send(1, b"x")), (1, atomic))) == [(None, False, None)]


def test_a_response_whose_request_is_not_in_the_capture() -> None:
    """That there was one cannot be denied, whether something shows the hole or not."""
    found = exchanged((0, messages.send(1, b"x")), reading(1), read(), lost=(1,))
    assert responses(found) == [(None, None, None)]
    found = exchanged(reading(1), read(), (0, messages.send(1, b"x")), lost=(0,))
    assert responses(found) == [(None, None, None)]
    found = exchanged(reading(1), read(), reading(2), read(), lost=(0,))
    assert responses(found) == [(None, None, None), (2, True, True)]


@pytest.mark.parametrize("behind", [False, True])
def test_a_response_whose_request_may_have_a_bad_crc(behind: bool) -> None:
    """Nobody knows what was in that FPDU, be it the last one of its direction or not."""
    said = [(0, messages.send(1, b"x")), reading(1), *[(0, messages.send(2, b"x"))] * behind]
    assert responses(exchanged(*said, read(), bad=(1,))) == [(None, None, None)]


def test_a_response_captured_before_its_request() -> None:
    """As in captures that were put together of two: they are paired all the same."""
    said = [read(), reading(1), (0, messages.send(1, b"x")), read(to=5), reading(2, to=5)]
    found = exchanged(
        (0, messages.send(1, b"0")), *said[:2], (0, messages.send(2, b"x")), *said[3:]
    )
    assert responses(found) == [(1, True, True), (2, True, True)]


def sending(first: int, count: int) -> tuple[int, list[bytes]]:
    """The Initiator sends messages that ask for nothing."""
    return 0, [messages.send(msn, b"x")[0] for msn in range(first, first + count)]


@pytest.mark.parametrize("before", [0, 10, 200])
def test_responses_captured_long_before_their_requests(before: int) -> None:
    """As where one direction was captured on its own, and put before the other one."""
    atomic = 0, messages.atomic_request(2, 0, 77, 1, 2, 3)
    answers = read(), (1, messages.atomic_response(1, 77, 5)), read(to=5)
    asked = reading(1), atomic, reading(3, to=5)
    between = [sending(1 + before * number, before) for number in range(4)]
    said = [*answers, between[0]]
    for one, rest in zip(asked, between[1:], strict=True):
        said += [one, rest]
    found = exchanged(*said)
    assert responses(found) == [(1, True, True), (2, True, None), (3, True, True)]
    assert not unanswered(found)


@pytest.mark.parametrize("behind", [10, 200])
def test_a_response_that_nobody_asks_for_by_the_end(behind: int) -> None:
    """It waits, and so do those behind it; that there was no Request is told all the same."""
    found = exchanged(sending(1, 1), read(), sending(2, behind))
    assert responses(found) == [(None, False, None)]
    found = exchanged(sending(1, 1), read(), sending(2, behind), reading(1, to=5), read(to=5))
    assert responses(found) == [(None, False, None), (1, True, True)]
    assert not unanswered(found)


@pytest.mark.parametrize("size", [0, 100])
@pytest.mark.parametrize("far", [False, True])
def test_a_request_that_shows_behind_its_response(size: int, far: bool) -> None:
    """Where the beginning is missing, a direction may be known for what it is after the other one.

    Which Request a Response answered is not known if several are alike; so one that was captured
    before that Response is not unanswered.  One that was captured long after it may be.
    """
    talk = Talk()
    talk.segments.clear()
    for direction, ulpdus in (*(reading(msn, size) for msn in (1, 2, 3)), *3 * [read(size)]):
        talk.say(direction, mpastream.build_stream(ulpdus)[0])
    *fpdus, end = talk.fed()
    one, two, three, *answers = (each for each in fpdus if isinstance(each, FPDURecovered))
    assert [each.offset for each in (one, two, three, *answers)] == [None] * 6
    if far:
        three = three._replace(frame=200, frames=(200,))
    taker = Messages()
    found = [each for event in (one, two, *answers, three, end) for each in taker.take(event)]
    assert responses(found) == [(None, None, None)] * 3
    assert unanswered(found) == ([3] if far else [])


def test_empty_reads_whose_beginning_is_missing() -> None:
    """A Response without octets is not that to a Request for some: there may be one for none.

    That may be known, or from before the capture.
    """
    said = [reading(5, 0), reading(6), (0, messages.send(9, b"x")), read(0), read()]
    for first in (0, 1):
        found = exchanged(*said[first:], begun=False)
        assert responses(found) == [(None, None, None), (6, True, True)]
        assert not unanswered(found)


@pytest.mark.parametrize("lost_to", [5, 6, 7])
def test_a_missing_request_where_the_beginning_is_missing_too(lost_to: int) -> None:
    """It may be the one that is answered, whatever it asks for; what comes later is told again.

    Behind another Response nothing is missing, so one to a Request before it is told as well.
    """
    asked = (4, 4), (5, 5), (6, lost_to), (7, 7), (8, 8)
    said = [reading(msn, to=to) for msn, to in asked]
    found = exchanged(*said, *(read(to=to) for _, to in asked), lost=(2,), begun=False)
    told = responses(found)
    assert told[1:3] == [(5, True, True), (None, None, None)]
    assert all(each[0] in (None, msn) for each, (msn, _) in zip(told, asked, strict=True))
    assert told[4] == (8, True, True)
    assert not unanswered(found)


def test_atomics_are_paired_by_their_identifier() -> None:
    """In the order of the Requests, RDMA Reads among them (RFC 7306 5.2.2, 7)."""
    ask = messages.atomic_request
    found = exchanged(
        (0, ask(1, 0, 77, 1, 2, 3)),
        reading(2),
        (0, ask(3, 2, 77, 1, 2, 3)),
        (0, ask(4, 2, 78, 1, 2, 3)),
        (1, messages.atomic_response(1, 77, 5)),
        read(),
        (1, messages.atomic_response(2, 77, 5)),
        (1, messages.atomic_response(3, 99, 5)),
    )
    assert responses(found) == [
        (1, True, None),
        (2, True, True),
        (3, True, None),
        (None, False, None),
    ]
    assert unanswered(found) == [4]
    asked = [each.request_identifier for each in found if each.opcode == ATOMIC_REQUEST]
    assert asked == [77, 77, 78]


def test_the_missing_response() -> None:
    """A record of its own says what was asked for, in the direction in which it would have come."""
    found = exchanged(reading(1), reading(2, 50, to=3), read())
    assert unanswered(found) == [2]
    missing = found[-1]
    assert (missing.direction, missing.opcode, missing.length, missing.size) == (
        1,
        READ_RESPONSE,
        0,
        50,
    )
    assert (missing.stag, missing.to, missing.missing) == (7, 3, ((3, 50),))
    assert not missing.complete


def test_the_missing_response_to_a_request_for_nothing() -> None:
    """It is missing, but no octets are."""
    found = exchanged(reading(1, 0))
    assert unanswered(found) == [1]
    assert (found[-1].complete, found[-1].size, found[-1].missing) == (False, 0, ())


def test_buffers_used_again_behind_a_hole() -> None:
    """The hole is as long as a Response: it cannot be told whether it was one."""
    said = [reading(1), read(), reading(2), read(), reading(3), read()]
    assert responses(exchanged(*said)) == [(1, True, True), (2, True, True), (3, True, True)]
    found = exchanged(*said, lost=(3,))
    assert responses(found) == [(1, True, True), (None, True, None)]
    assert not unanswered(found)
    # A hole that is too short for one.
    found = exchanged(*said[:3], (1, messages.send(1, b"x")), *said[3:], lost=(3,))
    assert responses(found) == [(1, True, True), (2, True, True), (3, True, True)]


def test_a_response_with_a_hole_in_its_midst() -> None:
    """The Request says that what follows the hole belongs to it, and what is missing."""
    found = exchanged(reading(1, 3000), read(3000, mulpdu=1014), reading(2), read(), lost=(2,))
    assert responses(found) == [(1, True, True), (2, True, True)]
    torn = next(each for each in found if each.opcode == READ_RESPONSE)
    assert (torn.complete, torn.length, torn.size) == (False, 2000, 3000)
    assert torn.missing == ((2000, 1000),)


@pytest.mark.parametrize("lost", [(1,), (3,), (1, 2), (2, 3)])
def test_a_response_that_lost_its_beginning_or_end(lost: tuple[int, ...]) -> None:
    """Where it begins and ends is known from the Request."""
    found = exchanged(
        reading(1, 3000), read(3000, mulpdu=1014), reading(2, to=9), read(to=9), lost=lost
    )
    torn = next(each for each in found if each.opcode == READ_RESPONSE)
    assert (torn.answers, torn.size, torn.complete) == (1, 3000, False)
    assert torn.missing == ((1000 + 1000 * (lost[0] - 1), 1000 * len(lost)),)
    assert responses(found)[-1] == (2, True, True)


@pytest.mark.parametrize("bad", [(), (0,)])
@pytest.mark.parametrize("answered", [(1, 2), (2, 1)])
def test_requests_in_the_wrong_order(bad: tuple[int, ...], answered: tuple[int, int]) -> None:
    """The MSN that comes late asks as well, whether something else is missing before or not."""
    said = [(0, messages.send(1, b"x")), reading(2, to=2), reading(1, to=1)]
    found = exchanged(*said, *(read(to=msn) for msn in answered), bad=bad)
    assert responses(found) == [(msn, True, True) for msn in answered]
    assert not unanswered(found)
    found = exchanged(*said, read(to=2), bad=bad)
    assert responses(found) == [(2, True, True)]
    assert unanswered(found) == [1]


def test_a_request_that_comes_behind_its_response() -> None:
    """It was missing when the Response to it came, and does not wait for another one."""
    said = [reading(1), reading(2, to=2), read(), read(to=2), reading(1), reading(3), read()]
    found = exchanged(*said, bad=(0,))
    assert responses(found) == [(None, None, None), (2, True, True), (3, True, True)]
    assert not unanswered(found)
    assert not any(each.duplicates for each in found)


def test_a_missing_request_that_comes_behind_one_like_it() -> None:
    """What is known of it late counts at its place in the order."""
    said = [reading(1), reading(3, 60), reading(2, 50), reading(1, 40)]
    found = exchanged(*said, read(40), read(50), read(60), bad=(0,))
    assert responses(found) == [(msn, True, True) for msn in (1, 2, 3)]
    assert not unanswered(found)


@pytest.mark.parametrize("order", [(1, 0, 2, 3), (2, 1, 0, 3), (2, 0, 1, 3), (0, 2, 1, 3)])
def test_a_response_whose_segments_are_in_any_order(order: tuple[int, ...]) -> None:
    """A sender should keep to the order of Tagged Offsets, and need not (RFC 5041 5.3)."""
    whole = messages.read_response(7, 1000, bytes(380), 114)
    sent = [whole[at] for at in order]
    found = exchanged(reading(1, 380), reading(2, 50), (1, sent), read(50))
    assert responses(found) == [(1, True, True), (2, True, True)]
    assert [each.complete for each in found if each.opcode in RESPONSES] == [True, True]
    assert not unanswered(found)


def test_a_response_that_fits_no_request_behind_the_beginning() -> None:
    """One of 100 octets answers a Request from before the capture, not one for 64 octets."""
    said = (0, messages.send(1, b"x")), reading(2, 64), read(100), read(64)
    found = exchanged((1, messages.send(1, b"y")), *said, begun=False)
    assert responses(found) == [(None, None, None), (2, True, True)]
    assert not unanswered(found)


@pytest.mark.parametrize("size", [20, 64, 300])
def test_one_request_alone_asks_for_so_many_octets_behind_the_beginning(size: int) -> None:
    """What they begin with is the same; how long they are tells them apart."""
    said = reading(2, 64), reading(3, 20), reading(4, 300)
    found = exchanged((1, messages.send(1, b"y")), *said, read(size), begun=False)
    msn = {64: 2, 20: 3, 300: 4}[size]
    assert responses(found) == [(msn, True, True)]


def test_a_request_that_was_not_captured_may_have_asked() -> None:
    """Part of one Response, and part of another one, to a Request of which only the MSN is known:
    which one the second part is of cannot be told, nor whether it asked for what follows."""
    first, second = messages.read_response(7, 1000, bytes(300), 114), read(300, mulpdu=114)[1]
    gives = [*first, *second]
    said = reading(1, 300), reading(2, 300), reading(3, 10, to=9000), (1, gives), read(10, to=9000)
    lost = (1, *range(3 + 1, 3 + len(gives) - 1))
    found = exchanged(*said, lost=lost)
    assert responses(found) == [(1, True, None), (None, None, None), (None, None, None)]


@pytest.mark.parametrize("atomic", [False, True])
@pytest.mark.parametrize("between", [0, 1, 3])
def test_a_response_whose_copy_comes_late(between: int, atomic: bool) -> None:
    """It is paired all the same, if it is whole and one Request alone asks for what it brings."""
    talk = started()
    asks = [
        messages.atomic_request(msn, 0, 100 + msn, 5, 0, 1, 0, 0, 0)[0]
        if atomic
        else messages.read_request(msn, 7, 1000 * msn, 50, 99, 0)[0]
        for msn in range(1, 5)
    ]
    gives = [
        messages.atomic_response(msn, 100 + msn, 7)[0]
        if atomic
        else messages.read_response(7, 1000 * msn, bytes(50))[0]
        for msn in range(1, 5)
    ]
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
    taker = Messages()
    found = [each for one in talk.fed() for each in taker.take(one)]
    assert sorted(each[0] or 0 for each in responses(found)) == [*range(1, between + 2)]
    assert all(each[1] for each in responses(found))
    assert all(each.complete for each in found if each.opcode in RESPONSES and each.fpdus)
    assert unanswered(found) == [*range(between + 2, 5)]


def test_requests_on_another_queue_are_requests() -> None:
    """Linux siw answers an RDMA Read Request on QN 0 or 7."""
    asks = messages.read_request(1, 7, 1000, 100, 1, 1)[0]
    for qn in (0, 7):
        moved = asks[:6] + qn.to_bytes(4, "big") + asks[10:]
        assert responses(exchanged((0, [moved]), read())) == [(1, True, True)]


def test_malformed_requests_ask_for_nothing() -> None:
    """Too short, too long, or without L."""
    for octets in (bytes(27), bytes(29), b""):
        found = exchanged((0, messages.untagged_message(READ_REQUEST, 1, 1, octets)), read())
        assert responses(found) == [(None, False, None)]
        assert found[0].read_request is None


def test_outstanding_requests_are_limited() -> None:
    """The oldest are forgotten; from then on nothing is denied."""
    count = OUTSTANDING_REQUESTS + 100
    octets, _ = mpastream.build_stream(
        [messages.read_request(msn, 7, 1000 * msn, 10, 1, 1)[0] for msn in range(1, count + 1)]
    )
    talk = started()
    talk.say(0, octets, size=50_000)
    answers, _ = mpastream.build_stream(
        [messages.read_response(7, 1000 * msn, bytes(10))[0] for msn in (1, 101)]
    )
    talk.say(1, answers)
    talk.close()
    taker = Messages()
    found = [each for one in talk.fed() for each in taker.take(one)]
    assert responses(found) == [(None, None, None), (101, True, True)]
    assert unanswered(found) == list(range(102, count + 1))


def test_waiting_responses_are_limited() -> None:
    """A peer that answers what nobody asked does not fill the memory."""
    count = WAITING_RESPONSES + 100
    octets, _ = mpastream.build_stream([messages.read_response(1, 0, b"x")[0]] * count)
    talk = started()
    talk.say(0, mpastream.build_stream([b""])[0])
    talk.say(1, octets, size=50_000)
    events = talk.fed()
    taker = Messages()
    early = [each for one in events[:-1] for each in taker.take(one)]
    assert len(early) == WAITING_RESPONSES + 1
    late = taker.take(events[-1])
    assert len(early + late) == count
    # Requests that would show after all have no chance any more to be found.
    assert all(each.complete and each.requested is None for each in early + late)


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


def test_held_octets_are_limited_in_total() -> None:
    """Many connections with open messages each: who began first gives up first."""
    taker = Messages()
    talk = started()
    begun = [messages.untagged_header(3, 0, msn, 0, False) + b"x" for msn in range(1, 1001)]
    talk.say(0, mpastream.build_stream(begun)[0], size=50_000)
    events = [each for each in talk.fed() if isinstance(each, FPDURecovered)]
    count = HELD_IN_TOTAL // 1_000_000
    given_up = 0
    for number in range(2 * count):
        identity = ConnectionId(number, bytes(12))
        given_up += sum(len(taker.take(each._replace(connection=identity))) for each in events)
    assert 0.8 * count < given_up / 1000 < 1.3 * count
