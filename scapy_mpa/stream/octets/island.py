# SPDX-License-Identifier: GPL-2.0-or-later
"""An island: contiguous captured octets, and how far FPDUs were found in them."""

from bisect import bisect_left, bisect_right
from typing import Any, Final

from scapy_mpa.stream.events import LocatedBy
from scapy_mpa.stream.octets.chunk import Chunk
from scapy_mpa.wire.startup import STARTUP_HEADER_LENGTH

_SEAM: Final = STARTUP_HEADER_LENGTH
"""Octets to scan again after the place where two islands join: a startup header."""

_NOT_TINY: Final = 64
"""Octets of the smallest segment whose boundaries are evidence.  Tiny segments begin anywhere."""


class Search:
    """What the search after a broken chain of lengths has found so far, by position."""

    __slots__ = ("at", "crcs", "edges", "ruled_out")

    def __init__(self) -> None:
        self.at = 0
        """Position that octets must reach before another search is worth its cost."""
        self.crcs: dict[tuple[int, int], bool] = {}
        """Whether the octets between two positions have a good CRC."""
        self.edges: dict[int, Any] = {}
        """FPDUs that more octets cannot change, by position."""
        self.ruled_out: set[int] = set()
        """Positions of words that read as headers, where no FPDU with a good CRC begins."""


class Run:
    """Reported FPDUs that follow each other without a gap.

    :param position: where the first FPDU begins.
    :param located_by: what shows that it begins there.
    """

    __slots__ = (
        "awaits_startup",
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
        """Where the last reported FPDU begins."""
        self.next_by: LocatedBy = located_by
        """What shows that an FPDU begins at ``end``."""
        self.broken_at: int | None = None
        """Position of the FPDU at or after which the chain of lengths breaks; None if it holds."""
        self.search: Search | None = None
        """State of the search from ``broken_at`` on."""
        self.is_certain = True
        """Whether an FPDU begins at ``end``, provided that the lengths before it are right."""
        self.phase: int | None = None
        """Marker phase of the FPDU at ``end``, if its position does not show the phase."""
        self.awaits_startup = False
        """Whether a startup frame begins at ``end`` and was not read yet."""

    @property
    def is_empty(self) -> bool:
        """Whether it has no FPDU and only marks where a search begins."""
        return not self.is_certain and self.end == self.start

    @property
    def next_is_unverified(self) -> bool:
        """Whether an FPDU certainly begins at ``end``, but its length may be wrong."""
        return self.is_certain and self.end == self.broken_at

    def ensure_search(self) -> Search:
        """Return the state of the search; create it on first use."""
        if self.search is None:
            self.search = Search()
        return self.search

    def end_like(self, right: "Run") -> None:
        """Take over the end of a later run, to go on from there."""
        self.end = right.end
        self.last = right.last
        self.broken_at = right.broken_at
        self.next_by = right.next_by
        self.is_certain = right.is_certain


class Island:
    """Contiguous captured octets, and how far FPDUs were found in them.

    Octets that are needed no more are released, but still count as captured.
    """

    __slots__ = (
        "_chunks",
        "absent",
        "end",
        "has_hole",
        "joined",
        "markers_read",
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
        # Ascending, so that bisect with (position,) finds the first chunk at or after a position.
        self._chunks: list[Chunk] | None = None
        self.absent: list[tuple[int, int]] | None = None
        """Stretches that the snap length of the capture cut off; they read as zeros."""
        self.open_left = True
        """Whether the hole before this island may yet be filled."""
        self.runs: tuple[Run, ...] = ()
        """The reported FPDUs: one run, or several while the octets between runs are undecided."""
        self.joined = False
        """Whether a hole was filled since the octets between runs were last searched."""
        self.need = position
        """Position that the island must reach before another try can find something."""
        self.scan = position
        """Position up to which it was scanned for startup frames."""
        self.scanned: list[tuple[int, int]] | None = None
        """Stretches after ``scan`` that were scanned, too; ascending."""
        self.markers_read = 0
        """Position up to which its Markers were read, until one leads to an FPDU."""
        self.has_hole = False
        """Whether octets at its start or inside it were released without being read.  No length
        leads across them, so no earlier island is joined to this one."""
        self.settled = False
        """Whether the search before the first run is final."""

    def append(self, chunk: Chunk) -> None:
        """Add octets that directly follow the end."""
        self.put_back(chunk)
        self.end += len(chunk.octets)

    def put_back(self, chunk: Chunk) -> None:
        """Hold released octets again.  They come after all held octets."""
        if self._chunks is None:
            self._chunks = [chunk]
        else:
            self._chunks.append(chunk)

    def join(self, right: "Island") -> None:
        """Append the island that begins where this island ends."""
        left_chunks, right_chunks = self._chunks or [], right._chunks or []
        if len(left_chunks) < len(right_chunks):
            # Move the shorter list, so that a long island can grow to the left at little cost.
            right_chunks[:0] = left_chunks
            self._chunks = right_chunks
        elif right_chunks:
            left_chunks += right_chunks
        # A Key may lie across the seam.  Octets after that were scanned.
        self.scanned = self.scanned or []
        if right.start + _SEAM < right.scan:
            self.scanned.append((right.start + _SEAM, right.scan))
        self.scanned += right.scanned or ()
        if right.absent:
            self.absent = self.absent or []
            self.absent += right.absent
        # Empty runs only mark where a search begins.  Now a length may lead there.
        self.runs += tuple(run for run in right.runs if not run.is_empty)
        self.end = right.end
        self.joined = True
        self.need = self.start
        self.markers_read = max(self.markers_read, right.markers_read)

    @property
    def held(self) -> int:
        """Position of the first held octet, ``end`` if all were released.

        While there are no runs, all octets from here on are held.
        """
        return self._chunks[0].position if self._chunks else self.end

    def holds(self, start: int, end: int | None = None) -> bool:
        """True if the octets from ``start`` up to ``end`` were captured and not released.

        The octets of runs are released.  Octets before a run may be held.

        :param end: None for the octet at ``start`` alone.
        """
        at = start
        upto = start + 1 if end is None else end
        for chunk in self.chunks(start, upto):
            if chunk.position > at:
                return False
            at = max(at, chunk.end)
        return at >= upto

    def look_again(self) -> None:
        """Have FPDUs searched again although the island has not grown."""
        self.need = self.start
        self.joined = self.joined or len(self.runs) > 1

    def read(self, start: int, end: int) -> bytes:
        """Return the octets from ``start`` up to ``end``.

        :raises IndexError: the first octets were released.
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
        """Return the frames that carried the octets from ``start`` up to ``end``."""
        return tuple(dict.fromkeys(chunk.frame for chunk in self.chunks(start, end)))

    def segment_starts(self, start: int, end: int) -> list[int]:
        """Return where segments that are not tiny begin, from ``start`` up to ``end``."""
        return [
            chunk.position for chunk in self.chunks(start, end) if len(chunk.octets) >= _NOT_TINY
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
        """Return copies of the chunks, trimmed to the octets from ``start`` up to ``end``."""
        return [
            Chunk(
                max(start, chunk.position),
                chunk.octets[max(0, start - chunk.position) : end - chunk.position],
                chunk.frame,
            )
            for chunk in (self.chunks(start, end) if start < end else ())
        ]

    def to_scan(self) -> list[tuple[int, int]]:
        """Return the stretches not scanned for startup frames yet."""
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
        """True if segments begin at ``start`` and end at ``end``, and this is evidence.

        Boundaries of tiny segments are no evidence: nearly every position is one.
        """
        chunks = self._chunks or ()
        index = bisect_left(chunks, (start,))
        if index == len(chunks) or chunks[index].position != start:
            return False
        if len(chunks[index].octets) < min(end - start, _NOT_TINY):
            return False
        index = bisect_left(chunks, (end,))
        return end == self.end or (index < len(chunks) and chunks[index].position == end)

    def captured(self, start: int, end: int) -> list[Chunk]:
        """Return :meth:`chunks` without the octets that the snap length cut off."""
        chunks = self.chunks(start, end)
        if not self.absent:
            return chunks
        # Cut octets lie at the end of a chunk.
        upto = [self.captured_until(chunk.position, chunk.end) for chunk in chunks]
        return [
            Chunk(position, octets[: until - position], frame)
            for (position, octets, frame), until in zip(chunks, upto, strict=True)
        ]

    def captured_until(self, start: int, end: int) -> int:
        """Return the position of the first cut octet from ``start`` up to ``end``, else ``end``."""
        absent = self.absent or []
        index = max(0, bisect_right(absent, (start, 0)) - 1)
        for gap_start, gap_end in absent[index : index + 2]:
            if gap_start < end and start < gap_end:
                return max(start, gap_start)
        return end

    def is_captured(self, start: int, end: int) -> bool:
        """True if the snap length cut off no octet from ``start`` up to ``end``."""
        return not self.absent or self.captured_until(start, end) == end

    def release(self, start: int, end: int) -> list[Chunk]:
        """Drop and return the chunks that lie wholly between ``start`` and ``end``."""
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
            # Cut octets lie at the end of a chunk, and go with it.
            lower = bisect_left(self.absent, (gone[0].position, 0))
            upper = bisect_left(self.absent, (gone[-1].position + len(gone[-1].octets), 0), lower)
            del self.absent[lower:upper]
        return gone
