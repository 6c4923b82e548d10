# SPDX-License-Identifier: GPL-2.0-or-later
"""What clean writes of a startup, whatever part of it was captured, and in whatever order.

A complete capture with every FPDU is written, whatever flags segments have.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import pytest

from scapy_mpa.capture import Frame
from scapy_mpa.craft.scenario import parse_scenario
from scapy_mpa.stream.events import ConnectionEnded, ErrorFound, FPDURecovered
from scapy_mpa.stream.halves import intake
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.segment import Segment as Received
from tests.clean.cleaning import clean, events, fpdus, frames_of, renumbered, segments
from tests.clean.test_same_fpdus import check
from tests.cli.command import run
from tests.stream.scene import OCTETS, Octets, Scene
from tests.stream.startup import reply, request
from tests.stream.talk import REPLY, REQUEST, STREAM, TRUTH, Talk, started, whole
from tests.truth import messages, mpastream, pcapfile
from tests.truth.impair import ACK, FIN, RST, SYN, Segment

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


def capture(parts: Sequence[Sequence[Segment]]) -> bytes:
    """A capture of several connections between the same ports, one after the other."""
    return pcapfile.pcap(pcapfile.frames([each for part in parts for each in part]))


def check_complete(parts: Sequence[Sequence[Segment]]) -> None:
    """Each frame is copied or replaced, and the FPDUs are the same."""
    frames = frames_of(capture(parts))
    cleaned = clean(frames)
    assert fpdus(cleaned.frames) == fpdus(frames)
    assert cleaned.report.copied + cleaned.report.replaced == len(frames)


@pytest.mark.parametrize("flags", [SYN | FIN | RST | ACK, SYN | RST, FIN | RST, SYN | FIN | ACK, 0])
@pytest.mark.parametrize("octets", [b"", b"M", STREAM[: TRUTH[0].end]])
def test_a_connection_of_one_segment(flags: int, octets: bytes) -> None:
    """On unused ports, and on those of a connection that is still open."""
    one = Segment(0, 1_700_000, 0, flags, octets)
    for before in ([], started((1000, 5000)).segments):
        check_complete([before, [one], before[3:]])


@pytest.mark.parametrize("octets", [b"", b"x"])
def test_a_syn_with_another_number_at_the_end(octets: bytes) -> None:
    """Nothing else was captured of the connection that it opened."""
    before = whole().segments
    other = before[0]._replace(seq=before[0].seq + 5000, flags=SYN | ACK, payload=octets)
    check_complete([before, [before[0], other]])


@pytest.mark.parametrize("payload", [REQUEST, REQUEST[:7], b"hello"])
def test_a_syn_with_octets(payload: bytes) -> None:
    """Its octets of MPA are written once; a SYN without MPA is copied unchanged (RFC 7413)."""
    talk = Talk((1000, 5000), syn=False)
    talk.next = [1000, 5000]
    talk.say(0, payload, flags=SYN)
    talk.say(1, flags=SYN | ACK)
    talk.say(0, REQUEST[len(payload) :] if REQUEST.startswith(payload) else REQUEST)
    talk.say(1, REPLY)
    talk.say(0, STREAM)
    talk.say(1, STREAM)
    frames = frames_of(capture([talk.segments]))
    cleaned = clean(frames)
    assert fpdus(cleaned.frames) == fpdus(frames)
    octets = b"".join(octets for side, octets in sent(cleaned.frames) if side == 0)
    assert octets == (b"" if REQUEST.startswith(payload) else payload) + REQUEST + STREAM
    assert not [each for each in events(cleaned.frames) if isinstance(each, ErrorFound)]


@pytest.mark.parametrize("at", [0, 1, 5, 11])
def test_a_fault_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """The capture is complete, the exit status is 2, and a line names the fault."""
    received, count = intake.receive, itertools.count()

    def receive(half: HalfConnection, segment: Received) -> None:
        if next(count) == at:
            raise IndexError("made for this test")
        received(half, segment)

    source, target = tmp_path / "fault.pcap", tmp_path / "clean.pcapng"
    source.write_bytes(capture([whole().segments[:at], whole((1 << 20, 1 << 21)).segments]))
    with monkeypatch.context() as patched:
        patched.setattr(intake, "receive", receive)
        result = run("clean", "-q", source, "-o", target)
    assert result.exit_code == 2
    fault = "1 connection not cleaned to the end: a fault of scapy-mpa"
    assert result.stderr == f"scapy-mpa: {source}: {fault}\n"
    assert fpdus(frames_of(target)) == fpdus(frames_of(source.read_bytes()))


def other_octets() -> list[Segment]:
    """A connection with the numbers and lengths of :func:`whole`, and other octets."""
    ulpdus = [messages.send(msn, bytes(200))[0] for msn in range(1, 9)]
    talk = started((1000, 5000))
    talk.say_both(mpastream.build_stream(ulpdus)[0], size=500)
    return talk.segments


ONE, OTHER = whole((1000, 5000)).segments, other_octets()
BLOCKS = [ONE[at : at + 5] * 2 for at in range(0, len(ONE), 5)]


@pytest.mark.parametrize(
    ("parts", "connections"),
    [([ONE, OTHER, ONE], 3), ([ONE, ONE], 1), (BLOCKS, 1)],
    ids=["other octets", "appended to itself", "in blocks"],
)
def test_connections_and_fpdus_before_and_after(
    parts: Sequence[Sequence[Segment]], connections: int
) -> None:
    """A cleaned capture has the same numbers of both."""
    frames = frames_of(capture(parts))
    for each in (frames, clean(frames).frames):
        types = Counter(map(type, events(each)))
        assert (types[ConnectionEnded], types[FPDURecovered]) == (connections, 16 * connections)


@pytest.mark.parametrize("markers", ["neither", "both"])
@pytest.mark.parametrize("ahead", [-3000, -500, 0, 1, 300])
def test_segments_that_may_be_copies(markers: str, ahead: int) -> None:
    """The first segments of a connection, up to the first that shows that they are no copies.

    The connection before, of the same ports, has nearly the same sequence numbers.  If all are
    equal, the segments are copies, and are left out.
    """
    frames: list[Frame] = []
    for number, isn in enumerate([1 << 20, (1 << 20) + ahead]):
        sends = "initiator send 300\nresponder send 3000\ninitiator send 300\nclose"
        options = f"isns {isn} {isn}\nmarkers {markers}\nstart-time {1_700_000_000 + number}\n"
        frames += parse_scenario(f"{options}startup\n{sends}").frames()[0 if number else 7 :]
    frames = renumbered(frames)
    found = clean(frames)
    assert fpdus(found.frames) == fpdus(frames)
    assert len(found.startups) == (4 if ahead else 2)
    first = clean(frames, selects=lambda identity: identity.number == 0)
    other = clean(frames, selects=lambda identity: identity.number == 1)
    assert fpdus(first.frames) + fpdus(other.frames) == fpdus(frames)
    assert [len(each.startups) for each in (first, other)] == [2, 2 if ahead else 0]
