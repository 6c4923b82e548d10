# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures that hold the beginning of each frame only: said as far as it goes, and no further."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.stream.events import ErrorFound, Event, GapFound, OverlapDiffers
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.fpdus.search import header_words
from scapy_mpa.stream.inference import candidates
from scapy_mpa.stream.segment import Segment
from tests.stream.cut import BASE, fed_with_cuts, sent, stream, wrong
from tests.stream.feed import feed, fpdus
from tests.stream.scene import begun
from tests.stream.startup import ended, errors, reply, request
from tests.stream.talk import Talk
from tests.truth import messages, mpastream
from tests.truth.impair import ACK, RST
from tests.truth.mpastream import TrueFPDU


def offsets(truth: Iterable[TrueFPDU]) -> list[int]:
    """Where FPDUs begin."""
    return [fpdu.seq_offset for fpdu in truth]


def found(events: list[Event], crc: str | None = None) -> list[int | None]:
    """Where the FPDUs of the Initiator were found, or those with such a CRC."""
    return [each.offset for each in fpdus(events, 0) if crc in (None, each.crc)]


@pytest.mark.parametrize("there", [0, 40])
def test_octets_that_are_only_claimed_are_not_searched(
    there: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A frame may say that it is a megabyte long, and hold next to nothing of that."""
    searched = 0

    def counting(octets: bytes) -> list[int]:
        nonlocal searched
        searched += len(octets)
        return header_words(octets)

    monkeypatch.setattr(candidates, "header_words", counting)
    flows = Flows()
    payload = random.Random(there).randbytes(there)
    for number in range(1, 9):
        claimed = Segment(bytes(12), 1 + (number << 20), 1, ACK, payload, 1 << 20, number, number)
        flows.receive(claimed)
    assert flows.finish()
    assert searched <= 8 * 8 * 4 * there


Piece = tuple[int, int, int | None]


def of_fpdus(truth: Iterable[TrueFPDU], snap: int | None) -> list[Piece]:
    """Segments of one FPDU each, of which so many octets were captured."""
    return [(fpdu.start, fpdu.end, snap) for fpdu in truth]


def cut_at(cuts: Iterable[int], snap: int) -> list[Piece]:
    """Segments from one offset to the next, of which so many octets were captured."""
    return [(begin, end, snap) for begin, end in pairwise(cuts)]


def check_gap(events: list[Event], begin: int, length: int) -> None:
    """Nothing is wrong but that the snap length cut off these octets."""
    (gap,) = wrong(events)
    assert isinstance(gap, GapFound)
    assert (gap.seq, gap.length, gap.reason) == (BASE + begin, length, "snap length")


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("crc", [False, True])
@pytest.mark.parametrize("snap", [40, 60, 500, 1000])
def test_one_fpdu_a_segment(markers: bool, crc: bool, snap: int) -> None:
    """Each FPDU is reported with its header; its CRC is unknown, its payload cut."""
    octets, truth = stream([1400] * 10, markers=markers, crc=crc)
    events = feed(sent(octets, of_fpdus(truth, snap), markers=markers, crc=crc))
    assert found(events, "unknown" if crc else "off") == found(events) == offsets(truth)
    for each, fpdu in zip(fpdus(events, 0), truth, strict=True):
        assert each.ulpdu_length == fpdu.ulpdu_length
        assert each.octets == octets[fpdu.start : fpdu.start + snap]
        assert fpdu.ulpdu.startswith(each.ulpdu) and len(each.ulpdu) >= snap - 16
    assert wrong(events) == []


@pytest.mark.parametrize("markers", [False, True])
def test_cut_and_whole_segments(markers: bool) -> None:
    """Framing goes on behind a cut segment; what is whole has its CRC checked."""
    octets, truth = stream([1400, 20, 1400, 30, 1400, 10], markers=markers)
    events = feed(sent(octets, of_fpdus(truth, 200), markers=markers))
    assert found(events) == offsets(truth)
    assert found(events, "unknown") == offsets(truth[::2])
    good = [each.ulpdu for each in fpdus(events, 0) if each.crc == "good"]
    assert good == [fpdu.ulpdu for fpdu in truth[1::2]]
    assert wrong(events) == []


@pytest.mark.parametrize("markers", [False, True])
def test_an_fpdu_in_two_segments_of_which_the_first_is_cut(markers: bool) -> None:
    """Its header was captured, its midst was not; the next one begins where it says."""
    octets, truth = stream([2000, 100, 2000], markers=markers)
    one, two = truth[0].end, truth[1].end
    pieces = cut_at([0, 1200, one, two, two + 1200, len(octets)], 900)
    events = feed(sent(octets, pieces, markers=markers))
    assert found(events) == offsets(truth)
    assert found(events, "good") == offsets(truth[1:2])
    assert found(events, "unknown") == offsets(truth[::2])


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("crc", [False, True])
@pytest.mark.parametrize("second", [0, 2, 6, 14, 38, 62, 102])
def test_fpdus_whose_header_was_cut_off_are_not_made_up(
    markers: bool, crc: bool, second: int
) -> None:
    """Two FPDUs in a segment, and only the first one's header was captured.

    The second one is unknown; whatever it was, octets that nobody captured are no FPDUs, and the
    next segment's are found.
    """
    octets, truth = stream([400, second, 400, second, 400, second, 400], markers=markers, crc=crc)
    pieces = cut_at([0, *(fpdu.end for fpdu in truth[1:-1:2]), len(octets)], 120)
    told = found(feed(sent(octets, pieces, markers=markers, crc=crc)))
    could = offsets(truth[::2])
    if crc:
        assert told == could
    else:
        # One header that makes sense is little to go by.
        assert told[:1] == could[:1] and set(told) <= set(could)


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("snap", [1, 2, 3, 10, 15, 19])
def test_headers_that_were_cut_off_themselves(markers: bool, snap: int) -> None:
    """Not enough for a DDP header: no FPDU is claimed, and all their octets are one gap.

    Octets of a direction are those that the capture holds.
    """
    octets, truth = stream([1400] * 10, markers=markers)
    events = feed(sent(octets, of_fpdus(truth, snap), markers=markers))
    assert found(events) == []
    check_gap(events, 0, len(octets))
    assert ended(events).halves[0].octets == len(request()) + snap * len(truth)


def test_headers_that_were_just_captured() -> None:
    """One octet more, and each is an FPDU: length and untagged header take 20 (RFC 5041 4.3)."""
    octets, truth = stream([1400] * 10, markers=False)
    events = feed(sent(octets, of_fpdus(truth, 20)))
    assert found(events) == offsets(truth)
    assert wrong(events) == []


def cut_and_closed(
    octets: bytes, cuts: list[int], there: int, how: str, *, markers: bool, crc: bool = True
) -> list[Event]:
    """The events of a connection that ends behind octets, of the last segment with ``there``."""
    talk = begun(markers=markers, crc=crc)
    for begin, end in pairwise([0, *cuts, len(octets)]):
        talk.say(0, octets[begin:end])
    last = len(talk.segments) - 1
    if how == "closed":
        talk.close()
    elif how == "reset":
        talk.say(0, flags=RST | ACK)
    return fed_with_cuts(talk, {last: there})


@pytest.mark.parametrize("how", ["closed", "reset", "capture ended"])
@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("there", [0, 1, 2, 5, 14, 19])
@pytest.mark.parametrize("before", [0, 1, 3])
def test_the_header_of_the_last_fpdu_was_cut_off(
    before: int, there: int, markers: bool, how: str
) -> None:
    """The connection did not end in its midst: it is a gap, and nothing is wrong."""
    octets, truth = stream([40] * (before + 1), markers=markers)
    *others, last = truth
    events = cut_and_closed(octets, [each.end for each in others], there, how, markers=markers)
    assert found(events) == offsets(others)
    check_gap(events, last.start, last.end - last.start)


@pytest.mark.parametrize("there", [2, 8, 19])
def test_the_same_where_markers_may_be_elsewhere(there: int) -> None:
    """How long an FPDU is with its Markers is not known: nothing says that it was cut short."""
    octets, truth = stream([0, 1000, 4, 300, 4, 0], markers=True)
    talk = Talk()
    talk.say(0, request(markers=1))
    talk.say(1, reply())
    for fpdu in truth:
        talk.say(1, octets[fpdu.start : fpdu.end])
    last = len(talk.segments) - 1
    talk.close()
    events = fed_with_cuts(talk, {4: 12, 5: 0, 6: 20, last: there})
    assert [each.ulpdu for each in fpdus(events, 1)] == [each.ulpdu for each in truth[2:5]]
    assert errors(events) == []


@pytest.mark.parametrize("how", ["closed", "reset"])
@pytest.mark.parametrize("crc", [False, True])
@pytest.mark.parametrize("there", [2, 14, 30])
def test_an_fpdu_that_the_connection_cut_short_and_the_snap_length_too(
    there: int, crc: bool, how: str
) -> None:
    """Its ULPDU_Length was captured, and claims more than was sent: that is certain."""
    octets, truth = stream([40, 400], markers=False, crc=crc)
    events = cut_and_closed(octets[:-100], [truth[0].end], there, how, markers=False, crc=crc)
    (error,) = wrong(events)
    assert isinstance(error, ErrorFound)
    length = truth[1].end - truth[1].start - 100
    text = f"the connection was {how} {length} octets into an FPDU (RFC 5044 8)"
    assert (error.seq, error.text) == (BASE + truth[1].start, text)


def test_no_octet_of_a_segment_was_captured() -> None:
    """The headers of a frame only: its octets are missing, the next segment's are not."""
    octets, truth = stream([400, 400, 400, 400], markers=True)
    pieces = of_fpdus(truth, None)
    pieces[1] = (truth[1].start, truth[1].end, 0)
    events = feed(sent(octets, pieces, markers=True))
    assert found(events, "good") == offsets([truth[0], *truth[2:]])


def test_octets_captured_before_a_cut_copy_stay_captured() -> None:
    """A retransmission whose end was cut off takes nothing away (RFC 5044 A.3)."""
    octets, truth = stream([600, 600], markers=False)
    middle = truth[0].end
    events = feed(sent(octets, [(300, middle, None), (0, middle, 310), (middle, 2 * middle, None)]))
    assert found(events, "good") == offsets(truth)
    assert [each.ulpdu for each in fpdus(events, 0)] == [fpdu.ulpdu for fpdu in truth]


@given(
    seed=st.integers(0, 2**32),
    snap=st.integers(1, 1500),
    size=st.sampled_from((100, 700, 1460)),
    markers=st.booleans(),
    crc=st.booleans(),
)
def test_nothing_is_made_up(seed: int, snap: int, size: int, markers: bool, crc: bool) -> None:
    """Any cut: each FPDU reported is one that was sent, as far as it was captured."""
    rng = random.Random(seed)
    octets, truth = stream([rng.randrange(2000) for _ in range(12)], markers=markers, crc=crc)
    pieces = cut_at([*range(0, len(octets), size), len(octets)], snap)
    told = fpdus(feed(sent(octets, pieces, markers=markers, crc=crc)), 0)
    whole = {fpdu.seq_offset: fpdu for fpdu in truth}
    assert len({each.offset for each in told}) == len(told)
    for each in told:
        fpdu = whole[each.offset or 0]
        assert each.ulpdu_length == fpdu.ulpdu_length
        assert octets[fpdu.start : fpdu.end].startswith(each.octets)
        assert each.crc != "bad"


def test_a_length_beyond_reason() -> None:
    """A segment that claims more than any TCP segment has: bounded, no exception."""
    octets = b"\0\x20AC".ljust(65_535, b"\0") * 50
    feed(sent(octets, cut_at(range(0, len(octets) + 1, 65_535), 4)))


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("left", range(0, 24, 2))
def test_good_fpdus_right_before_a_place_that_was_cut_off(markers: bool, left: int) -> None:
    """They stay good, however little is left of the one behind them."""
    octets, truth = stream([40, 200, *[40] * 40], markers=markers)
    # The header of the second FPDU was not captured, its end was; three that are whole follow it
    # in that segment, and further segments follow that one.
    begin = truth[1].end - 60
    behind = begin + 500
    pieces = [
        (0, begin, truth[1].start),
        (begin, behind, truth[5].start + left - begin),
        (behind, len(octets), None),
    ]
    events = feed(sent(octets, pieces, markers=markers))
    there = [truth[0], *truth[2:5], *(fpdu for fpdu in truth if fpdu.start >= behind)]
    assert found(events, "good") == offsets(there)


@pytest.mark.parametrize("crc", [False, True])
def test_one_header_in_a_payload_is_no_fpdu(crc: bool) -> None:
    """Of a segment in the midst of an FPDU, payload that looks like the header of a Write."""
    fake = b"\x01\x00\xc1\x40" + bytes(40)
    payload = random.Random(5).randbytes(1000) + fake + random.Random(6).randbytes(1000)
    made = [messages.send(1, payload, 4000)[0], messages.send(2, b"p" * 300, 4000)[0]]
    octets, truth = mpastream.build_stream(made, markers=False, crc=crc)
    at = octets.index(fake)
    assert at % 4 == 0
    pieces = cut_at([at - 40, 1900, truth[1].start, len(octets)], 120)
    assert found(feed(sent(octets, pieces, crc=crc))) == offsets(truth[1:])


@pytest.mark.parametrize("markers", [False, True])
def test_a_copy_brings_nothing_back(markers: bool) -> None:
    """What was cut off stays so, and is reported at once; a whole copy differs in nothing."""
    octets, truth = stream([600] * 6, markers=markers)
    second = truth[1]
    pieces = of_fpdus(truth, None)
    pieces[1] = (second.start, second.end, 100)
    pieces.append((second.start + 50, second.end, None))
    events = feed(sent(octets, pieces, markers=markers))
    assert found(events) == offsets(truth)
    assert found(events, "unknown") == offsets([second])
    assert all(each.frames == (each.frame,) for each in fpdus(events, 0))
    assert not any(each.out_of_order for each in fpdus(events, 0))
    assert wrong(events) == [] and not any(isinstance(each, OverlapDiffers) for each in events)


def test_octets_that_were_cut_off_are_no_lie() -> None:
    """A ULPDU_Length that nobody captured is not said to be 0, though FPDUs are known behind it."""
    octets, truth = stream([700, 700, 700, 700], markers=True)
    begin, end = truth[1].start, truth[2].start
    pieces = [(0, begin, None), (end, len(octets), None), (begin, end, 0)]
    events = feed(sent(octets, pieces, markers=True))
    assert sorted(found(events, "good"), key=str) == sorted(found(events), key=str)
    assert set(found(events)) == set(offsets([truth[0], *truth[2:]]))
    check_gap(events, begin, end - begin)


@pytest.mark.parametrize(
    ("crc", "whole", "verdict", "told"),
    [
        (True, 14, "unknown", True),
        (False, 14, "off", False),
        (True, 0, "unknown", None),
        (False, 0, "unknown", None),
    ],
)
def test_whether_crcs_are_on_is_not_concluded_from_what_was_cut_off(
    crc: bool, whole: int, verdict: str, told: bool | None
) -> None:
    """Without startup frames: FPDUs that are whole tell; if there are none, it stays unknown."""
    octets, truth = stream([600] * 8 + [20] * whole, markers=False, crc=crc)
    # Handshake, startup frames and the first FPDU were not captured.
    events = feed(sent(octets, of_fpdus(truth, 200), crc=crc)[6:])
    assert {each.crc for each in fpdus(events, 0) if each.ulpdu_length > 200} == {verdict}
    assert ended(events).crc is told


@pytest.mark.parametrize(
    ("count", "whole"),
    [
        (20, [7]),
        (20, [3, 12]),
        (20, [3, 9, 15]),
        (20, [0]),
        (20, [19]),
        (3000, [1500]),
        (3000, [1500, 1700]),
    ],
)
def test_a_few_are_whole_and_no_startup_frame_was_captured(count: int, whole: list[int]) -> None:
    """Nearly each segment is cut before the end of its FPDU: nothing but what the snap length has
    left of FPDUs stands around those that are whole, from which lengths lead to the next."""
    octets, truth = stream([40] * count, markers=False)
    talk = Talk(syn=False)
    there: dict[int, int | None] = {}
    for number, each in enumerate(truth):
        if number not in whole:
            there[len(talk.segments)] = each.end - each.start - 10
        talk.say(0, octets[each.start : each.end])
    good = [each for each in fpdus(fed_with_cuts(talk, there), 0) if each.crc == "good"]
    assert [each.ulpdu for each in good] == [truth[number].ulpdu for number in whole]


@pytest.mark.parametrize("seed", range(12))
def test_markers_that_were_cut_off_say_nothing(seed: int) -> None:
    """Without startup frames and CRCs, those that were captured tell where Markers are."""
    rng = random.Random(seed)
    sizes = [rng.choice((0, 8, 20, 40, 300, 450)) for _ in range(60)]
    octets, truth = stream(sizes, markers=True, crc=False)
    talk = Talk(syn=False)
    for fpdu in truth:
        talk.say(0, octets[fpdu.start : fpdu.end])
    events = fed_with_cuts(talk, dict.fromkeys(range(len(truth)), 74))
    told = [((each.seq - 1001) % 2**32, each.ulpdu_length, each.markers) for each in fpdus(events)]
    wanted = [(each.seq_offset, each.ulpdu_length, each.markers) for each in truth]
    assert told == wanted[-len(told) :]
    assert len(told) > 50
    assert wrong(events) == []


@given(
    seed=st.integers(0, 2**32),
    markers=st.booleans(),
    crc=st.booleans(),
)
def test_what_was_captured_is_compared_and_nothing_else(
    seed: int, markers: bool, crc: bool
) -> None:
    """Of a copy a difference is told where the octet was captured; what was cut off differs not."""
    rng = random.Random(seed)
    octets, _ = stream([rng.randrange(300) for _ in range(20)], markers=markers, crc=crc)
    talk, cuts = begun(markers=markers, crc=crc), dict[int, int | None]()
    known: set[int] = set()
    differing = []
    at = 0
    while at < len(octets):
        begin, end = at, min(len(octets), at + rng.randint(1, 200))
        if at and rng.random() < 0.4:
            begin = rng.randrange(max(0, at - 600), at)
            # One octet more is no keep-alive probe.
            end = rng.randint(begin + 2, begin + 300)
        piece = bytearray(octets[begin:end])
        there = rng.choice((len(piece), min(len(piece), rng.randint(1, 100))))
        place = begin + rng.randrange(there)
        if place in known and len(piece) > 1 and rng.random() < 0.5:
            piece[place - begin] ^= 0x55
            differing.append((BASE + place, 1))
        if begin == at:
            # What only a late copy brings need not be kept.
            known.update(range(begin, begin + there))
        at = max(at, end)
        cuts[len(talk.segments)] = there
        talk.copy(0, BASE + begin, bytes(piece))
        talk.next[0] = BASE + at
        for _ in range(rng.randrange(3)):
            talk.say(1, flags=ACK)
    events = fed_with_cuts(talk, cuts)
    told = [(each.seq, each.length) for each in events if isinstance(each, OverlapDiffers)]
    assert told == differing
