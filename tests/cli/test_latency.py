# SPDX-License-Identifier: GPL-2.0-or-later
"""Latencies, rates and ``summary --timing``, compared with the times of a conversation's
segments."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from scapy_mpa.craft import CaptureLoss, Conversation, Impairment, Loss, Reordering, impair
from scapy_mpa.craft.script import SegmentItem
from scapy_mpa.craft.segment import Segment
from scapy_mpa.wire.rdmap_names import Opcode
from tests.cli.command import PCAPS, records, run

IMPAIRMENTS: dict[str, tuple[Impairment, ...]] = {
    "none": (),
    "lost before the capture": (Loss(0.02),),
    "lost after the capture": (Loss(0.02, captured=True),),
    "not captured": (CaptureLoss(0.02),),
    "reordered": (Reordering(0.05),),
}


def conversation_of(rng: random.Random, markers: bool) -> Conversation:
    """Reads of many sizes, some while others are outstanding, and Sends between them."""
    conversation = Conversation(markers=markers)
    side = conversation.initiator
    for number in range(80):
        side.read(bytes(rng.choice((0, 1, 100, 1400, 5000, 20_000))), sink_to=number << 16)
        if not number % 3:
            side.send(bytes(rng.randint(0, 3000)))
    return conversation


def expected(conversation: Conversation, segments: list[Segment]) -> dict[str, tuple[int, int]]:
    """By place, the frames with the last octets of each Request and of its Response.

    That is the latest frame of their FPDUs, which must all be captured whole.
    """
    frames: dict[int, int] = {}
    ended = {}
    for piece in conversation.captured(segments):
        item = piece.placed.item
        if isinstance(item, SegmentItem) and item.message and piece.fate == "whole":
            number = item.message.number
            frames[number] = max(frames.get(number, 0), *piece.frames)
            if item.header.last:
                ended[number] = item.message
    return {
        f"0x{message.to:x}": (frames[message.answers.number], frames[number])
        for number, message in ended.items()
        if message.opcode == Opcode.READ_RESPONSE and message.answers.number in ended
    }


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("name", IMPAIRMENTS)
def test_latencies(name: str, markers: bool, tmp_path: Path) -> None:
    """A Read has a latency if both ends were captured, whatever is missing between them.

    The record of a Response names the frame of its Request.
    """
    rng = random.Random(f"{name}{markers}")
    conversation = conversation_of(rng, markers)
    segments = impair(conversation.segments(), *IMPAIRMENTS[name], seed=7)
    path = tmp_path / "reads.pcapng"
    conversation.write(path, segments)
    pairs = expected(conversation, segments)
    times = [segment.time_ns for segment in segments]
    found = {
        f"0x{int(each['sink_to'], 16):x}": (each["request_frame"], round(each["latency"] * 1e9))
        for each in records("--type", "message", path)
        if each["latency"] is not None
    }
    assert len(pairs) > 60 and found == {
        place: (begin, times[end - 1] - times[begin - 1]) for place, (begin, end) in pairs.items()
    }
    if "captured" not in name:
        # It is unknown how long a Request without an answer was outstanding.
        most = max(
            sum(begin <= frame <= end for begin, end in pairs.values())
            for frame, _ in pairs.values()
        )
        ends = sorted(times[end - 1] for _, end in pairs.values())
        rate = (len(ends) - 1) * 10**9 / (ends[-1] - ends[0])
        *_, row = run("summary", "--timing", path).stdout.splitlines()
        assert row.split()[2] == "80" and row.split()[-3:] == [f"{rate:.0f}", str(most), "0"]


def test_outstanding_requests(tmp_path: Path) -> None:
    """Five Requests are outstanding at once, and one gets no Response."""
    conversation = Conversation(strict=False)
    for number in range(5):
        conversation.initiator.read_request(100, sink_to=number << 16)
    for _ in range(4):
        conversation.responder.read_response(bytes(100))
    conversation.close()
    path = tmp_path / "outstanding.pcap"
    conversation.write(path)
    *_, row = run("summary", "--timing", path).stdout.splitlines()
    assert row.split()[-2:] == ["5", "1"]


def cells(path: Path) -> list[list[str]]:
    """The lines of the second table, split into cells."""
    table = run("summary", "--timing", path).stdout.partition("\n\n")[2]
    return [line.split() for line in table.splitlines()[1:]]


@pytest.mark.parametrize("count", [1, 2, 20, 100])
def test_percentiles(count: int, tmp_path: Path) -> None:
    """A percentile is the smallest latency that so many per cent do not exceed.

    Read number n takes 100 n + 3 us.
    """
    conversation = Conversation()
    for number in range(count):
        conversation.initiator.read(bytes(100), sink_to=number * 100)
    now, made, done = 1_700_000_000_000_000, [], 0
    for segment in conversation.segments():
        is_response = segment.side == 1 and len(segment.octets) > 100
        done += is_response
        now += 100 * done + 3 if is_response else 1000
        made.append(replace(segment, time_ns=now * 1000))
    path = tmp_path / "reads.pcap"
    conversation.write(path, made)
    latencies = [100 * number + 3 for number in range(1, count + 1)]
    ((number, kind, found, *ranks, _, at_once, unanswered),) = cells(path)
    wanted = [latencies[-(-count * share // 100) - 1] for share in (50, 95, 99, 100)]
    assert (number, kind, int(found), at_once, unanswered) == ("0", "Read", count, "1", "0")
    assert [float(each) for each in ranks] == wanted


def test_no_latencies_to_show() -> None:
    """Without Reads and Atomics, a line says so."""
    text = run("summary", "--timing", PCAPS / "rping_mpa1_crcon.pcap").stdout
    assert text.endswith("\nno RDMA Read or Atomic whose Request was captured\n")


@pytest.mark.parametrize(
    ("steps", "count"), [("repeat 3 initiator read 100", 3), ("initiator read-request 100", 0)]
)
def test_slowest_of_the_selected_connections(steps: str, count: int, tmp_path: Path) -> None:
    """Only selected connections count. Without a latency the table is left out."""
    scenario, path = tmp_path / "reads.mpa", tmp_path / "reads.pcap"
    scenario.write_text(steps)
    run("craft", scenario, "-o", path, "--connections", 4)
    shown = run("summary", "--top", 5, "--where", "connection=2", path).stdout
    rows = [line.split()[0] for line in shown.partition("Latency us")[2].splitlines()[1:]]
    assert rows == ["2"] * count
    assert ("Latency us" in shown) is bool(count)
