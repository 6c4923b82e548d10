# SPDX-License-Identifier: GPL-2.0-or-later
"""The sources of truth agree with the captures.  ``tests/wire`` has the published FPDUs."""

from __future__ import annotations

import json
import pathlib
from collections import Counter

import pytest

from tests.captures import CRAFTED, OVER_IFT, OVER_TCP, PCAPS, REAL, capture_name, expectation
from tests.truth import iftwalker, walker
from tests.truth.mpastream import Damage, build_stream

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
