# SPDX-License-Identifier: GPL-2.0-or-later
"""Latencies and rates, against what follows from the times of a conversation's own segments."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from scapy_mpa.craft import CaptureLoss, Conversation, Impairment, Loss, Reordering, impair
from scapy_mpa.craft.script import SegmentItem
from scapy_mpa.craft.segment import Segment
from scapy_mpa.wire.rdmap_names import Opcode
from tests.cli.command import records, run

IMPAIRMENTS: dict[str, tuple[Impairment, ...]] = {
    "none": (),
    "lost before the capture": (Loss(0.02),),
    "lost behind it": (Loss(0.02, captured=True),),
    "not captured": (CaptureLoss(0.02),),
    "reordered": (Reordering(0.05),),
}


def conversation_of(rng: random.Random, markers: bool) -> Conversation:
    """Reads of many sizes, some of them while others are outstanding, and Sends between them."""
    conversation = Conversation(markers=markers)
    side = conversation.initiator
    for number in range(120):
        side.read(bytes(rng.choice((0, 1, 100, 1400, 5000, 20_000))), sink_to=number << 16)
        if not number % 3:
            side.send(bytes(rng.randint(0, 3000)))
    return conversation


def expected(conversation: Conversation, segments: list[Segment]) -> dict[str, tuple[int, int]]:
    """The frames of the last octet of each Request and of that of its Response, by its place: of
    the one that was captured last of those in FPDUs that were captured whole."""
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
    """What both ends of were captured has its latency, whatever is missing between them."""
    rng = random.Random(f"{name}{markers}")
    conversation = conversation_of(rng, markers)
    segments = impair(conversation.segments(), *IMPAIRMENTS[name], seed=7)
    path = tmp_path / "reads.pcapng"
    conversation.write(path, segments)
    pairs = expected(conversation, segments)
    times = [segment.time_ns for segment in segments]
    wanted = {place: times[end - 1] - times[begin - 1] for place, (begin, end) in pairs.items()}
    found = {
        f"0x{int(each['sink_to'], 16):x}": round(each["latency"] * 1e9)
        for each in records("--type", "message", path)
        if each["latency"] is not None
    }
    assert len(wanted) > 100 and found == wanted
    if "captured" not in name:
        # Of a Request without an answer, nobody knows how long it was outstanding.
        most = max(
            sum(begin <= frame <= end for begin, end in pairs.values())
            for frame, _ in pairs.values()
        )
        ends = sorted(times[end - 1] for _, end in pairs.values())
        rate = (len(ends) - 1) * 10**9 / (ends[-1] - ends[0])
        *_, row = run("summary", "--timing", path).stdout.splitlines()
        assert row.split()[2] == "120" and row.split()[-3:] == [f"{rate:.0f}", str(most), "0"]


def test_outstanding_requests(tmp_path: Path) -> None:
    """Five at one time, of which one gets no Response."""
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
