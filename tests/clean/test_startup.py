# SPDX-License-Identifier: GPL-2.0-or-later
"""What clean writes of a startup, whatever part of it was captured, and in whatever order."""

from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter

import pytest

from scapy_mpa.capture import Frame
from scapy_mpa.stream.events import ErrorFound
from tests.clean.cleaning import clean, events, frames_of, segments
from tests.clean.test_same_fpdus import check
from tests.stream.scene import OCTETS, Octets, Scene
from tests.stream.startup import reply, request
from tests.stream.talk import STREAM, TRUTH
from tests.truth import mpastream, pcapfile
from tests.truth.impair import FIN, SYN

ASKED, EXTENSION = request(private_data=b"any"), b"\1\2\3\4\5\6\7\x08"
LETTERS: dict[str, Octets] = {
    **{"P": ASKED, "p": ASKED[:21], "r": ASKED[21:], "B": reply(private_data=b"other")},
    **{"M": request(markers=1), "K": request(crc=0), "L": reply(crc=0)},
    **{"E": request(revision=129) + EXTENSION, "D": reply(revision=129) + EXTENSION},
    **{"f": STREAM[: TRUTH[0].end], "g": STREAM[TRUTH[0].end : TRUTH[2].end]},
    "h": mpastream.build_stream([each.ulpdu for each in TRUTH], crc=False),
    **{"u": b"well", "v": b"once more", "x": b"?" * 20, "y": b"?" * 224},
}
"""Letters besides those of scenes: a Request with Private Data and its parts, and such a Reply; a
Request with M, and frames without C; those of erdma; FPDUs with and without CRCs; words; and the
holes of a startup frame and of an FPDU."""

MANY = " >f" * 60 + " <f"
SITUATIONS: list[tuple[str, str, int, int]] = [
    # The words of a scene, and what is written. Numbers of supplied startup frames and handshakes.
    (">Q <A >fg <fg", ">Q <A >fg <fg", 0, 0),
    (">Q <R >P <B >f <f", ">Q <R >P <B >f <f", 0, 0),
    (">Q- <R >P <B >f <f", ">Q <R >P <B >f <f", 1, 0),
    (">Q <R- >P <B >f <f", ">QP <xB >f <f", 0, 0),
    (">Q <R >P- <B >f <f", ">Q <R >Q <B >f <f", 1, 0),
    (">Q <R >P <B- >f <f", ">Q <R >P <A >f <f", 1, 0),
    (">Q- <R >P- <B >f <f", ">Q <R >Q <B >f <f", 2, 0),
    (">Q+5 <R+5 >P <B >f <f", ">Q <R >P <B >f <f", 0, 0),
    # Octets of the Request are acknowledged, or followed, before all of them were captured.
    (">p < >r <A", ">P <A", 0, 0),
    (">p >r+1 > <A", ">P <A", 0, 0),
    ("...>N >Q- <A+1 >fg <fg", ">Q <A >fg <fg", 1, 0),
    (">w+1 >Q <A >f", ">wQ <A >f", 0, 0),
    (">f >Q <A >g >f", ">yQ <A >fgf", 0, 0),
    *((f">P+{late} < <B{MANY}", f">P <B{MANY}", 0, 1) for late in (1, 2, 8, 58)),
    *((f">P <B+{late}{MANY}", f">P <B{MANY}", 0, 0) for late in (1, 2, 8, 58)),
    *((f">P+{late} < <B+{late}{MANY}", f">P <B{MANY}", 0, 1) for late in (1, 8, 58)),
    # C is set if CRCs are on, as FPDUs or the other startup frame show.
    ("...>fg <fg", ">Q <A >fg <fg", 2, 1),
    ("...>h <h", ">K <L >h <h", 2, 1),
    (">Q- <A", ">Q <A", 1, 0),
    (">Q- <L", ">K <L", 1, 0),
    # What other tools take for copies of supplied startup frames, and what they do not know.
    ("<w >Q- <A- >f >g", "<w >Q <A >fg", 2, 1),
    (">Q <A >T >f <f", ">Q <A >f <f", 0, 0),
    (">E- <D >f <f", ">Q <A >f <f", 1, 0),
    (">E <D- >f <f", ">Q <A >f <f", 1, 0),
    (">E- <D- >f <f", ">Q <A >f <f", 2, 0),
]

STREAMING: list[tuple[str, str]] = [
    (">wQ <A >f <f", ">wQ <A >f <f"),
    (">w <u >v >Q <A >f <f", ">w <u >vQ <A >f <f"),
    (">M <Ru >vQ <A >f <f", ">Q <Ru >vQ <A >f <f"),
    (">E <Ru >v <w >w >Q <A >f <f", ">Q <Ru >v <w >wQ <A >f <f"),
    (">wQ <Ru >v", ">wQ <Ru >v"),
]
"""The same for octets in streaming mode, also where sequence numbers have changed before them."""


def turns(words: Iterable[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    """What each side sends before the other one sends again."""
    return [
        (side, b"".join(octets for _, octets in turn))
        for side, turn in groupby(words, itemgetter(0))
    ]


def octets_of(words: str) -> list[tuple[int, bytes]]:
    """The octets of words that are all in order."""
    found: list[tuple[int, bytes]] = []
    for word in words.split():
        given = [{**OCTETS, **LETTERS}[letter] for letter in word[1:]]
        octets = [each[0] if isinstance(each, tuple) else each for each in given]
        found.append(("><".index(word[0]), b"".join(octets)))
    return found


def sent(frames: list[Frame]) -> list[tuple[int, bytes]]:
    """Sender and octets of each segment, with ``?`` for each octet of a hole before them.

    No segment may acknowledge octets that are written after it, except before another handshake.
    """
    found, upto, hole, is_early = [], dict[int, int](), 0, False
    for each in segments(frames):
        side = each.flow[3] - 1
        if each.flags & SYN:
            hole, is_early = 0, False
        else:
            hole = (each.seq - upto.get(side, each.seq)) % 2**32
            is_early |= (upto.get(1 - side, each.ack) - each.ack) % 2**32 >= 2**31
        assert hole < 1000
        upto[side] = (each.seq + each.length + bool(each.flags & (SYN | FIN))) % 2**32
        found += [(side, b"?" * hole + each.payload)] * bool(each.payload or hole)
    assert not is_early
    return found


IN_SIZES = [
    *((*row, None) for row in SITUATIONS),
    *((*row, 0, 0, size) for row in STREAMING for size in (None, 1, 7, 21)),
]


@pytest.mark.parametrize(("words", "written", "supplied", "handshakes", "size"), IN_SIZES)
def test_situations(
    words: str, written: str, supplied: int, handshakes: int, size: int | None
) -> None:
    """Both startup frames and all octets are written in order, in segments of any size.

    The FPDUs are the same, and cleaning the written capture again changes nothing.
    """
    scene = Scene(words, LETTERS, size=size)
    scene.close()
    frames = frames_of(pcapfile.pcap(pcapfile.frames(scene.segments)))
    cleaned = clean(frames)
    assert turns(sent(cleaned.frames)) == turns(octets_of(written))
    report = cleaned.report
    assert (report.startup_frames, report.handshakes) == (supplied, handshakes)
    assert (report.left_out, report.rtr_frames) == (0, words.count("T"))
    check(frames)
    copies = [
        each for each in cleaned.comments if "do not take the startup frames for copies" in each
    ]
    assert len(copies) == 3 * handshakes * (not words.startswith("..."))
    # Without the rejection, the first Request has no answer.
    is_wrong = any(isinstance(each, ErrorFound) for each in events(cleaned.frames))
    assert is_wrong == ("R-" in words)
