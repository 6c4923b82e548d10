# SPDX-License-Identifier: GPL-2.0-or-later
"""The Startup Phase, clause by clause (RFC 5044 7.1.1 to 7.1.3)."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from scapy_mpa.wire.startup import StartupKind
from tests.stream.feed import fpdus
from tests.stream.scene import Octets, Scene
from tests.stream.startup import PROSE, check_works, ended, reply, request, seen, stream
from tests.stream.talk import Talk
from tests.truth import messages
from tests.truth.impair import ACK, SYN
from tests.truth.mpastream import build_stream, enhanced_data

ORDINARY = ">Q <A >S <S >F <F"


def test_immediate_startup() -> None:
    """Request and Reply first thing on the connection, then FPDUs (7.1.4.2, rules 1 to 4)."""
    letters = {"Q": request(private_data=b"hello"), "A": reply(private_data=b"world")}
    scene = Scene(ORDINARY, letters)
    events = scene.check()
    check_works(events)
    assert [
        (each.startup.kind, each.startup.private_data, each.direction, each.seq, each.octets)
        for each in seen(events)
    ] == [
        (StartupKind.REQUEST, b"hello", *scene.at[0], letters["Q"]),
        (StartupKind.REPLY, b"world", *scene.at[1], letters["A"]),
    ]


WORKS: dict[str, tuple[str, Mapping[str, bytes]]] = {
    "R in a Request has no meaning (7.1.1)": (ORDINARY, {"Q": request(rejected=1)}),
    "Res is not checked (7.1.1)": (
        ORDINARY,
        {"Q": request(reserved=1), "A": reply(reserved=15)},
    ),
    "as many Private Data as PD_Length may say (7.1.1)": (
        ORDINARY,
        {"Q": request(private_data=bytes(512)), "A": reply(private_data=bytes(512))},
    ),
    "a startup frame within Private Data is Private Data (7.1.1)": (
        ORDINARY,
        {"Q": request(private_data=request() * 4), "A": reply(private_data=reply(rejected=1))},
    ),
    "a Reply captured before its Request": (">Q+1 <A >S <S >F <F", {}),
    # The point where MPA begins need not be a segment's (7.1: "exactly locates the point").
    "behind streaming octets, in their segment": (">wQ <wA >S <S >F <F", {}),
    "behind the beginning of a Key": (">wQ <wA >S <S >F <F", {"w": b"MPA ID Re"}),
    "behind most of a Key": (">wQ <wA >S <S >F <F", {"w": b"> MPA ID Req Fram"}),
}


@pytest.mark.parametrize("situation", WORKS)
@pytest.mark.parametrize("size", [30, None])
def test_what_works(situation: str, size: int | None) -> None:
    """Both startup frames are told, and all FPDUs; nothing is wrong."""
    check_works(Scene(*WORKS[situation], size=size).check())


def test_the_side_that_accepts_the_tcp_connection_may_be_the_initiator() -> None:
    """Initiator and Responder have nothing to do with SYN and SYN,ACK (7.1)."""
    events = Scene("<Q >A <S >S >F <F").check()
    check_works(events, initiator=1)
    assert ended(events).direction == 1


@pytest.mark.parametrize("size", [1, 2, 5, 19, 20, 21, 100])
@pytest.mark.parametrize("private", [0, 1, 512])
def test_startup_frames_in_pieces(size: int, private: int) -> None:
    """A startup frame is a stretch of the stream, however it is cut (7.1.1)."""
    data = random.Random(size).randbytes(private)
    letters = {"Q": request(private_data=data), "A": reply(private_data=data)}
    events = Scene(ORDINARY, letters, size=size).check()
    check_works(events)
    first = seen(events)[0]
    last = len(Scene(">Q", letters, size=size).segments)
    assert first.startup.data == data
    assert first.frame == last
    assert first.frames == tuple(range(4, last + 1))


def test_startup_frame_and_fpdus_in_one_segment() -> None:
    """The last octets of the Reply and the first FPDUs share a segment (7.1.2 rule 7).

    That Responder had no FPDU before it spoke (rule 4).
    """
    scene = Scene(">Q <AS >S >F <F")
    _, at = scene.at[1]
    check_works(scene.fed(), wrong=[(1, None, at + 20)])


# What begins like a startup frame, and what might be an adaption indication that is not whole.
BEGUN = [b"MPA ID Re", b"M", b"R", b"Hey, RDDP", bytes.fromhex("41424344 0001 0001")]


@pytest.mark.parametrize("text", [b"HELLO\r\n", PROSE, bytes(range(256)) * 20, *BEGUN])
@pytest.mark.parametrize("size", [1, 9, 1460])
def test_delayed_startup(text: bytes, size: int) -> None:
    """Streaming mode octets in both directions, then the startup frames (7.1.3)."""
    events = Scene(">w <w >Q <A >S <S >F <F", {"w": text}, size=size).check()
    check_works(events)
    completed = [
        len(Scene(words, {"w": text}, size=size).segments) for words in (">w <w >Q", ">w <w >Q <A")
    ]
    assert [each.frame for each in seen(events)] == completed


@pytest.mark.parametrize("first", [">1", ">1+1"])
def test_delayed_startup_behind_many_streaming_octets(first: str) -> None:
    """However much was said before, and in whichever order the Request was captured (7.1.3)."""
    frame = request(private_data=b"private")
    letters = {
        "w": b"text" * 100_000,
        "1": b"last words" + frame[:11],
        "2": frame[11:],
    }
    scene = Scene(f">w <w {first} >2 <A >S <S >F <F", letters, size=1460)
    scene.frames.append(frame)
    check_works(scene.check())


@pytest.mark.parametrize("size", [1, 40, 1460])
@pytest.mark.parametrize("syn", ["", "... "])
def test_a_key_in_ordinary_text_is_no_startup_frame(size: int, syn: str) -> None:
    """The Keys stand in the RFC, which travels over TCP, too: no frame, no error, no FPDU."""
    asked, text = b"GET /rfc5044.txt HTTP/1.0\r\n\r\n", b"HTTP/1.0 200 OK\r\n\r\n" + PROSE * 3
    events = Scene(f"{syn}>1 <2 >F <F", {"1": asked, "2": text}, size=size).check()
    assert ended(events).initiator is None


@pytest.mark.parametrize("asked", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_markers_are_what_the_receiver_asked_for(asked: tuple[int, int]) -> None:
    """M in the Request is about what the Responder sends, M in the Reply the other way (7.1.1)."""
    half = stream(markers=bool(asked[1])), stream(markers=bool(asked[0]))
    frames = {"Q": request(markers=asked[0]), "A": reply(markers=asked[1])}
    letters: dict[str, Octets] = {**frames, "1": half[0], "2": half[1]}
    events = Scene(">Q <A >1 <2 >F <F", letters, size=1000).check()
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
    letters: dict[str, Octets] = {
        "Q": request(crc=asked[0], markers=markers),
        "A": reply(crc=asked[1], markers=markers),
        "S": stream(markers=bool(markers), crc=crc),
    }
    events = Scene(ORDINARY, letters, size=1000).check()
    assert {each.crc for each in fpdus(events)} == {"good" if crc else "off"}
    assert ended(events).crc is crc


@pytest.mark.parametrize(("upto", "again"), [(1, 1), (10, 10), (20, 20), (27, 27), (27, 0)])
def test_octets_in_the_syn(upto: int, again: int) -> None:
    """TCP Fast Open: the first octet is the one behind the SYN (RFC 7413 2), and what it carried
    may come again behind it (4.1.3)."""
    frame = request(private_data=b"private")
    talk = Talk(syn=False)
    talk.next = [1000, 5000]
    talk.say(0, frame[:upto], flags=SYN)
    talk.say(1, flags=SYN | ACK)
    talk.next[0] = 1001 + again
    if frame[again:]:
        talk.say(0, frame[again:])
    talk.say(1, reply())
    events = talk.speak(stream()[0])
    check_works(events)
    assert [each.seq for each in seen(events)] == [1001, 5001]


def test_a_startup_frame_inside_an_fpdu_is_payload() -> None:
    """In Full Operation the octets are FPDUs, whatever they look like (7.1)."""
    octets = build_stream([messages.send(1, request() + reply() * 3)[0]] * 3)
    Scene(ORDINARY, {"S": octets}, size=50).check()


@pytest.mark.parametrize("markers", [0, 1])
def test_an_fpdu_inside_private_data_is_private_data(markers: int) -> None:
    """It is none, also where nothing follows the startup frame that could be one."""
    inside = build_stream([messages.send(1, b"x" * 60)[0]] * 2)[0]
    for repeated in range(4):
        fields = {"private_data": bytes(repeated) + inside, "markers": markers}
        Scene(">Q <A >F <F", {"Q": request(**fields), "A": reply(**fields)}).check()


@pytest.mark.parametrize("size", [1, 97, 150, 200, 300])
@pytest.mark.parametrize("is_late", [False, True])
def test_fpdus_inside_private_data_of_which_the_rest_is_to_come(size: int, is_late: bool) -> None:
    """Two that stand back to back, and are good, in the first segments of the frame."""
    inside = build_stream([messages.send(1, b"x" * 20)[0]] * 6)[0]
    scene = Scene(
        ">Q <A", {"Q": request(private_data=inside), "A": reply(private_data=inside)}, size=size
    )
    mine = [at for at, each in enumerate(scene.segments) if each.direction and at > 3]
    if is_late and len(mine) > 2:
        # Only the last one tells that the frame is whole.
        one, last = mine[1], mine[-1]
        scene.segments[one], scene.segments[last] = scene.segments[last], scene.segments[one]
    events = scene.speak(stream()[0])
    check_works(events)
    assert len(seen(events)) == 2


def test_enhanced_startup() -> None:
    """Revision 2 with S: the first four octets of the Private Data are enhanced data (RFC 6581)."""
    data = enhanced_data(16, 8, a=1, d=1)
    letters = {
        "Q": request(revision=2, enhanced=1, private_data=data + b"ulp"),
        "A": reply(revision=2, enhanced=1, private_data=data),
    }
    events = Scene(ORDINARY, letters).check()
    check_works(events)
    first = seen(events)[0].startup
    assert (first.ird, first.ord, first.control_flags) == (16, 8, "AD")
    assert first.private_data == b"ulp"
    assert ended(events).revision == 2
