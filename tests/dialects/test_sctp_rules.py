# SPDX-License-Identifier: GPL-2.0-or-later
"""Which rule a DDP Stream Session breaks, and that it is named (RFC 5043, RFC 6581 7)."""

from __future__ import annotations

import struct
from dataclasses import replace
from itertools import count

import pytest

from scapy_mpa.dialects.sctp.associations import Associations
from scapy_mpa.stream.checks import Checks
from scapy_mpa.stream.doubtful import DOUBTFUL
from scapy_mpa.stream.events import (
    ChunksMissing,
    ConnectionEnded,
    ErrorFound,
    Event,
    SessionControlSeen,
)
from scapy_mpa.wire.dialect import Dialect
from tests.dialects.sctp_feed import OPENING, Talk, closing, events_of, frames_of, of, said
from tests.truth import sctpstream as sctp


def errors(events: list[Event]) -> list[str]:
    """The clauses that errors name, in order."""
    return [
        each.text.rpartition("(")[2].rstrip(")") for each in events if isinstance(each, ErrorFound)
    ]


def ended(events: list[Event]) -> list[ConnectionEnded]:
    """The ends of sessions, by number."""
    found = of(ConnectionEnded, events)
    return sorted(found, key=lambda each: each.connection.number)


def run(talk: Talk, opening: list[bytes] | None = None) -> list[Event]:
    """What is made of an association on which this was said."""
    frames = OPENING if opening is None else opening
    return events_of([*frames, *frames_of(talk.units), *closing(talk)])


def denied(talk: Talk) -> list[ErrorFound]:
    """What DDP and RDMAP must not accept of what was said."""
    checks = Checks()
    return [
        each
        for event in events_of([*OPENING, *frames_of(talk.units), *closing(talk)])
        for each in checks.take(event)
        if isinstance(each, ErrorFound)
    ]


ACCEPTED = ">I <A >S <S >T <T"
"""A session as RFC 5043 6.2 has it."""


@pytest.mark.parametrize(
    ("words", "is_rejected"),
    [
        (ACCEPTED, False),
        # One Terminate is enough.
        (">I <A <S >T", False),
        (">I <R:2", True),
        (">I <T", True),
        ("<EI >EA:2 >S >T <T", False),
        (">EI <ER:2", True),
        # The active side may know by a SACK that its Initiate is there (RFC 5043 6.6).
        (">I >S <A >T <T", False),
    ],
)
def test_rfc5043_6_legal_sequences(words: str, is_rejected: bool) -> None:
    """Nothing is wrong with them, and all of them are over."""
    events = run(said(words))
    assert errors(events) == []
    (end,) = ended(events)
    assert (end.rejected, end.ending) == (is_rejected, "closed")
    assert end.initiator == end.connection.endpoints["><".index(words[0])]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (">S >I <A >T <T", ["RFC 5043 6.6", "RFC 5043 6.1"]),
        (">I <S <A >T <T", ["RFC 5043 6.2", "RFC 5043 6.1"]),
        (">I <A >T >S <T", ["RFC 5043 6.2"]),
        (">I <R <S", ["RFC 5043 6.3"]),
        (">I <R >S", ["RFC 5043 6.3"]),
        (">I <T >S", ["RFC 5043 6.4"]),
        (">I <A <A >T <T", ["RFC 5043 6.1"]),
        (">I <I >T <T", ["RFC 5043 6.2"]),
        (">I <A >S <S", ["RFC 5043 6.2"]),
        (">EI <A >T <T", ["RFC 6581 7"]),
        (">I <EA >T <T", ["RFC 6581 7"]),
        (">+5 >I <A >T <T", ["RFC 5043 6.1"]),
        (">I", ["RFC 5043 6.1"]),
        (">I >T", ["RFC 5043 6.1"]),
        ("<R", ["RFC 5043 6.1"]),
        ("<S", ["RFC 5043 6.6"]),
        (">I <A >+3 >S >T <T", ["RFC 5043 6"]),
        (">I <A >S >-1 >S >T <T", ["RFC 5043 5.2.1"]),
        (">I <A >p46 >p46 >T <T", ["RFC 5043 5.1"]),
        (">I <A >c8 >T <T", ["RFC 5043 5.2.3", "RFC 5043 6.1"]),
        (">I:513 <A >T <T", ["RFC 5043 5.2.3"]),
        (">EI:509 <EA:508 >T <T", ["RFC 6581 7"]),
        (">I <A >T:3", ["RFC 5043 5.2.3"]),
    ],
)
def test_the_rule_that_is_broken(words: str, expected: list[str]) -> None:
    """Each is named by its clause, and counted at the end."""
    events = run(said(words))
    assert errors(events) == expected
    assert ended(events)[0].errors == len(expected)


def test_chunks_that_are_too_short() -> None:
    """Each is named by its clause."""
    talk = said(">I <A")
    talk.say(0, sctp.SEGMENT, b"\0")
    talk.say(1, sctp.CONTROL, b"\0\1\0")
    talk.end_session()
    assert errors(run(talk)) == ["RFC 5043 5.2.2", "RFC 5043 5.2.3"]


@pytest.mark.parametrize("user_data", [b"\0\1", b"\0\1\0"])
def test_rfc5043_5_2_3_a_message_too_short_leaves_no_gap(user_data: bytes) -> None:
    """Its DDP-SSN was captured, so that nothing is missing; the order after it is not judged."""
    talk = said(">I <A")
    talk.say(0, sctp.CONTROL, user_data)
    talk.ssns[0] += 1
    talk.end_session()
    events = run(talk)
    assert errors(events) == ["RFC 5043 5.2.3"]
    assert not of(ChunksMissing, events)
    controls = of(SessionControlSeen, events)
    assert [each.out_of_order for each in controls] == [False] * 4


@pytest.mark.parametrize("times", [7, 8, 9, 10, 100])
def test_more_errors_than_are_told(times: int) -> None:
    """Those that wait for the end are limited; the last one says how many more there were."""
    events = run(said(">I <A " + "<A " * times + ">T <T"))
    texts = [each.text for each in events if isinstance(each, ErrorFound)]
    told = times if times <= DOUBTFUL + 1 else DOUBTFUL
    assert len(set(texts[:told])) == 1
    assert "Accept" in texts[0]
    more = [f"{times - told} more such errors from here on (RFC 5043 6)"]
    assert texts[told:] == (more if times > told else [])
    assert ended(events)[0].errors == len(texts)


@pytest.mark.parametrize("lost", ["Accept", "Initiate"])
def test_rfc5043_6_1_what_a_capture_lacks(lost: str) -> None:
    """That nobody answered, or asked, is not said where the message may have been sent."""
    talk = said(">I <A")
    units = [talk.units[0 if lost == "Accept" else 1]]
    events = events_of([*OPENING, *frames_of(units), *closing(talk)])
    assert errors(events) == []
    # Without any SACK nothing tells either.
    events = events_of([*OPENING, *frames_of(units), *closing(talk)[2:]])
    assert errors(events) == []


def test_rfc5043_6_an_answer_behind_the_end() -> None:
    """It begins another session; that its Initiate is missing is told if nothing else is."""
    talk = said(f"{ACCEPTED} | >I <A <S <T")
    initiate = talk.units[6]
    units = [unit for unit in talk.units if unit is not initiate]
    for frames, clauses in (
        # Nothing shows that side 0 has sent more than was captured.
        (frames_of(units), []),
        ([*frames_of(units), *closing(talk)], []),
    ):
        events = events_of([*OPENING, *frames])
        assert errors(events) == clauses
        assert [end.halves[1].fpdus for end in ended(events)] == [1, 1]
    # The Initiate was never sent.
    talk.tsns[0] -= 1
    events = events_of([*OPENING, *frames_of(units), *closing(talk)])
    assert errors(events) == ["RFC 5043 6.1"]
    assert [end.errors for end in ended(events)] == [0, 1]


def test_rfc5043_10_ordered_chunks() -> None:
    """Said once of a direction, not of each chunk."""
    talk = said(ACCEPTED)
    frames = [
        sctp.frame(
            unit.side,
            sctp.packet(
                unit.side, sctp.data(unit.tsn, unit.ppid, unit.user_data, flags=sctp.B | sctp.E)
            ),
        )
        for unit in talk.units
    ]
    events = events_of([*OPENING, *frames, *closing(talk)])
    assert errors(events) == ["RFC 5043 10"] * 2


@pytest.mark.parametrize(
    ("adaptation", "streams", "expected"),
    [
        (None, (4, 4), ["RFC 5043 11.1"]),
        (7, (4, 4), ["RFC 5043 11.1"]),
        (1, (4, 5), ["RFC 5043 8"]),
    ],
)
def test_rfc5043_11_1_adaptation(
    adaptation: int | None, streams: tuple[int, int], expected: list[str]
) -> None:
    """What is wrong with an INIT ACK is told of the first session."""
    answer = sctp.init(1, 900, adaptation=adaptation, streams=streams)
    opening = [OPENING[0], sctp.frame(1, sctp.packet(1, answer)), *OPENING[2:]]
    events = run(said(ACCEPTED), opening)
    assert errors(events) == expected
    first = next(each for each in events if isinstance(each, ErrorFound))
    assert (first.frame, first.seq, first.direction) == (2, 900, 1)


@pytest.mark.parametrize(
    ("stream", "of_init", "of_answer", "is_there"),
    [
        (3, (4, 4), (4, 4), True),
        (4, (4, 4), (4, 4), False),
        (4, (9, 9), (4, 4), False),
        (4, (4, 4), (9, 9), False),
        (8, (9, 9), (9, 9), True),
        (0xFFFF, (9, 9), (9, 9), False),
    ],
)
def test_rfc5043_8_streams_that_there_are(
    stream: int, of_init: tuple[int, int], of_answer: tuple[int, int], is_there: bool
) -> None:
    """A DDP stream is one of those that both sides have agreed on (RFC 4960 6.5)."""
    talk = said(ACCEPTED)
    talk.units = [replace(unit, stream=stream) for unit in talk.units]
    opening = [
        sctp.frame(0, sctp.packet(0, sctp.init(0, 100, streams=of_init), tag=0)),
        sctp.frame(1, sctp.packet(1, sctp.init(1, 900, streams=of_answer))),
        *OPENING[2:],
    ]
    events = events_of([*opening, *frames_of(talk.units), *closing(talk)])
    assert errors(events) == ([] if is_there else ["RFC 4960 6.5"])
    assert [end.connection.stream for end in ended(events)] == [stream]


def test_rfc5043_11_1_no_session() -> None:
    """An association with an adaptation indication and no session has an end of its own."""
    events = run(Talk(), [OPENING[0], *OPENING[2:]])
    (end,) = ended(events)
    assert (end.connection.stream, end.dialect, end.initiator) == (None, "rfc5043", None)
    assert end.ending == "closed"


def test_rfc5043_6_stream_reused_without_a_terminate() -> None:
    """The session before it should have been terminated (RFC 5043 6.2, 6.6)."""
    events = run(said(">I <A >S | >I <A >T <T"))
    assert errors(events) == ["RFC 5043 6.2"]
    assert [each.ending for each in ended(events)] == ["reused", "closed"]


def test_rfc4960_6_8_bad_checksum() -> None:
    """A packet whose CRC32c is bad brings nothing; it is sent again, and then it does."""
    talk = said(ACCEPTED)
    frames = frames_of(talk.units)
    unit = talk.units[2]
    harmed = sctp.packet(0, sctp.data(unit.tsn, unit.ppid, unit.user_data), bad=True)
    frames.insert(2, sctp.frame(0, harmed))
    events = events_of([*OPENING, *frames, *closing(talk)])
    assert errors(events) == ["RFC 4960 6.8"]
    (end,) = ended(events)
    assert [half.crc_bad for half in end.halves] == [1, 0]
    assert [half.fpdus for half in end.halves] == [1, 1]
    assert [half.retransmitted for half in end.halves] == [0, 0]


@pytest.mark.parametrize("size", [0, 3, 4, 8, 12, 15])
@pytest.mark.parametrize("together", [False, True])
def test_rfc4960_3_3_1_no_room_for_a_header(size: int, together: bool) -> None:
    """A DATA chunk whose length says less than 16 brings nothing but an error."""
    talk = said(ACCEPTED)
    frames = frames_of(talk.units)
    short = sctp.chunk(sctp.DATA, 7, bytes.fromhex("0000007b000000000000"))
    short = short[:2] + size.to_bytes(2, "big") + short[4 : 4 + max(0, size - 4 + 3 & ~3)]
    unit = talk.units[2]
    before = [sctp.data(unit.tsn, unit.ppid, unit.user_data)] if together else []
    frames.insert(2, sctp.frame(0, sctp.packet(0, *before, short)))
    events = events_of([*OPENING, *frames, *closing(talk)])
    (error,) = of(ErrorFound, events)
    assert (error.direction, error.frame) == (0, 7)
    assert error.seq == (0x7B if size >= 8 else 0)
    assert error.text == (
        f"a DATA chunk has {size} octets, less than the 16 of its header (RFC 4960 3.3.1)"
    )
    (end,) = ended(events)
    assert end.errors == 1
    assert [half.fpdus for half in end.halves] == [1, 1]


def test_rfc6581_7_enhanced_data() -> None:
    """Both messages say what they ask for."""
    events = run(said("<EI >EA:2 >T <T"))
    found = [each.control for each in events if isinstance(each, SessionControlSeen)]
    assert [(each.ird, each.ord, each.control_flags) for each in found[:2]] == [(4, 4, "AB")] * 2
    assert found[1].private_data == bytes(2)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (sctp.enhanced(8, 4, a=1, b=1), []),
        (
            sctp.enhanced(8, 5, a=1, b=1),
            [
                (
                    6,
                    "ORD 5 of the Enhanced Accept exceeds IRD 4 of the Enhanced Initiate "
                    "(RFC 6581 9.1)",
                )
            ],
        ),
        (sctp.enhanced(8, 0x3FFF, a=1, b=1), []),
        (
            sctp.enhanced(8, 4, a=1, d=1),
            [
                (
                    7,
                    "the Enhanced Accept offers no RTR indication that the Enhanced Initiate asks "
                    "for (RFC 6581 9.2)",
                )
            ],
        ),
    ],
)
def test_rfc6581_9_enhanced_accept(answer: bytes, expected: list[tuple[int, str]]) -> None:
    """ORD of the Accept is at most IRD of the Initiate, and one RTR indication is in both."""
    talk = Talk()
    talk.control(0, sctp.ENHANCED_INITIATE, sctp.enhanced(4, 8, a=1, b=1))
    talk.control(1, sctp.ENHANCED_ACCEPT, answer)
    talk.end_session()
    found = denied(talk)
    assert [(each.code, each.seq) for each in found] == [(code, 900) for code, _ in expected]
    for each, (_, text) in zip(found, expected, strict=True):
        assert each.text.startswith(text)


@pytest.mark.parametrize(
    ("flags", "first", "rtr", "kept", "broken"),
    [
        ({"a": 1, "b": 1}, sctp.send(1, b""), "send", True, []),
        ({"a": 1, "c": 1}, sctp.send(1, b""), "send", False, ["RFC 6581 9.2"]),
        ({"a": 1, "b": 1}, sctp.send(1, b"x"), None, False, ["RFC 6581 9.2"]),
        ({"a": 1, "b": 1}, None, None, None, []),
        ({}, None, None, True, []),
    ],
)
def test_rfc6581_9_negotiated(
    flags: dict[str, int],
    first: bytes | None,
    rtr: str | None,
    kept: bool | None,
    broken: list[str],
) -> None:
    """What Enhanced Initiate and Accept come to, and the active side's first DDP segment."""
    talk = Talk()
    talk.control(0, sctp.ENHANCED_INITIATE, sctp.enhanced(4, 8, **flags))
    talk.control(1, sctp.ENHANCED_ACCEPT, sctp.enhanced(6, 4, **flags))
    talk.send(1)
    if first is not None:
        talk.say(0, sctp.SEGMENT, sctp.segment(1, first))
        talk.ssns[0] += 1
    talk.end_session()
    (end,) = ended(events_of([*OPENING, *frames_of(talk.units), *closing(talk)]))
    came = end.negotiated
    assert came is not None
    assert (came.ird, came.ord) == ((4, 6), (6, 4))
    assert came.peer_to_peer is bool(flags)
    assert (came.rtr, came.kept) == (rtr, kept)
    assert [each.rpartition("(")[2].rstrip(")") for each in came.broken] == broken
    assert not any(word in text for text in came.broken for word in ("FPDU", "Request", "Reply"))


DRAFT = "draft-ietf-storm-mpa-peer-connect-01"


@pytest.mark.parametrize(
    ("flags", "first", "rtr_agreed", "rtr", "kept", "broken"),
    [
        ({"a": 1}, sctp.send(1, b""), ("send",), "send", True, []),
        ({"b": 1}, sctp.write(7, 0, b""), ("write",), "write", True, []),
        ({"b": 1}, sctp.send(1, b""), ("write",), "send", False, [f"{DRAFT} 8"]),
        ({"a": 1, "d": 1}, sctp.send(1, b"x"), ("send",), None, True, []),
        ({"d": 1}, sctp.send(1, b"x"), (), None, True, []),
        ({}, sctp.write(7, 0, b"x"), (), None, False, [f"{DRAFT} 8"]),
        ({"a": 1}, None, ("send",), None, None, []),
    ],
)
def test_draft_peer_connect_8_negotiated(
    flags: dict[str, int],
    first: bytes | None,
    rtr_agreed: tuple[str, ...],
    rtr: str | None,
    kept: bool | None,
    broken: list[str],
) -> None:
    """Where the draft before RFC 6581 is forced, control flags are what it says; D is reserved.

    Of the Initiator's own IRD nothing is known.
    """
    talk = Talk()
    talk.control(0, sctp.ENHANCED_INITIATE, sctp.enhanced(4, 8, a=1, b=1, c=1))
    talk.control(1, sctp.ENHANCED_ACCEPT, sctp.enhanced(6, 4, **flags))
    if first is not None:
        talk.say(0, sctp.SEGMENT, sctp.segment(1, first))
        talk.ssns[0] += 1
    talk.end_session()
    numbers = count()
    associations = Associations(lambda: next(numbers), dialect=Dialect.DRAFT_PEER_CONNECT_01)
    events = events_of(
        [*OPENING, *frames_of(talk.units), *closing(talk)], associations=associations
    )
    controls = of(SessionControlSeen, events)
    assert [each.dialect for each in controls] == [DRAFT] * 2 + ["rfc5043"] * 2
    (end,) = ended(events)
    came = end.negotiated
    assert came is not None
    assert (end.dialect, came.peer_to_peer) == ("rfc5043", None)
    assert (came.ird, came.ord) == ((None, 6), (6, 4))
    assert (came.rtr_agreed, came.rtr, came.kept) == (rtr_agreed, rtr, kept)
    assert [each.rpartition("(")[2].rstrip(")") for each in came.broken] == broken
    assert errors(events) == []


def test_rfc6581_9_nothing_negotiated() -> None:
    """Of messages without enhanced data, of a rejection, and of an answer that does not fit."""
    for words in (ACCEPTED, ">EI <ER"):
        assert {each.negotiated for each in ended(run(said(words)))} == {None}


def test_rfc6581_9_1_ird_exceeded() -> None:
    """More RDMA Read Requests are outstanding than the Accept allows."""
    talk = Talk()
    talk.control(0, sctp.ENHANCED_INITIATE, sctp.enhanced(4, 1))
    talk.control(1, sctp.ENHANCED_ACCEPT, sctp.enhanced(1, 4))
    for msn in (1, 2):
        head = struct.pack(">BBIIII", 0x41, 0x41, 0, 1, msn, 0)
        request = struct.pack(">IQIIQ", 1, 0, 10, 2, 0)
        talk.say(0, sctp.SEGMENT, sctp.segment(talk.ssns[0], head + request))
        talk.ssns[0] += 1
    talk.end_session()
    found = denied(talk)
    assert [each.seq for each in found] == [102]
    assert "RFC 6581 9.1" in found[0].text


def test_rfc5041_and_rfc5040_are_checked_too() -> None:
    """What carries a DDP segment does not matter to what must not be in it."""
    talk = Talk()
    talk.begin_session()
    talk.send(0)
    talk.msns[0] += 1
    talk.send(0)
    talk.say(1, sctp.SEGMENT, sctp.segment(1, b"\x41\x43" + bytes(16)))
    talk.ssns[1] += 1
    talk.end_session()
    checks = Checks()
    events: list[Event] = []
    for event in events_of([*OPENING, *frames_of(talk.units), *closing(talk)]):
        events += checks.take(event)
    found = of(ErrorFound, events)
    # MSN 3 follows 1 in one direction, and MSN 0 comes first in the other one.
    assert [each.direction for each in found] == [0, 1]
    assert all("RFC 5041" in each.text for each in found)
    assert [each.seq for each in found] == [talk.units[3].tsn, talk.units[4].tsn]
    assert ended(events)[0].errors == 2
