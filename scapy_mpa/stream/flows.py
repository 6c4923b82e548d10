# SPDX-License-Identifier: GPL-2.0-or-later
"""All TCP connections of a capture: the door of the stream core."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from scapy_mpa.stream.budget import Budget
from scapy_mpa.stream.direction import Direction, Shared, event_of
from scapy_mpa.stream.halves.common import Common
from scapy_mpa.stream.limits import Limits, limits_of
from scapy_mpa.stream.lingering import LINGER_NS, LINGERING_CONNECTIONS
from scapy_mpa.stream.networks import Networks
from scapy_mpa.stream.ordinary_connection import OrdinaryConnection
from scapy_mpa.stream.recovery import Recovery
from scapy_mpa.stream.segment import ACK, HANDSHAKE, NOT_PSH, SYN, Segment, reverse_flow
from scapy_mpa.stream.table import ConnectionTable, Either
from scapy_mpa.stream.unanswered import Unanswered
from scapy_mpa.wire.dialect import Dialect

if TYPE_CHECKING:
    from scapy_mpa.stream.connections.connection import Connection
    from scapy_mpa.stream.events import ConnectionEnded, ConnectionId, Event
    from scapy_mpa.stream.halves.other import OtherFramings

__all__ = ["LINGERING_CONNECTIONS", "LINGER_NS", "Flows"]

_BATCH: Final = 512
"""Events that are handed out at a time when all connections end."""
STRAIGHT_AT_LEAST = 1 << 17
"""Octets that a direction must be allowed to hold for the straight path: more than the longest FPDU
in pieces."""


class Flows:
    """Takes TCP segments in the order of capture, gives events.

    >>> flows = Flows()
    >>> for segment in segments:                        # doctest: +SKIP
    ...     for event in flows.receive(segment):
    ...         print(event)
    >>> for event in flows.finish():                    # doctest: +SKIP
    ...     print(event)

    :param first_number: the number of the first connection.
    :param limits: what may be held in memory.
    :param dialect: what the user says is spoken, where octets leave a choice.
    :param others: what finds other framings than MPA's over TCP, such as
        :func:`scapy_mpa.dialects.other_framings` returns.
    :param straight: whether ordinary segments may go without recovery; if not, they may once
        :meth:`to_straight_path` was called for their connection.
    """

    __slots__ = (
        "_common",
        "_dialect",
        "_is_straight",
        "_recovery",
        "_table",
        "directions",
        "limits",
        "owner",
        "place",
        "segments",
        "shared",
        "unanswered",
    )

    def __init__(
        self,
        first_number: int = 0,
        *,
        limits: Limits | None = None,
        dialect: Dialect | None = None,
        others: OtherFramings[Any] | None = None,
        straight: bool = True,
    ) -> None:
        self.limits = limits_of(limits)
        self._is_straight = straight and self.limits.octets_per_half >= STRAIGHT_AT_LEAST
        self._dialect = dialect
        self._table = ConnectionTable(first_number, self.limits, self._settle)
        self._common = common = Common(Budget(self.limits), others)
        self.shared = Shared(common.budget, common.recent, self._to_recovery)
        self.directions: dict[bytes, Direction] = {}
        """By flow, the directions that are as they should be."""
        self._recovery = Recovery(
            self._table, self.directions, self.shared, common, self.limits, dialect
        )
        self.unanswered = Unanswered()
        """Takes what is in ``shared.rows`` before anybody else; :meth:`events` sees to that."""
        common.emit = self.shared.rows.append
        networks = Networks(self._reach)
        self.place = networks.place
        """Returns a segment with the flow of the connection that it belongs to."""
        self.owner = networks.owners.get
        """Returns the network that has a flow, if that is not the usual one."""
        self.segments = 0
        """Segments taken here, which is where each connection begins."""

    def receive(self, segment: Segment) -> list[Event]:
        """Take a segment; return what it brought to light, in order of recovery."""
        self.take(segment)
        return self.events() if self.shared.rows else []

    def _reach(self, flow: bytes) -> int | None:
        """Return the sequence number after the octets that were captured of a flow, if any were.

        :raises KeyError: there is no connection of that flow.
        """
        direction = self.directions.get(flow)
        if direction is not None:
            return direction.seq
        connection = self._table.find(flow)
        if connection is None:
            raise KeyError(flow)
        return connection.reach(flow)

    def take(self, segment: Segment) -> Segment:
        """Take a segment; what it brings to light is added to ``shared.rows``.

        Return it with the flow of the connection that it belongs to.
        """
        self.segments += 1
        flow, seq, ack, flags, octets, length, frame, time_ns, network = segment
        if self.owner(flow, b"") != network:
            segment = self.place(segment)
            flow = segment.flow
        direction = self.directions.get(flow)
        try:
            if direction is not None:
                is_plain = flags & NOT_PSH == ACK and len(octets) == length
                if is_plain and direction.receive(seq, ack, octets, frame, time_ns):
                    return segment
            if self._is_straight and self._follow(segment, direction):
                return segment
            self._recovery.take(segment)
        except Exception as error:
            self.fail(segment, error)
            return segment
        if length and self._is_straight:
            self._recovery.to_straight_path(flow)
        return segment

    def _follow(self, segment: Segment, direction: Direction | None) -> bool:
        """Have a connection that is ordinary from its SYN on take a segment, or begin with it.

        Return whether that is possible; else recovery takes the segment, and has the connection.

        :param direction: has refused the segment, if the straight path has the connection.
        """
        flow, flags, time_ns = segment.flow, segment.flags, segment.time_ns
        connection = self._table.find(flow) if direction is None else direction.connection
        if connection is None:
            if not (segment.length or flags & SYN or self.holds(flow)):
                # It carries nothing and opens nothing: a late word of a connection that is over.
                self._table.expire(None, time_ns)
                return True
            return flags & HANDSHAKE == SYN and self._begin(segment)
        if not isinstance(connection, OrdinaryConnection):
            return False
        if connection.lingers:
            return connection.is_late_word(segment) and self._take_late_word(connection, segment)
        if not connection.receive(segment):
            return False
        # No other segment says what time it is, so that most need not come here to do so.
        self._table.expire(None, time_ns)
        if flags & SYN:
            self.directions[connection.identity.flow], self.directions[connection.reverse] = (
                connection.directions
            )
        elif connection.is_over:
            del self.directions[connection.identity.flow], self.directions[connection.reverse]
            self._table.linger(connection, time_ns)
        return True

    def fail(self, segment: Segment, error: Exception) -> None:
        """Report a fault of this program, which costs the connection of a segment and no other."""
        self._recovery.fail(segment, error)

    def _begin(self, segment: Segment) -> bool:
        """Begin an ordinary connection, if nothing that is known of its ports may be of it."""
        flow, reverse = segment.flow, reverse_flow(segment.flow)
        if (
            segment.length
            # A connection from an endpoint to itself: nobody could tell the directions apart.
            or flow == reverse
            or self._dialect is not None
            or self.holds(flow)
            or self._table.past.begins(segment)
        ):
            return False
        self._table.expire(None, segment.time_ns)
        identity = self._table.identity(segment)
        self._table.add(OrdinaryConnection(identity, reverse, self.shared, segment))
        return True

    def _take_late_word(self, connection: OrdinaryConnection, segment: Segment) -> bool:
        """Have a connection that lingers take an acknowledgement, unless it is over by then."""
        self._table.expire(connection, segment.time_ns)
        if connection.lingers:
            connection.acknowledge(segment)
            self._table.lingering.refresh(connection, segment.time_ns)
        return True

    def _to_recovery(self, connection: Either) -> Connection:
        return self._recovery.to_recovery(connection)

    def _settle(self, connection: Either) -> Either:
        """Return a connection that is to end as the one that can say what there is to be said."""
        if isinstance(connection, OrdinaryConnection) and connection.is_settled:
            if not connection.lingers:
                del self.directions[connection.identity.flow], self.directions[connection.reverse]
            return connection
        return self._to_recovery(connection)

    def events(self) -> list[Event]:
        """Return what was found since this was asked last, in order of recovery."""
        rows = self.shared.rows
        for row in rows:
            if type(row) is not tuple or row[4].opened:
                rows, _ = self.unanswered.take(rows)
                break
        events = list(map(event_of, rows))
        self.shared.rows.clear()
        return events

    def holds(self, flow: bytes) -> bool:
        """Whether segments of these ports are held until it is known whether they are copies."""
        return self._recovery.holds(flow)

    def take_number(self) -> int:
        """Return the number of the next connection, which it will not be any more."""
        return self._table.take_number()

    @property
    def next_number(self) -> int:
        """The number that the next connection will have."""
        return self._table.next_number

    @property
    def late_copies(self) -> int:
        """Segments with nothing but octets of connections that were ended before."""
        return self._recovery.late_copies

    def carries_mpa(self, flow: bytes) -> bool | None:
        """Tell whether what a direction carries now is MPA: octets after its startup frame.

        None if there is no connection of that flow.
        """
        direction = self.directions.get(flow)
        connection = self._table.find(flow) if direction is None else direction.connection
        return None if connection is None else connection.carries_mpa(flow)

    def identity(self, flow: bytes) -> ConnectionId | None:
        """Return which connection has a flow now, None if there is none."""
        connection = self._table.find(flow)
        return None if connection is None else connection.identity

    def find(self, flow: bytes) -> Connection | None:
        """Return the connection of a flow, whichever path has it; None if there is none.

        Only with ``straight`` off: then no connection is ordinary from its SYN on.
        """
        connection = self._table.find(flow)
        assert not isinstance(connection, OrdinaryConnection)
        return connection

    def to_straight_path(self, flow: bytes) -> None:
        """Let the straight path have the connection of a flow if all is as it should be."""
        if flow not in self.directions and self.limits.octets_per_half >= STRAIGHT_AT_LEAST:
            self._recovery.to_straight_path(flow)

    @property
    def unsearched(self) -> int:
        """Unknown directions that were not searched to their end for FPDUs, because too many octets
        of the capture look like FPDUs."""
        return self._common.purse.unsearched

    def standing(self) -> Iterator[ConnectionEnded]:
        """Yield how each connection stands that has not ended, as if it did now."""
        for connection in self._table.all():
            if isinstance(connection, OrdinaryConnection) and connection.is_settled:
                yield connection.standing()
            else:
                # Which has it from now on, until the straight path takes it out.
                yield self._to_recovery(connection).standing()

    def finish(self) -> list[Event]:
        """Return what can be said now that the capture has ended; start afresh."""
        for _ in self.ends():
            pass
        return self.events()

    def ends(self) -> Iterator[None]:
        """Add to ``shared.rows`` what :meth:`finish` returns, a few hundred events at a time.

        Their memory is free when the next ones come.
        """
        self._recovery.take_all_copies()
        for _ in self._table.ends():
            if len(self.shared.rows) >= _BATCH:
                yield
