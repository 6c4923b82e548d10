# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests of one direction that the other one has not answered, and how many there may be.

An Atomic Response answers an Atomic Request (RFC 7306 5.2.2).  No more RDMA Read Requests are
outstanding than the peer allows (RFC 6581 9.1).  A capture may hold Request and Response in the
wrong order, or lack either.  So only the end shows what was wrong.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from scapy_mpa.stream.delivery.request import OUTSTANDING_REQUESTS
from scapy_mpa.stream.delivery.segment import DDPSegment, Origin
from scapy_mpa.stream.events import ErrorFound
from scapy_mpa.stream.limits import LATE_SEGMENTS
from scapy_mpa.stream.sequence import unwrap
from scapy_mpa.wire.rules import Violation

_NO_BUFFER: Final = (1, 2, 2)


@dataclass(slots=True, eq=False)
class _Excess:
    """An RDMA Read Request that seems to be one more than the peer allows."""

    origin: Origin
    acknowledged: int | None
    outstanding: int
    """How many were, by the Responses that were captured before it."""
    limit: int
    """How many may be."""

    def had(self, end: int) -> bool:
        """Tell whether its sender had received what ends at a sequence number."""
        acknowledged = self.acknowledged
        return acknowledged is not None and unwrap(acknowledged, end) >= end

    def error(self) -> ErrorFound:
        """Return it as the event that it is if nothing is missing from the capture."""
        what = f"RDMA Read Requests outstanding: {self.outstanding}, IRD of the peer: {self.limit}"
        return _error(self.origin, Violation(what, "RFC 6581 9.1", _NO_BUFFER))


def _error(origin: Origin, what: Violation) -> ErrorFound:
    return ErrorFound(*origin[:4], None, origin[4], str(what))


@dataclass(slots=True, eq=False)
class Outstanding:
    """The Requests of one direction that are not answered, as far as was seen."""

    is_known: bool = True
    """Whether nothing was forgotten."""
    _reads: int = 0
    """RDMA Read Requests sent, less those that the peer has answered."""
    _excess: tuple[_Excess, ...] = ()
    """Of them, those that seem too many: a capture may hold a Response after the Request that
    was sent when it had been received."""
    _identifiers: Counter[int] = field(default_factory=Counter)
    """Of Atomic Requests that were sent and are not answered."""
    _unasked: dict[int, ErrorFound] = field(default_factory=dict)
    """By identifier, Atomic Responses of the peer to Requests that were not seen so far."""

    def __len__(self) -> int:
        """How much is remembered."""
        return len(self._identifiers) + len(self._unasked) + len(self._excess)

    def forget(self) -> None:
        """Take it that Atomic Responses may be to Requests that nobody knows of."""
        self.is_known = False
        self._identifiers.clear()
        self._unasked.clear()
        self._excess = ()

    def ask(self, identifier: int) -> None:
        """Take an Atomic Request, by its Request Identifier."""
        # A capture may have the two in the wrong order.
        if self._unasked.pop(identifier, None) is not None:
            return
        if len(self._identifiers) >= OUTSTANDING_REQUESTS:
            self.forget()
        self._identifiers[identifier] += 1

    def answer(self, segment: DDPSegment, identifier: int) -> None:
        """Take an Atomic Response, by its Original Request Identifier."""
        known = self._identifiers.pop(identifier, 0)
        if known > 1:
            self._identifiers[identifier] = known - 1
        elif not known and len(self._unasked) < OUTSTANDING_REQUESTS:
            text = f"no Atomic Request has the identifier {identifier}"
            self._unasked[identifier] = _error(segment.origin, Violation(text, "RFC 7306 5.2.2"))

    def ask_to_read(self, segment: DDPSegment, limit: int | None) -> None:
        """Take an RDMA Read Request.

        :param limit: how many the peer allows to be outstanding, None if that is not known.
        """
        self._reads += 1
        # What was sent before it is captured by then, or lost.
        if limit is not None and self._reads > limit and len(self._excess) < LATE_SEGMENTS:
            one = _Excess(segment.origin, segment.acknowledged, self._reads, limit)
            self._excess = (*self._excess, one)

    def answer_read(self, segment: DDPSegment) -> None:
        """Take the last segment of an RDMA Read Response."""
        self._reads -= 1
        if not self._excess:
            return
        # It may be captured after Requests whose sender had it.
        seq, _, leading, extent = segment.place
        end = seq - leading + extent
        for excess in self._excess:
            excess.outstanding -= excess.had(end)
        self._excess = tuple(each for each in self._excess if each.outstanding > each.limit)

    def unasked(self) -> list[ErrorFound]:
        """Return what is wrong with Atomic Responses, if nothing is missing from the capture."""
        return list(self._unasked.values())

    def exceeding(self) -> list[ErrorFound]:
        """Return that more RDMA Read Requests were outstanding than the peer allows, once."""
        return [excess.error() for excess in self._excess[:1]]
