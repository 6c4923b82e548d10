# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames of iWARP Framing for TCP in order (draft-williams-iwarp-ift-01 5, 6), and any octets."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scapy_mpa.stream.limits import Limits
from scapy_mpa.stream.segment import RST
from tests.stream.ift import (
    BOTH,
    CONFIRMED,
    FIRST,
    HC,
    IH,
    IP,
    ORDERED,
    PC,
    SP,
    VTAG_B,
    Capture,
    R,
    crc,
    errors,
    frame,
    frames,
    of,
    places,
    send,
    stream,
    write,
)


@pytest.mark.parametrize("crcs", [(True, True), (True, False), (False, True), (False, False)])
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_6_however_segments_are_cut(crcs: tuple[bool, bool], data: st.DataObject) -> None:
    """Frames of any length, whose CRCs are not aligned, are delivered in order (5.1, 7.2)."""
    hc, pc = crcs
    sizes = data.draw(st.lists(st.integers(0, 700), min_size=1, max_size=8))
    octets = [
        frame(send(msn), bytes([msn]) * size, hc=hc, pc=pc) for msn, size in enumerate(sizes, 1)
    ]
    whole = b"".join(octets)
    capture = Capture()
    capture.begin(R | HC * hc | PC * pc)
    at = 0
    while at < len(whole):
        step = data.draw(st.integers(1, len(whole)))
        capture.segment(whole[at : at + step], at)
        at += step
    assert frames(capture.records) == [(place, *ORDERED) for place in places(octets)]
    told = of(capture.records, "ift_frame")
    assert [len(str(each["payload"])) // 2 for each in told] == sizes
    verdicts = {(each["header_crc"], each["payload_crc"]) for each in told}
    assert verdicts == {("good" if hc else "off", "good" if pc else "off")}
    assert [each["complete"] for each in of(capture.records, "message")] == [True] * len(sizes)
    assert not errors(capture.close(len(whole)))


def test_5_1_header_crc_wrong() -> None:
    """The frame is reported with its verdict, and those behind it are found."""
    one, two, three = stream(3)
    two = two[:24] + b"\0\0\0\0" + two[28:]
    capture = Capture()
    capture.begin()
    capture.segment(one + two + three)
    told = of(capture.records, "ift_frame")
    assert [each["header_crc"] for each in told] == ["good", "bad", "good"]
    assert "the header CRC does not match" in errors(capture.records)[0]
    # A receiver makes no message of it (7).
    messages = of(capture.records, "message")
    assert [each["msn"] for each in messages if each["fpdus"]] == [1, 3]
    assert of(capture.close(len(one + two + three)), "connection")[0]["crc_bad"]["src"] == 1


def test_5_1_payload_crc_wrong() -> None:
    """The header CRC proves where the next frame begins."""
    one, two = stream(2)
    capture = Capture()
    capture.begin()
    told = capture.segment(one[:-1] + bytes([one[-1] ^ 1]) + two)
    assert [each["payload_crc"] for each in of(told, "ift_frame")] == ["bad", "good"]
    assert "the payload CRC does not match" in errors(told)[0]


def _with_wrong(octets: bytes, *, header: bool, payload: bool) -> bytes:
    """The frame of a Send with other CRCs than it must have."""
    changed = bytearray(octets)
    for at, is_wrong in ((24, header), (len(octets) - 4, payload)):
        for place in range(at, at + 4):
            changed[place] ^= 0xFF * is_wrong
    return bytes(changed)


@pytest.mark.parametrize("speculative", [False, True])
@pytest.mark.parametrize(
    ("header", "payload"), [(True, False), (False, True), (True, True)], ids=["h", "p", "hp"]
)
def test_4_2_crcs_that_the_receiver_ignores(header: bool, payload: bool, speculative: bool) -> None:
    """With IH and IP of the receiver nothing follows from CRCs that are wrong, all of them."""
    octets = [_with_wrong(each, header=header, payload=payload) for each in stream(6)]
    at = places(octets)
    capture = Capture()
    capture.begin(BOTH | SP * speculative, BOTH | IH * header | IP * payload)
    for number in (0, 1, 3, 4, 2, 5):
        capture.segment(octets[number], at[number])
    told = of(capture.records, "ift_frame")
    verdicts = {(each["header_crc"], each["payload_crc"]) for each in told}
    assert verdicts == {("bad" if header else "good", "bad" if payload else "good")}
    how = CONFIRMED if speculative else ORDERED
    assert frames(told) == [
        (place, *(how if number in (3, 4) else ORDERED)) for number, place in enumerate(at)
    ]
    assert [each["complete"] for each in of(capture.records, "message")] == [True] * 6
    assert not errors(capture.records)
    (ended,) = of(capture.close(at[-1] + len(octets[-1])), "connection")
    assert (ended["crc_bad"]["src"], ended["errors"]) == (6, 0)


@pytest.mark.parametrize(("flag", "wrong"), [(IH, "header"), (IP, "payload")])
def test_4_2_ignoring_is_for_the_receiver_to_say(flag: int, wrong: str) -> None:
    """IH and IP of the sender of a frame are about the other direction."""
    one, two = stream(2)
    capture = Capture()
    capture.begin(BOTH | flag, BOTH)
    is_header = wrong == "header"
    told = capture.segment(_with_wrong(one, header=is_header, payload=not is_header) + two)
    assert f"the {wrong} CRC does not match" in errors(told)[0]
    assert [each["msn"] for each in of(told, "message") if each["fpdus"]] == [2]


@pytest.mark.parametrize("crcs", [HC | PC, HC, PC, 0])
def test_5_1_a_payload_size_that_lies(crcs: int) -> None:
    """Frames that are swallowed are found, and what is behind them."""
    octets = stream(6, hc=bool(crcs & HC), pc=bool(crcs & PC))
    ddp, payload = octets[1][6:24], octets[1][24:]
    # The header CRC is made of what the header says, right or wrong.
    lie = frame(ddp, bytes(100), hc=False, pc=False)[:2] + (5000).to_bytes(2, "big")
    lie += octets[1][4:6] + ddp
    if crcs & HC:
        lie += crc(lie)
        payload = payload[4:]
    octets[1] = lie + payload
    capture = Capture()
    capture.begin(R | crcs)
    capture.segment(b"".join(octets))
    capture.close(len(b"".join(octets)))
    told = of(capture.records, "ift_frame")
    assert {each["msn"] for each in told} >= {1, 3, 4, 5, 6}
    assert errors(capture.records)


def test_4_2_vtag_wrong() -> None:
    """A frame with another VTag is reported, and flagged."""
    one = frame(send(1), b"x", 0x1111)
    capture = Capture()
    capture.begin()
    told = capture.segment(one + stream(1)[0])
    assert [each["vtag"] for each in of(told, "ift_frame")] == [0x1111, VTAG_B]
    assert errors(told) == [
        "the frame has VTag 0x1111 instead of 0xc3d4 (draft-williams-iwarp-ift-01 4.2)"
    ]


def test_6_closed_amid_a_frame() -> None:
    """A frame of which the end never came is told of."""
    (one,) = stream(1)
    capture = Capture()
    capture.begin()
    capture.segment(one[:50])
    assert errors(capture.close(50)) == [
        "the connection was closed 50 octets into a frame (draft-williams-iwarp-ift-01 6)"
    ]


@pytest.mark.parametrize("lost", [0, 74])
def test_6_reset_amid_a_frame(lost: int) -> None:
    """It is cut short, unless the peer acknowledges octets that were not captured."""
    (one,) = stream(1)
    capture = Capture()
    capture.begin()
    capture.segment(one[:50])
    capture.acknowledge(50 + lost)
    capture.segment(at=50 + lost, flags=RST)
    capture.finish()
    told = "the connection was reset 50 octets into a frame (draft-williams-iwarp-ift-01 6)"
    assert errors(capture.records) == ([] if lost else [told])
    gaps = [(each["seq"], each["length"]) for each in of(capture.records, "gap")]
    assert gaps == ([(FIRST + 50, lost)] if lost else [])


def test_ddp_mode_has_no_rdmap() -> None:
    """In DDP mode RsvdULP is the ULP's, and there are no RDMAP messages (4.2, R)."""
    capture = Capture()
    capture.begin(HC, HC)
    told = capture.segment(frame(write(7, 8), b"x", pc=False))
    (record,) = of(told, "ift_frame")
    assert (record["stag"], record["to"], record["opcode"], record["message"]) == (7, 8, None, None)
    assert not of(capture.finish(), "message")


@given(st.integers(0, 1 << 32), st.sampled_from([HC | PC, HC, PC, 0]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_any_octets(seed: int, crcs: int, speculative: bool) -> None:
    """Garbage among frames, in any order: read to the end, nothing twice."""
    rng = random.Random(seed)
    whole = b"".join(
        each if rng.random() < 0.7 else rng.randbytes(rng.randrange(200))
        for each in stream(20, hc=bool(crcs & HC), pc=bool(crcs & PC))
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
    capture = Capture(Limits(octets_per_half=8192))
    capture.begin(R | crcs | SP * speculative)
    for at, octets in pieces:
        capture.segment(octets, at, ack=FIRST)
    capture.close(len(whole))
    kept = [offset for offset, _, confirmed in frames(capture.records) if confirmed is not False]
    assert len(kept) == len(set(kept))
    assert len(of(capture.records, "connection")) == 1


def test_limits_hold() -> None:
    """Behind a hole that stays no more is held than is allowed, and what is given up is a gap."""
    capture = Capture(Limits(octets_per_half=50_000))
    capture.begin(BOTH | SP)
    octets = stream(400, size=1000)
    at = places(octets)
    for place, each in zip(at[1:], octets[1:], strict=True):
        capture.segment(each, place)
    found = {offset for offset, *_ in frames(capture.records)}
    assert len(found) > 300
    assert {each["reason"] for each in of(capture.records, "gap")} == {"limit"}
