# SPDX-License-Identifier: GPL-2.0-or-later
"""Options that say how a capture is read: limits, dialects, link types and ports."""

import re
import struct
from pathlib import Path
from typing import Any

import pytest

from scapy_mpa.capture.link import RAW_IP
from scapy_mpa.capture.link_types import LINK_TYPES, NAMES
from scapy_mpa.cli.summary import summary
from scapy_mpa.craft.scenario import parse_scenario
from scapy_mpa.layers import MPARequest
from scapy_mpa.stream.limits import Limits
from scapy_mpa.wire.errors import LocalProtocolError
from tests.capture.build import ethernet, ipv4, pcap
from tests.cli.command import (
    FIVE_CONNECTIONS,
    PCAPS,
    PROBE,
    ROOT,
    RPING,
    cells,
    parsed,
    records,
    run,
)
from tests.truth.walker import read_pcap

RAISED_BY = "it can be raised by --limit-half, --limit-total or --limit-connections"


def values(*arguments: str) -> list[Any]:
    """The values of the options, in the order of the fields of Limits."""
    context = summary.make_context("test", [*arguments, "file"])
    names = ("half", "total", "connections", "idle")
    return [context.params[f"limit_{name}"] for name in names]


def test_defaults() -> None:
    """The defaults are those of the stream core."""
    assert Limits(*values()) == Limits()


def test_sizes() -> None:
    """Sizes have powers of 1000 and of 1024."""
    sizes = {"1": 1, "1500": 1500, "500k": 500_000, "16M": 16_000_000, "2G": 2_000_000_000}
    sizes |= {"64Ki": 1 << 16, "16Mi": 1 << 24, "1Gi": 1 << 30}
    for text, octets in sizes.items():
        assert values("--limit-half", text, "--limit-total", text)[:2] == [octets] * 2


def test_gaps(tmp_path: Path) -> None:
    """Dropped octets are gaps. They are counted, and the message says what to do."""
    path = tmp_path / "cut.pcap"
    sends = "initiator send 8000\nresponder send 8000\n" * 3
    parse_scenario(f"mss 500\npacking stream\nmulpdu 9000\n{sends}").write(path)
    limited = ("--limit-half", 1000, path)
    found = parsed(run("dissect", "--json", *limited).stdout)
    gaps = [record for record in found if record["type"] == "gap"]
    assert gaps
    assert {record["reason"] for record in gaps} == {"limit"}
    for command in (["dissect"], ["summary"], ["clean", "-q", "-o", tmp_path / "clean.pcapng"]):
        assert run(*command, path).stderr == ""
        result = run(*command, *limited)
        assert result.exit_code == 0
        assert result.stderr == (
            f"scapy-mpa: {path}: {len(gaps)} gaps because of a limit; {RAISED_BY}\n"
        )
    (record,) = parsed(run("summary", "--json", *limited).stdout)
    assert record["gaps"]["src"] + record["gaps"]["dst"] == len(gaps)


@pytest.mark.parametrize("command", ["dissect", "summary"])
def test_connections(command: str) -> None:
    """Connections that a limit ended are reported in the same way."""
    result = run(command, "--json", "--limit-connections", 4, FIVE_CONNECTIONS)
    ended = [each for each in parsed(result.stdout) if each.get("ended") == "limit"]
    assert ended
    assert f"{len(ended)} connection" in result.stderr
    assert RAISED_BY in result.stderr


DRAFT = "draft-ietf-storm-mpa-peer-connect-01"
OF_DRAFT = PCAPS / "crafted" / "draft_rtr_read.pcap"
OF_PEERS = PCAPS / "p2p_rtr_write_crcoff.pcap"


def test_flags_are_shown_by_dialect() -> None:
    """The letters are those of the bits. Their meaning is the dialect's (RFC 6581 9.2)."""
    text = run("dissect", OF_DRAFT).stdout
    assert "flags ABC (peer-to-peer, RTR by Send, RTR by Write)" in text
    text = run("dissect", "--dialect", DRAFT, OF_DRAFT).stdout
    assert "flags ABC (RTR by Send, RTR by Write, RTR by Read)" in text
    assert DRAFT in text and "RTR by Read" in text.splitlines()[-1]
    flags = [record["control_flags"] for record in records("--type", "startup", OF_DRAFT)]
    assert flags == ["ABC", "ABC"]


def test_layer_takes_a_dialect() -> None:
    """The dialect is no part of the octets. A copy of the packet keeps it."""
    request = MPARequest(revision=2, s=1, a=1, c=1, dialect=DRAFT)
    assert bytes(request) == bytes(MPARequest(revision=2, s=1, a=1, c=1))
    assert request.copy().dialect == DRAFT
    shown = request.show(dump=True)
    assert "RTR by zero-length Send" in shown and "RTR by zero-length Read" in shown
    assert "reserved" in MPARequest(revision=2, s=1, d=1, dialect=DRAFT).show(dump=True)
    with pytest.raises(LocalProtocolError):
        MPARequest(dialect="x")


def test_summary() -> None:
    """The table has columns for IRD, ORD and the RTR indication if anything was negotiated."""
    row = cells(OF_PEERS)
    assert (row["IRD"], row["ORD"], row["RTR"]) == ("1/1", "1/1", "write")
    assert "RTR" not in run("summary", "--wide", PCAPS / "mix_mpa1_crcon.pcap").stdout
    row = cells("--dialect", DRAFT, OF_DRAFT)
    assert (row["Dialect"], row["IRD"], row["RTR"]) == (DRAFT, "-/4", "read")


def test_broken_promise_is_marked() -> None:
    """A broken promise is marked in the table, and described in the connection's last line."""
    rows = run("summary", "--wide", PROBE).stdout.splitlines()
    # Not the mark of an open message, which ends the row.
    marked = [row.split()[0] for row in rows if "! " in row]
    assert marked == ["6", "38", "39"]
    text = run("dissect", "--connection", 39, PROBE).stdout
    assert "ORD 8/8, not kept: the first FPDU is no RTR indication (RFC 6581 9.2)" in text


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
