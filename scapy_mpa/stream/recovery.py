# SPDX-License-Identifier: GPL-2.0-or-later
"""Recovery: follows connections that the straight path does not.

Takes each segment that is not ordinary, and moves connections between recovery and the straight
path.
"""

from __future__ import annotations

from scapy_mpa.stream.connections.connection import Connection
from scapy_mpa.stream.connections.repeat import brings_octets, shows_new
from scapy_mpa.stream.direction import Direction
from scapy_mpa.stream.halves.extent import belongs
from scapy_mpa.stream.halves.shared import Shared
from scapy_mpa.stream.handover import recover, to_recovery, to_straight_path
from scapy_mpa.stream.limits import Limits
from scapy_mpa.stream.octets.chunk import CHUNK_OVERHEAD
from scapy_mpa.stream.ordinary_connection import OrdinaryConnection
from scapy_mpa.stream.segment import Segment
from scapy_mpa.stream.table import AnyConnection, ConnectionTable
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.tcp import ACK, SYN, TURNS


class Recovery:
    """Follows connections in any state.

    :param table: the connection table.
    :param directions: the directions on the straight path, by flow.
    :param shared: what all connections share.
    :param limits: limits of memory.
    :param dialect: the dialect that the user has given, if any.
    """

    def __init__(
        self,
        table: ConnectionTable,
        directions: dict[bytes, Direction],
        shared: Shared,
        limits: Limits,
        dialect: Dialect | None,
    ) -> None:
        self._table = table
        self._directions = directions
        self._shared = shared
        self._limits = limits
        self._dialect = dialect
        # Of connections that are over, the segments from the repeated SYN on.
        self._repeats: dict[Connection, list[Segment]] = {}
        self._held = 0
        self.late_copies = 0
        """Segments with only octets of connections that have ended."""
        self.began: tuple[Connection, list[int]] | None = None
        """The last connection that began with held segments, and the numbers of their frames."""

    # -- to the straight path and back -------------------------------------------------------------

    def connection(self, flow: bytes) -> Connection | None:
        """Move the connection of a flow to recovery and return it; None if there is none."""
        connection = self._table.find(flow)
        return None if connection is None else self.to_recovery(connection)

    def to_straight_path(self, flow: bytes) -> None:
        """Move the connection of a flow to the straight path, if it is in order."""
        connection = self.connection(flow)
        if connection is None or connection.lingers:
            return
        directions = to_straight_path(connection)
        if directions is not None:
            self._directions[connection.identity.flow] = directions[0]
            self._directions[connection.reverse] = directions[1]

    def to_recovery(self, connection: AnyConnection) -> Connection:
        """Move a connection to recovery if it is on the straight path; return it."""
        if isinstance(connection, OrdinaryConnection):
            self.forget_directions(connection)
            recovered = recover(connection)
            self._table.exchange(connection, recovered)
            return recovered
        if connection.is_ordinary:
            first = self._directions.pop(connection.identity.flow)
            to_recovery((first, self._directions.pop(connection.reverse)))
        return connection

    def fail(self, segment: Segment, error: Exception) -> None:
        """Report a fault of this program, and end the reading of the segment's connection."""
        known = self._table.find(segment.flow)
        if known is None:
            raise error
        if isinstance(known, Connection) and not known.is_ordinary:
            known.fail(error, segment)
            return
        connection = Connection(known.identity, self._shared, segment)
        connection.times = known.times
        self.forget_directions(known)
        self._table.linger_no_more(known)
        self._table.add(connection)
        connection.times.note_segment(segment)
        connection.fail(error, segment)

    def forget_directions(self, connection: AnyConnection) -> None:
        """Take the directions of a connection off the straight path."""
        for flow in (connection.identity.flow, connection.reverse):
            self._directions.pop(flow, None)

    # -- in ----------------------------------------------------------------------------------------

    def take(self, segment: Segment) -> None:
        """Take a segment that is not ordinary, or whose connection is not."""
        if not (segment.flags & SYN or self._repeats) or not self._hold(segment):
            self._take(segment)

    def _take(self, segment: Segment) -> None:
        table = self._table
        connection = self.connection(segment.flow)
        if segment.flags & TURNS or connection is None or (connection.lingers and segment.length):
            # Only these segments advance the clock, so most segments cost nothing here.
            table.expire(segment.time_ns)
            connection = self.connection(segment.flow)
        if connection is None or not belongs(connection.half(segment.flow), segment):
            if not segment.length and not segment.flags & SYN:
                # It has no octets and opens no connection: a late segment of one that is over.
                return
            if connection is not None:
                table.end(connection, "reused")
            connection = self._open(segment)
        connection.receive(segment)
        if connection.lingers and not connection.is_over:
            # A RST had seemed to end it.
            table.linger_no_more(connection)
        elif connection.is_over and not connection.lingers:
            table.linger(connection, segment.time_ns)

    def _open(self, segment: Segment) -> Connection:
        identity = self._table.identity(segment)
        connection = Connection(identity, self._shared, segment, self._dialect)
        self._table.add(connection)
        return connection

    # -- segments that may be copies ---------------------------------------------------------------

    def holds(self, flow: bytes) -> bool:
        """True while segments of these ports are held as possible copies."""
        return bool(self._repeats) and self.connection(flow) in self._repeats

    def _hold(self, segment: Segment) -> bool:
        """Hold a segment of a connection that is over, if it follows a copy of the SYN.

        When a segment shows a new connection, that begins with the held segments.
        """
        self._table.expire(segment.time_ns)
        connection = self.connection(segment.flow)
        if connection is None or not connection.lingers:
            return False
        if shows_new(connection, segment):
            held = self._stop_holding(connection)
            if held and segment.flags & (SYN | ACK) != SYN:
                self._table.end(connection)
                new = self._open(held[0])
                self.late_copies -= len(held)
                self.began = new, [each.frame for each in held]
                for each in held:
                    new.receive(each)
            return False
        if brings_octets(connection, segment):
            return False
        if segment.flags & (SYN | ACK) == SYN:
            # The segments held so far were copies.
            self._stop_holding(connection)
        if not segment.flags & SYN and connection not in self._repeats:
            return False
        self._repeats.setdefault(connection, []).append(segment)
        self._held += _weight_of(segment)
        self.late_copies += 1
        # All held segments together may take as much as one direction.
        most = min(self._limits.octets_per_half, self._limits.octets_in_total)
        while self._held > most:
            self._stop_holding(next(iter(self._repeats)))
        return True

    def _stop_holding(self, connection: Connection) -> list[Segment]:
        """Return the held segments of a connection, and hold them no more."""
        held = self._repeats.pop(connection, [])
        self._held -= sum(map(_weight_of, held))
        return held


def _weight_of(segment: Segment) -> int:
    """Return the octets of memory that a held segment takes."""
    return len(segment.payload) + CHUNK_OVERHEAD
