# SPDX-License-Identifier: GPL-2.0-or-later
"""The Tagged messages of one direction (RFC 5041 5.2).

A Tagged message has no number, and nothing marks its first segment.  It consists of the segments
with one opcode and one STag that follow each other in the stream, up to a Last flag.
"""

from __future__ import annotations

from dataclasses import dataclass

from scapy_mpa.stream.delivery.assembly import DDPMessage
from scapy_mpa.stream.delivery.pairing import Requests
from scapy_mpa.stream.delivery.segment import DDPSegment
from scapy_mpa.stream.events import MessageRecovered


@dataclass(slots=True, eq=False)
class TaggedMessages:
    """The RDMA Read Responses of one direction, or all its other Tagged messages."""

    _out: list[MessageRecovered]
    """Takes the messages."""
    _requests: Requests | None = None
    """The Requests that RDMA Read Responses answer."""
    current: DDPMessage | None = None
    """The message in progress."""
    is_sure: bool = True
    """True if the next segment is the first of a message, if none is in progress."""

    @property
    def is_open(self) -> bool:
        """True if a message is in progress, or if the beginning of the next may be missing."""
        return self.current is not None or not self.is_sure

    @property
    def held(self) -> int:
        """Octets of memory taken, roughly."""
        return 0 if self.current is None else self.current.held

    def add(self, segment: DDPSegment) -> None:
        """Add the segment that comes next in the stream."""
        current, requests = self.current, self._requests
        if current is not None and self._goes_on(current, segment):
            current.add(segment)
        else:
            self.close()
            message = self.current = DDPMessage(segment, begun=self.is_sure)
            if requests is not None:
                requests.answer(message, None if self.is_sure else current)
        self.is_sure = True
        if segment.header.last:
            self.close()

    def _goes_on(self, current: DDPMessage, segment: DDPSegment) -> bool:
        """Return whether a segment continues the message in progress."""
        if self._requests is not None and not self.is_sure:
            return self._requests.goes_on(current, segment)
        first = current.first
        return (first.opcode, first.header.stag) == (segment.opcode, segment.header.stag)

    def note_hole(self) -> None:
        """Note a hole before the next segment: it may belong to another message."""
        self.is_sure = False
        if self._requests is None:
            self.close()

    def close(self) -> None:
        """Report the message in progress as it is."""
        current, self.current = self.current, None
        if current is None:
            return
        if self._requests is not None and current.as_requested is False:
            self._requests.judge_length(current)
        self._out.append(current.event())
