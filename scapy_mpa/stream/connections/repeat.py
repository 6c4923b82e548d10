# SPDX-License-Identifier: GPL-2.0-or-later
"""Repeated SYNs of a connection that is over: a copy of that connection, or a new connection.

Copies can come late: a capture may take two interfaces a buffer at a time.  But some senders use
the same initial sequence numbers for each connection.  So the SYN and all that follows count as
copies until a segment differs from what was captured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scapy_mpa.stream.halves.extent import belongs
from scapy_mpa.stream.segment import Segment
from scapy_mpa.stream.sequence import unwrap
from scapy_mpa.wire.tcp import FIN, RST, SYN

if TYPE_CHECKING:
    from scapy_mpa.stream.connections.connection import Connection


def brings_octets(connection: Connection, segment: Segment) -> bool:
    """True if a segment of a connection that is over brings octets that were not captured.

    Then the segment is late, and is no copy.  The octets fill a hole between captured ones, or
    nothing was captured of their direction.
    """
    half = connection.half(segment.flow)
    if half.high is None:
        return True
    if not half.octets or not segment.length:
        return segment.length > 0
    items, position = half.islands.items, unwrap(segment.seq, half.high)
    end = position + segment.length
    if not items or position < items[0].start or end > max(half.high, half.fin or 0):
        return False
    island = half.islands.at(position)
    return island is None or end > island.end


def shows_new(connection: Connection, segment: Segment) -> bool:
    """True if a segment is not of this connection, which is over, but of a new one.

    Its place shows it, or its octets, if they can still be compared.
    """
    half = connection.half(segment.flow)
    carries = segment.length > 0 or segment.flags & (SYN | FIN)
    if not belongs(half, segment):
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
    if segment.length <= 1:
        # A keep-alive probe may carry any octet (RFC 9293 3.8.4).
        return False
    recent = connection.shared.recent
    return recent.differing(position, segment.payload, half.islands, half.key) is not None
