# SPDX-License-Identifier: GPL-2.0-or-later
"""All TCP connections of a capture: the entry point of the stream core."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from scapy_mpa.stream.budget import Budget
from scapy_mpa.stream.direction import Direction, event_of
from scapy_mpa.stream.halves.shared import Shared
from scapy_mpa.stream.limits import FRAMING_WINDOW, Limits, limits_of
from scapy_mpa.stream.lingering import LINGER_NS, LINGERING_CONNECTIONS
from scapy_mpa.stream.ordinary_connection import OrdinaryConnection
from scapy_mpa.stream.recovery import Recovery
from scapy_mpa.stream.segment import Segment, reverse_flow
from scapy_mpa.stream.table import AnyConnection, ConnectionTable
from scapy_mpa.stream.unanswered import Unanswered
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.forced import dialect_named
from scapy_mpa.wire.tcp import ACK, HANDSHAKE, NOT_PSH, SYN

if TYPE_CHECKING:
    from scapy_mpa.stream.connections.connection import Connection
    from scapy_mpa.stream.events import ConnectionEnded, ConnectionId, Event
    from scapy_mpa.stream.halves.other import OtherFramings

__all__ = ["LINGERING_CONNECTIONS", "LINGER_NS", "Flows"]

_BATCH: Final = 512
"""Events that are returned at a time when all connections end."""
STRAIGHT_AT_LEAST = 2 * FRAMING_WINDOW
"""The straight path needs a limit of at least this many octets for each direction: it must be able
to hold the longest FPDU in pieces, and without CRCs the FPDU before it."""


class Flows:
    """Takes TCP segments in the order of capture, and returns events.

    >>> flows = Flows()
    >>> for segment in segments:                        # doctest: +SKIP
    ...     for event in flows.receive(segment):
    ...         print(event)
    >>> for event in flows.finish():                    # doctest: +SKIP
    ...     print(event)

    :param first_number: the number of the first connection.
    :param limits: what may be held in memory.
    :param dialect: the dialect that the user names; it counts where octets leave a choice.  An
        unknown name raises LocalProtocolError.
    :param others: finds framings over TCP other than MPA's, as
        :func:`scapy_mpa.dialects.other_framings` returns it.
    :param straight: whether ordinary segments may take the straight path.  If not, a connection
        takes it only after a call of :meth:`to_straight_path`.
    """

    def __init__(
        self,
        first_number: int = 0,
        *,
        limits: Limits | None = None,
        dialect: str | Dialect | None = None,
        others: OtherFramings[Any] | None = None,
        straight: bool = True,
    ) -> None:
        self.limits = limits_of(limits)
        self._is_straight = straight and self.limits.octets_per_half >= STRAIGHT_AT_LEAST
        self._dialect = dialect = dialect_named(dialect)
        self.table = ConnectionTable(first_number, self.limits, self._settle)
        self.shared = Shared(Budget(self.limits), others)
        self.directions: dict[bytes, Direction] = {}
        """By flow, the directions on the straight path."""
        self.recovery = Recovery(self.table, self.directions, self.shared, self.limits, dialect)
        self.shared.to_recovery = self.recovery.to_recovery
        self.unanswered = Unanswered()
        """Must take ``shared.rows`` before any other reader, as :meth:`events` does."""
        self.segments = 0
        """Segments that :meth:`take` has taken.  Connections begin only there."""

    def receive(self, segment: Segment) -> list[Event]:
        """Take a segment; return the new events, in the order in which they were found."""
        self.take(segment)
        return self.events() if self.shared.rows else []

    def take(self, segment: Segment) -> None:
        """Take a segment; add its rows and events to ``shared.rows``."""
        self.segments += 1
        flow, seq, ack, flags, octets, length, frame, time_ns = segment
        direction = self.directions.get(flow)
        try:
            if direction is not None:
                is_plain = flags & NOT_PSH == ACK and len(octets) == length
                if is_plain and direction.receive(seq, ack, octets, frame, time_ns):
                    return
            if self._is_straight and self._follow(segment, direction):
                return
            self.recovery.take(segment)
        except Exception as error:
            self.recovery.fail(segment, error)
            return
        if length and self._is_straight:
            self.recovery.to_straight_path(flow)

    def _follow(self, segment: Segment, direction: Direction | None) -> bool:
        """Have an ordinary connection take a segment, or begin with it.

        :param direction: the direction that refused the segment; None if there is none.
        :return: False if recovery must take the segment, and its connection.
        """
        flow, flags, time_ns = segment.flow, segment.flags, segment.time_ns
        connection = self.table.find(flow) if direction is None else direction.connection
        if connection is None:
            if not (segment.length or flags & SYN):
                # It carries nothing and opens nothing: it came late, and its connection is over.
                self.table.expire(time_ns)
                return True
            return flags & HANDSHAKE == SYN and self._begin(segment)
        if not isinstance(connection, OrdinaryConnection):
            return False
        if connection.lingers or not connection.receive(segment):
            return False
        # Only these segments advance the clock, so most segments do not come here.
        self.table.expire(time_ns)
        if flags & SYN:
            self.directions[connection.identity.flow], self.directions[connection.reverse] = (
                connection.directions
            )
        elif connection.is_over:
            if connection.reset is not None:
                # A later acknowledgement may show that its receiver dropped the RST.
                self.recovery.forget_directions(connection)
            self.table.linger(connection, time_ns)
        return True

    def _begin(self, segment: Segment) -> bool:
        """Begin an ordinary connection; return False if this may be a copy, or not ordinary."""
        flow, reverse = segment.flow, reverse_flow(segment.flow)
        if (
            segment.length
            # A connection from an endpoint to itself: its directions cannot be distinguished.
            or flow == reverse
            or self._dialect is not None
        ):
            return False
        self.table.expire(segment.time_ns)
        identity = self.table.identity(segment)
        self.table.add(OrdinaryConnection(identity, reverse, self.shared, segment))
        return True

    def _settle(self, connection: AnyConnection) -> AnyConnection:
        """Return the object that reports the end of a connection."""
        if isinstance(connection, OrdinaryConnection) and connection.is_settled:
            self.recovery.forget_directions(connection)
            return connection
        return self.recovery.to_recovery(connection)

    def events(self) -> list[Event]:
        """Return the events since the last call, in the order in which they were found."""
        rows = self.shared.rows
        for row in rows:
            if type(row) is not tuple or row[4].opened:
                rows, _ = self.unanswered.take(rows)
                break
        events = list(map(event_of, rows))
        self.shared.rows.clear()
        return events

    def carries_mpa(self, flow: bytes) -> bool | None:
        """Return whether a direction now carries MPA: octets after its startup frame.

        None if no connection has this flow.
        """
        direction = self.directions.get(flow)
        connection = self.table.find(flow) if direction is None else direction.connection
        return None if connection is None else connection.carries_mpa(flow)

    def identity(self, flow: bytes) -> ConnectionId | None:
        """Return the identity of the connection that has a flow now; None if there is none."""
        connection = self.table.find(flow)
        return None if connection is None else connection.identity

    def find(self, flow: bytes) -> Connection | None:
        """Return the connection of a flow, on either path; None if there is none.

        Only with ``straight`` off: then each one is a :class:`Connection`.
        """
        connection = self.table.find(flow)
        assert not isinstance(connection, OrdinaryConnection)
        return connection

    def to_straight_path(self, flow: bytes) -> None:
        """Move the connection of a flow to the straight path, if a direction is in order."""
        if flow not in self.directions and self.limits.octets_per_half >= STRAIGHT_AT_LEAST:
            self.recovery.to_straight_path(flow)

    def standing(self) -> Iterator[ConnectionEnded]:
        """Yield the report on each open connection, as if it ended now."""
        for connection in self.table.all():
            if isinstance(connection, OrdinaryConnection) and connection.is_settled:
                yield connection.standing()
            else:
                # Recovery keeps the connection until it is in order again.
                yield self.recovery.to_recovery(connection).standing()

    def finish(self) -> list[Event]:
        """Return the last events, at the end of the capture, and forget all connections."""
        for _ in self.ends():
            pass
        return self.events()

    def ends(self) -> Iterator[None]:
        """Add to ``shared.rows`` the events that :meth:`finish` returns, a few hundred at a time.

        The caller can free these events before the next ones come.
        """
        for _ in self.table.ends():
            if len(self.shared.rows) >= _BATCH:
                yield
