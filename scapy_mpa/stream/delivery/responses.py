# SPDX-License-Identifier: GPL-2.0-or-later
"""The Responses of one direction, which wait for the Requests of the other.

A Response is paired when all Requests that it may answer are known.  It waits if no Request is
outstanding, or if a hole before it may have held the Responses to all of them.  The capture may
have Request and Response in the wrong order, or lack the Request and show that only later.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from scapy_mpa.stream.delivery.assembly import DDPMessage
from scapy_mpa.stream.delivery.held import HELD_BY_EACH
from scapy_mpa.stream.delivery.pairing import Hole, Requests
from scapy_mpa.stream.delivery.segment import DDPSegment
from scapy_mpa.stream.delivery.tagged import TaggedMessages
from scapy_mpa.stream.events import MessageRecovered


@dataclass(slots=True, eq=False)
class Responses:
    """The Responses of one direction."""

    _out: list[MessageRecovered]
    """Takes the messages."""
    _requests: Requests
    """The Requests of the other direction."""
    waiting: list[DDPSegment | DDPMessage | Hole] = field(default_factory=list)
    """Segments of RDMA Read Responses, Atomic Responses, and holes, in the order of the stream."""
    settled: int = 0
    """Position before which no more Responses will come."""
    _reads: TaggedMessages = field(init=False)
    """The RDMA Read Responses."""

    def __post_init__(self) -> None:
        self._reads = TaggedMessages(self._out, self._requests)

    @property
    def held(self) -> int:
        """Octets of memory taken, roughly."""
        return self._reads.held + len(self.waiting) * HELD_BY_EACH

    # -- in --------------------------------------------------------------------------------------

    def begin_unsure(self) -> None:
        """Note that the beginning of the direction was not captured."""
        self._reads.note_hole(0)
        self._requests.may_lack_some = True

    def take(self, item: DDPSegment | DDPMessage | Hole) -> None:
        """Take a segment of an RDMA Read Response, an Atomic Response, or a hole."""
        self.waiting.append(item)
        self.release()

    def take_late(self, message: DDPMessage) -> None:
        """Take a Response that was captured after later messages; do not search its Request.

        It may answer any overtaken Request.  So no overtaken Request is reported as unanswered.
        """
        self._requests.forget_overtaken()
        self._out.append(message.event())

    def release(self, *, force: bool = False) -> None:
        """Process the items that need not wait any longer.

        :param force: process all items.
        """
        if not self.waiting:
            return
        done = 0
        for item in self.waiting:
            if not self._process(item, force=force):
                break
            done += 1
        del self.waiting[:done]
        self._requests.settle(self.settled)

    def _process(self, item: DDPSegment | DDPMessage | Hole, *, force: bool) -> bool:
        """Process the first item; return False if it must wait."""
        requests, current = self._requests, self._reads.current
        if isinstance(item, Hole):
            if not requests.note_hole(item, current, force=force):
                return False
            self._reads.note_hole(item.octets)
        elif isinstance(item, DDPMessage):
            if not (force or requests.knows_all(item.first)):
                return False
            requests.answer(item)
            self._out.append(item.event())
        else:
            in_progress = current is not None and not current.lost_after
            if not (force or in_progress or requests.knows_all(item)):
                return False
            self._reads.add(item)
        return True

    def settle(self, position: int) -> None:
        """Report the Responses missing before ``position``: no more will come there."""
        self.settled = max(self.settled, position)
        self._requests.settle(position)

    def relieve(self) -> None:
        """Free memory: report all Responses now, although their Requests may still come."""
        self._requests.may_lack_some = True
        self.finish()

    def finish(self) -> None:
        """Report all Responses; no more segments will come."""
        self.release(force=True)
        self._reads.close()
