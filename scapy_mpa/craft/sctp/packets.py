# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes SCTP packets of a script: an association, its DATA chunks and their acknowledgements.

As with TCP, a side sends its turn, and its peer acknowledges.  Each DATA chunk has a packet of its
own, unless ``packing`` says otherwise.  Session control messages always have one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from scapy_mpa.craft.options import Options
from scapy_mpa.craft.script import CloseItem, FPDUItem, PauseItem, ResetItem
from scapy_mpa.craft.sctp.script import CARRIED, AssociateItem, ChunkItem, ControlItem, chunk_of
from scapy_mpa.craft.segment import Segment
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.sctp_chunks import (
    DATA_HEADER_LENGTH,
    DataChunk,
    DataFlag,
    InitChunk,
    build_data,
    build_init,
    build_parameter,
    build_sack,
)
from scapy_mpa.wire.sctp_ddp import DDP_SSN_LENGTH, build_segment
from scapy_mpa.wire.sctp_packet import (
    CHUNK_HEADER_LENGTH,
    COMMON_HEADER_LENGTH,
    ChunkType,
    build_chunk,
    build_packet,
    sctp_checksum,
)
from scapy_mpa.wire.shown import quoted

OVERHEAD: Final = COMMON_HEADER_LENGTH + CHUNK_HEADER_LENGTH + DATA_HEADER_LENGTH + DDP_SSN_LENGTH
"""Octets before the DDP segment in a packet with one DATA chunk."""

STREAM: Final = 0
"""The SCTP stream of the session."""

_TAGS: Final = (0x5C7B0001, 0x5C7A0002)
"""By sender, the Verification Tag in its packets, which its peer has chosen."""
_WINDOW: Final = 0x10000
_STATE_COOKIE: Final = 7
_COOKIE: Final = b"a cookie of 24 octets..."
_WORD: Final = 0xFFFFFFFF
_SSN: Final = 0xFFFF


@dataclass(frozen=True, slots=True, repr=False)
class SctpSegment(Segment):
    """One SCTP packet; ``octets`` is the whole packet, and fields of TCP are 0."""

    is_tcp: ClassVar = False
    items: tuple[int, ...] = ()
    """The numbers of the items whose chunks it holds."""


def packets_of(
    script: Iterable[Any], tsns: tuple[int, int], ports: tuple[int, int], options: Options
) -> list[SctpSegment]:
    """Return the packets that carry the items.

    :param tsns: Initial TSNs of Initiator and Responder.
    :param ports: ports of Initiator and Responder.
    :raises LocalProtocolError: an item cannot be expressed on the wire; the message says which.
    """
    sender = _Sender(tsns, ports, options)
    for number, item in enumerate(script):
        try:
            sender.take(number, item)
        except LocalProtocolError as error:
            raise LocalProtocolError(
                f"item {number} of the script, {quoted(item, 200)}: {error}"
            ) from error
    sender.settle()
    return sender.packets


class _Sender:
    """Makes the packets of both ends of an association."""

    def __init__(self, tsns: tuple[int, int], ports: tuple[int, int], options: Options) -> None:
        self.packets: list[SctpSegment] = []
        self._initial = tsns
        self._next = list(tsns)
        self._ports = ports
        self._options = options
        self._now = options.start_ns
        self._ssns = [0, 0]
        self._last_sender: int | None = None
        self._unacknowledged = [0, 0]
        """By sender, packets with DATA that the peer has not acknowledged."""
        self._pending: list[tuple[int, bytes]] = []
        """The chunks of the packet that is being filled, each with the number of its item."""
        self._pending_side = 0

    def take(self, number: int, item: Any) -> None:
        """Send an item."""
        if isinstance(item, CARRIED):
            self._send_item(number, item)
        elif isinstance(item, AssociateItem):
            self._associate(number, item)
        elif isinstance(item, PauseItem):
            self.settle()
            self._now += item.nanoseconds
        elif isinstance(item, CloseItem):
            self._shut_down(item)
        elif isinstance(item, ResetItem):
            self._flush()
            self._send(item.side, [build_chunk(ChunkType.ABORT, 0)], [number])
        else:
            raise LocalProtocolError(f"SCTP has nothing like {quoted(item, 200)}")

    def settle(self) -> None:
        """Send the pending packet, and acknowledge all packets."""
        self._flush()
        if self._options.ack_every:
            for side in (0, 1):
                if self._unacknowledged[side]:
                    self._acknowledge(1 - side)

    def _associate(self, number: int, item: AssociateItem) -> None:
        cookie = build_parameter(_STATE_COOKIE, _COOKIE)
        for side, kind in enumerate((ChunkType.INIT, ChunkType.INIT_ACK)):
            out, into = item.streams[side]
            init = InitChunk(
                _TAGS[1 - side], _WINDOW, out, into, self._initial[side], item.adaptations[side]
            )
            octets = build_init(init, kind, cookie if side else b"")
            self._send(side, [octets], [number], tag=None if side else 0)
        self._send(0, [build_chunk(ChunkType.COOKIE_ECHO, 0, _COOKIE)], [number])
        self._send(1, [build_chunk(ChunkType.COOKIE_ACK, 0)], [number])

    def _send_item(self, number: int, item: FPDUItem | ControlItem | ChunkItem) -> None:
        chunk = chunk_of(item)
        side = chunk.side
        self._ssns[side] += chunk.skip
        ddp_ssn = self._ssns[side] & _SSN if chunk.ddp_ssn is None else chunk.ddp_ssn
        self._ssns[side] += 1
        user_data = build_segment(ddp_ssn, chunk.body) if chunk.has_ddp_ssn else chunk.body
        is_alone = isinstance(item, ControlItem) or not (chunk.tagged and chunk.checked)
        for octets in self._chunks(side, chunk, user_data):
            if is_alone or self._options.packing == "aligned":
                self._flush()
                self._send_data(side, [octets], [number], chunk)
            else:
                self._pack(side, octets, number)

    def _chunks(self, side: int, chunk: ChunkItem, user_data: bytes) -> list[bytes]:
        """Return the DATA chunks of a user message."""
        if chunk.fragments is None:
            size = (self._options.mss & ~3) - OVERHEAD + DDP_SSN_LENGTH
        else:
            size = -(-len(user_data) // chunk.fragments) or 1
        pieces = [user_data[at : at + size] for at in range(0, len(user_data), size)] or [b""]
        begin, ssn = self._next[side], 0 if chunk.unordered else self._ssns[side] - 1 & _SSN
        self._next[side] = begin + len(pieces) & _WORD
        unordered = DataFlag.UNORDERED if chunk.unordered else 0
        made = []
        for index, piece in enumerate(pieces):
            is_last = index == len(pieces) - 1
            flags = unordered | DataFlag.BEGINNING * (not index) | DataFlag.ENDING * is_last
            fields = begin + index & _WORD, STREAM, ssn, chunk.ppid, piece, len(piece), flags
            made.append(build_data(DataChunk(*fields)))
        return made

    def _pack(self, side: int, octets: bytes, number: int) -> None:
        """Add a chunk to the pending packet, or to a new one if it does not fit."""
        size = COMMON_HEADER_LENGTH + sum(len(each) for _, each in self._pending)
        if side != self._pending_side or size + len(octets) > self._options.mss:
            self._flush()
            self._pending_side = side
        self._pending.append((number, octets))

    def _flush(self) -> None:
        """Send the pending packet."""
        pending, self._pending = self._pending, []
        if pending:
            numbers, chunks = zip(*pending, strict=True)
            self._send_data(self._pending_side, chunks, numbers)

    def _send_data(
        self,
        side: int,
        chunks: Sequence[bytes],
        numbers: Sequence[int],
        chunk: ChunkItem | None = None,
    ) -> None:
        tag = _TAGS[side] if chunk is None or chunk.tagged else _TAGS[side] ^ 1
        self._send(side, chunks, numbers, tag=tag, checked=chunk is None or chunk.checked)
        self._unacknowledged[side] += 1
        every = self._options.ack_every
        if every and self._unacknowledged[side] >= every:
            self._acknowledge(1 - side)

    def _acknowledge(self, side: int) -> None:
        """Let a side acknowledge all that its peer has sent."""
        self._unacknowledged[1 - side] = 0
        self._send(side, [build_sack(self._next[1 - side] - 1 & _WORD, _WINDOW)])

    def _shut_down(self, item: CloseItem) -> None:
        self.settle()
        side = item.side
        acknowledged = (self._next[1 - side] - 1 & _WORD).to_bytes(4, "big")
        self._send(side, [build_chunk(ChunkType.SHUTDOWN, 0, acknowledged)])
        if item.both:
            self._send(1 - side, [build_chunk(ChunkType.SHUTDOWN_ACK, 0)])
            self._send(side, [build_chunk(ChunkType.SHUTDOWN_COMPLETE, 0)])

    def _send(
        self,
        side: int,
        chunks: Sequence[bytes],
        numbers: Sequence[int] = (),
        *,
        tag: int | None = None,
        checked: bool = True,
    ) -> None:
        """Send a packet.

        :param numbers: the numbers of its chunks' items.
        """
        if self._last_sender is not None:
            same = self._last_sender == side
            self._now += self._options.spacing_ns if same else self._options.rtt_ns // 2
        self._last_sender = side
        head = self._ports[side], self._ports[1 - side], _TAGS[side] if tag is None else tag
        packet = build_packet(*head, chunks)
        if not checked:
            packet = build_packet(*head, chunks, checksum=sctp_checksum(packet) ^ _WORD)
        items = tuple(dict.fromkeys(numbers))
        self.packets.append(SctpSegment(self._now, side, 0, 0, 0, packet, items=items))
