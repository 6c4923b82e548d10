# SPDX-License-Identifier: GPL-2.0-or-later
"""The sources of truth agree with the published examples and the captures."""

from __future__ import annotations

import json
import pathlib
import struct
from collections import Counter

import pytest

from tests.captures import CRAFTED, OVER_IFT, OVER_TCP, PCAPS, REAL, capture_name, expectation
from tests.truth import iftwalker, walker
from tests.truth.mpastream import Damage, TrueFPDU, build_stream

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

# The published examples -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("control", "first", "second"),
    [
        ("4143", "52239983", "84925898"),  # RFC 5044, figures 5 and 6
        ("4003", "4c86b384", "a19cd103"),  # draft-ietf-rddp-mpa-01, 5.2: both versions 0
    ],
)
def test_published_fpdus(control: str, first: str, second: str) -> None:
    """Figures 5 and 6 of RFC 5044 and of the draft before it, octet by octet."""
    head = bytes.fromhex(control)
    figure5 = head + struct.pack(">IIII", 0, 0, 1, 0) + bytes(24)
    stream, truth = build_stream([figure5], markers=True)
    assert stream == bytes.fromhex("00000000 002a") + figure5 + bytes.fromhex(first)
    assert truth == [TrueFPDU(0, 4, 0x34, 42, figure5, 1, True)]

    # A first FPDU of 492 octets with its leading marker: a ULPDU of 482.
    figure6 = head + struct.pack(">IIII", 0, 0, 2, 0) + bytes(24)
    stream, truth = build_stream([bytes(482), figure6], markers=True)
    assert truth[1] == TrueFPDU(0x1EC, 0x1EC, 0x220, 42, figure6, 1, True)
    expected = bytes.fromhex("002a") + figure6[:18] + bytes.fromhex("00000014") + figure6[18:]
    assert stream[0x1EC:] == expected + bytes.fromhex(second)


# The walker and the captures ----------------------------------------------------------------------


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
