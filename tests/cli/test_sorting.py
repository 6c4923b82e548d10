# SPDX-License-Identifier: GPL-2.0-or-later
"""``dissect --sort frame``: the same records, in the order in which their octets were captured."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.capture import walk
from scapy_mpa.cli import sorting
from scapy_mpa.cli.sorting import HELD_NS, Sorter
from tests.captures import PCAPS
from tests.cli.command import LOSSY, Record, records, run

REORDERED = PCAPS / "netem_reorder25_at_client_A.pcap.gz"
TYPES = ("--type", "startup,fpdu,message,gap,error,connection")


def captured(record: Record) -> int:
    """The frame of the record's last octet, or that with which it was found if it has none."""
    return int((record.get("captured") or record)["frame"])


@pytest.mark.parametrize("path", [LOSSY, REORDERED], ids=["lossy", "reordered"])
def test_same_records_in_order(path: Path) -> None:
    """Records of one frame keep their order."""
    found = records(*TYPES, path)
    assert records(*TYPES, "--sort", "frame", path) == sorted(found, key=captured)
    lines = run("dissect", *TYPES, "--sort", "frame", path).stdout.splitlines()
    assert [int(line.split()[0]) for line in lines] == sorted(map(captured, found))


def test_late_records_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A record that is too late stands where it was found, marked ``late``."""
    monkeypatch.setattr(walk, "_ROWS", 1)
    monkeypatch.setattr(sorting, "HELD_OCTETS", 0)
    found = records(*TYPES, "--sort", "frame", LOSSY)
    late = [each.pop("late") for each in found if "late" in each]
    assert late and all(late)
    assert sorted(found, key=str) == sorted(records(*TYPES, LOSSY), key=str)
    text = run("dissect", *TYPES, "--sort", "frame", LOSSY).stdout
    assert len([line for line in text.splitlines() if line.endswith(", late")]) == len(late)


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 4))))
def test_any_order(given: list[tuple[int, int]]) -> None:
    """A text waits for HELD_NS. Each comes once, and in order unless it is late.

    Those of a file wait for its end, also before 1970.
    """
    sorter, out, on_time, now = Sorter(is_live=True), b"", [], 0
    of_file = Sorter(is_live=False)
    for frame, wait in given:
        if not sorter.is_late(frame):
            on_time.append(frame)
        sorter.add(frame, now, bytes([frame]))
        of_file.add(frame, now - 10**18, bytes([frame]))
        assert not of_file.due(now)
        now += wait * HELD_NS // 4
        out += sorter.due(now)
    out += sorter.rest()
    assert sorted(out) == list(of_file.rest()) == sorted(frame for frame, _ in given)
    if len(on_time) == len(given):
        assert list(out) == sorted(on_time)
