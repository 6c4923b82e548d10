# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures of OSC's software iWARP: what is reported is what a plain walker found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.captures import OF_OSC, capture_name, expectation
from tests.cli.command import records, run
from tests.truth import oscwalker


def test_there_are_four() -> None:
    """With CRCs and without, of the stack itself and crafted."""
    names = ["osc_markers_crcon", "osc_no_crc_field", "osc", "osc_without_crcs"]
    assert [path.stem for path in OF_OSC] == names


@pytest.mark.parametrize("path", OF_OSC, ids=capture_name)
@pytest.mark.parametrize("forced", [(), ("--dialect", "osc")], ids=["recognised", "forced"])
def test_capture(path: Path, forced: tuple[str, ...]) -> None:
    """Every startup frame and FPDU once, and nothing wrong."""
    expected = oscwalker.walk(path)
    assert json.loads(expectation(path).read_text()) == expected
    found = records("--check", "--payload", *forced, path)
    (connection,) = [each for each in found if each["type"] == "connection"]
    assert (connection["dialect"], connection["errors"], connection["ended"]) == (
        "osc",
        0,
        "closed",
    )
    # Revisions 0 and 1 are OSC's own here, not those of RFC 5044 appendix C.
    assert connection["rnics"] is None
    roles = {connection["initiator"]: "i", connection["responder"]: "r"}
    startup = [
        [each["connection"], each["kind"], each["revision"], each["markers"], each["crc"]]
        for each in found
        if each["type"] == "startup"
    ]
    assert startup == expected["startup"]
    told = [each for each in found if each["type"] == "fpdu"]
    names = ("seq", "ulpdu_length", "markers", "crc", "payload")
    fpdus = [[each["connection"], roles[each["src"]], *map(each.get, names)] for each in told]
    wanted = [[*row[:-1], row[-1][28 if row[-1] >= "8" else 36 :]] for row in expected["fpdus"]]
    assert sorted(fpdus) == sorted(wanted)


@pytest.mark.parametrize("path", OF_OSC, ids=capture_name)
def test_summary_names_it(path: Path) -> None:
    """In the table of connections."""
    assert " osc " in run("summary", "--wide", path).stdout
