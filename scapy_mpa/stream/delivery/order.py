# SPDX-License-Identifier: GPL-2.0-or-later
"""The order of DDP segments on the Untagged queues of one direction (RFC 5041 4.3, 5.2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from scapy_mpa.stream.delivery.untagged import FIRST_MSN
from scapy_mpa.stream.sequence import sequence_number
from scapy_mpa.wire.ddp import DDPHeader
from scapy_mpa.wire.rdmap_names import UNTAGGED_QUEUES
from scapy_mpa.wire.rules import MSN_RANGE, Violation

_Due: TypeAlias = tuple[int | None, bool]
"""The MSN that is due on a queue, None if any may come next; and whether its message has begun."""


@dataclass(slots=True, eq=False)
class QueueOrder:
    """Checks that each MSN is due, in the order of the stream of one direction.

    To a Data Sink, octets that a message lacks or has twice are no error (RFC 5041 5.2).
    """

    _first: int | None = FIRST_MSN
    """The MSN that is due first on a queue; None if any MSN may come first."""
    _due: dict[int, _Due] = field(default_factory=dict)
    """By queue, if it had segments."""

    def forget(self) -> None:
        """Note that octets of the stream are missing: any MSN may come next."""
        self._first = None
        self._due.clear()

    def take(self, header: DDPHeader) -> Violation | None:
        """Take an Untagged segment; return the violation if its MSN is not due."""
        qn, msn = header.qn, header.msn
        if qn not in UNTAGGED_QUEUES or msn is None:
            return None
        known = self._due.get(qn)
        due, has_begun = known or (self._first, False)
        if known and due is not None and not header.last and msn == sequence_number(due - 1):
            # Offsets should increase, but need not (RFC 5041 5.3): its Last segment came before.
            return None
        # The next message may begin even if this one never got its Last segment.
        if due is not None and msn != due and not (has_begun and msn == sequence_number(due + 1)):
            # The next segment shows which of the two MSNs was meant.
            self._due[qn] = None, False
            return Violation(
                f"MSN {msn} on queue {qn}, where {due} is due", "RFC 5041 4.3", MSN_RANGE
            )
        self._due[qn] = (sequence_number(msn + 1), False) if header.last else (msn, True)
        return None
