# SPDX-License-Identifier: GPL-2.0-or-later
"""Adaption indications, and what they agree on (draft-williams-iwarp-ift-01 4)."""

from __future__ import annotations

import pytest

from scapy_mpa.stream.segment import ACK, FIN, RST, SYN
from tests.stream.ift import (
    BOTH,
    HC,
    ISN,
    ORDERED,
    PC,
    PH,
    RM,
    SM,
    SP,
    VTAG_A,
    VTAG_B,
    Capture,
    R,
    errors,
    frame,
    frames,
    indication,
    of,
    send,
    stream,
)


def test_4_1_both_indications_are_reported() -> None:
    """Each with its flags, by the names of the draft."""
    capture = Capture()
    one, other = of(capture.begin(R | HC | SP, R | PC), "adaption_indication")
    assert (one["ph"], one["r"], one["hc"], one["pc"], one["sp"]) == (0, True, True, False, True)
    assert (other["ph"], other["hc"], other["pc"]) == (1, False, True)
    assert (one["vtag"], other["vtag"]) == (VTAG_A, VTAG_B)
    assert one["crc"] == other["crc"] == "good"
    (ended,) = of(capture.finish(), "connection")
    assert ended["dialect"] == "draft-williams-iwarp-ift-01"
    assert ended["revision"] is None


@pytest.mark.parametrize("ending", ["closed", "reset", None])
@pytest.mark.parametrize("lost", [False, True])
def test_4_2_phase_0_is_not_answered(ending: str | None, lost: bool) -> None:
    """It is told if the connection ended first, unless the answer may not have been captured."""
    capture = Capture()
    capture.segment(at=-65, flags=SYN, ack=0)
    capture.segment(at=-65, flags=SYN | ACK, side=1, ack=ISN + 1)
    capture.segment(indication(BOTH, VTAG_A), -64, ack=ISN + 1)
    capture.segment(ack=ISN + 1 + 64 * lost)
    if ending is not None:
        last = FIN if ending == "closed" else RST
        capture.segment(flags=ACK | last, ack=ISN + 1 + 64 * lost)
    capture.finish()
    told = [
        f"the connection was {ending} before phase 0 was answered (draft-williams-iwarp-ift-01 4.2)"
    ]
    assert errors(capture.records) == (told if ending is not None and not lost else [])


@pytest.mark.parametrize("cut", [1, 3, 4, 8, 63])
def test_4_1_an_indication_in_pieces(cut: int) -> None:
    """It may come in any number of segments."""
    capture = Capture()
    capture.segment(at=-65, flags=2, ack=0)
    octets = indication(BOTH, VTAG_A)
    assert not capture.segment(octets[:cut], -64)
    (told,) = capture.segment(octets[cut:], cut - 64)
    assert told["type"] == "adaption_indication"


def test_4_1_the_magic_alone_is_no_evidence() -> None:
    """Other protocols may begin with RDDP."""
    capture = Capture()
    capture.segment(at=-65, flags=2, ack=0)
    capture.segment(b"RDDP is what we speak here, and a lot of other octets follow. " * 3, -64)
    (ended,) = capture.finish()
    assert ended["dialect"] is None and ended["errors"] == 0


def test_4_2_whoever_sends_phase_0_is_the_initiator() -> None:
    """Node A need not be the one that opens the TCP connection."""
    capture = Capture()
    capture.segment(at=-65, flags=2, ack=0)
    capture.segment(at=-65, flags=18, side=1)
    capture.segment(indication(BOTH, VTAG_B), -64, side=1)
    capture.segment(indication(BOTH | PH, VTAG_A), -64)
    (ended,) = of(capture.finish(), "connection")
    assert ended["initiator"] == "10.0.0.2:4000"


def test_4_2_frames_wait_for_phase_1() -> None:
    """What their VTag must be is known only then."""
    capture = Capture()
    capture.segment(at=-65, flags=2, ack=0)
    capture.segment(at=-65, flags=18, side=1)
    (one,) = stream(1)
    capture.segment(indication(BOTH, VTAG_A) + one, -64)
    assert not of(capture.records, "ift_frame")
    told = capture.segment(indication(BOTH | PH, VTAG_B), -64, side=1)
    assert frames(told) == [(0, *ORDERED)]


def talked(octets: bytes, answer: bytes) -> Capture:
    """A capture in which octets in streaming mode come first, in segments of their own."""
    capture = Capture()
    capture.segment(at=-65, flags=2, ack=0)
    capture.segment(at=-65, flags=18, side=1)
    capture.segment(b"HELLO\r\n" + octets, -64)
    capture.segment(b"RDMA SPOKEN HERE\r\n" + answer, -64, side=1)
    return capture


def test_4_after_octets_in_streaming_mode() -> None:
    """A ULP may negotiate the upgrade first; frames are counted from the indication (4)."""
    capture = talked(indication(BOTH, VTAG_A), indication(BOTH | PH, VTAG_B))
    assert len(of(capture.records, "adaption_indication")) == 2
    told = capture.segment(stream(1)[0], 7)
    assert frames(told) == [(0, *ORDERED)]


def test_4_a_file_that_holds_an_indication() -> None:
    """It travels over TCP as well, and then the peer sends none, or no frame follows."""
    one, answer = indication(BOTH, VTAG_A), indication(BOTH | PH, VTAG_B)
    record = bytes(range(100))
    for octets, other in ((one, b"thanks"), (one + record, answer), (one, answer + record)):
        capture = talked(octets, other)
        assert not capture.records
        (ended,) = of(capture.finish(), "connection")
        assert ended["dialect"] is None and ended["errors"] == 0


@pytest.mark.parametrize(
    ("flags", "answer", "text"),
    [
        (BOTH, BOTH & ~R, "one side asks for RDMA mode and the other one for DDP mode"),
        (BOTH | PH, BOTH, "both sides sent phase 1"),
        (BOTH | SM, BOTH | RM, "periodic markers are agreed on"),
        (BOTH | RM, BOTH | SM, "periodic markers are agreed on"),
    ],
)
def test_4_2_negotiation_fails(flags: int, answer: int, text: str) -> None:
    """Each failure is an error at the indication that shows it."""
    (told,) = errors(Capture().begin(flags, answer))
    assert told.startswith(text)


def test_4_2_phase_0_is_answered_by_something_else() -> None:
    """Octets of any other kind are no answer."""
    capture = Capture()
    capture.segment(at=-65, flags=2, ack=0)
    capture.segment(at=-65, flags=18, side=1)
    capture.segment(indication(BOTH, VTAG_A), -64)
    capture.segment(b"HTTP/1.1 400 Bad Request\r\n\r\n", -64, side=1)
    assert "no adaption indication answers" in errors(capture.finish())[0]


def test_9_markers_are_not_defined() -> None:
    """Where markers are agreed on nothing is framed, and the other direction is."""
    capture = Capture()
    capture.begin(BOTH | SM, BOTH | RM)
    capture.segment(stream(1)[0])
    capture.segment(frame(send(1), b"x", VTAG_A), side=1)
    (ended,) = of(capture.finish(), "connection")
    assert ended["markers"] == {"src": True, "dst": False}
    assert ended["fpdus"] == {"src": 0, "dst": 1}
