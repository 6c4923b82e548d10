# SPDX-License-Identifier: GPL-2.0-or-later
"""Keeps enough of ended connections to recognise late copies of their octets."""

from __future__ import annotations

from struct import Struct
from typing import Final, TypeAlias

from scapy_mpa.stream.segment import FIN, RST, SECOND, SYN, Segment, reverse_flow
from scapy_mpa.stream.sequence import SEQUENCE_MASK, sequence_number
from scapy_mpa.wire.crc import crc32c

PAST_SECONDS: Final = 240
"""Seconds for which copies are recognised: two Maximum Segment Lifetimes.  TCP itself waits so long
before it forgets a connection (RFC 9293 3.4.2, 3.6.1)."""

PAST_OCTETS: Final = 1 << 24
"""Copies of so many last octets of a direction are recognised: more than nearly any window.  With
a larger number, octets of a later connection without its SYN would more often count as copies."""

PAST_CONNECTIONS: Final = 1 << 16
"""Pairs of ports whose last connections are kept; each connection takes some 300 octets of
memory."""

PAST_OF_PORTS: Final = 4
"""Last connections that are kept of the same ports."""

_RECORD: Final = Struct(">I" + 2 * "IIIBI")
"""The time at which the connection was ended, in seconds.  Then for each direction: the sequence
numbers of its first octet and of its end, the number of recognised octets before the end, and its
tail."""
_DIRECTION: Final = 5
"""Items of a direction."""

TAIL: Final = 64
"""Number of last octets of a direction whose checksum is kept."""

Tail: TypeAlias = tuple[int, int]
"""The last octets of a direction: their number, and their CRC32c."""

_NO_TAIL: Final[Tail] = (0, 0)

Span: TypeAlias = tuple[int, int]
"""The positions of the first octet of a direction and of its end; equal if it has no octets."""


def _numbers(span: Span, tail: Tail) -> tuple[int, ...]:
    """Return the items of a direction in a record."""
    begin, end = span
    length = min(end - begin, PAST_OCTETS)
    return begin & SEQUENCE_MASK, end & SEQUENCE_MASK, length, *tail


class PastConnections:
    """The last connections that were ended."""

    __slots__ = ("_earlier", "_later")

    def __init__(self) -> None:
        # By the flow of direction 0.  When ``_later`` is full, ``_earlier`` is dropped at once: to
        # remove the first key of a dictionary again and again costs more and more.
        self._earlier: dict[bytes, tuple[bytes, ...]] = {}
        self._later: dict[bytes, tuple[bytes, ...]] = {}

    def add(
        self,
        flow: bytes,
        time_ns: int,
        spans: tuple[Span, Span],
        tails: tuple[Tail, Tail] = (_NO_TAIL, _NO_TAIL),
    ) -> None:
        """Keep a connection that was ended.

        :param flow: flow of direction 0.
        :param time_ns: capture time of the last segment.
        :param spans: spans of direction 0 and direction 1.
        :param tails: tails of direction 0 and direction 1, if they are known.
        """
        if all([begin == end for begin, end in spans]):
            return
        if len(self._later) >= PAST_CONNECTIONS // 2:
            self._earlier, self._later = self._later, {}
        first, second = map(_numbers, spans, tails)
        record = _RECORD.pack(time_ns // SECOND & SEQUENCE_MASK, *first, *second)
        records = self._later.get(flow) or self._earlier.get(flow) or ()
        self._later[flow] = record, *records[: PAST_OF_PORTS - 1]

    def spans(self, segment: Segment, apart: int) -> bool:
        """Return whether all octets of a segment lie in the span of an ended connection.

        :param segment: not a SYN, which :meth:`begins` judges.
        :param apart: the known difference between clocks of the capture, in seconds.
        """
        return any([known.spans(segment, apart) for known in self._of_ports(segment.flow)])

    def begins(self, segment: Segment) -> bool:
        """Return whether a segment is a SYN with the number of an ended connection, at any time."""
        directions = self._of_ports(segment.flow)
        return bool(segment.flags & SYN) and any([known.begins(segment) for known in directions])

    def contradicts(self, segment: Segment) -> bool:
        """Return whether a segment cannot belong to any ended connection on its ports."""
        return all([known.contradicts(segment) for known in self._of_ports(segment.flow)])

    def renew(self, segment: Segment) -> None:
        """Keep the ended connections on the ports of a segment as if they ended at its time."""
        seconds = segment.time_ns // SECOND & SEQUENCE_MASK
        for flow in (segment.flow, reverse_flow(segment.flow)):
            flows = self._later if flow in self._later else self._earlier
            if flow in flows:
                flows[flow] = tuple(
                    _RECORD.pack(seconds, *_RECORD.unpack(record)[1:]) for record in flows[flow]
                )

    def _of_ports(self, flow: bytes) -> list[_PastDirection]:
        return [
            _PastDirection(direction, record)
            for direction, key in enumerate((flow, reverse_flow(flow)))
            for record in self._later.get(key) or self._earlier.get(key) or ()
        ]


class _PastDirection:
    """One direction of an ended connection.

    :param direction: 0 or 1.
    :param record: the record of the connection.
    """

    def __init__(self, direction: int, record: bytes) -> None:
        self._ended: int
        self._ended, *items = _RECORD.unpack(record)
        numbers: list[int] = items[_DIRECTION * direction :][:_DIRECTION]
        self._first, self._end, self._length, *self._tail = numbers
        self._begin = sequence_number(self._end - self._length)

    def begins(self, segment: Segment) -> bool:
        """Return whether a SYN has the initial sequence number of the direction."""
        return sequence_number(segment.seq + 1) == self._first

    def contradicts(self, segment: Segment) -> bool:
        """Return whether its place or its octets show that a segment is of another connection."""
        if segment.flags & SYN:
            return not self.begins(segment)
        if segment.flags & RST:
            return False
        length = segment.length
        end = sequence_number(segment.seq + length)
        if segment.flags & FIN and end != self._end:
            return True
        whole = sequence_number(self._end - self._first)
        if not length:
            return False
        if sequence_number(segment.seq - self._first) + length > whole:
            return True
        tail, crc = self._tail
        is_last = end == self._end and length == len(segment.payload) and 0 < tail <= length
        return is_last and crc32c(segment.payload[-tail:]) != crc

    def spans(self, segment: Segment, apart: int) -> bool:
        """Return whether a segment lies in the recognised octets, and came in time."""
        elapsed = segment.time_ns // SECOND - self._ended & SEQUENCE_MASK
        # Each interface may have its own clock.  A segment with a time before the end is not of a
        # later connection.
        if PAST_SECONDS + apart < elapsed <= SEQUENCE_MASK // 2:
            return False
        # An acknowledgement may lie one further: after the FIN, which counts as an octet.
        end = self._length + (not segment.length)
        return sequence_number(segment.seq - self._begin) + segment.length <= end
