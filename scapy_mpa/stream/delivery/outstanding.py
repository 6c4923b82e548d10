# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks on the outstanding Requests of one direction.

An Atomic Response answers an Atomic Request (RFC 7306 5.2.2).  No more RDMA Read Requests are
outstanding than the peer allows (RFC 6581 9.1).  A capture may have Request and Response in the
wrong order, or lack one of them.  So only the end of the capture proves an error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from scapy_mpa.stream.delivery.request import OUTSTANDING_REQUESTS
from scapy_mpa.stream.delivery.segment import DDPSegment, Origin
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
    """RDMA Read Requests outstanding with it, by the Responses known so far."""
    limit: int
    """How many the peer allows."""

    def had_received(self, end: int) -> bool:
        """True if its sender had received all octets before the sequence number ``end``."""
        acknowledged = self.acknowledged
        return acknowledged is not None and unwrap(acknowledged, end) >= end


@dataclass(slots=True, eq=False)
class Outstanding:
    """The Requests of one direction that no captured Response answers."""

    is_known: bool = True
    """False if Requests were forgotten."""
    _reads: int = 0
    """RDMA Read Requests sent, less those that the peer has answered."""
    _excess: tuple[_Excess, ...] = ()
    """RDMA Read Requests that seem too many.  They may be allowed: a capture may have a Response
    after a Request whose sender had already received that Response."""
    _identifiers: Counter[int] = field(default_factory=Counter)
    """Request Identifiers of the outstanding Atomic Requests."""
    _unmatched: dict[int, Origin] = field(default_factory=dict)
    """By identifier, the Atomic Responses of the peer without a Request so far."""

    def __len__(self) -> int:
        """How many Requests and Responses are kept."""
        return len(self._identifiers) + len(self._unmatched) + len(self._excess)

    def forget(self) -> None:
        """Forget all: from now on, Atomic Responses may answer unknown Requests."""
        self.is_known = False
        self._identifiers.clear()
        self._unmatched.clear()
        self._excess = ()

    def add_atomic_request(self, identifier: int) -> None:
        """Take an Atomic Request, by its Request Identifier."""
        # A capture may have Request and Response in the wrong order.
        if self._unmatched.pop(identifier, None) is not None:
            return
        if len(self._identifiers) >= OUTSTANDING_REQUESTS:
            self.forget()
        self._identifiers[identifier] += 1

    def add_atomic_response(self, segment: DDPSegment, identifier: int) -> None:
        """Take an Atomic Response, by its Original Request Identifier."""
        known = self._identifiers.pop(identifier, 0)
        if known > 1:
            self._identifiers[identifier] = known - 1
        elif not known and len(self._unmatched) < OUTSTANDING_REQUESTS:
            self._unmatched[identifier] = segment.origin

    def add_read_request(self, segment: DDPSegment, limit: int | None) -> None:
        """Take an RDMA Read Request.

        :param limit: how many the peer allows to be outstanding, None if unknown.
        """
        self._reads += 1
        # All segments sent before it have come by now, or are lost.
        if limit is not None and self._reads > limit and len(self._excess) < LATE_SEGMENTS:
            self._excess += (_Excess(segment.origin, segment.acknowledged, self._reads, limit),)

    def add_read_response(self, segment: DDPSegment) -> None:
        """Take the last segment of an RDMA Read Response."""
        self._reads -= 1
        if not self._excess:
            return
        # The sender of Requests captured before it may have had this Response.
        for excess in self._excess:
            excess.outstanding -= excess.had_received(segment.end_seq)
        self._excess = tuple(each for each in self._excess if each.outstanding > each.limit)

    def unasked_responses(self) -> Iterator[tuple[Origin, Violation]]:
        """Yield the Atomic Responses without a Request.

        They are errors only if nothing is missing from the capture.
        """
        for identifier, origin in self._unmatched.items():
            text = f"no Atomic Request has the identifier {identifier}"
            yield origin, Violation(text, "RFC 7306 5.2.2")

    def too_many_reads(self) -> Iterator[tuple[Origin, Violation]]:
        """Yield the first RDMA Read Request that is too many, if any and if nothing is missing."""
        for each in self._excess[:1]:
            text = (
                f"RDMA Read Requests outstanding: {each.outstanding}, IRD of the peer: {each.limit}"
            )
            yield each.origin, Violation(text, "RFC 6581 9.1", _NO_BUFFER)
