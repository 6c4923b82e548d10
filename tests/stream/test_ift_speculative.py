# SPDX-License-Identifier: GPL-2.0-or-later
"""What is placed before its turn (draft-williams-iwarp-ift-01 8)."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scapy_mpa.stream.segment import ACK, SYN
from tests.stream.ift import (
    BOTH,
    CONFIRMED,
    HC,
    ISN,
    NEVER,
    ORDERED,
    PC,
    PH,
    SP,
    TAKEN_BACK,
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
    read_request,
    send,
    stream,
    write,
)
from tests.stream.work import calls


def test_8_placed_and_confirmed() -> None:
    """What lies beyond a hole is placed, and confirmed once all before it is there."""
    octets = stream(4)
    at = places(octets)
    capture = Capture()
    capture.begin(BOTH | SP)
    capture.segment(octets[0])
    capture.segment(octets[2] + octets[3], at[2])
    assert frames(capture.records) == [(0, *ORDERED)]
    told = capture.segment(octets[1], at[1])
    assert frames(told) == [(at[1], *ORDERED), (at[2], *CONFIRMED), (at[3], *CONFIRMED)]
    assert [each["out_of_order"] for each in of(told, "ift_frame")] == [False, True, True]
    assert [each["frames"] for each in of(told, "ift_frame")] == [[7], [6], [6]]
    (ended,) = of(capture.finish(), "connection")
    assert ended["out_of_order"]["src"] == 2
    assert ended["farthest_ahead"]["src"] == at[3] - at[1]
    assert len(of(capture.records, "message")) == 4


def test_8_only_if_the_sender_allows_it() -> None:
    """SP of the receiver's own indication is about the other direction (4.2)."""
    octets = stream(3)
    at = places(octets)
    capture = Capture()
    capture.begin(BOTH, BOTH | SP)
    for number in (0, 2, 1):
        capture.segment(octets[number], at[number])
    assert frames(capture.records) == [(place, *ORDERED) for place in at]


def test_8_a_hole_that_stays_leaves_it_unconfirmed() -> None:
    """Nobody can say then whether it was placed rightly."""
    octets = stream(4)
    at = places(octets)
    capture = Capture()
    capture.begin(BOTH | SP)
    capture.segment(octets[0])
    capture.segment(octets[2] + octets[3], at[2])
    capture.finish()
    assert frames(capture.records) == [(0, *ORDERED), (at[2], *NEVER), (at[3], *NEVER)]


def test_8_wrongly_placed_and_taken_back() -> None:
    """A payload that looks like a frame, where a segment begins, deceives only for a while."""
    fake = frame(send(9), b"not a frame at all")
    one = frame(send(1), bytes(200) + fake + bytes(40))
    (two,) = stream(1)
    two = frame(send(2), b"rest")
    cut = one.index(fake)
    whole = one + two
    capture = Capture()
    capture.begin(BOTH | SP)
    capture.segment(whole[:100])
    capture.segment(whole[cut:], cut)
    told = capture.segment(whole[100:cut], 100)
    assert frames(told) == [(cut, *TAKEN_BACK), (0, *ORDERED), (len(one), *CONFIRMED)]
    assert not errors(told)
    # What was taken back is no message.
    assert [each["msn"] for each in of(capture.records, "message")] == [1, 2]
    (ended,) = of(capture.finish(), "connection")
    assert ended["fpdus"]["src"] == 2


@pytest.mark.parametrize(
    "tail",
    [
        pytest.param(frame(send(3), b"x", VTAG_A), id="VTag"),
        pytest.param(frame(send(3), b"x")[:24] + b"\0\0\0\0" + b"x" * 5, id="header CRC"),
        pytest.param(frame(send(3)[:17], b"x"), id="header length"),
        pytest.param(frame(send(3)[:6] + b"\0\0\0\x09" + send(3)[10:], b"x"), id="QN"),
        pytest.param(frame(b"\x42" + send(3)[1:], b"x"), id="DV"),
        pytest.param(frame(send(1), b"x"), id="MSN that was delivered"),
        pytest.param(frame(send(3, 0xFFFFFFFF), b"xy"), id="MO"),
        pytest.param(frame(write(7, (1 << 64) - 1), b"xy"), id="TO"),
        pytest.param(frame(read_request(3), b"x" * 27), id="payload length"),
    ],
)
def test_8_1_what_disqualifies(tail: bytes) -> None:
    """A frame with an invalid field is not placed before its turn."""
    one, two = stream(2)
    capture = Capture()
    capture.begin(BOTH | SP)
    capture.segment(one)
    capture.segment(tail, len(one + two))
    capture.segment(two, len(one))
    capture.finish()
    assert not [each for each in frames(capture.records) if each[1] == "speculative"]


@pytest.mark.parametrize(
    "tail",
    [
        pytest.param(frame(write(7, (1 << 64) - 2), b"xy"), id="last TO"),
        pytest.param(frame(read_request(1), b"x" * 28), id="RDMA Read Request"),
        pytest.param(frame(send(3, 0xFFFFFFFE), b"x"), id="last MO"),
    ],
)
def test_8_1_what_does_not_disqualify(tail: bytes) -> None:
    """A frame that goes as far as is possible is placed before its turn."""
    one, two = stream(2)
    capture = Capture()
    capture.begin(BOTH | SP)
    capture.segment(one)
    capture.segment(tail, len(one + two))
    capture.segment(two, len(one))
    assert (len(one + two), *CONFIRMED) in frames(capture.records)


def test_8_errors_are_not_reported_speculatively() -> None:
    """A frame with a bad payload CRC is told of only in order."""
    one, two, three = stream(3)
    three = three[:-1] + bytes([three[-1] ^ 0xFF])
    capture = Capture()
    capture.begin(BOTH | SP)
    capture.segment(one)
    assert not capture.segment(three, len(one + two))
    told = capture.segment(two, len(one))
    assert frames(told) == [(len(one), *ORDERED), (len(one + two), *ORDERED)]
    assert "the payload CRC does not match" in errors(told)[0]


def test_8_2_nothing_that_was_placed_is_overwritten() -> None:
    """What would overwrite waits for its turn; what touches nothing may be placed."""
    first = frame(write(7, 1000), bytes(100))
    hole = frame(write(7, 5000), bytes(100))
    over = frame(write(7, 1099), bytes(50))
    beside = frame(write(7, 1149), bytes(50))
    other = frame(write(8, 1000), bytes(50))
    octets = [first, hole, over, beside, other]
    at = places(octets)
    capture = Capture()
    capture.begin(BOTH | SP)
    capture.segment(first)
    capture.segment(over + beside + other, at[2])
    told = capture.segment(hole, at[1])
    assert frames(told) == [
        (at[1], *ORDERED),
        (at[2], *ORDERED),
        (at[3], *CONFIRMED),
        (at[4], *CONFIRMED),
    ]


def test_8_2_an_in_order_placement_that_overwrites() -> None:
    """It is done, and what it overwrites is taken back and placed again."""
    first = frame(write(1, 0), bytes(10))
    hole = frame(write(7, 1000), bytes(100))
    early = frame(write(7, 1050), bytes(100))
    octets = [first, hole, early]
    at = places(octets)
    capture = Capture()
    capture.begin(BOTH | SP)
    capture.segment(first)
    capture.segment(early, at[2])
    told = capture.segment(hole, at[1])
    assert frames(told) == [(at[2], *TAKEN_BACK), (at[1], *ORDERED), (at[2], *ORDERED)]


def test_8_2_buffers_of_which_track_is_lost() -> None:
    """Where it is no longer known what was written, nothing is placed speculatively."""
    scattered = [frame(write(7, 1000 * number), b"x") for number in range(300)]
    hole = frame(write(8, 0), b"x")
    early = frame(write(7, 999_999), b"x")
    elsewhere = frame(write(9, 999_999), b"x")
    octets = [*scattered, hole, early, elsewhere]
    at = places(octets)
    capture = Capture()
    capture.begin(BOTH | SP)
    capture.segment(b"".join(scattered))
    capture.segment(early + elsewhere, at[301])
    told = capture.segment(hole, at[300])
    assert [how for _, *how in frames(told)] == [[*ORDERED], [*ORDERED], [*CONFIRMED]]


def test_8_2_work_does_not_grow_with_what_is_placed() -> None:
    """However many frames are outstanding, one in order costs as much."""
    front = b"".join(frame(write(7, 10 * number), b"x") for number in range(600))
    costs = []
    for count in (500, 4000):
        ahead = b"".join(
            frame(write(100 + number % 900, number // 900), b"x") for number in range(count)
        )
        capture = Capture()
        capture.begin(BOTH | SP)
        for place in range(0, len(ahead), 1400):
            capture.segment(ahead[place : place + 1400], len(front) + 100 + place)
        costs.append(calls(lambda capture=capture: capture.segment(front)))
    assert costs[1] < 1.2 * costs[0]


def test_8_work_does_not_grow_with_what_was_looked_through() -> None:
    """Where octets come to lie before others, only they are looked through."""
    costs = []
    for count in (250, 1_000):
        octets = b"".join(frame(write(number, 0)) for number in range(count))
        capture = Capture()
        capture.begin(BOTH | SP)

        def take(octets: bytes = octets, capture: Capture = capture) -> None:
            for at in reversed(range(0, len(octets), 1400)):
                capture.segment(octets[at : at + 1400], 500 + at)

        costs.append(calls(take))
        capture.segment(frame(send(1), bytes(468)))
        told = frames(capture.records)
        assert told[0] == (0, *ORDERED) and len(told) == 1 + count
        assert {tuple(how) for _, *how in told[1:]} == {CONFIRMED}
    assert costs[1] < 4.5 * costs[0]


def test_8_frames_captured_before_the_indications() -> None:
    """What was gone over before anybody knew of frames is looked through once more."""
    parts = stream(count=40, size=1000)
    octets = b"".join(parts)
    # The hole ends amid a frame, so that the next one is searched for.
    begin = len(parts[0]) + 30
    capture = Capture()
    capture.segment(at=-65, flags=SYN, ack=0)
    capture.segment(at=-65, flags=SYN | ACK, side=1, ack=ISN + 1)
    for at in reversed(range(begin, len(octets), 300)):
        capture.segment(octets[at : at + 300], at)
    capture.segment(indication(BOTH | SP, VTAG_A), -64, ack=ISN + 1)
    capture.segment(indication(R | HC | PC | PH, VTAG_B), -64, side=1)
    told = frames(capture.segment(octets[:begin]))
    assert [tuple(how) for _, *how in told] == [ORDERED, ORDERED, *[CONFIRMED] * 38]


@pytest.mark.parametrize("flags", [R | HC, R | PC, R], ids=["header CRCs", "payload CRCs", "none"])
def test_8_work_does_not_grow_with_what_was_looked_through_in_vain(flags: int) -> None:
    """The same of what looks like headers of frames and is none, all of which begin in others."""
    crcs = {"hc": bool(flags & HC), "pc": bool(flags & PC)}
    lie = (3001).to_bytes(2, "big")
    costs = []
    for count in (1_000, 4_000):
        heads = (frame(write(7, number), **crcs) for number in range(count))
        octets = b"".join(head[:2] + lie + head[4:] for head in heads)
        capture = Capture()
        capture.begin(flags | SP)

        def take(octets: bytes = octets, capture: Capture = capture) -> None:
            for at in reversed(range(0, len(octets), 64)):
                capture.segment(octets[at : at + 64], 500 + at)

        costs.append(calls(take))
    assert costs[1] < 6 * costs[0]


@given(
    st.lists(
        st.tuples(
            st.booleans(), st.integers(0, 3), st.integers(0, 40), st.integers(0, 12), st.booleans()
        ),
        max_size=40,
    ),
    st.integers(0, 1 << 20),
)
@settings(max_examples=150, deadline=None)
def test_8_2_as_a_receiver_would(told: list[tuple[bool, int, int, int, bool]], seed: int) -> None:
    """What is placed speculatively touches nothing that was placed before, octet for octet.

    What a frame in order overwrites is taken back, and told again in its turn.
    """
    octets = [
        frame(write(stag, to, last), bytes(size)) if is_tagged else frame(send(1 + stag, to), b"x")
        for is_tagged, stag, to, size, last in told
    ]
    at = places(octets)
    order = list(range(len(octets)))
    random.Random(seed).shuffle(order)
    capture = Capture()
    capture.begin(BOTH | SP)
    for number in order:
        capture.segment(octets[number], at[number])
    found = frames(capture.records)
    kept = [each for each in found if each[2] is not False]
    assert [offset for offset, *_ in kept] == at
    # Of those that were taken back each lies behind a frame in order that has the same octets.
    for number, (offset, _, confirmed) in enumerate(found):
        if confirmed is False:
            assert (offset, *ORDERED) in found[number:]
    # What was confirmed overwrites nothing that was placed before it, in order or ahead.
    claims = {
        place: {(each[:2], octet) for octet in range(each[2], each[2] + each[3])}
        for place, each in zip(at, told, strict=True)
        if each[0]
    }
    speculative = [offset for offset, how, confirmed in kept if how == "speculative"]
    for one in speculative:
        for other in speculative:
            if one != other and one in claims and other in claims:
                assert not claims[one] & claims[other]
    for one in speculative:
        for other in at:
            if other < one and other in claims and one in claims and other not in speculative:
                assert not claims[one] & claims[other]
    assert not errors(capture.records)
