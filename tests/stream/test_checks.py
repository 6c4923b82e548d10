# SPDX-License-Identifier: GPL-2.0-or-later
"""Errors that the checks above MPA find, and captures without errors (RFC 5041 4.3, 5.4)."""

import random
from collections.abc import Iterable
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.capture import open_capture
from scapy_mpa.craft import Conversation
from scapy_mpa.stream import checks
from scapy_mpa.stream.checks import Checks
from scapy_mpa.stream.events import ConnectionEnded, ConnectionId, ErrorFound, Event
from tests.captures import OVER_TCP, PCAPS, capture_name
from tests.craft.strategies import conversations
from tests.stream.exchange import parsed, talk_of
from tests.stream.feed import decoded, feed, fpdus

PROBE = PCAPS / "live_siw_probe_guest_eth0.pcap.gz"
"""A capture that breaks one rule in each connection, see ``pcaps/README.md``."""

PROBE_TERMINATES = {
    **dict.fromkeys((70, 71, 96), "1/2/0x03"),
    **dict.fromkeys((73, 74), "1/2/0x06"),
    75: "1/1/0x04",
    76: "0/2/0x05",
}
"""The error in siw's Terminate, by the number of the connection, where siw conforms."""

OF_DRAFT = PCAPS / "crafted" / "draft_ulp_send.pcap"
PROBE_OTHERS = {
    *(38, 62),  # RTR, TO wrap
    *(66, 67, 68, 69),  # queues
    *(77, 78, 79, 80, 81, 82, 83, 87, 88),  # versions, opcodes, T
    *(95, 97, 99, 100, 101),  # RDMA Read
    112,  # a ULPDU of 65535 octets
    *(105, 106, 119),  # Terminate on another queue, ULPDU_Length 0, after a Terminate
}
"""Connections in which the client breaks another visible rule; in connection 38, the server."""


def errors_of(events: Iterable[Event]) -> list[ErrorFound]:
    """The errors that the checks add."""
    checker = Checks()
    added: list[Event] = []
    known = counted = 0
    for event in events:
        known += isinstance(event, ErrorFound)
        out = list(checker.take(event))
        # Errors come after the given event, but before the end of a connection.
        given = out.pop(-1 if isinstance(event, ConnectionEnded) else 0)
        assert given is event or isinstance(given, ConnectionEnded)
        added += out
        counted += given.errors if isinstance(given, ConnectionEnded) else 0
    errors = [each for each in added if isinstance(each, ErrorFound)]
    assert len(errors) == len(added)
    assert counted == known + len(errors)
    assert not checker._connections
    return errors


@given(conversations(), st.integers(0, 1 << 32), st.booleans(), st.booleans(), st.booleans())
def test_valid_conversations_are_accepted(
    conversation: Conversation, seed: int, loses: bool, copies: bool, reorders: bool
) -> None:
    """There is no error, even if segments are lost, copied or reordered."""
    rng = random.Random(seed)
    segments = [each for each in conversation.segments() if not (loses and rng.random() < 0.1)]
    segments += rng.sample(segments, min(3 * copies, len(segments)))
    if reorders:
        for at in range(0, len(segments) - 4, 5):
            if rng.random() < 0.5:
                part = segments[at : at + 4]
                rng.shuffle(part)
                segments[at : at + 4] = part
    assert not errors_of(feed(decoded(conversation.frames(segments))))


def captured_errors(path: Path) -> list[ErrorFound]:
    """The errors that the checks find in a capture."""
    with open_capture(path) as capture:
        return errors_of(feed(decoded(capture)))


@pytest.mark.parametrize("path", sorted({*OVER_TCP} - {PROBE, OF_DRAFT}), ids=capture_name)
def test_real_captures_are_accepted(path: Path) -> None:
    """The checks find no error in the traffic of real stacks, with one exception.

    siw sends FPDUs over many segments, with ULPDUs longer than RFC 5044 3 allows.
    """
    is_too_long = "trygso" in path.name
    texts = [error.text for error in captured_errors(path)]
    assert [text for text in texts if not (is_too_long and "(RFC 5044 3)" in text)] == []


def test_checks_agree_with_a_real_receiver() -> None:
    """The checks report each broken rule for which siw has sent a Terminate.

    They also report rules that siw does not check.  They do not know the buffers of siw.
    """
    found = {error.connection.number: error.text for error in captured_errors(PROBE)}
    for number, terminate in PROBE_TERMINATES.items():
        assert terminate in found.pop(number)
    assert found.keys() == PROBE_OTHERS


def each_of(word: str, count: int) -> str:
    """The same word with the MSNs from 1, and Atomic identifiers from 0."""
    return " ".join(f"{word}{msn}={msn - 1}" for msn in range(1, count + 1))


UNASKED = "no Atomic Request has the identifier {} (RFC 7306 5.2.2)"
EXCEEDING = (
    "RDMA Read Requests outstanding: 3, IRD of the peer: 2 (RFC 6581 9.1): 1/2/0x02, "
    "DDP / Untagged Buffer Error / Invalid MSN - no buffer available"
)
NO_HEADER = "a DDP header needs "
DEPTHS = {"ird": 1, "ord": 2}

SITUATIONS: list[tuple[str, list[str], dict[str, int]]] = [
    # MSN 0 follows 0xFFFFFFFF.  If the beginning is missing, any MSN may come first.
    (">S >S#4294967294 >S#4294967295 >S#0", ["MSN 4294967294 on queue 0, where 2"], {}),
    ("... >S#4294967294 >S#4294967295 >S#0 >S#1", [], {}),
    # Octets that are missing may hold messages.  MSNs after them are checked again.
    (">S*5 >S*4- >S >S", [], {}),
    (
        ">S*5 >S*3- >S >S#77:3000 >S",
        ["MSN 77 on queue 0, where 10", "MSN 11 on queue 0, where 78"],
        {},
    ),
    # Only the end proves these errors.  They are reported there if nothing is missing.
    (">S >R1:1 >R2:2 >R3:3 <R:1 <R:2 <R:3", [EXCEEDING], DEPTHS),
    (">S- >R1:1 >R2:2 >R3:3 <R:1 <R:2 <R:3", [], DEPTHS),
    # Responses that were not requested make no room for Requests.
    (">S <R <R >R1:1 >R2:2 >R3:3 <R:1 <R:2 <R:3", [EXCEEDING], DEPTHS),
    (">S <R <R >R1:1 >R2:2 <R:1 <R:2", [], DEPTHS),
    (">S >A1=5 <A1=6 <A2=5", [UNASKED.format(6)], DEPTHS),
    (">S- >A1=5 <A1=6 <A2=5", [], DEPTHS),
    (f">S {each_of('<A', 100)}", [UNASKED.format(each) for each in range(100)], DEPTHS),
    (f">S- {each_of('<A', 100)}", [], DEPTHS),
    # DDP segments may have any size (RFC 5041 5.2).
    (">A1=7|20 <A1=7", [], {}),
    (">I1:8|4", [], {}),
    (">I1:15|8", ["Immediate Data of 15 octets, 8 are allowed (RFC 7306 6.3)"], {}),
    (">I1:16|8", ["MO 8 of Immediate Data with 8 octets, 0"], {}),
    (">I1:12|4", ["Immediate Data of 12 octets, 8 are allowed"], {}),
    # The order is known after a message with a wrong RDMAP header.
    (">I1:9 >S#9", ["Immediate Data has exactly 8", "MSN 9 on queue 0, where 2"], {}),
    (">S >T1:4", [], {}),
    (">S >T1:4 >S", ["a message follows a Terminate (RFC 5040 5.4)"], {}),
    (">S >T1:3 >S", ["a Terminate Header", "a message follows a Terminate (RFC 5040 5.4)"], {}),
    # The agreed RTR indication needs no DDP header (RFC 6581 9.2).
    (">E <S >E", [NO_HEADER], {**DEPTHS, "a": 1, "b": 1}),
    (">E <S >E", [NO_HEADER], {**DEPTHS, "a": 1, "b": 1, "c": 1, "d": 1}),
    (">E <S >E", [NO_HEADER] * 2, {**DEPTHS, "a": 1, "c": 1}),
    (">E >S#7", ["MSN 7 on queue 0, where 1"], {**DEPTHS, "a": 1, "b": 1}),
    (">E >R1:1 >R2:2 >R3:3 <R:1 <R:2 <R:3", [EXCEEDING], {**DEPTHS, "a": 1, "b": 1}),
    (">E >S >R1:1 >R2:2 <R:1 <R:2", [], {**DEPTHS, "a": 1, "b": 1}),
]
"""Messages in the words of :mod:`tests.stream.exchange`, errors, and what both sides agreed on."""


@pytest.mark.parametrize(("words", "expected", "agreed"), SITUATIONS)
def test_situations(words: str, expected: list[str], agreed: dict[str, int]) -> None:
    """Each error is reported once, in its direction, and no other."""
    errors = errors_of(talk_of(words, **agreed).fed())
    texts = [each.text.partition(" is due (RFC 5041 4.3)")[0] for each in errors]
    assert [text[: len(due)] for text, due in zip(texts, expected, strict=True)] == expected
    assert {each.direction for each in errors} <= {int("<A" in words)}


def test_a_malformed_request_is_not_outstanding() -> None:
    """It gets no Response, so it makes no other Request exceed the limit."""
    sent = parsed(">S >R1:1 >R2:2 >R3:3 <R:2 <R:3")
    sent[1] = (0, sent[1][1][:-1], "")
    (error,) = errors_of(talk_of(sent, **DEPTHS).fed())
    assert error.text.endswith("(RFC 5040 4.4)")


@pytest.mark.parametrize(
    ("granted", "expected"),
    [
        (1, ["outstanding: 2, ORD of their sender: 1 (RFC 5040 6.1)"]),
        (2, [EXCEEDING]),
        (0x3FFF, [EXCEEDING]),
        (3, []),
    ],
)
def test_read_requests_of_the_responder(granted: int, expected: list[str]) -> None:
    """It keeps to the ORD of its Reply, too.  An ORD above the Initiator's IRD raises that."""
    words = parsed(">R1:1 >R2:2 >R3:3 <R:1 <R:2 <R:3")
    sent = [(1 - direction, *rest) for direction, *rest in words]
    talk = talk_of([*parsed(">S"), *sent], ird=2, ord=2, granted=granted)
    texts = [each.text for each in errors_of(talk.fed()) if each.code is None]
    assert len(texts) == len(expected)
    assert all(due in text for text, due in zip(texts, expected, strict=True))


def test_a_snap_length_that_cuts_an_atomic_request() -> None:
    """There is no error: the Atomic Request lies in two FPDUs, and the first was cut."""
    segments = talk_of(">A1=7|52 <A1=7").captured()
    assert not errors_of(feed(each._replace(payload=each.payload[:56]) for each in segments))


def test_an_atomic_request_that_may_not_have_been_found() -> None:
    """There is no error if the beginning of the requesting direction is unknown."""
    talk = talk_of(">A1=7 <A1=7", crc=False)
    talk.segments = [each for at, each in enumerate(talk.segments) if each.direction or at >= 4]
    events = talk.fed()
    assert [each.direction for each in fpdus(events)] == [0]
    assert not errors_of(events)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("apart", [False, True])
def test_read_requests_within_ird_in_any_order_of_capture(seed: int, apart: bool) -> None:
    """A Request acknowledges the Responses before it, so the order of capture does not matter."""
    rng = random.Random(seed)
    depth = rng.choice((1, 2, 4))
    sizes = [rng.randint(1, 3000) for _ in range(20)]
    words = [f">R{msn}:{size}" for msn, size in enumerate(sizes, 1)]
    for at, size in enumerate(sizes):
        # The greatest allowed number of Requests is outstanding.
        words.insert(depth + 2 * at, f"<R:{size}")
    talk = talk_of(" ".join([">S", *words]), ird=depth, ord=depth)
    # SYNs, their acknowledgement, startup frames, and the first Send.
    begin, far = 6, rng.choice((4, 8, 30))
    after = list(enumerate(talk.segments[begin:]))
    after.sort(
        key=lambda each: (each[1].direction if apart else each[0] + far * rng.random(), each[0])
    )
    talk.segments[begin:] = [each for _, each in after]
    assert not errors_of(talk.fed())


def late_segment() -> list[Event]:
    """Sixty Sends.  The third one was captured last."""
    talk = talk_of(">S*60")
    talk.segments.append(talk.segments.pop(7))
    return talk.fed()


@pytest.mark.parametrize(
    "events",
    [
        late_segment(),
        # No Response answers these Requests.
        talk_of(f">S {each_of('>A', 30)} <A1=4660").fed(),
        talk_of(f">S >R1 >R2 >R3 >R4 {each_of('<A', 4)}", ird=1, ord=1).fed(),
    ],
    ids=["segments", "Requests", "errors"],
)
def test_held_data_are_limited_in_total(
    events: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Waiting segments, Atomic Requests, and uncertain errors share one limit for all
    connections."""
    most = 3000
    monkeypatch.setattr(checks, "HELD_IN_TOTAL", most)
    checker = Checks()
    for event, number in product(events, range(4)):
        checker.take(event._replace(connection=ConnectionId(number, event.connection.flow)))
        assert sum(each.held for each in checker._connections.values()) <= most
    assert checker._budget.room == most
