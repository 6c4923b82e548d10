# SPDX-License-Identifier: GPL-2.0-or-later
"""The captured octets of one direction.  The first captured copy of an octet counts."""

from collections.abc import Sequence

from .impair import SYN, Half, Segment

_KEY = 16
"""Octets of a Key."""
_LONG = 64
"""Least octets of a segment whose boundaries prove something.  Shorter ones may end anywhere."""


class Captured:
    """The captured octets of one direction, by offset in the Full Operation Phase."""

    def __init__(self, segments: Sequence[tuple[Segment, int]], half: Half, direction: int) -> None:
        self.before = len(half.startup)
        size = self.before + len(half.octets)
        self._carried = bytearray(size)
        self._captured = bytearray(size)
        self._at_first = bytearray(size)
        stream = half.startup + half.octets
        frame = half.streaming
        # Flags and revision of zeros after a Key read like a Marker.
        is_plain = stream[frame + _KEY : frame + _KEY + 2] != bytes(2)
        has_syn, begins, ends, is_overtaken, reached = False, False, False, frame > 0, 0
        self._octets = bytearray(size)
        for segment, left in segments:
            if segment.direction != direction:
                continue
            has_syn |= bool(segment.flags & SYN)
            # Streams made here are far below 2 GiB: the signed distance is the offset.
            at = (segment.seq - half.base + 2**31) % 2**32 - 2**31 + self.before
            end = at + len(segment.payload)
            if at < 0 or end > size:
                continue
            begins |= at == frame and len(segment.payload) >= min(_LONG, self.before - frame)
            ends |= end == self.before
            is_overtaken |= reached < min(at, self.before)
            reached = max(reached, end)
            self._put(at, segment.payload[:left])
            self._carried[at:end] = b"\1" * (end - at)
        self._stream = stream
        self._shows_startup = has_syn or (begins and ends) or (is_plain and not is_overtaken)

    def _put(self, at: int, octets: bytes) -> None:
        """Place octets where there are none yet."""
        end = at + len(octets)
        begin = self._captured.find(0, at, end)
        while begin >= 0:
            stop = self._captured.find(1, begin, end)
            stop = end if stop < 0 else stop
            self._octets[begin:stop] = octets[begin - at : stop - at]
            self._captured[begin:stop] = b"\1" * (stop - begin)
            for place in range(begin, stop):
                # Octets that were cut off the first copy stay cut off.
                self._at_first[place] = not self._carried[place]
            begin = self._captured.find(0, stop, end)

    @property
    def has_startup(self) -> bool:
        """Whether the startup frame was captured whole, and cannot be anything else.

        It is certain if the SYN was captured, or if the frame fills its segments.  Otherwise the
        frame must be captured first, before any other octets of its direction.
        """
        return self.is_whole(-self.before, 0) and self._shows_startup

    def is_whole(self, start: int, end: int) -> bool:
        """Whether the first copy of each octet was captured, and equals the octet that was sent."""
        return self.captured_until(start, end) == end

    def is_complete(self, start: int, end: int) -> bool:
        """Whether the first copy of each octet was captured, right or wrong."""
        return self._at_first.find(0, start + self.before, end + self.before) < 0

    def differs(self, start: int, end: int) -> bool:
        """Whether captured octets differ from those of the stream."""
        start, end = start + self.before, end + self.before
        first, sent = self._octets[start:end], self._stream[start:end]
        if first == sent:
            return False
        known = self._captured[start:end]
        return any(is_known and a != b for is_known, a, b in zip(known, first, sent, strict=True))

    def first_copies(self, places: Sequence[int]) -> bytes:
        """The first copies of the octets at some places, up to one that was not captured."""
        octets = bytearray()
        for place in places:
            at = place + self.before
            if at >= len(self._captured) or not self._captured[at]:
                break
            octets.append(self._octets[at])
        return bytes(octets)

    def seen(self, places: Sequence[int]) -> bytes:
        """The octets at places of the stream: the first captured copy, else the octet sent."""
        ats = [place + self.before for place in places if place + self.before < len(self._octets)]
        return bytes(self._octets[at] if self._captured[at] else self._stream[at] for at in ats)

    def is_carried(self, start: int, end: int) -> bool:
        """Whether captured segments held each octet, even if the snap length cut some off."""
        return self._carried.find(0, start + self.before, end + self.before) < 0

    def captured_until(self, start: int, end: int, *, at_last: bool = False) -> int:
        """The place up to which octets of the stream were captured without a hole.

        at_last: octets that only later copies brought count, too.
        """
        start += self.before
        end += self.before
        hole = (self._captured if at_last else self._at_first).find(0, start, end)
        if hole >= 0:
            end = hole
        first, sent = self._octets[start:end], self._stream[start:end]
        if first != sent:
            pairs = zip(first, sent, strict=True)
            end = start + next(at for at, (a, b) in enumerate(pairs) if a != b)
        return end - self.before
