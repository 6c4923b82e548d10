# SPDX-License-Identifier: GPL-2.0-or-later
"""A SYN of a connection that is over comes again: a copy of all of it, or the next connection.

Copies come as late as the capture was written: two interfaces a buffer at a time, or one file
appended to another.  But some senders begin with the same number each time.  Only what follows the
SYN tells, so it is held until then.
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
"""Octets held of all that may be copies.  When there are more, the first ones are taken for copies:
what they could be compared with is forgotten by then."""


class Repeat:
    """The segments from the SYN on.

    :param former: the connection that is over, None if it was ended.
    """

    __slots__ = ("_closed", "former", "octets", "segments")

    def __init__(self, former: Connection | None) -> None:
        self.former = former
        self.segments: list[Segment] = []
        """In the order of capture."""
        self.octets = 0
        """What they take in memory."""
        self._closed: set[bytes] = set()

    def hold(self, segment: Segment) -> bool:
        """Hold a segment; tell whether the whole connection has come again with it."""
        self.segments.append(segment)
        self.octets += len(segment.payload) + CHUNK_OVERHEAD
        if segment.flags & FIN:
            self._closed.add(segment.flow)
        return bool(segment.flags & RST) or len(self._closed) == 2


def begin(connection: Connection | None, past: PastConnections, segment: Segment) -> Repeat | None:
    """Return where to hold a segment if it may be a copy of the SYN of a connection that is over.

    :param connection: the one that has the ports, if there is one.
    :param past: those that were ended.
    """
    if not segment.flags & SYN or (connection is not None and not connection.lingers):
        return None
    if connection is not None and belongs(*connection.pair(segment.flow), segment):
        return Repeat(connection)
    return Repeat(None) if past.begins(segment) else None


def shows_new(connection: Connection | None, past: PastConnections, segment: Segment) -> bool:
    """Tell whether a segment after such a SYN shows that the next connection has begun.

    :param connection: the one that is over, None if it was ended.
    :param past: those that were ended.
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
        # There are octets after it.
        return True
    if segment.length <= 1 or half.differs:
        # A keep-alive probe need not repeat its octet rightly (RFC 9293 3.8.4).  And where copies
        # differed before, they will again.
        return False
    recent = connection.common.recent
    return recent.differing(position, segment.payload, half.islands, half) is not None
