# SPDX-License-Identifier: GPL-2.0-or-later
"""Keeps enough of ended connections to recognise late copies of their octets."""

from __future__ import annotations

from struct import Struct
from typing import Final, TypeAlias

from scapy_mpa.stream.lingering import LINGER_NS
from scapy_mpa.stream.segment import SECOND, SYN, Segment, reverse_flow
from scapy_mpa.stream.sequence import SEQUENCE_MASK, sequence_number

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

_RECORD: Final = Struct(">I" + 2 * "III")
"""The time at which the connection was ended, in seconds.  Then for each direction: the sequence
numbers of its first octet and of its end, and the number of recognised octets before the end."""
_DIRECTION: Final = 3
"""Items of a direction."""

Span: TypeAlias = tuple[int, int]
"""The positions of the first octet of a direction and of its end; equal if it has no octets."""


def _numbers(span: Span) -> tuple[int, ...]:
    """Return the items of a direction in a record."""
    begin, end = span
    return begin & SEQUENCE_MASK, end & SEQUENCE_MASK, min(end - begin, PAST_OCTETS)


class PastConnections:
    """The last connections that were ended."""

    __slots__ = ("_earlier", "_later")

    def __init__(self) -> None:
        # By the flow of direction 0.  When ``_later`` is full, ``_earlier`` is dropped at once: to
        # remove the first key of a dictionary again and again costs more and more.
        self._earlier: dict[bytes, tuple[bytes, ...]] = {}
        self._later: dict[bytes, tuple[bytes, ...]] = {}

    def add(self, flow: bytes, time_ns: int, spans: tuple[Span, Span]) -> None:
        """Keep a connection that was ended.

        :param flow: flow of direction 0.
        :param time_ns: capture time of the last segment.
        :param spans: spans of direction 0 and direction 1.
        """
        if all([begin == end for begin, end in spans]):
            return
        if len(self._later) >= PAST_CONNECTIONS // 2:
            self._earlier, self._later = self._later, {}
        first, second = map(_numbers, spans)
        record = _RECORD.pack(time_ns // SECOND & SEQUENCE_MASK, *first, *second)
        records = self._later.get(flow) or self._earlier.get(flow) or ()
        self._later[flow] = record, *records[: PAST_OF_PORTS - 1]

    def spans(self, segment: Segment, apart: int) -> bool:
        """Return whether all octets of a segment lie in the span of an ended connection.

        :param segment: not a SYN, which :meth:`begins` judges.
        :param apart: the known difference between clocks of the capture, in seconds.
        """
        for elapsed, _, end, length in self._of_ports(segment):
            # Each interface may have its own clock.  A segment with a time before the end is not of
            # a later connection.
            is_in_time = not PAST_SECONDS + apart < elapsed <= SEQUENCE_MASK // 2
            # An acknowledgement may lie one further: after the FIN, which counts as an octet.
            upto = length + (not segment.length)
            at = sequence_number(segment.seq - end + length)
            if is_in_time and at + segment.length <= upto:
                return True
        return False

    def begins(self, segment: Segment) -> bool:
        """Return whether a segment copies the SYN of an ended connection, by its number.

        Long after the end, it is the SYN of a new connection.
        """
        if not segment.flags & SYN:
            return False
        seq = sequence_number(segment.seq + 1)
        soon = [
            first
            for elapsed, first, _, _ in self._of_ports(segment)
            if not LINGER_NS // SECOND < elapsed <= SEQUENCE_MASK // 2
        ]
        return seq in soon

    def _of_ports(self, segment: Segment) -> list[tuple[int, int, int, int]]:
        """Return what is kept of the direction of a segment in each connection on its ports.

        The seconds since the end, and the items of the direction.
        """
        found = []
        flow, seconds = segment.flow, segment.time_ns // SECOND
        for direction, key in enumerate((flow, reverse_flow(flow))):
            for record in self._later.get(key) or self._earlier.get(key) or ():
                ended, *items = _RECORD.unpack(record)
                first, end, length = items[_DIRECTION * direction :][:_DIRECTION]
                found.append((seconds - ended & SEQUENCE_MASK, first, end, length))
        return found
