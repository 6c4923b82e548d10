# SPDX-License-Identifier: GPL-2.0-or-later
"""Octets that were never captured: the FPDUs that are lost, and when gaps come (RFC 5044 6)."""

import random
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scapy_mpa.stream.events import Event, FPDURecovered, GapFound, OverlapDiffers
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.halves.holes import HELD_ISLANDS
from scapy_mpa.stream.limits import LATE_SEGMENTS
from tests.stream.feed import BASE, cut_to, feed, feed_truth, fpdus, gaps, halves, of, stream, wrong
from tests.stream.scene import Octets, Scene
from tests.stream.startup import both_ways, ended
from tests.stream.talk import Talk, received, say_startup, started
from tests.truth import impair, messages
from tests.truth.impair import ACK
from tests.truth.mpastream import Damage, TrueFPDU, build_stream


def reasons(events: list[Event]) -> set[str]:
    """The reasons of gaps."""
    return {each.reason for each in of(GapFound, events)}


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
        ("< < >F <F >", 1000, "connection ended"),
        ("< < >F <F >", 1, "connection ended"),
        ("<X", 1000, "connection ended"),
        ("< <", 1000, "capture ended"),
        ("< <", 2, "capture ended"),
        ("< <", 1, None),
        ("", 1000, None),
    ],
)
def test_octets_missing_at_the_end(end: str, lost: int, expected: str | None) -> None:
    """A FIN shows that they are missing.  So does an acknowledgement, even that of a RST.

    If it acknowledges only one missing octet, that may be a FIN.
    """
    octets, truth = stream([600] * 5, markers=False)
    letters: dict[str, Octets] = {"1": octets[:2000], "2": octets[2000 : 2000 + lost]}
    events = Scene(f">Q <A >1 >-2 {end}", letters).fed()
    check_outside(events, truth, [(2000, 1200)])
    found = [(each.seq - BASE, each.length, each.reason) for each in of(GapFound, events)]
    assert found == [(2000, lost, expected)] * (expected is not None)
    assert len(wrong(events)) == len(found)


def test_a_copy_that_the_snap_length_cut() -> None:
    """Of a copy, only captured octets count as captured before."""
    octets, _ = stream([600] * 3, markers=False)
    talk = started()
    for _ in range(2):
        talk.copy(0, BASE, octets)
    segments = cut_to(talk.captured(), dict.fromkeys((5, 6), 100))
    end = ended(feed(segments))
    assert (end.halves[0].retransmitted, end.halves[0].retransmitted_octets) == (1, 100)


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
    begin, end = truth[1].start, truth[2].start + 100
    letters: dict[str, Octets] = {"1": octets[:begin], "2": octets[begin:end], "3": octets[end:]}
    scene = Scene(f">Q <A >1 >-2 >3 {'< ' * (LATE_SEGMENTS + 1)}", letters, size=700)
    found = fpdus(received(flows := Flows(), scene.segments), 0)
    assert [each.offset for each in found] == [each.start for each in (truth[0], *truth[3:])]
    # The octets of these FPDUs are held no more.
    assert flows.limits.octets_in_total - flows.shared.budget.room < 2000


# -- before the end of the capture, and before the hole is closed ---------------------------------


def found_at_once(pieces: Iterable[tuple[int, bytes]], **startup: bool) -> list[FPDURecovered]:
    """The FPDUs found in these octets of the Initiator, each a segment at an offset.

    They are the same on both reading paths.
    """
    talk = started(**startup)
    for at, octets in pieces:
        talk.copy(0, BASE + at, octets)
    found, other = (received(Flows(straight=each), talk.segments) for each in (True, False))
    assert fpdus(found) == fpdus(other)
    return fpdus(found, 0)


def cut_at(octets: bytes, *places: float) -> list[tuple[int, bytes]]:
    """The octets between these places, each with its place."""
    return [(int(at), octets[int(at) : int(end)]) for at, end in pairwise(places)]


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


@pytest.mark.parametrize("crc", [True, False])
@pytest.mark.parametrize("name", SEGMENTS_AFTER_A_HOLE)
def test_fpdus_that_need_not_wait_without_markers(name: str, crc: bool) -> None:
    """These are good FPDUs that fill the first segment after a hole, and FPDUs that follow them."""
    places, bad, ahead = SEGMENTS_AFTER_A_HOLE[name]
    ahead = ahead if crc else []
    damage = {} if bad is None or not crc else {bad: Damage(crc_xor=1)}
    ulpdus = [messages.send(msn, bytes(600))[0] for msn in range(1, 8)]
    octets, truth = build_stream(ulpdus, crc=crc, damage=damage)
    size = truth[0].end
    first, hole, *rest = cut_at(octets, 0, *(place * size for place in (1, *places)))
    found = found_at_once([first, *rest], crc=crc)
    assert [each.ulpdu for each in found] == [ulpdus[at] for at in (0, *ahead)]
    found = found_at_once([first, *rest, hole], crc=crc)
    assert sorted(each.ulpdu for each in found) == ulpdus[:6]
    assert sum(each.out_of_order for each in found) == len(ahead)


@pytest.mark.parametrize("lost", range(1, 12))
def test_fpdus_without_a_marker_need_not_wait(lost: int) -> None:
    """A small FPDU may lie between two Markers.  It is found if it fills its segment."""
    octets, truth = stream([100] * 12, markers=True)
    pieces = cut_at(octets, *(each.start for each in truth), len(octets))
    del pieces[lost]
    found = found_at_once(pieces, markers=True)
    del truth[lost]
    assert [each.ulpdu for each in found] == [each.ulpdu for each in truth]
    if lost < len(truth):
        has_marker = found[lost].markers > 0
        assert found[lost].located_by == ("marker" if has_marker else "search")


@pytest.mark.parametrize(
    ("order", "late"),
    [
        ("0 1 2 3 4 5", 0),
        ("0 1 3 2 4 5", 1),
        ("0 1 5 4 3 2", 3),
        # A copy fills no hole, and neither does a segment after a hole.
        ("0 1 2 2 3 4 5", 0),
        ("0 1 3 4 5", 0),
        # A sender may repeat octets and add new ones.  Only octets in a hole are late.
        ("0-1.6 1.4-2.4 3.2-4 2.2-4.2", 1),
    ],
)
def test_segments_that_fill_a_hole_are_late(order: str, late: int) -> None:
    """The end counts segments after which later ones were captured before.

    A segment is the number of an FPDU, or begin and end in FPDUs.
    """
    octets, truth = stream([600] * 6, markers=False)
    talk = started()
    for begin, _, end in (each.partition("-") for each in order.split()):
        start, stop = (int(truth[0].end * float(at)) for at in (begin, end or int(begin) + 1))
        talk.copy(0, BASE + start, octets[start:stop])
    assert [half.late for half in both_ways(talk.captured()).halves] == [late, 0]


def test_octets_that_begin_no_fpdu() -> None:
    """They begin in the pad grid of another place, or within the octets that a length claims."""
    octets, _ = stream([600], markers=False)
    found = found_at_once([(at, octets) for at in (0, 1002, 2002, 3000)])
    assert [each.seq - BASE for each in found] == [0, 3000]
    inner = stream([50] * 90, markers=False)[0]
    ulpdus = [messages.write(7, 0, inner, 9000)[0], messages.send(1, b"end")[0]]
    octets = build_stream(ulpdus)[0]
    # The payload begins after 16 octets, and 20 of the FPDUs in it fill a segment.
    size = len(inner) // 90 * 20
    pieces = cut_at(octets, 0, 16, *range(16 + size, len(octets), size), len(octets))
    found = found_at_once([pieces[at] for at in (0, 1, 3, 4, 2, 5)])
    assert [each.ulpdu for each in found] == ulpdus


def test_a_segment_that_leads_on_may_come_late() -> None:
    """Its length leads to a segment that came before, and that ends within an FPDU."""
    octets, truth = stream([600] * 6, markers=False)
    pieces = cut_at(octets, *(truth[0].end // 2 * at for at in (0, 2, 4, 6, 9, 12)))
    found = found_at_once([pieces[at] for at in (0, 3, 2, 4)])
    # Five segments come before these.
    assert [each.frame - 6 for each in found] == [0, 2, 2, 3, 3]


@pytest.mark.parametrize(
    ("crc", "forged"), [(True, {}), (False, {}), (True, {2: Damage(fpduptr={1: 8}, sender=True)})]
)
def test_markers_lead_to_fpdus_after_an_open_hole(crc: bool, forged: dict[int, Damage]) -> None:
    """An FPDU to which a Marker points is found at once if its CRC is good or its Markers agree."""
    ulpdus = [messages.send(msn, bytes(1382))[0] for msn in range(1, 8)]
    octets, truth = build_stream(ulpdus, markers=True, crc=crc, damage=forged)
    first, _, rest = cut_at(octets, 0, truth[1].start, truth[2].start, len(octets))
    found = found_at_once([first, rest], markers=True, crc=crc)
    assert [each.ulpdu for each in found] == [*ulpdus[:1], *ulpdus[2:]]


# -- before the startup frames ---------------------------------------------------------------------

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
    differ = of(OverlapDiffers, events)
    assert [(each.seq - begin, each.length) for each in differ] == wanted
    end_of_it = ended(events)
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


# -- how many FPDUs are placed before Delivery, and how far ahead (RFC 5044 2, 7.2) ----------------


@given(
    seed=st.integers(0, 2**32),
    size=st.sampled_from((300, 1460, 4000)),
    rate=st.sampled_from((0.1, 0.5)),
)
def test_the_distance_is_that_of_the_capture(seed: int, size: int, rate: float) -> None:
    """In any order, the distance follows from the frames captured until then."""
    rng = random.Random(seed)
    pair = halves(rng, markers=(True, True), crc=True, count=25)
    sendings = [impair.reorder(impair.cut_mss(half.octets, size), rng, rate) for half in pair]
    segments = impair.conversation(pair, (sendings[0], sendings[1]), rng)
    events = feed_truth(segments)
    for direction, half in enumerate(pair):
        farthest = 0
        starts = {fpdu.seq_offset: fpdu.start for fpdu in half.truth}
        ahead = [each for each in fpdus(events, direction) if each.out_of_order]
        first_missing: dict[int, int] = {}
        for each in ahead:
            if each.frame not in first_missing:
                found = impair.first_captured(segments[: each.frame], half, direction)
                first_missing[each.frame] = found.index(None)
            assert each.offset is not None
            assert starts[each.offset] > first_missing[each.frame]
            farthest = max(farthest, starts[each.offset] - first_missing[each.frame])
        summary = ended(events).halves[direction]
        assert (summary.out_of_order, summary.farthest_ahead) == (len(ahead), farthest)
