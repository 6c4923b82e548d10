# SPDX-License-Identifier: GPL-2.0-or-later
"""``summary --timing``: how long Responses took."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from scapy_mpa.craft import Conversation
from tests.captures import PCAPS
from tests.cli.command import records, run


def cells(*arguments: object) -> list[list[str]]:
    """The lines of the second table, split."""
    table = run("summary", "--timing", *arguments).stdout.partition("\n\n")[2]
    return [line.split() for line in table.splitlines()[1:]]


def reads(count: int, directory: Path) -> tuple[Path, list[int]]:
    """RDMA Reads, the nth of which takes n times 100 us and 3 us more; the latencies in us."""
    conversation = Conversation()
    for number in range(count):
        conversation.initiator.read(bytes(100), sink_to=number * 100)
    segments = conversation.segments()
    now, made = 1_700_000_000_000_000, []
    done = 0
    for segment in segments:
        is_response = segment.side == 1 and len(segment.octets) > 100
        done += is_response
        now += 100 * done + 3 if is_response else 1000
        made.append(replace(segment, time_ns=now * 1000))
    path = directory / "reads.pcap"
    conversation.write(path, made)
    return path, [100 * number + 3 for number in range(1, count + 1)]


@pytest.mark.parametrize("count", [1, 2, 20, 100])
def test_percentiles(count: int, tmp_path: Path) -> None:
    """The smallest that so many do not exceed: of a hundred, the 50th, the 95th and the 99th."""
    path, latencies = reads(count, tmp_path)
    assert [
        round(each["latency"] * 1e6)
        for each in records("--type", "message", path)
        if each["latency"] is not None
    ] == latencies
    ((number, kind, found, *ranks, _, at_once, unanswered),) = cells(path)
    wanted = [latencies[-(-count * share // 100) - 1] for share in (50, 95, 99, 100)]
    assert (number, kind, int(found), at_once, unanswered) == ("0", "Read", count, "1", "0")
    assert [float(each) for each in ranks] == wanted


def test_nothing_to_show() -> None:
    """Without Reads and Atomics, a line says so."""
    text = run("summary", "--timing", PCAPS / "rping_mpa1_crcon.pcap").stdout
    assert text.endswith("\nno RDMA Read or Atomic whose Request was captured\n")
