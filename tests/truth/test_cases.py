# SPDX-License-Identifier: GPL-2.0-or-later
"""The constructed captures, and the rules that say what must be found in them."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict

import pytest

from tests.truth import impair, messages, mpastream
from tests.truth.cases import case, dimensions_of
from tests.truth.dimensions import VALUES, Dimensions
from tests.truth.findable import findable
from tests.truth.headers import Header, header_of
from tests.truth.impair import ACK, SYN, Half, Segment
from tests.truth.mpastream import Damage
from tests.truth.wanted import Wanted

SEEDS = range(400)


def test_a_seed_is_a_capture() -> None:
    """The same call gives the same octets, and another call gives others."""
    assert case(5).pcap() == case(5).pcap() != case(6).pcap()
    assert case(5, crc=False).pcap() == case(5, crc=False).pcap() != case(5).pcap()


def test_every_value_of_every_dimension_occurs() -> None:
    """In a few hundred seeds each value occurs a dozen times, and nearly every pair occurs."""
    chosen = [asdict(dimensions_of(seed)) for seed in SEEDS]
    places = [(name, value) for name, values in VALUES.items() for value in set(values)]
    counts: Counter[object] = Counter()
    for each in chosen:
        here = {(name, each[name]) for name in VALUES if name != "cuts"}
        here |= {("cuts", way) for way in each["cuts"]}
        counts.update(here)
        counts.update(frozenset((one, other)) for one in here for other in here)
    assert min(counts[place] for place in places) >= 12
    pairs = [{one, other} for one in places for other in places if one[0] < other[0]]
    assert sum(frozenset(pair) in counts for pair in pairs) > 0.95 * len(pairs)


@pytest.mark.parametrize("seed", range(12))
def test_all_captured_fpdus_are_required_if_all_is_known(seed: int) -> None:
    """With CRCs and both startup frames, each FPDU with all octets captured is required.

    ``impair.capturable`` counts octets in another way.
    """
    made = case(seed, crc=True, damage="none", snap=0, startup="both", begin="SYN")
    for direction, half in enumerate(made.halves):
        captured = impair.capturable(made.segments, half, direction)
        assert [each.offset for (of, _), each in made.wanted.items() if of == direction] == [
            fpdu.seq_offset for fpdu in captured
        ]
    assert all(each.is_required and not each.is_cut for each in made.wanted.values())


def test_headers() -> None:
    """Octets written by hand from RFC 5041 figures 3 and 4, whole and cut."""
    tagged = bytes.fromhex("c140 00000007 0000000000000009") + b"pay"
    assert header_of(tagged, 17) == Header(True, True, 1, 1, 0, stag=7, to=9, payload_length=3)
    untagged = bytes.fromhex("4144 0000000b 00000000 00000001 00000002")
    whole = header_of(untagged, 18)
    assert whole[:5] == (False, True, 1, 1, 4)
    assert whole[7:] == (0, 1, 2, 11, 0)
    cut = header_of(untagged[:12], 18)
    assert (cut.qn, cut.msn, cut.mo, cut.invalidate_stag) == (0, None, None, 11)
    assert header_of(b"", 0) == Header(payload_length=0)
    assert header_of(b"", 5) == Header()


# -- the rules, one by one -------------------------------------------------------------------------


class Made:
    """A connection in which the Initiator sends FPDUs of 60 octets, one per segment."""

    def __init__(
        self, *, markers: bool = False, crc: bool = True, damage: dict[int, Damage] | None = None
    ) -> None:
        self.dimensions = Dimensions(markers="Initiator" if markers else "neither", crc=crc)
        ulpdus = [messages.send(msn, bytes([msn]) * 36)[0] for msn in range(1, 21)]
        octets, truth = mpastream.build_stream(ulpdus, markers=markers, crc=crc, damage=damage)
        request = mpastream.startup_frame(mpastream.REQUEST_KEY, crc=int(crc))
        reply = mpastream.startup_frame(mpastream.REPLY_KEY, crc=int(crc), markers=int(markers))
        self.halves = Half(request, octets, truth, 0), Half(reply, b"", [], 0)

    def found(
        self,
        missing: set[int],
        *,
        startup: bool = True,
        request: bool = True,
        cut: dict[int, int] | None = None,
    ) -> dict[int, Wanted]:
        """The FPDUs to be found if the segments of some FPDUs are missing, by number of the FPDU.

        request: whether the Request is among the captured startup frames.
        cut: number of an FPDU to how many octets of its segment were captured.
        """
        half, peer = self.halves
        segments = [Segment(0, 0, 0, SYN, b""), Segment(1, 0, 1, SYN | ACK, b"")]
        if startup:
            segments += [
                Segment(0, 1, 1, ACK, half.startup),
                Segment(1, 1, 1 + len(half.startup), ACK, peer.startup),
            ][not request :]
        whole = [(segment, len(segment.payload)) for segment in segments]
        for index, fpdu in enumerate(half.truth):
            if index not in missing:
                octets = half.octets[fpdu.start : fpdu.end]
                left = (cut or {}).get(index, len(octets))
                whole.append((Segment(0, half.base + fpdu.start, 1, ACK, octets), left))
        dimensions = Dimensions(**{**asdict(self.dimensions), "snap": 100 if cut else 0})
        numbers = {fpdu.seq_offset: index for index, fpdu in enumerate(half.truth)}
        wanted = findable(self.halves, whole, dimensions)
        return {numbers[each.offset]: each for each in wanted.values()}


def required(found: dict[int, Wanted]) -> set[int]:
    """The numbers of the FPDUs that must be found."""
    return {index for index, each in found.items() if each.is_required}


def test_rule_1_good_fpdus() -> None:
    """With CRCs, all whole FPDUs are required.  An unknown beginning needs two in a row."""
    made = Made()
    assert required(made.found({0, 3, 4})) == set(range(20)) - {0, 3, 4}
    assert required(made.found({3}, startup=False)) == set(range(20)) - {3}
    alone = made.found(set(range(20)) - {2, 4, 6}, startup=False)
    assert required(alone) == set() and set(alone) == {2, 4, 6}


def test_rule_1_markers_must_be_shown() -> None:
    """Without startup frames, FPDUs in a row must hold two Markers above 0."""
    made = Made(markers=True)
    assert required(made.found({0}, startup=False)) == set(range(1, 20))
    assert required(made.found(set(range(10, 20)), startup=False)) == set()


def test_rule_2_damaged_fpdus() -> None:
    """They are required where their start is certain, and in a row if a good one follows."""
    flips = dict.fromkeys((3, 4, 5), Damage(flip=(30, 1)))
    assert required(Made(damage=flips).found(set())) == set(range(20))
    assert required(Made(damage=flips).found({6})) == set(range(20)) - {4, 5, 6}
    assert required(Made(damage=flips).found({2})) == set(range(20)) - {2, 3, 4, 5}
    headers = {**flips, 4: Damage(flip=(1, 1))}
    assert required(Made(damage=headers).found(set())) == set(range(20)) - {4, 5}


def test_rule_2_unknown_places_of_markers() -> None:
    """The Reply announces Markers.  FPDUs without one do not show how many damaged ones hold."""
    flips = dict.fromkeys((3, 4, 6, 7), Damage(flip=(30, 1)))
    made = Made(markers=True, damage=flips)
    assert [index for index, each in enumerate(made.halves[0].truth) if each.markers] == [0, 8, 16]
    few = set(range(8, 20)) | {0}
    assert required(made.found(few, request=False)) == {1, 2, 5}
    assert required(made.found({0}, request=False)) == set(range(1, 20))
    assert required(made.found(few - {0})) == {0, 1, 2, 3, 4, 5, 6}


def test_rule_2_wrong_lengths() -> None:
    """The FPDU is reported with its wrong length, even if that claims more than was captured."""
    found = Made(damage={3: Damage(ulpdu_length=5000)}).found(set())
    assert required(found) == set(range(20))
    statement = found[3].statement
    assert (statement.ulpdu_length, statement.crc) == (5000, "bad")
    assert statement.header.payload_length == 5000 - 18
    alone = Made(damage={3: Damage(ulpdu_length=5000)}).found(set(range(4, 20)))
    assert required(alone) == {0, 1, 2} and set(alone) == {0, 1, 2, 3}


def test_rules_4_and_6_without_crcs() -> None:
    """FPDUs are required from the start of the phase.  After a hole, three must be in a row."""
    made = Made(crc=False)
    found = made.found({5, 8, 12})
    assert required(found) == set(range(20)) - {5, 6, 7, 8, 12}
    assert set(found) == set(range(20)) - {5, 8, 12}


def test_rule_5_markers_without_crcs() -> None:
    """After a hole, the FPDU around a Marker and those that follow it are required."""
    made = Made(crc=False, markers=True)
    (marked,) = [index for index, each in enumerate(made.halves[0].truth[1:12], 1) if each.markers]
    found = made.found({marked - 2, marked + 2})
    assert {marked, marked + 1} <= required(found)
    assert marked - 1 in required(found), "three in a row with those that follow"
    found = made.found({marked - 2, marked + 1})
    assert marked in required(found) and marked - 1 not in required(found)


def test_rule_6_octets_that_a_wrong_length_claims_without_crcs() -> None:
    """A wrong length that leads to the start of an FPDU is not recognised."""
    size = 60 + 2 + 4 - 6
    wrong = Damage(ulpdu_length=54 + 3 * size)
    found = Made(crc=False, damage={3: wrong}).found(set())
    assert required(found) == set(range(20)) - {3, 4, 5, 6}
    assert set(found) == set(range(20))


def test_rule_6_octets_that_a_marker_claims_without_crcs() -> None:
    """Nothing distinguishes a forged FPDUPTR from a true one after a payload that holds FPDUs."""
    marked = Made(crc=False, markers=True).halves[0].truth[8]
    assert (marked.start, marked.markers) == (484, 1)
    others = set(range(20)) - {3, 4, 5, 6, 7, 8}
    # The Marker points before FPDU 4, to FPDU 4, to FPDU 6, into FPDU 7, and after it.
    for fpduptr, counts in ((400, False), (268, True), (148, True), (60, True), (16, True)):
        made = Made(crc=False, markers=True, damage={8: Damage(fpduptr={0: fpduptr})})
        assert required(made.found({3})) == others | ({4, 5, 6, 7} if counts else set())
    assert required(made.found({3, 8})) == others | {4, 5, 6, 7}


def test_rule_7_cut_frames() -> None:
    """A cut FPDU to which a length leads is required.  Then its end is certain."""
    made = Made()
    found = made.found({9}, cut={4: 30, 12: 30, 13: 10})
    assert found[4].statement.crc == "unknown"
    assert found[4].statement.payload == bytes([5]) * 10
    assert required(found) == set(range(20)) - {9, 13}
    assert 13 in found and found[13].statement.header.msn is None
    assert 12 not in required(made.found({11}, cut={12: 30}))


def test_a_capture_is_cut_as_the_truth_counts() -> None:
    """The file holds as much of each payload as the truth says for the snap length."""
    for network in ("IPv4", "IPv6", "VLAN", "IPv6 in VLAN", "TCP options"):
        made = case(1, snap=140, network=network)
        for frame, (segment, left) in zip(made.frames(), made.captured, strict=True):
            # Shorter ones are padded.
            if len(frame) > 60:
                assert frame[:140].endswith(segment.payload[:left])
            assert left == len(segment.payload) or len(frame[:140]) == 140
