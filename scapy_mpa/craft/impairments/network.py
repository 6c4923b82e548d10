# SPDX-License-Identifier: GPL-2.0-or-later
"""What a network does to segments: it loses, delays and copies them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from scapy_mpa.craft.given import flag, nanoseconds, number, share
from scapy_mpa.craft.impairments.base import (
    MOST,
    acknowledge_less,
    ends_of_turns,
    settled,
)
from scapy_mpa.craft.segment import Segment
from scapy_mpa.stream.segment import SECOND

_DUPLICATES: Final = 3
"""How many segments must arrive after a hole before the sender fills it at once (RFC 5681 3.2)."""

_LONGEST_TIMEOUT: Final = 1000


@dataclass(frozen=True, slots=True)
class Loss:
    """Segments with octets are lost and sent again.

    If the sender sends three more segments before the receiver says anything, the lost one is sent
    again after some of these (RFC 5681 3.2).  Else it is sent after a timeout, which delays all
    that comes later.  Meanwhile the receiver acknowledges no more than it has.

    :raises LocalProtocolError: a value is out of range.
    """

    rate: float
    """The share of segments that is lost, 0 to 1."""
    captured: bool = False
    """Lost after the point of capture, so that both copies are captured; else before it."""
    distance: int = 8
    """After how many more segments of the sender a lost one is sent again at most, from 3."""
    timeout: float = 0.2
    """Seconds until a segment is sent again that nothing else tells of, 0 to 1000."""

    def __post_init__(self) -> None:
        share("a rate", self.rate)
        flag("captured", self.captured)
        number("a distance", self.distance, _DUPLICATES, MOST)
        nanoseconds("a timeout", self.timeout, _LONGEST_TIMEOUT)

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
            acknowledge_less(changed, index, place)
        sent = [
            (index, each)
            for index, each in enumerate(changed)
            if self.captured or index not in lost
        ]
        again = [(place, changed[index]) for index, place in lost.items()]
        return settled([*sent, *again], pauses)


@dataclass(frozen=True, slots=True)
class Reordering:
    """Segments are overtaken by later ones.

    :raises LocalProtocolError: a value is out of range.
    """

    rate: float
    """The share of segments that is overtaken, 0 to 1."""
    distance: int = 4
    """By how many others at most, from 1."""
    by_capture: bool = False
    """Only the capture has them in another order, whoever sent them and whatever they are, as one
    from several queues does; else the network overtakes segments with octets by others of the same
    sender, and the receiver acknowledges no more than it has."""

    def __post_init__(self) -> None:
        share("a rate", self.rate)
        flag("by_capture", self.by_capture)
        number("a distance", self.distance, 1, MOST)

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
                acknowledge_less(changed, index, places[index])
        return settled((places.get(index, index), each) for index, each in enumerate(changed))


@dataclass(frozen=True, slots=True)
class Duplication:
    """Segments of any kind come twice.

    :raises LocalProtocolError: a value is out of range.
    """

    rate: float
    """The share of segments of which there is a copy, 0 to 1."""
    distance: int = 4
    """After how many others the copy comes at most, from 0."""

    def __post_init__(self) -> None:
        share("a rate", self.rate)
        number("a distance", self.distance, 0, MOST)

    def __call__(self, segments: list[Segment], rng: random.Random) -> list[Segment]:
        copies = [
            (index + rng.randint(0, self.distance) + 0.5, segment)
            for index, segment in enumerate(segments)
            if rng.random() < self.rate
        ]
        return settled([*enumerate(segments), *copies])


def _later(segments: Sequence[Segment], index: int, end: int, most: int) -> list[int]:
    """Return where the next segments with octets of the same sender are, up to the end of its turn.

    :param most: how many of them at most.
    """
    side = segments[index].side
    found: list[int] = []
    for at in range(index + 1, end):
        if len(found) == most:
            break
        if segments[at].side == side and segments[at].octets:
            found.append(at)
    return found
