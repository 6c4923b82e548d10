# SPDX-License-Identifier: GPL-2.0-or-later
"""Directories and patterns stand for the captures in them, or that match."""

from __future__ import annotations

import errno
import gzip
import os
from pathlib import Path
from unittest.mock import Mock

import pytest

from tests.capture import build
from tests.capture.compressed import COMPRESS
from tests.cli.command import PCAPS, run

RPING = (PCAPS / "rping_mpa2_crcon.pcap").read_bytes()
MIX = (PCAPS / "mix_mpa1_crcon.pcap").read_bytes()
CUT = COMPRESS["xz"](RPING)[:700]

CAPTURES = {
    "a": RPING,
    "b.pcapng": build.section() + build.interface(),
    "c.txt": COMPRESS["bzip2"](MIX),
    "cut": CUT,
    "old": build.pcap(version=(1, 0)),
}
"""Files by name. The last two cannot be read completely."""
OTHERS = {
    "README": b"text",
    "empty.pcap": b"",
    "log.gz": gzip.compress(b"text"),
    "twice.gz": gzip.compress(gzip.compress(RPING)),
}


def filled(directory: Path, files: dict[str, bytes]) -> Path:
    """A directory of these files, with a hidden one, and a capture in a subdirectory."""
    (directory / "below").mkdir()
    for name, octets in {**files, ".hidden.pcap": RPING, "below/x.pcap": RPING}.items():
        (directory / name).write_bytes(octets)
    return directory


@pytest.mark.parametrize("command", ["dissect", "summary"])
def test_directory(tmp_path: Path, command: str) -> None:
    """All captures of a directory are read, sorted by name. Other files are counted."""
    directory = filled(tmp_path, {**CAPTURES, **OTHERS})
    done = run(command, directory)
    named = run(command, *(directory / name for name in sorted(CAPTURES)))
    assert done.stdout == named.stdout
    assert done.stdout.count("==>") == len(CAPTURES) - 1
    others, *rest = done.stderr.splitlines()
    assert others == f"scapy-mpa: {directory}: 4 other files are not read"
    assert rest == named.stderr.splitlines()
    assert done.exit_code == named.exit_code == 2


def test_directory_of_captures_alone(tmp_path: Path) -> None:
    """With captures only, nothing is counted, with or without a slash. Files of a ring are one
    capture."""
    times = [(time, 0, bytes(60), 60) for time in range(3)]
    ring = {f"r_0000{at}.pcap": build.pcap([each]) for at, each in enumerate(times)}
    directory = filled(tmp_path, ring)
    done = run("summary", f"{directory}{os.sep}")
    first = directory / "r_00000.pcap"
    assert done.stdout.splitlines()[0] == f"==> {first}, 3 files of a ring <=="
    assert "other file" not in done.stderr


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "the directory has no capture in it; name a file"),
        (OTHERS, "the directory has no capture in it; name a file"),
        ({"a": RPING, "x": b"text"}, "1 other file is not read"),
    ],
)
def test_other_files_are_counted(tmp_path: Path, files: dict[str, bytes], message: str) -> None:
    """A directory without captures is an error. Other files of the command line are read."""
    directory = filled(tmp_path, files)
    done = run("dissect", "--json", directory, PCAPS / "mix_mpa1_crcon.pcap")
    assert done.stderr == f"scapy-mpa: {directory}: {message}\n"
    assert done.exit_code == (1 if "a" in files else 2)
    assert done.stdout.endswith(run("dissect", "--json", PCAPS / "mix_mpa1_crcon.pcap").stdout[-9:])


PATTERNS = {
    "*.pcap": ["a1.pcap", "a[1].pcap", "b.pcap"],
    "a?.pcap": ["a1.pcap"],
    "[ab].pcap": ["b.pcap"],
    "a[1].pcap": ["a[1].pcap"],
    "*": ["a1.pcap", "a[1].pcap", "b.pcap", "below/x.pcap"],
}
"""The files that each pattern matches. A file with exactly that name comes first."""


@pytest.mark.parametrize("pattern", PATTERNS)
def test_pattern(tmp_path: Path, pattern: str) -> None:
    """A pattern stands for the files that match, sorted, and for the captures of directories
    that match."""
    directory = filled(tmp_path, dict.fromkeys(["b.pcap", "a1.pcap", "a[1].pcap"], RPING))
    done = run("summary", directory / pattern)
    named = run("summary", *(directory / name for name in PATTERNS[pattern]))
    assert (done.stdout, done.stderr, done.exit_code) == (named.stdout, "", 0)


def test_pattern_without_a_match(tmp_path: Path) -> None:
    """A pattern without a match is an error. Other files are still read."""
    done = run("summary", tmp_path / "*.pcap", PCAPS / "mix_mpa1_crcon.pcap")
    assert done.stderr == f"scapy-mpa: {tmp_path / '*.pcap'}: no file matches; check the pattern\n"
    assert done.exit_code == 2
    assert done.stdout == run("summary", PCAPS / "mix_mpa1_crcon.pcap").stdout


def test_directory_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason of the system is shown."""
    refusal = PermissionError(errno.EACCES, "Permission denied")
    monkeypatch.setattr(os, "listdir", Mock(side_effect=refusal))
    message = "the directory cannot be read (Permission denied); name a file"
    done = run("dissect", tmp_path)
    assert (done.stderr, done.exit_code) == (f"scapy-mpa: {tmp_path}: {message}\n", 2)
