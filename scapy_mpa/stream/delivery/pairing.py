# SPDX-License-Identifier: GPL-2.0-or-later
"""Which Response answers which Request (RFC 5040 5.2.1, 5.2.2; RFC 7306 5.2 and 7).

RDMA Read Requests and Atomic Requests share QN 1.  Their Responses come in the other direction, in
the order of the Requests.  A Response does not have the MSN of its Request.  An RDMA Read Response
has the Data Sink STag and Tagged Offset of the Request, an Atomic Response its Request Identifier.

* If nothing is missing, the next Response answers the oldest outstanding Request.
* After missing octets, the fields decide: the Request is known if exactly one fits.  From then on
  the order is known again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from scapy_mpa.stream.delivery.assembly import DDPMessage
from scapy_mpa.stream.delivery.request import OUTSTANDING_REQUESTS, RESPONSES, Request
from scapy_mpa.stream.delivery.segment import DDPSegment
from scapy_mpa.stream.delivery.turns import Turns
from scapy_mpa.stream.events import MessageRecovered
from scapy_mpa.stream.limits import LATE_SEGMENTS
from scapy_mpa.stream.sequence import unwrap

_LOOKED_AT: Final = 8
"""The search for Requests that fit a Response stops after so many.  If two fit, it is not known
which of them the Response answers."""


@dataclass(slots=True, eq=False)
class Requests:
    """The outstanding Requests of one direction."""

    _out: list[MessageRecovered]
    """Takes the missing Responses."""
    is_in_order: bool = True
    """True if the next Response answers the oldest outstanding Request."""
    is_whole: bool = True
    """True if no octets of the direction are missing after the last Request."""
    gaps_to: int = 0
    """Position after the last gap of the direction; segments before it may still wait."""
    captured: int = 0
    """The last frame that brought octets of the processed segments of the direction."""
    turns: Turns = field(default_factory=Turns)
    """The order of the segments of the direction."""
    queue: list[Request] = field(default_factory=list)
    """Outstanding Requests, oldest first."""

    # -- the requesting direction ----------------------------------------------------------------

    def add(self, *requests: Request) -> None:
        """Take Requests."""
        self.queue += requests
        excess = len(self.queue) - OUTSTANDING_REQUESTS
        if excess > 0:
            del self.queue[:excess]
            self.is_in_order = False

    def give_up(self) -> None:
        """Forget the Requests."""
        self.queue.clear()
        self.is_in_order = False

    # -- the responding direction ----------------------------------------------------------------

    def may_answer(self, first: DDPSegment) -> bool:
        """True if the Request of a Response is known by now, unless it is missing.

        The capture may have a Response before its Request.

        :param first: the first segment of the Response.
        """
        if self.is_in_order:
            return bool(self.queue)
        expected, received = self.turns.expected, first.received
        if expected is None or received is None:
            return self.captured > first.captured + LATE_SEGMENTS
        return unwrap(received, expected) <= expected

    def goes_on(self, current: DDPMessage, segment: DDPSegment) -> bool:
        """Return whether a segment after a hole surely continues ``current``."""
        may_go_on = current.request is not None and _may_continue(current, segment)
        if not may_go_on or self._fitting(segment):
            return False
        # No other Response was in the hole.
        self.is_in_order = True
        return True

    def answer(self, message: DDPMessage, current: DDPMessage | None = None) -> None:
        """Find the Request that a Response answers, by its first segment.

        :param current: the RDMA Read Response in progress before a hole.
        """
        first, queue = message.first, self.queue
        if self.is_in_order and queue and queue[0].is_answered_by(first):
            message.is_paired_by_order = True
            self._pair(message, queue[0])
            return
        fits = self._fitting(first)
        may_be_current = current is not None and _may_continue(current, first)
        is_known = self.is_whole and all([each.is_known for each in fits])
        # The STag and TO of a Response without octets mean nothing (RFC 5041 5.2).
        is_named = first.length and not may_be_current
        oldest = fits[0] if fits and is_named and fits[0].captured <= first.captured else None
        if oldest is not None and is_known and len(fits) == 1:
            self._pair(message, oldest)
            return
        if is_known and (oldest is not None or may_be_current):
            message.requested = True
        elif is_known and self.is_in_order and not fits:
            message.requested = False
        self.doubt(first)
        if oldest is not None:
            # It was answered before, or is answered now.
            queue.remove(oldest)

    def judge_length(self, message: DDPMessage) -> None:
        """Take a Response with another length than its Request asks for.

        If only the fields showed the Request, the Response answers a missing one.
        """
        if not message.is_paired_by_order:
            message.request = message.requested = None
            self.is_in_order = False

    def doubt(self, first: DDPSegment) -> None:
        """Report none of the Requests as unanswered that an unpaired Response may answer.

        :param first: its first segment; a segment of another message changes nothing.
        """
        if first.opcode in RESPONSES:
            for each in self.queue:
                each.is_doubtful = each.is_doubtful or each.fits(first)

    def finish(self) -> None:
        """Report the Requests without a Response."""
        self._pass_over(len(self.queue))

    def _fitting(self, first: DDPSegment) -> list[Request]:
        """Return the first few Requests that a Response may answer, by its fields.

        After missing octets, only those count that were sent before it.
        """
        fits = (each for each in self.queue if each.fits(first))
        if not self.is_in_order:
            fits = (each for each in fits if each.was_sent_before(first))
        return list(islice(fits, _LOOKED_AT))

    def _pair(self, message: DDPMessage, request: Request) -> None:
        """Pair a Response with its Request; nothing is known of a Request that is missing."""
        if request.is_known:
            message.request, message.requested = request, True
        self._pass_over(self.queue.index(request))
        del self.queue[0]
        self.is_in_order = True

    def _pass_over(self, count: int) -> None:
        """Report that the Responses to the oldest Requests are missing."""
        passed = self.queue[:count]
        del self.queue[:count]
        for each in passed:
            if each.is_known and not each.is_doubtful:
                self._out.append(each.unanswered())


def _may_continue(current: DDPMessage, segment: DDPSegment) -> bool:
    """Return whether a segment after a hole may belong to the RDMA Read Response before it."""
    request = current.request
    if segment.header.stag != current.first.header.stag or segment.offset < current.next_offset:
        return False
    return request is None or request.holds(segment)
