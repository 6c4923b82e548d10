# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames of iWARP Framing for TCP (draft-williams-iwarp-ift-01 5 to 8), and any octets."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.stream.limits import Limits
from scapy_mpa.stream.segment import ACK, FIN, RST, SYN
from tests.dialects.ift import (
    BOTH,
    HC,
    IH,
    IP,
    PC,
    PH,
    SP,
    VTAG_A,
    VTAG_B,
    Capture,
    R,
    frame,
    indication,
    places,
    send,
    sends,
    write,
)
from tests.stream.work import calls

NONE, HEADERS, PAYLOADS = R, R | HC, R | PC
CRCS = [BOTH, HEADERS, PAYLOADS, NONE]
PIECE = 40
"""Octets of a frame that are captured without the rest."""
LIE = 250
"""A payload_size that ends in the second frame behind."""

NO_FRAME = "octets in which no frame begins"
LIAR = "a frame begins in what the sizes of the one before claim"
HEADER_CRC, PAYLOAD_CRC = "the header CRC does not match", "the payload CRC does not match"


def made(number: int, harm: str, flags: int) -> bytes:
    """A frame with a Send of 100 octets.

    :param harm: ``h`` header CRC wrong, ``p`` payload CRC wrong, ``v`` VTag of its own sender,
        ``l`` payload_size too large, ``n`` header_size wrong, ``d`` no DDP version that there is.
    """
    ddp = bytearray(send(number + 1))
    ddp[0] ^= 2 * ("d" in harm)
    vtag, size = VTAG_A if "v" in harm else VTAG_B, LIE if "l" in harm else -1
    octets = bytearray(frame(bytes(ddp), bytes([number]) * 100, flags, vtag=vtag, size=size))
    for each, place in (("h", 24), ("p", len(octets) - 1), ("n", 1)):
        octets[place] ^= 0xFF * (each in harm)
    return bytes(octets)


def captured(flags: int, answer: int, script: str) -> Capture:
    """What was reported of a script: segments in the order of the capture.

    Each is the number of a frame, with letters of :func:`made`; ``<`` for its first octets alone
    and ``>`` for the others; ``c`` if the capture cut it there, and ``k`` if it cut it within the
    IFT header.  ``*`` is 9 octets of no frame behind the last one, ``!`` many acknowledgements of
    all, ``$`` a FIN and ``^`` a RST there.
    """
    capture = Capture(flags, answer)
    size = len(made(0, "", flags))
    end = 64
    for number, what in re.findall(r"(\d?)(\S*)", script):
        octets, at = b"", end
        if number:
            octets, at = made(int(number), what, flags), 64 + int(number) * size
        if "<" in what:
            octets = octets[:PIECE]
        elif ">" in what:
            octets, at = octets[PIECE:], at + PIECE
        elif "*" in what:
            octets = b"\x5a" * 9
        length = len(octets)
        octets = octets[: PIECE if "c" in what else 4 if "k" in what else None]
        more = FIN * ("$" in what) | RST * ("^" in what)
        if "!" in what:
            for _ in range(80):
                capture.segment(side=1, at=64, ack=end)
        elif what or number:
            capture.segment(octets, at, flags=ACK | more, ack=64, length=length)
        end = max(end, at + length)
    capture.finish()
    return capture


def said(capture: Capture, flags: int) -> str:
    """What was reported: frames by number, ``s`` placed speculatively, ``?`` found by search, ``h``
    and ``p`` CRCs that are bad, ``u`` one that is unknown; and ``-`` gaps."""
    size = len(made(0, "", flags))
    words = []
    for each in capture.records:
        if each["type"] == "ift_frame":
            verdicts = each["header_crc"], each["payload_crc"]
            words.append(
                str(each["offset"] // size)
                + "s" * (each["placed"] == "speculative")
                + "?" * (each["located_by"] == "search")
                + "".join(name * (of == "bad") for name, of in zip("hp", verdicts, strict=True))
                + "u" * ("unknown" in verdicts)
            )
            assert each["out_of_order"] is (each["placed"] == "speculative")
        elif each["type"] == "gap":
            words.append("-")
    return " ".join(words)


SITUATIONS: list[tuple[int, int, str, str, list[str]]] = [
    # What A's indication says, and B's; segments; what is reported; errors.
    (BOTH, BOTH, "0 1 2", "0 1 2", []),
    (BOTH, BOTH, "0 1h 2", "0 1h 2", [HEADER_CRC]),
    (BOTH, BOTH, "0 1p 2", "0 1p 2", [PAYLOAD_CRC]),
    (BOTH, BOTH, "0 1hp 2", "0 1hp 2", [HEADER_CRC, PAYLOAD_CRC]),
    (BOTH, BOTH, "0 1h", "0 1h", [HEADER_CRC]),
    (BOTH, BOTH, "0 1v 2", "0 1 2", ["the frame has VTag 0xa1b2 instead of 0xc3d4"]),
    (NONE, NONE, "0 1v 2", "0 1 2", ["the frame has VTag 0xa1b2 instead of 0xc3d4"]),
    (BOTH, BOTH, "0 1n 2", "0 2?", [f"132 {NO_FRAME}"]),
    (BOTH, BOTH, "0 * $", "0", [f"9 {NO_FRAME}"]),
    # Sizes that lie: if payload CRCs tell, what they claim is looked through.
    (BOTH, BOTH, "0 1l 2 3 4 5", "0 1p 2? 3 4 5", [PAYLOAD_CRC, LIAR]),
    (PAYLOADS, NONE, "0 1l 2 3 4 5", "0 1p 2? 3 4 5", [PAYLOAD_CRC, LIAR]),
    (BOTH, BOTH, "0 1l 2 3p 4", "0 1p 2? 4?", [PAYLOAD_CRC, LIAR, f"132 {NO_FRAME}"]),
    (HEADERS, NONE, "0 1l 2 3 4 5", "0 1 4? 5", [f"106 {NO_FRAME}"]),
    (NONE, NONE, "0 1l 2 3 4 5", "0 1 4? 5", [f"98 {NO_FRAME}"]),
    (BOTH, BOTH, "0 1l 2", "0 2?", [f"132 {NO_FRAME}"]),
    (NONE, NONE, "0 1l 2", "0 2?", [f"124 {NO_FRAME}"]),
    # IH and IP of the receiver: nothing follows from CRCs that are wrong (4.2).
    (BOTH, BOTH | IH, "0h 1h 2h", "0h 1h 2h", []),
    (BOTH, BOTH | IP, "0p 1p 2p", "0p 1p 2p", []),
    (BOTH, BOTH | IH | IP, "0hp 1hp 2", "0hp 1hp 2", []),
    (BOTH | IH | IP, BOTH, "0 1hp 2", "0 1hp 2", [HEADER_CRC, PAYLOAD_CRC]),
    (BOTH | SP, BOTH | IH | IP, "0 2hp 1", "0 1 2shp", []),
    # Behind a hole (6): what lies there waits, and is searched for if the hole stays.
    *((crcs, BOTH, "0 2 3 1", "0 1 2 3", []) for crcs in CRCS),
    *((crcs, BOTH, "0 2 3", "0 - 2? 3", []) for crcs in CRCS),
    *((crcs, BOTH, "0 1< 2 3", "0 - 2? 3", []) for crcs in CRCS),
    *((crcs, BOTH, "0 1> 2 3", "0 - 2? 3", []) for crcs in CRCS),
    *((crcs, BOTH, "0 1> 2 3 1<", "0 1 2 3", []) for crcs in CRCS),
    (BOTH, BOTH, "1 2", "- 1? 2", []),
    (BOTH, BOTH, "0 2 ! 3 ! 4 5", "0 - 2? 3 4 5", []),
    (BOTH, BOTH, "0 2 4 ! 5 ! 6", "0 - 2? - 4? 5 6", []),
    (BOTH, BOTH, "1 ! 2 ! 3 4", "- 1? 2 3 4", []),
    # A copy that comes behind the acknowledgement is too late.
    (BOTH, BOTH, "0 2 ! 3 ! 4 1 5", "0 - 2? 3 4 5", []),
    (BOTH, BOTH, "1 ! 2 ! 3 0 4", "- 1? 2 3 4", []),
    # Speculative placement (8), if the sender allows it, of what comes whole beyond a hole.
    (BOTH | SP, BOTH, "0 2 3 1", "0 1 2s 3s", []),
    (BOTH, BOTH | SP, "0 2 3 1", "0 1 2 3", []),
    *((crcs | SP, BOTH, "0 2 3", "0 - 2s? 3s", []) for crcs in CRCS),
    (BOTH | SP, BOTH, "0 2 4 1 3", "0 1 2s 3 4s", []),
    (BOTH | SP, BOTH, "4 3 2 1 0", "0 1s 2s 3s 4s", []),
    (BOTH | SP, BOTH, "0 2 3< 1 3>", "0 1 2s 3", []),
    (BOTH | SP, BOTH, "0 1> 2 1<", "0 1 2s", []),
    (BOTH | SP, BOTH, "0 2> 2< 1", "0 1 2s", []),
    (BOTH | SP, BOTH, "0 2 ! 3 ! 4 5", "0 - 2s? 3s 4s 5", []),
    # What a receiver must not place before its turn (8, 8.1): it is reported in order, as it is.
    (BOTH | SP, BOTH, "0 2p 1", "0 1 2p", [PAYLOAD_CRC]),
    (BOTH | SP, BOTH, "0 2h 1", "0 1 2h", [HEADER_CRC]),
    (BOTH | SP, BOTH, "0 2v 1", "0 1 2", ["the frame has VTag"]),
    (BOTH | SP, BOTH, "0 2d 1", "0 1 2", []),
    (BOTH | SP, BOTH, "0 2c 1", "0 1 2u", []),
    # What the snap length cut off, and where the connection ends.
    (BOTH, BOTH, "0 1c 2c 3", "0 1u 2u 3", []),
    (BOTH, BOTH, "0 1k 2", "0 - 2?", []),
    (BOTH, BOTH, "0 1<$", "0", ["the connection was closed 40 octets into a frame"]),
    (BOTH, BOTH, "0 1< ^", "0", ["the connection was reset 40 octets into a frame"]),
    (BOTH, BOTH, "0 1<", "0", []),
    (BOTH, BOTH, "0 1< 2 $", "0 - 2?", []),
]


@pytest.mark.parametrize(
    ("flags", "answer", "script", "report", "errors"), SITUATIONS, ids=lambda each: str(each)
)
def test_6_situations(flags: int, answer: int, script: str, report: str, errors: list[str]) -> None:
    """Each frame is reported once, in the order of the stream, and so are messages."""
    capture = captured(flags, answer, script)
    assert said(capture, flags) == report
    texts = capture.errors
    assert len(texts) == len(errors)
    assert all(text.startswith(each) for text, each in zip(texts, errors, strict=True))
    # A receiver makes no message of a frame with a CRC that is bad and that it checks (7).
    checked = "h" * (not answer & IH) + "p" * (not answer & IP) + "u"
    whole = [word for word in report.split() if not set(word) & set(checked) and word != "-"]
    is_plain = not set("vdl") & set(script)
    complete = [each["msn"] - 1 for each in capture.of("message") if each["complete"]]
    assert not is_plain or complete == [int(word[0]) for word in whole]
    assert capture.end["fpdus"]["src"] == len(capture.of("ift_frame"))
    assert capture.end["out_of_order"]["src"] == report.count("s")


def test_8_how_far_ahead() -> None:
    """It is counted from the first octet that is missing."""
    size = len(made(0, "", BOTH))
    ahead = [
        captured(BOTH | SP, BOTH, script).end["farthest_ahead"]["src"]
        for script in ("0 1", "0 2 1", "0 3 2 1", "0 2 3 1< 5 1> 4")
    ]
    assert ahead == [0, size, 2 * size, 4 * size - PIECE]


@pytest.mark.parametrize("flags", [*CRCS, BOTH | SP])
@given(
    sizes=st.lists(st.integers(0, 700), min_size=1, max_size=12),
    cut=st.integers(30, 400),
    seed=st.integers(0, 1 << 32),
)
def test_6_captured_in_any_order(flags: int, sizes: list[int], cut: int, seed: int) -> None:
    """Frames of any length, whose CRCs are not aligned (5.1), are found once and delivered in order
    (7.2), whatever the order of all segments, handshake and indications too."""
    octets = [frame(send(msn), bytes([msn]) * size, flags) for msn, size in enumerate(sizes, 1)]
    sides = indication(flags, VTAG_A) + b"".join(octets), indication(BOTH | PH, VTAG_B)
    segments = [
        (each[at : at + cut], at, side, ACK)
        for side, each in enumerate(sides)
        for at in range(0, len(each), cut)
    ]
    segments += [(b"", -1, 0, SYN), (b"", -1, 1, SYN | ACK)]
    random.Random(seed).shuffle(segments)
    capture = Capture(handshake=False)
    for piece, at, side, bits in segments:
        capture.segment(piece, at, side=side, flags=bits, ack=64 * (side and at >= 0))
    capture.finish()
    told = capture.of("ift_frame")
    assert [each["offset"] for each in told] == places(octets)[:-1]
    assert [len(str(each["payload"])) // 2 for each in told] == sizes
    verdicts = {(each["header_crc"], each["payload_crc"]) for each in told}
    assert verdicts == {("good" if flags & HC else "off", "good" if flags & PC else "off")}
    assert [each["complete"] for each in capture.of("message")] == [True] * len(sizes)
    assert not capture.errors


@given(st.integers(0, 1 << 32), st.sampled_from(CRCS), st.booleans())
def test_any_octets(seed: int, crcs: int, speculative: bool) -> None:
    """Garbage among frames, in any order: read to the end, nothing twice."""
    rng = random.Random(seed)
    whole = b"".join(
        each if rng.random() < 0.7 else rng.randbytes(rng.randrange(200))
        for each in sends(20, crcs)
    )
    pieces = []
    at = 0
    while at < len(whole):
        step = rng.randrange(1, 400)
        pieces.append((at, whole[at : at + step]))
        at += step
    pieces = [each for each in pieces if rng.random() < 0.95]
    if rng.random() < 0.5:
        rng.shuffle(pieces)
    capture = Capture(crcs | SP * speculative, BOTH, limits=Limits(octets_per_half=8192))
    for at, octets in pieces:
        capture.segment(octets, 64 + at)
    capture.segment(at=64 + len(whole), flags=FIN | ACK)
    capture.finish()
    kept = [each["offset"] for each in capture.of("ift_frame")]
    assert len(kept) == len(set(kept))
    assert capture.end["ended"]


def test_limits_hold() -> None:
    """Behind a hole that stays no more is held than is allowed, and what is given up is a gap."""
    octets = sends(400, size=1000)
    capture = Capture(BOTH | SP, BOTH, limits=Limits(octets_per_half=50_000))
    for at, each in zip(places(octets)[1:], octets[1:], strict=False):
        capture.segment(each, 64 + at)
    assert len(capture.of("ift_frame")) > 300
    assert {each["reason"] for each in capture.of("gap")} == {"limit"}


def test_ddp_mode_has_no_rdmap() -> None:
    """In DDP mode RsvdULP is the ULP's, and there are no RDMAP messages (4.2, R)."""
    capture = Capture(HC, HC)
    capture.segment(frame(write(7, 8), b"x", HC), 64)
    capture.finish()
    (record,) = capture.of("ift_frame")
    assert (record["stag"], record["to"]) == ("0x00000007", "0x8")
    assert (record["opcode"], record["message"]) == (None, None)
    assert not capture.of("message")


# -- what sizes claim that lie --------------------------------------------------------------------


def liars(count: int, flags: int = BOTH, claimed: int = 60_001) -> bytes:
    """Frames of 24 octets at most, without the payload that their sizes claim."""
    return b"".join(
        frame(write(7, number), b"", flags & ~PC, size=claimed) for number in range(count)
    )


def fed(octets: bytes, flags: int, *, hole: int = 0, size: int = 1400) -> Capture:
    """A capture of octets in segments.

    :param hole: octets before them that it misses.
    """
    capture = Capture(flags, BOTH)
    for at in range(0, len(octets), size):
        capture.segment(octets[at : at + size], 64 + hole + at)
    capture.finish()
    return capture


@pytest.mark.parametrize("flags", CRCS)
@pytest.mark.parametrize("hole", [0, 500])
def test_5_1_claims_bring_no_octets_twice(flags: int, hole: int) -> None:
    """However many frames claim them, and frames behind them are found."""
    octets = liars(4_000, flags)
    good = sends(60, flags, 1_100)
    capture = fed(octets + b"".join(good), flags, hole=hole)
    told = capture.of("ift_frame")
    assert sum(len(str(each["payload"])) // 2 for each in told) < 2 * (len(octets) + 67_000)
    at = [hole + len(octets) + place for place in places(good)]
    # Without payload CRCs frames that a lie claims are lost.
    least = 0 if flags & PC else 60_001
    wanted = {place for place in at[:-1] if place > at[0] + least}
    assert wanted and wanted <= {each["offset"] for each in told}


@pytest.mark.parametrize("flags", CRCS)
def test_5_1_work_does_not_grow_with_claims(flags: int) -> None:
    """It is in proportion to the octets, whatever they claim."""
    few, many = (liars(count, flags, 3_001) for count in (1_000, 4_000))
    assert calls(lambda: fed(many, flags)) < 5 * calls(lambda: fed(few, flags))


def test_5_1_a_frame_in_what_another_claims() -> None:
    """It counts if its payload CRC is good; one that is bad is no more than its octets."""
    one, other = liars(2)[:28], frame(write(8, 0), b"", HC, size=700)
    good, behind = frame(write(9, 0), b"\x5a" * 400), sends(1, size=65_000)[0]
    capture = fed(one + other + good + behind, BOTH)
    first, second, third = capture.of("ift_frame")
    assert [each["payload_crc"] for each in (first, second, third)] == ["bad", "good", "good"]
    assert (second["to"], third["msn"]) == ("0x0", 1)


def test_8_1_the_crc_of_no_octets_proves_nothing() -> None:
    """It is the same everywhere: among other octets, such a frame may be any of them."""
    junk = b"\x33" * 50
    assert not fed(junk + frame(send(1), b"", PAYLOADS) + junk, PAYLOADS, hole=500).of("ift_frame")
    assert fed(junk + frame(send(1), b"x", PAYLOADS) + junk, PAYLOADS, hole=500).of("ift_frame")


@pytest.mark.parametrize("junk", [*range(2_030, 2_060), 6_100, 14_330, 131_000])
def test_8_a_frame_is_found_however_far_behind(junk: int) -> None:
    """A search takes octets in pieces, and frames lie across the ends of these."""
    good = sends(2)
    capture = fed(b"\x33" * junk + b"".join(good), BOTH, hole=500)
    assert [each["offset"] for each in capture.of("ift_frame")] == [
        500 + junk + place for place in places(good)[:-1]
    ]
