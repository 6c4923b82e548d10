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
    """The message that is due on a queue, as far as it is there."""

    msn: int | None
    """Its MSN; None: that of whatever comes next."""
    segments: int = 0
    octets: int = 0
    end: int | None = None
    """Octets of the message, once its Last segment is there."""

    def begin(self, msn: int | None) -> None:
        """Turn to a message of which nothing is there."""
        self.msn = msn
        self.segments = 0
        self.octets = 0
        self.end = None


@dataclass(slots=True, eq=False)
class QueueOrder:
    """Tells whether the segments of one direction, in the order of its stream, have MSNs that are
    due.

    That octets of a message are missing or come twice is no fault to a Data Sink (RFC 5041 5.2).
    """

    _first: int | None = FIRST_MSN
    """The MSN that is due first on a queue; None: any may be."""
    _queues: dict[int, _Queue] = field(default_factory=dict)
    """Those on which there were segments."""

    def forget(self) -> None:
        """Take note that octets of the stream are missing: any MSN may come next."""
        self._first = None
        self._queues.clear()

    def take(self, header: DDPHeader, length: int) -> Violation | None:
        """Take an Untagged segment; return what is wrong with its MSN, None if nothing is.

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
            # A message whose Last segment never came is of no account any more.
            if not queue.segments or msn != sequence_number(queue.msn + 1):
                due = queue.msn
                # Which one of the two was meant shows what follows.
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
