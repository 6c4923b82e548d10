# SPDX-License-Identifier: GPL-2.0-or-later
"""Assemble RDMAP messages from the events of the stream core.

The event of an FPDU, or of a DDP segment over SCTP, is its Placement.  The event of a message is
its Delivery: messages are reported in the order of the stream, whatever the order in which their
segments were recovered (RFC 5041 5.4).
"""

from __future__ import annotations

from typing import Any, TypeAlias

from scapy_mpa.stream.budget import Budget
from scapy_mpa.stream.delivery.half_messages import HalfMessages
from scapy_mpa.stream.delivery.held import HELD_IN_TOTAL
from scapy_mpa.stream.delivery.pairing import Requests
from scapy_mpa.stream.delivery.payload import Payloads
from scapy_mpa.stream.delivery.responses import Responses
from scapy_mpa.stream.delivery.segment import DDPSegment, segment_of
from scapy_mpa.stream.direction import event_of
from scapy_mpa.stream.events import (
    CARRIERS,
    ConnectionEnded,
    ConnectionId,
    Event,
    GapFound,
    MessageRecovered,
)
from scapy_mpa.stream.limits import Limits
from scapy_mpa.stream.ordinary import Row

_Halves: TypeAlias = tuple[HalfMessages, HalfMessages]


class Messages:
    """Takes the events of the stream core, and returns the messages that they complete.

    :param payload: whether messages have their octets.
    :param fpdus: whether the rows of FPDUs are wanted, too.
    """

    __slots__ = ("_budget", "_fpdus", "_halves", "_out", "_payloads")

    def __init__(self, *, payload: bool = False, fpdus: bool = True) -> None:
        self._fpdus = fpdus
        self._payloads = Payloads() if payload else None
        self._out: list[MessageRecovered] = []
        self._halves: dict[ConnectionId, _Halves] = {}
        self._budget = Budget(Limits(octets_in_total=HELD_IN_TOTAL))

    def added_to(self, rows: list[Any]) -> list[Any]:
        """Return the events, the rows if they are wanted, and after each the messages that it
        completes.

        Messages that are reported because of their memory may come last.  The end of a connection
        is the last event of the connection.
        """
        found: list[Any] = []
        halves: dict[HalfMessages, None] = {}
        at, fpdus = 0, self._fpdus
        while at < len(rows):
            row, begin = rows[at], at
            if type(row) is tuple and row[4].message is not False and self._payloads is None:
                direction = row[2]
                half = self._halves_of(direction.connection.identity)[direction.index]
                if half.is_at_rest:
                    halves[half] = None
                    at = half.take_rows(rows, at, found, fpdus=fpdus)
            if at == begin:
                at += 1
                messages = self.take(row)
                if isinstance(row, ConnectionEnded):
                    found += messages
                    messages = []
                if fpdus or type(row) is not tuple:
                    found.append(row)
                found += messages
        for half in halves:
            self._budget.update(half)
        return found + self._taken_out()

    def take(self, event: Event | Row) -> list[MessageRecovered]:
        """Take an event, or the row of an ordinary FPDU; return the messages that are whole now or
        will never be whole.

        An FPDU adds nothing if no receiver would have accepted it, or if it has no DDP header.  Nor
        does a frame of iWARP Framing for TCP in DDP mode, which carries no RDMAP.
        """
        segment = segment_of(event)
        if segment is not None:
            if self._payloads is not None:
                carrier = event_of(event)
                assert isinstance(carrier, CARRIERS)
                self._payloads.keep(carrier)
            self._take_segment(segment)
        elif isinstance(event, GapFound):
            half = self._at_work(event.connection)[event.direction]
            half.gap(event)
            self._budget.update(half)
        elif isinstance(event, ConnectionEnded):
            self._finish(event)
        return self._taken_out()

    def _taken_out(self) -> list[MessageRecovered]:
        """Return the messages that were reported since the last call."""
        if not self._out:
            return []
        out = list(self._out)
        self._out.clear()
        return out if self._payloads is None else list(map(self._payloads.fill, out))

    def _take_segment(self, segment: DDPSegment) -> None:
        connection, direction, *_ = segment.origin
        halves = self._at_work(connection)
        half, other = halves[direction], halves[1 - direction]
        if not segment.is_acceptable:
            # It may be a Request.  The segments after it show whether it leaves a hole.
            half.requests.is_whole = False
            return
        half.take(segment)
        other.responses.release()
        self._budget.update(half)
        half.is_at_rest = other.is_at_rest = not (half.waits or other.waits)

    def _halves_of(self, connection: ConnectionId) -> _Halves:
        """Return the two directions of a connection."""
        halves = self._halves.get(connection)
        if halves is None:
            out = self._out
            requests = Requests(out), Requests(out)
            halves = self._halves[connection] = (
                HalfMessages(out, requests[0], Responses(out, requests[1])),
                HalfMessages(out, requests[1], Responses(out, requests[0])),
            )
        return halves

    def _at_work(self, connection: ConnectionId) -> _Halves:
        """Return the two directions of a connection. Something in it is not ordinary.

        The rows of their unfinished messages become segments, and no more rows follow.
        """
        halves = self._halves_of(connection)
        if halves[0].is_at_rest:
            for half in halves:
                half.deliver_rows()
                self._budget.count(half)
        return halves

    def _finish(self, event: ConnectionEnded) -> None:
        """Report the messages that are left at the end of a connection."""
        halves = self._halves.pop(event.connection, ())
        for half, summary, peer in zip(halves, event.halves, event.halves[::-1], strict=False):
            half.flush()
            if summary.may_lack_end:
                half.requests.is_whole = False
            if peer.is_unknown:
                # It may have Responses.
                half.requests.give_up()
        for half in halves:
            half.finish()
        for half in halves:
            half.requests.finish()
            self._budget.update(half)
