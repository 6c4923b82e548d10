# SPDX-License-Identifier: GPL-2.0-or-later
"""Errors that the checks above MPA find, and captures without errors (RFC 5041 4.3, 5.4)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.capture import open_capture
from scapy_mpa.craft import Conversation, FPDUItem, Segment, impair
from scapy_mpa.craft.impairments import SnapLength
from scapy_mpa.stream import checks
from scapy_mpa.stream.checks import Checks
from scapy_mpa.stream.events import ConnectionEnded, ConnectionId, ErrorFound, Event, FPDURecovered
from scapy_mpa.wire.ddp import ulpdus_of
from tests.captures import OVER_TCP, PCAPS, capture_name
from tests.craft.strategies import conversations
from tests.stream.crafted import places
from tests.stream.feed import decoded, feed

PROBE = PCAPS / "live_siw_probe_guest_eth0.pcap.gz"
"""A capture that breaks one rule in each connection, see ``pcaps/README.md``."""

PROBE_TERMINATES = {
    70: "1/2/0x03",
    71: "1/2/0x03",
    73: "1/2/0x06",
    74: "1/2/0x06",
    75: "1/1/0x04",
    96: "1/2/0x03",
}
"""The error in siw's Terminate, by the number of the connection, where siw conforms."""

OF_DRAFT = PCAPS / "crafted" / "draft_ulp_send.pcap"
PROBE_OTHERS = {
    *(38, 62),  # RTR, TO wrap
    *(66, 67, 68, 69),  # queues
    *(77, 78, 79, 80, 81, 82, 83, 87, 88),  # versions, opcodes, T
    *(95, 99, 100, 101),  # RDMA Read
    112,  # a ULPDU of 65535 octets
    *(105, 106, 119),  # Terminate on another queue, ULPDU_Length 0, after a Terminate
}
"""Connections in which the client breaks another visible rule; in connection 38, the server."""


def events_of(conversation: Conversation, segments: list[Segment] | None = None) -> list[Event]:
    """The events of a conversation."""
    return feed(decoded(conversation.frames(segments)))


def errors_of(events: list[Event]) -> list[ErrorFound]:
    """The errors that the checks add."""
    checker = Checks()
    added: list[Event] = []
    for event in events:
        out = list(checker.take(event))
        # Errors come after the given event, but before the end of a connection.
        given = out.pop(-1 if isinstance(event, ConnectionEnded) else 0)
        assert given is event or isinstance(given, ConnectionEnded)
        added += out
    errors = [each for each in added if isinstance(each, ErrorFound)]
    assert len(errors) == len(added)
    return errors


def sends(count: int, **options: Any) -> Conversation:
    """Short and long Sends of both sides."""
    conversation = Conversation(**options)
    for number in range(count):
        conversation.initiator.send(bytes(3000 if number % 3 == 0 else 40))
        conversation.responder.send(bytes(50))
    conversation.close()
    return conversation


def scripted(words: str, **startup: int) -> Conversation:
    """A conversation in shorthand such as ``>R3 <R3``.

    ``>`` is the Initiator.  S is a Send.  R3 is a Request or Response of an RDMA Read of 3 octets,
    A5 one of an Atomic Operation with identifier 5.
    """
    conversation = Conversation(revision=2)
    conversation.startup(**startup)
    for word in words.split():
        side = conversation.initiator if word[0] == ">" else conversation.responder
        number = int(word[2:] or 0)
        if word[1] == "S":
            side.send(b"hello")
        elif word[1] == "A" and word[0] == ">":
            side.atomic_request(request_identifier=number)
        elif word[1] == "A":
            side.atomic_response(request_identifier=number)
        elif word[0] == ">":
            side.read_request(number)
        else:
            side.read_response(bytes(number))
    conversation.close()
    return conversation


def each_of(word: str, numbers: Iterable[int]) -> str:
    """The same word with each number."""
    return " ".join(f"{word}{number}" for number in numbers)


def after_hello(segments: list[Segment]) -> int:
    """The index after the first Send."""
    return next(at for at, each in enumerate(segments) if b"hello" in each.octets) + 1


def with_msn(conversation: Conversation, chosen: int, msn: int) -> Conversation:
    """The conversation with another MSN in the Initiator's message ``chosen``."""
    return conversation.with_script(
        item.with_header(msn=msn)
        if isinstance(item, FPDUItem) and not item.side and item.header.msn == chosen
        else item
        for item in conversation.script
    )


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
    assert not errors_of(events_of(conversation, segments))


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


def test_msn_wraps() -> None:
    """MSN 0 follows 0xFFFFFFFF.  If the beginning is missing, any MSN may come first."""
    conversation = Conversation()
    conversation.initiator.send(b"first")
    conversation.initiator.set_msn(0, 0xFFFFFFFE)
    for _ in range(6):
        conversation.initiator.send(b"more")
    assert len(errors_of(events_of(conversation))) == 1
    segments = [each for each in conversation.segments() if b"first" not in each.octets]
    assert not errors_of(events_of(conversation, segments[5:]))


def interleaved(events: list[Event], count: int) -> Iterator[tuple[int, Event]]:
    """Each event of one connection, repeated for ``count`` connections with their numbers."""
    for event, number in product(events, range(count)):
        yield number, event._replace(connection=ConnectionId(number, event.connection.flow))


def late_segment() -> list[Event]:
    """Sixty Sends.  The third one was captured last."""
    conversation = sends(60, markers=True)
    segments = conversation.segments()
    segments.append(segments.pop(places(segments, 0)[2]))
    return events_of(conversation, segments)


def many_requests() -> list[Event]:
    """Thirty Atomic Requests, and a Response that answers none of them."""
    return events_of(scripted(each_of(">A", range(30)) + " <A4660"))


@pytest.mark.parametrize(
    "events",
    [
        late_segment,
        many_requests,
        lambda: events_of(scripted(">S >R1 >R2 >R3 >R4 <A0 <A1 <A2 <A3", ird=1, ord=1)),
    ],
)
def test_held_data_are_limited_in_total(
    events: Callable[[], list[Event]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Waiting segments, Atomic Requests, and uncertain errors share one limit for all
    connections."""
    most = 3000
    monkeypatch.setattr(checks, "HELD_IN_TOTAL", most)
    checker = Checks()
    for _, event in interleaved(events(), 4):
        checker.take(event)
        assert sum(each.held for each in checker._connections.values()) <= most
    assert checker._budget.room == most


UNASKED = "no Atomic Request has the identifier {} (RFC 7306 5.2.2)"
EXCEEDING = (
    "RDMA Read Requests outstanding: 3, IRD of the peer: 2 (RFC 6581 9.1): 1/2/0x02, "
    "DDP / Untagged Buffer Error / Invalid MSN - no buffer available"
)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (">S >R1 >R2 >R3 <R1 <R2 <R3", [EXCEEDING]),
        (">S >A5 <A6 <A5", [UNASKED.format(6)]),
        (f">S {each_of('<A', range(100))}", [UNASKED.format(each) for each in range(100)]),
    ],
)
def test_errors_that_the_end_proves(words: str, expected: list[str]) -> None:
    """Some errors are proven only at the end.  They are reported there if nothing is missing."""
    conversation = scripted(words, ird=1, ord=2)
    found = errors_of(events_of(conversation))
    assert [each.text for each in found] == expected
    assert {each.direction for each in found} == {int("<A" in words)}
    segments = conversation.segments()
    del segments[after_hello(segments) - 1]
    assert not errors_of(events_of(conversation, segments))


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("apart", [False, True])
def test_read_requests_within_ird_in_any_order_of_capture(seed: int, apart: bool) -> None:
    """A Request acknowledges the Responses before it, so the order of capture does not matter."""
    rng = random.Random(seed)
    depth = rng.choice((1, 2, 4))
    sizes = [rng.randint(1, 3000) for _ in range(20)]
    words = [f">R{size}" for size in sizes]
    for at, size in enumerate(sizes):
        # The greatest allowed number of Requests is outstanding.
        words.insert(depth + 2 * at, f"<R{size}")
    conversation = scripted(" ".join([">S", *words]), ird=depth, ord=depth)
    segments = conversation.segments()
    hello = after_hello(segments)
    far = rng.choice((4, 8, 30))
    order = sorted(
        range(hello, len(segments)),
        key=lambda at: (at + far * rng.random(), at) if not apart else (segments[at].side, at),
    )
    captured = [*segments[:hello], *(segments[at] for at in order)]
    assert not errors_of(events_of(conversation, captured))


@pytest.mark.parametrize(("piece", "captured"), [(20, 1514), (52, 110)])
def test_atomic_response_whose_request_is_in_pieces(piece: int, captured: int) -> None:
    """DDP segments may have any size (RFC 5041 5.2), and a snap length may cut them."""
    conversation = Conversation()
    conversation.initiator.atomic_request(request_identifier=7)
    *before, item = conversation.script
    assert isinstance(item, FPDUItem)
    conversation = conversation.with_script(before)
    for ulpdu in ulpdus_of(item.header, item.payload, item.header.length + piece):
        conversation.initiator.fpdu(ulpdu)
    conversation.responder.atomic_response(request_identifier=7)
    conversation.close()
    events = events_of(conversation, impair(conversation.segments(), SnapLength(captured)))
    assert not errors_of(events)


def test_errors_are_counted() -> None:
    """The event of a connection's end counts the errors that were added."""
    conversation = with_msn(sends(8), 5, 100)
    checker = Checks()
    out = [each for event in events_of(conversation) for each in checker.take(event)]
    last = out[-1]
    assert isinstance(last, ConnectionEnded)
    assert last.errors == sum(isinstance(each, ErrorFound) for each in out) > 0
    assert not checker._connections


@pytest.mark.parametrize(("flags", "is_rtr"), [("AB", True), ("ABCD", True), ("AC", False)])
def test_fpdu_of_no_octets_as_rtr(flags: str, is_rtr: bool) -> None:
    """The agreed RTR indication needs no DDP header (RFC 6581 9.2)."""
    conversation = Conversation(revision=2, strict=False)
    conversation.startup(control_flags=flags)
    conversation.initiator.fpdu(b"")
    conversation.responder.send(b"hello")
    conversation.initiator.fpdu(b"")
    conversation.close()
    errors = errors_of(events_of(conversation))
    assert ["RFC 5041 4.4" in each.text for each in errors] == [True] * (2 - is_rtr)


def test_atomic_response_whose_request_may_not_have_been_found() -> None:
    """There is no error if the beginning of the requesting direction is unknown."""
    conversation = Conversation(crc=False)
    conversation.startup()
    request = conversation.initiator.atomic_request()
    conversation.responder.atomic_response(request=request)
    conversation.close()
    segments = conversation.segments()
    late = [each for at, each in enumerate(segments) if each.side or at >= 4]
    events = events_of(conversation, late)
    assert [each.direction for each in events if isinstance(each, FPDURecovered)] == [0]
    assert not errors_of(events)


@pytest.mark.parametrize(
    ("msn", "expected"),
    [(10, []), (77, ["MSN 77 on queue 0, where 10", "MSN 11 on queue 0, where 78"])],
)
def test_any_msn_may_come_after_a_hole(msn: int, expected: list[str]) -> None:
    """The missing octets may hold messages.  MSNs after them are checked again."""
    conversation = with_msn(sends(12), 10, msn)
    segments = conversation.segments()
    lost = places(segments, 0)[5:9]
    captured = [each for at, each in enumerate(segments) if at not in lost]
    errors = errors_of(events_of(conversation, captured))
    assert [each.text.partition(" is due (RFC 5041 4.3)")[0] for each in errors] == expected
