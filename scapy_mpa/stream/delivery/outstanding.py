# SPDX-License-Identifier: GPL-2.0-or-later
"""What one direction has asked for, and the other one not answered: how much, and whether it may.

Of RFC 7306 5.2.2, that an Atomic Response answers an Atomic Request, and of RFC 6581 9.1, that no
more RDMA Read Requests are outstanding than the peer allows.  A capture may hold Request and
Response in the wrong order, and lack either, so what seems wrong is known to be only in the end.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from scapy_mpa.stream.events import DDPCarrier, ErrorFound, FPDURecovered
from scapy_mpa.stream.sequence import unwrap
from scapy_mpa.wire.rules import Violation

__all__ = ["DOUBTFUL", "OUTSTANDING", "Outstanding"]

OUTSTANDING: Final = 4096
"""Atomic Requests of one direction that may be unanswered; beyond it, Responses go unchecked."""

DOUBTFUL: Final = 64
"""Errors of one direction and kind that may wait for the end of its connection."""

_NO_BUFFER: Final = (1, 2, 2)


class _Excess:
    """An RDMA Read Request that seems to be one more than the peer allows.

    :param carrier: that brought it.
    :param outstanding: how many were, by the Responses that were captured before it.
    :param limit: how many may be.
    """

    __slots__ = ("carrier", "limit", "outstanding")

    def __init__(self, carrier: DDPCarrier, outstanding: int, limit: int) -> None:
        self.carrier = carrier
        self.outstanding = outstanding
        self.limit = limit

    def had(self, end: int) -> bool:
        """Tell whether its sender had received what ends at a sequence number."""
        carrier = self.carrier
        acknowledged = carrier.acknowledged if isinstance(carrier, FPDURecovered) else None
        return acknowledged is not None and unwrap(acknowledged, end) >= end


class Outstanding:
    """The Requests of one direction that are not answered, as far as was seen."""

    __slots__ = ("_excess", "_identifiers", "_reads", "_unasked", "is_known")

    def __init__(self) -> None:
        self.is_known = True
        """Whether no Atomic Request was forgotten."""
        self._reads = 0
        """RDMA Read Requests sent, less those that the peer has answered."""
        self._excess: tuple[_Excess, ...] = ()
        """Of them, those that seem too many: a capture may hold a Response behind the Request that
        was sent when it had been received."""
        self._identifiers: Counter[int] = Counter()
        """Of Atomic Requests that were sent and are not answered."""
        self._unasked: dict[int, ErrorFound] = {}
        """By identifier, Atomic Responses of the peer to Requests that were not seen so far."""

    def __len__(self) -> int:
        """How many Atomic Requests are remembered, those with the same identifier as one."""
        return len(self._identifiers)

    def forget(self) -> None:
        """Take it that Atomic Responses may be to Requests that nobody knows of."""
        self.is_known = False
        self._identifiers.clear()

    def ask(self, identifier: int) -> None:
        """Take an Atomic Request, by its Request Identifier."""
        # A capture may have the two in the wrong order.
        if self._unasked.pop(identifier, None) is None:
            if len(self._identifiers) >= OUTSTANDING:
                self.forget()
            self._identifiers[identifier] += 1

    def answer(self, carrier: DDPCarrier, identifier: int) -> None:
        """Take an Atomic Response, by its Original Request Identifier."""
        known = self._identifiers.pop(identifier, 0)
        if known > 1:
            self._identifiers[identifier] = known - 1
        elif not known and len(self._unasked) < DOUBTFUL:
            self._unasked[identifier] = _error(
                carrier,
                Violation(f"no Atomic Request has the identifier {identifier}", "RFC 7306 5.2.2"),
            )

    def ask_to_read(self, carrier: DDPCarrier, limit: int | None) -> None:
        """Take an RDMA Read Request.

        :param limit: how many the peer allows to be outstanding, None if that is not known.
        """
        self._reads += 1
        if limit is not None and self._reads > limit and len(self._excess) < DOUBTFUL:
            self._excess = (*self._excess, _Excess(carrier, self._reads, limit))

    def answer_read(self, carrier: DDPCarrier) -> None:
        """Take the last segment of an RDMA Read Response."""
        self._reads -= 1
        if not self._excess:
            return
        # It may be captured behind Requests whose sender had it.
        seq, _, leading, extent = carrier.place
        end = seq - leading + extent
        for excess in self._excess:
            excess.outstanding -= excess.had(end)
        self._excess = tuple(each for each in self._excess if each.outstanding > each.limit)

    def unasked(self) -> list[ErrorFound]:
        """Return what is wrong with Atomic Responses, if nothing is missing from the capture."""
        return list(self._unasked.values())

    def exceeding(self) -> tuple[ErrorFound, ...]:
        """Return that more RDMA Read Requests were outstanding than the peer allows, once."""
        return tuple(
            _error(
                excess.carrier,
                Violation(
                    f"RDMA Read Requests outstanding: {excess.outstanding}, "
                    f"IRD of the peer: {excess.limit}",
                    "RFC 6581 9.1",
                    _NO_BUFFER,
                ),
            )
            for excess in self._excess[:1]
        )


def _error(carrier: DDPCarrier, what: Violation) -> ErrorFound:
    return ErrorFound(
        carrier.connection,
        carrier.direction,
        carrier.frame,
        carrier.time_ns,
        None,
        carrier.seq,
        str(what),
    )
