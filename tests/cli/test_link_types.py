# SPDX-License-Identifier: GPL-2.0-or-later
"""``--link-type`` and ``--vxlan-port``: how a user names headers."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest

from scapy_mpa.capture.link import RAW_IP
from scapy_mpa.capture.link_types import LINK_TYPES, NAMES
from tests.capture.build import ethernet, ipv4, pcap
from tests.cli.command import ROOT, RPING, run
from tests.truth.walker import read_pcap


def capture_of(path: Path, link: int, frames: list[bytes]) -> Path:
    """A capture of another link type."""
    path.write_bytes(pcap([(at, 0, each, len(each)) for at, each in enumerate(frames)], link=link))
    return path


def fpdus(*arguments: object) -> int:
    """The number of FPDUs listed."""
    result = run("dissect", "--type", "fpdu", *arguments)
    assert result.exit_code in (0, 1), result.stderr
    return len(result.stdout.splitlines())


WAYS = {
    "user0=ethernet": (147, 0),
    "147=1": (147, 0),
    "USER15=Ethernet": (162, 0),
    "user1=linux_sll": (148, -2),
    "ethernet=raw": (1, 14),
    "1=null": (1, 10),
}
"""By option, the link type of the file, and the octets removed from each Ethernet frame."""


@pytest.mark.parametrize("given", WAYS)
def test_link_type_of_the_user_counts(given: str, tmp_path: Path) -> None:
    """Frames are read by the given link type, not by the file's. Other commands accept the
    option, too."""
    link, off = WAYS[given]
    before = {10: b"\2\0\0\0", -2: bytes(14) + b"\x08\0"}
    frames = [(before.get(off, b"") + each[14:]) if off else each for each in read_pcap(RPING)]
    path = capture_of(tmp_path / "given.pcap", link, frames)
    assert fpdus("--link-type", "user7=raw", "--link-type", given, path) == fpdus(RPING) == 35
    for more in ((), ("--decapsulate",)):
        cleaned = tmp_path / f"clean{len(more)}.pcap"
        assert "35 FPDUs" in run("clean", "--link-type", given, path, "-o", cleaned, *more).stderr
        assert fpdus(cleaned) == 35
    plain = run("summary", path)
    assert "192.168.7.1" not in plain.stdout
    assert link == 1 or "--link-type" in plain.stderr


def test_port_of_vxlan(tmp_path: Path) -> None:
    """A given port is VXLAN's. The Ethernet in it is not read by ``--link-type``."""
    vxlan = b"\x08\0\0\0\0\0\7\0"
    frames = [
        ipv4(struct.pack(">HHHH", 1024, 7000, 16 + len(each), 0) + vxlan + each, protocol=17)
        for each in read_pcap(RPING)
    ]
    path = capture_of(tmp_path / "vxlan.pcap", 1, frames)
    given = ("--link-type", "1=raw", "--vxlan-port", 5, "--vxlan-port", 7000, path)
    assert fpdus(*given) == 35
    unread = run("dissect", *given[:4], path)
    assert (unread.exit_code, "--vxlan-port N" in unread.stderr) == (2, True)
    run("clean", *given, "-o", tmp_path / "clean.pcap")
    assert fpdus("--vxlan-port", 7000, tmp_path / "clean.pcap") == 35
    path = capture_of(tmp_path / "outer.pcap", 1, [ethernet(each) for each in frames])
    assert fpdus("--vxlan-port", 7000, path) == 35


def test_link_types_are_named_and_listed() -> None:
    """Each link type that can be read has a name, except two of raw IP. The document lists all."""
    page = (ROOT / "docs" / "limits.md").read_text().partition("## Limits that users set")[0]
    rows = re.findall(r"^\| (`.*?) \| ([\d, alsond()]+) \|", page, re.MULTILINE)
    listed = dict(
        pair
        for names, numbers in rows
        for pair in zip(
            re.findall(r"`([^`]+)`", names),
            map(int, re.findall(r"\d+", re.sub(r"\(.*?\)", "", numbers))),
            strict=False,
        )
    )
    users = {f"user{number}" for number in range(16)}
    assert listed.items() <= NAMES.items()
    assert listed.keys() | users == NAMES.keys()
    assert {NAMES[name] for name in NAMES.keys() - users} == LINK_TYPES - RAW_IP | {101}
