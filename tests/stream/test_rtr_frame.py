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

from scapy_mpa.stream.events import Event
from scapy_mpa.wire.dialect import Dialect
from tests.stream.feed import fpdus
from tests.stream.scene import INVALID, Octets, Scene, Wrong
from tests.stream.startup import INITIATOR, ULPDUS, ended, errors, reply, request, seen
from tests.truth.mpastream import build_stream, startup_frame

KEYS = [b"MPA ID Rtr Frame", b"MPA ID RtR Frame"]
PROPOSAL = "rtr-frame-proposal-2007"
S_IN_BOTH = {"Q": request(enhanced=1), "A": reply(enhanced=1)}
ALL = ">Q <A >T >S <S >F <F"


def rtr(key: bytes = KEYS[0], **fields: Any) -> bytes:
    """An Rtr Frame with C set, unless told otherwise."""
    return startup_frame(key, **{"crc": 1, **fields})


def with_markers(markers: int) -> dict[str, Octets]:
    """Startup frames with S, and FPDUs, of a connection with Markers, or without."""
    return {
        "Q": request(enhanced=1, markers=markers),
        "A": reply(enhanced=1, markers=markers),
        "S": build_stream(ULPDUS, markers=bool(markers)),
    }


def check(
    scene: Scene, *wrong: Wrong, dialect: str = PROPOSAL, origin: str = ">S", markers: int = 0
) -> list[Event]:
    """These errors and no other; all FPDUs, of which the Initiator's begin at a word.

    What is there of FPDUs is located by the startup frames, with good CRCs.
    """
    events = scene.check(*wrong)
    for direction in (0, 1):
        found = fpdus(events, direction)
        assert {each.crc for each in found} <= {"good"}
        assert {(each.located_by, each.offset) for each in found[:1]} <= {("start", 4 * markers)}
    if scene.ulpdus[0]:
        _, begin = scene.at[scene.words.index(origin)]
        assert fpdus(events, 0)[0].seq == begin + 4 * markers
    assert (ended(events).dialect, ended(events).initiator) == (dialect, INITIATOR)
    return events


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("markers", [0, 1])
@pytest.mark.parametrize("size", [1, 20, 1460])
@pytest.mark.parametrize("private", [0, 5, 512])
def test_rtr_frame(key: bytes, markers: int, size: int, private: int) -> None:
    """2: it comes if both have set S; FPDUs and their Markers begin behind it, and the Responder
    speaks when it has it."""
    letters = with_markers(markers) | {"T": rtr(key, private_data=bytes(private))}
    scene = Scene(">Q <A >T <S >S >F <F", letters, size=size)
    events = check(scene, markers=markers)
    third = seen(events)[2]
    assert (third.startup.kind, third.dialect) == ("rtr", PROPOSAL)
    assert ((third.direction, third.seq), third.octets) == (scene.at[2], letters["T"])
    assert [each.dialect for each in seen(events)[:2]] == ["rfc5044", "rfc5044"]
    assert (ended(events).revision, ended(events).errors) == (1, 0)


ABOUT_S = [
    (1, 0, f"an Rtr Frame, and S of the Reply does not await one ({PROPOSAL} 5)"),
    (0, 1, f"an Rtr Frame, and S of the Request has announced none ({PROPOSAL} 2)"),
]


@pytest.mark.parametrize(("asked", "answered", "text"), ABOUT_S)
def test_s_that_is_not_set_in_both(asked: int, answered: int, text: str) -> None:
    """2 and 5: then there is none, as in RFC 5044; one that comes is named, and gone over."""
    letters = {"Q": request(enhanced=asked), "A": reply(enhanced=answered)}
    check(Scene(">Q <A >S <S >F <F", letters), dialect="rfc5044")
    check(Scene(ALL, letters), Wrong(2, INVALID, text))


def test_s_that_is_set_in_neither() -> None:
    """An Rtr Frame stands where an FPDU must: that is an error, and FPDUs follow it."""
    check(Scene(">Q <A >S <S >F <F"), dialect="rfc5044")
    scene = Scene(ALL)
    events = scene.fed()
    direction, at = scene.at[2]
    assert errors(events) == [(direction, INVALID, at)]
    assert [each.ulpdu for each in fpdus(events, 0)] == ULPDUS
    assert ended(events).dialect == "rfc5044"


@pytest.mark.parametrize("markers", [0, 1])
def test_s_that_is_merely_echoed(markers: int) -> None:
    """Linux siw echoes S in revision 1: what follows is an FPDU, and that is RFC 5044."""
    scene = Scene(">Q <A >S <S >F <F", with_markers(markers))
    check(scene, dialect="rfc5044", markers=markers)


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
@pytest.mark.parametrize("size", [100, 1460])
@pytest.mark.parametrize("private", [0, 5])
def test_captured_out_of_order(order: tuple[int, ...], size: int, private: int) -> None:
    """2: behind octets in streaming mode too, a Request that an Rtr Frame follows is one."""
    letters = S_IN_BOTH | {"T": rtr(private_data=bytes(private))}
    words = [">w", "<w", ">Q", "<A", ">T", ">S"]
    scene = Scene(" ".join([*words, "<S >F <F"]), letters, size=size)
    ends = [
        len(Scene(" ".join(words[:count]), letters, size=size).segments) for count in range(2, 7)
    ]
    parts = [scene.segments[at:end] for at, end in itertools.pairwise(ends)]
    scene.segments[ends[0] : ends[-1]] = itertools.chain.from_iterable(
        parts[each] for each in order
    )
    check(scene)


@pytest.mark.parametrize(("replied", "said"), [(1, 0), (0, 1)])
def test_c_follows_the_reply(replied: int, said: int) -> None:
    """2: C of the Rtr Frame is that of the Reply, not that of the Request."""
    letters = S_IN_BOTH | {"A": reply(enhanced=1, crc=replied)}
    check(Scene(ALL, letters | {"T": rtr(crc=replied)}))
    text = f"C of the Rtr Frame is {said}, that of the Reply {replied} ({PROPOSAL} 2)"
    check(Scene(ALL, letters | {"T": rtr(crc=said)}), Wrong(2, INVALID, text))


@pytest.mark.parametrize(
    "fields", [{"enhanced": 1}, {"rejected": 1}, {"markers": 1}, {"reserved": 9}]
)
def test_what_is_ignored(fields: dict[str, int]) -> None:
    """2: S is ignored, and R, M and Res are as in a Request (RFC 5044 7.1.1)."""
    check(Scene(ALL, S_IN_BOTH | {"T": rtr(**fields)}))


@pytest.mark.parametrize("dialect", [None, *Dialect])
@pytest.mark.parametrize("s", [(1, 1), (1, 0), (0, 1), (0, 0)])
@pytest.mark.parametrize("words", [ALL, ">Q <A >S <S >F <F", ">Q <A >F <F"])
def test_what_is_due_where_the_proposal_is_forced(
    dialect: Dialect | None, s: tuple[int, int], words: str
) -> None:
    """2: the frame comes if S is set in both; only the user knows that it is no echo."""
    scene = Scene(words, {"Q": request(enhanced=s[0]), "A": reply(enhanced=s[1])})
    events = scene.fed(dialect)
    is_missed = dialect is Dialect.RTR_PROPOSAL_2007 and s == (1, 1) and words[6:8] == ">S"
    text = f"no Rtr Frame, which S of Request and Reply has announced ({PROPOSAL} 2)"
    told = [getattr(each, "text", "") for each in events]
    assert (text in told) is is_missed
    if words[6:8] == ">S":
        scene.check(*[Wrong(2, INVALID, text)] * is_missed, events=events)


@pytest.mark.parametrize("words", [">Q <R >F <F", ">Q <R >T >F <F"])
def test_no_rtr_frame_follows_a_rejection(words: str) -> None:
    """2: only behind a Reply that accepts; behind another one it is an error."""
    scene = Scene(words, S_IN_BOTH | {"R": reply(enhanced=1, rejected=1)})
    text = f"an Rtr Frame after no Reply that accepts ({PROPOSAL} 2)"
    events = check(scene, *[Wrong(2, INVALID, text)] * (">T" in words), dialect="rfc5044")
    assert ended(events).rejected


SPOKE_EARLY = "the Responder sends before it has received an FPDU (RFC 5044 7.1.2 rule 4)"
TOO_EARLY = f"an Rtr Frame before the Initiator has received the Reply ({PROPOSAL} 2)"


@pytest.mark.parametrize(
    ("words", "text"), [(">Q <A <S >T >S >F <F", SPOKE_EARLY), (">Q >T <A >S <S >F <F", TOO_EARLY)]
)
def test_who_speaks_too_early(words: str, text: str) -> None:
    """RFC 5044 7.1.2 rule 4, with an Rtr Frame in place of the first FPDU; and 2: the frame answers
    a Reply that accepts, which its segment must acknowledge."""
    at = 2 if text == SPOKE_EARLY else 1
    check(Scene(words, S_IN_BOTH), Wrong(at, None, text))


@pytest.mark.parametrize(
    ("words", "dialect"), [(">Q <A >T >F <F", PROPOSAL), (">Q <A >F <F", "rfc5044")]
)
def test_what_a_connection_without_fpdus_tells(words: str, dialect: str) -> None:
    """Nothing is wrong, and Markers are known; no octet tells whether an Rtr Frame would come."""
    events = check(Scene(words, with_markers(1)), dialect=dialect)
    assert [each.markers for each in ended(events).halves] == [True, True]


@pytest.mark.parametrize("upto", [1, 15, 16, 19, 20, 24])
def test_an_rtr_frame_that_never_becomes_whole(upto: int) -> None:
    """Whatever is there of it, there is a result."""
    letters = S_IN_BOTH | {"T": rtr(private_data=b"private")[:upto]}
    events = Scene(">Q <A >T >F <F", letters).fed()
    assert len(errors(events)) == 1
    assert fpdus(events, 0) == []


@pytest.mark.parametrize("words", [">-Q <A", ">Q <-A", ">-Q <-A"])
@pytest.mark.parametrize("markers", [0, 1])
def test_startup_frames_before_it_that_were_not_captured(words: str, markers: int) -> None:
    """What is behind an Rtr Frame are FPDUs, whatever is known of the frames before it."""
    more = "" if markers else " >S >S"
    events = Scene(f"... {words} >T >S{more} >F <F", with_markers(markers)).fed()
    # Direction 0 is that of the first captured segment.
    found = fpdus(events, int(words.startswith(">-Q <A")))
    assert [each.ulpdu for each in found][: len(ULPDUS)] == ULPDUS
    assert found[0].offset == 4 * markers
    assert "rtr" in {each.startup.kind.value for each in seen(events)}
    assert (ended(events).dialect, ended(events).initiator) == (PROPOSAL, INITIATOR)


@pytest.mark.parametrize("markers", [0, 1])
def test_an_rtr_frame_that_was_not_captured(markers: int) -> None:
    """FPDUs behind the hole are found; where the phase begins nothing tells, nor the dialect."""
    letters = with_markers(markers) | {"s": build_stream(ULPDUS * 4, markers=bool(markers))}
    events = Scene(">Q <A >-T >s <S >F <F", letters, size=1000).check()
    assert fpdus(events, 0)[0].offset is None
    assert ended(events).dialect == "rfc5044"


def test_an_rtr_frame_first_thing() -> None:
    """It comes behind a Reply: out of place where nothing was sent before it."""
    text = f"an Rtr Frame after no Reply that accepts ({PROPOSAL} 2)"
    Scene(">T >F <F").check(Wrong(0, INVALID, text))


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
    frame = rtr(key, private_data=private)
    octets, _ = build_stream(ULPDUS, markers=bool(markers))
    scene = Scene(">Q <A", with_markers(markers))
    begin = len(scene.segments)
    at = scene.say(0, frame + octets, size=size)
    middle = scene.segments[begin:]
    random.Random(seed).shuffle(middle)
    scene.segments[begin:] = middle
    scene.say(1, octets)
    scene.close()
    events = scene.fed()
    assert errors(events) == []
    found = sorted(fpdus(events, 0), key=lambda each: each.offset or 0)
    assert [each.ulpdu for each in found] == ULPDUS
    assert (found[0].seq, found[0].offset) == (at + len(frame) + 4 * markers, 4 * markers)
    assert ended(events).dialect == PROPOSAL
