# SPDX-License-Identifier: GPL-2.0-or-later
"""Octets that were sent and never captured: what they cost, and when it is said (RFC 5044 6)."""

from __future__ import annotations

import random
from itertools import chain, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.stream.events import Event, GapFound
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.halves.holes import HELD_ISLANDS
from scapy_mpa.stream.limits import LATE_SEGMENTS, Limits
from tests.stream.cut import stream, wrong
from tests.stream.feed import as_segment, feed_truth, fpdus
from tests.stream.talk import Talk, ends, received, say_startup, started
from tests.stream.work import calls
from tests.truth import impair, messages, mpastream
from tests.truth.impair import ACK, FIN
from tests.truth.mpastream import TrueFPDU

BASE = 1021
"""Sequence number of offset 0 of direction 0 below."""


FORTY = [600] * 40
"""Octets of payload in each FPDU below, if not said otherwise."""


def gaps(events: list[Event], direction: int = 0, base: int = BASE) -> list[tuple[int, int]]:
    """Offset and length of each gap of a direction."""
    return [
        ((each.seq - base) % 2**32, each.length)
        for each in events
        if isinstance(each, GapFound) and each.direction == direction
    ]


def reasons(events: list[Event]) -> set[str]:
    """Why gaps are told."""
    return {each.reason for each in events if isinstance(each, GapFound)}


def check_outside(events: list[Event], truth: list[TrueFPDU], holes: list[tuple[int, int]]) -> None:
    """Every FPDU that no hole touches is found once, and no other."""
    wanted = [
        (fpdu.seq_offset, fpdu.ulpdu)
        for fpdu in truth
        if not any(fpdu.start < at + length and at < fpdu.end for at, length in holes)
    ]
    assert sorted((each.offset or 0, each.ulpdu) for each in fpdus(events, 0)) == wanted


def with_hole(octets: bytes, at: int, length: int, talk: Talk, *, size: int = 1460) -> None:
    """Say it all; the capture lacks ``length`` octets at ``at``."""
    talk.say(0, octets[:at], size=size)
    talk.miss(0, octets[at : at + length])
    for begin in range(at + length, len(octets), size):
        talk.say(0, octets[begin : begin + size])
        talk.say(1, flags=ACK)


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("crc", [False, True])
@pytest.mark.parametrize("at", [0, 4, 1000, 7000, 18_000, "the end"])
@pytest.mark.parametrize("length", [1, 100, 512, 1460, 4000])
@pytest.mark.parametrize("size", [333, 1460, 9000])
def test_a_hole_that_the_peer_has_acknowledged(
    markers: bool, crc: bool, at: int | str, length: int, size: int
) -> None:
    """It is one gap, and costs its FPDUs alone.

    The beginning of the first FPDU may be missing (4.3, 6), or all before the FIN.
    """
    octets, truth = stream(FORTY, markers=markers, crc=crc)
    begin = len(octets) - length if isinstance(at, str) else at
    hole = begin, length
    talk = started(markers=markers, crc=crc)
    with_hole(octets, *hole, talk, size=size)
    events = talk.closed()
    check_outside(events, truth, [hole])
    assert (gaps(events), reasons(events)) == ([hole], {"connection ended"})
    assert len(wrong(events)) == 1
    (end,) = ends(events)
    assert [half.gaps for half in end.halves] == [1, 0]


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("at", [0, 4, 7000])
def test_a_hole_that_nobody_acknowledged(markers: bool, at: int) -> None:
    """No ACK was captured: the end of the capture settles it."""
    octets, truth = stream(FORTY, markers=markers)
    talk = started(markers=markers)
    with_hole(octets, at, 1460, talk)
    events = feed_truth(
        each._replace(ack=BASE) if each.direction else each
        for each in talk.segments
        if each.direction == 0 or each.payload
    )
    check_outside(events, truth, [(at, 1460)])
    assert (gaps(events), reasons(events)) == ([(at, 1460)], {"capture ended"})


def test_a_hole_at_the_end_that_only_an_acknowledgement_tells_of() -> None:
    """No FIN, but the peer acknowledges more than was captured."""
    octets, truth = stream(FORTY, markers=False)
    talk = started(markers=False)
    with_hole(octets, len(octets) - 3000, 3000, talk)
    talk.say(1, flags=ACK)
    talk.say(1, flags=ACK)
    events = talk.fed()
    check_outside(events, truth, [(len(octets) - 3000, 3000)])
    ((at, length),) = gaps(events)
    # One of them may be the FIN's own number.
    assert at == len(octets) - 3000 and length in (2999, 3000)


def check_filled(talk: Talk, truth: list[TrueFPDU]) -> None:
    """Nothing is missing in the end, and nothing is wrong."""
    events = talk.closed()
    check_outside(events, truth, [])
    assert wrong(events) == []


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("crc", [False, True])
@pytest.mark.parametrize("at", [0, 1000, 7000])
@pytest.mark.parametrize("patience", [0, 5, 60, 200])
def test_a_hole_that_a_late_copy_fills(markers: bool, crc: bool, at: int, patience: int) -> None:
    """The peer's ACK has passed long ago; then a spurious retransmission is captured."""
    octets, truth = stream(FORTY, markers=markers, crc=crc)
    talk = started(markers=markers, crc=crc)
    with_hole(octets, at, 2000, talk, size=500)
    for _ in range(patience):
        talk.say(1, flags=ACK)
    talk.copy(0, BASE + at, octets[at : at + 2000])
    check_filled(talk, truth)


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("late", [False, True])
def test_holes_filled_in_any_order(markers: bool, late: bool) -> None:
    """Many holes, filled from the last to the first."""
    octets, truth = stream(FORTY, markers=markers)
    talk = started(markers=markers)
    pieces = [(at, octets[at : at + 400]) for at in range(0, len(octets), 400)]
    for at, piece in pieces[::2]:
        talk.copy(0, BASE + at, piece)
        talk.copy(1, talk.next[1], b"", ACK)
    talk.next[0] = BASE + len(octets)
    for _ in range(100 * late):
        talk.say(1, flags=ACK)
    for at, piece in reversed(pieces[1::2]):
        talk.copy(0, BASE + at, piece)
    check_filled(talk, truth)


def test_out_of_order_is_said_of_what_lies_beyond_a_hole() -> None:
    """Placement ahead of Delivery: only while an earlier octet may still come (RFC 5044 A.3)."""
    octets, truth = stream(FORTY, markers=True)
    talk = started(markers=True)
    talk.say(0, octets[:5000], size=1000)
    late = talk.next[0]
    talk.next[0] += 1000
    talk.say(0, octets[6000:10_000], size=1000)
    talk.copy(0, late, octets[5000:6000])
    talk.say(0, octets[10_000:], size=1000)
    events = talk.closed()
    check_outside(events, truth, [])
    ahead = {each.offset for each in fpdus(events, 0) if each.out_of_order}
    could = {fpdu.seq_offset for fpdu in truth if fpdu.start >= 6000 and fpdu.end <= 10_000}
    assert ahead == could


@given(
    seed=st.integers(0, 2**32),
    markers=st.booleans(),
    holes=st.lists(st.tuples(st.integers(0, 24_000), st.integers(1, 3000)), max_size=5),
    acked=st.booleans(),
    size=st.sampled_from((200, 1460, 9000)),
)
def test_any_holes(
    seed: int, markers: bool, holes: list[tuple[int, int]], acked: bool, size: int
) -> None:
    """With CRCs, holes cost the FPDUs they touch; gaps are exactly the holes (6)."""
    octets, truth = stream(FORTY, markers=markers)
    holes = [(at, min(at + length, len(octets))) for at, length in holes if at < len(octets)]
    talk = started(markers=markers)
    for begin, end in pairwise(sorted({0, len(octets), *chain.from_iterable(holes)})):
        is_captured = not any(start <= begin < stop for start, stop in holes)
        talk.say(0, octets[begin:end], size=size, captured=is_captured)
        if acked:
            talk.say(1, flags=ACK)
    talk.say(0, flags=FIN | ACK)
    events = talk.fed()
    check_outside(events, truth, [(start, stop - start) for start, stop in holes])
    told = [place for start, length in gaps(events) for place in range(start, start + length)]
    assert sorted(told) == sorted({at for hole in holes for at in range(*hole)})


# -- limits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("markers", [False, True])
def test_octets_behind_a_hole_are_limited(markers: bool) -> None:
    """No more than so many behind a hole: the oldest island goes first, and the hole is a gap."""
    made = [
        messages.send(msn, random.Random(msn).randbytes(60_000), 65_000)[0] for msn in range(1, 81)
    ]
    octets, truth = mpastream.build_stream(made, markers=markers)
    assert len(octets) > Limits().octets_per_half + 200_000
    talk = started(markers=markers)
    talk.segments = [each._replace(ack=0) if each.direction else each for each in talk.segments]
    talk.miss(0, octets[:1000])
    talk.say(0, octets[1000:], size=60_000)
    events = received(flows := Flows(), talk.segments)
    if not markers:
        assert (gaps(events), reasons(events)) == ([(0, 1000)], {"limit"})
    events += flows.finish()
    check_outside(events, truth, [(0, 1000)])
    assert gaps(events) == [(0, 1000)]


@pytest.mark.parametrize("markers", [False, True])
def test_islands_are_limited(markers: bool) -> None:
    """HELD_ISLANDS islands: the oldest go first; what they held that was whole is found."""
    octets, truth = stream([20] * 3000, markers=markers)
    talk = started(markers=markers)
    holes = [(each.start, each.end - each.start) for each in truth[1::2]]
    for each in truth[::2]:
        talk.copy(0, BASE + each.start, octets[each.start : each.end], ACK)
    assert len(holes) > HELD_ISLANDS + 100
    # Nothing behind the startup frames is acknowledged.
    events = received(flows := Flows(), talk.segments)
    assert reasons(events) == {"limit"}
    assert len(gaps(events)) >= len(holes) - HELD_ISLANDS - 1
    events += flows.finish()
    check_outside(events, truth, holes)
    assert gaps(events) == holes[: len(gaps(events))]


@pytest.mark.parametrize("markers", [False, True])
def test_closed_holes_are_limited(markers: bool) -> None:
    """CLOSED_HOLES that the peer has acknowledged may still be filled; the oldest is a gap, and
    stays one if its octets come after all."""
    octets, truth = stream([500] * 300, markers=markers)
    talk = started(markers=markers)
    holes = [(each.start, each.end - each.start) for each in truth[1::2]]
    for index, each in enumerate(truth):
        talk.say(0, octets[each.start : each.end], captured=index % 2 == 0)
        talk.say(1, flags=ACK)
    events = received(flows := Flows(), talk.segments)
    told = gaps(events)
    assert told == holes[: len(told)]
    assert len(told) >= 10
    assert reasons(events) == {"acknowledged"}
    at, length = told[0]
    late = impair.Segment(0, BASE + at, 0, ACK, octets[at : at + length])
    events += received(flows, [late], 10_000) + flows.finish()
    check_outside(events, truth, holes)
    assert gaps(events) == holes


@pytest.mark.slow
@pytest.mark.parametrize("order", ["ascending", "descending", "odd then even"])
def test_tiny_segments_behind_a_hole_take_linear_time(order: str) -> None:
    """A stream of tiny segments in any order costs about the same for each of them."""

    def spent(count: int) -> int:
        places = list(range(count))
        if order == "descending":
            places.reverse()
        elif order == "odd then even":
            # No more islands at a time than are allowed.
            places = [
                at
                for block in range(0, count, 500)
                for first in (1, 0)
                for at in range(block + first, min(block + 500, count), 2)
            ]
        talk = started(markers=True)
        received(flows := Flows(), talk.segments)
        template = as_segment(99, impair.Segment(0, 0, 0, 0, bytes(4)))

        def work() -> None:
            for at in places:
                flows.receive(template._replace(seq=BASE + 1000 + 4 * at))

        return calls(work)

    small, large = spent(1500), spent(12_000)
    assert large < 1.5 * 8 * small


BEFORE = bytes(range(1, 101))
"""What the Responder says before the startup frames."""


@given(
    edges=st.sets(st.integers(1, len(BEFORE) - 1), max_size=6),
    data=st.data(),
)
def test_before_the_startup_frames(edges: set[int], data: st.DataObject) -> None:
    """What is missing before a Reply is a gap, unless a late copy brings it: also behind FPDUs."""
    octets, truth = stream(FORTY[:3], markers=False)
    talk = Talk()
    talk.say(0, b"?")
    begin = talk.next[1]
    captured: set[int] = set()
    for start, end in pairwise([0, *sorted(edges), len(BEFORE)]):
        is_captured = data.draw(st.booleans())
        talk.say(1, BEFORE[start:end], captured=is_captured)
        captured.update(range(start, end) if is_captured else ())
    say_startup(talk)
    talk.say(0, octets)
    # Copies, of whatever was captured or not.
    again = 0
    places = st.tuples(*[st.integers(0, len(BEFORE))] * 2).map(sorted)
    for start, end in data.draw(st.lists(places, max_size=3)):
        if start < end:
            talk.copy(1, begin + start, BEFORE[start:end])
            again += not captured.isdisjoint(range(start, end))
            captured.update(range(start, end))
    talk.say(1, octets)
    events = talk.closed()
    lost = [at for at in range(len(BEFORE)) if at not in captured]
    told = gaps(events, 1, begin)
    assert [place for at, length in told for place in range(at, at + length)] == lost
    (end_of_it,) = ends(events)
    half = end_of_it.halves[1]
    # Each stretch is one gap.
    stretches = sum(at - 1 not in lost for at in lost)
    assert (half.gaps, len(told), half.retransmitted) == (stretches, stretches, again)
    assert half.octets == len(captured) + 20 + len(octets)
    for direction in (0, 1):
        assert [each.ulpdu for each in fpdus(events, direction)] == [each.ulpdu for each in truth]


def test_holes_left_behind_cost_copies_nothing() -> None:
    """However many holes were left before the startup frames: a copy of what lies there is one."""

    def spent(holes: int) -> int:
        talk = Talk()
        talk.say(0, b"?")
        begin = talk.next[1]
        for _ in range(holes):
            talk.miss(1, b"lost")
            talk.say(1, b"here")
        say_startup(talk)
        octets, _ = stream(FORTY[:3], markers=False)
        talk.say(0, octets)
        talk.say(1, octets)
        # The peer has all of it, and FPDUs begin.
        for _ in range(LATE_SEGMENTS + 1):
            talk.say(0, flags=ACK)
        before = len(talk.segments)
        # Of the oldest there, which nothing is kept of to compare them with.
        for at in range(0, 8 * 40, 8):
            # What was captured, some of what was not, and both.
            talk.copy(1, begin + at + 4, b"here")
            talk.copy(1, begin + at + 1, b"os")
            talk.copy(1, begin + at, b"losthere")
        received(flows := Flows(), talk.segments[:before])
        segments = [as_segment(number, each) for number, each in enumerate(talk.segments[before:])]
        return calls(lambda: [flows.receive(each) for each in segments])

    assert spent(1000) < 1.2 * spent(600)


@pytest.mark.parametrize(
    "between", [b"MPA ID Req Frame 1.0", b"\x22" * 40, b"\x00\x28\x41\x43" * 5]
)
@pytest.mark.parametrize("several", [1, 2, 3])
@pytest.mark.parametrize("is_cut", [False, True])
@pytest.mark.parametrize("start", [200, 400, 476])
@pytest.mark.parametrize("hole", [24, 200, 500])
@pytest.mark.parametrize("size", [97, 1460])
def test_fpdus_in_a_payload_whose_header_is_in_a_hole(
    between: bytes, several: int, is_cut: bool, start: int, hole: int, size: int
) -> None:
    """Markers point into the hole, so the octets before them are of the FPDU that begins there."""
    rng = random.Random(several)
    held, _ = mpastream.build_stream(
        [messages.send(msn, rng.randbytes(12))[0] for msn in range(several)]
    )
    last, _ = mpastream.build_stream([messages.send(99, rng.randbytes(20))[0]])
    group = held + last[: 28 * is_cut] + between
    ulpdus = [messages.send(msn, rng.randbytes(300))[0] for msn in range(1, 12)]
    ulpdus[3] = messages.send(4, (bytes(start) + group * 9)[:800] + bytes(560))[0]
    octets, truth = mpastream.build_stream(ulpdus, markers=True)
    begin = truth[3].start
    talk = started(markers=True)
    talk.say_with_hole(0, octets, begin, begin + hole, size=size)
    found = [(each.offset, each.ulpdu_length) for each in fpdus(talk.closed(), 0)]
    good = [each for index, each in enumerate(truth) if index != 3]
    assert sorted(found) == [(each.seq_offset, each.ulpdu_length) for each in good]


@pytest.mark.parametrize("is_cut", [False, True])
@pytest.mark.parametrize("sender", [False, True])
@pytest.mark.parametrize("size", [97, 1460])
def test_a_forged_marker_that_points_into_a_hole(is_cut: bool, sender: bool, size: int) -> None:
    """The lengths of good FPDUs lead over it: they are none of another one's payload."""
    rng = random.Random(size)
    ulpdus = [messages.send(msn, rng.randbytes(130))[0] for msn in range(1, 12)]
    _, plain = mpastream.build_stream(ulpdus, markers=True)
    marker = next(index for index, each in enumerate(plain) if index > 3 and each.markers)
    place = -(-plain[marker].start // 512) * 512
    begin, end = plain[marker - 3].start - 20, plain[marker - 2].start
    forged = mpastream.Damage(fpduptr={0: place - begin - 4}, sender=sender)
    octets, truth = mpastream.build_stream(ulpdus, markers=True, damage={marker: forged})
    talk = started(markers=True)
    # All of it, or up to a place behind the Marker.
    upto = place + 4 if is_cut else len(octets)
    talk.say_with_hole(0, octets[:upto], begin, end, size=size)
    events = talk.fed() if is_cut else talk.closed()
    found = {(each.offset, each.ulpdu_length) for each in fpdus(events, 0)}
    whole = [each for each in truth if each.end <= begin or end <= each.start < each.end <= upto]
    assert found == {(each.seq_offset, each.ulpdu_length) for each in whole}
