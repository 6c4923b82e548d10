# SPDX-License-Identifier: GPL-2.0-or-later
"""The dissector reports of a crafted conversation what the conversation says there is."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from scapy_mpa.craft import Conversation, conversation_of
from tests.craft.reading import Record, inlined, plain
from tests.craft.strategies import conversations


def same(found: list[Record], wanted: list[Record]) -> None:
    """Hold records against the truth, order and order of keys included."""
    for one, other in zip(found, wanted, strict=False):
        assert one == other
        assert list(one) == list(other)
    assert len(found) == len(wanted)


@settings(max_examples=150, deadline=None)
@given(conversations())
def test_conversation(conversation: Conversation) -> None:
    """Every record is the truth, and there are no others, on both ways of reading."""
    frames = conversation.frames()
    same(plain(frames), conversation.truth(messages=True, payload=True))
    same(inlined(frames), conversation.truth())


@pytest.mark.parametrize("name", ["osc", "osc-without-crcs", "softuiwarp"])
def test_what_only_startup_frames_tell(name: str) -> None:
    """How a vendor lays out its FPDUs is known behind both startup frames, captured in order: else
    nothing is told, and with them all there is."""
    conversation = conversation_of(name, seed=1)
    segments = conversation.segments()
    request, reply = (n for n, each in enumerate(segments) if each.octets.startswith(b"MPA ID"))
    behind = [*segments[: reply + 1], *segments[reply + 2 :]]
    assert any(each["type"] == "fpdu" for each in conversation.truth(behind))
    for without in (request, reply):
        assert conversation.truth(segments[:without] + segments[without + 1 :]) == []
    segments[request], segments[reply] = segments[reply], segments[request]
    assert conversation.truth(segments) == []
