# SPDX-License-Identifier: GPL-2.0-or-later
"""The Tagged messages of one direction (RFC 5041 5.2).

A Tagged message has no name and no mark at its beginning: it is the segments between two Last
flags, one after the other in the stream, to one STag.
"""

from __future__ import annotations

from scapy_mpa.stream.delivery.assembly import DDPMessage
from scapy_mpa.stream.delivery.segment import DDPSegment
from scapy_mpa.stream.events import MessageRecovered
from scapy_mpa.wire.rdmap_names import Opcode


class TaggedMessages:
    """Those that are not whole, by opcode, but for Responses.

    :param out: where messages go.
    """

    __slots__ = ("_is_sure", "_messages", "_out")

    def __init__(self, out: list[MessageRecovered]) -> None:
        self._out = out
        self._messages: dict[int, DDPMessage] = {}
        self._is_sure = True
        """Whether the next RDMA Write begins with its first segment, if none is in progress."""

    @property
    def held(self) -> int:
        """Octets of memory taken, roughly."""
        return sum([message.held for message in self._messages.values()])

    @property
    def is_open(self) -> bool:
        """Whether a message is in progress, or may have begun before what was captured."""
        return bool(self._messages) or not self._is_sure

    def add(self, segment: DDPSegment) -> None:
        """Add the segment that comes next in the stream."""
        opcode, header = segment.opcode, segment.header
        message = self._messages.get(opcode)
        if message is not None and message.first.header.stag != header.stag:
            self._close(opcode)
            message = None
        if message is None:
            message = DDPMessage(segment, begun=self._is_sure or opcode != Opcode.WRITE)
            self._messages[opcode] = message
        message.add(segment)
        self._is_sure = self._is_sure or opcode == Opcode.WRITE
        if header.last:
            self._close(opcode)

    def take_late(self, message: DDPMessage) -> None:
        """Take a message that was captured after what follows it."""
        self._out.append(message.event())

    def begin_unsure(self) -> None:
        """Take it that the beginning of what comes next may have been missed."""
        self._is_sure = False

    def lose(self) -> None:
        """Take note of a hole: nothing tells whether the next segment is of the same message."""
        self.begin_unsure()
        self.close()

    def close(self) -> None:
        """Report what is not whole as it is."""
        for opcode in list(self._messages):
            self._close(opcode)

    def _close(self, opcode: int) -> None:
        self._out.append(self._messages.pop(opcode).event())
