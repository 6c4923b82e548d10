# SPDX-License-Identifier: GPL-2.0-or-later
"""The Untagged messages of one direction, in the order of its stream (RFC 5041 5.3).

Queue Number and Message Sequence Number identify a message.  A queue has one open message at a
time: the message is over when it is whole, or when the next one of the queue begins.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from scapy_mpa.stream.delivery.assembly import DDPMessage
from scapy_mpa.stream.delivery.pairing import Requests
from scapy_mpa.stream.delivery.request import OUTSTANDING_REQUESTS, Request, request_of
from scapy_mpa.stream.delivery.responses import Responses
from scapy_mpa.stream.delivery.segment import WITH_HEADER, DDPSegment
from scapy_mpa.stream.events import MessageRecovered
from scapy_mpa.stream.sequence import SEQUENCE_HALF, SEQUENCE_MASK, sequence_number
from scapy_mpa.wire.rdmap_names import UNTAGGED_QUEUES, Opcode, QueueNumber

FIRST_MSN: Final = 1
"""The MSN of the first message on a queue (RFC 5041 4.3)."""


@dataclass(slots=True, eq=False)
class UntaggedMessages:
    """The open message of each queue, and the MSN after it."""

    _out: list[MessageRecovered]
    """Takes the messages."""
    _requests: Requests
    """The Requests of this direction."""
    _responses: Responses
    """The Responses of this direction."""
    in_progress: dict[int, DDPMessage] = field(default_factory=dict)
    """By Queue Number, the message in progress."""
    _first: int = FIRST_MSN
    """The next MSN on a queue without messages so far; -1 if it is not known."""
    _next: dict[int, int] = field(default_factory=dict)
    """By Queue Number, the MSN after the highest one."""
    held: int = 0
    """Octets of memory taken, roughly."""

    # -- in ------------------------------------------------------------------------------------

    def begin_unknown(self) -> None:
        """Note that it is unknown which MSNs were used before."""
        self._first = -1
        self._next.clear()

    def add(self, segment: DDPSegment) -> None:
        """Add the segment that comes next in the stream."""
        qn = segment.header.qn
        assert qn is not None
        message = self.in_progress.get(qn)
        if message is not None and _name_of(message.first) == _name_of(segment):
            before = message.held
            message.add(segment)
            is_over = False
        else:
            before = 0
            if message is not None:
                # The next message begins, so this one is over.
                self._close(qn)
            message = self.in_progress[qn] = self._begin(qn, segment)
            is_over = segment.opcode in WITH_HEADER and segment.is_message
        self.held += message.held - before
        if is_over or message.has_all_segments:
            self._close(qn)

    @property
    def next_send(self) -> int:
        """The MSN of the next Send; -1 if it is not known."""
        return self._next.get(QueueNumber.SEND, self._first)

    def note_sends(self, count: int) -> None:
        """Note whole Sends with the next MSNs."""
        if count:
            self._next[QueueNumber.SEND] = (self.next_send + count) & SEQUENCE_MASK

    def close(self) -> None:
        """Report the incomplete messages as they are."""
        for qn in list(self.in_progress):
            self._close(qn)

    # -- the first segment of a message --------------------------------------------------------

    def _begin(self, qn: int, segment: DDPSegment) -> DDPMessage:
        """Begin a message; report the MSNs that it skips."""
        msn = segment.header.msn
        assert msn is not None
        ahead, is_first = 0, qn not in self._next
        if qn in UNTAGGED_QUEUES:
            due = self._next.get(qn, self._first)
            ahead = 0 if due < 0 else ((msn - due + SEQUENCE_HALF) & SEQUENCE_MASK) - SEQUENCE_HALF
            self._next[qn] = due if ahead < 0 else sequence_number(msn + 1)
        if ahead > 0:
            self._skip(qn, sequence_number(msn - ahead), ahead, segment)
        message = DDPMessage(segment, repeats=ahead < 0 and not is_first)
        if qn == QueueNumber.READ_REQUEST:
            self._requests.is_whole = segment.start >= self._requests.gaps_to
        self._note_request(message)
        return message

    def _note_request(self, message: DDPMessage) -> None:
        """Note a message that begins, if it is a Request, on any queue.

        Some Responders accept Requests on a wrong queue.
        """
        header = message.first.header
        request = request_of(message.first)
        if request is None and header.qn == QueueNumber.READ_REQUEST:
            # It is no whole Request, so it is unknown what it asks for.
            request = Request(header.msn or 0)
        if request is not None:
            self._requests.add(request)

    def _skip(self, qn: int, msn: int, count: int, segment: DDPSegment) -> None:
        """Report messages without a captured segment, before a segment."""
        # If no octets are missing, the sender has skipped these MSNs.
        if qn == QueueNumber.READ_REQUEST and not self._requests.is_whole:
            if count > OUTSTANDING_REQUESTS:
                self._requests.give_up()
            else:
                self._requests.add(*[Request(sequence_number(msn + at)) for at in range(count)])
        self._out.append(
            MessageRecovered(
                *segment.origin[:4],
                opcode=None,
                qn=qn,
                msn=msn,
                missing=((0, None),),
                messages=count,
            )
        )

    # -- out -----------------------------------------------------------------------------------

    def _close(self, qn: int) -> None:
        """Report the message in progress on a queue."""
        message = self.in_progress.pop(qn)
        self.held -= message.held
        if message.first.opcode == Opcode.ATOMIC_RESPONSE and message.first.is_message:
            self._responses.take(message)
        else:
            self._out.append(message.event())


def _name_of(segment: DDPSegment) -> tuple[int | None, int]:
    """Return what all segments of a message on one queue share."""
    return segment.header.msn, segment.opcode
