# SPDX-License-Identifier: GPL-2.0-or-later
"""The order of DDP segments on the Untagged queues of one direction (RFC 5041 4.3, 5.2)."""

from __future__ import annotations

from dataclasses import dataclass, field

from scapy_mpa.stream.delivery.msn import FIRST_MSN
from scapy_mpa.stream.sequence import sequence_number
from scapy_mpa.wire.ddp import DDPHeader
from scapy_mpa.wire.rdmap_names import UNTAGGED_QUEUES
from scapy_mpa.wire.rules import MSN_RANGE, Violation


@dataclass(slots=True, eq=False)
class _Queue:
    """The message that is due on a queue, with the segments taken so far."""

    msn: int | None
    """Its MSN; None if any MSN may come next."""
    segments: int = 0
    octets: int = 0
    end: int | None = None
    """Octets of the whole message; None before its Last segment."""

    def begin(self, msn: int | None) -> None:
        """Begin a message that has no segments yet."""
        self.msn = msn
        self.segments = 0
        self.octets = 0
        self.end = None


@dataclass(slots=True, eq=False)
class QueueOrder:
    """Checks that each MSN is due, in the order of the stream of one direction.

    To a Data Sink, octets that a message lacks or has twice are no error (RFC 5041 5.2).
    """

    _first: int | None = FIRST_MSN
    """The MSN that is due first on a queue; None if any MSN may come first."""
    _queues: dict[int, _Queue] = field(default_factory=dict)
    """The queues that had segments."""

    def forget(self) -> None:
        """Note that octets of the stream are missing: any MSN may come next."""
        self._first = None
        self._queues.clear()

    def take(self, header: DDPHeader, length: int) -> Violation | None:
        """Take an Untagged segment; return the violation if its MSN is not due.

        :param length: octets after its header.
        """
        qn, msn, mo = header.qn, header.msn, header.mo
        if qn not in UNTAGGED_QUEUES or msn is None or mo is None:
            return None
        queue = self._queues.get(qn)
        if queue is None:
            queue = self._queues[qn] = _Queue(self._first)
        if queue.msn is None:
            queue.msn = msn
        elif msn != queue.msn:
            # The next message may begin even if this one never got its Last segment.
            if not queue.segments or msn != sequence_number(queue.msn + 1):
                due = queue.msn
                # The next segment shows which of the two MSNs was meant.
                queue.begin(None)
                return Violation(
                    f"MSN {msn} on queue {qn}, where {due} is due", "RFC 5041 4.3", MSN_RANGE
                )
            queue.begin(msn)
        queue.segments += 1
        queue.octets += length
        if header.last:
            queue.end = mo + length
        if queue.end is not None and queue.octets >= queue.end:
            queue.begin(sequence_number(msn + 1))
        return None
