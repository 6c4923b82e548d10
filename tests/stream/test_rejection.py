# SPDX-License-Identifier: GPL-2.0-or-later
"""A Responder that says no, and what may come then (RFC 5044 7.1.2 rules 2, 3)."""

from __future__ import annotations

from itertools import combinations

import pytest

from scapy_mpa.stream.events import Event
from scapy_mpa.stream.flows import Flows
from tests.stream.feed import as_segment, fpdus
from tests.stream.scene import Octets, Scene
from tests.stream.startup import (
    check_all,
    check_works,
    ended,
    reply,
    request,
    seen,
    stream,
)
from tests.stream.work import calls


@pytest.mark.parametrize(
    ("between", "size"),
    [
        (b"", 3),
        (b"no?\r\n", 3),
        (b"let us talk\r\n" * 20, 3),
        (b"x" * 50_000, 100),
        (b"x" * 50_000, 1460),
    ],
)
def test_rejection_and_a_second_request(between: bytes, size: int) -> None:
    """R leaves the TCP connection open, on which MPA may be started again (7.1.2 rules 2, 3)."""
    letters = {
        "R": reply(rejected=1, private_data=b"busy"),
        "w": between,
        "P": request(private_data=b"please"),
    }
    events = Scene(">Q <R >w <w >P <A >S <S >F <F", letters, size=size).check()
    check_works(events)
    assert [each.startup.rejected for each in seen(events)] == [False, True, False, False]


def test_rejection_then_the_other_side_initiates() -> None:
    """The ULP may use the connection for other purposes, this one included (7.1.2 rule 3)."""
    check_works(Scene(">Q <R <Q >A <S >S >F <F").check(), initiator=1)


@pytest.mark.parametrize("after", [b"", b"bye\r\n", b"plain text " * 8_000])
@pytest.mark.parametrize("markers", [0, 1])
def test_rejection_and_nothing_but_text(after: bytes, markers: int) -> None:
    """A rejected connection is one without MPA; its octets are the ULP's, a short "FPDU" with no
    CRC included (7.1.2 rule 3)."""
    letters = {
        "R": reply(rejected=1, markers=markers),
        "w": after,
        "n": bytes(4 * markers) + b"\0\4" + b"no FPDU!!!",
    }
    for words in (">w <w", ">n" + " >w <w" * 5):
        scene = Scene(f">Q <R {words} >F <F", letters, size=1000)
        assert ended(scene.check()).rejected


def two_startups(markers: int, lost: tuple[int, ...], late: int | None = None) -> list[Event]:
    """A rejection, a second startup and FPDUs; of the four frames some are lost, or one is late."""
    truth = stream(markers=bool(markers))[1]
    frames = {
        "Q": request(markers=markers),
        "R": reply(markers=markers, rejected=1),
        "P": request(markers=markers, private_data=bytes(30)),
        "A": reply(markers=markers, private_data=bytes(2)),
    }
    words = [
        f"{side}{'-' * (number in lost)}{letter}{'+1' * (number == late)}"
        for number, (side, letter) in enumerate(zip("><><", frames, strict=True))
    ]
    letters: dict[str, Octets] = {**frames, "S": stream(markers=bool(markers))}
    scene = Scene(" ".join([*words, ">S <S >F <F"]), letters, size=1000)
    events = scene.fed()
    check_all(events, truth)
    assert set(scene.frames).issuperset(each.octets for each in seen(events))
    return events


@pytest.mark.parametrize("markers", [0, 1])
@pytest.mark.parametrize(
    "lost", [each for count in range(1, 5) for each in combinations(range(4), count)]
)
def test_rejection_and_what_was_not_captured(lost: tuple[int, ...], markers: int) -> None:
    """Whichever of the startup frames the capture lacks, every FPDU is found (7.1.2 rule 3)."""
    two_startups(markers, lost)


@pytest.mark.parametrize("markers", [0, 1])
@pytest.mark.parametrize("late", [None, 0, 1, 2])
def test_rejection_and_frames_captured_late(late: int | None, markers: int) -> None:
    """No startup frame is taken for the answer to another one, or for an FPDU (7.1.2 rule 3)."""
    events = two_startups(markers, (), late)
    assert len(seen(events)) == 4
    offsets = [fpdu.seq_offset for fpdu in stream(markers=bool(markers))[1]]
    assert [each.offset for each in fpdus(events, 0)] == offsets
    assert [each.offset for each in fpdus(events, 1)] == offsets
    assert not ended(events).rejected


BEGINNINGS = {"whole": "", "mid-connection": "... ", "behind a hole": ">-z <-z "}


@pytest.mark.parametrize("beginning", ["whole", "mid-connection"])
@pytest.mark.parametrize("times", [10, 60, 300])
@pytest.mark.parametrize("then", ["", ">Q <A >S <S "])
def test_startup_frames_are_told_once_however_often_a_responder_rejects(
    times: int, beginning: str, then: str
) -> None:
    """Those of one startup after the other are, whether another one is accepted or not."""
    scene = Scene(BEGINNINGS[beginning] + ">Q <R " * times + then + ">F <F")
    events = scene.check()
    assert len({(each.direction, each.seq) for each in seen(events)}) == len(scene.frames)
    if then:
        check_works(events)


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_rejecting_again_costs_no_more_each_time(beginning: str) -> None:
    """Work does not grow with how often that was done before."""

    def cost(times: int) -> int:
        talk = Scene(BEGINNINGS[beginning] + ">Q <R " * times, {"z": bytes(100)})
        segments = [as_segment(number, each) for number, each in enumerate(talk.segments, 1)]
        flows = Flows()
        return calls(lambda: [flows.receive(each) for each in segments])

    assert cost(600) < 3.3 * cost(200)
