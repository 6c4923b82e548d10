# SPDX-License-Identifier: GPL-2.0-or-later
"""Which Response answers which Request (RFC 5040 5.2.1, 5.2.2; RFC 7306 5.2 and 7).

RDMA Read Requests and Atomic Requests travel on QN 1.  The Responses travel in the other direction
and in the order of the Requests, of both kinds.  A Response does not name its Request: an RDMA Read
Response goes to the Data Sink STag and Tagged Offset that the Request gave, an Atomic Response
reflects its Request Identifier.  Buffers are used again and again.  So the order counts, and STag,
Tagged Offset and identifier must agree with it.

While everything is there, the next Response answers the oldest Request that is outstanding.  Where
octets of the responding direction are missing, so may be Responses, as many as fit in the hole.
Then the next Response may answer any of several Requests.  If just one of them fits, it is that
one.  Else it cannot be known, and the record says so.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from math import inf
from operator import attrgetter
from typing import Final, NamedTuple

from scapy_mpa.stream.delivery.assembly import DDPMessage
from scapy_mpa.stream.delivery.held import HELD_BY_EACH
from scapy_mpa.stream.delivery.request import (
    EMPTY,
    OUTSTANDING_REQUESTS,
    Key,
    Request,
    keys_of,
)
from scapy_mpa.stream.delivery.segment import DDPSegment
from scapy_mpa.stream.events import MessageRecovered
from scapy_mpa.stream.limits import LATE_SEGMENTS
from scapy_mpa.wire.ddp import TAGGED_LENGTH
from scapy_mpa.wire.fpdu import fpdu_length

_LOOKED_AT: Final = 64
"""Requests that are looked at, one by one, for one Response after a hole."""

_LEAST: Final = fpdu_length(TAGGED_LENGTH)
# Octets that a Response without payload takes in the stream.

_serial_of = attrgetter("serial")


class Hole(NamedTuple):
    """Octets missing in the responding direction."""

    octets: int
    """How many, Markers not counted."""
    frame: int
    """The frame that brought what follows them."""


@dataclass(slots=True, eq=False)
class Requests:
    """The Requests of one direction, and which of them the other direction answers next."""

    _out: list[MessageRecovered]
    """To which the missing Responses are added."""
    hidden: bool = False
    """Whether unknown Requests may be outstanding, for example from before the capture.  Then a
    Response is paired only if one Request alone fits."""
    captured: int = 0
    """The last frame that brought a segment of the requesting direction that was looked at."""
    now: int = 0
    """The frame that shows what is looked at now, of either direction."""
    shown: int = 0
    """The frame that has shown the last segment of the requesting direction: it may show more."""
    is_whole: bool = True
    """Whether everything was captured that the direction sent after the last Request."""
    _queue: list[Request] = field(default_factory=list)
    """Requests outstanding, without a break in their serial numbers."""
    _by_key: dict[Key, list[Request]] = field(default_factory=dict)
    """Those of them that say something, by what they say, ascending."""
    _missing: dict[int, Request] = field(default_factory=dict)
    """The others by MSN, ascending: nothing else is known of them."""
    _next: int = 0
    """The serial number of the next Request."""
    _low: int = 0
    """The first Request that may be the next to be answered."""
    _high: int = 0
    """The last one."""
    _uncertain: int = 0
    """Requests before this one that seem unanswered may have been answered all the same."""
    _unseen_until: int = 0
    """So may those that are still to come, if a frame up to this one brought them."""
    _leftover: int = 0
    """Octets that the Responses before ``_high`` leave of the last hole: more of them may have been
    in it than Requests were known."""
    _hole: Hole | None = None
    """That hole."""
    _may_go_on: bool = False
    """Whether, before the hole, a Response was in progress to a Request that is not known."""
    unanswered: list[tuple[int, Request]] = field(default_factory=list)
    """Requests that others overtook, and up to where their Responses would have been."""

    @property
    def held(self) -> int:
        """Octets of memory taken, roughly."""
        return (len(self._queue) + len(self.unanswered)) * HELD_BY_EACH

    # -- the requesting direction ----------------------------------------------------------------

    def ask(self, *requests: Request) -> None:
        """Take Requests; one without a key stands for one that was not captured.

        One segment may skip very many, so there are few calls for each.
        """
        queue = self._queue
        for request in requests:
            request.serial = self._next
            self._next += 1
            if request.key is not None:
                self._remember(request)
            else:
                self._missing[request.msn] = request
            if self._high == request.serial and self._hole is not None:
                self._pass_over(request, self._hole)
        queue += requests
        too_many = len(queue) - OUTSTANDING_REQUESTS
        if too_many > 0:
            end = queue[too_many - 1].serial + 1
            self._uncertain = max(self._uncertain, end)
            self._pass(end, 0)
            self.hidden = True

    def fill(self, request: Request) -> None:
        """Take a Request that was missing when later ones came.

        If it is not outstanding any more its Response was reported, or its absence was.
        """
        missing = self._missing.pop(request.msn, None)
        if missing is not None:
            request.serial = missing.serial
            self._queue[missing.serial - self._queue[0].serial] = request
            self._remember(request)

    def _remember(self, request: Request) -> None:
        """Have a Request found by what it says."""
        assert request.key is not None
        known = self._by_key.setdefault(request.key, [])
        known.insert(bisect_left(known, request.serial, key=_serial_of), request)
        self._doubt(request)

    def _doubt(self, *requests: Request) -> None:
        """Take it that a Response that has none may be to one of these Requests, if it may."""
        for request in requests:
            if request.captured <= self._unseen_until:
                self._uncertain = max(self._uncertain, request.serial + 1)

    def give_up(self) -> None:
        """Forget the Requests: from now on, others than are known may be outstanding."""
        # A dictionary does not shrink when what is in it is deleted.
        self._queue.clear()
        self._by_key.clear()
        self._missing.clear()
        self._low = self._high = self._uncertain = self._next
        self.settle(inf)
        self.hidden = True

    # -- the responding direction ----------------------------------------------------------------

    def knows_all(self, segment: DDPSegment) -> bool:
        """Tell whether all Requests are known that a Response may answer.

        :param segment: its first one.
        """
        if self.hidden:
            is_known = self.shown < self.now and any(
                each for key in keys_of(segment) for each in self._asked_before(segment, key)
            )
            return is_known or self._is_ahead_of(segment.captured)
        if self._high < self._next:
            return True
        # Where none is outstanding that a hole may hide, the one that it answers is still to come:
        # two directions that were captured apart may be any number of frames apart.
        return self._low < self._next and self._is_ahead_of(segment.captured)

    def _is_ahead_of(self, frame: int) -> bool:
        """Tell whether nothing that was sent before a frame is still to come, Requests for one."""
        return (self.is_whole or self.hidden) and self.captured > frame + LATE_SEGMENTS

    def lose(self, hole: Hole, current: DDPMessage | None, *, force: bool) -> bool:
        """Take note of a hole in the responding direction.

        :param current: the RDMA Read Response that was in progress.
        :param force: also if Requests may have been answered in it that are not known yet; if not,
            False is returned: ask again when more is known.
        """
        if self._hole is not hole:
            self._hole = hole
            self._leftover = hole.octets
            if current is not None and current.request is not None:
                self._leftover -= max(0, self._rest_of(current) - current.lost_after)
            for request in self._queue[self._high - self._low :]:
                if not self._pass_over(request, hole):
                    break
        may_hold_more = self._high == self._next and self._leftover >= _LEAST
        if may_hold_more and not (force or self.hidden or self._is_ahead_of(hole.frame)):
            return False
        if current is not None and current.request is None:
            self._may_go_on = True
        return True

    def _pass_over(self, request: Request, hole: Hole) -> bool:
        """Take it that the next Request may have been answered in a hole, if the Response to it
        fits; return whether it does."""
        self._leftover -= _LEAST + request.size
        if self._leftover < 0 or request.captured > hole.frame + LATE_SEGMENTS:
            self._leftover = 0
            return False
        self._high = request.serial + 1
        return True

    def after_hole(self, current: DDPMessage | None, segment: DDPSegment) -> list[Request]:
        """Return the Requests whose Responses a segment after a hole may be of, ascending.

        :param current: the RDMA Read Response that was in progress.
        """
        fits = []
        if current is not None and current.request is not None:
            if segment.offset >= current.next_offset and current.request.holds(segment):
                fits.append(current.request)
            if current.lost_after < self._rest_of(current):
                return fits
        return fits + [each for each in self._possible() if each.key is None or each.holds(segment)]

    def goes_on(self, current: DDPMessage, fits: list[Request]) -> bool:
        """Tell whether a segment for which :meth:`after_hole` gave ``fits`` is of ``current``."""
        may_be_next = current.lost_after >= self._rest_of(current) and self._is_open
        if fits != [current.request] or may_be_next:
            return False
        self._high = self._low
        self._leftover = 0
        return True

    def answer(self, message: DDPMessage, fits: list[Request] | None = None) -> None:
        """Find the Request that a Response answers. Its first segment is there.

        :param fits: what :meth:`after_hole` has found for it, None where nothing is missing.
        """
        keys = keys_of(message.first)
        if self.hidden:
            self._answer_hidden(message, keys)
            if message.lacks_header:
                # It answers one of those outstanding, or another one.
                self._uncertain = self._next
        elif fits is None:
            fits = self._fitting(message, keys)
            unknown = [each for each in self._possible() if each.key is None]
            may_be = self._claim(message, sorted([*fits, *unknown], key=_serial_of))
            if not may_be and not message.lacks_header:
                self._answer_overtaken(message, keys)
        elif self._may_go_on or (fits and fits[0].answered):
            # It may yet be the one that was in progress.
            is_captured = all(each.key is not None for each in fits)
            message.requested = True if is_captured and not self._may_go_on else None
            self._may_go_on = False
            if fits:
                self._high = self._uncertain = max(self._high, fits[-1].serial + 1)
        else:
            self._claim(message, fits)

    def _fitting(self, message: DDPMessage, keys: tuple[Key, ...]) -> list[Request]:
        """Return the Requests that a Response may answer by what it says, of those in turn."""
        if message.lacks_header:
            # Nobody knows what its identifier is.
            return [each for each in self._possible() if each.identifier is not None]
        for key in keys:
            fits = [each for each in self._known(key) if each.serial <= self._high]
            if fits:
                return fits
        # A sender need not send the octets of a message in their order (RFC 5041 5.3).
        return [each for each in self._possible() if each.holds(message.first)]

    def _answer_overtaken(self, message: DDPMessage, keys: tuple[Key, ...]) -> None:
        """Find the Request of a Response that is out of order, if no other one fits."""
        for key in keys:
            known = self._by_key.get(key, ())
            if len(known) == 1 and self._low == self._high:
                self._pair(message, known[0])
                return
        if self._high < self._next or self.is_whole:
            message.requested = False

    def _answer_hidden(self, message: DDPMessage, keys: tuple[Key, ...]) -> None:
        """Find the Request although there may be others, nobody knows which."""
        missing = next(iter(self._missing.values()), None)
        for key in keys:
            # Two are as good as many.
            known = list(islice(self._asked_before(message.first, key), 2))
            # A Response without octets may answer a Request that is not known yet.
            is_only = len(known) == 1 and len(self._by_key[key]) <= _LOOKED_AT and EMPTY not in keys
            # It may answer a Request that was not captured.  It does not if that Request comes
            # after the one that fits, and no Response is missing before this one.
            is_next = message.begun and message.first.header.tagged
            if is_only and (missing is None or (is_next and known[0].serial < missing.serial)):
                serial = known[0].serial
                self._uncertain = max(self._uncertain, serial)
                self._pair(message, known[0], serial + 1)
                return
            if known or not message.begun:
                # Any of those outstanding, or another one.
                self._uncertain = self._next
            if known and missing is not None and EMPTY not in keys:
                # It answers one of these, so the first of them is outstanding no more.
                self._pass(min(known[0].serial, missing.serial) + 1, 0)
        # Or one that was sent before, and was captured or is looked at later.
        self._unseen_until = max(self._unseen_until, message.first.captured + LATE_SEGMENTS)
        for key in keys:
            self._doubt(*self._known(key))

    def forget_overtaken(self) -> None:
        """Say of no Request that others overtook that it was not answered."""
        self.unanswered.clear()
        self._uncertain = max(self._uncertain, self._high + 1)

    def _asked_before(self, first: DDPSegment, key: Key) -> Iterator[Request]:
        """Give the Requests that a Response may answer by its first segment, captured before it.

        Buffers are used again: one that was captured after it comes after one that is hidden.
        """
        for each in self._known(key):
            if each.captured <= first.captured and each.begins_with(first):
                yield each

    def _known(self, key: Key) -> Iterable[Request]:
        """Return the first few Requests outstanding that say this, ascending."""
        return islice(self._by_key.get(key, ()), _LOOKED_AT)

    def _pair(self, message: DDPMessage, request: Request, serial: int = 0) -> None:
        """Take it that a Response answers a Request, which is outstanding, and none before
        ``serial``."""
        message.request = request
        message.requested = request.answered = True
        self._forget(request)
        self._pass(max(serial, self._low), 0)

    def settle(self, position: float) -> None:
        """Report the Responses missing before ``position`` of the responding direction."""
        while self.unanswered and self.unanswered[0][0] <= position:
            self._report_unanswered()

    def finish(self) -> None:
        """Report what was not answered."""
        self._pass(self._next, 0)
        self.settle(inf)

    def _report_unanswered(self) -> None:
        self._out.append(self.unanswered.pop(0)[1].unanswered())

    # -- which one ---------------------------------------------------------------------------

    def _possible(self) -> list[Request]:
        """Return the Requests that may be the next to be answered, the first few of them."""
        count = min(self._high - self._low + 1, _LOOKED_AT)
        return [each for each in islice(self._queue, count) if not each.answered]

    @property
    def _is_open(self) -> bool:
        """Whether more Requests than those looked at may be the next to be answered."""
        return self._high - self._low >= _LOOKED_AT or (
            self._high >= self._next and not self.is_whole
        )

    @staticmethod
    def _rest_of(current: DDPMessage) -> int:
        """Return the octets that the rest of an RDMA Read Response takes at least."""
        request = current.request
        assert request is not None
        return _LEAST + max(0, request.end - current.next_offset)

    def _claim(self, message: DDPMessage, fits: list[Request]) -> bool:
        """Take it that a Response answers one of some Requests, ascending; False if it cannot.

        Of those that were not captured nothing tells whether they fit.
        """
        is_open = self._is_open
        if not fits:
            return is_open
        first = fits[0]
        last = self._high if is_open else fits[-1].serial
        self._pass(first.serial, message.first.start)
        first.answered = True
        self._forget(first)
        is_captured = all(each.key is not None for each in fits)
        message.requested = True if is_captured and not is_open else None
        if first.serial != last:
            self._uncertain = last + 1
        elif is_captured:
            message.request = first
        self._low = first.serial
        self._high = min(last + 1, self._next)
        self._pass(first.serial + 1, 0)
        self._leftover = 0
        return True

    def _pass(self, serial: int, position: int) -> None:
        """Let go of the Requests before ``serial``, and of those after it that are answered.

        :param position: where Responses to them would have been before.
        """
        passed = 0
        for request in self._queue:
            if request.serial >= serial and not request.answered:
                break
            passed += 1
            if request.key is None:
                if request.msn in self._missing:
                    del self._missing[request.msn]
            elif not request.answered:
                self._forget(request)
                if request.serial >= self._uncertain:
                    self.unanswered.append((position, request))
                    if len(self.unanswered) > OUTSTANDING_REQUESTS:
                        self._report_unanswered()
            if serial <= request.serial:
                serial = request.serial + 1
        del self._queue[:passed]
        self._low = max(self._low, serial)
        self._high = max(self._high, self._low)

    def _forget(self, request: Request) -> None:
        """No longer find a Request by what it says; mostly it is the first of its kind."""
        if request.key is not None:
            known = self._by_key[request.key]
            known.remove(request)
            if not known:
                del self._by_key[request.key]
