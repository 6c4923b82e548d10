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
from tests.cli.command import records

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


def expected(conversation: Conversation, segments: list[Segment]) -> dict[str, int]:
    """Nanoseconds from the last octet of each Request to that of its Response, by its place: to the
    one that was captured last of those in FPDUs that were captured whole."""
    frames: dict[int, int] = {}
    ended = {}
    for piece in conversation.captured(segments):
        item = piece.placed.item
        if isinstance(item, SegmentItem) and item.message and piece.fate == "whole":
            number = item.message.number
            frames[number] = max(frames.get(number, 0), *piece.frames)
            if item.header.last:
                ended[number] = item.message
    times = {number: segments[frame - 1].time_ns for number, frame in frames.items()}
    return {
        f"0x{message.to:x}": times[number] - times[message.answers.number]
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
    wanted = expected(conversation, segments)
    found = {
        f"0x{int(each['sink_to'], 16):x}": round(each["latency"] * 1e9)
        for each in records("--type", "message", path)
        if each["latency"] is not None
    }
    assert len(wanted) > 100 and found == wanted
