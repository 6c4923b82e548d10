# SPDX-License-Identifier: GPL-2.0-or-later
"""The sources of truth agree with the captures.  ``tests/wire`` has the published FPDUs.

So do the constructed captures, and the rules that say what must be found in them.
"""

import json
import pathlib
from collections import Counter
from dataclasses import asdict
from typing import Any

import pytest

from tests.captures import CRAFTED, OVER_IFT, OVER_TCP, PCAPS, REAL, capture_name, expectation
from tests.truth import iftwalker, impair, messages, mpastream, walker
from tests.truth.cases import case, dimensions_of
from tests.truth.dimensions import VALUES, Dimensions
from tests.truth.findable import findable
from tests.truth.impair import ACK, SYN, Half, Segment
from tests.truth.mpastream import Damage, build_stream
from tests.truth.wanted import Wanted

COUNTED = {
    "packets": 10672,
    "connections": 163,
    "FPDUs": 5010,
    "CRC good": 3617,
    "CRC field zero": 1390,
    "CRC bad": 3,
}
"""The sums of all real captures but those of OSC, counted by another walker, by another author.

It stopped at a ULPDU_Length of 0 in the probe, and counted two FPDUs less in connection 106.  The
Send after it has a good CRC.
"""


def test_a_bad_length_is_not_trusted() -> None:
    """After a bad CRC the walk goes on only if an FPDU with a good CRC follows."""
    stream = walker.Stream(isn=0)
    good, _ = build_stream([bytes(20)] * 3)
    bad, _ = build_stream([bytes(20)] * 3, damage={1: Damage(crc_xor=1)})
    wrong, _ = build_stream([bytes(20)] * 3, damage={1: Damage(ulpdu_length=8)})
    for octets, expected in ((good, "ggg"), (bad, "gbg"), (wrong, "gb")):
        fpdus, _ = walker.walk_fpdus(octets, 0, stream, crc_on=True)
        assert "".join("g" if fpdu.crc_good else "b" for fpdu in fpdus) == expected


def test_all_captures_have_expectations() -> None:
    """Each capture has a file of expectations, and there are no others."""
    expected = {expectation(path) for path in REAL + CRAFTED}
    assert expected == set((PCAPS.parent / "tests" / "expected").rglob("*.json"))


def test_the_walker_agrees_with_another() -> None:
    """Both have counted the same in all real captures."""
    found: Counter[str] = Counter()
    for path in sorted(set(OVER_TCP) & set(REAL)):
        packets, connections = walker.walk(path)
        found.update({"packets": packets, "connections": len(connections)})
        for fpdu in (fpdu for each in connections for role in "ir" for fpdu in each.fpdus[role]):
            crc = "good" if fpdu.crc_good else "field zero" if fpdu.crc_zero else "bad"
            found.update(["FPDUs", f"CRC {crc}"])
    assert found == COUNTED


@pytest.mark.parametrize("path", OVER_TCP, ids=capture_name)
def test_expected_files_are_up_to_date(path: pathlib.Path) -> None:
    """The files are what the walker writes, and JSON of the documented shape."""
    text = expectation(path).read_text()
    walk = iftwalker.walk if path in OVER_IFT else walker.expectations
    assert text == walker.to_json(walk(path))
    loaded = json.loads(text)
    assert list(loaded)[:6] == ["packets", "connections", "startup", "fpdus", "holes", "rest"]
    assert all(len(row) == 8 for row in loaded["startup"])
    assert all(len(row) == 10 for row in loaded["fpdus"])


# -- constructed captures --------------------------------------------------------------------------


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


# -- the rules, one by one -------------------------------------------------------------------------


COUNT, SIZE = 20, 60
"""A connection in which the Initiator sends so many FPDUs of so many octets, one per segment."""


def numbers(text: str) -> set[int]:
    """Numbers of FPDUs: ``1 4-6``, ``all but 3``."""
    but = text.removeprefix("all but")
    if but != text:
        return set(range(COUNT)) - numbers(but)
    pairs = (each.partition("-") for each in text.split())
    return {at for first, _, last in pairs for at in range(int(first), int(last or first) + 1)}


def found(
    missing: str = "",
    *,
    markers: bool = False,
    crc: bool = True,
    damage: dict[int, Damage] | None = None,
    startup: str = "Request Reply",
    cut: dict[int, int] | None = None,
) -> dict[int, Wanted]:
    """The FPDUs to be found if the segments of some are missing, by number of the FPDU.

    :param startup: the captured startup frames.
    :param cut: number of an FPDU to how many octets of its segment were captured.
    """
    ulpdus = [messages.send(msn + 1, bytes([msn + 1]) * 36)[0] for msn in range(COUNT)]
    octets, truth = mpastream.build_stream(ulpdus, markers=markers, crc=crc, damage=damage)
    request = mpastream.startup_frame(mpastream.REQUEST_KEY, crc=int(crc))
    reply = mpastream.startup_frame(mpastream.REPLY_KEY, crc=int(crc), markers=int(markers))
    half, peer = Half(request, octets, truth, 0), Half(reply, b"", [], 0)
    segments = [Segment(0, 0, 0, SYN, b""), Segment(1, 0, 1, SYN | ACK, b"")]
    if "Request" in startup:
        segments.append(Segment(0, 1, 1, ACK, request))
    if "Reply" in startup:
        segments.append(Segment(1, 1, 1 + len(request), ACK, reply))
    whole = [(segment, len(segment.payload)) for segment in segments]
    for index, fpdu in enumerate(truth):
        if index not in numbers(missing):
            piece = octets[fpdu.start : fpdu.end]
            left = (cut or {}).get(index, len(piece))
            whole.append((Segment(0, half.base + fpdu.start, 1, ACK, piece), left))
    dimensions = Dimensions(
        markers="Initiator" if markers else "neither", crc=crc, snap=100 if cut else 0
    )
    at = {fpdu.seq_offset: index for index, fpdu in enumerate(truth)}
    return {at[each.offset]: each for each in findable((half, peer), whole, dimensions).values()}


OFF: dict[str, Any] = {"crc": False}
MARKED: dict[str, Any] = {"markers": True}
NO_STARTUP: dict[str, Any] = {"startup": ""}
FLIP = Damage(flip=(30, 1))
FLIPS = {"damage": dict.fromkeys((3, 4, 5), FLIP)}
# The Reply announces Markers.  They stand in FPDUs 0, 8 and 16.
ANNOUNCED = {**MARKED, "startup": "Reply", "damage": dict.fromkeys((3, 4, 6, 7), FLIP)}
# A Marker of FPDU 8 points before FPDU 4, to FPDU 4, to FPDU 6, into FPDU 7, and after it.
FORGED = {
    pointer: {**OFF, **MARKED, "damage": {8: Damage(fpduptr={0: pointer})}}
    for pointer in (400, 268, 148, 60, 16)
}
# The wrong length of FPDU 3 leads to the start of FPDU 7.
CLAIMING = {**OFF, "damage": {3: Damage(ulpdu_length=54 + 3 * SIZE)}}
RULES: list[tuple[str, dict[str, Any], str]] = [
    # Missing FPDUs, what else there is, and which FPDUs must be found.
    # 1: An unknown beginning needs two good FPDUs in a row, or two Markers above 0.
    ("0 3 4", {}, "all but 0 3 4"),
    ("3", NO_STARTUP, "all but 3"),
    ("all but 2 4 6", NO_STARTUP, ""),
    ("0", {**MARKED, **NO_STARTUP}, "all but 0"),
    ("10-19", {**MARKED, **NO_STARTUP}, ""),
    # 2: Damaged FPDUs where their start is certain, and in a row if a good one follows.
    ("", FLIPS, "all but"),
    ("6", FLIPS, "all but 4-6"),
    ("2", FLIPS, "all but 2-5"),
    ("", {"damage": {**FLIPS["damage"], 4: Damage(flip=(1, 1))}}, "all but 4 5"),
    # 2: FPDUs without a Marker do not show how many of them damaged ones hold.
    ("0 8-19", ANNOUNCED, "1 2 5"),
    ("0", ANNOUNCED, "1-19"),
    ("8-19", {**ANNOUNCED, "startup": "Request Reply"}, "0-6"),
    # 2: A wrong length that claims more than was captured.
    ("", {"damage": {3: Damage(ulpdu_length=5000)}}, "all but"),
    ("4-19", {"damage": {3: Damage(ulpdu_length=5000)}}, "0-2"),
    # 4 and 6: Without CRCs, from the start of the phase.  After a hole, three must be in a row.
    ("5 8 12", OFF, "all but 5-8 12"),
    # 5: After a hole, the FPDU around a Marker and those that follow it.
    ("6 10", {**OFF, **MARKED}, "all but 6 10"),
    ("6 9", {**OFF, **MARKED}, "all but 6 7 9"),
    # 6: A wrong length that leads to the start of an FPDU is not recognised.
    ("", CLAIMING, "all but 3-6"),
    # 6: Nothing distinguishes a forged FPDUPTR from a true one after a payload that holds FPDUs.
    ("3", FORGED[400], "all but 3-8"),
    *(("3", FORGED[pointer], "all but 3 8") for pointer in (268, 148, 60, 16)),
    *(("3 8", each, "all but 3 8") for each in FORGED.values()),
    # 7: A cut FPDU to which a length leads.  Then its end is certain.
    ("9", {"cut": {4: 30, 12: 30, 13: 10}}, "all but 9 13"),
    ("11", {"cut": {12: 30}}, "all but 11 12"),
]
MAY_BE_FOUND = {"all but 2 4 6": "2 4 6", "4-19": "0-3", "5 8 12": "all but 5 8 12"}
"""By the missing FPDUs of some rows, all FPDUs that must or may be found."""


@pytest.mark.parametrize(("missing", "options", "required"), RULES)
def test_rules(missing: str, options: dict[str, Any], required: str) -> None:
    """The FPDUs that a rule requires, and no others."""
    wanted = found(missing, **options)
    assert {at for at, each in wanted.items() if each.is_required} == numbers(required)
    if missing in MAY_BE_FOUND:
        assert wanted.keys() == numbers(MAY_BE_FOUND[missing])
