# SPDX-License-Identifier: GPL-2.0-or-later
"""End to end: ``dissect --json`` prints what an independent walker finds in real captures."""

from __future__ import annotations

import json
from pathlib import Path

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
    role = roles(found)

    fpdus = [
        [
            record["connection"],
            role[record["connection"], record["src"]],
            record["seq"],
            record["ulpdu_length"],
            record["crc"],
            *(
                None if record[name] is None else int(record[name])
                for name in ("tagged", "last", "ddp_version", "rdmap_version", "opcode")
            ),
        ]
        for record in found
        if record["type"] == "fpdu"
    ]
    assert sorted(fpdus, key=repr) == sorted(expected["fpdus"], key=repr)

    wrong = {
        record["connection"]
        for record in found
        if record["type"] == "error" and record["code"] == INVALID_STARTUP_FRAME
    }
    startup = []
    for record in found:
        if record["type"] != "startup":
            continue
        data = whole_private_data(record)
        by = role[record["connection"], record["src"]]
        in_place = record["kind"] in {"i": ("request", "rtr"), "r": ("reply",)}[by]
        if in_place and len(data) == 2 * record["pd_length"]:
            startup.append(
                [
                    record["connection"],
                    record["kind"],
                    record["revision"],
                    *(int(record[name]) for name in ("markers", "crc", "rejected")),
                    record["pd_length"],
                    data,
                ]
            )
        else:
            # The walker lists only what is whole and in its place. The rest is an error.
            assert record["connection"] in wrong
    assert sorted(startup, key=repr) == sorted(expected["startup"], key=repr)

    ends = [record["connection"] for record in found if record["type"] == "connection"]
    assert sorted(ends) == list(range(expected["connections"]))

    gaps = [
        [record["connection"], role[record["connection"], record["src"]], record["seq"]]
        for record in found
        if record["type"] == "gap"
    ]
    assert gaps == [hole[:3] for hole in expected["holes"]]


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
    rows = [each for each in found if each["type"] == "fpdu"]
    names = ("seq", "ulpdu_length", "markers", "crc", "payload")
    fpdus = [[each["connection"], roles[each["src"]], *map(each.get, names)] for each in rows]
    wanted = [[*row[:-1], row[-1][28 if row[-1] >= "8" else 36 :]] for row in expected["fpdus"]]
    assert sorted(fpdus) == sorted(wanted)
