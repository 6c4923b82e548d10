# SPDX-License-Identifier: GPL-2.0-or-later
"""Impairments by the network: it loses, reorders and copies segments."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from scapy_mpa.craft.given import flag, nanoseconds, number, share
from scapy_mpa.craft.impairments.base import MOST, delay_acknowledgement, ends_of_turns, in_places
from scapy_mpa.craft.segment import Segment
from scapy_mpa.stream.segment import SECOND

_DUPLICATES: Final = 3
"""How many segments must arrive after a hole before the sender fills it at once (RFC 5681 3.2)."""

_LONGEST_TIMEOUT: Final = 1000


@dataclass(frozen=True, slots=True)
class Loss:
    """Segments with octets are lost and sent again.

    If at least three more segments follow in the turn of the sender, the lost one is sent again
    after some of these (RFC 5681 3.2).  Else it is sent again after a timeout, which delays all
    later segments.  Until then, the receiver acknowledges only what it has.

    :raises LocalProtocolError: a value is out of range.
    """

    rate: float
    """The share of segments that are lost, 0 to 1."""
    captured: bool = False
    """Lost after the point of capture, so that both copies are captured; else before it."""
    distance: int = 8
    """A lost segment is sent again after this many more segments of the sender at most, from 3."""
    timeout: float = 0.2
    """Timeout in seconds, 0 to 1000."""

    def __post_init__(self) -> None:
        share("a rate", self.rate)
        number("a distance", self.distance, _DUPLICATES, MOST)
        nanoseconds("a timeout", self.timeout, _LONGEST_TIMEOUT)
        flag("captured", self.captured)

    def __call__(self, segments: list[Segment], rng: random.Random) -> list[Segment]:
        ends = ends_of_turns(segments)
        changed = segments[:]
        lost: dict[int, float] = {}
        pauses: dict[float, int] = {}
        for index, segment in enumerate(segments):
            if not segment.octets or rng.random() >= self.rate:
                continue
            later = _later(segments, index, ends[index], self.distance)
            if len(later) >= _DUPLICATES:
                place = later[rng.randint(_DUPLICATES, len(later)) - 1] + 0.5
            else:
                place = ends[index] - 0.5
                pauses[place] = round(self.timeout * SECOND)
            lost[index] = place
            delay_acknowledgement(changed, index, place)
        sent = [
            (index, each)
            for index, each in enumerate(changed)
            if self.captured or index not in lost
        ]
        again = [(place, changed[index]) for index, place in lost.items()]
        return in_places([*sent, *again], pauses)


@dataclass(frozen=True, slots=True)
class Reordering:
    """Segments are overtaken by later ones.

    :raises LocalProtocolError: a value is out of range.
    """

    rate: float
    """The share of segments that are overtaken, 0 to 1."""
    distance: int = 4
    """By how many segments at most, from 1."""
    by_capture: bool = False
    """True: only the capture reorders, segments of any kind and side, as with several capture
    queues.  False: the network lets segments with octets be overtaken by others of the same sender,
    and the receiver acknowledges only what it has."""

    def __post_init__(self) -> None:
        share("a rate", self.rate)
        number("a distance", self.distance, 1, MOST)
        flag("by_capture", self.by_capture)

    def __call__(self, segments: list[Segment], rng: random.Random) -> list[Segment]:
        ends = ends_of_turns(segments)
        changed = segments[:]
        places: dict[int, float] = {}
        for index, segment in enumerate(segments):
            if not (segment.octets or self.by_capture) or rng.random() >= self.rate:
                continue
            if self.by_capture:
                places[index] = index + rng.randint(1, self.distance) + 0.5
                continue
            later = _later(segments, index, ends[index], self.distance)
            if later:
                places[index] = rng.choice(later) + 0.5
                delay_acknowledgement(changed, index, places[index])
        return in_places((places.get(index, index), each) for index, each in enumerate(changed))


@dataclass(frozen=True, slots=True)
class Duplication:
    """Segments of any kind come twice.

    :raises LocalProtocolError: a value is out of range.
    """

    rate: float
    """The share of segments that are copied, 0 to 1."""
    distance: int = 4
    """After how many other segments the copy comes at most, from 0."""

    def __post_init__(self) -> None:
        share("a rate", self.rate)
        number("a distance", self.distance, 0, MOST)

    def __call__(self, segments: list[Segment], rng: random.Random) -> list[Segment]:
        copies = [
            (index + rng.randint(0, self.distance) + 0.5, segment)
            for index, segment in enumerate(segments)
            if rng.random() < self.rate
        ]
        return in_places([*enumerate(segments), *copies])


def _later(segments: Sequence[Segment], index: int, end: int, most: int) -> list[int]:
    """Return the indices of the next segments with octets of the same sender, in the same turn.

    :param most: the most indices to return.
    """
    side = segments[index].side
    found: list[int] = []
    for at in range(index + 1, end):
        if len(found) == most:
            break
        if segments[at].side == side and segments[at].octets:
            found.append(at)
    return found
