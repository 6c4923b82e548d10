# SPDX-License-Identifier: GPL-2.0-or-later
"""``scapy-mpa fuzz``: the corpus, the catalogue in print, a case once more."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from scapy_mpa.craft.mutations import mutations
from tests.cli.command import PCAPS, parsed, run

CAPTURE = PCAPS / "rping_ipv6_mpa2_crcon.pcap"
NAME = "rfc5044/4.3/fpduptr-not-pointing"


def comments(path: Path) -> dict[int, str]:
    """The comments of frames in a pcapng file, by number (draft-ietf-opsawg-pcapng 4.3)."""
    octets = path.read_bytes()
    found = {}
    at = number = 0
    while at < len(octets):
        kind, length = struct.unpack_from("<II", octets, at)
        if kind == 6:
            number += 1
            (captured,) = struct.unpack_from("<I", octets, at + 20)
            option = at + 28 + (captured + 3 & ~3)
            if option < at + length - 4:
                code, size = struct.unpack_from("<HH", octets, option)
                assert code == 1
                found[number] = octets[option + 4 : option + 4 + size].decode()
        at += length
    return found


def test_the_whole_corpus(tmp_path: Path) -> None:
    """There is a capture of each mutation, and the manifest says what is wrong in it and where."""
    result = run("fuzz", "-o", tmp_path / "new" / "corpus")
    assert result.exit_code == 0
    entries = parsed((tmp_path / "new" / "corpus" / "manifest.jsonl").read_text())
    assert [entry["name"] for entry in entries] == [mutation.name for mutation in mutations()]
    assert result.stdout.startswith(f"{len(entries)} captures and manifest.jsonl in ")
    assert len({entry["file"] for entry in entries}) == len(entries)
    for entry in entries:
        written = comments(tmp_path / "new" / "corpus" / entry["file"])
        assert sorted(written) == entry["frames"]
        for comment in written.values():
            assert entry["name"] in comment and entry["breaks"] in comment
            assert (entry["clause"] or "") in comment
            assert entry["expectation"]["text"] in comment


def test_some_of_them_several_times(tmp_path: Path) -> None:
    """Names are chosen by a pattern, seeds begin with the one that is given."""
    run("fuzz", "-o", tmp_path, "--only", "rfc5044/4.4/crc-[sw]*", "--seed", 5, "-n", 3)
    entries = parsed((tmp_path / "manifest.jsonl").read_text())
    assert [(entry["name"], entry["seed"]) for entry in entries] == [
        (f"rfc5044/4.4/crc-{what}", seed) for what in ("wrong", "swapped") for seed in (5, 6, 7)
    ]
    assert len({(tmp_path / entry["file"]).read_bytes() for entry in entries}) == len(entries)


@pytest.mark.parametrize("source", [(), ("--from", CAPTURE)], ids=["ours", "captured"])
def test_a_case_once_more(tmp_path: Path, source: tuple[object, ...]) -> None:
    """Name and seed make the same file again, octet for octet, and leave the manifest alone."""
    name = "fuzz/octets/stream" if source else NAME
    run("fuzz", "-o", tmp_path / "one", *source, "-n", 4)
    result = run("fuzz", "-o", tmp_path / "two", *source, "--case", name, "--seed", 3)
    (path,) = (tmp_path / "two").iterdir()
    assert result.stdout == f"{path}\n"
    assert path.read_bytes() == (tmp_path / "one" / path.name).read_bytes()


def test_captured_connection(tmp_path: Path) -> None:
    """What was captured is fuzzed: its addresses and most of its FPDUs are there."""
    run("fuzz", "-o", tmp_path, "--from", CAPTURE, "-n", 5)
    entries = parsed((tmp_path / "manifest.jsonl").read_text())
    assert {entry["name"].split("/")[0] for entry in entries} == {"fuzz"}
    assert len(entries) == 5 * len({entry["name"] for entry in entries})
    counts = []
    for entry in entries:
        result = run("dissect", "--json", tmp_path / entry["file"])
        records = parsed(result.stdout)
        assert "[fd00:7::1]:51060" in {record["src"] for record in records}
        counts.append(sum(record["type"] == "fpdu" for record in records))
    assert max(counts) >= 33


def test_the_list() -> None:
    """The catalogue is printed as a table, or for machines."""
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
        "base": "marked",
    }
    json.dumps(entry)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "say where the captures go"),
        (("-o", "x", "--json"), "--json goes with --list"),
        (("--list", "--only", "nothing*"), "no mutation has a name like 'nothing*'"),
        (("-o", "x", "--case", "nothing"), "there is no mutation 'nothing'"),
        (("-o", "x", "--from", "not there"), "there is no such file"),
        (("-o", "x", "--from", PCAPS / "listener_absent.pcap"), "no connection with startup"),
        (("-o", "x", "--from", CAPTURE, "--only", "rfc*"), "with --from, --list shows which there"),
        (("-o", "x", "--case", NAME, "--only", "rfc*"), "--case names one mutation"),
    ],
)
def test_what_is_wrong_is_said(
    arguments: tuple[object, ...], words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A wrong command line ends with status 2 and one line that says what to do."""
    monkeypatch.chdir(tmp_path)
    result = run("fuzz", *arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert not list(tmp_path.iterdir())


def test_nowhere_to_write(tmp_path: Path) -> None:
    """A directory that cannot be made is named."""
    (tmp_path / "file").touch()
    result = run("fuzz", "-o", tmp_path / "file" / "below")
    assert result.exit_code == 2
    assert "cannot be written" in result.stderr
