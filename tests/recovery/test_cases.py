# SPDX-License-Identifier: GPL-2.0-or-later
"""Constructed captures of every kind: what must be found is found, and nothing else is reported.

Each case is a whole capture file, read as the command line reads it. From its octets,
``tests/truth/findable.py`` derives what must be found. Any case can be made again by its seed:
``case(17)``, ``case_of("capture loss", 3, markers="both")``.
"""

from __future__ import annotations

import pytest

from tests.recovery.reading import judge, plain
from tests.truth.cases import Case, case, dimensions_of
from tests.truth.situations import ANYTHING, SITUATIONS, case_of

SEEDS = range(280)
SEEDS_OF_A_SITUATION = range(3)

IN_SITUATIONS = [
    (situation, markers, seed)
    for situation in SITUATIONS
    if situation != ANYTHING
    for markers in ("neither", "both")
    for seed in SEEDS_OF_A_SITUATION
]

ONCE_WRONG: list[tuple[str, int, dict[str, object]]] = [
    # The longest FPDU, after a hole and in the middle of a segment.
    ("capture loss", 8, {"markers": "neither"}),
    # A copy that differs.  It holds a Marker without its reserved half.
    (ANYTHING, 15, {"markers": "neither"}),
    # A row of headers.  The last one has a wrong length.
    (ANYTHING, 555, {}),
    # A Key at the end of a payload.  FPDUs follow it.
    (ANYTHING, 706, {}),
    # A wrong length that spans the place to which a Marker points.
    (ANYTHING, 5591, {"crc": False}),
    # Several wrong lengths, each after a long row.
    (ANYTHING, 6261, {"crc": False}),
    # Garbled octets that were captured before the true ones.
    (ANYTHING, 3174, {}),
]

CUT_SHORT: dict[str, object] = {
    "crc": True,
    "snap": 140,
    "mulpdu": 64,
    "begin": "any point",
    "network": "IPv6 in VLAN",
    "cuts": ("whole FPDUs", "whole FPDUs"),
}

UNANSWERED: dict[str, object] = {"crc": True, "begin": "no SYN", "startup": "Request"}

ONCE_WRONG_SEEDS: list[tuple[int, dict[str, object]]] = [
    # No Reply.  The CRC fields that would show whether CRCs are on were cut off.
    (798992316, {}),
    # Two directions without CRCs and startup frames, each searched for good CRCs first.
    (807377369, {}),
    # The first FPDU after a long stretch that the snap length cut off.
    (302952739, {}),
    # A Key at the end of a payload.  Pad and CRC field, all zeros, make it a Request.
    (50667, {"crc": False}),
    # Markers in rows of many short FPDUs, between payloads that are full of headers.
    (51359, {"crc": False}),
    # A damaged FPDU between good ones, with Markers at unknown places.
    (50341, {}),
    # Octets that repeat, just before a Marker.
    (50449, {"crc": False}),
    # A row of headers.  A forged Marker after it claims their octets.
    (50983, {}),
    # Unused CRC fields 512 octets apart, which read as Markers, and a forged Marker among them.
    (60161, {"crc": False}),
    # A wrong length that hides the Marker in its FPDU.
    (71792, {"crc": False}),
    # Lengths that lead from the end of one payload into the next, and to the start of FPDUs.
    (72790, {"crc": False}),
    # A Key at the end of a payload.  Its header, or FPDUs before it, stand before a hole.
    (73120, {"crc": False}),
    # The same in segments of one octet.
    (91785, {"crc": False}),
    # Good FPDUs in a row between two wrong lengths.  The first leads to the start of an FPDU.
    (101308, {}),
    # Good FPDUs in a row between garbled ones.
    (73623, {}),
    # Cut FPDUs after a Request that wants no Markers.  Its Reply was not captured.
    (83132, {}),
    # Long payloads of headers, and the first FPDU far after the start of the capture.
    (80117, {}),
    # Unused CRC fields 512 octets apart.  Their row is longer than that of Markers above 0.
    (580, {"crc": False, "payload": "text", "begin": "any point", "missing": 0.05}),
    # Markers only in the last FPDUs of a row.
    (892, {"crc": False, "markers": "both", "begin": "any point"}),
    # One whole FPDU among others that were cut.
    (856, {"crc": False, "markers": "both", "begin": "any point"}),
    # Whole FPDUs, but not in the longest row.
    (299, {"crc": False, "damage": "length", "begin": "any point"}),
    # An FPDU with an unknown Marker, and a hole 4 octets before its end.
    (83803, {}),
    # A Key at the first captured octet, and a Marker after it.
    (171, {"crc": False, "damage": "length", "begin": "any point"}),
    # A Key at the end of a payload.  FPDUs of the peer were received before it.
    (103, {"crc": False, "payload": "text", "begin": "any point", "missing": 0.05}),
    # Two rows that a wrong length joins, and Markers in the octets that it spans.
    (446, {"crc": False, "damage": "length", "begin": "any point"}),
    # An unused CRC field and an MSN 512 octets after it, in a few FPDUs without Markers.
    (12093, {"crc": False, "damage": "flip", "mix": "small", "markers": "neither"}),
    # Three of the longest FPDUs in a row, in the middle of an island.
    (90840, {"crc": False}),
    # FPDUs that add up to 512 octets.  Their TOs, after the STags, read as Markers.
    (121646, {}),
    # A Key at the end of a payload in segments of one octet, after a Request without its Reply.
    (132101, {"crc": False, "markers": "both"}),
    # Eight FPDUs with a Marker only in the last.  An unused CRC field after it reads as a Marker.
    (133822, {"crc": False, "begin": "any point"}),
    # A Key and the text after it, which read as a Request with R: at the first captured octet,
    # after a hole, and in small segments.
    (146373, {}),
    # One whole FPDU that lengths lead to, and unknown others.
    (142786, {"crc": False, "begin": "any point"}),
    # Octets that the snap length cut off, taken for Markers of osc.
    (153478, {"crc": False, "begin": "any point"}),
    # Three Markers in the last FPDU of four, the first of them in its header.
    (154387, {"crc": False, "begin": "any point"}),
    # FPDUs that add up to 512 octets, whose MSN reads as a Marker.
    (147832, {"crc": False, "begin": "any point"}),
    # A forged Marker that leads the first FPDU.
    (241455, {}),
    # Forged Markers that lead the longest FPDUs.  A few of these fill nearly a whole island.
    (300540, {"damage": "FPDUPTR", "markers": "both", "startup": "neither"}),
    # Unused CRC fields 512 octets apart, and one Marker with a greater value.
    (290863, {"crc": False, "begin": "any point"}),
    # All captured Markers stand in FPDUs with wrong lengths.
    (412744, {"begin": "any point", "missing": 0.05}),
    # A forged Marker in the middle of an FPDU.  Only the FPDU before it shows where it begins.
    (502941, {"damage": "FPDUPTR", "markers": "both", "startup": "neither"}),
    # A single FPDU.  Its MSN reads as a Marker, and then its header makes no sense.
    (500328, {}),
    # CRC fields 512 octets apart.  The Markers in the middle of the FPDUs were cut off.
    (503591, {"crc": False, "damage": "length", "begin": "any point"}),
    # Text after a Key at the end of a payload, in a segment of its own.
    (703131, {"damage": "FPDUPTR", "markers": "both", "startup": "neither"}),
    # A wrong length that hides its Marker, and one FPDU with a visible Marker.
    (803151, {"crc": True, "damage": "length", "begin": "any point"}),
    # Forged Markers.  Only those of an FPDU with missing octets are true.
    (806482, {"crc": True, "damage": "FPDUPTR", "markers": "both", "begin": "any point"}),
    # A wrong length that spans octets whose first copy differs.
    (851678, {"crc": True, "damage": "length", "begin": "any point"}),
    # A wrong length over a payload full of headers, whose lengths lead to its end.
    (910430, {"crc": True, "damage": "length", "startup": "neither"}),
    # Cut-off octets, among them those that the CRC needs to show where an FPDU ends.
    (921319, {"crc": True, "damage": "length", "begin": "any point"}),
    # Wrong lengths and payloads full of headers.  These must not use up the search allowance.
    (940068, {"crc": True, "damage": "length", "missing": 0.05}),
    # Lengths that lead over holes: octets of the FPDU are missing, or its length is wrong.
    (940805, {"crc": True, "damage": "length", "missing": 0.05, "markers": "both"}),
    # Cut-off octets.  An FPDU is known to begin after them.
    (950755, {"crc": True, "damage": "length", "payload": "header words"}),
    # An FPDU that was cut off.  The number of its Markers is known, but not their places.
    (1025268, {"crc": True, "damage": "length", "payload": "header words"}),
    # MSNs of 12 in consecutive segments of 512 octets.
    (1032403, {"snap": 300}),
    # An MSN that reads as a Marker, in the only FPDU that holds one.  Other Markers were captured
    # in part.
    (1071892, {"begin": "any point", "missing": 0.05}),
    # A wrong length that leads into a hole, before a payload of 2,234 words that read as headers.
    (1200949, {"crc": True, "damage": "length"}),
    # A Terminate's copy of an RDMA Read Request, alone in its segment, after three wrong lengths.
    (2000581, {}),
    # A wrong length that leads into a payload of repeated octets, up to a hole.
    (4002946, {"crc": True, "damage": "length", "missing": 0.05}),
    # Text after a Key at the end of a payload, and a CRC field of zeros that reads as a Marker.
    (5004669, {}),
    # A forged Marker, the only one.  Headers and MOs show where Markers cannot be.
    (5001813, {}),
    # Two rows with Markers at the same places, and a longer one whose wrong lengths hide them.
    (2032882, {}),
    # A wrong length that hides two Markers in the longest row, and a shorter row that has two.
    (9600181, {"crc": False, "begin": "any point", "payload": "text"}),
    # The same, and one more before that row.
    (9702070, {"crc": False, "damage": "length", "markers": "both", "begin": "any point"}),
    # A Key at the end of a payload, before FPDUs whose Markers have another origin.
    (9712714, {"crc": False, "begin": "any point", "payload": "text"}),
    # A few whole FPDUs among others that were cut off.
    (9792852, {"crc": True, "damage": "length", "missing": 0.05}),
    # Lengths lead over FPDUs that were cut off as if there were no Markers.  Others hold Markers.
    (9830099, {**CUT_SHORT, "copies": "overlapping"}),
    # Text after a Key in a Terminate, in segments of one octet, after a Request without its Reply.
    (9890103, {**UNANSWERED, "damage": "length", "markers": "both", "missing": 0.05}),
    # The first FPDU is damaged.  Waiting for known FPDUs used up the search allowance.
    (538171029, {}),
    # Segments of one message, which differ in MO alone.  Unused CRC fields read as Markers, and a
    # true Marker is forged.
    (283273713, {}),
]


_NO_MARKERS = "wrong lengths hide the Markers of a row, so it is read without Markers"
STILL_WRONG = {
    101308: "a wrong length leads to another FPDU, and the FPDUs between are not found",
    171: "the captured octets begin with a Key in a payload, which is read as a startup frame",
    446: _NO_MARKERS,
    806482: "nearly all Markers are forged, and the first FPDU is not found",
    2032882: _NO_MARKERS,
    9600181: _NO_MARKERS,
    9702070: _NO_MARKERS,
}
"""Seeds that are read wrongly, with the cause.  docs/recovery.md states these limits ("What is
known to be wrong")."""


def check(made: Case) -> None:
    """Read a case's capture, and compare what was found with the truth."""
    outcome = judge(made, plain(made.pcap()), with_payload=True)
    assert outcome.is_right, f"{made}\n{outcome}"


@pytest.mark.parametrize(
    "seed",
    [pytest.param(seed, id=f"{seed}: {dimensions_of(seed)}") for seed in SEEDS],
)
def test_all_dimensions_at_once(seed: int) -> None:
    """Cases from the product of all dimensions."""
    check(case(seed))


@pytest.mark.examples
@pytest.mark.parametrize(
    ("situation", "markers", "seed"),
    [pytest.param(*each, id="{}, Markers {}, {}".format(*each)) for each in IN_SITUATIONS],
)
def test_situation(situation: str, markers: str, seed: int) -> None:
    """One situation at a time."""
    check(case_of(situation, seed, markers=markers))


@pytest.mark.parametrize(("situation", "seed", "fixed"), ONCE_WRONG)
def test_once_wrong(situation: str, seed: int, fixed: dict[str, object]) -> None:
    """Seeds that were once read wrongly."""
    check(case_of(situation, seed, **fixed))


@pytest.mark.examples
@pytest.mark.parametrize(
    ("seed", "fixed"),
    [
        # The mark is strict: it fails when a case is read rightly, and then the seed must go.
        pytest.param(
            seed,
            fixed,
            marks=[pytest.mark.xfail(reason=STILL_WRONG[seed])] if seed in STILL_WRONG else [],
        )
        for seed, fixed in ONCE_WRONG_SEEDS
    ],
)
def test_once_wrong_in_all_dimensions(seed: int, fixed: dict[str, object]) -> None:
    """The same for all dimensions, the snap length included."""
    check(case(seed, **fixed))
