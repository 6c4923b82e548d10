# SPDX-License-Identifier: GPL-2.0-or-later
"""Octets that were never captured: the FPDUs that are lost, and when gaps come (RFC 5044 6)."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scapy_mpa.stream.events import Event, GapFound, OverlapDiffers
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.halves.holes import HELD_ISLANDS
from scapy_mpa.stream.limits import LATE_SEGMENTS
from tests.stream.cut import BASE, gaps, stream, wrong
from tests.stream.feed import fpdus
from tests.stream.talk import Talk, ends, received, say_startup, started
from tests.truth import impair, messages
from tests.truth.impair import ACK, RST
from tests.truth.mpastream import Damage, TrueFPDU, build_stream


def reasons(events: list[Event]) -> set[str]:
    """The reasons of gaps."""
    return {each.reason for each in events if isinstance(each, GapFound)}


def check_outside(events: list[Event], truth: list[TrueFPDU], holes: list[tuple[int, int]]) -> None:
    """Check that every FPDU that no hole touches is found once, and no other."""
    wanted = [
        (fpdu.seq_offset, fpdu.ulpdu)
        for fpdu in truth
        if not any(fpdu.start < at + length and at < fpdu.end for at, length in holes)
    ]
    assert sorted((each.offset or 0, each.ulpdu) for each in fpdus(events, 0)) == wanted


@pytest.mark.parametrize(
    ("end", "lost", "expected"),
    [
        ("FIN", 1000, "connection ended"),
        ("FIN", 1, "connection ended"),
        ("RST", 1000, "connection ended"),
        ("acknowledged", 1000, "capture ended"),
        ("acknowledged", 2, "capture ended"),
        ("acknowledged", 1, None),
        ("nothing", 1000, None),
    ],
)
def test_octets_missing_at_the_end(end: str, lost: int, expected: str | None) -> None:
    """A FIN shows that they are missing.  So does an acknowledgement, even that of a RST.

    If it acknowledges only one missing octet, that may be a FIN.
    """
    octets, truth = stream([600] * 5, markers=False)
    talk = started()
    talk.say(0, octets[:2000], size=500)
    talk.miss(0, octets[2000 : 2000 + lost])
    if end == "RST":
        talk.say(1, flags=RST | ACK)
    elif end != "nothing":
        talk.say(1, flags=ACK)
        talk.say(1, flags=ACK)
    if end == "FIN":
        talk.close()
    events = talk.fed()
    check_outside(events, truth, [(2000, 1200)])
    found = [
        (each.seq - BASE, each.length, each.reason) for each in events if isinstance(each, GapFound)
    ]
    assert found == [(2000, lost, expected)] * (expected is not None)
    assert len(wrong(events)) == len(found)


@pytest.mark.parametrize("markers", [False, True])
def test_islands_are_limited(markers: bool) -> None:
    """If there are more than HELD_ISLANDS, the oldest are given up.  Their FPDUs are found."""
    octets, truth = stream([20] * 2300, markers=markers)
    talk = started(markers=markers)
    holes = [(each.start, each.end - each.start) for each in truth[1::2]]
    for each in truth[::2]:
        talk.copy(0, BASE + each.start, octets[each.start : each.end], ACK)
    # Nothing after the startup frames is acknowledged.
    events = received(flows := Flows(), talk.segments)
    assert reasons(events) == {"limit"}
    assert len(gaps(events, BASE)) >= len(holes) - HELD_ISLANDS - 1
    events += flows.finish()
    check_outside(events, truth, holes)
    assert gaps(events, BASE) == holes[: len(gaps(events, BASE))]


@pytest.mark.parametrize("markers", [False, True])
def test_closed_holes_are_limited(markers: bool) -> None:
    """A limited number of acknowledged holes may still be filled.

    The oldest becomes a gap.  It stays a gap if its octets are captured later.
    """
    octets, truth = stream([500] * 300, markers=markers)
    talk = started(markers=markers)
    holes = [(each.start, each.end - each.start) for each in truth[1::2]]
    for index, each in enumerate(truth):
        talk.say(0, octets[each.start : each.end], captured=index % 2 == 0)
        talk.say(1, flags=ACK)
    events = received(flows := Flows(), talk.segments)
    found = gaps(events, BASE)
    assert found == holes[: len(found)]
    assert len(found) >= 10
    assert reasons(events) == {"acknowledged"}
    at, length = found[0]
    late = impair.Segment(0, BASE + at, 0, ACK, octets[at : at + length])
    events += received(flows, [late], 10_000) + flows.finish()
    check_outside(events, truth, holes)
    assert gaps(events, BASE) == holes


@pytest.mark.parametrize("short", [0, 1])
def test_a_hole_is_closed_when_its_last_octet_is_acknowledged(short: int) -> None:
    """FPDUs of later segments are out of order until then."""
    octets, truth = stream([600] * 5, markers=False)
    talk = started()
    talk.say(0, octets[: truth[1].start])
    talk.miss(0, octets[truth[1].start : truth[1].end - short])
    for each in truth[2:]:
        for _ in range(LATE_SEGMENTS):
            talk.say(1, flags=ACK)
        talk.copy(0, BASE + each.start, octets[each.start : each.end])
    found = fpdus(received(Flows(), talk.segments), 0)
    assert [each.out_of_order for each in found] == [False, True, bool(short), bool(short)]


def test_acknowledgements_alone_close_a_hole() -> None:
    """An FPDU after it is reported, though its direction sends no more."""
    octets, truth = stream([600] * 9, markers=False)
    talk, flows = started(), Flows()
    talk.say(0, octets[: truth[1].start])
    talk.miss(0, octets[truth[1].start : truth[2].start + 100])
    talk.say(0, octets[truth[2].start + 100 :], size=700)
    for _ in range(LATE_SEGMENTS + 1):
        talk.say(1, flags=ACK)
    found = fpdus(received(flows, talk.segments), 0)
    assert [each.offset for each in found] == [each.start for each in (truth[0], *truth[3:])]
    # The octets of these FPDUs are held no more.
    assert flows.limits.octets_in_total - flows.shared.budget.room < 2000


SEGMENTS_AFTER_A_HOLE: dict[str, tuple[list[float], int | None, list[int]]] = {
    "an FPDU a segment": ([2, 3, 4, 5, 6], None, [2, 3, 4, 5]),
    "two FPDUs a segment": ([2, 4, 6], None, [2, 3, 4, 5]),
    "one FPDU, whose length leads to others": ([2, 3, 4.5, 6], None, [2, 3, 4, 5]),
    "the first segment ends within an FPDU": ([2, 3.5, 5, 6], None, []),
    "the first segment begins within an FPDU": ([2.5, 4, 5, 6], None, []),
    "the first FPDU is bad": ([2, 3, 4, 5, 6], 2, []),
    "a later FPDU is bad": ([2, 3, 4, 5, 6], 4, [2, 3, 4, 5]),
}
"""Where segments begin and end, in FPDUs; the bad FPDU; and the FPDUs that need not wait."""


@pytest.mark.parametrize("straight", [True, False])
def test_fpdus_after_a_hole_begin_at_multiples_of_four(straight: bool) -> None:
    """Octets that begin elsewhere are part of a payload, whatever they look like."""
    octets, truth = stream([600] * 2, markers=False)
    talk = started()
    for begin in (0, 1002, 2002, 3000):
        talk.copy(0, BASE + begin, octets[: truth[0].end])
    found = fpdus(received(Flows(straight=straight), talk.segments), 0)
    assert [each.seq - BASE for each in found] == [0, 3000]


@pytest.mark.parametrize("straight", [True, False])
def test_fpdus_in_a_payload_that_fill_segments(straight: bool) -> None:
    """The length of an FPDU that a hole cuts off shows its end.  No FPDU begins before that."""
    inner = stream([50] * 90, markers=False)[0]
    ulpdus = [messages.write(7, 0, inner, 9000)[0], messages.send(1, b"end")[0]]
    octets = build_stream(ulpdus)[0]
    # The payload begins after 16 octets, and 20 of the FPDUs in it fill a segment.
    size = len(inner) // 90 * 20
    pieces = [0, 16, *range(16 + size, len(octets), size), len(octets)]
    talk = started()
    for at in (0, 1, 3, 4, 2, 5):
        talk.copy(0, BASE + pieces[at], octets[pieces[at] : pieces[at + 1]])
    events = received(Flows(straight=straight), talk.segments)
    assert [each.ulpdu for each in fpdus(events, 0)] == ulpdus


@pytest.mark.parametrize("straight", [True, False])
def test_a_segment_that_leads_on_may_come_late(straight: bool) -> None:
    """Its length leads to a segment that came before, and that ends within an FPDU."""
    octets, truth = stream([600] * 6, markers=False)
    size = truth[0].end // 2
    talk = started()
    for begin, end in ((0, 2), (6, 9), (4, 6), (9, 12)):
        talk.copy(0, BASE + begin * size, octets[begin * size : end * size])
    found = fpdus(received(Flows(straight=straight), talk.segments), 0)
    assert [len(talk.segments) - each.frame for each in found] == [3, 1, 1, 0, 0]


@pytest.mark.parametrize("straight", [True, False])
@pytest.mark.parametrize("crc", [True, False])
@pytest.mark.parametrize("name", SEGMENTS_AFTER_A_HOLE)
def test_fpdus_that_need_not_wait_without_markers(name: str, crc: bool, straight: bool) -> None:
    """These are good FPDUs that fill the first segment after a hole, and FPDUs that follow them."""
    places, bad, ahead = SEGMENTS_AFTER_A_HOLE[name]
    damage = {} if bad is None else {bad: Damage(crc_xor=1)}
    ulpdus = [messages.send(msn, bytes(600))[0] for msn in range(1, 8)]
    octets, truth = build_stream(ulpdus, crc=crc, damage=damage if crc else {})
    cuts = [int(place * truth[1].start) for place in places]
    talk = started(crc=crc)
    talk.say(0, octets[: truth[1].start])
    talk.miss(0, octets[truth[1].start : cuts[0]])
    for begin, end in pairwise(cuts):
        talk.say(0, octets[begin:end])
    flows = Flows(straight=straight)
    found = fpdus(received(flows, talk.segments), 0)
    assert [each.ulpdu for each in found] == [ulpdus[at] for at in (0, *(ahead if crc else []))]
    late = impair.Segment(0, BASE + truth[1].start, 0, ACK, octets[truth[1].start : cuts[0]])
    found += fpdus(received(flows, [late], 10_000), 0)
    assert sorted(each.ulpdu for each in found) == ulpdus[:6]
    assert sum(each.out_of_order for each in found) == (len(ahead) if crc else 0)


@pytest.mark.parametrize(
    ("crc", "forged"), [(True, {}), (False, {}), (True, {2: Damage(fpduptr={1: 8}, sender=True)})]
)
def test_markers_lead_to_fpdus_after_an_open_hole(crc: bool, forged: dict[int, Damage]) -> None:
    """An FPDU to which a Marker points is found at once if its CRC is good or its Markers agree."""
    ulpdus = [messages.send(msn, bytes(1382))[0] for msn in range(1, 8)]
    octets, truth = build_stream(ulpdus, markers=True, crc=crc, damage=forged)
    talk = started(markers=True, crc=crc)
    talk.say(0, octets[: truth[1].start])
    talk.copy(0, BASE + truth[2].start, octets[truth[2].start :])
    found = fpdus(received(Flows(), talk.segments), 0)
    assert [each.ulpdu for each in found] == [*ulpdus[:1], *ulpdus[2:]]


@pytest.mark.parametrize("order", [(1, 2, 0), (2, 1, 0), (0, 2, 1)])
def test_an_island_without_fpdu_hides_none(order: tuple[int, int, int]) -> None:
    """The start of an island need not be the start of an FPDU."""
    octets, truth = stream([600] * 39, markers=False)
    talk = started()
    first = talk.next[0]
    # Three pieces of one FPDU, each captured late, the last one with later octets.
    begin = truth[3].start
    edges = [0, *(begin + at for at in (100, 200, 300, 400, 500, 520)), truth[20].end]
    pieces = list(pairwise(edges))
    for index, (start, end) in enumerate(pieces):
        talk.say(0, octets[start:end], size=700, captured=index % 2 == 0)
    talk.say(1)
    talk.say(0, octets[truth[20].end : truth[30].end], size=700)
    for _ in range(80):
        talk.say(1)
    talk.say(0, octets[truth[30].end :], size=700)
    for index in order:
        start, end = pieces[2 * index + 1]
        talk.copy(0, first + start, octets[start:end])
    check_outside(talk.closed(), truth, [])


BEFORE = bytes(range(1, 101))
"""The octets of the Responder before the startup frames."""


def stretches_of(places: set[int]) -> list[tuple[int, int]]:
    """Begin and length of each contiguous stretch."""
    begins = sorted(at for at in places if at - 1 not in places)
    ends = sorted(at + 1 for at in places if at + 1 not in places)
    return [(begin, end - begin) for begin, end in zip(begins, ends, strict=True)]


@given(seed=st.integers(0, 2**32), closed=st.booleans())
@settings(max_examples=5 * settings.default.max_examples)
def test_before_the_startup_frames(seed: int, closed: bool) -> None:
    """Missing octets before a Reply are a gap, unless a late copy brings them, even after FPDUs.

    Other octets of a copy are compared with those captured before, octet by octet.
    """
    rng = random.Random(seed)
    differing = rng.random() < 0.8
    octets, truth = stream([600] * 3, markers=False)
    talk = Talk()
    talk.say(0, b"?")
    begin = talk.next[1]
    first: set[int] = set()
    for start, end in pairwise([0, *sorted(rng.sample(range(1, 100), 6)), 100]):
        is_captured = rng.random() < 0.5
        talk.say(1, BEFORE[start:end], captured=is_captured)
        first.update(range(start, end) if is_captured else ())
    say_startup(talk)
    talk.say(0, octets)
    if closed:
        talk.say(1, octets)
        for _ in range(LATE_SEGMENTS + 1):
            talk.say(0, flags=ACK)
    # Copies of octets, captured or not.
    again = 0
    captured, wanted = set(first), list[tuple[int, int]]()
    for _ in range(rng.randrange(6)):
        start, end = sorted(rng.sample(range(101), 2))
        copy = bytes(each ^ 0xFF * differing for each in BEFORE[start:end])
        talk.copy(1, begin + start, copy)
        known = captured.intersection(range(start, end))
        again += bool(known)
        for at, length in stretches_of(known):
            places = first.intersection(range(at, at + length)) if differing else ()
            wanted += [(min(places), max(places) + 1 - min(places))] if places else []
        captured.update(range(start, end))
    if not closed:
        talk.say(1, octets)
    events = talk.closed()
    lost = stretches_of(set(range(100)) - captured)
    assert gaps(events, begin, 1) == lost
    differ = [
        (each.seq - begin, each.length) for each in events if isinstance(each, OverlapDiffers)
    ]
    assert differ == wanted
    (end_of_it,) = ends(events)
    half = end_of_it.halves[1]
    assert (half.gaps, half.retransmitted) == (len(lost), again)
    assert half.octets == len(captured) + 20 + len(octets)
    for direction in (0, 1):
        assert [each.ulpdu for each in fpdus(events, direction)] == [each.ulpdu for each in truth]


def test_holes_that_copies_leave_are_limited() -> None:
    """Copies split a hole before the startup frames.  At a limit the first holes are reported."""
    talk = Talk()
    talk.say(0, b"?")
    begin = talk.next[1]
    count = HELD_ISLANDS + 100
    talk.miss(1, bytes(8 * count))
    say_startup(talk)
    talk.say(1, stream([600] * 3, markers=False)[0])
    for _ in range(LATE_SEGMENTS + 1):
        talk.say(0, flags=ACK)
    before = len(talk.segments)
    for at in range(count):
        talk.copy(1, begin + 8 * at + 4, bytes(4))
    flows = Flows()
    assert not gaps(received(flows, talk.segments[:before]), begin, 1)
    events = received(flows, talk.segments[before:], before)
    holes = [(8 * at, 4) for at in range(count)]
    assert (gaps(events, begin, 1), reasons(events)) == (holes[:-HELD_ISLANDS], {"limit"})
    assert gaps(flows.finish(), begin, 1) == holes[-HELD_ISLANDS:]
