# SPDX-License-Identifier: GPL-2.0-or-later
"""The rule that a DDP Stream Session breaks is named (RFC 5043, RFC 6581 7)."""

from dataclasses import replace
from itertools import product
from operator import itemgetter

import pytest

from scapy_mpa.stream.checks import Checks
from scapy_mpa.stream.events import (
    ChunksMissing,
    DDPSegmentRecovered,
    ErrorFound,
    Event,
    SessionControlSeen,
)
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.sctp_ddp import FunctionCode
from scapy_mpa.wire.sctp_rules import NEXT, SEGMENT, HalfState, Role, order_violation
from tests.dialects.sctp_feed import (
    Talk,
    closing,
    ends,
    events_of,
    new_associations,
    opening,
    packet_of,
    talk_of,
    whole,
)
from tests.stream.exchange import messages_of
from tests.stream.feed import of
from tests.truth import messages
from tests.truth import sctpstream as sctp


def errors(events: list[Event]) -> list[str]:
    """The clauses that errors name, in order."""
    return [each.text.rpartition("(")[2].rstrip(")") for each in of(ErrorFound, events)]


def run(talk: Talk) -> list[Event]:
    """The events of an association with these chunks."""
    return events_of(whole(talk))


def checked(talk: Talk) -> list[Event]:
    """The same, with DDP and RDMAP checked."""
    checks = Checks()
    return [each for event in run(talk) for each in checks.take(event)]


ACCEPTED = ">I <A >S <S >T <T"
"""A session as in RFC 5043 6.2."""


@pytest.mark.parametrize(
    ("words", "is_rejected"),
    [
        (ACCEPTED, False),
        # One Terminate is enough.
        (">I <A <S >T", False),
        (">I <R:2", True),
        (">I <T", True),
        (">I:512 <A >T <T", False),
        ("<EI:508 >EA:2 >S >T <T", False),
        (">EI <ER", True),
        (">EI <ER:2", True),
        # Neither is enhanced (RFC 6581 7).
        (">EI <R", True),
        (">EI <T", True),
        # The active side may know from a SACK that its Initiate has arrived (RFC 5043 6.6).
        (">I >S <A >T <T", False),
    ],
)
def test_rfc5043_6_legal_sequences(words: str, is_rejected: bool) -> None:
    """They have no errors, and all end."""
    events = run(talk_of(words))
    assert errors(events) == []
    (end,) = ends(events)
    assert (end.rejected, end.ending) == (is_rejected, "closed")
    assert end.initiator == end.connection.endpoints["><".index(words[0])]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (">S >I <A >T <T", ["RFC 5043 6.6"]),
        (">I <S <A >T <T", ["RFC 5043 6.2"]),
        (">I <A >T >S <T", ["RFC 5043 6.2"]),
        (">I <A <T <T >T", ["RFC 5043 6.2"]),
        (">I <R <S", ["RFC 5043 6.3"]),
        (">I <R >S", ["RFC 5043 6.3"]),
        (">I <T >S", ["RFC 5043 6.4"]),
        (">I <T <S", ["RFC 5043 6.4"]),
        (">I <A <A >T <T", ["RFC 5043 6.1"]),
        (">I <A >I >T <T", ["RFC 5043 6.1"]),
        (">I <I >T <T", ["RFC 5043 6.2"]),
        (">I <A >S <S", ["RFC 5043 6.2"]),
        (">EI <A >T <T", ["RFC 6581 7"]),
        (">I <EA >T <T", ["RFC 6581 7"]),
        (">I <ER", ["RFC 6581 7"]),
        (">+5 >I <A >T <T", ["RFC 5043 6.1"]),
        (">-1 >S >I <A >S >T <T", ["RFC 5043 6.1"]),
        (">I", ["RFC 5043 6.1"]),
        (">EI", ["RFC 5043 6.1"]),
        (">I >T", ["RFC 5043 6.1"]),
        ("<R", ["RFC 5043 6.1"]),
        ("<EA", ["RFC 5043 6.1"]),
        ("<S", ["RFC 5043 6.6"]),
        ("<A >T", ["RFC 5043 6.6"]),
        ("<A >A", ["RFC 5043 6.6"]),
        # Only segments in a wrong place are reported once.
        (">S >S >I <A >T <T", ["RFC 5043 6.6"]),
        ("<A >A >R", ["RFC 5043 6.6"] * 2),
        (">I <S <I <A >T <T", ["RFC 5043 6.2"] * 2),
        (">I <A >+3 >S >T <T", ["RFC 5043 6"]),
        (">I <A >S >-1 >S >T <T", ["RFC 5043 5.2.1"]),
        # The copy waits, too.
        (">I <A >+1 >S >-1 >S >-2 >S >+1 >T <T", ["RFC 5043 5.2.1"]),
        # Another Accept begins no session, and what waits goes on waiting.
        (">I <A >+1 >S <-1 <A >-2 >S >+1 >T <T", ["RFC 5043 5.2.1"]),
        # But an answer after the end does, even if the end still waits.
        (">I <A <+1 <T | <A >T", ["RFC 5043 6", "RFC 5043 6.6"]),
        (">I <A >p46 >p46 >T <T", ["RFC 5043 5.1"]),
        (">I <A >c8 >T <T", ["RFC 5043 5.2.3"]),
        (">I <A >c0 >T <T", ["RFC 5043 5.2.3"]),
        (">I:513 <A >T <T", ["RFC 5043 5.2.3"]),
        (">I <R:513", ["RFC 5043 5.2.3"]),
        (">c5:3 <EA >T <T", ["RFC 6581 7"]),
        (">EI <c6 >T <T", ["RFC 6581 7"]),
        (">EI:509 <EA:508 >T <T", ["RFC 6581 7"]),
        (">I <A >T:1", ["RFC 5043 5.2.3"]),
        # Too short for a DDP-SSN, and for a function code.
        (">I <A >p16=00 <p17=000100 >T <T", ["RFC 5043 5.2.2", "RFC 5043 5.2.3"]),
        # The DDP-SSN that a short chunk may have taken is not missing.
        (">I <A >p17=0001 >+1 >T <T", ["RFC 5043 5.2.3"]),
        (">I <A >+1 >S >p16=00 >S >T <T", ["RFC 5043 5.2.2"]),
        # A missing answer or request is no error if it may have been sent.
        (">I <A-", []),
        (">I- <A", []),
        # An answer after the end begins another session. The missing Initiate is an error if no
        # other TSN is missing.
        (f"{ACCEPTED} | >I- <A <S <T", []),
        (f"{ACCEPTED} | <A <S <T", ["RFC 5043 6.1"]),
    ],
)
def test_broken_rule_is_named(words: str, expected: list[str]) -> None:
    """Each broken rule is named by its clause, and counted at the end of its session."""
    talk = talk_of(words)
    shutdown = closing(talk)
    # Without the shutdown, and without its SACKs, less is known.
    for end in (shutdown, *[shutdown[2:], []] * (not expected)):
        events = events_of(whole(talk, end=end))
        assert errors(events) == expected
        assert len(ends(events)) == words.count("|") + 1
        assert sum(each.errors for each in ends(events)) == len(expected)
        assert sum(each.halves[1].fpdus for each in ends(events)) == words.count("<S")
        assert len(talk.units) < len(talk.said) or not of(ChunksMissing, events)
        # In the order of DDP-SSNs, then of the capture.
        places = [
            (each.connection.number, each.direction, each.serial, each.frame)
            for each in of(DDPSegmentRecovered, events)
        ]
        assert sorted(places) == sorted(places, key=itemgetter(0, 1))
        for each in ends(events):
            frames = [event.frame for event in events if event.connection == each.connection]
            assert each.frame == max(frames)


def test_order_of_any_message() -> None:
    """In each state, a message has a next state for its sender, or breaks a rule."""
    for state, code in product(HalfState, (SEGMENT, *FunctionCode)):
        is_wrong = [order_violation(role, state, code) is not None for role in (*Role, None)]
        has_next = [(role, state, code) in NEXT for role in Role]
        assert is_wrong == [not has_next[0], not has_next[1], not any(has_next)]


@pytest.mark.parametrize(
    ("words", "last"),
    [
        (">A <I", 2),
        (">I <A >+1 >S >-2 >S", 2),
        (">I <A >+1 >S >p16=00", 2),
        (">I <A >+1" + " >S" * 65, 66),
    ],
)
def test_messages_wait_no_longer(words: str, last: int) -> None:
    """The last message releases the one before it: an answer, or one after a hole."""
    associations = new_associations()
    packets = map(packet_of, whole(talk_of(words), end=()))
    assert [len(associations.receive(each)) for each in packets][-2:] == [0, last]


def test_segment_before_the_first_ddp_ssn() -> None:
    """No message is missing after it."""
    assert all(each.complete for each in messages_of(run(talk_of(">-1 >S >I <A >S >T <T"))))


def test_short_chunk_after_a_hole() -> None:
    """The missing DDP-SSN is that of the missing chunk."""
    events = run(talk_of(">I <A >S >S- >S >p16=00 >+1 >S >T <T"))
    assert [(each.seq, each.length) for each in of(ChunksMissing, events)] == [(2, 1)]


@pytest.mark.parametrize("code", ["I", "A"])
def test_sessions_while_both_directions_wait(code: str) -> None:
    """However many messages wait, each belongs to a session or begins one."""
    talk = talk_of(f">I <A >S- <S- {f'| >{code} <{code} ' * 600}")
    assert len(of(SessionControlSeen, run(talk))) == 1202


def test_rfc5043_10_ordered_chunks() -> None:
    """Reported once for a direction, not for each chunk."""
    talk = talk_of(ACCEPTED)
    talk.units = [replace(unit, flags=sctp.B | sctp.E) for unit in talk.units]
    assert errors(run(talk)) == ["RFC 5043 10"] * 2


NO_ADAPTATION, NOT_EQUAL, NOT_AGREED = ["RFC 5043 11.1"], ["RFC 5043 8"], ["RFC 4960 6.5"]


@pytest.mark.parametrize(
    ("adaptation", "of_init", "of_answer", "stream", "expected"),
    [
        # The adaptation indication of the INIT ACK, the numbers of streams, and the stream used.
        (None, (4, 4), (4, 4), 0, NO_ADAPTATION),
        (7, (4, 4), (4, 4), 0, NO_ADAPTATION),
        (1, (4, 4), (5, 4), 0, NOT_EQUAL),
        (1, (4, 4), (3, 5), 0, NOT_EQUAL),
        (1, (4, 4), (4, 5), 0, []),  # 5, and the INIT accepts no more than 4
        (1, (4, 4), (4, 4), 3, []),
        (1, (4, 4), (4, 4), 4, NOT_AGREED),
        (1, (9, 9), (4, 4), 4, NOT_AGREED),
        (1, (4, 4), (9, 9), 4, NOT_AGREED),
        (1, (9, 9), (9, 9), 8, []),
        (1, (9, 9), (9, 9), 0xFFFF, NOT_AGREED),
    ],
)
def test_rfc5043_8_setup(
    adaptation: int | None,
    of_init: tuple[int, int],
    of_answer: tuple[int, int],
    stream: int,
    expected: list[str],
) -> None:
    """Both sides agree on DDP, and on the streams (RFC 4960 6.5).

    Errors of an INIT ACK are reported with the first session.
    """
    talk = talk_of(ACCEPTED, stream=stream)
    setup = opening(adaptations=(1, adaptation), streams=(of_init, of_answer))
    events = events_of(whole(talk, setup))
    assert errors(events) == expected
    assert [end.connection.stream for end in ends(events)] == [stream]
    if expected and expected != NOT_AGREED:
        (error,) = of(ErrorFound, events)
        assert (error.frame, error.seq, error.direction) == (2, 900, 1)


@pytest.mark.parametrize("dialect", [None, Dialect.DRAFT_PEER_CONNECT_01])
def test_dialect_of_enhanced_messages(dialect: Dialect | None) -> None:
    """With the draft before RFC 6581, control flags have its meaning."""
    events = events_of(whole(talk_of(">EI <EA >T <T")), dialect=dialect)
    dialects = [each.dialect for each in of(SessionControlSeen, events)]
    assert dialects == [dialect or "rfc5043"] * 2 + ["rfc5043"] * 2
    assert {each.dialect for each in ends(events)} == {"rfc5043"}


def test_rules_above_are_checked_too() -> None:
    """The rules of negotiation, DDP and RDMAP do not depend on the carrier."""
    talk = Talk()
    talk.control(0, sctp.ENHANCED_INITIATE, sctp.enhanced(4, 1))
    talk.control(1, sctp.ENHANCED_ACCEPT, sctp.enhanced(1, 5))
    for msn in (1, 2):
        talk.segment(0, messages.read_request(msn, 1, 0, 10, 2, 0)[0])
    talk.segment(1, b"\x41\x43" + bytes(16))
    talk.end_session()
    events = checked(talk)
    found = of(ErrorFound, events)
    # An ORD above the IRD of the Initiate, MSN 0, and more Read Requests than the Accept allows.
    assert [each.seq for each in found] == [900, 901, 102]
    for each, clause in zip(found, ("6581 9.1", "5041 4.3", "6581 9.1"), strict=True):
        assert f"(RFC {clause})" in each.text
    assert "ORD 5 of the Enhanced Accept" in found[0].text
    assert (found[0].code, ends(events)[0].errors) == (6, 3)


@pytest.mark.parametrize("words", [">I <A", ">EI <EA", ""])
@pytest.mark.parametrize("version", [0, 1])
def test_rfc5041_4_1_version(words: str, version: int) -> None:
    """DDP has version 1 over SCTP, in each session, even if its beginning was not captured."""
    talk = talk_of(words)
    octets = messages.send(1, b"x")[0]
    talk.segment(0, bytes([0x40 | version, version << 6 | 3]) + octets[2:])
    texts = [each.text for each in of(ErrorFound, checked(talk))]
    wrong = "DV 0 on a connection of version 1 (RFC 5041 4.1)"
    assert sum(wrong in each for each in texts) == (version == 0)


@pytest.mark.parametrize("is_ended", [False, True])
def test_response_whose_request_may_be_missing(is_ended: bool) -> None:
    """Only a Terminate shows that nothing is missing at the end of a direction."""
    talk = talk_of(">I <A")
    (response,) = messages.atomic_response(1, 7, 5)
    talk.segment(1, response)
    if is_ended:
        talk.end_session()
    (message,) = messages_of(run(talk))
    assert message.requested is (False if is_ended else None)
    assert ("RFC 7306 5.2.2" in errors(checked(talk))) is is_ended
