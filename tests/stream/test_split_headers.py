# SPDX-License-Identifier: GPL-2.0-or-later
"""RDMAP headers that come in several DDP Segments (RFC 5041 5.2): put together, all is as if they
had come in one."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.stream.checks import Checks
from scapy_mpa.stream.delivery.connection_checks import SPLIT_HEADERS
from scapy_mpa.stream.delivery.split import LONGEST_HEADER, SplitHeader
from scapy_mpa.stream.events import ErrorFound, Event, MessageRecovered
from scapy_mpa.wire.rules import violation
from tests.stream.exchange import answers, exchanged
from tests.stream.spoken import cut, messages_of
from tests.stream.talk import Talk, started
from tests.truth import messages, mpastream
from tests.truth.mpastream import Damage
from tests.wire.test_rules import RIGHT, WRONG

HEADER = messages.UNTAGGED_HEADER
FLIPPED = Damage(flip=(HEADER, 1))
WHOLE = 1442

Said = tuple[int, Sequence[bytes]]
"""Who says what, ULPDU by ULPDU."""


def events_of(*said: Said, bad: Sequence[int] = (), lost: Sequence[int] = ()) -> list[Event]:
    """What is told of a connection, one FPDU a segment.

    :param bad: those with a bad CRC.
    :param lost: those that are not captured.
    """
    talk = started()
    number = 0
    for direction, ulpdus in said:
        for ulpdu in ulpdus:
            damage = {0: FLIPPED} if number in bad else None
            octets, _ = mpastream.build_stream([ulpdu], damage=damage)
            talk.say(direction, octets, captured=number not in lost)
            number += 1
    talk.close()
    return talk.fed()


def errors_of(events: Sequence[Event]) -> list[str]:
    """What the checks find in them."""
    checks = Checks()
    found = [each for event in events for each in checks.take(event)]
    return [each.text for each in found if isinstance(each, ErrorFound)]


def orders(pieces: Sequence[bytes]) -> Iterator[list[bytes]]:
    """The same in their order, from the last to the first, and in others."""
    yield [*pieces]
    yield [*reversed(pieces)]
    for seed in range(3):
        yield random.Random(seed).sample(pieces, len(pieces))


ROOMS = (1, 5, 8, 13, 27, 51)
"""Octets of a header that a segment takes."""


def conversation(room: int, order: int) -> list[Said]:
    """RDMA Reads and Atomics of the Initiator, in segments of so many octets of their headers."""

    def split(ulpdus: Sequence[bytes]) -> list[bytes]:
        return list(orders(cut(ulpdus[0], room)))[order]

    asks = [
        messages.read_request(1, 7, 1000, 300, 99, 5000),
        messages.atomic_request(2, 0, 4711, 5, 8, 1),
        messages.read_request(3, 8, 0, 0, 99, 0),
        messages.read_request(4, 7, 1000, 40, 99, 6000),
        messages.atomic_request(5, 2, 4712, 5, 8, 1),
    ]
    gives = [
        messages.read_response(7, 1000, bytes(300), 114),
        split(messages.atomic_response(1, 4711, 3)),
        messages.read_response(0, 0, b""),
        messages.read_response(7, 1000, bytes(40)),
        split(messages.atomic_response(2, 4712, 3)),
    ]
    said: list[Said] = [(0, messages.send(1, b"first"))]
    said += [(0, split(each)) for each in asks[:3]]
    said += [(1, gives[0]), (0, split(asks[3])), (0, split(asks[4]))]
    return said + [(1, each) for each in gives[1:]]


@pytest.mark.parametrize("order", range(5))
@pytest.mark.parametrize("room", ROOMS)
def test_requests_and_responses_are_paired(room: int, order: int) -> None:
    """As if each header had come in one segment, but for how many there were and where."""
    events = events_of(*conversation(room, order))
    found = messages_of(events)
    wanted = messages_of(events_of(*conversation(WHOLE, 0)))

    def told(each: MessageRecovered) -> MessageRecovered:
        connection = wanted[0].connection
        when = {"frame": 0, "time_ns": 0, "request_frame": None}
        where = {"fpdus": 0, "parts": (), "captured": None, "captured_from": None}
        return each._replace(connection=connection, **when, **where)

    assert [told(each) for each in found] == [told(each) for each in wanted]
    assert [each.answers for each in found if each.direction] == [1, 2, 3, 4, 5]
    assert all(each.complete for each in found)
    assert not errors_of(events)


def test_segments_captured_in_any_order() -> None:
    """Also a Response before the end of its Request."""
    asks = cut(messages.read_request(1, 7, 1000, 30, 99, 5000)[0], 10)
    gives = messages.read_response(7, 1000, bytes(30))
    for seed in range(12):
        talk = started()
        begun = len(talk.segments)
        for direction, ulpdus in ((0, [*messages.send(1, b"x"), *asks]), (1, gives)):
            for ulpdu in ulpdus:
                talk.say(direction, mpastream.build_stream([ulpdu])[0])
        tail = talk.segments[begun:]
        random.Random(seed).shuffle(tail)
        talk.segments[begun:] = tail
        talk.close()
        events = talk.fed()
        response = next(each for each in messages_of(events) if each.direction)
        assert (response.answers, response.requested, response.as_requested) == (1, True, True)
        assert not errors_of(events)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        # It may have asked for what comes; the Requests around it are paired.
        (">R1 >R2@2|10!0 >R3@3 <R <R@2", "1 ? / 3"),
        (">R1 >R2@2|10!1 >R3@3 <R <R@2", "1 ? / 3"),
        (">R1 >R2@2|10!2 >R3@3 <R <R@2", "1 ? / 3"),
        # Nobody says that nothing had asked for the Response.
        (">R1|10!0 <R", "?"),
        (">R1|10!1 <R", "?"),
        (">R1|10!2 <R", "?"),
        # An identifier is not there, but its place is: it answers the oldest Request that may be.
        (">A1=4711 <A1=4711|8!1", "1."),
        # What it lacks was sent before what follows it, though it is told later.
        (
            ">A1=1 >R2@1 >A3=2 >R4@2 >A5=3 >R6@3 <A1=1|8!1 <R@1 <A2=2|8!1 <R@2 <A3=3|8 <R@3",
            "2 1. 4 3. 5. 6",
        ),
    ],
)
def test_a_header_that_lacks_a_segment(words: str, expected: str) -> None:
    """Which Request is answered, as far as the segments that are there tell."""
    found = exchanged(words)
    assert answers(found) == expected
    assert any(each.fpdus and not each.complete for each in found)


# -- checks ----------------------------------------------------------------------------------------


def is_header(ulpdu: bytes) -> bool:
    """Whether a segment is all of a message that is an RDMAP header."""
    has_opcode = len(ulpdu) > HEADER and ulpdu[1] & 15 in (1, 7, 8, 9, 10, 11)
    return has_opcode and not ulpdu[0] & 0x80 and bool(ulpdu[0] & 0x40)


WRONG_HEADERS = {
    name: ulpdu
    for name, (ulpdu, clause, _) in WRONG.items()
    if is_header(ulpdu) and not clause.endswith("4.1")
}
LONG = {
    f"{opcode}, {length} octets": messages.untagged_message(opcode, qn, 1, bytes(length))[0]
    for opcode, qn in ((1, 1), (7, 2), (8, 0), (9, 0), (10, 1), (11, 3))
    for length in (52, 53, 1000)
}


@pytest.mark.parametrize("room", ROOMS)
@pytest.mark.parametrize("name", [*WRONG_HEADERS, *LONG])
def test_what_is_wrong_with_a_header(name: str, room: int) -> None:
    """The same is said once, whatever the order of the segments."""
    ulpdu = {**WRONG_HEADERS, **LONG}[name]
    wanted = violation(ulpdu, len(ulpdu))
    for pieces in orders(cut(ulpdu, room)):
        found = errors_of(events_of((0, messages.send(1, b"x")), (0, pieces)))
        assert [each for each in found if "MSN" not in each] == [str(wanted)] * bool(wanted)


@pytest.mark.parametrize("room", ROOMS)
@pytest.mark.parametrize("name", [name for name, ulpdu in RIGHT.items() if is_header(ulpdu)])
def test_what_is_right_with_a_header(name: str, room: int) -> None:
    """Nothing is said of it: not that a Terminate is followed by its own rest, for one."""
    for pieces in orders(cut(RIGHT[name], room)):
        found = errors_of(events_of((0, pieces)))
        assert [each for each in found if "Atomic Request has the" not in each] == []


def test_what_follows_a_terminate_in_several_segments() -> None:
    """It is told of the first message behind it."""
    ulpdu = messages.terminate(0, 1, 2, messages.send(1, b"x")[0])[0]
    found = errors_of(events_of((0, [*cut(ulpdu, 9), *messages.send(1, b"x")])))
    assert found == ["a message follows a Terminate (RFC 5040 5.4)"]


def test_a_request_in_several_segments_counts_once() -> None:
    """Of IRD, each RDMA Read Request takes one; and Atomic Responses find theirs."""
    reads = [cut(messages.read_request(msn, 7, 0, 30, 9, 0)[0], 9) for msn in (1, 2)]
    atomic = cut(messages.atomic_request(3, 0, 5, 5, 8, 1)[0], 9)
    talk = Talk()
    for direction, key in enumerate((mpastream.REQUEST_KEY, mpastream.REPLY_KEY)):
        # IRD and ORD of 1.
        data = bytes.fromhex("00010001")
        options = {"crc": 1, "revision": 2, "enhanced": 1}
        talk.say(direction, mpastream.startup_frame(key, private_data=data, **options))
    for direction, ulpdus in (
        (0, [*messages.send(1, b"x"), *reads[0]]),
        (1, [*messages.send(1, b"x"), *messages.read_response(7, 0, bytes(30))]),
        (0, [*reads[1], *atomic]),
        (1, messages.read_response(7, 0, bytes(30))),
        (1, cut(messages.atomic_response(1, 5, 1)[0], 5)),
        (1, cut(messages.atomic_response(2, 6, 1)[0], 5)),
    ):
        for ulpdu in ulpdus:
            talk.say(direction, mpastream.build_stream([ulpdu])[0])
    talk.close()
    assert errors_of(talk.fed()) == ["no Atomic Request has the identifier 6 (RFC 7306 5.2.2)"]


def test_what_is_kept_of_torn_headers_is_limited() -> None:
    """The oldest is forgotten; the last ones are checked."""
    torn = [
        messages.untagged_header(messages.READ_REQUEST, 1, msn, 0, False) + bytes(20)
        for msn in range(1, 4 * SPLIT_HEADERS + 1)
    ]
    rest = [
        messages.untagged_header(messages.READ_REQUEST, 1, msn, 20, True) + bytes(9)
        for msn in range(1, 4 * SPLIT_HEADERS + 1)
    ]
    checks = Checks()
    said = [*torn, *reversed(rest)]
    found = [each for event in events_of((0, said))[:-1] for each in checks.take(event)]
    wrong = [each for each in found if isinstance(each, ErrorFound) and "exactly" in each.text]
    assert len(wrong) == SPLIT_HEADERS
    (held,) = checks._connections.values()
    assert held.halves[0].headers is not None
    assert len(held.halves[0].headers) <= SPLIT_HEADERS


@given(
    st.binary(max_size=90).flatmap(
        lambda octets: st.tuples(
            st.just(octets), st.sets(st.integers(0, len(octets))), st.randoms(use_true_random=False)
        )
    )
)
def test_put_together(drawn: tuple[bytes, set[int], random.Random]) -> None:
    """Whatever the pieces and their order: the first octets, once all of these and the end are
    there."""
    octets, cuts, rng = drawn
    places = sorted({0, len(octets), *cuts})
    pieces = list(pairwise(places)) or [(0, 0)]
    rng.shuffle(pieces)
    header = SplitHeader()
    for number, (begin, end) in enumerate(pieces):
        is_there = header.octets is not None
        needed = [at for at, _ in pieces[number:] if at < LONGEST_HEADER]
        assert not (is_there and needed)
        part = octets[begin:end]
        header.put(begin, part, len(part), last=end == len(octets))
    assert header.octets == octets[:LONGEST_HEADER]
    assert header.length == len(octets)
