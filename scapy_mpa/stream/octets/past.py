# SPDX-License-Identifier: GPL-2.0-or-later
"""What is kept of connections that were ended: enough to know a late copy of their octets."""

from __future__ import annotations

from struct import Struct
from typing import Final, TypeAlias

from scapy_mpa.stream.segment import FIN, RST, SECOND, SYN, Segment, reverse_flow
from scapy_mpa.stream.sequence import SEQUENCE_MASK, sequence_number
from scapy_mpa.wire.crc import crc32c

PAST_SECONDS: Final = 240
"""Seconds for which copies are known: two Maximum Segment Lifetimes, for which TCP itself waits
before it forgets a connection (RFC 9293 3.4.2, 3.6.1)."""

PAST_OCTETS: Final = 1 << 24
"""Last octets of a direction of which copies are known, more than nearly any window holds.  The
more they are, the likelier they are taken for those of a later connection whose SYN is missing."""

PAST_CONNECTIONS: Final = 1 << 16
"""Ports of which copies of connections are known, the last ones; each connection takes some 300
octets of memory."""

PAST_OF_PORTS: Final = 4
"""Connections on the same ports of which copies are known, the last ones."""

_RECORD: Final = Struct(">I" + 2 * "IIIBI")
"""When the connection was ended, in seconds; for each direction the sequence number of its first
octet and of its end, how many octets before the end are known, and its tail."""
_DIRECTION: Final = 5
"""Numbers of a direction."""

TAIL: Final = 64
"""Last octets of a direction of which a checksum is kept."""

Tail: TypeAlias = tuple[int, int]
"""How many octets, and their CRC-32."""

_NO_TAIL: Final[Tail] = (0, 0)

Span: TypeAlias = tuple[int, int]
"""The positions between which the octets of a direction lie; equal if there are none."""


def _numbers(span: Span, tail: Tail) -> tuple[int, ...]:
    """Return what is kept of a direction."""
    begin, end = span
    length = min(end - begin, PAST_OCTETS)
    return begin & SEQUENCE_MASK, end & SEQUENCE_MASK, length, *tail


class PastConnections:
    """The connections that were ended last."""

    __slots__ = ("_earlier", "_later", "apart")

    def __init__(self) -> None:
        self.apart = 0
        """Seconds by which the clocks of the capture are apart, as far as is known."""
        # By the flow of direction 0.  The earlier ones go all at once when the later ones are as
        # many as may be: taking out the first of a dictionary again and again costs more and more.
        self._earlier: dict[bytes, tuple[bytes, ...]] = {}
        self._later: dict[bytes, tuple[bytes, ...]] = {}

    def add(
        self,
        flow: bytes,
        time_ns: int,
        spans: tuple[Span, Span],
        tails: tuple[Tail, Tail] = (_NO_TAIL, _NO_TAIL),
    ) -> None:
        """Take note of a connection that was ended.

        :param flow: of direction 0.
        :param spans: of direction 0 and direction 1.
        :param tails: of direction 0 and direction 1, as far as they are known.
        """
        if not any([end - begin for begin, end in spans]):
            return
        if len(self._later) >= PAST_CONNECTIONS // 2:
            self._earlier, self._later = self._later, {}
        one, other = map(_numbers, spans, tails)
        record = _RECORD.pack(time_ns // SECOND & SEQUENCE_MASK, *one, *other)
        records = self._later.get(flow) or self._earlier.get(flow) or ()
        self._later[flow] = record, *records[: PAST_OF_PORTS - 1]

    def spans(self, segment: Segment) -> bool:
        """Tell whether all octets of a segment lie between the first and the last one of a
        connection that was ended.

        A SYN is a beginning, unless :meth:`begins` knows better.
        """
        known = self._of_ports(segment.flow)
        return not segment.flags & SYN and any([each.spans(segment) for each in known])

    def begins(self, segment: Segment) -> bool:
        """Tell whether a segment is a SYN with the number of one that was ended, at any time."""
        known = self._of_ports(segment.flow)
        return bool(segment.flags & SYN) and any([each.begins(segment) for each in known])

    def contradicts(self, segment: Segment) -> bool:
        """Tell whether a segment can be of no connection that was ended on its ports."""
        return all([known.contradicts(segment) for known in self._of_ports(segment.flow)])

    def renew(self, segment: Segment) -> None:
        """Keep the connection that was ended on the ports of a segment as if it ended then."""
        seconds = segment.time_ns // SECOND & SEQUENCE_MASK
        for flow in (segment.flow, reverse_flow(segment.flow)):
            flows = self._later if flow in self._later else self._earlier
            if flow in flows:
                flows[flow] = tuple(
                    _RECORD.pack(seconds, *_RECORD.unpack(each)[1:]) for each in flows[flow]
                )

    def _of_ports(self, flow: bytes) -> list[_Known]:
        return [
            _Known(direction, record, self.apart)
            for direction, own in enumerate((flow, reverse_flow(flow)))
            for record in self._later.get(own) or self._earlier.get(own) or ()
        ]


class _Known:
    """What is kept of one connection, for one of its directions.

    :param direction: which one.
    :param record: of the connection.
    :param apart: seconds by which clocks are apart.
    """

    def __init__(self, direction: int, record: bytes, apart: int) -> None:
        self._apart = apart
        self._ended: int
        self._ended, *numbers = _RECORD.unpack(record)
        own: list[int] = numbers[_DIRECTION * direction :][:_DIRECTION]
        self._first, self._end, self._length, *self._tail = own
        self._begin = sequence_number(self._end - self._length)

    def begins(self, segment: Segment) -> bool:
        """Tell whether a SYN has the number with which the direction began."""
        return sequence_number(segment.seq + 1) == self._first

    def contradicts(self, segment: Segment) -> bool:
        """Tell whether a segment cannot be of the connection: by its place, or by its octets."""
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

    def spans(self, segment: Segment) -> bool:
        """Tell whether a segment lies between the first and the last octet, and came in time."""
        elapsed = segment.time_ns // SECOND - self._ended & SEQUENCE_MASK
        # Each interface may have a clock of its own.  And what was captured before the end, by any
        # clock, is not of a later connection.
        if PAST_SECONDS + self._apart < elapsed <= SEQUENCE_MASK // 2:
            return False
        # After a FIN, which counts as an octet, there are only acknowledgements.
        end = self._length + (not segment.length)
        return sequence_number(segment.seq - self._begin) + segment.length <= end
