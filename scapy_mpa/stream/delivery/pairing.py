# SPDX-License-Identifier: GPL-2.0-or-later
"""Which Response answers which Request (RFC 5040 5.2.1, 5.2.2; RFC 7306 5.2 and 7).

RDMA Read Requests and Atomic Requests share QN 1.  Their Responses come in the other direction, in
the order of the Requests.  A Response does not have the MSN of its Request.  An RDMA Read Response
has the Data Sink STag and Tagged Offset of the Request, an Atomic Response its Request Identifier.
Buffers are used again and again.  So the order decides, and these fields must agree with it.

If nothing is missing, the next Response answers the oldest outstanding Request.  A hole in the
responding direction may have held Responses, as many as fit in it.  Then the next Response may
answer any of several Requests.  If only one of them fits, it is that one.  If several fit, the
Request is unknown, and the record shows this.
"""

from __future__ import annotations

from collections.abc import Iterator
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
"""Requests with the fields of a Response that are tried for it, at most.  They are looked for among
all that are outstanding."""

_LEAST: Final = fpdu_length(TAGGED_LENGTH)
# Octets of a Response without payload in the stream.

_serial_of = attrgetter("serial")


class Hole(NamedTuple):
    """Octets missing in the responding direction."""

    octets: int
    """Number of octets without Markers."""
    frame: int
    """The last frame that brought the segment after the hole; 0 if that has no header."""


@dataclass(slots=True, eq=False)
class Requests:
    """The Requests of one direction.  The candidates are those that the next Response may answer.

    Each Request has a serial number, its place in the order of Requests.
    """

    _out: list[MessageRecovered]
    """Takes the missing Responses."""
    may_lack_some: bool = False
    """True if unknown Requests may be outstanding, for example from before the capture.  Then a
    Response is paired only if one Request alone fits."""
    captured: int = 0
    """The last frame that brought octets of the processed segments of the requesting direction."""
    now: int = 0
    """The frame of the segment that is processed now, of either direction."""
    shown: int = 0
    """The frame that completed the last segment of the requesting direction: it may complete
    more."""
    is_whole: bool = True
    """True if no octets of the direction are missing after the last Request."""
    _queue: list[Request] = field(default_factory=list)
    """Outstanding Requests, with consecutive serial numbers.  The first one is not answered."""
    _next: int = 0
    """The serial number of the next Request."""
    _high: int = 0
    """Serial number of the last candidate; ``_next`` if that Request has not come yet."""
    _uncertain: int = 0
    """Requests before this serial number may have been answered, although no Response shows it."""
    _uncertain_frame: int = 0
    """Requests that a frame up to this one brings may have been answered, too."""
    _leftover: int = 0
    """Octets of the last hole after the Responses before ``_high``.  They may have held Responses
    to Requests that are not known yet."""
    _hole: Hole | None = None
    """The last hole."""
    _may_go_on: bool = False
    """True if a Response to an unknown Request was in progress before the hole."""
    unanswered: list[tuple[int, Request]] = field(default_factory=list)
    """Overtaken Requests: later ones were answered.  With each, the position before which its
    Response would lie."""

    @property
    def held(self) -> int:
        """Octets of memory taken, roughly."""
        return (len(self._queue) + len(self.unanswered)) * HELD_BY_EACH

    # -- the requesting direction ----------------------------------------------------------------

    def add(self, *requests: Request) -> None:
        """Take Requests.  A Request without a key is one that was not captured."""
        for request in requests:
            request.serial = self._next
            self._next += 1
            if self._high == request.serial and self._hole is not None:
                self._fit_in_hole(request, self._hole)
        self._queue += requests
        self._mark_uncertain(*requests)
        end = self._next - OUTSTANDING_REQUESTS
        if end > self._low:
            self._uncertain = max(self._uncertain, end)
            self._drop_before(end, 0)
            self.may_lack_some = True

    def add_late(self, request: Request) -> None:
        """Take a Request that was missing when later Requests came.

        If it is not outstanding any more, its Response was reported, or reported as missing.
        """
        for at, each in enumerate(self._queue):
            if each.key is None and each.msn == request.msn:
                request.serial = each.serial
                self._queue[at] = request
                self._mark_uncertain(request)
                break

    def _mark_uncertain(self, *requests: Request) -> None:
        """Mark those of these Requests that an earlier, unpaired Response may have answered."""
        for request in requests:
            if request.key is not None and request.captured <= self._uncertain_frame:
                self._uncertain = max(self._uncertain, request.serial + 1)

    def give_up(self) -> None:
        """Forget the Requests: from now on, unknown Requests may be outstanding."""
        self._uncertain = self._next
        self.finish()
        self.may_lack_some = True

    # -- the responding direction ----------------------------------------------------------------

    def knows_all(self, segment: DDPSegment) -> bool:
        """True if all Requests that a Response may answer are known.

        :param segment: the first segment of the Response.
        """
        if self.may_lack_some:
            is_known = self.shown < self.now and any(
                each for key in keys_of(segment) for each in self._asked_before(segment, key)
            )
            return is_known or self._is_ahead_of(segment.captured)
        if self._high < self._next:
            return True
        # If no Request is outstanding, its Request is still to come: if two directions were
        # captured apart, any number of frames may lie between Request and Response.
        return self._low < self._next and self._is_ahead_of(segment.captured)

    def _is_ahead_of(self, frame: int) -> bool:
        """True if no segment of the requesting direction sent before a frame is still to come."""
        return (self.is_whole or self.may_lack_some) and self.captured > frame + LATE_SEGMENTS

    def note_hole(self, hole: Hole, current: DDPMessage | None, *, force: bool) -> bool:
        """Note a hole in the responding direction; return False if that must wait.

        It waits while the hole may have held Responses to Requests that are not known yet.

        :param current: the RDMA Read Response that was in progress.
        :param force: do not wait.
        """
        if self._hole is not hole:
            self._hole = hole
            self._leftover = hole.octets
            if current is not None and current.request is not None:
                self._leftover -= max(0, self._rest_of(current) - current.lost_after)
            for request in self._queue[self._high - self._low :]:
                if not self._fit_in_hole(request, hole):
                    break
        may_hold_more = self._high == self._next and self._leftover >= _LEAST
        if may_hold_more and not (force or self.may_lack_some or self._is_ahead_of(hole.frame)):
            return False
        if current is not None and current.request is None:
            self._may_go_on = True
        return True

    def _fit_in_hole(self, request: Request, hole: Hole) -> bool:
        """Return whether the Response to the last candidate may lie in the rest of a hole.

        If it may, the next Request is a candidate, too.
        """
        self._leftover -= _LEAST + request.size
        if self._leftover < 0 or request.captured > hole.frame + LATE_SEGMENTS:
            self._leftover = 0
            return False
        self._high = request.serial + 1
        return True

    def after_hole(self, current: DDPMessage | None, segment: DDPSegment) -> list[Request]:
        """Return the Requests, ascending, that a segment after a hole may answer.

        :param current: the RDMA Read Response that was in progress.
        """
        fits = []
        if current is not None and current.request is not None:
            if segment.offset >= current.next_offset and current.request.holds(segment):
                fits.append(current.request)
            if current.lost_after < self._rest_of(current):
                return fits
        return fits + [each for each in self._candidates if each.key is None or each.holds(segment)]

    def goes_on(self, current: DDPMessage, fits: list[Request]) -> bool:
        """Return whether a segment after a hole continues ``current``.

        :param fits: the Requests that :meth:`after_hole` has found for the segment.
        """
        may_be_next = current.lost_after >= self._rest_of(current) and self._has_more_candidates
        if fits != [current.request] or may_be_next:
            return False
        self._high = self._low
        self._leftover = 0
        return True

    def answer(self, message: DDPMessage, fits: list[Request] | None = None) -> None:
        """Find the Request that a Response answers, by its first segment.

        :param fits: the Requests that :meth:`after_hole` has found for it, None if there is no
            hole.
        """
        keys = keys_of(message.first)
        if self.may_lack_some:
            self._answer_if_unique(message, keys)
            if message.lacks_header:
                # It may answer any outstanding Request, or an unknown one.
                self._uncertain = self._next
        elif fits is None:
            fits = self._fitting(message, keys)
            unknown = [each for each in self._candidates if each.key is None]
            is_found = self._answer_one_of(message, sorted([*fits, *unknown], key=_serial_of))
            if not is_found and not message.lacks_header:
                self._answer_overtaken(message, keys)
        elif self._may_go_on or (fits and fits[0].answered):
            # It may be the rest of the Response that was in progress.
            is_captured = all(each.key is not None for each in fits)
            message.requested = True if is_captured and not self._may_go_on else None
            self._may_go_on = False
            if fits:
                self._high = self._uncertain = max(self._high, fits[-1].serial + 1)
        else:
            self._answer_one_of(message, fits)

    def _fitting(self, message: DDPMessage, keys: tuple[Key, ...]) -> list[Request]:
        """Return the candidates that a Response may answer by its fields."""
        if message.lacks_header:
            # Its Request Identifier is unknown.
            return [each for each in self._candidates if each.identifier is not None]
        for key in keys:
            fits = list(self._known(key, self._high - self._low + 1))
            if fits:
                return fits
        # A sender need not send the octets of a message in their order (RFC 5041 5.3).
        return [each for each in self._candidates if each.holds(message.first)]

    def _answer_overtaken(self, message: DDPMessage, keys: tuple[Key, ...]) -> None:
        """Find the Request of a Response that is out of order, if only one Request fits."""
        for key in keys:
            known = list(self._known(key))
            if len(known) == 1 and self._low == self._high:
                self._pair(message, known[0])
                return
        if self._high < self._next or self.is_whole:
            message.requested = False

    def _answer_if_unique(self, message: DDPMessage, keys: tuple[Key, ...]) -> None:
        """Find the Request if only one fits, while unknown Requests may be outstanding."""
        missing = next((each for each in self._queue if each.key is None), None)
        for key in keys:
            # Two are enough to know that it is not the only one.
            known = list(islice(self._asked_before(message.first, key), 2))
            # A Response without octets may answer a Request that is not known yet.
            is_only = len(known) == 1 and EMPTY not in keys
            is_only = is_only and len(list(self._known(key))) < _LOOKED_AT
            # It may answer a Request that was not captured.  It does not if that Request comes
            # after the one that fits, and no Response is missing before this one.
            is_next = message.begun and message.first.header.tagged
            if is_only and (missing is None or (is_next and known[0].serial < missing.serial)):
                serial = known[0].serial
                self._uncertain = max(self._uncertain, serial)
                self._pair(message, known[0], serial + 1)
                return
            if known or not message.begun:
                # It may answer any outstanding Request, or an unknown one.
                self._uncertain = self._next
            if known and missing is not None and EMPTY not in keys:
                # It answers one of these, so the first of them is not outstanding any more.
                self._drop_before(min(known[0].serial, missing.serial) + 1, 0)
        # It may also answer a Request that was sent before it, but comes later.
        self._uncertain_frame = max(self._uncertain_frame, message.first.captured + LATE_SEGMENTS)
        for key in keys:
            self._mark_uncertain(*self._known(key))

    def forget_overtaken(self) -> None:
        """Forget the overtaken Requests: none is reported as unanswered."""
        self.unanswered.clear()
        self._uncertain = max(self._uncertain, self._high + 1)

    def _asked_before(self, first: DDPSegment, key: Key) -> Iterator[Request]:
        """Yield the captured Requests before a Response that it may answer by its first segment.

        Buffers are used again.  A matching Request that was captured after the Response comes after
        an unknown Request, which the Response answers.
        """
        for each in self._known(key):
            is_possible = each.read is None or each.holds(first)
            if is_possible and each.captured <= first.captured:
                yield each

    def _known(self, key: Key, count: int | None = None) -> Iterator[Request]:
        """Yield the first few Requests with a key among ``count`` outstanding ones, or all."""
        first = islice(self._queue, count)
        known = (each for each in first if each.key == key and not each.answered)
        return islice(known, _LOOKED_AT)

    def _pair(self, message: DDPMessage, request: Request, serial: int = 0) -> None:
        """Pair a Response with an outstanding Request; drop the Requests before ``serial``."""
        message.request = request
        message.requested = request.answered = True
        self._drop_before(max(serial, self._low), 0)

    def settle(self, position: float) -> None:
        """Report the Responses missing before ``position`` of the responding direction."""
        while self.unanswered and self.unanswered[0][0] <= position:
            self._report_unanswered()

    def finish(self) -> None:
        """Report the Requests without a Response."""
        self._drop_before(self._next, 0)
        self.settle(inf)

    def _report_unanswered(self) -> None:
        self._out.append(self.unanswered.pop(0)[1].unanswered())

    # -- candidates --------------------------------------------------------------------------

    @property
    def _low(self) -> int:
        """The serial number of the first candidate."""
        return self._next - len(self._queue)

    @property
    def _candidates(self) -> list[Request]:
        """The first few Requests that the next Response may answer."""
        count = min(self._high - self._low + 1, _LOOKED_AT)
        return [each for each in islice(self._queue, count) if not each.answered]

    @property
    def _has_more_candidates(self) -> bool:
        """True if the next Response may answer a Request that ``_candidates`` lacks."""
        return self._high - self._low >= _LOOKED_AT or (
            self._high >= self._next and not self.is_whole
        )

    @staticmethod
    def _rest_of(current: DDPMessage) -> int:
        """Return the fewest octets that the rest of an RDMA Read Response takes in the stream."""
        request = current.request
        assert request is not None
        return _LEAST + max(0, request.end - current.next_offset)

    def _answer_one_of(self, message: DDPMessage, fits: list[Request]) -> bool:
        """Note that a Response answers one of these Requests; return False if there is none.

        :param fits: ascending, with Requests that were not captured: they may fit.
        """
        has_more = self._has_more_candidates
        if not fits:
            return has_more
        first = fits[0]
        last = self._high if has_more else fits[-1].serial
        self._drop_before(first.serial, message.first.start)
        first.answered = True
        is_captured = all(each.key is not None for each in fits)
        message.requested = True if is_captured and not has_more else None
        if first.serial != last:
            self._uncertain = last + 1
        elif is_captured:
            message.request = first
        self._high = min(last + 1, self._next)
        self._drop_before(first.serial + 1, 0)
        self._leftover = 0
        return True

    def _drop_before(self, serial: int, position: int) -> None:
        """Drop the Requests before ``serial``, and answered ones that follow directly.

        :param position: the position before which their Responses would lie.
        """
        dropped = 0
        for request in self._queue:
            if request.serial >= serial and not request.answered:
                break
            dropped += 1
            is_known = request.key is not None and not request.answered
            if is_known and request.serial >= self._uncertain:
                self.unanswered.append((position, request))
        del self._queue[:dropped]
        self._high = max(self._high, self._low)
        while len(self.unanswered) > OUTSTANDING_REQUESTS:
            self._report_unanswered()
