# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares copies of octets with those captured first.

Octets are kept for a while after they were read, so that a copy can be compared with them.  All
directions share one queue.  The oldest octets are dropped first, and a direction without octets in
it costs nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

from scapy_mpa.stream.octets.islands import Islands

RECENT_OCTETS: Final = 1 << 20
"""Octets kept for comparison, of all directions together.  They include the last round trip of any
but the fastest and longest paths, and take little memory next to Python itself."""

RECENT_CHUNKS: Final = 512
"""Chunks kept, of all directions together: they limit the work of one comparison."""

FRESH_OCTETS: Final = RECENT_OCTETS >> 1
"""Octets that may be added before surplus ones are dropped."""


class RecentOctets:
    """The queue of octets that were read, of all directions of a capture."""

    def __init__(self) -> None:
        self.order: deque[tuple[int, bytes, int, int]] = deque(maxlen=RECENT_CHUNKS)
        """Position, octets, frame and owner of each chunk, in the order of reading.  The owner is
        a direction: :meth:`~scapy_mpa.stream.events.ConnectionId.of_direction`."""
        self.fresh = 0
        """Octets added since :meth:`trim`, less the room there was then.  If it exceeds
        ``FRESH_OCTETS``, whoever added the octets must call :meth:`trim`."""

    def remember(self, owner: int, position: int, octets: bytes, frame: int) -> None:
        """Keep octets until newer ones replace them."""
        self.order.append((position, octets, frame, owner))
        self.fresh += len(octets)
        if self.fresh > FRESH_OCTETS:
            self.trim()

    def trim(self) -> None:
        """Drop the surplus octets."""
        order = self.order
        surplus = sum([len(chunk[1]) for chunk in order]) - RECENT_OCTETS
        while surplus > 0:
            surplus -= len(order.popleft()[1])
        self.fresh = surplus

    def forget(self, owner: int, start: int, end: int) -> None:
        """Drop the octets of ``owner`` from position ``start`` up to ``end``.

        The owner holds them again, and will give them back.  If they were kept twice, they would
        replace other octets.
        """
        kept: list[tuple[int, bytes, int, int]] = []
        for position, octets, frame, known_owner in self.order:
            if known_owner != owner or end <= position or position + len(octets) <= start:
                kept.append((position, octets, frame, known_owner))
                continue
            if position < start:
                kept.append((position, octets[: start - position], frame, owner))
            if end < position + len(octets):
                kept.append((end, octets[end - position :], frame, owner))
        self.order = deque(kept, RECENT_CHUNKS)

    def place_of(
        self, owner: int, islands: Islands, wanted: bytes, before: int | None
    ) -> tuple[int, int] | None:
        """Return position and frame of the last octets of ``owner`` that equal ``wanted``.

        None if no single chunk contains them.

        :param islands: the other captured octets of ``owner``.
        :param before: they end at this position or before it; None: anywhere.
        """
        known = [chunk[:3] for chunk in self.order if chunk[3] == owner]
        for island in islands.items:
            known += island.captured(island.start, island.end)
        for position, octets, frame in reversed(known):
            end = len(octets) if before is None else max(0, before - position)
            at = octets.rfind(wanted, 0, end)
            if at >= 0:
                return position + at, frame
        return None

    def between(self, start: int, end: int, owner: int) -> list[tuple[int, bytes, int]]:
        """Return the chunks of ``owner`` with octets from position ``start`` up to ``end``.

        Copies come soon, so the newest chunks are searched first.
        """
        found: list[tuple[int, bytes, int]] = []
        missing = end - start
        for position, octets, frame, known_owner in reversed(self.order):
            if known_owner == owner and position < end and start < position + len(octets):
                found.append((position, octets, frame))
                # No octet is kept twice.
                missing -= min(end, position + len(octets)) - max(start, position)
                if not missing:
                    break
        return found

    def differing(
        self, position: int, octets: bytes, islands: Islands, owner: int
    ) -> tuple[int, int] | None:
        """Return start and end of the part of a copy that differs (RFC 5044 A.3).

        :param position: position of ``octets``, the copy.
        :param islands: the other captured octets of ``owner``.
        :return: None if nothing differs.
        """
        end = position + len(octets)
        known = self.between(position, end, owner)
        for island in islands.items:
            if island.start < end and position < island.end:
                # Octets that the snap length cut off cannot be compared.
                known += island.captured(position, end)
        return differing_stretch(position, octets, known)


def differing_stretch(
    position: int, octets: bytes, known: Iterable[tuple[int, bytes, int]]
) -> tuple[int, int] | None:
    """Return start and end of the part of ``octets`` that differs; None if nothing does.

    :param position: position of ``octets``.
    :param known: positions, octets and frames of the octets captured first.
    """
    differing: list[int] = []
    for known_position, known_octets, _ in known:
        start = max(position, known_position)
        end = min(position + len(octets), known_position + len(known_octets))
        if start >= end:
            continue
        copy = octets[start - position : end - position]
        first = known_octets[start - known_position : end - known_position]
        if copy != first:
            pairs = enumerate(zip(copy, first, strict=True), start)
            differing += [at for at, pair in pairs if pair[0] != pair[1]]
    return (min(differing), max(differing) + 1) if differing else None
