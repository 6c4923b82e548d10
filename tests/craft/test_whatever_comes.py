# SPDX-License-Identifier: GPL-2.0-or-later
"""Segments of small conversations in any order, with any octets altered: nothing fails."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.craft import Conversation, Segment
from tests.craft.reading import plain, printed
from tests.craft.small import pieces

PRIVATE = st.sampled_from((b"", bytes(7), b"MPA ID Req Frame\x40\x01\0\0", bytes(200)))
STREAMING = st.sampled_from((b"x", b"login\r\n", b"MPA ID Re", b"MPA ID Rep Frame", bytes(400)))
PAYLOADS = st.sampled_from((b"", b"x", bytes(range(200)), b"\x00\x12\x41\x43" * 150))


@st.composite
def conversations(draw: st.DrawFn) -> Conversation:
    """A small conversation, perhaps one that the standards forbid."""
    options: dict[str, Any] = {
        "revision": draw(st.sampled_from((0, 1, 2))),
        "markers": (draw(st.booleans()), draw(st.booleans())),
        "crc": (draw(st.booleans()), draw(st.booleans())),
        "packing": draw(st.sampled_from(("aligned", "packed", "stream"))),
        "mss": draw(st.sampled_from((128, 1460))),
        "handshake": draw(st.booleans()),
    }
    conversation = Conversation(strict=False, **options)
    steps = ("octets", "startup", "rejection", "send", "write", "read")
    for step in [*draw(st.lists(st.sampled_from(steps), max_size=3)), "startup", "send"]:
        side = conversation.sides[draw(st.integers(0, 1))]
        if step == "octets":
            side.octets(draw(STREAMING))
        elif step in ("startup", "rejection"):
            is_rejected = step == "rejection"
            conversation.startup(draw(PRIVATE), draw(PRIVATE), rejected=is_rejected)
        elif step == "send":
            side.send(draw(PAYLOADS))
        elif step == "write":
            side.write(draw(PAYLOADS))
        else:
            side.read(draw(PAYLOADS), 1, 2, 3, 4)
    if draw(st.booleans()):
        conversation.close(draw(st.integers(0, 1)))
    return conversation


@st.composite
def captures(draw: st.DrawFn, conversation: Conversation) -> list[Segment]:
    """Its segments in any order: divided, altered, lost, copied or cut off."""
    segments: list[Segment] = []
    for segment in conversation.segments():
        size = len(segment.octets)
        places = st.integers(1, size - 1) if size > 1 else st.nothing()
        segments += pieces(segment, *sorted(draw(st.sets(places, max_size=2 * (size > 1)))))
    fewer = draw(st.lists(st.sampled_from(segments), max_size=3))
    segments = [each for each in segments if each not in fewer]
    segments += draw(st.lists(st.sampled_from(segments), max_size=3)) if segments else []
    for _ in range(draw(st.integers(0, 3)) if segments else 0):
        index = draw(st.integers(0, len(segments) - 1))
        octets = bytearray(segments[index].octets)
        if octets:
            octets[draw(st.integers(0, len(octets) - 1))] = draw(st.integers(0, 255))
        segments[index] = replace(segments[index], octets=bytes(octets))
    if draw(st.booleans()):
        segments = draw(st.permutations(segments))
    elif segments:
        moved = segments.pop(draw(st.integers(0, len(segments) - 1)))
        segments.insert(draw(st.integers(0, len(segments))), moved)
    if draw(st.integers(0, 3)) == 0:
        length = draw(st.integers(1, 60))
        segments = [
            replace(each, captured=length) if len(each.octets) > length else each
            for each in segments
        ]
    return [replace(each, time_ns=number * 1000) for number, each in enumerate(segments)]


@given(st.data(), conversations())
def test_nothing_fails(data: st.DataObject, conversation: Conversation) -> None:
    """Neither way of reading raises, or reports an FPDU twice."""
    frames = list(conversation.frames(data.draw(captures(conversation))))
    for records in (plain(frames), printed(frames)):
        places = Counter(
            (each["connection"], each["src"], each["seq"])
            for each in records
            if each["type"] == "fpdu"
        )
        assert not [place for place, count in places.items() if count > 1]


def test_a_request_in_the_hole_before_an_fpdu() -> None:
    """An FPDU after a hole is reported once, though the hole held a Request."""
    conversation = Conversation(strict=False)
    conversation.startup()
    conversation.startup()
    for octets in (b"one", b"two", b"three"):
        conversation.initiator.send(octets)
    sent = [each for each in conversation.segments() if each.octets]
    request, reply, again, answer, one, two, three = sent
    head, tail = pieces(two, len(two.octets) - 6)
    frames = conversation.frames([request, reply, head, three, tail, again, answer, one])
    records = plain(frames)
    assert "failed" not in [each.get("ended") for each in records]
    found = sorted(each["seq"] for each in records if each["type"] == "fpdu")
    assert found == [each.seq for each in (one, two, three)]
