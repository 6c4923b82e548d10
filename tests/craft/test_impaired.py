# SPDX-License-Identifier: GPL-2.0-or-later
"""The truth of segments that were lost, copied, reordered or cut."""

from __future__ import annotations

import random
from dataclasses import replace

from scapy_mpa.craft import Duplication, Impairment, Overlap, Reordering, Resegmentation, Segment
from scapy_mpa.craft.scenario import parse_scenario
from scapy_mpa.wire.tcp import FIN, SYN
from tests.stream.crafted import of

LEFT_OUT = {"frame", "time", "timestamp", "located_by", "out_of_order", "offset"}


def keep(segments: list[Segment], rng: random.Random) -> list[Segment]:
    """Only the times change."""
    return [replace(segment, time_ns=segment.time_ns + 1000) for segment in segments]


def lose(segments: list[Segment], rng: random.Random) -> list[Segment]:
    """Some segments were not captured."""
    return [each for each in segments if each.flags & (SYN | FIN) or rng.random() < 0.8]


reorder = Reordering(0.3, distance=2, by_capture=True)

IMPAIRMENTS: tuple[Impairment, ...] = (
    keep,
    lose,
    reorder,
    Duplication(0.3),
    Resegmentation(60),
    Overlap(0.5, differing=True),
)


def test_keys_left_out() -> None:
    """The truth leaves out the keys that depend on the order of segments, and no others."""
    conversation = parse_scenario('initiator send "one"\ninitiator send "two"')
    segments = conversation.segments()
    whole = of(conversation.truth(), "fpdu")
    for impaired in ([*segments, segments[-2]], segments[5:]):
        found = of(conversation.truth(impaired), "fpdu")
        assert [set(one) - set(other) for one, other in zip(whole, found, strict=True)] == [
            LEFT_OUT
        ] * 2


def test_times_are_no_impairment() -> None:
    """If all segments come later by the same time, only the timestamps of the truth differ."""
    conversation = parse_scenario('initiator send "one"')
    segments = [replace(each, time_ns=each.time_ns + 7) for each in conversation.segments()]
    before, after = conversation.truth(), conversation.truth(segments)
    assert [{**each, "timestamp": 0} for each in after] == [
        {**each, "timestamp": 0} for each in before
    ]
