# SPDX-License-Identifier: GPL-2.0-or-later
"""The Responses of one direction, which wait for the Requests of the other.

A Response is paired when its Request must be known.  If no Request is outstanding, it waits: the
capture may have Request and Response in the wrong order.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from scapy_mpa.stream.delivery.assembly import DDPMessage
from scapy_mpa.stream.delivery.pairing import Requests
from scapy_mpa.stream.delivery.segment import DDPSegment
from scapy_mpa.stream.delivery.tagged import TaggedMessages
from scapy_mpa.stream.events import MessageRecovered


@dataclass(slots=True, eq=False)
class Responses:
    """The Responses of one direction."""

    _out: list[MessageRecovered]
    """Takes the messages."""
    requests: Requests
    """The Requests of the other direction."""
    waiting: list[DDPSegment | DDPMessage | None] = field(default_factory=list)
    """Segments of RDMA Read Responses, Atomic Responses, and holes (None), in the order of the
    stream."""
    reads: TaggedMessages = field(init=False)
    """The RDMA Read Responses."""

    def __post_init__(self) -> None:
        self.reads = TaggedMessages(self._out, self.requests)

    def take(self, item: DDPSegment | DDPMessage | None) -> None:
        """Take a segment of an RDMA Read Response, an Atomic Response, or None for a hole."""
        self.waiting.append(item)
        self.release()

    def release(self, *, force: bool = False) -> None:
        """Process the items that need not wait any longer.

        :param force: process all items.
        """
        done = 0
        for item in self.waiting:
            if not self._process(item, force=force):
                break
            done += 1
        del self.waiting[:done]

    def _process(self, item: DDPSegment | DDPMessage | None, *, force: bool) -> bool:
        """Process the first item; return False if it must wait."""
        requests, reads = self.requests, self.reads
        if item is None:
            requests.is_in_order = False
            reads.note_hole()
            return True
        if isinstance(item, DDPMessage):
            if not (force or requests.may_answer(item.first)):
                return False
            requests.answer(item)
            self._out.append(item.event())
        else:
            in_progress = reads.current is not None and reads.is_sure
            if not (force or in_progress or requests.may_answer(item)):
                return False
            reads.add(item)
        return True

    def finish(self) -> None:
        """Report all Responses; no more segments will come."""
        self.release(force=True)
        self.reads.close()
