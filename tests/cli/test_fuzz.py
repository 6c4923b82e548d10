# SPDX-License-Identifier: GPL-2.0-or-later
"""``scapy-mpa fuzz``: the corpus, the printed catalogue, and single cases."""

import json
from pathlib import Path

import pytest
from scapy.utils import RawPcapNgReader

from scapy_mpa.craft.mutations import mutations
from scapy_mpa.craft.scenario import parse_scenario
from tests.cli.command import FIVE_CONNECTIONS, PCAPS, parsed, records, run
from tests.cli.test_whole_files import listing

CAPTURE = PCAPS / "rping_ipv6_mpa2_crcon.pcap"
NAME = "rfc5044/4.3/fpduptr-not-pointing"
DIALECTS = "rfc5044", "draft-ietf-storm-mpa-peer-connect-01", "erdma", "osc", "softuiwarp"
"""Dialects that are named for some mutations. Revisions 0 and 1 of rfc5044 otherwise mean osc."""


def comments(path: Path) -> dict[int, str]:
    """The comments of frames in a pcapng file, by number."""
    with RawPcapNgReader(str(path)) as frames:
        every = [metadata.comments for _, metadata in frames]
    return {number: each[0].decode() for number, each in enumerate(every, 1) if each}


@pytest.mark.parametrize("source", [(), ("--from", CAPTURE, "--only", "rfc5041/*")])
def test_whole_corpus(source: tuple[object, ...], tmp_path: Path) -> None:
    """Each listed mutation has a capture, ours and those of a captured connection.

    The manifest says what is wrong in it and where.
    """
    listed = [each["name"] for each in parsed(run("fuzz", *source, "--list", "--json").stdout)]
    target = tmp_path / "new" / "corpus"
    result = run("fuzz", "-o", target, *source)
    assert result.exit_code == 0
    entries = parsed((target / "manifest.jsonl").read_text())
    assert [entry["name"] for entry in entries] == listed
    dialects = {entry["dialect"] for entry in entries}
    assert dialects == ({None} if source else {None, *DIALECTS})
    assert len(listed) > 12 and ({entry["base"] for entry in entries} == {"recorded"}) == bool(
        source
    )
    assert result.stdout.startswith(f"{len(entries)} captures and manifest.jsonl in ")
    assert len({entry["file"] for entry in entries}) == len(entries)
    for entry in entries:
        written = comments(target / entry["file"])
        assert sorted(written) == entry["frames"]
        for comment in written.values():
            assert entry["name"] in comment and entry["breaks"] in comment
            assert (entry["clause"] or "") in comment
            assert entry["expectation"]["text"] in comment


def test_some_mutations_with_several_seeds(tmp_path: Path) -> None:
    """A pattern chooses names. Seeds begin with the given one."""
    run("fuzz", "-o", tmp_path, "--only", "rfc5044/4.4/crc-[sw]*", "--seed", 5, "-n", 3)
    entries = parsed((tmp_path / "manifest.jsonl").read_text())
    assert [(entry["name"], entry["seed"]) for entry in entries] == [
        (f"rfc5044/4.4/crc-{what}", seed) for what in ("wrong", "swapped") for seed in (5, 6, 7)
    ]
    assert len({(tmp_path / entry["file"]).read_bytes() for entry in entries}) == len(entries)


@pytest.mark.parametrize("source", [(), ("--from", CAPTURE)], ids=["ours", "captured"])
def test_single_case_is_made_again(tmp_path: Path, source: tuple[object, ...]) -> None:
    """Name and seed make the same file again, octet for octet. The manifest is neither read nor
    written."""
    name = "fuzz/octets/stream" if source else NAME
    run("fuzz", "-o", tmp_path, *source, "--only", name, "-n", 4)
    before = listing(tmp_path)
    *_, last = parsed((tmp_path / "manifest.jsonl").read_text())
    path = tmp_path / last["file"]
    for force in ((), ("--force",)):
        path.unlink()
        result = run("fuzz", "-o", tmp_path, *source, "--case", name, "--seed", 3, *force)
        assert (result.exit_code, result.stdout) == (0, f"{path}\n")
        assert listing(tmp_path) == before


@pytest.mark.parametrize("others", [0, 1])
def test_fpdus_without_a_whole_header_in_a_captured_connection(tmp_path: Path, others: int) -> None:
    """A peer may send a ULPDU that is shorter than a DDP header (RFC 5041 4.1)."""
    steps = 'strict off\ninitiator fpdu "A@A"\n' + "initiator send 100\n" * others + "close"
    capture = tmp_path / "short.pcap"
    parse_scenario(steps).write(capture)
    target = tmp_path / "corpus"
    result = run("fuzz", "-o", target, "--from", capture, "--only", "fuzz/*", "-n", 3)
    assert (result.exit_code, result.exception) == (0, None)
    names = {entry["name"] for entry in parsed((target / "manifest.jsonl").read_text())}
    assert names
    assert ("fuzz/fields/ulpdu" in names) == bool(others)


def test_damage_of_a_capture_is_reported(tmp_path: Path) -> None:
    """The readable part of a damaged capture is used. The exit status is that of other commands."""
    capture = tmp_path / "cut.pcap"
    capture.write_bytes(CAPTURE.read_bytes()[:-10])
    reported = run("dissect", capture).stderr
    assert reported.startswith(f"scapy-mpa: {capture}: at octet ")
    source = ("--from", capture, "--only", "rfc5041/*")
    results = [run("fuzz", *source, "--list"), run("fuzz", *source, "-o", tmp_path / "corpus")]
    for result in results:
        assert (result.exit_code, result.stderr) == (2, reported)
        assert result.stdout
    assert (tmp_path / "corpus" / "manifest.jsonl").exists()


def test_list_of_mutations() -> None:
    """The catalogue is printed as a table or as JSON."""
    lines = run("fuzz", "--list").stdout.splitlines()
    assert lines[0].split() == ["Name", "Receiver", "What", "is", "wrong"]
    assert [line.split()[0] for line in lines[1:]] == [each.name for each in mutations()]
    entries = parsed(run("fuzz", "--list", "--json", "--only", "rfc7306/*").stdout)
    assert entries and all(entry["clause"].startswith("RFC 7306") for entry in entries)
    (entry,) = parsed(run("fuzz", "--list", "--json", "--case", NAME).stdout)
    assert entry == {
        "name": NAME,
        "clause": "RFC 5044 4.3",
        "breaks": "A Marker does not point to the ULPDU_Length field of the FPDU that it is in.",
        "expectation": {"action": "error", "codes": [3], "terminates": [], "text": "error code 3"},
        "evident": True,
        "reported": True,
        "base": "marked",
    }


def test_connection_of_a_capture(tmp_path: Path) -> None:
    """A connection is mutated by its number."""
    source = ("--from", FIVE_CONNECTIONS, "--connection", 3)
    run("fuzz", "-o", tmp_path, "--case", "fuzz/octets/ulpdu", *source)
    (made,) = records("--type", "connection", tmp_path / "fuzz_octets_ulpdu-0.pcapng")
    wanted = records("--type", "connection", "--connection", 3, FIVE_CONNECTIONS)[0]
    assert made["initiator"] == wanted["initiator"]


def test_captures_that_differ(tmp_path: Path) -> None:
    """Only ``--force`` replaces a capture by another one.  Then no manifest describes the old one.

    Nothing replaces the capture that is mutated.
    """
    own, name = tmp_path / "own.pcap", "fuzz/octets/stream"
    parse_scenario('initiator send "one"\nclose').write(own)
    run("fuzz", "-o", tmp_path, "--only", name)
    (path,) = tmp_path.glob("fuzz*")
    before = listing(tmp_path)
    other = ("fuzz", "-o", tmp_path, "--case", name, "--from")
    result = run(*other, own)
    assert (result.exit_code, listing(tmp_path)) == (2, before)
    assert result.stderr.startswith(f"scapy-mpa: {path}: has other octets; ")
    result = run(*other, path, "--force")
    assert (result.exit_code, listing(tmp_path)) == (2, before)
    assert result.stderr.startswith(f"scapy-mpa: {path}: that is the capture itself; ")
    assert run(*other, own, "--force").exit_code == 0
    assert listing(tmp_path).keys() == {own.name, path.name}
    assert path.read_bytes() != before[path.name]
    result = run("fuzz", "-o", tmp_path, "--only", name)
    assert result.exit_code == 2 and "has other octets" in result.stderr


def test_second_run_into_the_same_directory(tmp_path: Path) -> None:
    """It is refused, unless with ``--force``.  Then the manifest is that of the second run."""
    run("fuzz", "-o", tmp_path, "--only", "rfc5044/4.4/crc-[sw]*")
    before = listing(tmp_path)
    second = ("fuzz", "-o", tmp_path, "--only", "rfc5044/4.4/crc-w*")
    result = run(*second)
    assert result.exit_code == 2
    assert "has the captures of an earlier run" in result.stderr
    assert listing(tmp_path) == before
    assert run(*second, "--force").exit_code == 0
    (entry,) = parsed((tmp_path / "manifest.jsonl").read_text())
    assert listing(tmp_path) == before | {"manifest.jsonl": (json.dumps(entry) + "\n").encode()}
