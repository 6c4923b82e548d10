# SPDX-License-Identifier: GPL-2.0-or-later
"""The Startup Phase, clause by clause (RFC 5044 7.1.1 to 7.1.3)."""

from __future__ import annotations

import random

import pytest

from scapy_mpa.wire.startup import StartupKind
from tests.stream.feed import fpdus
from tests.stream.startup import (
    PROSE,
    check_works,
    ended,
    errors,
    found,
    reply,
    request,
    seen,
    stream,
)
from tests.stream.talk import Talk
from tests.truth import messages, mpastream
from tests.truth.impair import ACK, SYN
from tests.truth.mpastream import build_stream


def test_immediate_startup() -> None:
    """Request and Reply first thing on the connection, then FPDUs (7.1.4.2, rules 1 to 4)."""
    octets, _ = stream()
    talk = Talk()
    at = talk.say(0, request(private_data=b"hello")), talk.say(1, reply(private_data=b"world"))
    events = talk.speak(octets)
    check_works(events)
    first, second = seen(events)
    assert (first.startup.kind, second.startup.kind) == (StartupKind.REQUEST, StartupKind.REPLY)
    assert (first.direction, second.direction) == (0, 1)
    assert (first.startup.private_data, second.startup.private_data) == (b"hello", b"world")
    assert (first.seq, second.seq) == at
    assert (first.octets, second.octets) == (
        request(private_data=b"hello"),
        reply(private_data=b"world"),
    )


def test_the_side_that_accepts_the_tcp_connection_may_be_the_initiator() -> None:
    """Initiator and Responder have nothing to do with SYN and SYN,ACK (7.1)."""
    octets, _ = stream()
    talk = Talk()
    talk.say(1, request())
    talk.say(0, reply())
    talk.say(1, octets)
    talk.say(0, octets)
    talk.close()
    events = talk.fed()
    check_works(events, initiator=1)
    assert ended(events).direction == 1


@pytest.mark.parametrize("size", [1, 2, 5, 19, 20, 21, 100])
@pytest.mark.parametrize("private", [0, 1, 512])
def test_startup_frames_in_pieces(size: int, private: int) -> None:
    """A startup frame is a stretch of the stream, however it is cut (7.1.1)."""
    octets, _ = stream()
    talk = Talk()
    data = random.Random(size).randbytes(private)
    talk.say(0, request(private_data=data), size=size)
    last = len(talk.segments)
    talk.say(1, reply(private_data=data), size=size)
    talk.say(0, octets, size=size if size > 2 else None)
    talk.say(1, octets)
    talk.close()
    events = talk.fed()
    check_works(events)
    first = seen(events)[0]
    assert first.startup.data == data
    assert first.frame == last
    assert first.frames == tuple(range(4, last + 1))


def test_startup_frame_and_fpdus_in_one_segment() -> None:
    """The last octets of the Reply and the first FPDUs share a segment (7.1.2 rule 7).

    That Responder had no FPDU before it spoke (rule 4).
    """
    octets, _ = stream()
    talk = Talk()
    talk.say(0, request())
    at = talk.say(1, reply() + octets)
    talk.say(0, octets)
    talk.close()
    check_works(talk.fed(), wrong=[(1, None, at + 20)])


# What begins like a startup frame, and what might be an adaption indication that is not whole.
BEGUN = [b"MPA ID Re", b"M", b"R", b"Hey, RDDP", bytes.fromhex("41424344 0001 0001")]


@pytest.mark.parametrize("text", [b"HELLO\r\n", PROSE, bytes(range(256)) * 20, *BEGUN])
@pytest.mark.parametrize("size", [1, 9, 1460])
def test_delayed_startup(text: bytes, size: int) -> None:
    """Streaming mode octets in both directions, then the startup frames (7.1.3)."""
    octets, _ = stream()
    talk = Talk()
    talk.say(0, text, size=size)
    talk.say(1, text, size=size)
    completed = []
    for side, frame in enumerate((request(), reply())):
        talk.say(side, frame, size=size)
        completed.append(len(talk.segments))
    events = talk.speak(octets)
    check_works(events)
    assert [each.frame for each in seen(events)] == completed


@pytest.mark.parametrize("lead", [b"HELLO\r\n", b"MPA ID Re", b"> MPA ID Req Fram"])
def test_delayed_startup_in_the_segment_of_the_last_streaming_octets(lead: bytes) -> None:
    """The point where MPA begins need not be a segment's (7.1: "exactly locates the point")."""
    octets, _ = stream()
    talk = Talk()
    talk.say(0, lead + request())
    talk.say(1, lead + reply())
    check_works(talk.speak(octets))


@pytest.mark.parametrize("swapped", [False, True])
def test_delayed_startup_behind_many_streaming_octets(swapped: bool) -> None:
    """However much was said before, and whatever the order of capture (7.1.3)."""
    octets, _ = stream()
    talk = Talk()
    talk.say(0, b"text" * 100_000, size=1460)
    talk.say(1, b"more" * 100_000, size=1460)
    frame = request(private_data=b"private")
    talk.say(0, b"last words" + frame[:11])
    talk.say(0, frame[11:])
    # The two pieces of the Request, the other way round.
    if swapped:
        talk.segments[-2:] = talk.segments[:-3:-1]
    talk.say(1, reply())
    check_works(talk.speak(octets))


@pytest.mark.parametrize("size", [1, 40, 1460])
@pytest.mark.parametrize("syn", [False, True])
def test_a_key_in_ordinary_text_is_no_startup_frame(size: int, syn: bool) -> None:
    """The Keys stand in the RFC, which travels over TCP, too: no frame, no error, no FPDU."""
    talk = Talk(syn=syn)
    talk.say(0, b"GET /rfc5044.txt HTTP/1.0\r\n\r\n")
    talk.say(1, b"HTTP/1.0 200 OK\r\n\r\n" + PROSE * 3, size=size)
    talk.close()
    events = talk.fed()
    assert seen(events) == [] and errors(events) == [] and fpdus(events) == []
    assert ended(events).initiator is None


@pytest.mark.parametrize("asked", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_markers_are_what_the_receiver_asked_for(asked: tuple[int, int]) -> None:
    """M in the Request is about what the Responder sends, M in the Reply the other way (7.1.1)."""
    half = stream(markers=bool(asked[1])), stream(markers=bool(asked[0]))
    talk = Talk()
    talk.say(0, request(markers=asked[0]))
    talk.say(1, reply(markers=asked[1]))
    talk.say(0, half[0][0], size=1000)
    talk.say(1, half[1][0], size=1000)
    talk.close()
    events = talk.fed()
    check_works(events)
    for direction in (0, 1):
        counted = [each.markers for each in fpdus(events, direction)]
        assert counted == [fpdu.markers for fpdu in half[direction][1]]
        assert ended(events).halves[direction].markers == bool(asked[1 - direction])


@pytest.mark.parametrize("asked", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("markers", [0, 1])
def test_crcs_are_on_if_either_side_wants_them(asked: tuple[int, int], markers: int) -> None:
    """C is an OR of both sides (7.1.1); with CRCs off the field means nothing (4.1)."""
    crc = any(asked)
    octets, truth = stream(markers=bool(markers), crc=crc)
    talk = Talk()
    talk.say(0, request(crc=asked[0], markers=markers))
    talk.say(1, reply(crc=asked[1], markers=markers))
    events = talk.speak(octets, size=1000)
    for direction in (0, 1):
        assert found(events, direction) == [fpdu.ulpdu for fpdu in truth]
        assert {each.crc for each in fpdus(events, direction)} == {"good" if crc else "off"}
    assert errors(events) == []
    assert ended(events).crc is crc


def test_r_in_a_request_is_not_looked_at() -> None:
    """R has no meaning in a Request (7.1.1)."""
    octets, _ = stream()
    talk = Talk()
    talk.say(0, request(rejected=1))
    talk.say(1, reply())
    check_works(talk.speak(octets))


@pytest.mark.parametrize("reserved", [1, 15])
def test_reserved_bits_are_not_looked_at(reserved: int) -> None:
    """Res is not checked at the receiver (7.1.1)."""
    octets, _ = stream()
    talk = Talk()
    talk.say(0, request(reserved=reserved))
    talk.say(1, reply(reserved=reserved))
    check_works(talk.speak(octets))


@pytest.mark.parametrize("upto", [1, 10, 20, 27])
def test_octets_in_the_syn(upto: int) -> None:
    """TCP Fast Open: the first octet is the one behind the SYN (RFC 7413 2)."""
    octets, _ = stream()
    frame = request(private_data=b"private")
    talk = Talk(syn=False)
    talk.next = [1000, 5000]
    talk.say(0, frame[:upto], flags=SYN)
    talk.say(1, flags=SYN | ACK)
    if frame[upto:]:
        talk.say(0, frame[upto:])
    talk.say(1, reply())
    events = talk.speak(octets)
    check_works(events)
    assert seen(events)[0].seq == 1001


def test_octets_in_the_syn_that_the_peer_did_not_take() -> None:
    """What a SYN carried may come again behind it (RFC 7413 4.1.3)."""
    octets, _ = stream()
    talk = Talk(syn=False)
    talk.next = [1000, 5000]
    talk.say(0, request(), flags=SYN)
    talk.say(1, flags=SYN | ACK)
    talk.copy(0, 1001, request())
    talk.say(1, reply())
    events = talk.speak(octets)
    check_works(events)
    assert len(seen(events)) == 2


def test_a_startup_frame_inside_an_fpdu_is_payload() -> None:
    """In Full Operation the octets are FPDUs, whatever they look like (7.1)."""
    octets, truth = build_stream([messages.send(1, request() + reply() * 3)[0]] * 3)
    talk = Talk()
    talk.say(0, request())
    talk.say(1, reply())
    events = talk.speak(octets, size=50)
    assert len(seen(events)) == 2
    assert found(events, 0) == found(events, 1) == [fpdu.ulpdu for fpdu in truth]
    assert errors(events) == []


def test_a_startup_frame_inside_private_data_is_private_data() -> None:
    """PD_Length says where the frame ends, whatever lies in it (7.1.1)."""
    octets, _ = stream()
    talk = Talk()
    talk.say(0, request(private_data=request() * 4), size=30)
    talk.say(1, reply(private_data=reply(rejected=1)), size=30)
    events = talk.speak(octets)
    check_works(events)
    assert len(seen(events)) == 2


@pytest.mark.parametrize("markers", [0, 1])
def test_an_fpdu_inside_private_data_is_private_data(markers: int) -> None:
    """It is none, also where nothing follows the startup frame that could be one."""
    inside = mpastream.build_stream([messages.send(1, b"x" * 60)[0]] * 2)[0]
    for repeated in range(4):
        talk = Talk()
        data = bytes(repeated) + inside
        talk.say(0, request(private_data=data, markers=markers))
        talk.say(1, reply(private_data=data, markers=markers))
        talk.close()
        events = talk.fed()
        assert not fpdus(events)
        assert not errors(events)


@pytest.mark.parametrize("size", [1, 97, 150, 200, 300])
@pytest.mark.parametrize("is_late", [False, True])
def test_fpdus_inside_private_data_of_which_the_rest_is_to_come(size: int, is_late: bool) -> None:
    """Two that stand back to back, and are good, in the first segments of the frame."""
    octets, _ = stream()
    inside = mpastream.build_stream([messages.send(1, b"x" * 20)[0]] * 6)[0]
    talk = Talk()
    talk.say(0, request(private_data=inside), size=size)
    begin = len(talk.segments)
    talk.say(1, reply(private_data=inside), size=size)
    if is_late and len(talk.segments) > begin + 2:
        # Only the last one tells that the frame is whole.
        talk.segments[begin + 1], talk.segments[-1] = talk.segments[-1], talk.segments[begin + 1]
    events = talk.speak(octets)
    check_works(events)
    assert len(seen(events)) == 2


def test_enhanced_startup() -> None:
    """Revision 2 with S: the first four octets of the Private Data are enhanced data (RFC 6581)."""
    octets, _ = stream()
    data = mpastream.enhanced_data(16, 8, a=1, d=1)
    talk = Talk()
    talk.say(0, request(revision=2, enhanced=1, private_data=data + b"ulp"))
    talk.say(1, reply(revision=2, enhanced=1, private_data=data))
    events = talk.speak(octets)
    check_works(events)
    first = seen(events)[0].startup
    assert (first.ird, first.ord, first.control_flags) == (16, 8, "AD")
    assert first.private_data == b"ulp"
    assert ended(events).revision == 2
