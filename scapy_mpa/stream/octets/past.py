# SPDX-License-Identifier: GPL-2.0-or-later
"""What is kept of connections that were ended: enough to know a late copy of their octets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import Struct
from typing import Final, TypeAlias

from scapy_mpa.stream.segment import ACK, FIN, RST, SECOND, SYN, Segment, reverse_flow
from scapy_mpa.stream.sequence import sequence_number
from scapy_mpa.wire.crc import crc32c

__all__ = [
    "PAST_CONNECTIONS",
    "PAST_HOLES",
    "PAST_OCTETS",
    "PAST_OF_PORTS",
    "PAST_SECONDS",
    "TAIL",
    "PastConnections",
    "Span",
    "Tail",
]

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

PAST_HOLES: Final = 8
"""Holes of a direction that are remembered, the last ones; each takes some 10 octets of memory."""

_RECORD: Final = Struct(">I" + 2 * "IIIBI")
"""When the connection was ended, in seconds; for each direction the sequence number of its first
octet and of its end, how many octets before the end are known, and its tail."""
_DIRECTION: Final = 5
"""Numbers of a direction."""
_HOLE: Final = Struct(">?II")
"""Behind that for each hole: its direction, sequence number and length."""
_SECONDS: Final = 0xFFFFFFFF

TAIL: Final = 64
"""Last octets of a direction of which a checksum is kept."""

Tail: TypeAlias = tuple[int, int]
"""How many octets, and their CRC-32."""

_NO_TAIL: Final[Tail] = (0, 0)

Span: TypeAlias = tuple[int, int]
"""The positions between which the octets of a direction lie; equal if there are none."""


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
        holes: tuple[Sequence[Span], Sequence[Span]] = ((), ()),
        tails: tuple[Tail, Tail] = (_NO_TAIL, _NO_TAIL),
    ) -> None:
        """Take note of a connection that was ended.

        :param flow: of direction 0.
        :param spans: of direction 0 and direction 1.
        :param holes: what of these was never captured, ascending.
        :param tails: of direction 0 and direction 1, as far as they are known.
        """
        if all(begin == end for begin, end in spans):
            return
        if len(self._later) >= PAST_CONNECTIONS // 2:
            self._earlier, self._later = self._later, {}
        numbers: list[int] = []
        for (begin, end), tail in zip(spans, tails, strict=True):
            length = min(end - begin, PAST_OCTETS)
            numbers += [sequence_number(begin), sequence_number(end), length, *tail]
        record = _RECORD.pack(time_ns // SECOND & _SECONDS, *numbers)
        for direction, (each, (_, last)) in enumerate(zip(holes, spans, strict=True)):
            for begin, end in each[-PAST_HOLES:]:
                at = max(begin, last - PAST_OCTETS)
                if at < end:
                    record += _HOLE.pack(direction, sequence_number(at), end - at)
        records = self._later.get(flow) or self._earlier.get(flow) or ()
        self._later[flow] = record, *records[: PAST_OF_PORTS - 1]

    def has(self, segment: Segment) -> bool:
        """Tell whether a segment carries nothing but octets of a connection that was ended.

        A SYN is a beginning, unless :meth:`begins` knows better.
        """
        known = self._known(segment)
        return known is not None and not known.lacked(segment)

    def spans(self, segment: Segment) -> bool:
        """Tell whether a segment lies within a connection that was ended, captured then or not."""
        return self._known(segment) is not None

    def begins(self, segment: Segment) -> bool:
        """Tell whether a segment is a SYN with the number of one that was ended, at any time."""
        if not segment.flags & SYN:
            return False
        flow = segment.flow
        for direction, own in (0, flow), (1, reverse_flow(flow)):
            for record in self._later.get(own) or self._earlier.get(own) or ():
                if _Known(own, direction, record, self.apart).begins(segment):
                    return True
        return False

    def contradicts(self, segment: Segment) -> bool:
        """Tell whether a segment can be of no connection that was ended on its ports."""
        return all(known.contradicts(segment) for known in self._of_ports(segment.flow))

    def renew(self, segment: Segment) -> None:
        """Keep the connection that was ended on the ports of a segment as if it ended then."""
        for known in list(self._of_ports(segment.flow)):
            known.renew(segment.time_ns)
            self._keep(known)

    def _of_ports(self, flow: bytes) -> Iterator[_Known]:
        for direction, own in enumerate((flow, reverse_flow(flow))):
            for record in self._later.get(own) or self._earlier.get(own) or ():
                yield _Known(own, direction, record, self.apart)

    def _keep(self, known: _Known) -> None:
        flows = self._later if known.flow in self._later else self._earlier
        records = flows[known.flow]
        flows[known.flow] = tuple(
            known.packed() if each is known.record else each for each in records
        )

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
            self._keep(known)
        return parts

    def _known(self, segment: Segment) -> _Known | None:
        """Return what is known of a connection that was ended, if a segment carries nothing but
        octets that lie between its first and its last."""
        if segment.flags & SYN:
            return None
        known = self._of_ports(segment.flow)
        return next((each for each in known if each.spans(segment)), None)


class _Known:
    """What is kept of one connection, for one of its directions.

    :param flow: of direction 0.
    :param direction: which one.
    :param record: of the connection.
    :param apart: seconds by which clocks are apart.
    """

    __slots__ = (
        "_apart",
        "_begin",
        "_direction",
        "_end",
        "_ended",
        "_first",
        "_head",
        "_holes",
        "_length",
        "_tail",
        "flow",
        "record",
    )

    def __init__(self, flow: bytes, direction: int, record: bytes, apart: int) -> None:
        self.flow = flow
        self._apart = apart
        self.record = record
        self._direction = direction
        self._head = record[: _RECORD.size]
        ended, *numbers = _RECORD.unpack(self._head)
        self._ended: int = ended
        own: list[int] = numbers[_DIRECTION * direction :][:_DIRECTION]
        self._first, self._end, self._length, *tail = own
        self._begin = sequence_number(self._end - self._length)
        self._tail: Sequence[int] = tail
        self._holes: list[tuple[bool, int, int]] = list(_HOLE.iter_unpack(record[_RECORD.size :]))

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

    def renew(self, time_ns: int) -> None:
        """Take it that the connection ended at a time, in nanoseconds since the epoch."""
        seconds = time_ns // SECOND & _SECONDS
        self._head = _RECORD.pack(seconds, *_RECORD.unpack(self._head)[1:])

    def spans(self, segment: Segment) -> bool:
        """Tell whether a segment lies between the first and the last octet, and came in time."""
        elapsed = segment.time_ns // SECOND - self._ended & _SECONDS
        # Each interface may have a clock of its own.  And what was captured before the end, by any
        # clock, is not of a later connection.
        if PAST_SECONDS + self._apart < elapsed <= _SECONDS // 2:
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
