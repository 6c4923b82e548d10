# SPDX-License-Identifier: GPL-2.0-or-later
"""Startup frames of which the snap length cut off octets: what may have been there is no breach."""

from __future__ import annotations

import pytest

from scapy_mpa.stream.events import ErrorFound, GapFound
from tests.stream.cut import fed_with_cuts, stream, wrong
from tests.stream.feed import as_segment, feed, fpdus
from tests.stream.startup import ended, errors, reply, request, seen
from tests.stream.talk import Talk
from tests.truth import messages, mpastream
from tests.truth.impair import ACK, RST


def test_a_startup_frame_that_was_cut_off() -> None:
    """Private Data beyond the snap length: the frame is seen or not, but nothing breaks."""
    request = mpastream.startup_frame(mpastream.REQUEST_KEY, crc=1, private_data=b"p" * 200)
    octets, truth = stream([300] * 6, markers=False)
    talk = Talk()
    talk.say(0, request)
    talk.say(1, mpastream.startup_frame(mpastream.REPLY_KEY, crc=1))
    talk.say(0, octets, size=truth[0].end)
    segments = [as_segment(number, each) for number, each in enumerate(talk.segments, 1)]
    segments[3] = segments[3]._replace(payload=request[:60])
    found = fpdus(feed(segments), 0)
    assert [each.ulpdu for each in found] == [fpdu.ulpdu for fpdu in truth]


@pytest.mark.parametrize("markers", [0, 1])
@pytest.mark.parametrize("there", [0, 1, 4, 12, 16, 19])
@pytest.mark.parametrize("private", [0, 16])
@pytest.mark.parametrize("size", [0, 40, 400])
@pytest.mark.parametrize("which", [(0,), (1,), (0, 1)])
def test_the_header_of_a_startup_frame_was_cut_off(
    which: tuple[int, ...], size: int, private: int, there: int, markers: int
) -> None:
    """What it was is not told, but it was there: nothing is wrong, and FPDUs are found."""
    octets, truth = stream([size] * 6 if size else [], markers=bool(markers))
    talk = Talk()
    frames = [each(markers=markers, private_data=bytes(private)) for each in (request, reply)]
    begins = [talk.say(direction, frame) for direction, frame in enumerate(frames)]
    if size:
        for direction in (0, 1):
            talk.say(direction, octets, size=truth[0].end)
    talk.close()
    events = fed_with_cuts(talk, {3 + direction: there for direction in which})
    assert errors(events) == []
    assert [each.direction for each in seen(events)] == [at for at in (0, 1) if at not in which]
    for direction in (0, 1):
        assert [each.ulpdu for each in fpdus(events, direction)] == [each.ulpdu for each in truth]
    gaps = [each for each in wrong(events) if isinstance(each, GapFound)]
    if size and not markers:
        # Else nothing was looked for there.
        expected = [(begins[at], len(frames[at]), "snap length") for at in which]
        assert [(each.seq, each.length, each.reason) for each in gaps] == expected
    assert (ended(events).initiator is None) is (len(which) == 2)


@pytest.mark.parametrize("there", [0, 4, 16, 19])
@pytest.mark.parametrize("how", ["closed", "reset", "capture ended"])
@pytest.mark.parametrize("which", [0, 1])
def test_nothing_but_such_a_startup_frame(which: int, how: str, there: int) -> None:
    """The connection may have ended behind it: nobody knows that it was in its midst."""
    talk = Talk()
    for direction, frame in enumerate((request(private_data=b"data"), reply())[: which + 1]):
        talk.say(direction, frame)
    if how == "closed":
        talk.close()
    elif how == "reset":
        talk.say(0, flags=RST | ACK)
    assert errors(fed_with_cuts(talk, {3 + which: there})) == []


@pytest.mark.parametrize("there", [0, 4, 16, 19])
def test_startup_frames_cut_where_others_are_not(there: int) -> None:
    """A Reply may have rejected the Request before it, and another Request have followed."""
    octets, truth = stream([300] * 4, markers=False)
    talk = Talk()
    for is_rejected in (1, 0):
        talk.say(0, request())
        talk.say(1, reply(rejected=is_rejected))
    for direction in (0, 1):
        talk.say(direction, octets, size=truth[0].end)
    talk.close()
    for which in ((3,), (4,), (5,), (6,), (3, 4), (4, 5), (5, 6), (3, 5), (4, 6), (3, 4, 5, 6)):
        events = fed_with_cuts(talk, dict.fromkeys(which, there))
        assert errors(events) == []
        for direction in (0, 1):
            found = [each.ulpdu for each in fpdus(events, direction)]
            assert found == [each.ulpdu for each in truth]


@pytest.mark.parametrize("is_closed", [False, True])
@pytest.mark.parametrize("there", [1, 4, 28])
@pytest.mark.parametrize("goes_on", [False, True])
def test_octets_that_are_no_reply_whatever_was_cut_off(
    goes_on: bool, there: int, is_closed: bool
) -> None:
    """Where the Reply must begin, others stand for certain (7.1.2 rules 3, 5)."""
    octets, truth = stream([300] * 4, markers=False)
    talk = Talk()
    talk.say(0, request(private_data=bytes(100)))
    at = talk.say(1, b"HTTP/1.1 400 Bad Request\r\n\r\n" * 3)
    if goes_on:
        talk.say(0, octets, size=truth[0].end)
    if is_closed:
        talk.close()
    (error,) = wrong(fed_with_cuts(talk, {3: 60, 4: there, 5: 200}))
    assert isinstance(error, ErrorFound)
    text = "84 octets answer a Request, and are no Reply (RFC 5044 7.1.2 rules 3, 5)"
    assert (error.seq, error.text) == (at, text)


def test_what_is_certain_though_octets_were_cut_off() -> None:
    """Private Data that were cut off, and FPDUs, hide no startup frame (7.1.2 rule 3)."""
    octets, truth = stream([300] * 4, markers=False)
    for goes_on in (False, True):
        talk = Talk()
        talk.say(0, request(private_data=bytes(100)))
        for direction in (0, 1) if goes_on else ():
            talk.say(direction, octets, size=truth[0].end)
        talk.close()
        cuts = {3: 60, 6: 60, 8: 60, 10: 60} if goes_on else {3: 60}
        (error,) = wrong(fed_with_cuts(talk, cuts))
        assert isinstance(error, ErrorFound)
        text = "no Reply has answered it" if goes_on else "before its Request was answered"
        assert text in error.text


@pytest.mark.parametrize("there", [12, 16, 19])
def test_a_reply_that_was_cut_before_more_than_is_held(there: int) -> None:
    """It is no longer held when the connection ends, but then nobody knows that it was none."""
    octets, truth = stream([1400] * 200, markers=False)
    talk = Talk()
    talk.say(0, request())
    talk.say(1, reply())
    talk.say(1, octets, size=truth[0].end)
    talk.close()
    cuts = dict.fromkeys(range(4, len(talk.segments)), there)
    assert errors(fed_with_cuts(talk, cuts)) == []


@pytest.mark.parametrize("there", [0, 2, 3])
def test_what_the_responder_sends_first_was_cut_off(there: int) -> None:
    """It may be the Terminate that it may send before it has an FPDU (RFC 6581 9.3)."""
    octets, _ = mpastream.build_stream(messages.terminate(2, 0, 6))
    data = mpastream.enhanced_data(4, 4, a=1, b=1)
    talk = Talk()
    for direction, frame in enumerate((request, reply)):
        talk.say(direction, frame(revision=2, enhanced=1, private_data=data))
    talk.say(1, octets)
    talk.say(1, flags=RST | ACK)
    assert errors(fed_with_cuts(talk, {5: there})) == []


@pytest.mark.parametrize("there", [0, 4, 16, 19])
@pytest.mark.parametrize("behind", [0, 1, 4])
def test_a_copy_of_a_request_that_was_cut_off(behind: int, there: int) -> None:
    """What was cut off stays so, and is a gap; FPDUs are reported, each once."""
    octets, truth = stream([300] * 4, markers=False)
    talk = Talk()
    at = talk.say(0, request())
    talk.say(1, reply())
    talk.say(0, octets[: truth[0].end * behind], size=truth[0].end)
    talk.copy(0, at, request())
    talk.say(0, octets[truth[0].end * behind :], size=truth[0].end)
    talk.say(1, octets, size=truth[0].end)
    talk.close()
    events = fed_with_cuts(talk, {3: there})
    (gap,) = wrong(events)
    assert isinstance(gap, GapFound) and (gap.length, gap.reason) == (20, "snap length")
    for direction in (0, 1):
        assert [each.ulpdu for each in fpdus(events, direction)] == [each.ulpdu for each in truth]


@pytest.mark.parametrize("private", [255, 256, 300, 512])
@pytest.mark.parametrize("there", [20, 60, None])
@pytest.mark.parametrize("is_late", [False, True])
def test_private_data_of_any_length_cut_off(is_late: bool, there: int | None, private: int) -> None:
    """PD_Length has two octets: the frame is told with it, captured before FPDUs or behind them."""
    octets, truth = stream([300] * 6, markers=False)
    data = bytes(at % 251 for at in range(private))
    talk = Talk(syn=False)
    talk.say(0, request(private_data=data))
    talk.say(1, reply(private_data=data))
    for direction in (0, 1):
        talk.say(direction, octets, size=truth[0].end)
    talk.close()
    segments = [as_segment(number, each) for number, each in enumerate(talk.segments, 1)]
    frames = [each._replace(payload=each.payload[:there]) for each in segments[:2]]
    events = feed([*segments[2:7], *frames, *segments[7:]] if is_late else [*frames, *segments[2:]])
    told = [(each.direction, each.startup.pd_length, each.startup.data) for each in seen(events)]
    captured = data if there is None else data[: there - 20]
    assert told == [(0, private, captured), (1, private, captured)]
    assert errors(events) == []
    for direction in (0, 1):
        assert [each.ulpdu for each in fpdus(events, direction)] == [each.ulpdu for each in truth]
