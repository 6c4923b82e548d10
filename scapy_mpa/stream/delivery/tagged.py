# SPDX-License-Identifier: GPL-2.0-or-later
"""The Tagged messages of one direction (RFC 5041 5.2).

A Tagged message has no name and no mark at its beginning: it is the segments between two Last
flags, one after the other in the stream, to one STag.
"""

from __future__ import annotations

from scapy_mpa.stream.delivery.assembly import DDPMessage
from scapy_mpa.stream.delivery.segment import DDPSegment
from scapy_mpa.stream.events import MessageRecovered
from scapy_mpa.wire.rdmap_names import TAGGED_OPCODES


class TaggedMessages:
    """Those that are not whole, by opcode, but for Responses.

    :param out: where messages go.
    """

    __slots__ = ("_messages", "_out", "_unsure")

    def __init__(self, out: list[MessageRecovered]) -> None:
        self._out = out
        self._messages: dict[int, DDPMessage] = {}
        self._unsure: frozenset[int] = frozenset()
        """Opcodes of which the end of a message may have been missed."""

    @property
    def held(self) -> int:
        """Octets of memory taken, roughly."""
        return sum([message.held for message in self._messages.values()])

    def add(self, segment: DDPSegment) -> None:
        """Add the segment that comes next in the stream."""
        opcode, header = segment.opcode, segment.header
        message = self._messages.get(opcode)
        if message is not None and message.first.header.stag != header.stag:
            self._close(opcode)
            message = None
        if message is None:
            message = DDPMessage(segment, begun=opcode not in self._unsure)
            self._messages[opcode] = message
        message.add(segment)
        self._unsure -= {opcode}
        if header.last:
            self._close(opcode)

    def begin_unsure(self) -> None:
        """Take it that the beginning of what comes next may have been missed."""
        self._unsure = TAGGED_OPCODES

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
