# SPDX-License-Identifier: GPL-2.0-or-later
"""The connections of a capture by their ports: open, lingering, or ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, TypeAlias

from scapy_mpa.stream.events import ConnectionId, Ending
from scapy_mpa.stream.limits import Limits
from scapy_mpa.stream.lingering import Lingering
from scapy_mpa.stream.ordinary_connection import OrdinaryConnection
from scapy_mpa.stream.segment import SECOND, Segment, reverse_flow

if TYPE_CHECKING:
    from scapy_mpa.stream.connections.connection import Connection


AnyConnection: TypeAlias = "Connection | OrdinaryConnection"

_FIRST_SWEEP: Final = 1024
"""From this number of connections on, idle ones are ended: fewer do no harm."""


class ConnectionTable:
    """Finds connections by flow, numbers them, and ends them when they are over, idle or too many.

    :param first_number: the number of the first connection.
    :param limits: what may be held in memory.
    :param settle: returns the object that reports the end of a connection.
    """

    def __init__(
        self, first_number: int, limits: Limits, settle: Callable[[AnyConnection], AnyConnection]
    ) -> None:
        # By the flow of direction 0 only, which takes half the memory.
        self._by_flow: dict[bytes, AnyConnection] = {}
        self._limits = limits
        self._settle = settle
        self.next_number = first_number
        """The number that the next connection will have."""
        self._sweep_at = min(_FIRST_SWEEP, limits.connections)
        self.lingering: Lingering[bytes] = Lingering()
        """The connections that are over, by the flow of direction 0."""

    def find(self, flow: bytes) -> AnyConnection | None:
        """Return the connection of a flow; None if there is none."""
        return self._by_flow.get(flow) or self._by_flow.get(reverse_flow(flow))

    def take_number(self) -> int:
        """Return the number of the next connection, and use it up."""
        number = self.next_number
        self.next_number = number + 1
        return number

    def identity(self, segment: Segment) -> ConnectionId:
        """Return the identity of a connection that begins, after making room for it."""
        if len(self._by_flow) >= self._sweep_at:
            self._sweep(segment.time_ns)
        return ConnectionId(self.take_number(), segment.flow)

    def all(self) -> Iterator[AnyConnection]:
        """Yield the connections that have not ended, in the order in which they began.

        Each is looked up when its turn comes.  Until then, another one may need its memory, and
        move it to recovery, which replaces its object.
        """
        for flow in list(self._by_flow):
            yield self._by_flow[flow]

    def add(self, connection: AnyConnection) -> None:
        """Add a connection that begins."""
        self._by_flow[connection.identity.flow] = connection

    def exchange(self, connection: AnyConnection, new: AnyConnection) -> None:
        """Replace the object of a connection by a new one."""
        flow = connection.identity.flow
        if self._by_flow.get(flow) is connection:
            self._by_flow[flow] = new

    def linger(self, connection: AnyConnection, time_ns: int) -> None:
        """Let a connection linger that is over."""
        connection.lingers = True
        self.lingering.add(connection.identity.flow, time_ns)
        for surplus in self.lingering.surplus():
            self.end(self._by_flow[surplus])

    def linger_no_more(self, connection: AnyConnection) -> None:
        """Treat a connection as not over."""
        connection.lingers = False
        self.lingering.discard(connection.identity.flow)

    def expire(self, time_ns: int) -> None:
        """End the connections that have lingered for long enough.

        :param time_ns: capture time of the last segment.
        """
        for expired in self.lingering.advance(time_ns):
            self.end(self._by_flow[expired])

    def end(self, connection: AnyConnection, ending: Ending | None = None) -> None:
        """End a connection: report it, and free its ports."""
        del self._by_flow[connection.identity.flow]
        connection = self._settle(connection)
        self.linger_no_more(connection)
        if connection.is_over:
            ending = None
        connection.finish("limit" if ending == "limit" else "connection ended", ending)

    def ends(self) -> Iterator[None]:
        """Report all connections, one at a time, at the end of the capture."""
        self.lingering = Lingering()
        for each in self.all():
            del self._by_flow[each.identity.flow]
            connection = self._settle(each)
            connection.finish("connection ended" if connection.is_over else "capture ended")
            yield

    def _sweep(self, time_ns: int) -> None:
        """Make room for a connection: end the idle ones, and the longest idle if necessary."""
        live = sorted(self._by_flow, key=lambda flow: self._by_flow[flow].times.time_ns)
        most = self._limits.connections
        # More than necessary, by an eighth of the limit: not every new connection needs a sweep.
        surplus = len(live) + 1 - most + most // 8 if len(live) >= most else 0
        idle_ns = self._limits.idle_seconds * SECOND
        for index, flow in enumerate(live):
            connection = self._by_flow[flow]
            is_idle = time_ns - connection.times.time_ns >= idle_ns
            if not is_idle and index >= surplus:
                break
            self.end(connection, "idle" if is_idle else "limit")
        self._sweep_at = min(max(_FIRST_SWEEP, 2 * len(self._by_flow)), most)
