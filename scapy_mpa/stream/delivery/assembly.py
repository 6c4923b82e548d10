# SPDX-License-Identifier: GPL-2.0-or-later
"""One DDP message as far as its segments are there (RFC 5041 5.2).

A segment says where its octets lie: at a Message Offset, which begins at 0, or at a Tagged Offset,
which begins anywhere.  The one with the Last flag says where the message ends.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Final

from scapy_mpa.stream.delivery.held import HELD_BY_EACH, HELD_BY_PIECE
from scapy_mpa.stream.delivery.request import REQUESTS, Request
from scapy_mpa.stream.delivery.segment import WITH_HEADER, DDPSegment, Origin
from scapy_mpa.stream.events import MessageRecovered, Part
from scapy_mpa.wire.rdmap import parse_atomic_request, parse_read_request
from scapy_mpa.wire.rdmap_names import Opcode

LISTED_STRETCHES: Final = 64
"""Missing stretches that are listed of one message."""

LISTED_PARTS: Final = 4096
"""Segments that are listed of one message.  As many stretches with holes between are kept: more are
no loss but an attack, and do not count."""


@dataclass(slots=True, eq=False)
class DDPMessage:
    """A message as far as it is there."""

    first: DDPSegment
    """Its first segment in the stream."""
    begun: bool = True
    """Whether that is known to be the very first one, if the message is Tagged."""
    is_late: bool = False
    """Whether messages with higher MSNs were seen before."""
    repeats: bool = False
    """Whether a message with the same QN and MSN was complete before."""
    holes: int = 0
    """How many the direction had when the message before it began on its queue."""
    completed_by: Origin = field(init=False)
    """What was captured last of it, whichever place that has in the stream."""
    segments: int = 0
    next_offset: int = 0
    """The offset after the last segment taken."""
    lost_after: int = 0
    """Octets of the stream that are missing after the last segment taken."""
    asks: Request | None = None
    """What it asks for, if it is a Request and whole."""
    request: Request | None = None
    """The Request that it answers, if it is a Response."""
    requested: bool | None = None
    _stretches: list[tuple[int, int]] = field(default_factory=list)
    _parts: list[Part] = field(default_factory=list)
    _lowest: int = field(init=False)
    _end: int | None = None
    _cut_off: int = 0
    _duplicates: int = 0
    _overlaps: int = 0
    _conflicts: int = 0
    _last_captured: int = 0
    """The last frame that brought octets of it."""
    _first_captured: int = field(init=False)

    def __post_init__(self) -> None:
        first = self.first
        self.completed_by = first.origin
        self._first_captured = first.captured_from
        self._lowest = first.offset

    @property
    def held(self) -> int:
        """Octets of memory taken, roughly."""
        return HELD_BY_EACH + (len(self._stretches) + len(self._parts)) * HELD_BY_PIECE

    @property
    def lacks_header(self) -> bool:
        """Whether octets of the RDMAP header are missing that is all it has."""
        first = self.first
        has_header = first.opcode in WITH_HEADER and not first.header.tagged
        return has_header and (first.cut_off > 0 or not first.is_message)

    def what_it_asks(self) -> Request | None:
        """Return the Request that an Untagged message is, None if it is none."""
        first = self.first
        msn, opcode, body = first.header.msn, first.opcode, first.rdmap_header
        if msn is None or opcode not in REQUESTS or len(body) != WITH_HEADER[opcode]:
            return None
        if opcode == Opcode.READ_REQUEST:
            return Request(msn, first.origin, first.captured, read=parse_read_request(body))
        identifier = parse_atomic_request(body).request_identifier
        return Request(msn, first.origin, first.captured, identifier=identifier)

    def add(self, segment: DDPSegment) -> int:
        """Add a segment; return how much more is held than before."""
        at = segment.offset
        end = at + segment.length
        last = segment.header.last
        self.segments += 1
        if segment.origin[2] > self.completed_by[2]:
            self.completed_by = segment.origin
        self.next_offset = end
        self.lost_after = 0
        self._last_captured = max(self._last_captured, segment.captured)
        self._first_captured = min(self._first_captured, segment.captured_from)
        self._lowest = min(self._lowest, at)
        stretches = self._stretches
        before = self.held
        if len(self._parts) < LISTED_PARTS:
            frames = segment.frames
            brought_by = (frames,) if isinstance(frames, int) else frames
            self._parts.append(Part(segment.origin[4], brought_by, at, segment.length))
        highest = stretches[-1][1] if stretches else end
        if last:
            if self._end is None:
                self._end = end
                self._conflicts += highest > end
            else:
                self._conflicts += self._end != end
        elif self._end is not None and end > self._end:
            self._conflicts += 1
        if self.repeats:
            self._duplicates += 1
        # In stream order, all but the odd segment follows the one before.
        if stretches and highest == at:
            stretches[-1] = (stretches[-1][0], end)
            self._cut_off += segment.cut_off
        elif segment.length:
            self._insert(at, end, segment.cut_off)
        return self.held - before

    def _insert(self, at: int, end: int, cut_off: int) -> None:
        """Add a stretch, and count what of it was there."""
        stretches = self._stretches
        first = bisect_left(stretches, (at, at))
        if first and stretches[first - 1][1] >= at:
            first -= 1
        last = first
        there = 0
        while last < len(stretches) and stretches[last][0] <= end:
            start, stop = stretches[last]
            there += min(end, stop) - max(at, start)
            last += 1
        if not self.repeats:
            self._duplicates += there == end - at
            self._overlaps += 0 < there < end - at
        if not there:
            self._cut_off += cut_off
        if first < last:
            whole = min(at, stretches[first][0]), max(end, stretches[last - 1][1])
            stretches[first:last] = [whole]
        elif len(stretches) < LISTED_PARTS:
            stretches.insert(first, (at, end))

    # -- what there is to say -------------------------------------------------------------------

    @property
    def _asked_for(self) -> tuple[int, int] | None:
        """Where the octets lie that an RDMA Read asked for, if this brings any of them."""
        request = self.request
        if request is None or request.read is None or not request.size:
            # The STag and TO of a message without octets mean nothing (RFC 5041 5.2).
            return None
        return request.read.sink_to, request.end

    @property
    def _begin(self) -> int | None:
        """Where the message begins, if that is known."""
        if not self.first.header.tagged:
            return 0
        if self._asked_for is not None:
            return min(self._asked_for[0], self._lowest)
        is_empty = self.request is not None and not self.request.size
        return self._lowest if self.begun or is_empty else None

    @property
    def _expected_end(self) -> int | None:
        """Where the message ends, by its Last segment or by its Request."""
        if self._end is None and self._asked_for is not None:
            return self._asked_for[1]
        return self._end

    @property
    def has_all_segments(self) -> bool:
        """Whether every segment is there, and none denies it."""
        if self._end is None or self._conflicts or len(self._stretches) > 1:
            return False
        low, high = self._stretches[0] if self._stretches else (self._lowest, self._lowest)
        return low == self._begin and high == self._end

    def missing(self) -> tuple[tuple[int | None, int | None], ...]:
        """Return the stretches that no segment brought, as :class:`MessageRecovered` has them."""
        found: list[tuple[int | None, int | None]] = []
        begin = self._begin
        end = self._expected_end
        at = begin
        if begin is None:
            found.append((None, None))
            at = self._lowest
        for start, stop in self._stretches:
            assert at is not None
            if end is not None and start > end:
                break
            if start > at:
                found.append((at, start - at))
            at = max(at, stop)
        assert at is not None
        if end is None:
            found.append((at, None))
        elif at < end:
            found.append((at, end - at))
        return tuple(found[:LISTED_STRETCHES])

    @property
    def _length(self) -> int | None:
        """Octets that were sent, if that is known."""
        begin, end = self._begin, self._expected_end
        return None if begin is None or end is None else end - begin

    @property
    def as_requested(self) -> bool | None:
        """Whether the length of an RDMA Read Response is what its Request asks for, if known."""
        request, length = self.request, self._length
        if request is None or request.read is None or self._end is None or length is None:
            return None
        return length == request.size

    def event(self) -> MessageRecovered:
        """Return what there is to say of it."""
        header = self.first.header
        connection, direction, frame, time_ns, _ = self.completed_by
        request = self.request
        details = self.asks or request
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
            to=self._lowest if header.tagged else None,
            length=self._length,
            missing=() if whole else self.missing(),
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
