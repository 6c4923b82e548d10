# SPDX-License-Identifier: GPL-2.0-or-later
"""A RST, and whether its receiver dropped it (RFC 9293 3.10.7.4, RFC 5961 3.2).

A receiver accepts a RST only with the sequence number that it expects next.  It drops any other
RST, or answers with a challenge ACK.  The capture may lack octets, so the expected number is not
always known.  But an acknowledgement captured after the RST can show that the connection goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scapy_mpa.stream.events import Closer
from scapy_mpa.stream.halves.extent import end_of_captured
from scapy_mpa.stream.segment import Segment
from scapy_mpa.stream.sequence import SEQUENCE_WINDOW, unwrap
from scapy_mpa.wire.tcp import ACK

if TYPE_CHECKING:
    from scapy_mpa.stream.halves.half import HalfConnection


class Reset:
    """A RST that may have ended its connection.

    :param half: the direction of its sender.
    :param segment: the RST, which neither direction has taken yet.
    """

    __slots__ = ("_ack", "_at", "_half", "_peer_end", "closer", "is_expected")

    def __init__(self, half: HalfConnection, segment: Segment) -> None:
        self.closer = Closer(half.direction, segment.frame)
        self._ack = segment.ack if segment.flags & ACK else None
        self._half = half
        peer, end = half.peer, end_of_captured(half)
        self._peer_end = max(end_of_captured(peer), peer.acknowledged or 0)
        acknowledged = half.acknowledged or 0
        # The number of a RST that answers a SYN says nothing (RFC 9293 3.5.2).  A FIN that was not
        # captured takes a number, too.
        self._at = None if half.high is None else unwrap(segment.seq, end)
        self.is_expected = self._at is None or (
            self._at >= acknowledged and self._at in {end, end + 1, acknowledged}
        )
        """Whether its receiver expected this number, as far as the capture shows before the RST."""

    def acknowledge(self) -> None:
        """Count octets that the RST acknowledges but the capture lacks.

        Call this at the end of the connection, before gaps are reported.
        """
        peer = self._half.peer
        end = end_of_captured(peer)
        if self.is_expected and self._ack is not None and unwrap(self._ack, end) > end:
            peer.acknowledge(self._ack)

    def is_dropped(self, segment: Segment, direction: int) -> bool:
        """True if a later segment shows that the receiver of the RST dropped it.

        The receiver shows this if it acknowledges octets beyond the RST.  Octets before the RST
        were sent earlier, even if they were captured later.  If the RST was not expected, its
        sender shows it, too, by acknowledging octets captured after the RST.

        :param segment: without RST; the connection has taken it already.
        :param direction: the direction of that segment.
        """
        if self._at is None or not segment.flags & ACK:
            return False
        peer = self._half.peer
        if direction != self._half.direction:
            return 0 < unwrap(segment.ack, self._at) - self._at < SEQUENCE_WINDOW
        if self.is_expected or peer.high is None:
            return False
        return self._peer_end < unwrap(segment.ack, peer.high) <= end_of_captured(peer)
