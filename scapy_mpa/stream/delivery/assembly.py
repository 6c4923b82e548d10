# SPDX-License-Identifier: GPL-2.0-or-later
"""One DDP message, assembled from the segments recovered so far (RFC 5041 5.2).

Each segment has the offset of its octets: a Message Offset, which begins at 0, or a Tagged Offset,
which begins anywhere.  Offsets increase (RFC 5041 5.3).  The segment with the Last flag shows where
the message ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from scapy_mpa.stream.delivery.held import HELD_BY_EACH, HELD_BY_PIECE
from scapy_mpa.stream.delivery.request import Request, request_of
from scapy_mpa.stream.delivery.segment import DDPSegment, Origin
from scapy_mpa.stream.events import MessageRecovered, Part

LISTED_STRETCHES: Final = 64
"""Missing stretches listed of one message, at most."""

LISTED_PARTS: Final = 4096
"""Segments listed of one message, at most, and stretches with holes between them.  More stretches
come from an attack, not from loss; they are ignored."""


@dataclass(slots=True, eq=False)
class DDPMessage:
    """A message, with the segments recovered so far."""

    first: DDPSegment
    """Its first recovered segment in the stream."""
    begun: bool = True
    """True if ``first`` is known to be the first segment sent, if the message is Tagged."""
    repeats: bool = False
    """True if a message of its queue with a higher MSN, or the same, came before."""
    completed_by: Origin = field(init=False)
    """The segment captured last, wherever it lies in the stream."""
    segments: int = 0
    next_offset: int = 0
    """The offset after the last segment added."""
    request: Request | None = None
    """The Request that it answers, if it is a Response."""
    requested: bool | None = None
    is_paired_by_order: bool = False
    """True if the order shows the Request, and not only the fields."""
    _stretches: list[tuple[int, int]] = field(default_factory=list)
    _parts: list[Part] = field(default_factory=list)
    _end: int | None = None
    _cut_off: int = 0
    _duplicates: int = 0
    _overlaps: int = 0
    _conflicts: int = 0
    _last_captured: int = 0
    """The last frame that brought its octets."""
    _first_captured: int = field(init=False)

    def __post_init__(self) -> None:
        first = self.first
        self.completed_by = first.origin
        self._first_captured = min(first.frames)
        self.add(first)

    @property
    def held(self) -> int:
        """Octets of memory taken, roughly."""
        return HELD_BY_EACH + (len(self._stretches) + len(self._parts)) * HELD_BY_PIECE

    def add(self, segment: DDPSegment) -> None:
        """Add the next segment.  Octets that do not ascend count as repeated ones."""
        at = segment.offset
        end = at + segment.length
        last = segment.header.last
        self.segments += 1
        if segment.origin[2] > self.completed_by[2]:
            self.completed_by = segment.origin
        self.next_offset = end
        self._last_captured = max(self._last_captured, *segment.frames)
        self._first_captured = min(self._first_captured, *segment.frames)
        stretches = self._stretches
        if len(self._parts) < LISTED_PARTS:
            self._parts.append(Part(segment.origin[4], segment.frames, at, segment.length))
        highest = stretches[-1][1] if stretches else at
        if last and self._end is None:
            self._end = end
            self._conflicts += highest > end
        elif self._end is not None:
            self._conflicts += end != self._end if last else end > self._end
        is_repeated = segment.length > 0 and at < highest
        if self.repeats:
            self._duplicates += 1
        elif is_repeated:
            self._duplicates += end <= highest
            self._overlaps += end > highest
        if not is_repeated:
            self._cut_off += segment.cut_off
        if stretches and at <= highest:
            stretches[-1] = stretches[-1][0], max(end, highest)
        elif segment.length and len(stretches) < LISTED_PARTS:
            stretches.append((at, end))

    # -- report ---------------------------------------------------------------------------------

    @property
    def _bounds(self) -> tuple[int | None, int | None]:
        """The offsets at which it begins and ends, if known: by its segments, or by its Request."""
        request, begin, end = self.request, self.first.offset, self._end
        if not self.first.header.tagged:
            return 0, end
        if request is None:
            return begin if self.begun else None, end
        if not request.size:
            # The STag and TO of a message without octets mean nothing (RFC 5041 5.2).
            return begin, end
        return min(request.begin, begin), request.end if end is None else end

    @property
    def _length(self) -> int | None:
        """Octets that were sent, if known.  A Last segment before the first shows no length."""
        begin, end = self._bounds
        return None if begin is None or end is None or end < begin else end - begin

    @property
    def has_all_segments(self) -> bool:
        """True if every segment is there, and none contradicts another."""
        if self._end is None or self._conflicts or len(self._stretches) > 1:
            return False
        there = self._stretches[0] if self._stretches else (self.first.offset, self.first.offset)
        return there == self._bounds

    @property
    def as_requested(self) -> bool | None:
        """True if an RDMA Read Response is as long as its Request asks for; None if unknown."""
        request, length = self.request, self._length
        if request is None or request.read is None or self._end is None or length is None:
            return None
        return length == request.size

    def _missing(self) -> Iterator[tuple[int | None, int | None]]:
        """Yield the missing stretches, in the form of :class:`MessageRecovered`."""
        begin, end = self._bounds
        at = self.first.offset if begin is None else begin
        if begin is None:
            yield None, None
        for start, stop in self._stretches:
            if end is not None and start > end:
                break
            if start > at:
                yield at, start - at
            at = max(at, stop)
        if end is None or at < end:
            yield at, None if end is None else end - at

    def event(self) -> MessageRecovered:
        """Return the message as an event."""
        header = self.first.header
        connection, direction, frame, time_ns, _ = self.completed_by
        request = self.request
        details = request or request_of(self.first)
        whole = self.has_all_segments
        return MessageRecovered(
            connection=connection,
            direction=direction,
            frame=frame,
            time_ns=time_ns,
            opcode=self.first.opcode,
            captured_length=sum(stop - start for start, stop in self._stretches) - self._cut_off,
            fpdus=self.segments,
            complete=whole and not self._cut_off,
            qn=header.qn,
            msn=header.msn,
            stag=header.stag,
            to=self.first.offset if header.tagged else None,
            length=self._length,
            missing=() if whole else tuple(islice(self._missing(), LISTED_STRETCHES)),
            cut_off=self._cut_off,
            duplicates=self._duplicates,
            overlaps=self._overlaps,
            conflicts=self._conflicts,
            answers=None if request is None else request.msn,
            requested=self.requested,
            as_requested=self.as_requested,
            read_request=None if details is None else details.read,
            request_frame=None if request is None or request.origin is None else request.captured,
            request_identifier=None if details is None else details.identifier,
            has_last=self._end is not None,
            header=self.first.rdmap_header if whole and self.segments == 1 else b"",
            captured=self._last_captured,
            captured_from=self._first_captured,
            parts=tuple(self._parts),
        )
