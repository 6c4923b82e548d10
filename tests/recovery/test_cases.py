# SPDX-License-Identifier: GPL-2.0-or-later
"""Constructed captures of every kind: what must be found is found, and nothing else is reported.

Each case is a whole capture file, read as the command line reads it. What must be found is what
``tests/truth/findable.py`` derives from the octets. Any
case can be made again by its seed: ``case(17)``, ``case_of("capture loss", 3, markers="both")``.
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
    # The longest FPDU, behind a hole and amid a segment.
    ("capture loss", 8, {"markers": "neither"}),
    # A Marker, but for its reserved half, in a copy that differs.
    (ANYTHING, 15, {"markers": "neither"}),
    # A row of headers whose last one lies.
    (ANYTHING, 555, {}),
    # A Key at the end of a payload, behind which FPDUs follow.
    (ANYTHING, 706, {}),
    # One that claims the place to which a Marker points.
    (ANYTHING, 5591, {"crc": False}),
    # Long rows before each of several lies.
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
    # Without the Reply, and with the CRCs cut off that would tell whether there are any.
    (798992316, {}),
    # Two directions without CRCs and startup frames, each searched for good CRCs first.
    (807377369, {}),
    # The first FPDU after a long stretch that the snap length cut off.
    (302952739, {}),
    # A Key at the end of a payload, which pad and CRC field of zeros make a Request.
    (50667, {"crc": False}),
    # Markers in rows of many short FPDUs, between payloads that are full of headers.
    (51359, {"crc": False}),
    # A damaged FPDU between good ones, where there are Markers and nobody knows where.
    (50341, {}),
    # What repeats itself, right before a Marker.
    (50449, {"crc": False}),
    # A row of headers behind which a forged Marker claims their octets.
    (50983, {}),
    # Unused CRC fields 512 octets apart, which read as Markers; and with a forged Marker amid them.
    (60161, {"crc": False}),
    # A lie that hides the Marker in its FPDU.
    (71792, {"crc": False}),
    # From the end of one payload, lengths that lead into the next and to where FPDUs begin.
    (72790, {"crc": False}),
    # A Key at the end of a payload, whose header, or FPDUs before it, lie before a hole.
    (73120, {"crc": False}),
    # The same in segments of one octet, in which everything stands alone.
    (91785, {"crc": False}),
    # Good ones in a row between two that lie, of which the first leads to where another begins.
    (101308, {}),
    # Good ones in a row between others that were garbled.
    (73623, {}),
    # FPDUs that were cut, behind a Request that wants no Markers, of which no Reply was captured.
    (83132, {}),
    # Long payloads of headers, and the first FPDU far behind where the capture begins.
    (80117, {}),
    # Unused CRC fields 512 octets apart in a longer row than that whose Markers say more than 0.
    (580, {"crc": False, "payload": "text", "begin": "any point", "missing": 0.05}),
    # Markers in but the last FPDUs of a row.
    (892, {"crc": False, "markers": "both", "begin": "any point"}),
    # One whole FPDU among others that were cut.
    (856, {"crc": False, "markers": "both", "begin": "any point"}),
    # Whole ones, but not in the longest row.
    (299, {"crc": False, "damage": "length", "begin": "any point"}),
    # One whose Marker nobody knows of, up to a hole 4 octets before its end.
    (83803, {}),
    # A Key that is the first thing captured, and a Marker behind it.
    (171, {"crc": False, "damage": "length", "begin": "any point"}),
    # A Key at the end of a payload, and FPDUs of the peer that were received before.
    (103, {"crc": False, "payload": "text", "begin": "any point", "missing": 0.05}),
    # Two rows that a lie makes one, and Markers in what it claims.
    (446, {"crc": False, "damage": "length", "begin": "any point"}),
    # An unused CRC field and an MSN 512 octets behind it, in a few FPDUs without Markers.
    (12093, {"crc": False, "damage": "flip", "mix": "small", "markers": "neither"}),
    # Three of the longest in a row, amid an island.
    (90840, {"crc": False}),
    # FPDUs that add up to 512 octets, whose TOs read as Markers behind their STags.
    (121646, {}),
    # A Key at the end of a payload in segments of one octet, behind a Request without its Reply.
    (132101, {"crc": False, "markers": "both"}),
    # Eight without a Marker but for the last one's, behind which an unused CRC field reads as one.
    (133822, {"crc": False, "begin": "any point"}),
    # Text behind a Key, which reads as a Request with R: from the first octet captured, behind a
    # hole, and in small segments.
    (146373, {}),
    # One whole FPDU that lengths lead to, and others of which nobody knows.
    (142786, {"crc": False, "begin": "any point"}),
    # What the snap length cut off, taken for Markers of osc.
    (153478, {"crc": False, "begin": "any point"}),
    # Three Markers in the last FPDU of four, the first of them in its header.
    (154387, {"crc": False, "begin": "any point"}),
    # FPDUs that add up to 512 octets, whose MSN reads as a Marker.
    (147832, {"crc": False, "begin": "any point"}),
    # A forged Marker that leads the first FPDU there is.
    (241455, {}),
    # Forged ones that lead the longest FPDUs, so that nearly all of an island is of a few.
    (300540, {"damage": "FPDUPTR", "markers": "both", "startup": "neither"}),
    # Unused CRC fields 512 octets apart, and one Marker that says more than they do.
    (290863, {"crc": False, "begin": "any point"}),
    # Lies that hold all the Markers that were captured.
    (412744, {"begin": "any point", "missing": 0.05}),
    # A forged Marker amid an FPDU, the place of which only the FPDU before it tells.
    (502941, {"damage": "FPDUPTR", "markers": "both", "startup": "neither"}),
    # One FPDU alone, whose MSN reads as a Marker that leaves its header without sense.
    (500328, {}),
    # CRC fields 512 octets apart, where the Markers amid the FPDUs were cut off.
    (503591, {"crc": False, "damage": "length", "begin": "any point"}),
    # Text behind a Key at the end of a payload, in a segment of its own.
    (703131, {"damage": "FPDUPTR", "markers": "both", "startup": "neither"}),
    # A length that hides its Marker, beside one FPDU of which a Marker is seen.
    (803151, {"crc": True, "damage": "length", "begin": "any point"}),
    # Forged Markers, but for those of an FPDU of which octets are missing.
    (806482, {"crc": True, "damage": "FPDUPTR", "markers": "both", "begin": "any point"}),
    # A lie that claims octets of which a copy that differs was captured first.
    (851678, {"crc": True, "damage": "length", "begin": "any point"}),
    # A lie over a payload full of headers, over which lengths lead to its end.
    (910430, {"crc": True, "damage": "length", "startup": "neither"}),
    # Octets cut off, among them those by which a CRC would tell where an FPDU ends.
    (921319, {"crc": True, "damage": "length", "begin": "any point"}),
    # Liars and payloads full of headers, beside which searches must not spend all they may.
    (940068, {"crc": True, "damage": "length", "missing": 0.05}),
    # Lengths that lead over holes: not all of one is there, or it lies.
    (940805, {"crc": True, "damage": "length", "missing": 0.05, "markers": "both"}),
    # Octets cut off, where an FPDU is known to begin behind them.
    (950755, {"crc": True, "damage": "length", "payload": "header words"}),
    # An FPDU that was cut off, of which it is known how many Markers it holds, but not where.
    (1025268, {"crc": True, "damage": "length", "payload": "header words"}),
    # MSNs of 12, in one segment of 512 octets after the other.
    (1032403, {"snap": 300}),
    # An MSN that reads as a Marker, in the only FPDU that holds one; of other Markers there is a
    # part.
    (1071892, {"begin": "any point", "missing": 0.05}),
    # A lie whose claim reaches into a hole, before a payload of 2,234 words that read as headers.
    (1200949, {"crc": True, "damage": "length"}),
    # What a Terminate copies of an RDMA Read Request, alone in its segment, behind three lies.
    (2000581, {}),
    # A lie that leads into a payload which repeats itself, up to a hole.
    (4002946, {"crc": True, "damage": "length", "missing": 0.05}),
    # Text behind a Key at the end of a payload, and a CRC field of zeros that reads as a Marker.
    (5004669, {}),
    # A forged Marker, the only one there is: headers and MOs tell where it cannot be.
    (5001813, {}),
    # Two rows with Markers in the same places, and a longer one from which lies hide them.
    (2032882, {}),
    # A lie that hides two Markers in the longest row, and a shorter one that has two.
    (9600181, {"crc": False, "begin": "any point", "payload": "text"}),
    # The same, and one more before that row.
    (9702070, {"crc": False, "damage": "length", "markers": "both", "begin": "any point"}),
    # A Key at the end of a payload, before FPDUs whose Markers are counted from elsewhere.
    (9712714, {"crc": False, "begin": "any point", "payload": "text"}),
    # A few whole FPDUs among others that were cut off.
    (9792852, {"crc": True, "damage": "length", "missing": 0.05}),
    # Headers over FPDUs that were cut off lead on without Markers, which lie in others.
    (9830099, {**CUT_SHORT, "copies": "overlapping"}),
    # Text behind a Key in a Terminate, in segments of an octet, behind a Request without its Reply.
    (9890103, {**UNANSWERED, "damage": "length", "markers": "both", "missing": 0.05}),
    # The first FPDU is damaged.  Waiting for what was known spent all that searches may cost.
    (538171029, {}),
]


def check(made: Case) -> None:
    """Read a case's capture, and hold what was found against the truth."""
    outcome = judge(made, plain(made.pcap()), with_payload=True)
    assert outcome.is_right, f"{made}\n{outcome}"


@pytest.mark.parametrize(
    "seed",
    [pytest.param(seed, id=f"{seed}: {dimensions_of(seed)}") for seed in SEEDS],
)
def test_anything_at_once(seed: int) -> None:
    """Somewhere in the product of all dimensions."""
    check(case(seed))


@pytest.mark.examples
@pytest.mark.parametrize(
    ("situation", "markers", "seed"),
    [pytest.param(*each, id="{}, Markers {}, {}".format(*each)) for each in IN_SITUATIONS],
)
def test_situation(situation: str, markers: str, seed: int) -> None:
    """One thing at a time."""
    check(case_of(situation, seed, markers=markers))


@pytest.mark.parametrize(("situation", "seed", "fixed"), ONCE_WRONG)
def test_once_wrong(situation: str, seed: int, fixed: dict[str, object]) -> None:
    """What further seeds have shown."""
    check(case_of(situation, seed, **fixed))


@pytest.mark.examples
@pytest.mark.parametrize(("seed", "fixed"), ONCE_WRONG_SEEDS)
def test_once_wrong_somewhere(seed: int, fixed: dict[str, object]) -> None:
    """The same of all dimensions, the snap length included."""
    check(case(seed, **fixed))
