# SPDX-License-Identifier: GPL-2.0-or-later
"""A SYN amid a connection: the next one on its ports begins, or the SYN is astray.

Who still has the connection answers with a challenge, and goes on as before (RFC 5961 4); who has
let go of it lets the next one begin.  What follows shows which of the two it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scapy_mpa.stream.halves.extent import belongs
from scapy_mpa.stream.halves.holes import LATE_SEGMENTS
from scapy_mpa.stream.segment import ACK, FIN, RST, SYN, Segment
from scapy_mpa.stream.sequence import sequence_number, unwrap

if TYPE_CHECKING:
    from scapy_mpa.stream.connections.connection import Connection

__all__ = ["Contest", "may_be_astray"]

_TURNS: Final = SYN | ACK | FIN | RST


def may_be_astray(connection: Connection, segment: Segment) -> bool:
    """Tell whether a segment is a SYN that the peer of a connection may not take."""
    is_begun = all(half.high is not None for half in connection.halves)
    return segment.flags & _TURNS == SYN and is_begun and not connection.is_over


class Contest:
    """Two connections, of which only one can have the ports that both have.

    The one of which a segment came last has them, until it is settled which of the two goes on.

    :param former: the one that was there.
    :param claim: the one that a SYN began.
    :param syn: that SYN.
    """

    __slots__ = ("_heard", "_high", "_syn", "claim", "former", "has_ports")

    def __init__(self, former: Connection, claim: Connection, syn: Segment) -> None:
        self.former = former
        self.claim = claim
        self.has_ports = claim
        """The one of the two that has the ports for now."""
        self._syn = syn
        self._heard = 0
        self._high = former.half(syn.flow).high or 0

    @property
    def is_refuted(self) -> bool:
        """Whether so much of the former one was captured behind the SYN that it was astray."""
        return self._heard > LATE_SEGMENTS

    def other(self, connection: Connection) -> Connection:
        """Return the one that a connection is not."""
        return self.former if connection is self.claim else self.claim

    def repeats(self, segment: Segment) -> bool:
        """Tell whether a segment is the SYN once more."""
        syn = self._syn
        return (segment.flow, segment.flags & _TURNS, segment.seq) == (syn.flow, SYN, syn.seq)

    def is_of_claim(self, segment: Segment) -> bool:
        """Tell whether a segment, but for the SYN, shows that the claim was taken.

        It does if what it says of the octets of who sent the SYN is nearer to where those of the
        claim begin than to where those of the former connection end.
        """
        syn = self._syn
        if segment.flow == syn.flow:
            number = segment.seq
        elif segment.flags & ACK:
            number = segment.ack
        else:
            return False
        begin = sequence_number(syn.seq + 1)
        if segment.flags & SYN:
            return number == begin
        high = self.former.half(syn.flow).high or 0
        return abs(unwrap(number, begin) - begin) < abs(unwrap(number, high) - high)

    def is_own(self, segment: Segment) -> bool:
        """Tell whether a SYN is a copy of the one with which the former connection began."""
        return belongs(*self.former.pair(segment.flow), segment)

    def hear(self, segment: Segment) -> None:
        """Take note of a segment of the former connection, unless it only repeats octets."""
        if segment.flow == self._syn.flow:
            self._heard += unwrap(segment.seq, self._high) >= self._high
