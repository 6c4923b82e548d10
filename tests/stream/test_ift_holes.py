# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames behind holes of iWARP Framing for TCP, in any order (draft-williams-iwarp-ift-01 6)."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scapy_mpa.stream.segment import ACK, SYN
from tests.stream.ift import (
    FIRST,
    HC,
    ISN,
    ORDERED,
    PC,
    PH,
    SP,
    VTAG_A,
    VTAG_B,
    Capture,
    R,
    errors,
    frames,
    indication,
    of,
    places,
    stream,
)


@pytest.mark.parametrize("crcs", [HC | PC, HC, PC, 0])
def test_6_what_lies_behind_a_hole_waits(crcs: int) -> None:
    """Without SP nothing is placed out of order: it waits, and is delivered when it is its turn."""
    octets = stream(4, hc=bool(crcs & HC), pc=bool(crcs & PC))
    at = places(octets)
    capture = Capture()
    capture.begin(R | crcs)
    for number in (0, 2, 3):
        capture.segment(octets[number], at[number])
    assert frames(capture.records) == [(0, *ORDERED)]
    capture.segment(octets[1], at[1])
    assert frames(capture.records) == [(place, *ORDERED) for place in at]


@pytest.mark.parametrize("crcs", [HC | PC, HC, PC, 0])
@pytest.mark.parametrize("shift", [0, 37])
def test_8_a_hole_that_stays_is_a_gap(crcs: int, shift: int) -> None:
    """Behind it frames are found by search, and no octet is invented."""
    octets = stream(8, hc=bool(crcs & HC), pc=bool(crcs & PC))
    whole = b"".join(octets)
    at = places(octets)
    capture = Capture()
    capture.begin(R | crcs)
    start, end = at[1] + 10, at[2] + shift
    capture.segment(whole[:start])
    capture.segment(whole[end:], end)
    capture.acknowledge(len(whole), 80)
    capture.finish()
    lost = {1} | ({2} if shift else set())
    expected = [place for number, place in enumerate(at) if number not in lost]
    assert [offset for offset, *_ in frames(capture.records)] == expected
    (gap,) = (each for each in of(capture.records, "gap") if each["length"] == end - start)
    assert gap["seq"] == FIRST + start
    first = next(each for each in of(capture.records, "ift_frame") if each["offset"] >= end)
    assert first["located_by"] == "search"
    assert not errors(capture.records)


def test_6_a_late_copy_fills_a_hole() -> None:
    """Even behind the acknowledgement: what lies between is found once."""
    octets = stream(6)
    at = places(octets)
    capture = Capture()
    capture.begin()
    cut = at[3] + 11
    whole = b"".join(octets)
    capture.segment(octets[0])
    capture.segment(whole[cut:], cut)
    capture.acknowledge(len(whole), 80)
    capture.segment(whole[at[1] : cut], at[1])
    capture.finish()
    assert sorted(offset for offset, *_ in frames(capture.records)) == at
    assert not of(capture.records, "gap", "error")


def test_6_octets_that_the_snap_length_cut_off() -> None:
    """A frame that was cut is told of as far as it was captured."""
    octets = stream(3)
    at = places(octets)
    capture = Capture()
    capture.begin()
    for place, each in zip(at, octets, strict=True):
        capture.segment(each[:60], place, length=len(each))
    capture.finish()
    told = of(capture.records, "ift_frame")
    assert [each["offset"] for each in told] == at
    assert {(each["header_crc"], each["payload_crc"]) for each in told} == {("good", "unknown")}
    assert {each["payload"] for each in told[:1]} == {(b"\x01" * 32).hex()}
    assert not errors(capture.records)


@pytest.mark.parametrize("speculative", [False, True])
@given(crcs=st.sampled_from([HC | PC, HC, PC, 0]), size=st.integers(30, 400), seed=st.integers(0))
@settings(max_examples=60, deadline=None)
def test_6_captured_in_any_order(speculative: bool, crcs: int, size: int, seed: int) -> None:
    """Whatever the order of all segments, handshake and indications too, all is found once."""
    octets = stream(12, hc=bool(crcs & HC), pc=bool(crcs & PC))
    whole = b"".join(octets)
    flags = R | crcs | SP * speculative
    segments: list[tuple[bytes, int, dict[str, int]]] = [
        (b"", -65, {"flags": SYN, "ack": 0}),
        (b"", -65, {"flags": SYN | ACK, "side": 1, "ack": ISN + 1}),
        (indication(flags, VTAG_A), -64, {"ack": ISN + 1}),
        (indication(flags | PH, VTAG_B), -64, {"side": 1}),
        *((whole[at : at + size], at, {}) for at in range(0, len(whole), size)),
    ]
    random.Random(seed).shuffle(segments)
    capture = Capture()
    for piece, at, more in segments:
        capture.segment(piece, at, **more)
    capture.close(len(whole))
    kept = [offset for offset, _, confirmed in frames(capture.records) if confirmed is not False]
    assert sorted(kept) == places(octets)
    assert not errors(capture.records)


@pytest.mark.parametrize("speculative", [False, True])
@given(
    crcs=st.sampled_from([HC | PC, HC, PC, 0]),
    start=st.integers(50, 900),
    length=st.integers(1, 900),
    size=st.integers(3, 600),
    seed=st.integers(0, 1 << 32),
)
@settings(max_examples=25, deadline=None)
def test_6_late_copies_of_what_was_given_up(
    speculative: bool, crcs: int, start: int, length: int, size: int, seed: int
) -> None:
    """Octets may come to lie before frames whose hole was given up: nothing is called wrong.

    If they come soon, all is found.
    """
    octets = stream(16, hc=bool(crcs & HC), pc=bool(crcs & PC))
    whole = b"".join(octets)
    end = start + length
    capture = Capture()
    capture.begin(R | crcs | SP * speculative)
    capture.segment(whole[:start])
    capture.segment(whole[end:], end)
    capture.acknowledge(len(whole), 80)
    pieces = [(at, min(at + size, end)) for at in range(start, end, size)]
    random.Random(seed).shuffle(pieces)
    for at, upto in pieces:
        capture.segment(whole[at:upto], at)
    capture.close(len(whole))
    kept = [offset for offset, _, confirmed in frames(capture.records) if confirmed is not False]
    assert not errors(capture.records)
    assert len(kept) == len(set(kept)) and set(kept) <= set(places(octets))
    if len(pieces) < 60:
        assert sorted(kept) == places(octets)
