# SPDX-License-Identifier: GPL-2.0-or-later
"""What is known of an association's setup, and which packets are its own (RFC 4960 5, 8.5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scapy_mpa.stream.sctp.packet import SctpPacket
from scapy_mpa.stream.sctp.tsn import TSNSpace
from scapy_mpa.wire.errors import RemoteProtocolError
from scapy_mpa.wire.rules import Violation
from scapy_mpa.wire.sctp_chunks import DataChunk, InitChunk, parse_init
from scapy_mpa.wire.sctp_packet import Chunk, ChunkType
from scapy_mpa.wire.sctp_rules import stream_violation

__all__ = ["Setup"]

_T_FLAG: Final = 0x01
"""Of ABORT and SHUTDOWN COMPLETE: the sender had no association, and reflects the Verification Tag
(RFC 4960 8.5.1)."""

_OUT_OF_THE_BLUE: Final = frozenset({ChunkType.ABORT, ChunkType.SHUTDOWN_COMPLETE})


class Setup:
    """Verification Tags, INIT and INIT ACK of an association.

    :param flow: of direction 0.
    :param tsns: by direction, those that have come.
    """

    __slots__ = ("_flow", "_tsns", "inits", "tags")

    def __init__(self, flow: bytes, tsns: Sequence[TSNSpace]) -> None:
        self._flow = flow
        self._tsns = tsns
        self.tags: list[int | None] = [None, None]
        """By direction, the Verification Tag of its packets, None if it is not known."""
        self.inits: list[InitChunk | None] = [None, None]
        """By direction, its INIT or INIT ACK, None if it was not captured."""

    def direction_of(self, packet: SctpPacket, *, is_over: bool) -> int | None:
        """Return which direction a packet belongs to, None if it is none of this association's.

        :param packet: one between the same endpoints.
        :param is_over: whether the association has ended.
        """
        direction = 0 if packet.flow == self._flow else 1
        tag = packet.verification_tag
        if packet.chunks and packet.chunks[0].type == ChunkType.INIT:
            is_own = self._takes_init(direction, packet.chunks[0], is_over=is_over)
            return direction if is_own else None
        known = self.tags[direction]
        if known is None or known == tag:
            return direction
        if packet.chunks and packet.chunks[0].type in _OUT_OF_THE_BLUE:
            reflects = packet.chunks[0].flags & _T_FLAG and self.tags[1 - direction] == tag
            return direction if reflects else None
        return None

    def _takes_init(self, direction: int, chunk: Chunk, *, is_over: bool) -> bool:
        """Tell whether an INIT is of this association, and not the beginning of another one."""
        try:
            init = parse_init(chunk.value)
        except RemoteProtocolError:
            return True
        known = self.tags[1 - direction]
        if known == init.initiate_tag:
            return True
        return known is None and self._agrees(direction, init) and not is_over

    def _agrees(self, direction: int, init: InitChunk) -> bool:
        """Tell whether what the sender of an INIT or INIT ACK has said may follow it."""
        return self._tsns[direction].may_begin_with(init.initial_tsn)

    def believes(self, direction: int, init: InitChunk) -> bool:
        """Tell whether to take an INIT or INIT ACK for that of a direction.

        One that is late, or forged, is none (RFC 4960 5.2.3).
        """
        return self.inits[direction] is None and self._agrees(direction, init)

    def is_denied_by(self, direction: int, init: InitChunk) -> bool:
        """Tell whether an INIT ACK of a direction says another tag than was seen."""
        guessed = self.tags[1 - direction]
        return guessed is not None and guessed != init.initiate_tag

    def is_doubtful(self, direction: int, packets: int) -> bool:
        """Tell whether an INIT ACK may deny the Verification Tag that was seen in a direction.

        Before it, its sender has nothing to say; and DATA that begin with the Initial TSN of the
        direction prove the tag.

        :param packets: how many the association has, with the one of the INIT ACK.
        """
        if self._tsns[1 - direction].highest >= 0:
            return False
        if self.inits[direction] is None:
            # Then it is one packet against another.
            return packets <= 2
        return not self._tsns[direction].begins_as_told

    def take(self, direction: int, init: InitChunk) -> None:
        """Take an INIT or INIT ACK, which says the tag of the other direction."""
        self.tags[1 - direction] = init.initiate_tag
        self.inits[direction] = init
        self._tsns[direction].begin(init.initial_tsn)

    def stream_violation(self, direction: int, chunk: DataChunk) -> Violation | None:
        """Say what is wrong with a stream that was not agreed on."""
        own, peer = self.inits[direction], self.inits[1 - direction]
        return None if own is None or peer is None else stream_violation(chunk, own, peer)
