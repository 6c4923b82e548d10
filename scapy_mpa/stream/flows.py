# SPDX-License-Identifier: GPL-2.0-or-later
"""All TCP connections of a capture: the door of the stream core."""

from __future__ import annotations

from collections import deque
from typing import Final

from scapy_mpa.stream.budget import Budget
from scapy_mpa.stream.connection import Connection
from scapy_mpa.stream.events import ConnectionId, Ending, Event
from scapy_mpa.stream.half import Phase
from scapy_mpa.stream.loan import Loan
from scapy_mpa.stream.overlap import RecentOctets
from scapy_mpa.stream.segment import SYN, Segment, flow_endpoints, reverse_flow

__all__ = ["CONNECTIONS", "IDLE_NS", "LINGERING_CONNECTIONS", "LINGER_NS", "Flows"]

IDLE_NS: Final = 2 * 3600 * 1_000_000_000
"""Nanoseconds without a segment after which a connection may be ended: TCP's own keep-alive asks
after two hours (RFC 9293 3.8.4)."""

CONNECTIONS: Final = 1 << 17
"""Connections that are followed at one time; beyond, those idle for longest are ended."""

_FIRST_SWEEP: Final = 2048

LINGER_NS: Final = 30_000_000_000
"""Nanoseconds for which a connection that is over still takes late copies as its own."""

LINGERING_CONNECTIONS: Final = 1024
"""Connections that may linger at one time; the one that is over for longest goes first."""


class Flows:
    """Takes TCP segments in the order of capture, gives events.

    >>> flows = Flows()
    >>> for segment in segments:                        # doctest: +SKIP
    ...     for event in flows.receive(segment):
    ...         print(event)
    >>> for event in flows.finish():                    # doctest: +SKIP
    ...     print(event)

    :param first_number: the number of the first connection.
    """

    __slots__ = (
        "_budget",
        "_connections",
        "_events",
        "_lingering",
        "_number",
        "_recent",
        "_sweep_at",
    )

    def __init__(self, first_number: int = 0) -> None:
        # Both flows of a connection lead to it, each with its direction.
        self._connections: dict[bytes, tuple[Connection, int]] = {}
        self._lingering: deque[tuple[int, Connection]] = deque()
        self._events: list[Event] = []
        self._recent = RecentOctets()
        self._budget = Budget()
        self._number = first_number
        self._sweep_at = _FIRST_SWEEP

    def receive(self, segment: Segment) -> list[Event]:
        """Take a segment; return what it brought to light, in order of recovery."""
        lingering = self._lingering
        if lingering and lingering[0][0] < segment.time_ns:
            self._expire(segment.time_ns)
        entry = self._connections.get(segment.flow)
        if entry is not None and not entry[0].halves[entry[1]].belongs(segment):
            self._end(entry[0], "reused")
            entry = None
        if entry is None:
            if not segment.length and not segment.flags & SYN:
                # It carries nothing and opens nothing: a late word of a connection that is over.
                return self._taken()
            entry = self._open(segment)
        connection, direction = entry
        was_over = connection.is_over
        connection.receive(direction, segment)
        if not was_over and connection.is_over:
            self._linger(connection, segment.time_ns)
        return self._taken()

    def _taken(self) -> list[Event]:
        if not self._events:
            return []
        events, self._events = self._events, []
        return events

    def carries_mpa(self, flow: bytes) -> bool:
        """Tell whether what a flow carries now is MPA: behind its startup frame."""
        entry = self._connections.get(flow)
        return entry is not None and entry[0].halves[entry[1]].phase is not Phase.STREAMING

    def lend(self, flow: bytes) -> tuple[Loan, Loan] | None:
        """Lend both directions of the connection of ``flow``, if all is in order.

        Until they are given back, no segment of it may be received.
        """
        entry = self._connections.get(flow)
        return None if entry is None else entry[0].lend()

    def reclaim(self, loans: tuple[Loan, Loan]) -> None:
        """Take back what was lent."""
        self._connections[loans[0].connection.flow][0].reclaim(loans)

    @property
    def recent(self) -> RecentOctets:
        """The octets kept for comparison."""
        return self._recent

    def finish(self) -> list[Event]:
        """Return what can be said now that the capture has ended; start afresh."""
        for connection in dict.fromkeys(each for each, _ in self._connections.values()):
            connection.finish("connection ended" if connection.is_over else "capture ended")
        self._connections.clear()
        self._lingering.clear()
        events, self._events = self._events, []
        return events

    def _open(self, segment: Segment) -> tuple[Connection, int]:
        flow = segment.flow
        identity = ConnectionId(self._number, flow, flow_endpoints(flow))
        self._number += 1
        connection = Connection(identity, self._emit, self._recent, self._budget)
        # A connection from an endpoint to itself has one flow for both directions.
        self._connections[reverse_flow(flow)] = (connection, 1)
        self._connections[flow] = (connection, 0)
        if len(self._connections) > self._sweep_at:
            self._sweep(segment.time_ns)
        return connection, 0

    def _sweep(self, time_ns: int) -> None:
        """End connections that have been idle for long; when there are far too many, others."""
        live = sorted(
            dict.fromkeys(each for each, _ in self._connections.values()),
            key=lambda each: each.last_time_ns,
        )
        surplus = len(live) - CONNECTIONS
        for index, connection in enumerate(live[:-1]):
            if index >= surplus and connection.last_time_ns + IDLE_NS > time_ns:
                break
            if not connection.is_lent:
                self._end(connection, "idle")
        # So that the work of sweeping is spread over the connections that come.
        self._sweep_at = max(_FIRST_SWEEP, 2 * len(self._connections))

    def _emit(self, event: Event) -> None:
        self._events.append(event)

    def _linger(self, connection: Connection, time_ns: int) -> None:
        self._lingering.append((time_ns + LINGER_NS, connection))
        if len(self._lingering) > LINGERING_CONNECTIONS:
            self._end(self._lingering.popleft()[1])

    def _expire(self, time_ns: int) -> None:
        while self._lingering and self._lingering[0][0] < time_ns:
            self._end(self._lingering.popleft()[1])

    def _end(self, connection: Connection, ending: Ending | None = None) -> None:
        flow = connection.identity.flow
        if self._connections.get(flow, (None, 0))[0] is not connection:
            return
        del self._connections[flow]
        self._connections.pop(reverse_flow(flow), None)
        if connection.is_over:
            ending = None
        connection.finish("connection ended", ending)
