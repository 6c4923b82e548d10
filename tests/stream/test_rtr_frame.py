# SPDX-License-Identifier: GPL-2.0-or-later
"""The Rtr Frame: a third startup frame, if S is set in Request and Reply of revision 1
(rtr-frame-proposal-2007)."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.stream.events import ErrorFound, Event
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import ErrorCode
from tests.stream.feed import fpdus
from tests.stream.startup import ULPDUS, ended, errors, reply, request, seen
from tests.stream.talk import Talk
from tests.truth.mpastream import build_stream, startup_frame

KEYS = [b"MPA ID Rtr Frame", b"MPA ID RtR Frame"]
PROPOSAL = "rtr-frame-proposal-2007"


def rtr(key: bytes = KEYS[0], **fields: Any) -> bytes:
    """An Rtr Frame with C set, unless told otherwise."""
    return startup_frame(key, **{"crc": 1, **fields})


def texts(events: list[Event]) -> list[str]:
    """What the errors say."""
    return [each.text for each in events if isinstance(each, ErrorFound)]


def check_found(events: list[Event], origin: int, *, markers: int = 0) -> None:
    """All FPDUs are found in both directions; the Initiator's phase begins at ``origin``."""
    for direction in (0, 1):
        found = fpdus(events, direction)
        assert [each.ulpdu for each in found] == ULPDUS
        assert {each.crc for each in found} == {"good"}
        assert found[0].located_by == "start"
        assert found[0].offset == (4 if markers else 0)
    first = fpdus(events, 0)[0]
    assert first.seq == origin + (4 if markers else 0)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("markers", [0, 1])
@pytest.mark.parametrize("size", [1, 20, 1460])
@pytest.mark.parametrize("private", [0, 5, 512])
def test_rtr_frame(key: bytes, markers: int, size: int, private: int) -> None:
    """2: it comes if both have set S; FPDUs and their Markers begin behind it, and the Responder
    speaks when it has it."""
    octets, _ = build_stream(ULPDUS, markers=bool(markers))
    frame = rtr(key, private_data=bytes(private))
    talk = Talk()
    talk.say(0, request(enhanced=1, markers=markers), size=size)
    talk.say(1, reply(enhanced=1, markers=markers), size=size)
    at = talk.say(0, frame, size=size)
    talk.say(1, octets)
    talk.say(0, octets, size=1000)
    talk.close()
    events = talk.fed()
    assert texts(events) == []
    check_found(events, at + len(frame), markers=markers)
    third = seen(events)[2]
    assert (third.startup.kind, third.dialect, third.seq) == ("rtr", PROPOSAL, at)
    assert third.octets == frame
    assert [each.dialect for each in seen(events)[:2]] == ["rfc5044", "rfc5044"]
    end = ended(events)
    assert (end.dialect, end.revision, end.errors) == (PROPOSAL, 1, 0)
    assert end.initiator == "10.0.0.1:40000"


@pytest.mark.parametrize("markers", [0, 1])
def test_s_that_is_merely_echoed(markers: int) -> None:
    """Linux siw echoes S in revision 1: what follows is an FPDU, and that is RFC 5044."""
    octets, _ = build_stream(ULPDUS, markers=bool(markers))
    talk = Talk()
    talk.say(0, request(enhanced=1, markers=markers))
    talk.say(1, reply(enhanced=1, markers=markers))
    at = talk.say(0, octets)
    talk.say(1, octets)
    talk.close()
    events = talk.fed()
    assert texts(events) == []
    check_found(events, at, markers=markers)
    assert ended(events).dialect == "rfc5044"


@pytest.mark.parametrize(
    ("s", "what"),
    [
        ((1, 0), f"S of the Reply does not await one ({PROPOSAL} 5)"),
        ((0, 1), f"S of the Request has announced none ({PROPOSAL} 2)"),
    ],
)
def test_rtr_frame_that_the_other_side_does_not_want(s: tuple[int, int], what: str) -> None:
    """2 and 5: with S in one frame only there is none; one that comes is named, and gone over."""
    octets, _ = build_stream(ULPDUS, markers=False)
    talk = Talk()
    talk.say(0, request(enhanced=s[0]))
    talk.say(1, reply(enhanced=s[1]))
    at = talk.say(0, rtr())
    events = talk.speak(octets)
    check_found(events, at + 20)
    assert errors(events) == [(0, ErrorCode.INVALID_STARTUP_FRAME, at)]
    assert what in texts(events)[0]


@pytest.mark.parametrize("s", [(1, 0), (0, 1), (0, 0)])
def test_no_rtr_frame_where_none_is_due(s: tuple[int, int]) -> None:
    """2 and 5: without S in both frames all is as in RFC 5044, and nothing is wrong."""
    octets, _ = build_stream(ULPDUS, markers=False)
    talk = Talk()
    talk.say(0, request(enhanced=s[0]))
    talk.say(1, reply(enhanced=s[1]))
    at = talk.say(0, octets)
    talk.say(1, octets)
    talk.close()
    events = talk.fed()
    assert texts(events) == []
    check_found(events, at)
    assert ended(events).dialect == "rfc5044"


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
@pytest.mark.parametrize("size", [100, 1460])
@pytest.mark.parametrize("private", [0, 5])
def test_captured_out_of_order(order: tuple[int, ...], size: int, private: int) -> None:
    """2: behind octets in streaming mode too, a Request that an Rtr Frame follows is one."""
    octets, _ = build_stream(ULPDUS, markers=False)
    talk = Talk()
    talk.say(0, b"hello")
    talk.say(1, b"hello")
    parts = []
    for direction, said in (
        (0, request(enhanced=1)),
        (1, reply(enhanced=1)),
        (0, rtr(private_data=bytes(private))),
        (0, octets),
    ):
        before = len(talk.segments)
        begin = talk.say(direction, said, size=size)
        parts.append(talk.segments[before:])
        del talk.segments[before:]
    talk.segments += itertools.chain.from_iterable(parts[each] for each in order)
    talk.say(1, octets)
    talk.close()
    events = talk.fed()
    assert texts(events) == []
    assert sorted(each.startup.kind for each in seen(events)) == ["reply", "request", "rtr"]
    check_found(events, begin)
    assert (ended(events).dialect, ended(events).initiator) == (PROPOSAL, "10.0.0.1:40000")


def test_rtr_frame_where_nobody_has_set_s() -> None:
    """It stands where an FPDU must: that is an error, and FPDUs follow it."""
    octets, _ = build_stream(ULPDUS, markers=False)
    talk = Talk()
    talk.say(0, request())
    talk.say(1, reply())
    at = talk.say(0, rtr())
    events = talk.speak(octets)
    assert [each.ulpdu for each in fpdus(events, 0)] == ULPDUS
    assert errors(events) == [(0, ErrorCode.INVALID_STARTUP_FRAME, at)]
    assert ended(events).dialect == "rfc5044"


@pytest.mark.parametrize(("replied", "said"), [(1, 0), (0, 1)])
def test_c_follows_the_reply(replied: int, said: int) -> None:
    """2: C of the Rtr Frame is that of the Reply, not that of the Request."""
    octets, _ = build_stream(ULPDUS, markers=False)
    for c, wrong in ((said, True), (replied, False)):
        talk = Talk()
        talk.say(0, request(enhanced=1, crc=1))
        talk.say(1, reply(enhanced=1, crc=replied))
        at = talk.say(0, rtr(crc=c))
        talk.say(0, octets)
        talk.say(1, octets)
        talk.close()
        events = talk.fed()
        check_found(events, at + 20)
        assert errors(events) == [(0, ErrorCode.INVALID_STARTUP_FRAME, at)] * wrong
        assert all("C of the Rtr Frame" in text for text in texts(events))


@pytest.mark.parametrize(
    "fields", [{"enhanced": 1}, {"rejected": 1}, {"markers": 1}, {"reserved": 9}]
)
def test_what_is_ignored(fields: dict[str, int]) -> None:
    """2: S is ignored, and R, M and Res are as in a Request (RFC 5044 7.1.1)."""
    octets, _ = build_stream(ULPDUS, markers=False)
    talk = Talk()
    talk.say(0, request(enhanced=1))
    talk.say(1, reply(enhanced=1))
    at = talk.say(0, rtr(**fields))
    events = talk.speak(octets)
    assert texts(events) == []
    check_found(events, at + 20)


@pytest.mark.parametrize("dialect", [None, *Dialect])
@pytest.mark.parametrize("s", [(1, 1), (1, 0), (0, 1), (0, 0)])
@pytest.mark.parametrize("first", ["rtr", "fpdu", "nothing"])
def test_what_is_due_where_the_proposal_is_forced(
    dialect: Dialect | None, s: tuple[int, int], first: str
) -> None:
    """2: the frame comes if S is set in both; only the user knows that it is no echo."""
    octets, _ = build_stream(ULPDUS, markers=False)
    talk = Talk()
    talk.say(0, request(enhanced=s[0]))
    talk.say(1, reply(enhanced=s[1]))
    at = talk.next[0]
    if first == "rtr":
        talk.say(0, rtr())
    if first != "nothing":
        talk.say(0, octets)
        talk.say(1, octets)
    talk.close()
    events = talk.fed(dialect)
    is_missed = dialect is Dialect.RTR_PROPOSAL_2007 and s == (1, 1) and first == "fpdu"
    text = f"no Rtr Frame, which S of Request and Reply has announced ({PROPOSAL} 2)"
    assert (text in texts(events)) is is_missed
    if is_missed:
        assert errors(events) == [(0, ErrorCode.INVALID_STARTUP_FRAME, at)]
    if first == "fpdu":
        check_found(events, at)


@pytest.mark.parametrize("captured", [False, True])
def test_no_rtr_frame_follows_a_rejection(captured: bool) -> None:
    """2: only behind a Reply that accepts; behind another one it is an error."""
    talk = Talk()
    talk.say(0, request(enhanced=1))
    talk.say(1, reply(enhanced=1, rejected=1))
    wrong = [(0, ErrorCode.INVALID_STARTUP_FRAME, talk.say(0, rtr()))] if captured else []
    talk.close()
    events = talk.fed()
    assert errors(events) == wrong
    kinds = ["request", "reply", "rtr"] if captured else ["request", "reply"]
    assert [each.startup.kind.value for each in seen(events)] == kinds
    assert ended(events).rejected
    assert ended(events).dialect == "rfc5044"


def test_the_responder_speaks_before_it_has_the_rtr_frame() -> None:
    """RFC 5044 7.1.2 rule 4, with an Rtr Frame in place of the first FPDU."""
    octets, _ = build_stream(ULPDUS, markers=False)
    talk = Talk()
    talk.say(0, request(enhanced=1))
    talk.say(1, reply(enhanced=1))
    early = talk.say(1, octets)
    at = talk.say(0, rtr())
    talk.say(0, octets)
    talk.close()
    events = talk.fed()
    check_found(events, at + 20)
    assert errors(events) == [(1, None, early)]
    assert "rule 4" in texts(events)[0]


def test_an_rtr_frame_before_the_reply() -> None:
    """2: it answers a Reply that accepts, which its segment must acknowledge."""
    octets, _ = build_stream(ULPDUS, markers=False)
    talk = Talk()
    talk.say(0, request(enhanced=1))
    at = talk.say(0, rtr())
    talk.say(1, reply(enhanced=1))
    events = talk.speak(octets)
    check_found(events, at + 20)
    assert errors(events) == [(0, None, at)]
    text = "an Rtr Frame before the Initiator has received the Reply"
    assert texts(events) == [f"{text} ({PROPOSAL} 2)"]


def test_an_rtr_frame_is_what_the_initiator_ends_with() -> None:
    """The connection ends behind it: no FPDU, nothing wrong, Markers known."""
    talk = Talk()
    talk.say(0, request(enhanced=1, markers=1))
    talk.say(1, reply(enhanced=1, markers=1))
    talk.say(0, rtr())
    talk.close()
    events = talk.fed()
    assert texts(events) == []
    assert [each.markers for each in ended(events).halves] == [True, True]


def test_nothing_follows_the_reply() -> None:
    """No octet tells whether an Rtr Frame would have come."""
    talk = Talk()
    talk.say(0, request(enhanced=1, markers=1))
    talk.say(1, reply(enhanced=1, markers=1))
    talk.close()
    events = talk.fed()
    assert texts(events) == []
    end = ended(events)
    assert [each.markers for each in end.halves] == [True, True]
    assert end.dialect == "rfc5044"


@pytest.mark.parametrize("upto", [1, 15, 16, 19, 20, 24])
def test_an_rtr_frame_that_never_becomes_whole(upto: int) -> None:
    """Whatever is there of it, there is a result."""
    talk = Talk()
    talk.say(0, request(enhanced=1))
    talk.say(1, reply(enhanced=1))
    talk.say(0, rtr(private_data=b"private")[:upto])
    talk.close()
    events = talk.fed()
    assert len(errors(events)) == 1
    assert fpdus(events, 0) == []


@pytest.mark.parametrize("lost", ["request", "reply", "both"])
@pytest.mark.parametrize("markers", [0, 1])
def test_startup_frames_before_it_that_were_not_captured(lost: str, markers: int) -> None:
    """What is behind an Rtr Frame are FPDUs, whatever is known of the frames before it."""
    octets, _ = build_stream(ULPDUS, markers=bool(markers))
    talk = Talk(syn=False)
    talk.say(0, request(enhanced=1, markers=markers), captured=lost == "reply")
    talk.say(1, reply(enhanced=1, markers=markers), captured=lost == "request")
    talk.say(0, rtr())
    for _ in range(3):
        talk.say(0, octets)
        octets = build_stream(ULPDUS, markers=False)[0] if not markers else b""
    talk.close()
    events = talk.fed()
    # Direction 0 is that of the first captured segment.
    found = fpdus(events, int(lost == "request"))
    assert [each.ulpdu for each in found][: len(ULPDUS)] == ULPDUS
    assert found[0].offset == 4 * markers
    assert "rtr" in {each.startup.kind.value for each in seen(events)}
    assert ended(events).dialect == PROPOSAL
    assert ended(events).initiator == "10.0.0.1:40000"


@pytest.mark.parametrize("markers", [0, 1])
def test_an_rtr_frame_that_was_not_captured(markers: int) -> None:
    """FPDUs behind the hole are found; where the phase begins nothing tells, nor the dialect."""
    octets, _ = build_stream(ULPDUS * 4, markers=bool(markers))
    talk = Talk()
    talk.say(0, request(enhanced=1, markers=markers))
    talk.say(1, reply(enhanced=1, markers=markers))
    talk.miss(0, rtr())
    talk.say(0, octets, size=1000)
    talk.say(1, build_stream(ULPDUS, markers=bool(markers))[0])
    talk.close()
    events = talk.fed()
    assert [each.ulpdu for each in fpdus(events, 0)] == ULPDUS * 4
    assert fpdus(events, 0)[0].offset is None
    assert [each.ulpdu for each in fpdus(events, 1)] == ULPDUS
    assert texts(events) == []
    assert ended(events).dialect == "rfc5044"


def test_an_rtr_frame_first_thing() -> None:
    """It comes behind a Reply: out of place where nothing was sent before it."""
    talk = Talk()
    at = talk.say(0, rtr())
    talk.close()
    events = talk.fed()
    assert errors(events) == [(0, ErrorCode.INVALID_STARTUP_FRAME, at)]
    assert f"({PROPOSAL} 2)" in texts(events)[0]


@given(
    st.integers(0, 1),
    st.sampled_from(KEYS),
    st.binary(max_size=40),
    st.integers(1, 700),
    st.integers(0, 1 << 16),
)
def test_however_it_is_cut_and_in_whichever_order(
    markers: int, key: bytes, private: bytes, size: int, seed: int
) -> None:
    """Segments of the Initiator behind its Request come in any order: the same FPDUs."""
    octets, _ = build_stream(ULPDUS, markers=bool(markers))
    frame = rtr(key, private_data=private)
    talk = Talk()
    talk.say(0, request(enhanced=1, markers=markers))
    talk.say(1, reply(enhanced=1, markers=markers))
    begin = len(talk.segments)
    at = talk.say(0, frame + octets, size=size)
    end = len(talk.segments)
    middle = talk.segments[begin:end]
    random.Random(seed).shuffle(middle)
    talk.segments[begin:end] = middle
    talk.say(1, octets)
    talk.close()
    events = talk.fed()
    assert texts(events) == []
    found = sorted(fpdus(events, 0), key=lambda each: each.offset or 0)
    assert [each.ulpdu for each in found] == ULPDUS
    assert found[0].seq == at + len(frame) + 4 * markers
    assert found[0].offset == 4 * markers
    assert ended(events).dialect == PROPOSAL
