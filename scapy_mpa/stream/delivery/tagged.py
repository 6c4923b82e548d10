# SPDX-License-Identifier: GPL-2.0-or-later
"""The Tagged messages of one direction (RFC 5041 5.2).

A Tagged message has no number, and nothing marks its first segment.  It consists of the segments
to one STag that follow each other in the stream, up to a Last flag.
"""

from __future__ import annotations

from scapy_mpa.stream.delivery.assembly import DDPMessage
from scapy_mpa.stream.delivery.segment import DDPSegment
from scapy_mpa.stream.events import MessageRecovered
from scapy_mpa.wire.rdmap_names import Opcode


class TaggedMessages:
    """The incomplete Tagged messages by opcode, without RDMA Read Responses.

    :param out: takes the messages.
    """

    __slots__ = ("_is_sure", "_messages", "_out")

    def __init__(self, out: list[MessageRecovered]) -> None:
        self._out = out
        self._messages: dict[int, DDPMessage] = {}
        self._is_sure = True
        """True if the next segment is the first of an RDMA Write, if none is in progress."""

    @property
    def held(self) -> int:
        """Octets of memory taken, roughly."""
        return sum([message.held for message in self._messages.values()])

    @property
    def is_open(self) -> bool:
        """True if a message is in progress, or if the beginning of one may be missing."""
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
        """Take a message that was captured after messages that follow it in the stream."""
        self._out.append(message.event())

    def begin_unsure(self) -> None:
        """Note that the beginning of the next message may be missing."""
        self._is_sure = False

    def note_hole(self) -> None:
        """Note a hole: it is unknown whether the next segment belongs to the same message."""
        self.begin_unsure()
        self.close()

    def close(self) -> None:
        """Report the incomplete messages as they are."""
        for opcode in list(self._messages):
            self._close(opcode)

    def _close(self, opcode: int) -> None:
        self._out.append(self._messages.pop(opcode).event())
