# SPDX-License-Identifier: GPL-2.0-or-later
"""A contiguous stretch of captured octets, and how far it was framed."""

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any, Final

from scapy_mpa.stream.events import LocatedBy
from scapy_mpa.stream.octets.chunk import Chunk
from scapy_mpa.wire.sound_length import SoundLength
from scapy_mpa.wire.startup import STARTUP_HEADER_LENGTH

if TYPE_CHECKING:
    from scapy_mpa.stream.octets.leads import Leads


_SEAM: Final = STARTUP_HEADER_LENGTH
"""Octets after the place where islands join that are looked at again: a startup header's."""

_TELLING_SEGMENT: Final = 64
"""Octets from which on it tells something where a segment begins: smaller ones begin anywhere."""


class Search:
    """How far it was looked for where FPDUs begin after one that is not verified."""

    __slots__ = ("at", "crcs", "edges", "ends", "headers")

    def __init__(self) -> None:
        self.at = 0
        """How far octets must reach before another search is worth its cost."""
        self.crcs: dict[tuple[int, int], bool] = {}
        """Whether octets have a good CRC, by where they begin and end."""
        self.edges: dict[int, Any] = {}
        """Without CRCs, FPDUs of which all octets are there, by where they begin."""
        self.headers: dict[int, bool] = {}
        """Whether a header that makes sense stands where none begins that has a good CRC."""
        self.ends: dict[int, SoundLength] = {}
        """Up to where FPDUs do not end that lie about their length, by where they begin."""


class Run:
    """A stretch of FPDUs, back to back, that were passed on.

    :param position: where it begins.
    :param located_by: what says that an FPDU begins there.
    """

    __slots__ = (
        "awaits",
        "broken_at",
        "end",
        "is_certain",
        "last",
        "next_by",
        "phase",
        "search",
        "start",
    )

    def __init__(self, position: int, located_by: LocatedBy) -> None:
        self.start = position
        self.end = position
        """Where the next FPDU begins."""
        self.last = position
        """Where the last FPDU that was passed on began."""
        self.next_by: LocatedBy = located_by
        """What says that an FPDU begins at ``end``."""
        self.broken_at: int | None = None
        """Where the FPDU began after which the chain of lengths broke, if it did."""
        self.search: Search | None = None
        """What was done to find the way back from there."""
        self.is_certain = True
        """Whether an FPDU begins at ``end``, if the lengths before it are right."""
        self.phase: int | None = None
        """Phase of what begins at ``end``, where that does not follow from its position."""
        self.awaits = False
        """Whether a startup frame stands where it ends, and was not read yet."""

    @property
    def is_empty(self) -> bool:
        """Whether this is but a place from which a search goes on."""
        return not self.is_certain and self.end == self.start

    def searching(self) -> Search:
        """Return what was done to find the way back, which is nothing at first."""
        if self.search is None:
            self.search = Search()
        return self.search

    def end_like(self, right: "Run") -> None:
        """End as a run does that lies after this one, and so go on as it would have."""
        self.end = right.end
        self.last = right.last
        self.broken_at = right.broken_at
        self.next_by = right.next_by
        self.is_certain = right.is_certain


class Island:
    """Contiguous captured octets, and how far framing has come in them.

    Octets whose work is done are released, but still count as captured.
    """

    __slots__ = (
        "_chunks",
        "absent",
        "end",
        "has_hole",
        "joined",
        "leads",
        "need",
        "open_left",
        "runs",
        "scan",
        "scanned",
        "settled",
        "start",
    )

    def __init__(self, position: int) -> None:
        self.start = position
        self.end = position
        # Ascending, so that (position,) finds the first that begins there or after.
        self._chunks: list[Chunk] | None = None
        self.absent: list[tuple[int, int]] | None = None
        """Stretches that the capture's snap length cut off; they read as zeros."""
        self.open_left = True
        """Whether the hole before this island may yet be filled."""
        self.runs: tuple[Run, ...] = ()
        """What was passed on: one run, or more if nothing is known yet of what lies between."""
        self.joined = False
        """Whether a hole was filled since framing last looked at what lies between runs."""
        self.need = position
        """Nothing can come of another try before the island reaches this position."""
        self.scan = position
        """Up to here it was scanned for startup frames."""
        self.scanned: list[tuple[int, int]] | None = None
        """Stretches after ``scan`` that were, too, ascending."""
        self.leads: Leads | None = None
        """Where its Markers say that FPDUs begin, as long as none was found."""
        self.has_hole = False
        """Whether octets in its midst or at its start were released unframed, so that nothing leads
        across: no island before it is joined to it."""
        self.settled = False
        """Whether what lies before the first run was searched for good."""

    def append(self, chunk: Chunk) -> None:
        """Add octets that directly follow the end."""
        self.put_back(chunk)
        self.end += len(chunk.octets)

    def put_back(self, chunk: Chunk) -> None:
        """Hold octets again that were released, after all others that are held."""
        if self._chunks is None:
            self._chunks = [chunk]
        else:
            self._chunks.append(chunk)

    def join(self, right: "Island") -> None:
        """Take over all of the island that begins where this one ends."""
        mine, others = self._chunks or [], right._chunks or []
        if len(mine) < len(others):
            # The short side moves, so that a long island that grows to the left costs little.
            others[:0] = mine
            self._chunks = others
        elif others:
            mine += others
        # A Key may lie across the seam; what lies after that was scanned.
        self.scanned = self.scanned or []
        if right.start + _SEAM < right.scan:
            self.scanned.append((right.start + _SEAM, right.scan))
        self.scanned += right.scanned or ()
        if right.absent:
            self.absent = self.absent or []
            self.absent += right.absent
        # Where a search had come to is of no account now that a length may lead on.
        self.runs += tuple(run for run in right.runs if not run.is_empty)
        self.end = right.end
        self.joined = True
        self.need = self.start
        leads = right.leads
        if leads and (self.leads is None or leads.length > self.leads.length):
            # The Markers of the shorter side are read again.
            self.leads = leads

    @property
    def held(self) -> int:
        """Where the first octets begin that were not released, ``end`` if there are none.

        As long as it has no runs, all after that are held.
        """
        return self._chunks[0].position if self._chunks else self.end

    def holds(self, start: int, end: int | None = None) -> bool:
        """Tell whether the octets from ``start`` up to ``end`` are held: there, and not released.

        Those of runs are released, and octets before a run may be held.

        :param end: None: it is the octet at ``start`` alone that counts.
        """
        at = start
        upto = start + 1 if end is None else end
        for chunk in self.chunks(start, upto):
            if chunk.position > at:
                return False
            at = max(at, chunk.end)
        return at >= upto

    def look_again(self) -> None:
        """Have framing look at it again, though it has not grown."""
        self.need = self.start
        self.joined = self.joined or len(self.runs) > 1

    def read(self, start: int, end: int) -> bytes:
        """Return the octets from ``start`` up to ``end``.

        :raises IndexError: the first of them were released.
        """
        chunks = self._chunks or ()
        index = bisect_left(chunks, (start + 1,)) - 1
        if index < 0:
            raise IndexError("octets that were released")
        chunk = chunks[index]
        octets = chunk.octets
        begin = start - chunk.position
        stop = end - chunk.position
        there = len(octets)
        if begin > there:
            raise IndexError("octets that were released")
        if stop <= there:
            return octets[begin:stop]
        pieces = [octets[begin:]]
        for position, octets, _ in chunks[index + 1 : bisect_left(chunks, (end,))]:
            stop = end - position
            pieces.append(octets if stop >= len(octets) else octets[:stop])
        return b"".join(pieces)

    def frames(self, start: int, end: int) -> tuple[int, ...]:
        """Return the frames that brought the octets from ``start`` up to ``end``."""
        return tuple(dict.fromkeys(chunk.frame for chunk in self.chunks(start, end)))

    def telling_boundaries(self, start: int, end: int) -> list[int]:
        """Return where segments begin, from ``start`` up to ``end``, that are not tiny."""
        return [
            chunk.position
            for chunk in self.chunks(start, end)
            if len(chunk.octets) >= _TELLING_SEGMENT
        ]

    def count(self, start: int) -> int:
        """Return how many chunks begin at ``start`` or after."""
        chunks = self._chunks or ()
        return len(chunks) - bisect_left(chunks, (start,))

    def chunks(self, start: int, end: int) -> list[Chunk]:
        """Return the chunks that reach into the stretch from ``start`` up to ``end``."""
        chunks = self._chunks or []
        first = max(0, bisect_left(chunks, (start + 1,)) - 1)
        return chunks[first : bisect_left(chunks, (end,))]

    def cut_out(self, start: int, end: int) -> list[Chunk]:
        """Return the octets from ``start`` up to ``end`` as chunks that hold no others."""
        return [
            Chunk(
                max(start, chunk.position),
                chunk.octets[max(0, start - chunk.position) : end - chunk.position],
                chunk.frame,
            )
            for chunk in (self.chunks(start, end) if start < end else ())
        ]

    def to_scan(self) -> list[tuple[int, int]]:
        """Return the stretches that were not scanned for startup frames."""
        left = []
        begin = self.scan
        for start, end in self.scanned or ():
            if start > begin:
                left.append((begin, start))
            begin = max(begin, end)
        if begin < self.end:
            left.append((begin, self.end))
        return left

    def fills_segments(self, start: int, end: int) -> bool:
        """Tell whether segments begin at ``start`` and end at ``end``, and not just anywhere.

        Where segments are a few octets long, every place is a boundary and says nothing.
        """
        chunks = self._chunks or ()
        index = bisect_left(chunks, (start,))
        if index == len(chunks) or chunks[index].position != start:
            return False
        if len(chunks[index].octets) < min(end - start, _TELLING_SEGMENT):
            return False
        index = bisect_left(chunks, (end,))
        return end == self.end or (index < len(chunks) and chunks[index].position == end)

    def captured(self, start: int, end: int) -> list[Chunk]:
        """Return what was captured of the chunks that reach from ``start`` up to ``end``."""
        chunks = self.chunks(start, end)
        if not self.absent:
            return chunks
        # What was cut off lies at the end of a chunk.
        upto = [self.captured_until(chunk.position, chunk.end) for chunk in chunks]
        return [
            Chunk(position, octets[: until - position], frame)
            for (position, octets, frame), until in zip(chunks, upto, strict=True)
        ]

    def captured_until(self, start: int, end: int) -> int:
        """Return where, from ``start`` up to ``end``, the first octet was cut off, else ``end``."""
        absent = self.absent or []
        index = max(0, bisect_right(absent, (start, 0)) - 1)
        for gap_start, gap_end in absent[index : index + 2]:
            if gap_start < end and start < gap_end:
                return max(start, gap_start)
        return end

    def is_captured(self, start: int, end: int) -> bool:
        """Tell whether the snap length cut off none of the octets from ``start`` up to ``end``."""
        return not self.absent or self.captured_until(start, end) == end

    def release(self, start: int, end: int) -> list[Chunk]:
        """Give up the chunks that lie wholly between ``start`` and ``end``; return them."""
        chunks = self._chunks or []
        first = bisect_left(chunks, (start,))
        last = bisect_left(chunks, (end,))
        if last > first:
            chunk = chunks[last - 1]
            if chunk.position + len(chunk.octets) > end:
                last -= 1
        if last <= first:
            return []
        if last - first == len(chunks):
            gone = chunks
            self._chunks = None
        else:
            gone = chunks[first:last]
            del chunks[first:last]
        if self.absent:
            # What was cut off lies at the end of a chunk, and goes with it.
            lower = bisect_left(self.absent, (gone[0].position, 0))
            upper = bisect_left(self.absent, (gone[-1].position + len(gone[-1].octets), 0), lower)
            del self.absent[lower:upper]
        return gone
