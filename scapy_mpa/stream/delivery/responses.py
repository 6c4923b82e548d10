# SPDX-License-Identifier: GPL-2.0-or-later
"""The Responses of one direction, in step with the Requests of the other.

A Response is read when all Requests are known that it may answer.  It waits if no Request is
outstanding, or if a hole before it may have held the Responses to all of them.  For the capture may
hold Request and Response in the wrong order, or lack the Request and not yet show it.
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
    """Where they go."""
    _requests: Requests
    """Those of the other direction."""
    waiting: list[DDPSegment | DDPMessage | Hole] = field(default_factory=list)
    """What waits: segments of RDMA Read Responses, Atomic Responses, and holes."""
    _current: DDPMessage | None = None
    """The RDMA Read Response in progress."""
    _is_sure: bool = True
    """Whether the next segment begins an RDMA Read Response, if none is in progress."""
    settled: int = 0
    """Position before which no more Responses will be found."""

    @property
    def held(self) -> int:
        """Octets of memory taken, roughly."""
        current = 0 if self._current is None else self._current.held
        return current + len(self.waiting) * HELD_BY_EACH

    # -- in --------------------------------------------------------------------------------------

    def begin_unsure(self) -> None:
        """Take note that the beginning of the direction was not captured."""
        self._is_sure = False
        self._requests.hidden = True

    def take(self, item: DDPSegment | DDPMessage | Hole) -> None:
        """Take a segment of an RDMA Read Response, an Atomic Response, or a hole."""
        self.waiting.append(item)
        self.release()

    def take_late(self, message: DDPMessage) -> None:
        """Take a Response that comes after what follows it.  Nobody looks for its Request.  So no
        Request that others overtook is reported as unanswered."""
        self._requests.forget_overtaken()
        self._out.append(message.event())

    def release(self, *, force: bool = False) -> None:
        """Look at what need not wait any longer.

        :param force: nothing needs.
        """
        if not self.waiting:
            return
        done = 0
        for item in self.waiting:
            if not self._look_at(item, force=force):
                break
            done += 1
        del self.waiting[:done]
        self._requests.settle(self.settled)

    def _look_at(self, item: DDPSegment | DDPMessage | Hole, *, force: bool) -> bool:
        """Look at what comes first; return False if that must wait."""
        if isinstance(item, Hole):
            return self._lose(item, force=force)
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
        """Report the Responses missing before ``position``: no more will be found there."""
        self.settled = max(self.settled, position)
        self._requests.settle(position)

    def relieve(self) -> None:
        """Report what is there as it is: Requests that it answers may yet be captured."""
        self._requests.hidden = True
        self.finish()

    def finish(self) -> None:
        """Report what is there; nothing more will come."""
        self.release(force=True)
        if self._current is not None:
            self._close()

    # -- RDMA Read Responses -----------------------------------------------------------------

    def _lose(self, hole: Hole, *, force: bool) -> bool:
        """Take note of a hole; return False if that must wait."""
        if not self._requests.lose(hole, self._current, force=force):
            return False
        self._is_sure = False
        if self._current is not None:
            self._current.lost_after += hole.octets
            if self._current.request is None:
                # Nothing tells whether the next segment is of the same message.
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
        if self._requests.hidden and current.as_requested is False:
            # It was a hidden Request that it answers.
            current.request = current.requested = None
        self._out.append(current.event())
        self._current = None
