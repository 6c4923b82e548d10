# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages with which a direction begins, if a startup frame tells that only behind them."""

from __future__ import annotations

import pytest

from scapy_mpa.stream.delivery import half_messages
from scapy_mpa.stream.delivery.pairing import PATIENCE
from scapy_mpa.stream.messages import Messages
from scapy_mpa.wire.rdmap_names import Opcode
from tests.stream.spoken import messages_of
from tests.stream.startup import reply, request
from tests.stream.talk import Talk
from tests.truth import messages
from tests.truth.mpastream import build_stream

WRITTEN = messages.write(7, 4096, bytes(3000))


def late(talk: Talk, octets: bytes, frames: int) -> None:
    """A Request that was captured behind the octets that follow it, and behind other segments.

    :param frames: by how many frames it comes behind the first of those octets.
    """
    talk.say(0, request())
    talk.say(1, reply())
    startup = talk.segments.pop(0)
    before = len(talk.segments)
    talk.say(0, octets, size=1460)
    while len(talk.segments) < before + frames:
        talk.say(1)
    talk.segments.insert(before + frames, startup)


@pytest.mark.parametrize("frames", [2, PATIENCE])
def test_the_first_message_is_tagged(frames: int) -> None:
    """The startup frame tells that nothing of a Tagged message came before it (RFC 5044 7.1.2)."""
    talk = Talk(syn=False)
    octets, _ = build_stream([*WRITTEN, *messages.send(1, b"x")], markers=False)
    late(talk, octets, frames)
    written, sent = messages_of(talk.fed())
    assert (written.opcode, written.length, written.complete) == (Opcode.WRITE, 3000, True)
    assert (sent.opcode, sent.msn, sent.complete) == (Opcode.SEND, 1, True)


def test_patience() -> None:
    """What came long before the startup frame is told without it, as nobody waits for ever."""
    talk = Talk(syn=False)
    first, truth = build_stream(WRITTEN * 2, markers=False)
    late(talk, first[: truth[len(WRITTEN) - 1].end], PATIENCE + 2)
    # What brings it to light that the time is over.
    at = len(talk.segments) - 1
    talk.say(0, first[truth[len(WRITTEN) - 1].end :], size=1460)
    talk.segments.append(talk.segments.pop(at))
    one, other = messages_of(talk.fed())
    assert (one.captured_length, one.length, one.complete) == (3000, None, False)
    assert one.missing == ((None, None),)
    assert (other.length, other.complete) == (3000, True)


@pytest.mark.parametrize("lost", [False, True])
def test_an_fpdu_behind_the_startup_frame_is_missing(lost: bool) -> None:
    """Where the direction begins is known, though what comes first there is missing, or late."""
    talk = Talk(syn=False)
    octets, truth = build_stream(
        [messages.send(1, b"x")[0], *WRITTEN, *messages.send(2, b"y")], markers=False
    )
    talk.say(0, request())
    talk.say(1, reply())
    startup = talk.segments.pop(0)
    begin = talk.miss(0, octets[: truth[0].end])
    talk.say(0, octets[truth[0].end :], size=1460)
    talk.segments.append(startup)
    if not lost:
        talk.copy(0, begin, octets[: truth[0].end])
    found = messages_of(talk.closed())
    written = next(each for each in found if each.opcode == Opcode.WRITE)
    assert (written.captured_length, written.complete) == (3000, not lost)
    sent = {each.msn: each.complete for each in found if each.opcode != Opcode.WRITE}
    assert sent == {1: not lost, 2: True}


def test_a_response_and_its_request_before_the_startup_frames() -> None:
    """Which Request a Response answers is known once nothing came before either."""
    asked, answered = messages.read_request(1, 5, 0, 64, 6, 0), messages.read_response(5, 0, b"z")
    talk = Talk(syn=False)
    talk.say(0, request())
    talk.say(1, reply())
    startups, talk.segments = talk.segments, []
    for direction, ulpdus in ((0, asked), (1, answered)):
        octets, _ = build_stream([*ulpdus, messages.send(1, b"x")[0]], markers=False)
        talk.say(direction, octets)
    talk.segments += startups
    (response,) = (
        each for each in messages_of(talk.closed()) if each.opcode == Opcode.READ_RESPONSE
    )
    assert (response.answers, response.requested) == (1, True)


def test_no_more_waits_than_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many FPDUs are in so few frames, no more of them wait than of any direction."""
    monkeypatch.setattr(half_messages, "WAITING_SEGMENTS", 100)
    talk = Talk(syn=False)
    octets, _ = build_stream(messages.write(1, 0, b"") * 105, markers=False)
    talk.say(0, octets)
    taker = Messages()
    found = [message for event in talk.fed()[:-1] for message in taker.take(event)]
    assert [each.complete for each in found] == [False, *[True] * 104]
