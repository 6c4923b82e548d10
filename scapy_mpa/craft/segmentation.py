# SPDX-License-Identifier: GPL-2.0-or-later
"""Cuts the octets of placed items into TCP segments, as TCP sends them without loss.

The octets that a side sends before the peer sends any are its *turn*.  A turn is cut into segments
when it is over: only then is its end known, which has PSH.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import Final

from scapy_mpa.craft.layout import Placed
from scapy_mpa.craft.options import Options
from scapy_mpa.craft.script import (
    CloseItem,
    FlushItem,
    HandshakeItem,
    IndicationItem,
    OctetsItem,
    PauseItem,
    ResetItem,
    SegmentItem,
    StartupItem,
)
from scapy_mpa.craft.segment import Segment
from scapy_mpa.wire.tcp import ACK, FIN, PSH, RST, SYN

_WORD: Final = 0xFFFFFFFF
_MSS_OPTION: Final = Struct(">BBH")
_MSS_KIND: Final = 2


def segments_of(placed: Iterable[Placed], isns: tuple[int, int], options: Options) -> list[Segment]:
    """Return the segments that carry the items.

    :param isns: initial sequence numbers of Initiator and Responder.
    """
    sender = TCPSender(isns, options)
    for each in placed:
        item = each.item
        if isinstance(item, SegmentItem | OctetsItem):
            sender.add(item.side, each.octets)
        elif isinstance(item, StartupItem | IndicationItem):
            # It has segments of its own: later octets wait for the peer's startup frame.
            sender.flush()
            sender.add(item.side, each.octets)
            sender.flush()
        elif isinstance(item, HandshakeItem):
            sender.handshake()
        elif isinstance(item, FlushItem):
            sender.flush()
        elif isinstance(item, PauseItem):
            sender.pause(item.nanoseconds)
        elif isinstance(item, CloseItem):
            sender.close(item.side, both=item.both)
        elif isinstance(item, ResetItem):
            sender.reset(item.side)
    sender.settle()
    return sender.segments


class TCPSender:
    """Makes the segments of both ends of a TCP connection."""

    def __init__(self, isns: tuple[int, int], options: Options) -> None:
        self.segments: list[Segment] = []
        self._options = options
        self._now = options.start_ns
        # The next sequence number of each side, after its SYN.
        self._next = [isns[0] + 1 & _WORD, isns[1] + 1 & _WORD]
        self._unacknowledged = [0, 0]
        """By sender, data segments that the peer has not acknowledged."""
        self._last_sender: int | None = None
        """The side that sent the last segment."""
        self._turn: tuple[int, list[bytes]] | None = None
        """The side whose turn it is, and its octets that are not sent yet."""

    def add(self, side: int, octets: bytes) -> None:
        """Add octets that belong together to the turn of a side."""
        if self._turn is not None and self._turn[0] != side:
            self.flush()
        if self._turn is None:
            self._turn = side, []
        self._turn[1].append(octets)

    def flush(self) -> None:
        """Send the octets of the turn, and end it."""
        if self._turn is None:
            return
        side, pieces = self._turn
        self._turn = None
        payloads = _cut(pieces, self._options.mss, self._options.packing)
        every = self._options.ack_every
        last = len(payloads) - 1
        for index, octets in enumerate(payloads):
            self._send(side, ACK | PSH if index == last else ACK, octets)
            self._unacknowledged[side] += 1
            if every and self._unacknowledged[side] >= every:
                self._send(1 - side, ACK)

    def settle(self) -> None:
        """End the turn, and acknowledge all segments."""
        self.flush()
        if self._options.ack_every:
            for side in (0, 1):
                if self._unacknowledged[side]:
                    self._send(1 - side, ACK)

    def handshake(self) -> None:
        """Open the connection."""
        mss = _MSS_OPTION.pack(_MSS_KIND, _MSS_OPTION.size, self._options.mss)
        self._next = [number - 1 & _WORD for number in self._next]
        self._send(0, SYN, options=mss)
        self._send(1, SYN | ACK, options=mss)
        self._send(0, ACK)

    def pause(self, nanoseconds: int) -> None:
        """Acknowledge all segments, and let time go by."""
        self.settle()
        self._now += nanoseconds

    def close(self, side: int, *, both: bool) -> None:
        """Send the FIN of a side, and if ``both``, that of its peer."""
        self.flush()
        self._send(side, FIN | ACK)
        if both:
            self._send(1 - side, FIN | ACK)
            self._send(side, ACK)
        else:
            self._send(1 - side, ACK)

    def reset(self, side: int) -> None:
        """Send a RST."""
        self.flush()
        self._send(side, RST | ACK)

    def _send(self, side: int, flags: int, octets: bytes = b"", options: bytes = b"") -> None:
        if self._last_sender is not None:
            same = self._last_sender == side
            self._now += self._options.spacing_ns if same else self._options.rtt_ns // 2
        self._last_sender = side
        seq = self._next[side]
        ack = 0
        if flags & ACK:
            ack = self._next[1 - side]
            self._unacknowledged[1 - side] = 0
        self.segments.append(Segment(self._now, side, seq, ack, flags, octets, options))
        taken = len(octets) + (1 if flags & (SYN | FIN) else 0)
        if taken:
            self._next[side] = seq + taken & _WORD


def _cut(pieces: list[bytes], mss: int, packing: str) -> list[bytes]:
    """Return the payloads of the segments that carry pieces."""
    if packing == "stream":
        pieces = [b"".join(pieces)]
    payloads: list[list[bytes]] = []
    room = 0
    for piece in filter(None, pieces):
        if packing == "packed" and len(piece) <= room:
            payloads[-1].append(piece)
            room -= len(piece)
        else:
            payloads += [[piece[at : at + mss]] for at in range(0, len(piece), mss)]
            # The end of a cut piece shares its segment with no other piece.
            room = mss - len(piece)
    return [b"".join(each) for each in payloads]
