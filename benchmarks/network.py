# SPDX-License-Identifier: GPL-2.0-or-later
"""What becomes of segments on their way past the point of capture to the receiver."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from typing import Final, NamedTuple

__all__ = ["UNIMPAIRED", "Impairment", "Passing", "Receiver", "passing"]

_RETRANSMITTED_AFTER: Final = (16, 24)
"""After how many segments the copy of a lost one comes: about a round trip."""
_OVERTAKEN_BY: Final = (1, 5)
"""How many segments overtake one that is delayed."""


class Impairment(NamedTuple):
    """What happens to segments on their way; both are shares of them, 0 to 1."""

    loss: float = 0.0
    """Lost, and retransmitted until received.  Half of them are lost before the point of capture,
    which captures them late.  The others are lost after it, and are captured twice."""
    reordering: float = 0.0
    """Overtaken by a few segments."""


UNIMPAIRED: Final = Impairment()


class Passing(NamedTuple):
    """A segment that passes the point of capture."""

    position: int
    payload: bytes
    is_received: bool
    """Whether it reaches the receiver, too."""


def passing(
    impairment: Impairment, payloads: Iterable[bytes], position: int, rng: random.Random
) -> Iterator[Passing]:
    """Yield the segments of a stream in the order in which they pass the point of capture.

    Every octet passes at least once and reaches the receiver.

    :param payloads: of the segments, in the order of the stream.
    :param position: where the first one begins.
    """
    under_way: list[tuple[int, int, Passing]] = []
    for number, payload in enumerate(payloads):
        due = number
        while impairment.loss and rng.random() < impairment.loss:
            if rng.random() < 0.5:
                heappush(under_way, (due, number, Passing(position, payload, False)))
            due += rng.randint(*_RETRANSMITTED_AFTER)
        if impairment.reordering and rng.random() < impairment.reordering:
            # Of two that are due together the earlier one goes first.
            due += 1 + rng.randint(*_OVERTAKEN_BY)
        segment = Passing(position, payload, True)
        position += len(payload)
        if due == number and not under_way:
            yield segment
            continue
        heappush(under_way, (due, number, segment))
        while under_way and under_way[0][0] <= number:
            yield heappop(under_way)[2]
    while under_way:
        yield heappop(under_way)[2]


class Receiver:
    """What the receiver of one direction acknowledges.

    :param position: of the first octet that it waits for.
    """

    __slots__ = ("_ahead", "acknowledges")

    def __init__(self, position: int) -> None:
        self.acknowledges = position
        # Retransmissions keep the boundaries of segments, so that their ends are enough.
        self._ahead: dict[int, int] = {}

    def take(self, position: int, length: int) -> None:
        """Take a segment."""
        if position > self.acknowledges:
            self._ahead[position] = position + length
            return
        front = max(self.acknowledges, position + length)
        while front in self._ahead:
            front = self._ahead.pop(front)
        self.acknowledges = front
