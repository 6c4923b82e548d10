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
def test_capture(path: Path) -> None:
    """Each adaption indication with all of its flags (4.2), and each frame once, with its verdicts;
    what stands in a payload is no frame (5.1, 8)."""
    expected = json.loads(expectation(path).read_text())
    found = records(path)
    role = roles(found)
    indications, frames = [], []
    for record in found:
        if record["type"] == "connection":
            continue
        place = [record["connection"], role[record["connection"], record["src"]]]
        if record["type"] == "adaption_indication":
            flags = sum(record[flag] << shift for flag, shift in SHIFTS.items())
            indications.append([*place, flags, record["vtag"]])
        else:
            assert record["type"] == "ift_frame"
            names = ("seq", "header_size", "payload_size", "vtag", "header_crc", "payload_crc")
            first = record["tagged"] << 7 | record["last"] << 6 | record["ddp_version"]
            control = f"{first:02x}{record['rdmap_version'] << 6 | record['opcode']:02x}"
            frames.append([*place, *(record[name] for name in names), control])
    assert sorted(indications) == sorted(expected["indications"])
    wanted = [[*row[:6], VERDICTS[row[6]], VERDICTS[row[7]], row[8]] for row in expected["frames"]]
    assert sorted(frames) == sorted(wanted)


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
    assert "draft-williams-iwarp-ift-01" in run("summary", "--wide", SPECULATIVE).stdout
    tree = run("dissect", "-V", SPECULATIVE).stdout
    assert "###[ IFT Adaption Indication ]###" in tree
    assert "###[ IFT Frame ]###" in tree and "###[ DDP Tagged ]###" in tree
