# SPDX-License-Identifier: GPL-2.0-or-later
"""The Startup Phase in captures (RFC 5044 7.1.1 to 7.1.3): a table of what works.

In each situation all captured startup frames and FPDUs are reported, without an error.  The words
are those of :mod:`tests.stream.scene`.
"""

import itertools
from collections.abc import Mapping

import pytest

from scapy_mpa.stream.events import GapFound
from scapy_mpa.stream.flows import Flows
from scapy_mpa.wire.startup import StartupKind
from tests.stream.feed import fpdus, of
from tests.stream.scene import Octets, Scene, both
from tests.stream.startup import PROSE, ULPDUS, ended, errors, reply, request, seen, stream
from tests.stream.talk import Talk
from tests.stream.work import calls
from tests.truth import messages
from tests.truth.impair import ACK, SYN
from tests.truth.mpastream import build_stream, enhanced_data

ORDINARY = ">Q <A >S <S >F <F"
INSIDE = build_stream([messages.send(1, b"x" * 20)[0]] * 6)[0]
FLAGS = list(itertools.product((0, 1), repeat=2))

# Octets that begin like a startup frame, or like a part of an adaption indication.
BEGUN = [
    b"MPA ID Re",
    b"> MPA ID Req Fram",
    b"M",
    b"Hey, RDDP",
    bytes.fromhex("41424344 0001 0001"),
]
TEXTS = [b"HELLO\r\n", PROSE, bytes(range(256)) * 20, *BEGUN]


def marked(asked: int, answered: int) -> dict[str, Octets]:
    """Startup frames that ask for Markers or not, and the FPDUs of each side."""
    frames = {"Q": request(markers=asked), "A": reply(markers=answered)}
    return {**frames, "1": stream(markers=bool(answered)), "2": stream(markers=bool(asked))}


WORKS: list[tuple[str, Mapping[str, Octets]]] = [
    (ORDINARY, {}),
    ("<Q >A <S >S >F <F", {}),
    # -- fields: R, S, Res of a Request mean nothing; M asks the other side, C counts for both
    (ORDINARY, {"Q": request(rejected=1)}),
    (ORDINARY, {"Q": request(reserved=1), "A": reply(reserved=15)}),
    *((">Q <A >1 <2 >F <F", marked(*each)) for each in FLAGS),
    *((ORDINARY, {"Q": request(crc=crc), "A": reply(crc=1 - crc)}) for crc in (0, 1)),
    *((ORDINARY, both(crc=crc, markers=markers)) for crc, markers in FLAGS),
    # -- Private Data, also data that look like something else
    *(
        (ORDINARY, both(private_data=data))
        for data in (b"x", bytes(512), request() * 4, reply(rejected=1), INSIDE, b"abc" + INSIDE)
    ),
    (">Q <A >F <F", both(private_data=INSIDE, markers=1)),
    (ORDINARY, {"S": build_stream([messages.send(1, request() + reply() * 3)[0]] * 3)}),
    # -- MPA may begin anywhere in a segment, after any octets (7.1.3)
    *((">wQ <wA >S <S >F <F", {"w": text}) for text in TEXTS),
    *((">w <w >Q <A >S <S >F <F", {"w": text}) for text in TEXTS),
    (">w <w >Q <A >S <S >F <F", {"w": b"text" * 10_000}),
    # -- the Keys stand in the RFC, too, which may be sent over TCP
    (
        ">1 <2 >F <F",
        {"1": b"GET /rfc5044.txt HTTP/1.0\r\n\r\n", "2": b"200 OK\r\n\r\n" + PROSE * 3},
    ),
    ("... >1 <2 >F <F", {"1": b"GET /rfc5044.txt\r\n\r\n", "2": b"200 OK\r\n\r\n" + PROSE * 3}),
    # -- after a Reply that rejects: another startup, from either side, or none (rules 2, 3)
    (">Q <R >w <w >Q <A >S <S >F <F", {"w": b"no?\r\n"}),
    (">Q <R >w <w >Q <A >S <S >F <F", {"w": b"x" * 20_000}),
    (">Q <R <Q >A <S >S >F <F", {}),
    (">Q <R " * 30 + ORDINARY, {}),
    ("... " + ">Q <R " * 30 + ORDINARY, {}),
    (">Q <R >w <w >F <F", {"w": b"plain text " * 2_000}),
    (">Q <R" + " >w <w" * 5 + " >F <F", {"w": b"\0\4no FPDU!!!"}),
    (">Q <R" + " >w <w" * 5 + " >F <F", both(markers=1) | {"w": bytes(4) + b"\0\4no FPDU!!!"}),
    # -- the SYNs were not captured
    ("... " + ORDINARY, {}),
    # -- startup frames that were not captured, or late
    *(
        (f"... >Q <{mark}A >S <S >F <F", both(crc=0, revision=0, private_data=b"hello"))
        for mark in ("", "-")
    ),
    *(
        (words, both(crc=crc, markers=markers))
        for crc, markers in FLAGS
        for words in (
            ">-Q <A >S <S >F <F",
            ">Q <-A >S <S >F <F",
            ">-Q <-A >S <S >F <F",
            "... >S",
            ">Q+1 <A >S <S >F <F",
            ">Q <A+4 >S <S >F <F",
            ">Q+5 <A+4 >S <S >F <F",
            ">Q <A >-f >S <S >F <F" if crc and not markers else ORDINARY,
        )
    ),
    *(
        (f">Q <R >{p}P <{a}A >S <S >F <F", both() | {"P": request(private_data=bytes(30))})
        for p, a in (("", ""), ("", "-"), ("-", ""))
    ),
    # An answer confirms a Request.  So do FPDUs directly after it, or after a Reply.
    *(
        (f"{begin}>w <w >{q}Q <{a}A >S <S >F <F", both(markers=markers) | {"w": text})
        for begin in ("", "... ")
        for q, a in (("", ""), ("-", ""), ("", "-"))
        for text in (b"login\r\n", PROSE)
        for markers in (0, 1)
    ),
    # Nobody answers.  In a segment of its own it is a Request.  Within text it may be anything.
    ("... >w >Q >F <F", {}),
    ("... >w >p >F <F", {"p": b"<p>" + request(private_data=bytes(60)) + b"</p>"}),
    # Without the SYN, a Request after a rejected Request does not show that the first is no frame.
    ("... >Q <R >P <A >f >f <f", {"P": request(private_data=b"abcdefgh")}),
    # FPDUs after a hole do not show that it stays open.  A late Reply may fill it.
    *((f">Q <A+{late} {'>f <f ' * 12}", {}) for late in range(1, 24, 3)),
    # -- startup frames that the snap length has cut off
    *(
        (words.format(snap), both(private_data=bytes(16), markers=markers))
        for markers in (0, 1)
        for snap in (0, 12, 19, 20, 30)
        for words in (
            ">Q/{0} <A >S <S >F <F",
            ">Q <A/{0} >S <S >F <F",
            ">Q/{0} <A/{0} >S <S >F <F",
            ">Q/{0} <R >Q <A/{0} >S <S >F <F",
            ">Q/{0} >F <F" if snap < 20 else ORDINARY,
            ">Q <A/{0}",
        )
    ),
    *(
        (
            f">Q <A <t/{snap} <X",
            both(revision=2, enhanced=1, private_data=enhanced_data(4, 4, a=1, b=1)),
        )
        for snap in (0, 2, 3)
    ),
]


def is_known(words: str) -> bool:
    """Whether an accepted startup was captured whole and in order."""
    return not set("-+/.!") & set(words) and "A" in words and "S" in words


@pytest.mark.parametrize("at", range(len(WORKS)), ids=lambda at: WORKS[at][0][:40])
def test_situations_that_work(at: int) -> None:
    """Each word is sent in one segment, and in pieces."""
    words, letters = WORKS[at]
    for size in (None, 1000) if "/" in words else (None, 30):
        scene = Scene(words, letters, size=size)
        events = scene.check()
        cut = [each for each in words.split() if "/" in each and int(each.split("/")[1]) < 20]
        reasons = {"connection ended", "snap length" if cut else "capture ended"}
        assert {each.reason for each in of(GapFound, events)} <= reasons
        if is_known(words):
            assert all(fpdus(events, side)[0].located_by == "start" for side in (0, 1))
            assert (ended(events).direction, ended(events).rejected) == ("<Q" in words, False)


@pytest.mark.parametrize(("upto", "again"), [(1, 1), (10, 10), (20, 20), (27, 27), (27, 0)])
def test_octets_in_the_syn(upto: int, again: int) -> None:
    """TCP Fast Open: the first octet follows the SYN (RFC 7413 2).  Octets in the SYN may come
    again after it (4.1.3)."""
    frame = request(private_data=b"private")
    talk = Talk(syn=False)
    talk.next = [1000, 5000]
    talk.say(0, frame[:upto], flags=SYN)
    talk.say(1, flags=SYN | ACK)
    talk.next[0] = 1001 + again
    if frame[again:]:
        talk.say(0, frame[again:])
    talk.say(1, reply())
    events = talk.say_both(stream()[0])
    assert [each.ulpdu for each in fpdus(events)] == ULPDUS * 2
    assert errors(events) == []
    assert [each.seq for each in seen(events)] == [1001, 5001]


@pytest.mark.parametrize("markers", list(itertools.product((0, 1), repeat=2)))
@pytest.mark.parametrize("words", ["-Q <A", "Q <-A", "Q+9 <A", "Q+40 <A", "Q <A+9", "Q <A+40"])
@pytest.mark.parametrize("size", [24, 1200])
@pytest.mark.parametrize("crc", [1, 0])
def test_fpdus_do_not_wait_for_a_startup_frame(
    crc: int, size: int, words: str, markers: tuple[int, int]
) -> None:
    """The peer acknowledges the end of the frame, and the octets there show that FPDUs begin.

    If the frame is captured later, it is reported then, and the FPDUs are not reported again.
    """
    ulpdus = [each for _ in range(12) for each in ULPDUS]
    letters: dict[str, Octets] = {
        "Q": request(markers=markers[1], crc=crc, private_data=b"for you"),
        "A": reply(markers=markers[0], crc=crc, private_data=b"and back"),
        "I": build_stream(ulpdus, markers=bool(markers[0]), crc=bool(crc)),
        "J": build_stream(ulpdus, markers=bool(markers[1]), crc=bool(crc)),
    }
    events = Scene(f">{words} >I <J >F <F", letters, size=size).check()
    for direction in (0, 1):
        late = [each.frame - max(each.frames) for each in fpdus(events, direction)]
        assert len(late) == len(ulpdus)
        # Octets are searched each time that they have doubled.  Without CRCs, it takes four FPDUs
        # in a row.
        assert len(late) - late.count(0) <= (1 if crc else 7)


@pytest.mark.parametrize("first", [(5, 0), (5, 0, 1), (2, 5, 0)])
def test_a_request_captured_after_fpdus_and_the_syn(first: tuple[int, ...]) -> None:
    """A Marker led to FPDUs before the SYN was captured.  The Reply answers the late Request."""
    octets, truth = build_stream(ULPDUS, markers=True)
    talk = Talk()
    talk.say(0, request())
    talk.say(1, reply(markers=1))
    talk.say(0, octets)
    talk.close()
    order = [*first, *(at for at in (3, 4, *range(len(talk.segments))) if at not in first)]
    talk.segments = [talk.segments[at] for at in dict.fromkeys(order)]
    events = talk.fed()
    assert [each.ulpdu for each in fpdus(events)] == [each.ulpdu for each in truth]
    assert not errors(events)
    assert [each.startup.kind for each in seen(events)][-1] is StartupKind.REPLY


@pytest.mark.parametrize(
    ("words", "count"),
    [
        (">f >Q+2 >f+3 >f >f <A <f", 5),
        # FPDUs before the Request are not found.
        ("... >f >f <f >Q+3 >f >f <A+3 <f >f <f <f >F <F", 7),
        # The next FPDU does not show where the Reply ends.
        (">Q <A+4 >f+9 <f+9 >f <ff <f >F <F", 6),
        (">w+1 >L <L <L >Q+5 > >f >L- >L < <f >Q", 6),
    ],
)
def test_startup_frames_captured_between_fpdus(words: str, count: int) -> None:
    """FPDUs are found before the startup frame ahead of them.  The frame is not read as an FPDU."""
    scene = Scene(words, {"L": build_stream([messages.send(1, bytes(600))[0]])})
    events = scene.fed()
    assert [each.octets for each in seen(events)] == scene.frames
    assert len({(each.direction, each.seq) for each in fpdus(events)}) == count
    assert [each.crc for each in fpdus(events)] == ["good"] * count


@pytest.mark.parametrize("beginning", ["", "... ", ">-z <-z "])
def test_each_rejection_costs_the_same(beginning: str) -> None:
    """The work for a rejection does not grow with the number of earlier rejections."""

    def cost(times: int) -> int:
        segments, flows = Scene(beginning + ">Q <R " * times, {"z": bytes(100)}).captured(), Flows()
        return calls(lambda: [flows.receive(each) for each in segments])

    assert cost(300) < 3.3 * cost(100)


def test_a_startup_frame_in_pieces_names_all_its_frames() -> None:
    """A startup frame is a stretch of the stream (7.1.1)."""
    scene = Scene(ORDINARY, both(private_data=bytes(range(200))), size=100)
    assert [each.frames for each in seen(scene.check())] == [(4, 5, 6), (7, 8, 9)]
