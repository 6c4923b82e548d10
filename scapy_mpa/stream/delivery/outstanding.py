# SPDX-License-Identifier: GPL-2.0-or-later
"""What one direction has asked for, and the other one not answered: how much, and whether it may.

Of RFC 7306 5.2.2, that an Atomic Response answers an Atomic Request, and of RFC 6581 9.1, that no
more RDMA Read Requests are outstanding than the peer allows.  A capture may hold Request and
Response in the wrong order, and lack either, so what seems wrong is known to be only in the end.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from scapy_mpa.stream.delivery.segment import DDPSegment
from scapy_mpa.stream.doubtful import Doubt, Doubtful
from scapy_mpa.stream.events import ConnectionId, ErrorFound
from scapy_mpa.stream.sequence import unwrap
from scapy_mpa.wire.rules import Violation

__all__ = ["EXCESSIVE", "OUTSTANDING", "Outstanding"]

OUTSTANDING: Final = 4096
"""Atomic Requests of one direction that may be unanswered; beyond it, Responses go unchecked."""

EXCESSIVE: Final = 64
"""RDMA Read Requests of one direction that seem too many and may wait for what may yet be captured;
further ones are not held against IRD.  Only the first that is too many is reported."""

_NO_BUFFER: Final = (1, 2, 2)
_OF_ATOMICS: Final = "RFC 7306 5.2.2"


@dataclass(slots=True, eq=False)
class _Excess:
    """An RDMA Read Request that seems to be one more than the peer allows."""

    place: tuple[int, int, int, int]
    """Direction, frame, time and sequence number: there may be very many that wait."""
    acknowledged: int | None
    outstanding: int
    """How many were, by the Responses that were captured before it."""
    limit: int
    """How many may be."""

    def had(self, end: int) -> bool:
        """Tell whether its sender had received what ends at a sequence number."""
        acknowledged = self.acknowledged
        return acknowledged is not None and unwrap(acknowledged, end) >= end

    def error(self, connection: ConnectionId) -> ErrorFound:
        """Return it as the event that it is if nothing is missing from the capture."""
        what = Violation(
            f"RDMA Read Requests outstanding: {self.outstanding}, IRD of the peer: {self.limit}",
            "RFC 6581 9.1",
            _NO_BUFFER,
        )
        return Doubt(*self.place, str(what)).error(connection)


@dataclass(slots=True, eq=False)
class Outstanding:
    """The Requests of one direction that are not answered, as far as was seen."""

    is_known: bool = True
    """Whether no Atomic Request was forgotten."""
    _reads: int = 0
    """RDMA Read Requests sent, less those that the peer has answered."""
    _excess: tuple[_Excess, ...] = ()
    """Of them, those that seem too many: a capture may hold a Response after the Request that
    was sent when it had been received."""
    _identifiers: Counter[int] = field(default_factory=Counter)
    """Of Atomic Requests that were sent and are not answered."""
    _unasked: Doubtful | None = None
    """By identifier, Atomic Responses of the peer to Requests that were not seen so far; made
    with the first one."""

    def __len__(self) -> int:
        """How many Atomic Requests are remembered, those with the same identifier as one."""
        return len(self._identifiers)

    @property
    def doubtful(self) -> int:
        """How many things that seem wrong are kept and need not be."""
        unasked = 0 if self._unasked is None else len(self._unasked)
        return unasked + max(0, len(self._excess) - 1)

    def only_count(self) -> None:
        """Keep of what seems wrong how much it is, and the RDMA Read Request that seems to be the
        first one too many."""
        self._excess = self._excess[:1]
        if self._unasked is not None:
            self._unasked.only_count()

    def forget(self) -> None:
        """Take it that Atomic Responses may be to Requests that nobody knows of."""
        self.is_known = False
        self._identifiers.clear()

    def ask(self, identifier: int) -> None:
        """Take an Atomic Request, by its Request Identifier."""
        # A capture may have the two in the wrong order.
        if self._unasked is not None and self._unasked.withdraw(identifier):
            return
        if len(self._identifiers) >= OUTSTANDING:
            self.forget()
        self._identifiers[identifier] += 1

    def answer(self, segment: DDPSegment, identifier: int) -> None:
        """Take an Atomic Response, by its Original Request Identifier."""
        known = self._identifiers.pop(identifier, 0)
        if known > 1:
            self._identifiers[identifier] = known - 1
        elif not known:
            if self._unasked is None:
                self._unasked = Doubtful()
            what = Violation(f"no Atomic Request has the identifier {identifier}", _OF_ATOMICS)
            self._unasked.add(identifier, Doubt(*segment.origin[1:], str(what)))

    def ask_to_read(self, segment: DDPSegment, limit: int | None) -> None:
        """Take an RDMA Read Request.

        :param limit: how many the peer allows to be outstanding, None if that is not known.
        """
        self._reads += 1
        if limit is not None and self._reads > limit and len(self._excess) < EXCESSIVE:
            self._excess = (
                *self._excess,
                _Excess(segment.origin[1:], segment.acknowledged, self._reads, limit),
            )

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

    def unasked(self, connection: ConnectionId) -> list[ErrorFound]:
        """Return what is wrong with Atomic Responses, if nothing is missing from the capture."""
        return [] if self._unasked is None else self._unasked.errors(connection, _more_unasked)

    def exceeding(self, connection: ConnectionId) -> list[ErrorFound]:
        """Return that more RDMA Read Requests were outstanding than the peer allows, once."""
        return [excess.error(connection) for excess in self._excess[:1]]


def _more_unasked(count: int) -> Violation:
    text = f"Atomic Responses from here on to no Atomic Request: {count} or more"
    return Violation(text, _OF_ATOMICS)
