# SPDX-License-Identifier: GPL-2.0-or-later
"""What impairments have in common: how they are chained, and how segments change places."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from types import MappingProxyType
from typing import Final, TypeAlias

from scapy_mpa.craft.segment import Segment
from scapy_mpa.stream.segment import FIN, RST

Impairment: TypeAlias = Callable[[list[Segment], random.Random], list[Segment]]
"""Takes segments in the order in which they are captured, and chance; changes neither list nor
segments."""

MOST: Final = 1 << 32
"""More segments than any list has."""
WORD: Final = 0xFFFFFFFF
SPACING_NS: Final = 1_000
"""From the last segment of a capture to one that is put after it, in nanoseconds."""


def impair(
    segments: Iterable[Segment], *impairments: Impairment, seed: int | str = 0
) -> list[Segment]:
    """Return what is captured of ``segments`` after one impairment after the other.

    :param seed: of all that is left to chance: the same one gives the same octets.
    """
    rng = random.Random(seed)
    impaired = list(segments)
    for impairment in impairments:
        impaired = impairment(impaired, rng)
    return impaired


def settled(
    placed: Iterable[tuple[float, Segment]], pauses: Mapping[float, int] = MappingProxyType({})
) -> list[Segment]:
    """Return segments in their places, at times that do not go backwards.

    :param placed: each after its place, an index of the list as it was.  Whatever is between two of
        them was moved, and is captured halfway between its neighbours.
    :param pauses: by place, by how many nanoseconds everything from there on comes later.
    """
    ordered = sorted(placed, key=itemgetter(0))
    waits = sorted(pauses.items(), reverse=True)
    upcoming: list[int | None] = []
    following: int | None = None
    for place, segment in reversed(ordered):
        upcoming.append(following)
        if not place % 1:
            following = segment.time_ns
    out: list[Segment] = []
    # Before any pause: so the neighbours of what was moved are, too.
    before: int | None = None
    delay = 0
    for (place, segment), after in zip(ordered, reversed(upcoming), strict=True):
        while waits and waits[-1][0] <= place:
            delay += waits.pop()[1]
        time_ns = segment.time_ns
        if place % 1:
            if before is None:
                time_ns = time_ns if after is None else min(time_ns, after)
            else:
                time_ns = before + SPACING_NS if after is None else (before + after) // 2
        before = time_ns
        out.append(replace(segment, time_ns=time_ns + delay))
    return out


def ends_of_turns(segments: Sequence[Segment]) -> list[int]:
    """Return, for each segment, the index of the one that ends the turn of its sender.

    A turn ends with the next octets or FIN of the other side, which may be an answer.  A RST of
    either side ends it, too.
    """
    ends = [len(segments), len(segments)]
    found = [0] * len(segments)
    for index in range(len(segments) - 1, -1, -1):
        segment = segments[index]
        found[index] = ends[segment.side]
        if segment.flags & RST:
            ends = [index, index]
        elif segment.octets or segment.flags & FIN:
            ends[1 - segment.side] = index
    return found


def acknowledge_less(segments: list[Segment], index: int, place: float) -> None:
    """Have the receiver of a segment that comes late not acknowledge it before.

    :param segments: changed in place.
    :param index: of the segment.
    :param place: where it comes.
    """
    late = segments[index]
    for at in range(index + 1, round(place + 0.5)):
        segment = segments[at]
        if segment.side != late.side and 0 < (segment.ack - late.seq & WORD) < 1 << 31:
            segments[at] = replace(segment, ack=late.seq)
