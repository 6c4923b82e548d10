# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures of iWARP Framing for TCP: what is reported is what a plain walker found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.captures import OVER_IFT, capture_name, expectation
from tests.cli.command import PCAPS, records, run
from tests.cli.test_captures import roles

SPECULATIVE = PCAPS / "crafted" / "ift_speculative.pcap"
SHIFTS = {
    name: 31 - place
    for place, name in enumerate(["ph", "r", "hc", "pc", "ih", "ip", "sp", "sm", "rm"])
}
VERDICTS = {True: "good", False: "bad", None: "off"}


@pytest.mark.parametrize("path", OVER_IFT, ids=capture_name)
def test_indications(path: Path) -> None:
    """Each adaption indication, with all of its flags (4.2)."""
    expected = json.loads(expectation(path).read_text())
    found = records(path)
    role = roles(found)
    told = [
        [
            record["connection"],
            role[record["connection"], record["src"]],
            sum(record[flag] << shift for flag, shift in SHIFTS.items()),
            record["vtag"],
        ]
        for record in found
        if record["type"] == "adaption_indication"
    ]
    assert sorted(told) == sorted(expected["indications"])


@pytest.mark.parametrize("path", OVER_IFT, ids=capture_name)
def test_frames(path: Path) -> None:
    """Each frame once, with its verdicts; what stands in a payload is no frame (5.1, 8)."""
    expected = json.loads(expectation(path).read_text())
    found = records(path)
    role = roles(found)
    told = []
    for record in found:
        if record["type"] == "ift_frame":
            first = record["tagged"] << 7 | record["last"] << 6 | record["ddp_version"]
            told.append(
                [
                    record["connection"],
                    role[record["connection"], record["src"]],
                    *(record[key] for key in ("seq", "header_size", "payload_size", "vtag")),
                    record["header_crc"],
                    record["payload_crc"],
                    f"{first:02x}{record['rdmap_version'] << 6 | record['opcode']:02x}",
                ]
            )
    wanted = [[*row[:6], VERDICTS[row[6]], VERDICTS[row[7]], row[8]] for row in expected["frames"]]
    assert sorted(told) == sorted(wanted)
    assert not [record for record in found if record["type"] in ("error", "gap")]


def test_8_speculative_placement() -> None:
    """The capture shows frames in order, and two that came before others, in the stream's order."""
    found = [record for record in records(SPECULATIVE) if record["type"] == "ift_frame"]
    placed = [record["placed"] for record in found]
    assert (placed.count("speculative"), set(placed)) == (2, {"speculative", "in order"})
    for side in {record["src"] for record in found}:
        offsets = [record["offset"] for record in found if record["src"] == side]
        assert offsets == sorted(offsets)


def test_lines_and_layers() -> None:
    """The listing tells of flags, VTags and placement; -V shows the layers."""
    text = run("dissect", SPECULATIVE).stdout
    assert "Adaption indication phase 0 RDMA HC PC SP VTag 0x1a2b" in text
    assert text.count("placed speculatively, seq") == 2
    assert "draft-williams-iwarp-ift-01" in run("summary", SPECULATIVE).stdout
    tree = run("dissect", "-V", SPECULATIVE).stdout
    assert "###[ IFT Adaption Indication ]###" in tree
    assert "###[ IFT Frame ]###" in tree and "###[ DDP Tagged ]###" in tree
