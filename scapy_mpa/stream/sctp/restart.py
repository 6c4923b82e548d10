# SPDX-License-Identifier: GPL-2.0-or-later
"""An INIT amid an association: maybe another one begins, maybe not (RFC 4960 5.2.2).

Its receiver answers with an INIT ACK, and goes on as before: the INIT may be late, or forged.  Only
what follows shows that both sides have let go of the association.
"""

from __future__ import annotations

from typing import Final

from scapy_mpa.stream.sctp.packet import SctpPacket
from scapy_mpa.wire.errors import RemoteProtocolError
from scapy_mpa.wire.sctp_chunks import InitChunk, parse_data, parse_init
from scapy_mpa.wire.sctp_packet import ChunkType

__all__ = ["Restart"]

_HELD_BY_EACH: Final = 600
"""Octets of memory that a packet takes besides the value of its chunk, roughly."""

_NEAR: Final = 256
"""TSNs from the Initial TSN on that show, without the INIT ACK, that the association is there: as
many as may be captured before it.  That others lie there is one chance in 16 million."""

_MASK: Final = 0xFFFFFFFF
_SHOWN_BY_PEER: Final = frozenset({ChunkType.DATA, ChunkType.SACK, ChunkType.COOKIE_ACK})
_SHOWN_BY_SENDER: Final = frozenset({ChunkType.DATA, ChunkType.COOKIE_ECHO})


class Restart:
    """An INIT that an association did not take, with its answer.

    :param packet: the one with the INIT.
    :param init: that INIT.
    """

    __slots__ = ("_answer", "_init", "held", "packets", "seen")

    def __init__(self, packet: SctpPacket, init: InitChunk) -> None:
        self._init = init
        self._answer: InitChunk | None = None
        self.packets: list[SctpPacket] = []
        """Those of the setup, by order of capture; none if it was let go of."""
        self.held = 0
        """Octets of memory taken, roughly."""
        self.seen = 0
        """How many packets were taken, copies included."""
        self._keep(packet)

    def relieve(self) -> None:
        """Let go of it."""
        self.packets.clear()
        self.held = 0

    def repeats(self, init: InitChunk) -> bool:
        """Take note of another INIT; tell whether it is the same."""
        is_same = bool(self.packets) and init == self._init
        self.seen += is_same
        return is_same

    def is_answered_by(self, packet: SctpPacket) -> bool:
        """Tell whether a packet is sent to who sent the INIT, and has its tag."""
        is_to_sender = bool(self.packets) and packet.flow != self.packets[0].flow
        return is_to_sender and packet.verification_tag == self._init.initiate_tag

    def is_shown_by(self, packet: SctpPacket) -> bool:
        """Take a packet that is none of the association; tell whether it is of the next one.

        An INIT ACK is kept, but shows only that the INIT has come.
        """
        if not self.packets:
            return False
        kinds = {chunk.type for chunk in packet.chunks}
        if self.is_answered_by(packet):
            if packet.chunks and packet.chunks[0].type == ChunkType.INIT_ACK:
                self._note_answer(packet)
                return False
            return bool(kinds & _SHOWN_BY_PEER)
        if packet.flow != self.packets[0].flow:
            return False
        if self._answer is not None:
            is_its = packet.verification_tag == self._answer.initiate_tag
            return is_its and bool(kinds & _SHOWN_BY_SENDER)
        return any(self._is_near(packet, at) for at in range(len(packet.chunks)))

    def _note_answer(self, packet: SctpPacket) -> None:
        try:
            answer = parse_init(packet.chunks[0].value)
        except RemoteProtocolError:
            # The snap length cut it.
            return
        if self._answer is not None:
            # To an INIT that came twice: the peer may have sent other values each time.
            self.held -= _held(self.packets.pop())
        self._answer = answer
        self._keep(packet)

    def _keep(self, packet: SctpPacket) -> None:
        # INIT and INIT ACK come alone (RFC 4960 6.10).
        kept = packet._replace(chunks=packet.chunks[:1])
        self.packets.append(kept)
        self.held += _held(kept)
        self.seen += 1

    def _is_near(self, packet: SctpPacket, at: int) -> bool:
        chunk = packet.chunks[at]
        if chunk.type != ChunkType.DATA:
            return False
        try:
            data = parse_data(chunk.flags, chunk.value, chunk.length)
        except RemoteProtocolError:
            return False
        return data.tsn - self._init.initial_tsn & _MASK < _NEAR


def _held(packet: SctpPacket) -> int:
    return _HELD_BY_EACH + len(packet.chunks[0].value)
