# SPDX-License-Identifier: GPL-2.0-or-later
"""End to end: ``dissect --json`` prints what an independent walker finds in real captures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.captures import OF_OSC, OVER_IFT, OVER_TCP, capture_name, expectation
from tests.cli.command import PCAPS, Record, records, run
from tests.truth import oscwalker

INVALID_STARTUP_FRAME = 4


def roles(found: list[Record]) -> dict[tuple[int, str], str]:
    """The role of each connection's endpoints: ``i`` or ``r``."""
    ends = [record for record in found if record["type"] == "connection"]
    return {
        (record["connection"], record[endpoint]): role
        for record in ends
        for endpoint, role in (("src", "i"), ("dst", "r"))
    }


def rows(found: list[Record], kind: str, names: str) -> list[list[Any]]:
    """The records of a type as the walkers have them: connection, role of the sender, values."""
    role = roles(found)

    def values(record: Record) -> Iterator[Any]:
        for value in map(record.get, names.split()):
            yield int(value) if isinstance(value, bool) else value

    return [
        [each["connection"], role[each["connection"], each["src"]], *values(each)]
        for each in found
        if each["type"] == kind
    ]


def whole_private_data(record: Record) -> str:
    """The Private Data field in hexadecimal, enhanced data included (RFC 6581 9)."""
    if not record["enhanced"]:
        return str(record["private_data"])
    a, b, c, d = (letter in record["control_flags"] for letter in "ABCD")
    words = a << 15 | b << 14 | record["ird"], c << 15 | d << 14 | record["ord"]
    return f"{words[0]:04x}{words[1]:04x}{record['private_data']}"


@pytest.mark.parametrize("path", OVER_TCP, ids=capture_name)
def test_capture(path: Path) -> None:
    """Every FPDU is reported once, with verdict and headers, and so are startup frames and
    connections."""
    expected = json.loads(expectation(path).read_text())
    found = records(path)
    headers = "seq ulpdu_length crc tagged last ddp_version rdmap_version opcode"
    assert sorted(rows(found, "fpdu", headers), key=repr) == sorted(expected["fpdus"], key=repr)
    for each in found:
        if each["type"] == "startup":
            each["private_data"] = whole_private_data(each)
    startup = []
    names = "kind revision markers crc rejected pd_length private_data"
    for number, by, kind, *values in rows(found, "startup", names):
        in_place = kind in {"i": ("request", "rtr"), "r": ("reply",)}[by]
        if in_place and len(values[-1]) == 2 * values[-2]:
            startup.append([number, kind, *values])
        else:
            # The walker lists only what is whole and in its place. The rest is an error.
            assert (number, INVALID_STARTUP_FRAME) in {
                (each["connection"], each.get("code")) for each in found
            }
    assert sorted(startup, key=repr) == sorted(expected["startup"], key=repr)
    ends = [each["connection"] for each in found if each["type"] == "connection"]
    assert sorted(ends) == list(range(expected["connections"]))
    assert rows(found, "gap", "seq") == [hole[:3] for hole in expected["holes"]]


SPECULATIVE = PCAPS / "crafted" / "ift_speculative.pcap"
SHIFTS = {
    name: 31 - place
    for place, name in enumerate(["ph", "r", "hc", "pc", "ih", "ip", "sp", "sm", "rm"])
}
VERDICTS = {True: "good", False: "bad", None: "off"}


@pytest.mark.parametrize("path", OVER_IFT, ids=capture_name)
def test_ift_capture(path: Path) -> None:
    """Each adaption indication has all its flags (4.2), each frame is found once with its verdicts.

    A frame within a payload is no frame (5.1, 8).
    """
    expected = json.loads(expectation(path).read_text())
    found = records(path)
    for each in found:
        if each["type"] == "adaption_indication":
            each["flags"] = sum(each[flag] << shift for flag, shift in SHIFTS.items())
        elif each["type"] == "ift_frame":
            first = each["tagged"] << 7 | each["last"] << 6 | each["ddp_version"]
            second = each["rdmap_version"] << 6 | each["opcode"]
            each["control"] = f"{first:02x}{second:02x}"
    assert {each["type"] for each in found} <= {"adaption_indication", "ift_frame", "connection"}
    indications = rows(found, "adaption_indication", "flags vtag")
    assert sorted(indications) == sorted(expected["indications"])
    names = "seq header_size payload_size vtag header_crc payload_crc control"
    wanted = [[*row[:6], VERDICTS[row[6]], VERDICTS[row[7]], row[8]] for row in expected["frames"]]
    assert sorted(rows(found, "ift_frame", names)) == sorted(wanted)


def test_ift_layers() -> None:
    """``-V`` shows the layers, and the table names the dialect."""
    assert "draft-williams-iwarp-ift-01" in run("summary", "--wide", SPECULATIVE).stdout
    tree = run("dissect", "-V", SPECULATIVE).stdout
    assert "###[ IFT Adaption Indication ]###" in tree
    assert "###[ IFT Frame ]###" in tree and "###[ DDP Tagged ]###" in tree


@pytest.mark.parametrize("path", OF_OSC, ids=capture_name)
@pytest.mark.parametrize("forced", [(), ("--dialect", "osc")], ids=["recognised", "forced"])
def test_osc_capture(path: Path, forced: tuple[str, ...]) -> None:
    """Every startup frame and FPDU is reported once, without an error."""
    expected = oscwalker.walk(path)
    assert json.loads(expectation(path).read_text()) == expected
    found = records("--check", "--payload", *forced, path)
    (connection,) = [each for each in found if each["type"] == "connection"]
    state = [connection[name] for name in ("dialect", "errors", "ended")]
    assert state == ["osc", 0, "closed"]
    # Revisions 0 and 1 are OSC's own here, not those of RFC 5044 appendix C.
    assert connection["rnics"] is None
    startup = rows(found, "startup", "kind revision markers crc")
    assert [[number, *values] for number, _, *values in startup] == expected["startup"]
    wanted = [[*row[:-1], row[-1][28 if row[-1] >= "8" else 36 :]] for row in expected["fpdus"]]
    fpdus = rows(found, "fpdu", "seq ulpdu_length markers crc payload")
    assert sorted(fpdus) == sorted(wanted)
