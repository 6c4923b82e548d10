# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks on the outstanding Requests of one direction.

An Atomic Response answers an Atomic Request (RFC 7306 5.2.2).  No more RDMA Read Requests are
outstanding than both sides allow (RFC 6581 9.1, RFC 5040 6.1).  A capture may have Request and
Response in the wrong order, or lack one of them.  So only the end of the capture proves an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from scapy_mpa.stream.delivery.request import OUTSTANDING_REQUESTS
from scapy_mpa.stream.delivery.segment import DDPSegment, Origin
from scapy_mpa.stream.limits import LATE_SEGMENTS
from scapy_mpa.stream.sequence import unwrap
from scapy_mpa.wire.rules import Violation

_NO_BUFFER: Final = (1, 2, 2)
_RULES: Final = {
    False: ("IRD of the peer", "RFC 6581 9.1", _NO_BUFFER),
    True: ("ORD of their sender", "RFC 5040 6.1", None),
}
"""By whether the sender itself has set the limit: its name, its clause, and the Terminate."""


@dataclass(slots=True, eq=False)
class _Excess:
    """An RDMA Read Request that seems to be one more than is allowed."""

    origin: Origin
    acknowledged: int | None
    outstanding: int
    """RDMA Read Requests outstanding with it, by the Responses known so far."""
    limit: int
    """How many are allowed."""
    is_own: bool
    """Whether the sender itself has set this limit, below that of the peer."""


def _covers(acknowledged: int | None, end: int) -> bool:
    """Return whether a side has acknowledged all octets before the sequence number ``end``."""
    return acknowledged is not None and unwrap(acknowledged, end) >= end


@dataclass(slots=True, eq=False)
class Outstanding:
    """The Requests of one direction that no captured Response answers."""

    is_known: bool = True
    """False if Requests were forgotten."""
    _reads: int = 0
    """RDMA Read Requests sent, less those that the peer has answered."""
    _early: tuple[int | None, ...] = ()
    """What the peer had acknowledged by each RDMA Read Response that came while no Request was
    outstanding.  It may answer one that was captured later, but none that was sent later."""
    _excess: tuple[_Excess, ...] = ()
    """RDMA Read Requests that seem too many.  They may be allowed: a capture may have a Response
    after a Request whose sender had already received that Response."""
    _atomics: dict[int, tuple[int, Origin]] = field(default_factory=dict)
    """By Request Identifier, the Atomic Requests less the Responses of the peer, if they differ;
    and the origin of the last of them."""

    def __len__(self) -> int:
        """How many Requests and Responses are kept."""
        return len(self._atomics) + len(self._excess) + len(self._early)

    def forget(self) -> None:
        """Forget all: from now on, Atomic Responses may answer unknown Requests."""
        self.is_known = False
        self._atomics.clear()
        self._excess = self._early = ()

    def add_atomic(self, identifier: int, change: int, origin: Origin) -> None:
        """Take an Atomic Request (1) or Response (-1).  A capture may have them in any order."""
        count = self._atomics.pop(identifier, (0, origin))[0] + change
        if count:
            self._atomics[identifier] = count, origin
        if len(self._atomics) > OUTSTANDING_REQUESTS:
            self.forget()

    def add_read_request(self, segment: DDPSegment, ird: int | None, ord: int | None) -> None:
        """Take an RDMA Read Request.

        :param ird: how many the peer allows to be outstanding, None if unknown.
        :param ord: how many its sender has promised at most, None if it is not bound.
        """
        end, early = segment.end_seq, self._early
        for at, acknowledged in enumerate(early):
            if acknowledged is None or _covers(acknowledged, end):
                self._early = early[:at] + early[at + 1 :]
                return
        self._reads += 1
        if ird is None:
            return
        limit = ird if ord is None else min(ird, ord)
        # All segments sent before it have come by now, or are lost.
        if self._reads > limit and len(self._excess) < LATE_SEGMENTS:
            found = segment.origin, segment.acknowledged, self._reads, limit, limit < ird
            self._excess += (_Excess(*found),)

    def add_read_response(self, segment: DDPSegment) -> None:
        """Take the last segment of an RDMA Read Response."""
        if self._reads:
            self._reads -= 1
        elif len(self._early) < LATE_SEGMENTS:
            self._early += (segment.acknowledged,)
        else:
            self.forget()
        # The sender of Requests captured before it may have had this Response.
        for excess in self._excess:
            excess.outstanding -= _covers(excess.acknowledged, segment.end_seq)
        self._excess = tuple(each for each in self._excess if each.outstanding > each.limit)

    def unasked_responses(self) -> Iterator[tuple[Origin, Violation]]:
        """Yield the Atomic Responses without a Request.

        They are errors only if nothing is missing from the capture.
        """
        for identifier, (count, origin) in self._atomics.items():
            if count < 0:
                text = f"no Atomic Request has the identifier {identifier}"
                yield origin, Violation(text, "RFC 7306 5.2.2")

    def too_many_reads(self) -> Iterator[tuple[Origin, Violation]]:
        """Yield the first RDMA Read Request that is too many, if any and if nothing is missing."""
        for each in self._excess[:1]:
            name, clause, terminate = _RULES[each.is_own]
            text = f"RDMA Read Requests outstanding: {each.outstanding}, {name}: {each.limit}"
            yield each.origin, Violation(text, clause, terminate)
