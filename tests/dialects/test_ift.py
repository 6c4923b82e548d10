# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames and adaption indications of iWARP Framing for TCP (draft-williams-iwarp-ift-01 4 to 9).

Streams are made by hand from the figures of the draft (4.1, 5.1).
"""

import random
import re
import struct
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.stream.limits import Limits
from tests.recovery.reading import Record, plain
from tests.truth import impair, messages, pcapfile
from tests.truth.impair import ACK, FIN, RST, SYN, Segment
from tests.truth.mpastream import crc_field

PH, R, HC, PC, IH, IP, SP, SM, RM = (1 << bit for bit in range(31, 22, -1))
"""The flags, from the most significant bit (4.2)."""
BOTH = R | HC | PC
"""RDMA mode with both CRCs."""

VTAG_A, VTAG_B = 0xA1B2, 0xC3D4
"""The VTags that node A and node B announce. Frames of A carry that of B."""

FIRST = 1001
"""Sequence number of the first octet of either side."""


def indication(flags: int, vtag: int, *, version: int = 1) -> bytes:
    """An adaption indication (4.1)."""
    body = struct.pack(">IHHIHH44x", 0x52444450, version, 1, flags, vtag, 0)
    return body + crc_field(body)


def frame(
    ddp: bytes, payload: bytes = b"", flags: int = BOTH, *, vtag: int = VTAG_B, size: int = -1
) -> bytes:
    """A frame (5.1).

    :param flags: HC and PC say which CRCs it has.
    :param size: a wrong payload_size. The header CRC is good.
    """
    head = struct.pack(">HHH", len(ddp), len(payload) if size < 0 else size, vtag) + ddp
    head += crc_field(head) if flags & HC else b""
    return head + payload + (crc_field(payload) if flags & PC else b"")


def send(msn: int) -> bytes:
    """The DDP header of a Send (RFC 5041 4.3, RFC 5040 4.1)."""
    return messages.untagged_header(messages.SEND, 0, msn, 0, last=True)


def sends(count: int, flags: int = BOTH, size: int = 100) -> list[bytes]:
    """Frames with one Send each."""
    return [frame(send(msn), bytes([msn % 256]) * size, flags) for msn in range(1, count + 1)]


class Capture:
    """A capture of one connection, segment by segment.

    :param flags: of the indications that A and B send after the handshake. By default none is sent.
    """

    def __init__(self, *flags: int, limits: Limits | None = None) -> None:
        self._limits = limits
        self._frames: list[tuple[int, bytes, int]] = []
        self.records: list[Record] = []
        """What is reported at the end of the capture."""
        for side in (0, 1):
            self.segment(at=-1, side=side, flags=ACK * side | SYN)
        if flags:
            self.segment(indication(flags[0], VTAG_A))
            self.segment(indication(flags[1] | PH, VTAG_B), side=1, ack=64)

    def segment(
        self,
        octets: bytes = b"",
        at: int = 0,
        *,
        side: int = 0,
        flags: int = ACK,
        ack: int = 0,
        lacks: int = 0,
    ) -> None:
        """Send a segment.

        :param at: octets of its side before it.
        :param ack: octets of the other side that it acknowledges.
        :param lacks: its octets that the snap length cuts off.
        """
        acknowledged = FIRST + ack if flags & ACK else 0
        frame = pcapfile.frame(Segment(side, FIRST + at, acknowledged, flags, octets))
        self._frames.append((len(self._frames) * 1000, frame, lacks))

    def finish(self) -> None:
        """End the capture, and read it."""
        octets = pcapfile.stamped(self._frames)
        self.records = plain(octets, messages=True, limits=self._limits)

    def of(self, kind: str) -> list[Record]:
        """The records of a type."""
        return [record for record in self.records if record["type"] == kind]

    @property
    def errors(self) -> list[str]:
        """The texts of the errors."""
        return [record["text"] for record in self.of("error")]

    def check_errors(self, beginnings: Sequence[str]) -> None:
        """Check that there are these errors, by the beginnings of their texts."""
        pairs = zip(self.errors, beginnings, strict=True)
        assert all(text.startswith(each) for text, each in pairs), self.errors

    @property
    def end(self) -> Record:
        """The record of the connection, which is the last."""
        (ended,) = self.of("connection")
        return ended


NONE, HEADERS, PAYLOADS = R, R | HC, R | PC
CRCS = [BOTH, HEADERS, PAYLOADS, NONE]
PIECE = 40
"""Number of octets captured of a frame without its rest."""
TOO_LONG = 250
"""A payload_size that ends within the second frame after it."""

NO_FRAME = "no frame begins"
HEADER_CRC, PAYLOAD_CRC = "the header CRC does not match", "the payload CRC does not match"


def made(number: int, harm: str, flags: int) -> bytes:
    """A frame with a Send of 100 octets.

    :param harm: ``h`` header CRC wrong, ``p`` payload CRC wrong, ``v`` VTag of its own sender,
        ``l`` payload_size too large, ``n`` header_size wrong, ``d`` DV 2.
    """
    vtag, size = VTAG_A if "v" in harm else VTAG_B, TOO_LONG if "l" in harm else -1
    ddp = messages.untagged_header(
        *(messages.SEND, 0, number + 1, 0, True), ddp_version=2 if "d" in harm else 1
    )
    octets = bytearray(frame(ddp, bytes([number]) * 100, flags, vtag=vtag, size=size))
    for each, place in (("h", 24), ("p", len(octets) - 1), ("n", 1)):
        octets[place] ^= 0xFF * (each in harm)
    return bytes(octets)


def captured(flags: int, answer: int, script: str) -> Capture:
    """The records of a script: segments in the order of the capture.

    A number is a frame, with letters of :func:`made`. ``<`` is its first octets, ``>`` the others.
    ``c``: the capture cut it there, ``k``: it cut it within the IFT header. ``*`` is 9 octets after
    the last frame that belong to no frame. ``!``: many acknowledgements of everything, ``$``: a
    FIN, ``^``: a RST.
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
        cut = len(octets[: PIECE if "c" in what else 4 if "k" in what else None])
        more = FIN * ("$" in what) | RST * ("^" in what)
        if "!" in what:
            for _ in range(80):
                capture.segment(side=1, at=64, ack=end)
        elif what or number:
            capture.segment(octets, at, flags=ACK | more, ack=64, lacks=len(octets) - cut)
        end = max(end, at + len(octets))
    capture.finish()
    return capture


def report_of(capture: Capture, flags: int) -> str:
    """The report in shorthand: frames by number, and ``-`` for gaps.

    ``s``: placed speculatively, ``h`` and ``p``: bad CRCs, ``u``: an unknown one.
    """
    size = len(made(0, "", flags))
    words = []
    for each in capture.records:
        if each["type"] == "ift_frame":
            verdicts = each["header_crc"], each["payload_crc"]
            words.append(
                str(each["offset"] // size)
                + "s" * (each["placed"] == "speculative")
                + "".join(name * (of == "bad") for name, of in zip("hp", verdicts, strict=True))
                + "u" * ("unknown" in verdicts)
            )
            assert each["out_of_order"] is (each["placed"] == "speculative")
        elif each["type"] == "gap":
            words.append("-")
    return " ".join(words)


SITUATIONS: list[tuple[int, int, str, str, list[str]]] = [
    # Flags of A's and B's indications, segments, report, errors.
    (BOTH, BOTH, "0 1 2", "0 1 2", []),
    (BOTH, BOTH, "0 1h 2", "0 1h 2", [HEADER_CRC]),
    (BOTH, BOTH, "0 1p 2", "0 1p 2", [PAYLOAD_CRC]),
    (BOTH, BOTH, "0 1hp 2", "0 1hp 2", [HEADER_CRC, PAYLOAD_CRC]),
    (BOTH, BOTH, "0 1h", "0 1h", [HEADER_CRC]),
    (BOTH, BOTH, "0 1v 2", "0 1 2", ["the frame has VTag 0xa1b2 instead of 0xc3d4"]),
    (NONE, NONE, "0 1v 2", "0 1 2", ["the frame has VTag 0xa1b2 instead of 0xc3d4"]),
    (BOTH, BOTH, "0 1n 2", "0", [NO_FRAME]),
    (BOTH, BOTH, "0 * $", "0", [NO_FRAME]),
    # After a wrong payload_size or header_size, nothing shows where a frame begins.
    (BOTH, BOTH, "0 1l 2 3 4 5", "0 1p", [PAYLOAD_CRC, NO_FRAME]),
    (HEADERS, NONE, "0 1l 2 3 4 5", "0 1", [NO_FRAME]),
    (BOTH, BOTH, "0 1l 2$", "0", ["the connection was closed 264 octets into a frame"]),
    # IH and IP of the receiver: bad CRCs have no consequences (4.2).
    (BOTH, BOTH | IH, "0h 1h 2h", "0h 1h 2h", []),
    (BOTH, BOTH | IP, "0p 1p 2p", "0p 1p 2p", []),
    (BOTH, BOTH | IH | IP, "0hp 1hp 2", "0hp 1hp 2", []),
    (BOTH | IH | IP, BOTH, "0 1hp 2", "0 1hp 2", [HEADER_CRC, PAYLOAD_CRC]),
    (BOTH | SP, BOTH | IH | IP, "0 2hp 1", "0 1 2shp", []),
    # After a hole (6): octets wait. If the hole stays, no more is found.
    *((crcs, BOTH, "0 2 3 1", "0 1 2 3", []) for crcs in CRCS),
    *((crcs, BOTH, "0 1> 2 3 1<", "0 1 2 3", []) for crcs in CRCS),
    *((BOTH, BOTH, script, "0 -", []) for script in ("0 2 3", "0 1< 2 3", "0 1> 2 3")),
    (BOTH, BOTH, "1 2", "-", []),
    (BOTH, BOTH, "0 2 ! 3 ! 4 5", "0 -", []),
    (BOTH, BOTH, "0 2 4 ! 5 ! 6", "0 - -", []),
    (BOTH, BOTH, "0 2 ! 3 ! 4 1 5", "0 -", []),
    # Speculative placement (8), if the sender allows it, of whole frames after a hole.
    (BOTH | SP, BOTH, "0 2 3 1", "0 1 2s 3s", []),
    (BOTH, BOTH | SP, "0 2 3 1", "0 1 2 3", []),
    (BOTH | SP, BOTH, "0 2 4 1 3", "0 1 2s 3 4s", []),
    (BOTH | SP, BOTH, "4 3 2 1 0", "0 1s 2s 3s 4s", []),
    (BOTH | SP, BOTH, "0 2 3< 1 3>", "0 1 2s 3", []),
    (BOTH | SP, BOTH, "0 1> 2 1<", "0 1 2s", []),
    (BOTH | SP, BOTH, "0 2> 2< 1", "0 1 2s", []),
    # Frames that must not be placed early (8, 8.1) are reported in order.
    (BOTH | SP, BOTH, "0 2p 1", "0 1 2p", [PAYLOAD_CRC]),
    (BOTH | SP, BOTH, "0 2h 1", "0 1 2h", [HEADER_CRC]),
    (BOTH | SP, BOTH, "0 2v 1", "0 1 2", ["the frame has VTag"]),
    (BOTH | SP, BOTH, "0 2c 1", "0 1 2u", []),
    (BOTH | SP, BOTH, "0 2d 3 1", "0 1 2 3s", []),
    (R | SP, R, "0 2d 3 1", "0 1 2 3s", []),
    # Octets that the snap length cut off, and the end of the connection.
    (BOTH, BOTH, "0 1c 2c 3", "0 1u 2u 3", []),
    (BOTH, BOTH, "0 1k 2", "0 -", []),
    (BOTH, BOTH, "0 1<$", "0", ["the connection was closed 40 octets into a frame"]),
    (BOTH, BOTH, "0 1< ^", "0", ["the connection was reset 40 octets into a frame"]),
    (BOTH, BOTH, "0 1<", "0", []),
    (BOTH, BOTH, "0 1< 2 $", "0 -", []),
]


@pytest.mark.parametrize(
    ("flags", "answer", "script", "report", "errors"), SITUATIONS, ids=lambda each: str(each)
)
def test_6_situations(flags: int, answer: int, script: str, report: str, errors: list[str]) -> None:
    """Frames are reported once, in the order of the stream. So are messages."""
    capture = captured(flags, answer, script)
    assert report_of(capture, flags) == report
    capture.check_errors(errors)
    # A receiver makes no message of a frame with a bad CRC that it checks (7).
    checked = "h" * (not answer & IH) + "p" * (not answer & IP) + "u"
    whole = [word for word in report.split() if not set(word) & set(checked) and word != "-"]
    is_plain = not set("vl") & set(script)
    complete = [each["msn"] - 1 for each in capture.of("message") if each["complete"]]
    assert not is_plain or complete == [int(word[0]) for word in whole]
    assert capture.end["fpdus"]["src"] == len(capture.of("ift_frame"))
    assert capture.end["out_of_order"]["src"] == report.count("s")


def test_8_distance_ahead() -> None:
    """``farthest_ahead`` counts from the frame that was captured last of those before it."""
    size = len(made(0, "", BOTH))
    ahead = [
        captured(BOTH | SP, BOTH, script).end["farthest_ahead"]["src"]
        for script in ("0 1", "0 2 1", "0 3 2 1")
    ]
    assert ahead == [0, size, 2 * size]


@given(st.integers(0, 1 << 32), st.sampled_from(CRCS), st.booleans())
def test_any_octets(seed: int, crcs: int, speculative: bool) -> None:
    """Other octets among frames, in any order: all is read, and no frame is found twice."""
    rng = random.Random(seed)
    whole = b"".join(
        each if rng.random() < 0.7 else rng.randbytes(rng.randrange(200))
        for each in sends(20, crcs)
    )
    pieces = [each for each in impair.cut_random(whole, rng, 1, 400) if rng.random() < 0.95]
    if rng.random() < 0.5:
        rng.shuffle(pieces)
    capture = Capture(crcs | SP * speculative, BOTH, limits=Limits(octets_per_half=8192))
    for piece in pieces:
        capture.segment(piece.payload, 64 + piece.offset)
    capture.segment(at=64 + len(whole), flags=FIN | ACK)
    capture.finish()
    kept = [each["offset"] for each in capture.of("ift_frame")]
    assert len(kept) == len(set(kept))
    assert capture.end["ended"]


def test_limits_hold() -> None:
    """After a hole, no more octets are held than allowed. Dropped ones are a gap."""
    first, *others = sends(400, size=1000)
    capture = Capture(BOTH | SP, BOTH, limits=Limits(octets_per_half=50_000))
    for at, each in enumerate(others, 1):
        capture.segment(each, 64 + at * len(first))
    capture.finish()
    assert not capture.of("ift_frame")
    assert {each["reason"] for each in capture.of("gap")} == {"limit"}


@pytest.mark.parametrize("flags", [(HC, HC), (R | HC, HC), (HC, R | HC)])
def test_only_rdma_mode_has_rdmap(flags: tuple[int, int]) -> None:
    """Else RsvdULP is the ULP's, and there are no RDMAP messages. RDMA mode needs both R (4.2)."""
    capture = Capture(*flags)
    # As RDMAP it would be an RDMA Read Request.
    ddp = messages.untagged_header(1, 1, 7, 0, last=True)
    capture.segment(frame(ddp, bytes(28), HC), 64)
    capture.finish()
    (record,) = capture.of("ift_frame")
    assert (record["qn"], record["msn"]) == (1, 7)
    assert (record["opcode"], record["message"], record["header"]) == (None, None, None)
    assert not capture.of("message")


# -- adaption indications, and what they agree on (4) ----------------------------------------------

A0, A1 = indication(BOTH, VTAG_A), indication(BOTH | PH, VTAG_A)
B0, B1 = indication(BOTH, VTAG_B), indication(BOTH | PH, VTAG_B)
TO_B, TO_A = frame(send(1), b"to B"), frame(send(1), b"to A", vtag=VTAG_A)
OTHER = b"and RDDP is what we speak, with other octets to follow. " * 3
IFT = "draft-williams-iwarp-ift-01"


def harmed(octets: bytes, *places: int) -> bytes:
    """Octets with all bits of some of them inverted."""
    return bytes(each ^ 0xFF * (at in places) for at, each in enumerate(octets))


NO_MAGIC = harmed(A0[:60], 0)
MARKED_A, MARKED_B = indication(BOTH | SM, VTAG_A), indication(BOTH | RM | PH, VTAG_B)
MODES = "one side asks for RDMA mode and the other one for DDP mode"
NO_ANSWER = "no adaption indication answers the one of the peer"
INDICATIONS = {
    # What A and B send in turn, whose indications are found, the number of frames, and the errors.
    "both": ([A0, B1, TO_B], "AB", 1, []),
    "B sends phase 0": ([b"", B0, A1 + TO_B], "BA", 1, []),
    "a frame waits for phase 1": ([A0 + TO_B, B1 + TO_A], "AB", 2, []),
    "after octets of the ULP": ([b"HELLO" + A0, b"HI" + B1 + TO_A, TO_B], "", 0, []),
    "a file that holds one": ([OTHER + A0, b"thanks"], "", 0, []),
    "a file that is echoed": ([OTHER + A0 + A1, OTHER + A0 + A1], "", 0, []),
    "the magic number alone": ([OTHER[4:], OTHER], "", 0, []),
    "magic number wrong": ([NO_MAGIC + crc_field(NO_MAGIC), B1, TO_B], "B", 0, [NO_ANSWER]),
    "CRC wrong": ([harmed(A0, 63), B1, TO_B], "B", 0, [NO_ANSWER]),
    "version 0": ([indication(BOTH, VTAG_A, version=0), B1, TO_B], "AB", 1, ["version 0 is"]),
    "both phase 0": ([A0, B0, TO_B], "AB", 1, ["both sides sent phase 0"]),
    "both phase 1": ([A1, B1, TO_B], "AB", 1, ["both sides sent phase 1"]),
    "something else answers": ([A0, OTHER], "A", 0, [NO_ANSWER]),
    "nothing answers": ([A0, b""], "A", 0, []),
    "modes differ": ([A0, indication(BOTH & ~R | PH, VTAG_B), TO_B], "AB", 1, [MODES]),
    "markers": ([MARKED_A, MARKED_B + TO_A, TO_B], "AB", 1, ["periodic markers are agreed on"]),
}


@pytest.mark.parametrize("cut", [1, 3, 4, 7, 8, 63, 1000])
@pytest.mark.parametrize("situation", INDICATIONS)
def test_4_2_situations(situation: str, cut: int) -> None:
    """The number of segments makes no difference."""
    turns, who, frames, errors = INDICATIONS[situation]
    capture = Capture()
    ends = [0, 0]
    for number, octets in enumerate(turns):
        side = number % 2
        for piece in impair.cut_mss(octets, cut):
            capture.segment(piece.payload, ends[side], side=side, ack=ends[1 - side])
            ends[side] += len(piece.payload)
    capture.finish()
    indications = capture.of("adaption_indication")
    assert "".join("AB"[each["src"] == "10.0.0.2:4000"] for each in indications) == who
    assert [each["vtag"] for each in indications] == [
        {"A": VTAG_A, "B": VTAG_B}[each] for each in who
    ]
    assert len(capture.of("ift_frame")) == frames
    capture.check_errors(errors)
    assert capture.end["dialect"] == (IFT if who else None)


def test_9_markers_are_not_defined() -> None:
    """Where markers are agreed on, no frames are read. The other direction is read."""
    capture = Capture(BOTH | SM, BOTH | RM)
    capture.segment(TO_B, 64)
    capture.segment(TO_A, 64, side=1)
    capture.finish()
    assert capture.end["markers"] == {"src": True, "dst": False}
    assert capture.end["fpdus"] == {"src": 0, "dst": 1}


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize(
    ("octets", "length", "rest"),
    [(40, 40, 0), (3, 3, 0), (40, 40, 24), (40, 64, 0), (0, 64, 0)],
    ids=["so far", "three octets", "then a hole", "cut off", "cut off at once"],
)
def test_4_2_indication_with_missing_octets(side: int, octets: int, length: int, rest: int) -> None:
    """The missing octets may be right, so no error is reported."""
    capture = Capture()
    capture.segment((B1, A0)[side], side=1 - side)
    capture.segment((A0, B1)[side][:length], side=side, lacks=length - octets)
    if rest:
        capture.segment(TO_A, length + rest, side=side)
    capture.finish()
    assert len(capture.of("adaption_indication")) == 1
    assert capture.errors == []


@pytest.mark.parametrize(
    ("turns", "is_broken"),
    [
        # The phases that A and B send, and the octets of the peer received before.
        ([(A1, 0), (B0, 64)], True),
        ([(A1, 0), (B0, 0)], True),
        ([(A0, 0), (B1, 63)], True),
        ([(A0, 0), (B1, 64)], False),
        ([(A0, 64), (B1, 0)], True),
        ([(A1, 64), (B0, 0)], False),
    ],
)
@pytest.mark.parametrize("is_first", [0, 1])
def test_4_2_order_of_the_phases(
    turns: list[tuple[bytes, int]], is_broken: bool, is_first: int
) -> None:
    """Phase 1 answers phase 0, so its sender has received that. The order of the capture does
    not matter."""
    capture = Capture()
    for side in (is_first, 1 - is_first):
        octets, received = turns[side]
        capture.segment(octets, side=side, ack=received)
    capture.finish()
    text = f"phase 1 was sent before phase 0 was received ({IFT} 4.2)"
    assert capture.errors == [text] * is_broken


@pytest.mark.parametrize("ending", [FIN, RST])
@pytest.mark.parametrize("there", [1, 11, 12, 20, 40, 63])
def test_4_2_cut_within_an_indication(there: int, ending: int) -> None:
    """From the twelfth octet on it counts as an indication."""
    capture = Capture()
    capture.segment(A0[:there])
    capture.segment(at=there, flags=ACK | ending)
    capture.finish()
    how = "closed" if ending == FIN else "reset"
    text = f"the connection was {how} {there} octets into an adaption indication ({IFT} 4.2)"
    assert capture.errors == [text] * (there >= 12)
