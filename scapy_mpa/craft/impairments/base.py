# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions that impairments share: chaining, and moving segments."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from types import MappingProxyType
from typing import Final, TypeAlias

from scapy_mpa.craft.segment import Segment
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.tcp import FIN, RST

Impairment: TypeAlias = Callable[[list[Segment], random.Random], list[Segment]]
"""Takes segments in the order of capture and a random generator, and returns a new list."""

MOST: Final = 1 << 32
"""More segments than any list has."""
WORD: Final = 0xFFFFFFFF
SPACING_NS: Final = 1_000
"""Time from the last segment of a capture to one that is added after it, in nanoseconds."""


def impair(
    segments: Iterable[Segment], *impairments: Impairment, seed: int | str = 0
) -> list[Segment]:
    """Return the segments that are captured after all impairments, applied in order.

    :param seed: seed of all random choices: the same seed gives the same segments.
    """
    rng = random.Random(seed)
    impaired = list(segments)
    for impairment in impairments:
        impaired = impairment(impaired, rng)
    return impaired


def refuse_sctp(
    what: str, segments: Iterable[Segment], advice: str = "it has no counterpart: leave it out"
) -> None:
    """Check that segments are of TCP.

    :param what: the impairment, for the error.
    :param advice: what the user can do, for the error.
    :raises LocalProtocolError: they are packets of SCTP.
    """
    if not all(segment.is_tcp for segment in segments):
        raise LocalProtocolError(f"{what} is about TCP, and this is SCTP; {advice}")


def in_places(
    placed: Iterable[tuple[float, Segment]], pauses: Mapping[float, int] = MappingProxyType({})
) -> list[Segment]:
    """Return segments in the order of their places, at times that do not go backwards.

    :param placed: each segment with its place, an index of the list before.  A segment whose place
        is not whole was moved; it is captured halfway between its neighbours.
    :param pauses: nanoseconds by which all segments from a place on are delayed, by that place.
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
    # The time of the segment before, without pauses: times are compared without them.
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
    """Return, for each segment, the index of the segment that ends the turn of its sender.

    A turn ends with the next octets or FIN of the peer, which may be an answer.  A RST of either
    side ends it, too.
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


def delay_acknowledgement(segments: list[Segment], index: int, place: float) -> None:
    """Change earlier acknowledgements of a late segment: its receiver does not have it yet.

    :param segments: the list, which is changed.
    :param index: the index of the segment.
    :param place: the place to which it is moved.
    """
    late = segments[index]
    for at in range(index + 1, round(place + 0.5)):
        segment = segments[at]
        if segment.side != late.side and 0 < (segment.ack - late.seq & WORD) < 1 << 31:
            segments[at] = replace(segment, ack=late.seq)
