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
    _current: DDPMessage | None = None
    """The RDMA Read Response in progress."""
    _is_sure: bool = True
    """True if the next segment is the first of an RDMA Read Response, if none is in progress."""
    settled: int = 0
    """Position before which no more Responses will come."""

    @property
    def held(self) -> int:
        """Octets of memory taken, roughly."""
        current = 0 if self._current is None else self._current.held
        return current + len(self.waiting) * HELD_BY_EACH

    # -- in --------------------------------------------------------------------------------------

    def begin_unsure(self) -> None:
        """Note that the beginning of the direction was not captured."""
        self._is_sure = False
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
        if isinstance(item, Hole):
            return self._note_hole(item, force=force)
        if isinstance(item, DDPMessage):
            if not (force or self._requests.knows_all(item.first)):
                return False
            self._requests.answer(item)
            self._out.append(item.event())
            return True
        in_progress = self._current is not None and not self._current.lost_after
        if not (force or in_progress or self._requests.knows_all(item)):
            return False
        self._add(item)
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
        if self._current is not None:
            self._close()

    # -- RDMA Read Responses -----------------------------------------------------------------

    def _note_hole(self, hole: Hole, *, force: bool) -> bool:
        """Note a hole; return False if that must wait."""
        if not self._requests.note_hole(hole, self._current, force=force):
            return False
        self._is_sure = False
        if self._current is not None:
            self._current.lost_after += hole.octets
            if self._current.request is None:
                # It is unknown whether the next segment belongs to the same message.
                self._close()
        return True

    def _add(self, segment: DDPSegment) -> None:
        requests = self._requests
        current = self._current
        fits = None if self._is_sure else requests.after_hole(current, segment)
        if current is not None:
            if fits is not None and current.lost_after:
                goes_on = requests.goes_on(current, fits)
            else:
                goes_on = current.first.header.stag == segment.header.stag
            if not goes_on:
                self._close()
        if self._current is None:
            self._current = DDPMessage(segment, begun=self._is_sure)
            requests.answer(self._current, fits)
        self._current.add(segment)
        self._is_sure = True
        if segment.header.last:
            self._close()

    def _close(self) -> None:
        """Report the RDMA Read Response in progress."""
        current = self._current
        assert current is not None
        if self._requests.may_lack_some and current.as_requested is False:
            # It has another length than requested, so it answers an unknown Request.
            current.request = current.requested = None
        self._out.append(current.event())
        self._current = None
