# SPDX-License-Identifier: GPL-2.0-or-later
"""End to end: what ``dissect --json`` prints of real captures is what a plain walker found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.captures import OVER_TCP, PCAPS, capture_name, expectation
from tests.cli.command import Record, records, run

INVALID_STARTUP_FRAME = 4


def roles(found: list[Record]) -> dict[tuple[int, str], str]:
    """Who is who: connection and endpoint to ``i`` or ``r``."""
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
    """Every FPDU once, with its verdict and headers; every startup frame; every connection."""
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
            # The walker lists only what is whole and where it must be; the rest is an error.
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


def test_linux_siw_echoes_s() -> None:
    """S in Request and Reply of revision 1, and no Rtr Frame: RFC 5044, and nothing is wrong."""
    found = records("--connection", "11", PCAPS / "live_siw_probe_guest_eth0.pcap.gz")
    startups = [each for each in found if each["type"] == "startup"]
    assert [(each["revision"], each["s"]) for each in startups] == [(1, True), (1, True)]
    assert [each["dialect"] for each in found if "dialect" in each] == ["rfc5044"] * 3
    assert "fpdu" in {each["type"] for each in found}
    assert "error" not in {each["type"] for each in found}


def test_a_request_that_was_never_finished() -> None:
    """RFC 5044 7.1.2 rule 10: siw waits for the last octet of a header, and then closes."""
    found = records("--connection", "34", PCAPS / "live_siw_probe_guest_eth0.pcap.gz")
    (wrong,) = [each for each in found if each["type"] == "error"]
    assert wrong["code"] == 1
    assert "closed 19 octets into a startup frame (RFC 5044 7.1.2 rule 10)" in wrong["text"]


@pytest.mark.examples
@pytest.mark.parametrize("path", OVER_TCP, ids=capture_name)
def test_every_way_of_showing_a_capture_agrees(path: Path) -> None:
    """A line for each record; the connection records of both commands; the same exit status."""
    as_json = run("dissect", "--json", path)
    text = run("dissect", path)
    summary = run("summary", "--json", path)
    table = run("summary", "--all", "--wide", path)
    first, *lines, last = as_json.stdout.splitlines()
    assert len(lines) == text.stdout.count("\n")
    ends = [line for line in lines if '"type":"connection"' in line]
    assert summary.stdout.splitlines() == [first, *ends, last]
    assert len(table.stdout.splitlines()) == len(ends) + 1
    assert {each.exit_code for each in (as_json, text, summary, table)} == {
        int('"type":"error"' in as_json.stdout or '"cause":"terminate"' in as_json.stdout)
    }
