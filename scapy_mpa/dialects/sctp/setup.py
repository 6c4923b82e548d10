# SPDX-License-Identifier: GPL-2.0-or-later
"""What is known of an association's setup, and which packets are its own (RFC 4960 5, 8.5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scapy_mpa.dialects.sctp.packet import SctpPacket
from scapy_mpa.dialects.sctp.tsn import NEAR, TSNSpace
from scapy_mpa.wire.errors import RemoteProtocolError
from scapy_mpa.wire.rules import Violation
from scapy_mpa.wire.sctp_chunks import TSN_LENGTH, DataChunk, InitChunk, parse_init
from scapy_mpa.wire.sctp_packet import ChunkType
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

    def direction_of(self, packet: SctpPacket, *, by_tag: bool) -> int | None:
        """Return which direction a packet belongs to, None if it is none of this association's.

        :param packet: one between the same endpoints.
        :param by_tag: only a known Verification Tag shows that it does.
        """
        direction = 0 if packet.flow == self._flow else 1
        first = packet.chunks[0] if packet.chunks else None
        tag, known, peer = packet.verification_tag, self.tags[direction], self.tags[1 - direction]
        if first is not None and first.type == ChunkType.INIT:
            try:
                init = parse_init(first.value)
            except RemoteProtocolError:
                return direction
            # It says the tag of the other direction.
            may_be = peer is None and not by_tag
            may_be &= self._tsns[direction].may_begin_with(init.initial_tsn)
            is_own = peer == init.initiate_tag or may_be
        elif first is not None and first.type in _OUT_OF_THE_BLUE and first.flags & _T_FLAG:
            is_own = tag in (known, peer)
        else:
            may_be = known is None and not by_tag and self._may_begin(direction, packet)
            is_own = tag == known or may_be
        return direction if is_own else None

    def _may_begin(self, direction: int, packet: SctpPacket) -> bool:
        """Tell whether the DATA chunks of a packet may be the first ones after an Initial TSN."""
        init = self.inits[direction]
        return init is None or all(
            int.from_bytes(each.value[:TSN_LENGTH], "big") - init.initial_tsn & 0xFFFFFFFF < NEAR
            for each in packet.chunks
            if each.type == ChunkType.DATA
        )

    def believes(self, direction: int, init: InitChunk) -> bool:
        """Tell whether to take an INIT or INIT ACK for that of a direction.

        One that comes after DATA, or says another tag than was captured, is late or forged (RFC
        4960 5.2.3).
        """
        is_first = self.inits[direction] is None and self._tsns[direction].is_empty
        return is_first and self.tags[1 - direction] in (None, init.initiate_tag)

    def take(self, direction: int, init: InitChunk, tag: int) -> None:
        """Take an INIT or INIT ACK, which says the tag of the other direction.

        :param tag: that of its packet, 0 for an INIT.
        """
        if self.tags[direction] is None and tag:
            self.tags[direction] = tag
        self.tags[1 - direction] = init.initiate_tag
        self.inits[direction] = init
        self._tsns[direction].begin(init.initial_tsn)

    def stream_violation(self, direction: int, chunk: DataChunk) -> Violation | None:
        """Say what is wrong with a stream that was not agreed on."""
        own, peer = self.inits[direction], self.inits[1 - direction]
        return None if own is None or peer is None else stream_violation(chunk, own, peer)
