# SPDX-License-Identifier: GPL-2.0-or-later
"""Octets that the snap length of the capture cut off, and the copies that may bring them.

They read as zeros and are marked in their islands.  A run of FPDUs that comes to them waits, until
a copy with other boundaries has brought them, or they are *settled*: no such copy can be under way
any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scapy_mpa.stream.octets.chunk import CHUNK_OVERHEAD
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.stream.octets.islands import Inserted
from scapy_mpa.stream.segment import Segment

if TYPE_CHECKING:
    from scapy_mpa.stream.halves.half import HalfConnection

__all__ = ["COPY_SEGMENTS", "Cuts"]

COPY_SEGMENTS: Final = 512
"""Segments of the connection for which, once the peer has acknowledged them, octets that the snap
length cut off are waited for, and for up to twice as many: a copy with other boundaries may bring
them.  Nobody sends again what he knows to be acknowledged, so such a copy was under way then, and
this is more than is under way on most paths.  Until the peer acknowledges anything, it is taken to
have what was sent."""


class Cuts:
    """What was cut off of one half connection; made when the first such segment comes.

    :param half: the half connection.
    """

    __slots__ = ("_half", "awaited", "forgotten_below", "settled_below")

    def __init__(self, half: HalfConnection) -> None:
        self._half = half
        self.awaited: tuple[int, int] | None = None
        """While there are octets that were cut off and may yet come: how many segments of the
        connection had been received, and up to which position all was acknowledged then."""
        self.settled_below = 0
        """Those below this position are no longer waited for."""
        self.forgotten_below = 0
        """Below this position nobody knows any more which octets were cut off in streaming mode."""

    def mark(self, start: int, end: int, inserted: Inserted) -> None:
        """Note what of a segment was cut off, and was not captured before."""
        half = self._half
        for known_start, known_end in (*inserted.repeated, (end, end)):
            if start < min(known_start, end):
                half.islands.mark_absent(start, min(known_start, end))
                # Acknowledged long ago or not: more copies may be under way.
                self.settled_below = min(self.settled_below, start)
                if self.awaited is not None:
                    self.awaited = self.awaited[0], min(self.awaited[1], start)
                half.octets -= min(known_start, end) - start
            start = max(start, known_end)
        self.wait()

    def fill(self, position: int, segment: Segment) -> list[Island]:
        """Take from a copy what had been cut off; return where there was such."""
        half = self._half
        end = position + len(segment.payload)
        grown = []
        for island in half.islands.items:
            if island.absent and island.start < end and position < island.end:
                first = island.captured_until(position, end)
                chunks = island.count(island.start)
                filled = island.fill(position, segment.payload, segment.frame)
                if filled:
                    half.octets += filled
                    half.held += CHUNK_OVERHEAD * (island.count(island.start) - chunks)
                    island.look_again()
                    if half.streaming is not None:
                        island.scan_again(first, end)
                    grown.append(island)
        return grown

    def forget(self, island: Island, start: int, end: int) -> None:
        """Take note of octets that are let go of in streaming mode, if some were cut off."""
        if island.captured_until(start, end) < end:
            self.forgotten_below = max(end, self.forgotten_below)

    def wait(self) -> None:
        """Begin to wait for copies, if there are octets in FPDUs that were cut off."""
        half = self._half
        items = half.islands.items
        if half.framing is None or not any(island.absent for island in reversed(items)):
            self.awaited = None
        elif self.awaited is None:
            upto = half.high if half.acknowledged is None else half.acknowledged
            self.awaited = half.owner.segments, upto or 0

    def settle_acknowledged(self) -> None:
        """Go on without what was acknowledged long enough ago."""
        if self.awaited is None:
            return
        half = self._half
        segments, upto = self.awaited
        if segments + COPY_SEGMENTS <= half.owner.segments:
            self.settle(upto)
            self.awaited = None
            half.budget.count(half)
        self.wait()

    def settle(self, below: int) -> None:
        """Go on without the octets that were cut off below a position."""
        before = self.settled_below
        self.settled_below = max(before, below)
        for island in list(self._half.islands.items):
            if island.absent and island.start < below and island.end > before:
                island.look_again()
                self._half.advance(island, 0)
