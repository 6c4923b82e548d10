# SPDX-License-Identifier: GPL-2.0-or-later
"""``dissect -V``: the layers of each packet below its line."""

from __future__ import annotations

import re

import pytest

from tests.cli.command import PCAPS, run

TERMINATE = PCAPS / "term_sendnorecv.pcap"


def split(text: str) -> list[tuple[str, str]]:
    """Each line with the lines that are indented below it."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith(" " * 8):
            found[-1][1].append(line)
        else:
            found.append((line, []))
    return [(line, "\n".join(below)) for line, below in found]


def test_layers() -> None:
    """The lines are the same; below each startup frame and FPDU stand all its fields."""
    plain = run("dissect", TERMINATE).stdout.splitlines()
    verbose = run("dissect", "-V", TERMINATE)
    assert verbose.exit_code == 1
    shown = split(verbose.stdout)
    assert [line for line, _ in shown] == plain
    request, reply, send, terminate, ended = (below for _, below in shown)
    for startup in (request, reply):
        for name in ("revision", "markers", "crc", "rejected", "pd_length", "ird", "ord"):
            assert re.search(rf" {name} *= ", startup)
    for fpdu in (send, terminate):
        for name in ("ulpdu_length", "crc", "last", "opcode", "qn", "msn", "mo"):
            assert re.search(rf" {name} *= ", fpdu)
    assert ended == ""


@pytest.mark.parametrize(
    "name", ["rping_ipv6_mpa2_crcon.pcap", "live_siw_probe_guest_eth0.pcap.gz"]
)
def test_every_packet_has_layers(name: str) -> None:
    """Packets that break rules are shown like all others."""
    result = run("dissect", "-V", "--type", "startup,fpdu", PCAPS / name)
    assert all(below for _, below in split(result.stdout))
