# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether octets that come twice are the same both times.

Octets that were read are kept a little longer, so that a second copy can be compared with the
first.  All half connections share one place: what was kept longest goes first, whoever it belongs
to, and a half connection that has nothing there costs nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import islice
from typing import Final

from scapy_mpa.stream.octets.islands import Islands
from scapy_mpa.stream.octets.past import TAIL

RECENT_OCTETS: Final = 1 << 20
"""Octets kept for comparison, over all half connections: more than a retransmission of the
last round trip needs, on any but the fattest path, and little beside Python itself."""

RECENT_CHUNKS: Final = 512
"""Chunks kept, over all half connections: bounds the work of one comparison."""

FRESH_OCTETS: Final = RECENT_OCTETS >> 1
"""Octets that may be added before those that are too many are dropped."""
_LOOKED_AT: Final = 64
"""Of what came last, how much is looked through for the last octets of a direction."""


class RecentOctets:
    """The shared place."""

    __slots__ = ("fresh", "order")

    def __init__(self) -> None:
        self.order: deque[tuple[int, bytes, int, object]] = deque(maxlen=RECENT_CHUNKS)
        """Position, octets, frame, and whose they are, in the order in which they came."""
        self.fresh = 0
        """Octets added since :meth:`trim`, less the room there was: at most ``FRESH_OCTETS``.  Who
        adds them sees to it."""

    def remember(self, owner: object, position: int, octets: bytes, frame: int) -> None:
        """Keep octets until others have pushed them out."""
        self.order.append((position, octets, frame, owner))
        self.fresh += len(octets)
        if self.fresh > FRESH_OCTETS:
            self.trim()

    def trim(self) -> None:
        """Drop the octets that are too many."""
        order = self.order
        surplus = sum([len(kept[1]) for kept in order]) - RECENT_OCTETS
        while surplus > 0:
            surplus -= len(order.popleft()[1])
        self.fresh = surplus

    def forget(self, owner: object, start: int, end: int) -> None:
        """Drop what is kept of ``owner`` from position ``start`` up to ``end``.

        It is held elsewhere again, and comes back from there: kept twice, it would push out others.
        """
        kept: list[tuple[int, bytes, int, object]] = []
        for position, octets, frame, whose in self.order:
            if whose is not owner or end <= position or position + len(octets) <= start:
                kept.append((position, octets, frame, whose))
                continue
            if position < start:
                kept.append((position, octets[: start - position], frame, owner))
            if end < position + len(octets):
                kept.append((end, octets[end - position :], frame, owner))
        self.order = deque(kept, RECENT_CHUNKS)

    def hand_over(self, owner: object, other: object) -> None:
        """Take what is kept of ``owner`` for what is kept of another one."""
        order = self.order
        for at, (position, octets, frame, whose) in enumerate(order):
            if whose is owner:
                order[at] = position, octets, frame, other

    def last_of(self, owner: object, end: int) -> bytes:
        """Return octets of ``owner`` up to position ``end``, b"" if none are known.

        They are looked for among what came last.
        """
        for position, octets, _, whose in islice(reversed(self.order), _LOOKED_AT):
            if whose is owner and position + len(octets) == end:
                return octets[max(0, len(octets) - TAIL) :]
        return b""

    def place_of(self, owner: object, islands: Islands, wanted: bytes) -> tuple[int, int] | None:
        """Return the position of the last octets of ``owner`` that are these, and their frame; None
        if there are none in one chunk.

        :param islands: what else is known of ``owner``.
        """
        known = [each[:3] for each in self.order if each[3] is owner]
        for island in islands.items:
            known += island.captured(island.start, island.end)
        for position, octets, frame in reversed(known):
            at = octets.rfind(wanted)
            if at >= 0:
                return position + at, frame
        return None

    def between(self, start: int, end: int, owner: object) -> list[tuple[int, bytes, int]]:
        """Return what is kept of ``owner`` that has octets from ``start`` up to ``end``."""
        return [
            (position, octets, frame)
            for position, octets, frame, whose in self.order
            if whose is owner and position < end and start < position + len(octets)
        ]

    def differing(
        self, position: int, octets: bytes, islands: Islands, owner: object
    ) -> tuple[int, int] | None:
        """Return from where to where a second copy differs from the first (RFC 5044 A.3).

        :param position: where ``octets`` lie.
        :param islands: what else is known of ``owner``.
        """
        end = position + len(octets)
        known = self.between(position, end, owner)
        for island in islands.items:
            if island.start < end and position < island.end:
                # What the snap length cut off cannot be compared.
                known += island.captured(position, end)
        return differing_stretch(position, octets, known)


def differing_stretch(
    position: int, octets: bytes, known: Iterable[tuple[int, bytes, int]]
) -> tuple[int, int] | None:
    """Return from where to where ``octets`` differ from what is known, None if nowhere.

    :param position: where ``octets`` lie.
    """
    differing: list[int] = []
    for known_position, known_octets, _ in known:
        start = max(position, known_position)
        end = min(position + len(octets), known_position + len(known_octets))
        if start >= end:
            continue
        here = octets[start - position : end - position]
        there = known_octets[start - known_position : end - known_position]
        if here != there:
            pairs = enumerate(zip(here, there, strict=True), start)
            differing += [at for at, pair in pairs if pair[0] != pair[1]]
    return (min(differing), max(differing) + 1) if differing else None
