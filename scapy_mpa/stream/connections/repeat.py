# SPDX-License-Identifier: GPL-2.0-or-later
"""Repeated SYNs of a connection that is over: a copy of that connection, or a new connection.

Copies can come late: a capture may take two interfaces a buffer at a time, or one file may be
appended to another.  But some senders use the same initial sequence number for each connection.
Only the segments after the SYN show which case it is, so all are held until then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scapy_mpa.stream.halves.extent import belongs
from scapy_mpa.stream.octets.chunk import CHUNK_OVERHEAD
from scapy_mpa.stream.segment import FIN, RST, SYN, Segment
from scapy_mpa.stream.sequence import unwrap

if TYPE_CHECKING:
    from scapy_mpa.stream.connections.connection import Connection
    from scapy_mpa.stream.octets.past import PastConnections


HELD_REPEATS: Final = 4 << 20
"""Octets of memory for all held segments.  Beyond that, the first ones count as copies: the octets
to compare them with are forgotten by then."""


class Repeat:
    """The held segments, from the repeated SYN on.

    :param former: the connection that is over, None if the connection table has dropped it.
    """

    __slots__ = ("_closed", "former", "octets", "segments")

    def __init__(self, former: Connection | None) -> None:
        self.former = former
        self.segments: list[Segment] = []
        """In the order of capture."""
        self.octets = 0
        """Octets of memory that the segments take."""
        self._closed: set[bytes] = set()

    def hold(self, segment: Segment) -> bool:
        """Hold a segment; return whether the whole connection is repeated now."""
        self.segments.append(segment)
        self.octets += len(segment.payload) + CHUNK_OVERHEAD
        if segment.flags & FIN:
            self._closed.add(segment.flow)
        return bool(segment.flags & RST) or len(self._closed) == 2


def begin(connection: Connection | None, past: PastConnections, segment: Segment) -> Repeat | None:
    """Return a new :class:`Repeat` if a segment may copy the SYN of a connection that is over.

    :param connection: the connection that has the ports now, if there is one.
    :param past: connections that the connection table has dropped.
    """
    if not segment.flags & SYN or (connection is not None and not connection.lingers):
        return None
    if connection is not None and belongs(*connection.pair(segment.flow), segment):
        return Repeat(connection)
    return Repeat(None) if past.begins(segment) else None


def shows_new(connection: Connection | None, past: PastConnections, segment: Segment) -> bool:
    """True if a segment after a repeated SYN shows that a new connection has begun.

    :param connection: the connection that is over, None if the connection table has dropped it.
    :param past: connections that the connection table has dropped.
    """
    if connection is None:
        return past.contradicts(segment)
    half, peer = connection.pair(segment.flow)
    carries = segment.length > 0 or segment.flags & (SYN | FIN)
    if not belongs(half, peer, segment):
        return bool(carries)
    if half.high is None or not carries or segment.flags & (SYN | RST):
        return False
    position = unwrap(segment.seq, half.high)
    end = position + segment.length
    if half.fin is not None and end > half.fin:
        return True
    if segment.flags & FIN and end < half.high:
        # The connection that is over has octets after this FIN.
        return True
    if segment.length <= 1 or half.differs:
        # A keep-alive probe may carry any octet (RFC 9293 3.8.4).  And if earlier copies differed,
        # a difference shows nothing.
        return False
    recent = connection.common.recent
    return recent.differing(position, segment.payload, half.islands, half) is not None
