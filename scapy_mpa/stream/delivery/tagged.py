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
        fits = None
        if requests is not None and not self.is_sure:
            fits = requests.after_hole(current, segment)
        if current is not None:
            if requests is not None and fits is not None and current.lost_after:
                goes_on = requests.goes_on(current, fits)
            else:
                first = current.first
                goes_on = (first.opcode, first.header.stag) == (segment.opcode, segment.header.stag)
            if not goes_on:
                self.close()
        if self.current is None:
            self.current = DDPMessage(segment, begun=self.is_sure)
            if requests is not None:
                requests.answer(self.current, fits)
        else:
            self.current.add(segment)
        self.is_sure = True
        if segment.header.last:
            self.close()

    def note_hole(self, octets: int) -> None:
        """Note a hole before the next segment: it may belong to another message."""
        self.is_sure = False
        if self.current is not None:
            self.current.lost_after += octets
            if self.current.request is None:
                self.close()

    def close(self) -> None:
        """Report the message in progress as it is."""
        current, self.current = self.current, None
        if current is not None:
            may_lack_some = self._requests is not None and self._requests.may_lack_some
            if may_lack_some and current.as_requested is False:
                # It has another length than requested, so it answers an unknown Request.
                current.request = current.requested = None
            self._out.append(current.event())
