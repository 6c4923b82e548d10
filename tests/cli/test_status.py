# SPDX-License-Identifier: GPL-2.0-or-later
"""Exit status and standard error for good and bad files, and for faults of the toolkit."""

import re
import struct
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

from scapy_mpa.craft.scenario import parse_scenario
from scapy_mpa.stream.halves import intake
from scapy_mpa.stream.ordinary_connection import OrdinaryConnection
from tests.capture.build import enhanced, interface, option, section
from tests.cli.command import PROBE, RPING, parsed, process, run
from tests.stream.talk import TRUTH, whole
from tests.truth import pcapfile
from tests.truth.walker import read_pcap

COMMANDS = ["dissect", "summary"]

FRAMES = list(read_pcap(RPING))
PCAP_HEADER, RECORD_HEADER = 24, 16


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("names", "status"),
    [([RPING], 0), ([PROBE], 1), ([PROBE, RPING], 1), (["no-such-file", PROBE], 2)],
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


OTHERS = "4992 for 4992 other reasons"
WRONG = interface(options=option(14, bytes(4))) * 3
"""Interfaces with an option of a wrong length."""


def of_links(links: Sequence[int]) -> bytes:
    """A capture with a frame of each of these link types."""
    described = b"".join(interface(link=link) for link in links)
    frames = b"".join(enhanced(bytes(60), index=index) for index in range(len(links)))
    return section() + described + frames


SECOND = PCAP_HEADER + RECORD_HEADER + len(FRAMES[0])
PCAPNG_FRAMES = b"".join(map(enhanced, FRAMES))

BAD: dict[str, tuple[bytes, int, str]] = {
    "empty": (b"", 0, "the file is empty; "),
    "text": (b"GET / HTTP/1.1\r\n", 0, "not a pcap .*; "),
    "binary": (bytes(range(256)), 0, "not a pcap .*; "),
    "header cut": (RPING.read_bytes()[:11], 0, "inside its header; "),
    # If no frame has a known link type, nothing could be followed. That is an error.
    "unknown link type": (with_number(20, 147), 0, "link type 147; .*--link-type .*Ethernet"),
    "8 link types": (
        of_links(range(1000, 1008)),
        0,
        "nothing can be followed in 8 frames: .* 1006, 1 link type 1007; if",
    ),
    "5000 link types": (
        of_links(range(1000, 6000)),
        0,
        f"nothing can be followed in 5000 frames: .* 1007, {OTHERS}; if you",
    ),
    "one known link type": (
        of_links([1, *range(1001, 6000)]),
        0,
        f"nothing can be followed in 5000 frames: .*{OTHERS}; capture where",
    ),
    "cut in a record": (RPING.read_bytes()[:-30], 50, "after frame 50: .*inside a frame; "),
    # An impossible length ends the file there.
    "wrong length": (with_number(SECOND + 8, 0xFFFFFFF0), 1, "after frame 1: .* 4294967280 .*; "),
}
"""Files that cannot be read to their end: the number of readable frames, and the message."""
ODD = {
    "no frames": (RPING.read_bytes()[:PCAP_HEADER], 0, "there are no frames in it\n"),
    "wrong options": (section() + WRONG + PCAPNG_FRAMES, len(FRAMES), "octet 28: an interface is "),
}
"""Files that have an error, but can be read to their end: the same."""


@pytest.mark.parametrize("name", [*BAD, *ODD])
def test_bad_files(tmp_path: Path, name: str) -> None:
    """Readable frames are shown first. Then one line says what is wrong, and after which frame."""
    content, readable, message = {**BAD, **ODD}[name]
    path, good = tmp_path / "file.pcap", tmp_path / "good.pcap"
    path.write_bytes(content)
    good.write_bytes(pcapfile.pcap(FRAMES[:readable]))
    for command in (["dissect"], ["summary"], ["clean", "-q", "-o", tmp_path / "new.pcapng"]):
        result = run(*command, path)
        assert result.exit_code == (2 if name in BAD else 0)
        assert re.match(f"scapy-mpa: {path}: .*{message}", result.stderr)
        assert result.stderr.endswith("\n") and result.stderr.count("\n") == 1
        assert len(result.stderr) < 400
        if command[0] != "clean":
            shown = [parsed(run(*command, "--json", each).stdout) for each in (path, good)]
            assert len({str([each["type"] for each in records]) for records in shown}) == 1


@pytest.mark.usefixtures("here")
def test_file_names_with_terminal_controls() -> None:
    """Such names are escaped, and break no line."""
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


@pytest.mark.parametrize(
    ("where", "name"), [(OrdinaryConnection, "take_octets"), (intake, "receive")]
)
def test_fault_fails_only_its_connection(
    where: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of the toolkit fails only the connection that shows it, which is reported once.

    The rest of that connection is ignored. The other connection is reported whole.
    """
    taken = getattr(where, name)

    def take(taker: Any, what: Any, *rest: Any) -> object:
        # A segment, or the octets of a direction.
        flow = what.flow if where is intake else taker.identity.flow
        if (rest or what.payload) and (40000).to_bytes(2, "big") in flow:
            raise IndexError("made for this test")
        return taken(taker, what, *rest)

    monkeypatch.setattr(where, name, take)
    odd, regular = whole().segments, whole().segments
    if where is intake:
        # The SYN comes twice, so recovery takes the connection.
        odd.insert(0, odd[0])
    sides = pcapfile.frames(odd), pcapfile.frames(regular, ports=(40001, 4000))
    path = tmp_path / "fault.pcap"
    path.write_bytes(pcapfile.pcap([each for turn in zip_longest(*sides) for each in turn if each]))
    for source in (path, "-"):
        found = run("dissect", "--json", source, stdin=path.read_bytes())
        assert found.exit_code == 1
        records = parsed(found.stdout)
        (error,) = (each for each in records if each["type"] == "error")
        assert "IndexError('made for this test')" in error["text"]
        ends = {each["connection"]: each for each in records if each["type"] == "connection"}
        assert len(ends) == 2
        assert ends[error["connection"]]["ended"] == "failed"
        (other,) = ends.keys() - {error["connection"]}
        fpdus = [each["connection"] for each in records if each["type"] == "fpdu"]
        assert fpdus.count(other) == 2 * len(TRUTH)
