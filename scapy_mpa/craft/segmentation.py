# SPDX-License-Identifier: GPL-2.0-or-later
"""From items in their places to TCP segments, as a TCP that loses nothing sends them.

What a side says before the other one speaks is its *turn*.  A turn is cut into segments when it is
over, which is when it is known what is its end (PSH).
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
from scapy_mpa.stream.segment import ACK, FIN, PSH, RST, SYN

_WORD: Final = 0xFFFFFFFF
_MSS_OPTION: Final = Struct(">BBH")
_MSS_KIND: Final = 2


def segments_of(placed: Iterable[Placed], isns: tuple[int, int], options: Options) -> list[Segment]:
    """Return the segments in which the items travel.

    :param isns: initial sequence numbers of Initiator and Responder.
    """
    sender = TCPSender(isns, options)
    for each in placed:
        item = each.item
        if isinstance(item, SegmentItem | OctetsItem):
            sender.say(item.side, each.octets)
        elif isinstance(item, StartupItem | IndicationItem):
            # Nothing shares its segments: what follows waits for the peer's.
            sender.flush()
            sender.say(item.side, each.octets)
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
    """What both ends of a TCP connection send."""

    def __init__(self, isns: tuple[int, int], options: Options) -> None:
        self.segments: list[Segment] = []
        self._options = options
        self._now = options.start_ns
        # What each side sends next; without a handshake, what follows the SYNs that were.
        self._next = [isns[0] + 1 & _WORD, isns[1] + 1 & _WORD]
        self._unacknowledged = [0, 0]
        """By sender, data segments that the other side has not acknowledged."""
        self._speaker: int | None = None
        """Who sent the last segment."""
        self._turn: tuple[int, list[bytes]] | None = None
        """What a side has said and not sent."""

    def say(self, side: int, octets: bytes) -> None:
        """Add octets that belong together to what a side says."""
        if self._turn is not None and self._turn[0] != side:
            self.flush()
        if self._turn is None:
            self._turn = side, []
        self._turn[1].append(octets)

    def flush(self) -> None:
        """Send what was said."""
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
        """Send what was said, and what acknowledges it."""
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
        """Let time go by."""
        self.settle()
        self._now += nanoseconds

    def close(self, side: int, *, both: bool) -> None:
        """Send the FIN of a side, and that of the other one."""
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
        if self._speaker is not None:
            same = self._speaker == side
            self._now += self._options.spacing_ns if same else self._options.rtt_ns // 2
        self._speaker = side
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
    """Return the payloads in which pieces travel."""
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
            # Nothing shares a segment with a part of a piece.
            room = mss - len(piece)
    return [b"".join(each) for each in payloads]
