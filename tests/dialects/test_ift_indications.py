# SPDX-License-Identifier: GPL-2.0-or-later
"""Adaption indications, and what they agree on (draft-williams-iwarp-ift-01 4)."""

from __future__ import annotations

import pytest

from scapy_mpa.wire.tcp import ACK, FIN, RST
from tests.dialects.ift import (
    BOTH,
    PH,
    RM,
    SM,
    VTAG_A,
    VTAG_B,
    Capture,
    R,
    frame,
    indication,
    send,
)
from tests.truth.impair import cut_mss
from tests.truth.mpastream import crc_field

A0, A1 = indication(BOTH, VTAG_A), indication(BOTH | PH, VTAG_A)
B0, B1 = indication(BOTH, VTAG_B), indication(BOTH | PH, VTAG_B)
TO_B, TO_A = frame(send(1), b"to B"), frame(send(1), b"to A", vtag=VTAG_A)
OTHER = b"and RDDP is what we speak, with other octets to follow. " * 3
IFT = "draft-williams-iwarp-ift-01"


def harmed(octets: bytes, *places: int) -> bytes:
    """Octets with all bits of some of them inverted."""
    return bytes(each ^ 0xFF * (at in places) for at, each in enumerate(octets))


NO_ANSWER = "no adaption indication answers the one of the peer"
SITUATIONS = {
    # What A and B send in turn, whose indications are found, the number of frames, and the errors.
    "both": ([A0, B1, TO_B], "AB", 1, []),
    "B sends phase 0": ([b"", B0, A1 + TO_B], "BA", 1, []),
    "a frame waits for phase 1": ([A0 + TO_B, B1 + TO_A], "AB", 2, []),
    "after octets of the ULP": ([b"HELLO" + A0, b"HI" + B1 + TO_A, TO_B], "", 0, []),
    "a file that holds one": ([OTHER + A0, b"thanks"], "", 0, []),
    "a file that is echoed": ([OTHER + A0 + A1, OTHER + A0 + A1], "", 0, []),
    "the magic number alone": ([OTHER[4:], OTHER], "", 0, []),
    "magic number wrong": (
        [harmed(A0[:60], 0) + crc_field(harmed(A0[:60], 0)), B1, TO_B],
        "B",
        0,
        [NO_ANSWER],
    ),
    "CRC wrong": ([harmed(A0, 63), B1, TO_B], "B", 0, [NO_ANSWER]),
    "version 0": ([indication(BOTH, VTAG_A, version=0), B1, TO_B], "AB", 1, ["version 0 is"]),
    "both phase 0": ([A0, B0, TO_B], "AB", 1, ["both sides sent phase 0"]),
    "both phase 1": ([A1, B1, TO_B], "AB", 1, ["both sides sent phase 1"]),
    "something else answers": ([A0, OTHER], "A", 0, [NO_ANSWER]),
    "nothing answers": ([A0, b""], "A", 0, []),
    "modes differ": (
        [A0, indication(BOTH & ~R | PH, VTAG_B), TO_B],
        "AB",
        1,
        ["one side asks for RDMA mode and the other one for DDP mode"],
    ),
    "markers": (
        [indication(BOTH | SM, VTAG_A), indication(BOTH | RM | PH, VTAG_B) + TO_A, TO_B],
        "AB",
        1,
        ["periodic markers are agreed on"],
    ),
}


@pytest.mark.parametrize("cut", [1, 3, 4, 7, 8, 63, 1000])
@pytest.mark.parametrize("situation", SITUATIONS)
def test_4_2_situations(situation: str, cut: int) -> None:
    """The number of segments makes no difference."""
    turns, who, frames, errors = SITUATIONS[situation]
    capture = Capture()
    ends = [0, 0]
    for number, octets in enumerate(turns):
        side = number % 2
        for piece in cut_mss(octets, cut):
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
    [
        (40, 40, 0),
        (3, 3, 0),
        (40, 40, 24),
        (40, 64, 0),
        (0, 64, 0),
    ],
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
