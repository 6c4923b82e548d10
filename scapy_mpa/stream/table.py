# SPDX-License-Identifier: GPL-2.0-or-later
"""The connections of a capture by their ports: open, lingering, or ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, TypeAlias

from scapy_mpa.stream.events import ConnectionId, Ending
from scapy_mpa.stream.limits import Limits
from scapy_mpa.stream.lingering import Lingering
from scapy_mpa.stream.octets.past import PastConnections, Tail
from scapy_mpa.stream.ordinary_connection import OrdinaryConnection
from scapy_mpa.stream.segment import SECOND, Segment, reverse_flow

if TYPE_CHECKING:
    from scapy_mpa.stream.connections.connection import Connection


Either: TypeAlias = "Connection | OrdinaryConnection"

_FIRST_SWEEP: Final = 1024
"""Connections from which on those that are idle are looked for: fewer are in nobody's way."""


class ConnectionTable:
    """Finds connections by flow, numbers them, and ends those that are over, idle or too many.

    :param first_number: the number of the first connection.
    :param limits: what may be held in memory.
    :param settle: returns a connection that is to end as the one that can report what is left.
    """

    __slots__ = (
        "_by_flow",
        "_limits",
        "_settle",
        "_sweep_at",
        "_tails",
        "lingering",
        "next_number",
        "past",
    )

    def __init__(
        self, first_number: int, limits: Limits, settle: Callable[[Either], Either]
    ) -> None:
        # By the flow of direction 0 alone: of very many that takes half as much.
        self._by_flow: dict[bytes, Either] = {}
        self._limits = limits
        self._settle = settle
        self.next_number = first_number
        """The number that the next connection will have."""
        self._sweep_at = min(_FIRST_SWEEP, limits.connections)
        # Of those that linger: what is known of their last octets.
        self._tails: dict[Either, tuple[Tail, Tail]] = {}
        self.lingering: Lingering[Either] = Lingering()
        self.past = PastConnections()

    def find(self, flow: bytes) -> Either | None:
        """Return the connection of a flow, whoever has it; None if there is none."""
        return self._by_flow.get(flow) or self._by_flow.get(reverse_flow(flow))

    def take_number(self) -> int:
        """Return the number of the next connection, which it will not be any more."""
        number = self.next_number
        self.next_number = number + 1
        return number

    def identity(self, segment: Segment) -> ConnectionId:
        """Return that of a connection that begins, for which there is room now."""
        if len(self._by_flow) >= self._sweep_at:
            self._sweep(segment.time_ns)
        return ConnectionId(self.take_number(), segment.flow)

    def all(self) -> list[Either]:
        """Return the connections that have not ended, in order of their beginnings."""
        return list(self._by_flow.values())

    def add(self, connection: Either) -> None:
        """Take a connection that begins."""
        self._by_flow[connection.identity.flow] = connection

    def exchange(self, connection: Either, other: Either) -> None:
        """Have another object be a connection from now on."""
        flow = connection.identity.flow
        if self._by_flow.get(flow) is connection:
            self._by_flow[flow] = other
        if connection in self._tails:
            self._tails[other] = self._tails.pop(connection)
            self.lingering.exchange(connection, other)

    def linger(self, connection: Either, time_ns: int) -> None:
        """Keep a connection that is over for a while."""
        connection.lingers = True
        self._tails[connection] = connection.tails()
        self.lingering.add(connection, time_ns, may_gain=not connection.is_captured)
        for each in self.lingering.surplus():
            self.end(each)

    def linger_no_more(self, connection: Either) -> None:
        """Take it that a connection is not over."""
        connection.lingers = False
        self._tails.pop(connection, None)
        self.lingering.discard(connection)

    def expire(self, connection: Either | None, time_ns: int) -> None:
        """End those that have been over for long enough.

        :param connection: the one that a segment seems to be of.
        :param time_ns: when that was captured.
        """
        if connection is not None and self.lingering.outstays(connection, time_ns):
            self.end(connection)
        for each in self.lingering.witness(time_ns):
            self.end(each)
        self.past.apart = self.lingering.apart_ns // SECOND

    def end(self, connection: Either, ending: Ending | None = None) -> None:
        """Report what can be said of a connection, which loses its ports."""
        del self._by_flow[connection.identity.flow]
        connection = self._settle(connection)
        tails = self._tails.get(connection) or connection.tails()
        self.linger_no_more(connection)
        flow, last_ns = connection.identity.flow, connection.time_ns
        self.past.add(flow, last_ns, connection.spans(), tails)
        if connection.is_over:
            ending = None
        connection.finish("limit" if ending == "limit" else "connection ended", ending)

    def ends(self) -> Iterator[None]:
        """Report what can be said of all connections, now that the capture has ended."""
        live = self.all()
        self._by_flow.clear()
        self._tails.clear()
        self.lingering = Lingering()
        self.past = PastConnections()
        live.reverse()
        while live:
            connection = self._settle(live.pop())
            connection.finish("connection ended" if connection.is_over else "capture ended")
            yield

    def _sweep(self, time_ns: int) -> None:
        """Make room for a connection: end those that have been idle for long, or for longest."""
        live = sorted(self._by_flow.values(), key=lambda each: each.time_ns)
        most = self._limits.connections
        # So that the work of sweeping is spread over the connections that come.
        surplus = len(live) + 1 - most + most // 8 if len(live) >= most else 0
        # By another clock, one that is not idle may seem to be for as long as they are apart.
        idle_ns = self._limits.idle_seconds * SECOND + self.lingering.apart_ns
        for index, connection in enumerate(live):
            is_idle = time_ns - connection.time_ns >= idle_ns
            if not is_idle and index >= surplus:
                break
            self.end(connection, "idle" if is_idle else "limit")
        self._sweep_at = min(max(_FIRST_SWEEP, 2 * len(self._by_flow)), most)
