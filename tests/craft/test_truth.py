# SPDX-License-Identifier: GPL-2.0-or-later
"""The dissector reports of a crafted conversation what the conversation says there is."""

from __future__ import annotations

from hypothesis import given

from scapy_mpa.craft import Conversation
from tests.craft.reading import Record, plain, printed
from tests.craft.strategies import conversations


def same(found: list[Record], wanted: list[Record]) -> None:
    """Hold records against the truth, order and order of keys included."""
    for one, other in zip(found, wanted, strict=False):
        assert one == other
        assert list(one) == list(other)
    assert len(found) == len(wanted)


@given(conversations())
def test_conversation(conversation: Conversation) -> None:
    """Every record is the truth, and there are no others, on both ways of reading."""
    frames = conversation.frames()
    same(plain(frames), conversation.truth(messages=True, payload=True))
    same(printed(frames), conversation.truth())
