# SPDX-License-Identifier: GPL-2.0-or-later
"""The Untagged messages of one direction (RFC 5041 5.3).

Queue Number and Message Sequence Number identify a message.  The Message Offset gives the place of
a segment in it.  So the segments may be recovered in any order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import TypeAlias

from scapy_mpa.stream.delivery.assembly import DDPMessage
from scapy_mpa.stream.delivery.held import HELD_BY_PIECE
from scapy_mpa.stream.delivery.msn import FIRST_MSN, MSNSequence, Skipped
from scapy_mpa.stream.delivery.pairing import Requests
from scapy_mpa.stream.delivery.request import (
    OUTSTANDING_REQUESTS,
    REQUESTS,
    Request,
    request_of,
)
from scapy_mpa.stream.delivery.responses import Responses
from scapy_mpa.stream.delivery.segment import WITH_HEADER, DDPSegment
from scapy_mpa.stream.events import MessageRecovered
from scapy_mpa.stream.sequence import SEQUENCE_MASK, first_position, sequence_number
from scapy_mpa.wire.rdmap_names import UNTAGGED_QUEUES, Opcode, QueueNumber

_Key: TypeAlias = tuple[int, int, int]
"""QN, MSN and opcode."""


@dataclass(slots=True, eq=False)
class UntaggedMessages:
    """The incomplete Untagged messages, and the order on their queues."""

    _out: list[MessageRecovered]
    """Takes the messages."""
    _requests: Requests
    """The Requests of this direction."""
    _responses: Responses
    """The Responses of this direction."""
    _messages: dict[_Key, DDPMessage] = field(default_factory=dict)
    _due: dict[_Key, int] | None = None
    """Messages that lack octets because of a hole, and the position in the stream before which all
    their segments lie; created on first use."""
    _first: int | None = first_position(FIRST_MSN)
    """The number of the first MSN on a queue; None if the beginning was not captured."""
    _queues: dict[int, MSNSequence] = field(default_factory=dict)
    """The queues that had messages."""
    _held_by_messages: int = 0

    @property
    def held(self) -> int:
        """Octets of memory taken, roughly."""
        skipped = sum([len(each.skipped) for each in self._queues.values()])
        return self._held_by_messages + skipped * HELD_BY_PIECE

    @property
    def is_open(self) -> bool:
        """True if a message is incomplete, or was skipped and may still come."""
        skipped = [each.skipped for each in self._queues.values()]
        return bool(self._messages or any(skipped))

    # -- in ------------------------------------------------------------------------------------

    def begin_unknown(self) -> None:
        """Note that it is unknown which MSNs were used before."""
        self._first = None
        self._queues.clear()

    def add(self, segment: DDPSegment) -> None:
        """Add a segment, in the order of the stream or late."""
        key = _key_of(segment)
        message = self._messages.get(key)
        before, is_over = 0, False
        if message is None:
            message = self._messages[key] = self._open(segment)
            self._note_request(message)
            is_over = segment.opcode in WITH_HEADER and segment.is_message
        else:
            before = message.held
            message.add(segment)
        self._held_by_messages += message.held - before
        if is_over or message.has_all_segments:
            self._close(key)

    @property
    def next_send(self) -> int:
        """The MSN of the next Send; -1 if it is not known."""
        sends = self._queues.get(QueueNumber.SEND)
        number = self._first if sends is None else sends.next
        return -1 if number is None else number & SEQUENCE_MASK

    def note_sends(self, count: int) -> None:
        """Note whole Sends with the next MSNs."""
        sends = self._sequence(QueueNumber.SEND) if count else None
        if sends is not None and sends.next is not None:
            sends.next += count

    def settle(self, position: int) -> None:
        """Report the incomplete messages before ``position``: no more segments of them come."""
        while self._due:
            key, end = next(iter(self._due.items()))
            if end > position:
                break
            self._close(key)
        self._settle_skipped(position)

    def close(self) -> None:
        """Report the incomplete messages as they are."""
        for key in list(self._messages):
            self._close(key)
        self._settle_skipped(inf)

    # -- the first segment of a message --------------------------------------------------------

    def _open(self, segment: DDPSegment) -> DDPMessage:
        """Begin a message, and note its MSN on its queue."""
        qn, msn, _ = _key_of(segment)
        sequence = self._sequence(qn)
        if sequence is not None:
            number = sequence.place(msn)
            if sequence.is_late(number):
                repeats = sequence.comes_again(number)
                self._settle_skipped()
                return DDPMessage(segment, is_late=True, repeats=repeats)
            if sequence.newest is not None:
                # The next message begins, so this one is over (RFC 5041 5.3).
                self._due = self._due or {}
                self._due[_key_of(sequence.newest.first)] = segment.start
            skipped = sequence.note(number, segment.start, segment.origin)
            if skipped is not None:
                self._note_skipped(sequence, skipped)
        message = DDPMessage(segment)
        if sequence is not None:
            sequence.newest = message
        if qn == QueueNumber.READ_REQUEST:
            self._requests.is_whole = True
        return message

    def _sequence(self, qn: int) -> MSNSequence | None:
        """Return the MSNs of a queue, None for an invalid Queue Number."""
        sequence = self._queues.get(qn)
        if sequence is None and qn in UNTAGGED_QUEUES:
            sequence = self._queues[qn] = MSNSequence(qn, self._first)
        return sequence

    def _note_request(self, message: DDPMessage) -> None:
        """Note a message that begins, if it is a Request, on any queue.

        Some Responders accept Requests on a wrong queue.
        """
        if message.first.opcode not in REQUESTS:
            return
        request, (qn, msn, _) = request_of(message.first), _key_of(message.first)
        if request is None and message.lacks_header and qn == QueueNumber.READ_REQUEST:
            # It is unknown what it asks for.
            request = Request(msn)
        if request is None:
            return
        if not message.is_late:
            self._requests.add(request)
        elif request.is_known:
            self._requests.add_late(request)

    def _note_skipped(self, sequence: MSNSequence, skipped: Skipped) -> None:
        """Note MSNs without a captured segment."""
        sequence.skipped.append(skipped)
        self._settle_skipped()
        # If no octets are missing, the sender has skipped these MSNs.
        if skipped.qn == QueueNumber.READ_REQUEST and not self._requests.is_whole:
            if skipped.end - skipped.first > OUTSTANDING_REQUESTS:
                self._requests.give_up()
                return
            numbers = range(skipped.first, skipped.end)
            self._requests.add(*[Request(sequence_number(each)) for each in numbers])

    def _settle_skipped(self, position: float = -1) -> None:
        """Report MSNs skipped before a position, and the oldest of too many."""
        for sequence in self._queues.values():
            for skipped in sequence.due(position) if sequence.skipped else ():
                self._report_skipped(skipped)

    # -- out -----------------------------------------------------------------------------------

    def _close(self, key: _Key) -> None:
        """Report an Untagged message."""
        message = self._messages.pop(key)
        if self._due is not None:
            self._due.pop(key, None)
        sequence = self._queues.get(key[0])
        if sequence is not None and sequence.newest is message:
            sequence.newest = None
        self._held_by_messages -= message.held
        if message.first.opcode != Opcode.ATOMIC_RESPONSE or not message.first.is_message:
            self._out.append(message.event())
        elif message.is_late:
            self._responses.take_late(message)
        else:
            self._responses.take(message)

    def _report_skipped(self, skipped: Skipped) -> None:
        """Report messages without a captured segment."""
        self._out.append(
            MessageRecovered(
                *skipped.follows[:4],
                opcode=None,
                qn=skipped.qn,
                msn=sequence_number(skipped.first),
                missing=((0, None),),
                messages=skipped.end - skipped.first,
            )
        )


def _key_of(segment: DDPSegment) -> _Key:
    """Return the key that all segments of a message share."""
    header = segment.header
    assert header.qn is not None and header.msn is not None
    return header.qn, header.msn, segment.opcode
