# SPDX-License-Identifier: GPL-2.0-or-later
"""The Rtr Frame: a third startup frame, if S is set in Request and Reply of revision 1
(rtr-frame-proposal-2007)."""

import itertools
from typing import Any

import pytest

from scapy_mpa.stream.events import Event
from tests.stream.feed import fpdus
from tests.stream.scene import INVALID, Octets, Scene, Wrong, both
from tests.stream.startup import INITIATOR, ULPDUS, ended, errors, reply, request, seen
from tests.truth.mpastream import build_stream, startup_frame

KEYS = [b"MPA ID Rtr Frame", b"MPA ID RtR Frame"]
PROPOSAL = "rtr-frame-proposal-2007"
S_IN_BOTH = both(enhanced=1)
ALL, NONE = ">Q <A >T >S <S >F <F", ">Q <A >S <S >F <F"


def rtr(key: bytes = KEYS[0], **fields: Any) -> bytes:
    """An Rtr Frame, with C set by default."""
    return startup_frame(key, **{"crc": 1, **fields})


def of_s(asked: int, answered: int, **fields: int) -> dict[str, Octets]:
    """Startup frames with or without S."""
    return {"Q": request(enhanced=asked), "A": reply(enhanced=answered, **fields)}


def check(scene: Scene, *wrong: Wrong, dialect: str = PROPOSAL, markers: int = 0) -> list[Event]:
    """Check for these errors and no others; FPDUs begin where the startup frames say."""
    events = scene.check(*wrong)
    for direction in (0, 1):
        found = fpdus(events, direction)
        assert {each.crc for each in found} <= {"good"}
        assert {(each.located_by, each.offset) for each in found[:1]} <= {("start", 4 * markers)}
    if scene.ulpdus[0]:
        _, begin = scene.at[scene.words.index(">S")]
        assert fpdus(events, 0)[0].seq == begin + 4 * markers
    assert (ended(events).dialect, ended(events).initiator) == (dialect, INITIATOR)
    return events


OF_2 = "a Reply that answers no Request (RFC 5044 7.1.2 rule 2)"
AWAITS_NONE = f"an Rtr Frame, and S of the Reply does not await one ({PROPOSAL} 5)"
NOT_ANNOUNCED = f"an Rtr Frame, and S of the Request has announced none ({PROPOSAL} 2)"
NOT_ACCEPTED = f"an Rtr Frame after no Reply that accepts ({PROPOSAL} 2)"
TOO_EARLY = "the Initiator sends before it has received the Reply (RFC 5044 7.1.2 rule 3)"
SPOKE_EARLY = "the Responder sends before it has received an FPDU (RFC 5044 7.1.2 rule 4)"
OTHER_C = [f"C of the Rtr Frame is {1 - c}, that of the Reply {c} ({PROPOSAL} 2)" for c in (0, 1)]
"""By C of the Reply."""

SITUATIONS: list[tuple[str, dict[str, Octets], list[Wrong], str]] = [
    # 2: an Rtr Frame comes if both have set S.  siw only echoes S, and an FPDU follows.
    *((ALL, both(enhanced=1, markers=markers), [], PROPOSAL) for markers in (0, 1)),
    *((NONE, both(enhanced=1, markers=markers), [], "rfc5044") for markers in (0, 1)),
    (">Q <A >T <S >S >F <F", S_IN_BOTH, [], PROPOSAL),
    *(
        (ALL, S_IN_BOTH | {"T": rtr(KEYS[1], private_data=bytes(size))}, [], PROPOSAL)
        for size in (0, 5, 512)
    ),
    (">Q <A >T >F <F", both(enhanced=1, markers=1), [], PROPOSAL),
    (">Q <A >F <F", both(enhanced=1, markers=1), [], "rfc5044"),
    # 2 and 5: otherwise no Rtr Frame may come.  If it comes, it is an error, and is skipped.
    *((NONE, of_s(*each), [], "rfc5044") for each in ((1, 0), (0, 1), (0, 0))),
    (ALL, of_s(0, 0), [Wrong(2, INVALID, NOT_ACCEPTED)], "rfc5044"),
    (ALL, of_s(1, 0), [Wrong(2, INVALID, AWAITS_NONE)], PROPOSAL),
    (ALL, of_s(0, 1), [Wrong(2, INVALID, NOT_ANNOUNCED)], PROPOSAL),
    (">Q <R >F <F", S_IN_BOTH, [], "rfc5044"),
    (">Q <R >T >F <F", S_IN_BOTH, [Wrong(2, INVALID, NOT_ACCEPTED)], "rfc5044"),
    # 2: C must be that of the Reply.  S is ignored, and R, M and Res are as in a Request.
    *((ALL, of_s(1, 1, crc=c) | {"T": rtr(crc=c)}, [], PROPOSAL) for c in (0, 1)),
    *(
        (ALL, of_s(1, 1, crc=c) | {"T": rtr(crc=1 - c)}, [Wrong(2, INVALID, OTHER_C[c])], PROPOSAL)
        for c in (0, 1)
    ),
    (ALL, S_IN_BOTH | {"T": rtr(enhanced=1, rejected=1, markers=1, reserved=9)}, [], PROPOSAL),
    # A second Rtr Frame, of either side.
    (">Q <A >T >T >S <S >F <F", S_IN_BOTH, [Wrong(3, INVALID, NOT_ACCEPTED)], PROPOSAL),
    (">Q <A >T <T >S <S >F <F", S_IN_BOTH, [Wrong(3, INVALID, NOT_ACCEPTED)], PROPOSAL),
    # Another frame of the Responder, while the Initiator's first octets must show what S means.
    *(
        (f">Q <A <{frame} >S <S >F <F", of_s(*each), [Wrong(2, INVALID, text)], "rfc5044")
        for each in ((1, 0), (0, 1), (1, 1), (0, 0))
        for frame, text in (("A", OF_2), ("T", NOT_ACCEPTED))
    ),
    # A side that sends too early.
    (">Q <A <S >T >S >F <F", S_IN_BOTH, [Wrong(2, None, SPOKE_EARLY)], PROPOSAL),
    (">Q >T <A >S <S >F <F", S_IN_BOTH, [Wrong(1, None, TOO_EARLY)], PROPOSAL),
]


@pytest.mark.parametrize("at", range(len(SITUATIONS)))
def test_situations(at: int) -> None:
    """Each word is sent in one segment, and without errors also in pieces."""
    words, letters, wrong, dialect = SITUATIONS[at]
    markers = int(letters["Q"] == both(enhanced=1, markers=1)["Q"])
    for size in (None, 20) if not wrong else (None,):
        scene = Scene(words, letters, size=size)
        events = check(scene, *wrong, dialect=dialect, markers=markers)
        if ">T" in words and not wrong:
            third = seen(events)[2]
            assert (third.startup.kind, third.dialect) == ("rtr", PROPOSAL)
            assert (third.direction, third.seq) == scene.at[2]
        found = [each.markers for each in ended(events).halves]
        assert found == [bool(markers)] * 2 or "R" in words


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_captured_out_of_order(order: tuple[int, ...]) -> None:
    """2: the Rtr Frame confirms the Request before it, even after octets in streaming mode."""
    letters = S_IN_BOTH | {"T": rtr(private_data=bytes(5))}
    words = [">w", "<w", ">Q", "<A", ">T", ">S"]
    for size in (100, 1460):
        scene = Scene(" ".join([*words, "<S >F <F"]), letters, size=size)
        ends = [len(Scene(" ".join(words[:at]), letters, size=size).segments) for at in range(2, 7)]
        parts = [scene.segments[at:end] for at, end in itertools.pairwise(ends)]
        scene.segments[ends[0] : ends[-1]] = [each for at in order for each in parts[at]]
        check(scene)


@pytest.mark.parametrize("upto", [1, 15, 16, 19, 20, 24])
def test_an_rtr_frame_that_never_becomes_whole(upto: int) -> None:
    """Any part of it gives one error, and no FPDU."""
    letters = S_IN_BOTH | {"T": rtr(private_data=b"private")[:upto]}
    events = Scene(">Q <A >T >F <F", letters).fed()
    assert len(errors(events)) == 1
    assert fpdus(events, 0) == []


@pytest.mark.parametrize("markers", [0, 1])
def test_frames_that_were_not_captured(markers: int) -> None:
    """FPDUs are found if a frame is missing.

    The beginning of the phase and the dialect stay unknown.
    """
    letters = both(enhanced=1, markers=markers)
    letters |= {"s": build_stream(ULPDUS * 4, markers=bool(markers))}
    for words in (">-Q <A", ">Q <-A", ">-Q <-A"):
        events = Scene(f"... {words} >T >S{'' if markers else ' >S >S'} >F <F", letters).fed()
        # Direction 0 is that of the first captured segment.
        found = fpdus(events, int(words == ">-Q <A"))
        assert [each.ulpdu for each in found][: len(ULPDUS)] == ULPDUS
    for frame in (">-T", ">T/11"):
        events = Scene(f">Q <A {frame} >s <S >F <F", letters, size=1000).check()
        assert fpdus(events, 0)[0].offset is None
        assert ended(events).dialect == "rfc5044"
