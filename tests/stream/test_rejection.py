# SPDX-License-Identifier: GPL-2.0-or-later
"""A Responder that says no, and what may come then (RFC 5044 7.1.2 rules 2, 3)."""

from __future__ import annotations

from itertools import combinations

import pytest

from scapy_mpa.stream.events import Event
from tests.stream.feed import fpdus
from tests.stream.startup import (
    check_all,
    check_works,
    ended,
    errors,
    reply,
    request,
    seen,
    stream,
)
from tests.stream.talk import Talk


@pytest.mark.parametrize("between", [b"", b"no?\r\n", b"let us talk\r\n" * 20, b"x" * 50_000])
@pytest.mark.parametrize("size", [3, 1460])
def test_rejection_and_a_second_request(between: bytes, size: int) -> None:
    """R leaves the TCP connection open, on which MPA may be started again (7.1.2 rules 2, 3)."""
    octets, _ = stream()
    talk = Talk()
    talk.say(0, request())
    talk.say(1, reply(rejected=1, private_data=b"busy"))
    if between:
        talk.say(0, between, size=max(size, 100))
        talk.say(1, between, size=max(size, 100))
    talk.say(0, request(private_data=b"please"), size=size)
    talk.say(1, reply(), size=size)
    events = talk.speak(octets)
    check_works(events)
    assert [each.startup.rejected for each in seen(events)] == [False, True, False, False]


def test_rejection_then_the_other_side_initiates() -> None:
    """The ULP may use the connection for other purposes, this one included (7.1.2 rule 3)."""
    octets, _ = stream()
    talk = Talk()
    talk.say(0, request())
    talk.say(1, reply(rejected=1))
    talk.say(1, request())
    talk.say(0, reply())
    talk.say(1, octets)
    talk.say(0, octets)
    talk.close()
    check_works(talk.fed(), initiator=1)


@pytest.mark.parametrize("after", [b"", b"bye\r\n", b"plain text " * 8_000])
def test_rejection_and_nothing_but_text(after: bytes) -> None:
    """A rejected connection is one without MPA; its octets are the ULP's (7.1.2 rule 3)."""
    talk = Talk()
    talk.say(0, request())
    talk.say(1, reply(rejected=1))
    if after:
        talk.say(0, after, size=1000)
        talk.say(1, after, size=1000)
    talk.close()
    events = talk.fed()
    assert len(seen(events)) == 2
    assert fpdus(events) == [] and errors(events) == []
    assert ended(events).rejected


@pytest.mark.parametrize("markers", [0, 1])
def test_rejection_and_octets_that_could_have_been_an_fpdu(markers: int) -> None:
    """What the ULP says next is nobody's business, a short "FPDU" with no CRC included (rule 3)."""
    talk = Talk()
    talk.say(0, request())
    talk.say(1, reply(rejected=1, markers=markers))
    talk.say(0, bytes(4 * markers) + b"\0\4" + b"no FPDU!!!")
    for _ in range(5):
        talk.say(0, b"more" * 10)
        talk.say(1, b"more" * 10)
    talk.close()
    events = talk.fed()
    assert fpdus(events) == [] and errors(events) == []
    assert ended(events).rejected


def two_startups(markers: int, lost: tuple[int, ...], late: int | None = None) -> list[Event]:
    """A rejection, a second startup and FPDUs; of the four frames some are lost, or one is late."""
    octets, truth = stream(markers=bool(markers))
    talk = Talk()
    frames = (
        request(markers=markers),
        reply(markers=markers, rejected=1),
        request(markers=markers, private_data=bytes(30)),
        reply(markers=markers, private_data=bytes(2)),
    )
    for number, frame in enumerate(frames):
        talk.say(number % 2, frame, captured=number not in lost)
        if late is not None and number == late + 1:
            talk.segments[-2:] = talk.segments[-1], talk.segments[-2]
    events = talk.speak(octets, size=1000)
    check_all(events, truth)
    there = {frame for number, frame in enumerate(frames) if number not in lost}
    assert there.issuperset(each.octets for each in seen(events))
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
