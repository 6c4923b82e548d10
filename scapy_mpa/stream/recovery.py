# SPDX-License-Identifier: GPL-2.0-or-later
"""Recovery: follows connections that the straight path does not.

Takes each segment that is not ordinary, and moves connections between recovery and the straight
path.
"""

from __future__ import annotations

from scapy_mpa.stream.connections.connection import Connection
from scapy_mpa.stream.connections.repeat import HELD_REPEATS, Repeat, begin, shows_new
from scapy_mpa.stream.direction import Direction, Shared
from scapy_mpa.stream.halves.common import Common
from scapy_mpa.stream.halves.extent import belongs
from scapy_mpa.stream.handover import recover, to_recovery, to_straight_path
from scapy_mpa.stream.limits import Limits
from scapy_mpa.stream.octets.chunk import CHUNK_OVERHEAD
from scapy_mpa.stream.octets.past import PAST_OCTETS
from scapy_mpa.stream.ordinary_connection import OrdinaryConnection
from scapy_mpa.stream.segment import ACK, SYN, TURNS, Segment, reverse_flow
from scapy_mpa.stream.sequence import unwrap
from scapy_mpa.stream.table import AnyConnection, ConnectionTable
from scapy_mpa.wire.dialect import Dialect


class Recovery:
    """Follows connections in any state.

    :param table: the connection table.
    :param directions: the directions on the straight path, by flow.
    :param shared: what directions on the straight path share.
    :param common: what connections in recovery share.
    :param limits: limits of memory.
    :param dialect: the dialect that the user has given, if any.
    """

    __slots__ = (
        "_common",
        "_dialect",
        "_directions",
        "_held",
        "_limits",
        "_repeats",
        "_shared",
        "_table",
        "late_copies",
    )

    def __init__(
        self,
        table: ConnectionTable,
        directions: dict[bytes, Direction],
        shared: Shared,
        common: Common,
        limits: Limits,
        dialect: Dialect | None,
    ) -> None:
        self._table = table
        self._directions = directions
        self._shared = shared
        self._common = common
        self._limits = limits
        self._dialect = dialect
        # By the result of _ports().
        self._repeats: dict[bytes, Repeat] = {}
        self._held = 0
        self.late_copies = 0
        """Segments with only octets of connections that have ended."""

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
        directions = to_straight_path(connection, self._shared)
        if directions is not None:
            self._directions[connection.identity.flow] = directions[0]
            self._directions[connection.reverse] = directions[1]

    def to_recovery(self, connection: AnyConnection) -> Connection:
        """Move a connection to recovery if it is on the straight path; return it."""
        if isinstance(connection, OrdinaryConnection):
            self._forget_directions(connection)
            recovered = recover(connection, self._common)
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
        connection = Connection(known.identity, self._common, segment)
        connection.times = known.times
        self._forget_directions(known)
        self._table.linger_no_more(known)
        self._table.add(connection)
        connection.times.note_segment(segment)
        connection.fail(error, segment)

    def _forget_directions(self, connection: AnyConnection) -> None:
        for flow in (connection.identity.flow, connection.reverse):
            self._directions.pop(flow, None)

    # -- in ----------------------------------------------------------------------------------------

    def take(self, segment: Segment) -> None:
        """Take a segment that is not ordinary, or whose connection is not."""
        if segment.flags & SYN or self._repeats:
            self._hold_or_take(segment)
        else:
            self._take(segment)

    def _take(self, segment: Segment) -> None:
        table = self._table
        connection = self.connection(segment.flow)
        if segment.flags & TURNS or connection is None or connection.lingers:
            # Only these segments advance the clock, so most segments cost nothing here.
            table.expire(connection, segment.time_ns)
            connection = self.connection(segment.flow)
        if connection is None or not self._is_of(connection, segment):
            if not segment.length and not segment.flags & SYN:
                # It has no octets and opens no connection: a late segment of one that is over.
                return
            if table.is_past(segment):
                self.late_copies += 1
                return
            if connection is not None:
                table.end(connection, "reused")
            connection = self._open(segment)
        connection.receive(segment)
        if connection.lingers and not connection.is_over:
            # A RST had seemed to end it.
            table.linger_no_more(connection)
        elif connection.lingers:
            table.lingering.refresh(connection, segment.time_ns)
        elif connection.is_over:
            table.linger(connection, segment.time_ns)

    def _open(self, segment: Segment) -> Connection:
        identity = self._table.identity(segment)
        connection = Connection(identity, self._common, segment, self._dialect)
        self._table.add(connection)
        return connection

    def _is_of(self, connection: Connection, segment: Segment) -> bool:
        """True if a segment belongs to the connection that has its ports."""
        half, peer = connection.pair(segment.flow)
        if not belongs(half, peer, segment):
            return False
        number, high = segment.seq, half.high
        if high is None:
            number, high = segment.ack, peer.high or 0
        # A number so far off belongs to an earlier connection, if that had octets there.
        is_far = abs(unwrap(number, high) - high) > PAST_OCTETS
        return not (is_far and self._table.is_past(segment))

    # -- segments that may be copies ---------------------------------------------------------------

    def holds(self, flow: bytes) -> bool:
        """True while segments of these ports are held as possible copies."""
        return bool(self._repeats) and _ports(flow) in self._repeats

    def take_all_copies(self) -> None:
        """Take all held segments as copies, at the end of the capture."""
        for ports in list(self._repeats):
            self._take_copies(ports)

    def _hold_or_take(self, segment: Segment) -> None:
        """Hold a segment that may be a copy of a connection that is over, or take it."""
        ports, table = _ports(segment.flow), self._table
        connection = self.connection(segment.flow)
        repeat = self._repeats.get(ports)
        if repeat is None:
            repeat = begin(connection, table.past, segment)
            if repeat is None:
                self._take(segment)
                return
            self._repeats[ports] = repeat
        elif shows_new(self._former(repeat), table.past, segment):
            if segment.flags & (SYN | ACK) == SYN:
                # Yet another connection begins.  The segments held so far count as copies.
                self._take_copies(ports)
                self._hold_or_take(segment)
                return
            if connection is not None:
                table.end(connection)
            new = self._open(repeat.segments[0])
            for held in self._stop_holding(ports):
                new.receive(held)
            self._take(segment)
            return
        if connection is not None:
            table.lingering.refresh(connection, segment.time_ns)
        self._held += len(segment.payload) + CHUNK_OVERHEAD
        if repeat.hold(segment):
            self._take_copies(ports)
        while self._held > min(HELD_REPEATS, self._limits.octets_in_total):
            self._take_copies(next(iter(self._repeats)))

    def _former(self, repeat: Repeat) -> Connection | None:
        """Return the connection that is over, None if the connection table has dropped it."""
        former = repeat.former
        is_in_table = former is not None and self._table.find(former.identity.flow) is former
        return former if is_in_table else None

    def _take_copies(self, ports: bytes) -> None:
        """Take the held segments of two ports as copies."""
        former = self._former(self._repeats[ports])
        segments = self._stop_holding(ports)
        if former is None:
            self._table.past.renew(segments[-1])
        for segment in segments:
            self._take(segment)

    def _stop_holding(self, ports: bytes) -> list[Segment]:
        """Return the held segments of two ports, and hold them no more."""
        repeat = self._repeats.pop(ports)
        self._held -= repeat.octets
        return repeat.segments


def _ports(flow: bytes) -> bytes:
    """Return the same key for a flow and its reverse."""
    return min(flow, reverse_flow(flow))
