# SPDX-License-Identifier: GPL-2.0-or-later
"""What is kept of connections that were ended: enough to know a late copy of their octets."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Final, TypeAlias

from scapy_mpa.stream.segment import ACK, SECOND, SYN, Segment, reverse_flow
from scapy_mpa.stream.sequence import sequence_number

__all__ = [
    "PAST_CONNECTIONS",
    "PAST_HOLES",
    "PAST_OCTETS",
    "PAST_SECONDS",
    "PastConnections",
    "Span",
]

PAST_SECONDS: Final = 240
"""Seconds for which copies are known: two Maximum Segment Lifetimes, for which TCP itself waits
before it forgets a connection (RFC 9293 3.4.2, 3.6.1)."""

PAST_OCTETS: Final = 1 << 24
"""Last octets of a direction of which copies are known, more than nearly any window holds.  The
more they are, the likelier they are taken for those of a later connection whose SYN is missing."""

PAST_CONNECTIONS: Final = 1 << 16
"""Connections of which copies are known, the last ones; each takes some 200 octets of memory."""

PAST_HOLES: Final = 8
"""Holes of a direction that are remembered, the last ones; each takes some 10 octets of memory."""

_RECORD: Final = Struct(">5I")
"""When the connection was ended, in seconds; for each direction the sequence number of its first
octet, and how many octets it has from there on."""
_HOLE: Final = Struct(">?II")
"""Behind that for each hole: its direction, sequence number and length."""
_SECONDS: Final = 0xFFFFFFFF


Span: TypeAlias = tuple[int, int]
"""The positions between which the octets of a direction lie; equal if there are none."""


class PastConnections:
    """The connections that were ended last."""

    __slots__ = ("_earlier", "_later")

    def __init__(self) -> None:
        # By the flow of direction 0.  The earlier ones go all at once when the later ones are as
        # many as may be: taking out the first of a dictionary again and again costs more and more.
        self._earlier: dict[bytes, bytes] = {}
        self._later: dict[bytes, bytes] = {}

    def add(
        self,
        flow: bytes,
        time_ns: int,
        spans: tuple[Span, Span],
        holes: tuple[Sequence[Span], Sequence[Span]] = ((), ()),
    ) -> None:
        """Take note of a connection that was ended.

        :param flow: of direction 0.
        :param spans: of direction 0 and direction 1.
        :param holes: what of these was never captured, ascending.
        """
        if all(begin == end for begin, end in spans):
            return
        if len(self._later) >= PAST_CONNECTIONS // 2:
            self._earlier, self._later = self._later, {}
        numbers = []
        for begin, end in spans:
            length = min(end - begin, PAST_OCTETS)
            numbers += [sequence_number(end - length), length]
        record = _RECORD.pack(time_ns // SECOND & _SECONDS, *numbers)
        for direction, (each, (_, last)) in enumerate(zip(holes, spans, strict=True)):
            for begin, end in each[-PAST_HOLES:]:
                at = max(begin, last - PAST_OCTETS)
                if at < end:
                    record += _HOLE.pack(direction, sequence_number(at), end - at)
        self._later[flow] = record

    def has(self, segment: Segment) -> bool:
        """Tell whether a segment carries nothing but octets of a connection that was ended.

        A SYN is always a beginning: there are senders with the same initial sequence number each
        time.
        """
        known = self._known(segment)
        return known is not None and not known.lacked(segment)

    def fill(self, segment: Segment) -> list[Segment]:
        """Return what a segment brings of octets of a connection that was ended, and that were not
        captured before; from now on they were.

        :return: nothing if it carries any other octets, too.
        """
        known = self._known(segment)
        if known is None:
            return []
        parts = []
        for start, end in known.lacked(segment):
            parts.append(
                segment._replace(
                    seq=sequence_number(segment.seq + start),
                    flags=segment.flags & ACK,
                    payload=segment.payload[start:end],
                    length=end - start,
                )
            )
            known.fill(sequence_number(segment.seq + start), end - start)
        if parts:
            flows = self._later if known.flow in self._later else self._earlier
            flows[known.flow] = known.packed()
        return parts

    def _known(self, segment: Segment) -> _Known | None:
        """Return what is known of a connection that was ended, if a segment carries nothing but
        octets that lie between its first and its last."""
        if segment.flags & SYN:
            return None
        flow = segment.flow
        for direction, own in enumerate((flow, reverse_flow(flow))):
            record = self._later.get(own) or self._earlier.get(own)
            if record is not None:
                known = _Known(own, direction, record)
                if known.spans(segment):
                    return known
        return None


class _Known:
    """What is kept of one connection, for one of its directions.

    :param flow: of direction 0.
    :param direction: which one.
    :param record: of the connection.
    """

    __slots__ = ("_begin", "_direction", "_ended", "_head", "_holes", "_length", "flow")

    def __init__(self, flow: bytes, direction: int, record: bytes) -> None:
        self.flow = flow
        self._direction = direction
        self._head = record[: _RECORD.size]
        ended, *numbers = _RECORD.unpack(self._head)
        self._ended: int = ended
        self._begin: int = numbers[2 * direction]
        self._length: int = numbers[2 * direction + 1]
        self._holes: list[tuple[bool, int, int]] = list(_HOLE.iter_unpack(record[_RECORD.size :]))

    def spans(self, segment: Segment) -> bool:
        """Tell whether a segment lies between the first and the last octet, and came in time."""
        elapsed = segment.time_ns // SECOND - self._ended & _SECONDS
        # A clock may be set back, and each interface may have its own.
        if PAST_SECONDS < elapsed < _SECONDS + 1 - PAST_SECONDS:
            return False
        return sequence_number(segment.seq - self._begin) + segment.length <= self._length

    def lacked(self, segment: Segment) -> list[Span]:
        """Return where in such a segment octets are that were not captured before."""
        at = sequence_number(segment.seq - self._begin)
        parts = []
        for direction, seq, length in self._holes:
            hole = sequence_number(seq - self._begin)
            start, end = max(hole, at), min(hole + length, at + segment.length)
            if direction == self._direction and start < end:
                parts.append((start - at, end - at))
        return parts

    def fill(self, seq: int, length: int) -> None:
        """Take note of octets that lie in one hole and were captured now."""
        kept = []
        for direction, first, lacking in self._holes:
            before = sequence_number(seq - first)
            if direction != self._direction or before >= lacking:
                kept.append((direction, first, lacking))
                continue
            if before:
                kept.append((direction, first, before))
            # One that is filled in its midst becomes two.
            behind = lacking - before - length
            if behind:
                kept.append((direction, sequence_number(seq + length), behind))
        self._holes = kept

    def packed(self) -> bytes:
        """Return the record of the connection, as it is now."""
        record = self._head
        for direction in (False, True):
            holes = [each for each in self._holes if each[0] is direction]
            record += b"".join(_HOLE.pack(*each) for each in holes[-PAST_HOLES:])
        return record
