# SPDX-License-Identifier: GPL-2.0-or-later
"""What is known of speculative placement counts as held, and limits apply to it."""

from __future__ import annotations

import gc
import tracemalloc

import pytest

from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.limits import Limits
from scapy_mpa.stream.segment import ACK, SYN, Segment
from tests.stream.ift import (
    BOTH,
    CONFIRMED,
    FIRST,
    ORDERED,
    PH,
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
    places,
    send,
    stream,
    write,
)
from tests.stream.talk import flow_of

_GREAT = 1 << 40


def each_its_own(count: int = 1024, stretches: int = 1) -> bytes:
    """Frames that place an octet in a buffer each, or several in one, none beside another."""
    return b"".join(
        frame(write(1 << 20 | number, _GREAT | 16 * place), b"x", hc=False, pc=False)
        for number in range(count)
        for place in range(stretches)
    )


def speak(flows: Flows, octets: bytes, connections: range, *, hole: int = 0) -> None:
    """Have connections captured that place speculatively, with octets behind the indications."""
    for number in connections:

        def take(
            piece: bytes, at: int, side: int = 0, flags: int = ACK, number: int = number
        ) -> None:
            flow = flow_of(number, side)
            ack = 0 if flags == SYN else FIRST
            flows.receive(Segment(flow, FIRST + at, ack, flags, piece, len(piece), 1, 1))

        take(b"", -65, 0, SYN)
        take(b"", -65, 1, SYN | ACK)
        take(indication(R | SP, VTAG_A), -64)
        take(indication(R | SP | PH, VTAG_B), -64, 1)
        for at in range(0, len(octets), 1400):
            take(bytes(bytearray(octets[at : at + 1400])), hole + at)


@pytest.mark.parametrize(
    ("octets", "hole"),
    [
        pytest.param(each_its_own(), 0, id="buffers"),
        pytest.param(each_its_own(4, 255), 0, id="stretches"),
        pytest.param(each_its_own(), 500, id="frames"),
    ],
)
def test_8_2_what_was_placed_counts_as_held(octets: bytes, hole: int) -> None:
    """Roughly what it takes in memory, and nothing once the connections are over."""
    limits = Limits(octets_in_total=1 << 30)
    flows = Flows(limits=limits)
    speak(flows, b"", range(1))
    before = flows.budget.room
    gc.collect()
    tracemalloc.start()
    speak(flows, octets, range(1, 4), hole=hole)
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    counted = before - flows.budget.room
    assert 0.6 * taken < counted < 1.5 * taken
    flows.finish()
    assert flows.budget.room == limits.octets_in_total


@pytest.mark.parametrize("hole", [0, 500])
def test_8_2_memory_of_many_connections_is_bounded(hole: int) -> None:
    """The limit in total holds for what they know of speculative placement, too."""
    limits = Limits(octets_in_total=1 << 18)
    flows = Flows(limits=limits)
    speak(flows, b"", range(1))
    octets = each_its_own()
    gc.collect()
    tracemalloc.start()
    speak(flows, octets, range(1, 11), hole=hole)
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert flows.budget.room >= 0
    assert taken < 1 << 20


def test_8_2_track_is_lost_for_want_of_memory() -> None:
    """Then nothing is placed speculatively any more; but all is found, and nothing is a gap."""
    scattered = [frame(write(1 << 20 | number, 0), b"x") for number in range(300)]
    hole, early, *rest = stream(4)
    octets = [*scattered, hole, early, *rest]
    at = places(octets)
    for limit, how in ((1 << 20, CONFIRMED), (100_000, ORDERED)):
        capture = Capture(Limits(octets_per_half=limit))
        capture.begin(BOTH | SP)
        capture.segment(b"".join(scattered))
        capture.segment(b"".join((early, *rest)), at[301])
        told = capture.segment(hole, at[300])
        assert frames(told) == [(at[300], *ORDERED), *((place, *how) for place in at[301:])]
        capture.close(sum(map(len, octets)))
        assert not of(capture.records, "gap") and not errors(capture.records)


def test_8_2_frames_that_were_placed_are_told_in_their_turn() -> None:
    """Also those that were placed before track was lost, and then once."""
    hole = frame(send(1), b"x" * 400)
    early = [frame(write(1 << 20 | number, 0), b"x") for number in range(300)]
    octets = [hole, *early]
    at = places(octets)
    capture = Capture(Limits(octets_per_half=150_000))
    capture.begin(BOTH | SP)
    behind = b"".join(early)
    for place in range(0, len(behind), 700):
        capture.segment(behind[place : place + 700], len(hole) + place)
    assert not of(capture.records, "ift_frame")
    capture.segment(hole)
    assert frames(capture.records) == [(place, *ORDERED) for place in at]
    capture.close(len(hole) + len(behind))
    assert not of(capture.records, "gap") and not errors(capture.records)
