# SPDX-License-Identifier: GPL-2.0-or-later
"""Latencies, rates and ``summary --timing``, of Responses whose times are given."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scapy_mpa.cli import timing
from scapy_mpa.craft import Conversation
from scapy_mpa.stream.clock import Clock
from scapy_mpa.stream.events import ConnectionId, MessageRecovered
from scapy_mpa.wire.rdmap_names import Opcode
from tests.cli.command import PCAPS, run


def cells(path: Path) -> list[list[str]]:
    """The lines of the second table, split into cells."""
    table = run("summary", "--timing", path).stdout.partition("\n\n")[2]
    return [line.split() for line in table.splitlines()[1:]]


@pytest.mark.parametrize("count", [1, 2, 20, 100])
def test_percentiles(count: int, tmp_path: Path) -> None:
    """A percentile is the smallest latency that so many per cent do not exceed.

    Read number n takes 100 n + 1003 us, to the second segment of its Response.
    """
    conversation = Conversation()
    for number in range(count):
        conversation.initiator.read(bytes(2000), sink_to=number * 2000)
    now, made, done, ends = 1_700_000_000_000_000, [], 0, []
    for segment in conversation.segments():
        is_done = segment.side == 1 and 100 < len(segment.octets) < 1000
        done += is_done
        now += 100 * done + 3 if is_done else 1000
        made.append(replace(segment, time_ns=now * 1000))
        ends += [now] * is_done
    path = tmp_path / "reads.pcap"
    conversation.write(path, made)
    latencies = [100 * number + 1003 for number in range(1, count + 1)]
    ((number, by, kind, found, *ranks, rate, at_once, unanswered),) = cells(path)
    wanted = [latencies[-(-count * share // 100) - 1] for share in (50, 95, 99, 100)]
    assert (number, by, kind, int(found)) == ("0", "I", "Read", count)
    assert (at_once, unanswered) == ("1", "0")
    assert [float(each) for each in ranks] == wanted
    assert rate == (f"{(count - 1) * 10**6 / (ends[-1] - ends[0]):.0f}" if count > 1 else "-")


def test_no_latencies_to_show() -> None:
    """Without Reads and Atomics, a line says so."""
    text = run("summary", "--timing", PCAPS / "rping_mpa1_crcon.pcap").stdout
    assert text.endswith("\nno Responses to RDMA Reads or Atomics\n")


ANSWER = MessageRecovered(
    *(ConnectionId(0, bytes(12)), 1, 2, 10, Opcode.READ_RESPONSE),
    **{"answers": 1, "request_frame": 1, "captured": 2, "has_last": True, "stag": 1},
)
"""It came in frame 2, and its Request in frame 1."""


@pytest.mark.parametrize(
    ("changes", "most", "why"),
    [
        ({"answers": None, "has_last": False}, 1, "whose Request is not known"),
        ({"conflicts": 1}, 1, "whose segments contradict each other"),
        ({"request_frame": 3}, 1, "whose time is before that of the Request"),
        ({"request_frame": 4}, 1, "whose time is no longer remembered"),
        ({}, 0, "after the first 0"),
    ],
)
def test_responses_left_out(
    changes: dict[str, Any], most: int, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Responses that do not count are reported, those of connections that are shown."""
    monkeypatch.setattr(timing, "_MOST", most)
    clock = Clock()
    for frame in (1, 2, 3):
        clock.note(frame, 10 * frame)
    table = timing.Timing(clock)
    table.take([ANSWER._replace(**changes)] * 2)
    _, row, line = table.lines({0})
    assert row.split()[:4] == ["0", "I?", "Read", "0"]
    assert (row.split()[-1], line) == ("0", f"not counted: 2 Responses {why}")
    assert list(table.lines({1})) == ["no Responses to RDMA Reads or Atomics"]


@pytest.mark.parametrize(
    ("steps", "count"), [("repeat 3 initiator read 100", 3), ("initiator read-request 100", 0)]
)
def test_slowest_of_the_selected_connections(steps: str, count: int, tmp_path: Path) -> None:
    """Only selected connections count. Without a latency the table is left out."""
    path = tmp_path / "reads.pcap"
    run("craft", "-", "-o", path, "--connections", 4, stdin=steps.encode())
    shown = run("summary", "--top", 5, "--where", "connection=2", path).stdout
    rows = [line.split()[0] for line in shown.partition("Latency us")[2].splitlines()[1:]]
    assert rows == ["2"] * count
    assert ("Latency us" in shown) is bool(count)


@pytest.mark.parametrize(
    ("name", "sides"), [("sctp_enhanced", ["I", "R"]), ("ift_speculative", ["I"])]
)
def test_sides_in_other_dialects(name: str, sides: list[str]) -> None:
    """The Initiator is known without startup frames of MPA, too."""
    assert [row[1] for row in cells(PCAPS / "crafted" / f"{name}.pcap")] == sides
