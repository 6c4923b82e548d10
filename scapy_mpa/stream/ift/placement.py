# SPDX-License-Identifier: GPL-2.0-or-later
"""Speculative placement (draft-williams-iwarp-ift-01 section 8): what may be placed, and what
becomes of it.

What lies beyond a hole may be placed before it is its turn, if nothing that was placed before is
overwritten.  Whether it was rightly taken for a frame is known once all before it is there: then it
is confirmed, or taken back and placed again.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

from scapy_mpa.stream.events import LocatedBy
from scapy_mpa.stream.ift.reader import Found
from scapy_mpa.wire.ddp import ddp_header_of
from scapy_mpa.wire.ift_frame import FRAME_HEADER_LENGTH

__all__ = ["BUFFERS", "OUTSTANDING", "STRETCHES", "Buffers", "Speculated", "Speculation", "Target"]

OUTSTANDING: Final = 4096
"""Frames of one direction that may be placed speculatively and not confirmed: more than are under
way beyond a hole on most paths."""

BUFFERS: Final = 1024
"""Buffers of one direction of which it is tracked what was placed; of others it is not known, so
nothing is placed there speculatively (8.2)."""

STRETCHES: Final = 256
"""Stretches of one buffer that are tracked; with more of them it is no longer known (8.2)."""

_LOOKED_THROUGH: Final = 1024
"""Stretches of which it is known how far they were looked through: as many as there may be islands.
With more of them all are forgotten, and at worst looked through again."""

_BUFFER_WEIGHT: Final = 500
"""Octets of memory that are taken to know of a buffer what was placed in its first stretch."""
_STRETCH_WEIGHT: Final = 110
"""The same for each further stretch."""
_SPECULATED_WEIGHT: Final = 850
"""The same for a frame that is not confirmed, beside its octets."""

_LOOKED_WEIGHT: Final = 200
"""The same for a stretch that was looked through."""

_MESSAGE: Final = 32
"""Bits of a Message Offset."""
_TAGGED: Final = 64
"""Bits of a Tagged Offset."""

Buffer: TypeAlias = tuple[bool, int]
"""Whether it is Tagged, and its STag or Queue Number."""


class Target(NamedTuple):
    """Where a frame's payload goes."""

    buffer: Buffer
    start: int
    """Tagged Offset; of a queue, the MSN above 32 bits of Message Offset."""
    end: int
    whole: int | None
    """Of the last segment of an Untagged message, where the next message begins."""

    @property
    def fits(self) -> bool:
        """Whether its last octet has an offset, too (RFC 5041 4.2, 4.3)."""
        bits = _TAGGED if self.buffer[0] else _MESSAGE
        return self.end <= (self.start >> bits) + 1 << bits


def target_of(found: Found) -> Target | None:
    """Return where the payload of a frame goes, None if its DDP header is not there."""
    header = ddp_header_of(found.octets[FRAME_HEADER_LENGTH : found.layout.header_end])
    if header is None:
        return None
    length = found.header.payload_size
    if header.tagged:
        assert header.stag is not None and header.to is not None
        return Target((True, header.stag), header.to, header.to + length, None)
    assert header.qn is not None and header.msn is not None and header.mo is not None
    start = header.msn << _MESSAGE | header.mo
    whole = header.msn + 1 << _MESSAGE if header.last else None
    return Target((False, header.qn), start, start + length, whole)


class Buffers:
    """What portions of which buffers were written (8.2), as far as that can be kept."""

    __slots__ = ("_tracked", "weight")

    def __init__(self) -> None:
        self.weight = 0
        """Octets of memory that this takes, roughly."""
        self._tracked: dict[Buffer, tuple[list[int], list[int]] | None] = {}
        """By buffer, where stretches begin and end, ascending; None: no longer known."""

    def is_free(self, target: Target) -> bool:
        """Tell whether nothing was placed there, for sure."""
        tracked = self._tracked.get(target.buffer, ([], []))
        if tracked is None or (
            target.buffer not in self._tracked and len(self._tracked) >= BUFFERS
        ):
            return False
        starts, ends = tracked
        index = bisect_right(ends, target.start)
        return index == len(starts) or starts[index] >= max(target.end, target.start + 1)

    def place(self, target: Target, *, in_order: bool) -> None:
        """Note that octets are placed.

        :param in_order: all messages of its queue before this one are complete.
        """
        buffer = target.buffer
        if buffer not in self._tracked:
            if len(self._tracked) >= BUFFERS:
                return
            self._tracked[buffer] = [], []
            self.weight += _BUFFER_WEIGHT
        tracked = self._tracked[buffer]
        if tracked is None:
            return
        starts, ends = tracked
        start, end = target.start, target.end
        if in_order and target.whole is not None:
            # No more of these messages is to come.
            start, end = 0, target.whole
        if start >= end:
            return
        low = bisect_left(ends, start)
        high = bisect_right(starts, end)
        if low < high:
            start, end = min(start, starts[low]), max(end, ends[high - 1])
        self.weight -= _weight_of(starts)
        starts[low:high] = [start]
        ends[low:high] = [end]
        if len(starts) > STRETCHES:
            self._tracked[buffer] = None
        else:
            self.weight += _weight_of(starts)


def _weight_of(starts: list[int]) -> int:
    """Return what the stretches of a buffer take beside the first."""
    return _STRETCH_WEIGHT * max(0, len(starts) - 1)


class Speculated(NamedTuple):
    """A frame that was placed speculatively."""

    found: Found
    located_by: LocatedBy
    target: Target
    ahead: int
    """Octets from the first that was not there to its first."""
    frames: tuple[int, ...]

    @property
    def weight(self) -> int:
        """Octets of memory that it takes, roughly."""
        return _SPECULATED_WEIGHT + len(self.found.octets) + 8 * len(self.frames)


class Speculation:
    """The frames of one direction that were placed speculatively and are not confirmed."""

    __slots__ = (
        "_begun_at",
        "_by_buffer",
        "_by_start",
        "_looked_to",
        "_outstanding",
        "_starts",
        "buffers",
    )

    def __init__(self) -> None:
        self._looked_to: dict[int, int] = {}
        """By where the first frame begins, how far octets were looked through from there."""
        self._begun_at: dict[int, int] = {}
        """The other way round."""
        self.buffers = Buffers()
        self._outstanding = 0
        self._by_buffer: dict[Buffer, list[tuple[int, int]]] = {}
        """Where their payload begins and where they do, ascending; none overlaps another."""
        self._by_start: dict[int, Speculated] = {}
        self._starts: list[int] = []
        """Ascending."""

    def __len__(self) -> int:
        return len(self._starts)

    @property
    def weight(self) -> int:
        """Octets of memory that this takes, roughly."""
        looked = _LOOKED_WEIGHT * len(self._looked_to)
        return self._outstanding + self.buffers.weight + looked

    def get(self, start: int) -> Speculated | None:
        """Return the one at a place, None if there is none."""
        return self._by_start.get(start)

    def note_look(self, first: int, upto: int) -> None:
        """Take note of how far octets were looked through.

        :param first: where the first frame begins that was found in them.
        :param upto: behind the last one, or behind what is none.
        """
        if len(self._looked_to) >= _LOOKED_THROUGH:
            self._looked_to.clear()
            self._begun_at.clear()
        # Two ways may come to the same place: the later one will be gone on with.
        self.go_on_from(upto)
        self._looked_to[first] = upto
        self._begun_at[upto] = first

    def go_on_from(self, position: int) -> int | None:
        """Return where the first frame begins of a stretch that is looked through further now."""
        first = self._begun_at.pop(position, None)
        if first is not None:
            del self._looked_to[first]
        return first

    def looked_to(self, first: int) -> int | None:
        """Return how far octets from a frame on were looked through; None: they were not."""
        upto = self._looked_to.pop(first, None)
        if upto is not None:
            del self._begun_at[upto]
        return upto

    def ends_at(self, position: int) -> bool:
        """Tell whether one ends at a place."""
        index = bisect_left(self._starts, position)
        return index > 0 and self._by_start[self._starts[index - 1]].found.end == position

    def may_place(self, found: Found) -> Target | None:
        """Return where a frame goes if it may be placed speculatively, else None (8.1, 8.2)."""
        if not found.makes_sense or not found.proven:
            return None
        if found.faults or found.payload_crc == "unknown":
            return None
        target = target_of(found)
        if target is None or not target.fits or len(self) >= OUTSTANDING:
            return None
        return target if self.buffers.is_free(target) else None

    def add(self, speculated: Speculated) -> None:
        """Place a frame speculatively."""
        start = speculated.found.start
        self._by_start[start] = speculated
        self._outstanding += speculated.weight
        self._starts.insert(bisect_left(self._starts, start), start)
        target = speculated.target
        if target.start < target.end:
            insort(self._by_buffer.setdefault(target.buffer, []), (target.start, start))
        self.buffers.place(target, in_order=False)

    def settle(self, found: Found, since: int) -> Iterator[tuple[Speculated, bool]]:
        """Take a frame whose turn it is; yield those that this decides on.

        That is the very same, which is confirmed; those that claim its octets, and those of which
        it overwrites what they placed, which are taken back (8, 8.2).

        :param since: where the octets begin that there are before it, without a hole.
        """
        starts = self._starts
        low, upto = bisect_left(starts, since), bisect_left(starts, found.end)
        same = self._by_start.get(found.start)
        is_confirmed = same is not None and same.found.end == found.end
        target = target_of(found)
        self.looked_to(found.start)
        passed = starts[low:upto]
        del starts[low:upto]
        over = []
        if target is not None and not is_confirmed:
            over = [start for start in self._overwritten(target) if not since <= start < found.end]
            for start in over:
                del starts[bisect_left(starts, start)]
        for start in (*passed, *over):
            yield self._forget(start), is_confirmed and start == found.start
        if target is not None:
            self.buffers.place(target, in_order=True)

    def release(self, start: int, end: int) -> Iterator[Speculated]:
        """Yield those in a stretch, of which it will never be known."""
        low, upto = bisect_left(self._starts, start), bisect_left(self._starts, end)
        gone = self._starts[low:upto]
        del self._starts[low:upto]
        for start in gone:
            yield self._forget(start)

    def _overwritten(self, target: Target) -> list[int]:
        """Return where those begin that a frame overwrites."""
        placed = self._by_buffer.get(target.buffer, [])
        found = []
        for index in range(bisect_left(placed, (target.end,)) - 1, -1, -1):
            start = placed[index][1]
            if self._by_start[start].target.end <= target.start:
                break
            found.append(start)
        return sorted(found)

    def _forget(self, start: int) -> Speculated:
        """Take out the one at a place that is none of ``_starts`` any more."""
        speculated = self._by_start.pop(start)
        self._outstanding -= speculated.weight
        target = speculated.target
        if target.start < target.end:
            placed = self._by_buffer[target.buffer]
            del placed[bisect_left(placed, (target.start, start))]
            if not placed:
                del self._by_buffer[target.buffer]
        return speculated
