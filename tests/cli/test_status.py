# SPDX-License-Identifier: GPL-2.0-or-later
"""Exit status and standard error for good and bad files."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

from scapy_mpa.craft.scenario import parse_scenario
from tests.capture.build import enhanced, interface, option, section
from tests.cli.command import PROBE, RPING, parsed, process, run
from tests.truth import pcapfile
from tests.truth.walker import read_pcap

COMMANDS = ["dissect", "summary"]

FRAMES = list(read_pcap(RPING))
PCAP_HEADER, RECORD_HEADER = 24, 16


def assert_one_message(stderr: str, *words: str) -> None:
    """Standard error is one line with program, file, error and advice."""
    assert stderr.startswith("scapy-mpa: ")
    assert stderr.count("\n") == 1
    assert stderr.endswith("\n")
    assert "; " in stderr
    for word in words:
        assert word in stderr


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("names", "status"),
    [
        ([RPING], 0),
        ([PROBE], 1),
        ([PROBE, RPING], 1),
        (["no-such-file", PROBE], 2),
    ],
)
def test_exit_status(command: str, names: list[object], status: int) -> None:
    """0 for clean, 1 for findings, 2 for what cannot be read. The highest counts."""
    assert run(command, *names).exit_code == status


@pytest.mark.parametrize("dialect", ["rfc5043", "draft-williams-iwarp-ift-01"])
def test_a_terminate_is_a_finding_in_all_dialects(tmp_path: Path, dialect: str) -> None:
    """Connections of these dialects do not end with it."""
    path = tmp_path / "terminate.pcapng"
    parse_scenario(f"dialect {dialect}\ninitiator terminate 0 0 0").write(path)
    assert run("summary", path).exit_code == 1


def with_number(at: int, number: int) -> bytes:
    """A capture with another 32-bit number at this place."""
    octets = RPING.read_bytes()
    return octets[:at] + struct.pack("<I", number) + octets[at + 4 :]


SECOND = PCAP_HEADER + RECORD_HEADER + len(FRAMES[0])

BAD: dict[str, tuple[bytes, int, list[str]]] = {
    "empty": (b"", 0, ["empty"]),
    "text": (b"GET / HTTP/1.1\r\n", 0, ["not a pcap", "text"]),
    "binary": (bytes(range(256)), 0, ["not a pcap"]),
    "header cut": (RPING.read_bytes()[:11], 0, ["header"]),
    # If no frame has a known link type, nothing could be followed. That is an error.
    "unknown link type": (with_number(20, 147), 0, ["link type 147", "--link-type", "Ethernet"]),
    "cut in a record": (RPING.read_bytes()[:-30], 50, ["after frame 50", "inside a frame"]),
    # An impossible length ends the file there.
    "impossible length": (with_number(SECOND + 8, 0xFFFFFFF0), 1, ["4294967280", "after frame 1"]),
}
"""Files that cannot be read to their end: the number of readable frames, and the words of the
message."""


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", BAD)
def test_bad_files(tmp_path: Path, command: str, name: str) -> None:
    """Readable frames are shown first. Then a line says what is wrong, and after which frame."""
    content, readable, words = BAD[name]
    path, good = tmp_path / "file.pcap", tmp_path / "good.pcap"
    path.write_bytes(content)
    good.write_bytes(pcapfile.pcap(FRAMES[:readable]))
    result, wanted = (run(command, "--json", each) for each in (path, good))
    assert result.exit_code == 2
    assert_one_message(result.stderr, str(path), *words)
    types = [[each["type"] for each in parsed(one.stdout)] for one in (result, wanted)]
    assert types[0] == types[1]


@pytest.mark.parametrize("command", [*COMMANDS, "clean"])
def test_capture_without_frames(tmp_path: Path, command: str) -> None:
    """A capture without frames is reported, but is no error."""
    path = tmp_path / "nothing.pcap"
    path.write_bytes(RPING.read_bytes()[:PCAP_HEADER])
    target = ["-q", "-o", tmp_path / "new.pcapng"] if command == "clean" else []
    result = run(command, path, *target)
    assert result.exit_code == 0
    assert result.stderr == f"scapy-mpa: {path}: there are no frames in it\n"


def test_wrong_options_of_an_interface(tmp_path: Path) -> None:
    """Wrong options of a pcapng interface lose nothing. One line reports them, in every command."""
    path = tmp_path / "odd.pcapng"
    frames = b"".join(map(enhanced, FRAMES))
    path.write_bytes(section() + interface(options=option(14, bytes(4))) * 3 + frames)
    begin = f"scapy-mpa: {path}: at octet 28: an interface is described wrongly ("
    for arguments in (["dissect"], ["summary"], ["clean", "-q", "-o", tmp_path / "new.pcapng"]):
        result = run(*arguments, path)
        assert result.exit_code == 0
        assert result.stderr.startswith(begin)
        assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("links", "words"),
    [
        (range(1000, 1008), "1 link type 1006, 1 link type 1007; if you know"),
        (range(1000, 6000), "1 link type 1007, 4992 for 4992 other reasons; if you know"),
        ([1, *range(1001, 6000)], ", 4992 for 4992 other reasons; capture where"),
    ],
)
def test_many_unknown_link_types(tmp_path: Path, links: Sequence[int], words: str) -> None:
    """The first link types are named, the others counted."""
    path = tmp_path / "many.pcapng"
    described = b"".join(interface(link=link) for link in links)
    frames = b"".join(enhanced(bytes(60), index=index) for index in range(len(links)))
    path.write_bytes(section() + described + frames)
    result = run("summary", path)
    assert_one_message(result.stderr, f"nothing can be followed in {len(links)} frames: ", words)
    assert len(result.stderr) < 400


def test_file_names_with_terminal_controls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such names are escaped, and break no line."""
    monkeypatch.chdir(tmp_path)
    name = "a\nb\x1b[31m.pcap"
    Path(name).write_bytes(RPING.read_bytes())
    for words in (
        ("dissect", "--type", "error", name, RPING),
        ("clean", name, "-o", "out.pcap"),
        ("clean", name, "-o", name),
        ("clean", RPING, "-o", f"{name}/missing"),
        *(("fuzz", "-o", f"x{name}", by, "fuzz/octets/ulpdu") for by in ("--case", "--only")),
    ):
        output = run(*words).output
        assert r"a\nb\x1b[31m.pcap" in output
        assert all(line.isprintable() for line in output.splitlines())


def test_file_name_without_valid_encoding(tmp_path: Path) -> None:
    """A file name need not be valid in any encoding."""
    done = process("dissect", b"caf\xe9.pcap".decode(errors="surrogateescape"), RPING, cwd=tmp_path)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    assert b"no such file" in done.stderr
