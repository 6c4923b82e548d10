# SPDX-License-Identifier: GPL-2.0-or-later
"""Conversations of iWARP Framing for TCP: what was crafted is what is dissected."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.craft import IFTConversation, IndicationItem, Segment
from tests.craft.reading import Record, plain
from tests.craft.strategies import framed_conversations
from tests.craft.test_impaired import Impairment, copy, cut_up, keep, lose, reorder

UNTOLD = {"frame", "time", "timestamp", "located_by", "out_of_order", "placed"}
"""What depends on when a frame is found."""

SHUFFLES: tuple[Impairment, ...] = (keep, copy, reorder, cut_up)
"""After these every octet is there."""


def frames_of(records: list[Record]) -> list[Record]:
    """The frames, without what depends on when they are found."""
    return [
        {name: value for name, value in record.items() if name not in UNTOLD}
        for record in records
        if record["type"] in ("ift_frame", "adaption_indication")
    ]


def by_place(records: list[Record]) -> list[Record]:
    """Records in the order of their streams."""
    return sorted(records, key=lambda record: (record["src"], record["seq"]))


@pytest.mark.parametrize("impair", SHUFFLES)
@given(conversation=framed_conversations(), seed=st.integers(0, 1 << 20))
def test_whatever_order(impair: Impairment, conversation: IFTConversation, seed: int) -> None:
    """In whatever order segments come, as long as all do, each frame is found, once (6)."""
    segments = impair(conversation.segments(), random.Random(seed))
    records = plain(conversation.frames(segments))
    assert by_place(frames_of(records)) == by_place(
        frames_of(conversation.truth(segments, payload=True))
    )
    assert not [record for record in records if record["type"] in ("error", "gap")]


def with_holes(conversation: IFTConversation, seed: int, more: Impairment) -> list[Segment]:
    """Segments of which some are missing, but neither the handshake nor an indication."""
    rng = random.Random(seed)
    segments = conversation.segments()
    items = conversation.captured(segments)
    begin = max(max(each.frames) for each in items if isinstance(each.placed.item, IndicationItem))
    return segments[:begin] + more(lose(segments[begin:], rng), rng)


@pytest.mark.parametrize("crcs", [True, False])
@given(data=st.data(), seed=st.integers(0, 1 << 20), more=st.sampled_from(SHUFFLES))
def test_behind_holes(crcs: bool, data: st.DataObject, seed: int, more: Impairment) -> None:
    """Of what has header CRCs every frame that is whole is found; nothing is that is not there."""
    conversation = data.draw(framed_conversations(hc=crcs))
    segments = with_holes(conversation, seed, more)
    records = plain(conversation.frames(segments))
    found = by_place(frames_of(records))
    wanted = by_place(frames_of(conversation.truth(segments, payload=True)))
    assert found == (wanted if crcs else [each for each in wanted if each in found])
    assert not [record for record in records if record["type"] == "error"]
