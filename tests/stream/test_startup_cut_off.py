# SPDX-License-Identifier: GPL-2.0-or-later
"""Startup frames of which the snap length cut off octets: what may have been there is no breach."""

from __future__ import annotations

import pytest

from scapy_mpa.stream.events import ErrorFound, GapFound
from tests.stream.cut import fed_with_cuts, stream, wrong
from tests.stream.feed import fpdus
from tests.stream.scene import Octets, Scene
from tests.stream.startup import ended, errors, reply, request, seen
from tests.truth import messages
from tests.truth.mpastream import build_stream, enhanced_data

ENDS = {"closed": " >F <F", "reset": " >X", "capture ended": ""}


def fpdus_of(size: int, count: int = 4, *, markers: bool = False) -> tuple[dict[str, Octets], int]:
    """FPDUs as letter S, and the size of segments that hold one each."""
    octets, truth = stream([size] * count if size else [], markers=markers)
    return {"S": (octets, truth)}, truth[0].end if truth else 1


def test_a_startup_frame_that_was_cut_off() -> None:
    """Private Data beyond the snap length: the frame is seen or not, but nothing breaks."""
    letters, size = fpdus_of(300, 6)
    scene = Scene(">Q <A >S", letters | {"Q": request(private_data=b"p" * 200)}, size=size)
    found = fpdus(fed_with_cuts(scene, {3: 60}), 0)
    assert [each.ulpdu for each in found] == scene.ulpdus[0]


@pytest.mark.parametrize("markers", [0, 1])
@pytest.mark.parametrize("there", [0, 1, 4, 12, 16, 19])
@pytest.mark.parametrize("private", [0, 16])
@pytest.mark.parametrize("size", [0, 40, 400])
@pytest.mark.parametrize("which", [(0,), (1,), (0, 1)])
def test_the_header_of_a_startup_frame_was_cut_off(
    which: tuple[int, ...], size: int, private: int, there: int, markers: int
) -> None:
    """What it was is not told, but it was there: nothing is wrong, and FPDUs are found."""
    frames = [each(markers=markers, private_data=bytes(private)) for each in (request, reply)]
    letters, step = fpdus_of(size, 6, markers=bool(markers))
    letters |= {"Q": frames[0], "A": frames[1]}
    scene = Scene(">Q <A >S <S >F <F", letters, size=max(step, len(frames[0])))
    events = fed_with_cuts(scene, {3 + direction: there for direction in which})
    scene.frames = [frames[at] for at in (0, 1) if at not in which]
    scene.check(events=events)
    gaps = [each for each in wrong(events) if isinstance(each, GapFound)]
    if size and not markers:
        # Else nothing was looked for there.
        expected = [(scene.at[at][1], len(frames[at]), "snap length") for at in which]
        assert [(each.seq, each.length, each.reason) for each in gaps] == expected
    assert (ended(events).initiator is None) is (len(which) == 2)


@pytest.mark.parametrize("there", [0, 4, 16, 19])
@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
@pytest.mark.parametrize(("words", "which"), [(">P", 3), (">P <A", 4)])
def test_nothing_but_such_a_startup_frame(words: str, which: int, end: str, there: int) -> None:
    """The connection may have ended behind it: nobody knows that it was in its midst."""
    scene = Scene(words + end, {"P": request(private_data=b"data")})
    assert errors(fed_with_cuts(scene, {which: there})) == []


@pytest.mark.parametrize("there", [0, 4, 16, 19])
@pytest.mark.parametrize(
    "which", [(3,), (4,), (5,), (6,), (3, 4), (4, 5), (5, 6), (3, 5), (4, 6), (3, 4, 5, 6)]
)
def test_startup_frames_cut_where_others_are_not(which: tuple[int, ...], there: int) -> None:
    """A Reply may have rejected the Request before it, and another Request have followed."""
    letters, size = fpdus_of(300)
    scene = Scene(">Q <R >Q <A >S <S >F <F", letters, size=size)
    scene.frames = [each for at, each in enumerate(scene.frames, 3) if at not in which]
    scene.check(events=fed_with_cuts(scene, dict.fromkeys(which, there)))


@pytest.mark.parametrize("end", ["", " >F <F"])
@pytest.mark.parametrize("there", [1, 4, 28])
@pytest.mark.parametrize("then", ["", " >S"])
def test_octets_that_are_no_reply_whatever_was_cut_off(then: str, there: int, end: str) -> None:
    """Where the Reply must begin, others stand for certain (7.1.2 rules 3, 5)."""
    letters, size = fpdus_of(300)
    letters |= {
        "P": request(private_data=bytes(100)),
        "h": b"HTTP/1.1 400 Bad Request\r\n\r\n" * 3,
    }
    scene = Scene(f">P <h{then}{end}", letters, size=size)
    (error,) = wrong(fed_with_cuts(scene, {3: 60, 4: there, 5: 200}))
    text = "84 octets answer a Request, and are no Reply (RFC 5044 7.1.2 rules 3, 5)"
    assert isinstance(error, ErrorFound)
    assert (error.seq, error.text) == (scene.at[1][1], text)


@pytest.mark.parametrize(
    ("words", "cuts", "text"),
    [
        (">P >F <F", {3: 60}, "before its Request was answered"),
        (">P >S <S >F <F", {3: 60, 6: 60, 8: 60, 10: 60}, "no Reply has answered it"),
    ],
)
def test_what_is_certain_though_octets_were_cut_off(
    words: str, cuts: dict[int, int | None], text: str
) -> None:
    """Private Data that were cut off, and FPDUs, hide no startup frame (7.1.2 rule 3)."""
    letters, size = fpdus_of(300)
    scene = Scene(words, letters | {"P": request(private_data=bytes(100))}, size=size)
    (error,) = wrong(fed_with_cuts(scene, cuts))
    assert isinstance(error, ErrorFound) and text in error.text


@pytest.mark.parametrize("there", [12, 16, 19])
def test_a_reply_that_was_cut_before_more_than_is_held(there: int) -> None:
    """It is no longer held when the connection ends, but then nobody knows that it was none."""
    letters, size = fpdus_of(1400, 200)
    scene = Scene(">Q <A <S >F <F", letters, size=size)
    cuts = dict.fromkeys(range(4, len(scene.segments)), there)
    assert errors(fed_with_cuts(scene, cuts)) == []


@pytest.mark.parametrize("there", [0, 2, 3])
def test_what_the_responder_sends_first_was_cut_off(there: int) -> None:
    """It may be the Terminate that it may send before it has an FPDU (RFC 6581 9.3)."""
    data = enhanced_data(4, 4, a=1, b=1)
    asked, answered = (
        frame(revision=2, enhanced=1, private_data=data) for frame in (request, reply)
    )
    terminate, _ = build_stream(messages.terminate(2, 0, 6))
    scene = Scene(">Q <A <t <X", {"Q": asked, "A": answered, "t": terminate})
    assert errors(fed_with_cuts(scene, {5: there})) == []


@pytest.mark.parametrize("there", [0, 4, 16, 19])
@pytest.mark.parametrize("behind", [0, 1, 4])
def test_a_copy_of_a_request_that_was_cut_off(behind: int, there: int) -> None:
    """What was cut off stays so, and is a gap; FPDUs are reported, each once."""
    octets, truth = stream([300] * 4, markers=False)
    size = truth[0].end
    scene = Scene(">Q <A")
    scene.say(0, octets[: size * behind], size=size)
    scene.copy(0, scene.at[0][1], request())
    scene.say(0, octets[size * behind :], size=size)
    scene.say(1, octets, size=size)
    scene.close()
    events = fed_with_cuts(scene, {3: there})
    (gap,) = wrong(events)
    assert isinstance(gap, GapFound) and (gap.length, gap.reason) == (20, "snap length")
    for direction in (0, 1):
        assert [each.ulpdu for each in fpdus(events, direction)] == [each.ulpdu for each in truth]


@pytest.mark.parametrize("private", [255, 256, 300, 512])
@pytest.mark.parametrize("there", [20, 60, None])
def test_private_data_of_any_length_cut_off(there: int | None, private: int) -> None:
    """PD_Length has two octets: the frame is told with it."""
    data = bytes(at % 251 for at in range(private))
    letters, size = fpdus_of(520, 6)
    letters |= {"Q": request(private_data=data), "A": reply(private_data=data)}
    scene = Scene("... >Q <A >S <S >F <F", letters, size=size)
    begins = [at for at, each in enumerate(scene.segments) if each.payload[:6] == b"MPA ID"]
    scene.frames = [each[:there] for each in scene.frames]
    events = scene.check(events=fed_with_cuts(scene, dict.fromkeys(begins, there)))
    assert [(each.direction, each.startup.pd_length) for each in seen(events)] == [
        (0, private),
        (1, private),
    ]
