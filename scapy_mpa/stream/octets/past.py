# SPDX-License-Identifier: GPL-2.0-or-later
"""What is kept of connections that were ended: enough to know a late copy of their octets."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Final, TypeAlias

from scapy_mpa.stream.segment import SECOND, SYN, Segment, reverse_flow
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
        if segment.flags & SYN:
            return False
        flow = segment.flow
        return self._has(flow, 0, segment) or self._has(reverse_flow(flow), 1, segment)

    def _has(self, flow: bytes, direction: int, segment: Segment) -> bool:
        record = self._later.get(flow) or self._earlier.get(flow)
        if record is None:
            return False
        ended, *numbers = _RECORD.unpack_from(record)
        begin: int = numbers[2 * direction]
        length: int = numbers[2 * direction + 1]
        elapsed = segment.time_ns // SECOND - ended & _SECONDS
        # A clock may be set back, and each interface may have its own.
        if PAST_SECONDS < elapsed < _SECONDS + 1 - PAST_SECONDS:
            return False
        offset = sequence_number(segment.seq - begin)
        return offset + segment.length <= length and not any(
            of == direction
            and offset < (hole := sequence_number(seq - begin)) + lacking
            and hole < offset + segment.length
            for of, seq, lacking in _HOLE.iter_unpack(record[_RECORD.size :])
        )
