# SPDX-License-Identifier: GPL-2.0-or-later
"""Records of real connections are right about their end, copies and stalls.

tshark is the oracle: its Terminates, FINs and RSTs, and its sequence numbers.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.captures import REAL, capture_name
from tests.cli.command import records
from tests.differential.tshark import fields

_FIELDS = (
    *("frame.number", "tcp.stream", "ip.src", "ipv6.src", "tcp.srcport"),
    *("tcp.flags.fin", "tcp.flags.reset", "iwarp_rdma.opcode"),
    *("tcp.seq", "tcp.len", "ip.dst", "ipv6.dst", "tcp.dstport"),
)
_TERMINATE = 7

STALLED = {"netem_loss15_heavy_crcoff_at_server_B": [456]}
"""The frames that ended stalls."""


def ends(shown: list[list[str]]) -> dict[str, tuple[int, str]]:
    """Frame and cause of the end of each connection, by sender.

    The end is the first Terminate, else the first FIN or RST.
    """
    found: dict[str, list[tuple[bool, int, str, str]]] = {}
    for row in shown:
        frame, stream, ipv4, ipv6, port, fin, reset, opcodes, *_ = row
        is_terminate = _TERMINATE in [int(each, 16) for each in opcodes.split(",") if each]
        is_reset = reset in ("1", "True")
        if is_terminate or is_reset or fin in ("1", "True"):
            cause = "terminate" if is_terminate else "reset" if is_reset else "closed"
            sender = f"{ipv4 or f'[{ipv6}]'}:{port}"
            found.setdefault(stream, []).append((not is_terminate, int(frame), cause, sender))
    return {
        sender: (frame, cause) for _, frame, cause, sender in (min(each) for each in found.values())
    }


def captured_again(shown: list[list[str]]) -> dict[tuple[str, str], float]:
    """The share of octets that were captured before, by sender and receiver."""
    seen: dict[tuple[str, str], set[int]] = {}
    sent: Counter[tuple[str, str]] = Counter()
    for row in (each for each in shown if each[8]):
        sender, target = (
            f"{ipv4 or f'[{ipv6}]'}:{port}" for ipv4, ipv6, port in (row[2:5], row[10:13])
        )
        seq, length = map(int, row[8:10])
        seen.setdefault((sender, target), set()).update(range(seq, seq + length))
        sent[sender, target] += length
    return {each: 1 - len(seen[each]) / sent[each] for each in sent if sent[each]}


def connections(path: Path) -> list[dict[str, Any]]:
    """The connections of a capture that carried MPA and were not rejected."""
    return [
        each
        for each in records("--type", "connection", path)
        if each["revision"] is not None and each["end"]["cause"] != "rejected"
    ]


# Each connection of a live capture breaks a rule.  tshark does not find all their Terminates.
PLAIN = [path for path in REAL if not capture_name(path).startswith("live")]


@pytest.mark.parametrize("path", PLAIN, ids=capture_name)
def test_captures(tshark: str, path: Path) -> None:
    """End, share of retransmitted octets, and stalls of each connection.

    In one capture the loss was so high that a sender had to wait for its timeout.
    """
    shown = fields(tshark, path, _FIELDS, "--disable-protocol", "nvme-tcp")
    ours = connections(path)
    known, again = ends(shown), captured_again(shown)
    for each in ours:
        end = each["end"]
        if end["by"] == "capture":
            assert not known
        else:
            assert known[each[end["by"]]] == (end["frame"], end["cause"])
        share, (src, dst) = each["retransmitted_share"], (each["src"], each["dst"])
        assert share["src"] == pytest.approx(again.get((src, dst)))
        assert share["dst"] == pytest.approx(again.get((dst, src)))
    stalls = [each["stall_frame"] for each in ours if each["stalls"]]
    assert stalls == STALLED.get(capture_name(path), [])
