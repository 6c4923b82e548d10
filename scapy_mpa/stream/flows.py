# SPDX-License-Identifier: GPL-2.0-or-later
"""All TCP connections of a capture: the door of the stream core."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, TypeAlias

from scapy_mpa.stream.budget import Budget
from scapy_mpa.stream.connections.connection import Connection
from scapy_mpa.stream.connections.repeat import HELD_REPEATS, Repeat, begin, shows_new
from scapy_mpa.stream.direction import Direction, Shared, event_of
from scapy_mpa.stream.events import ConnectionId, Ending
from scapy_mpa.stream.halves.common import Common
from scapy_mpa.stream.halves.extent import belongs
from scapy_mpa.stream.handover import give_back, recover, take_out
from scapy_mpa.stream.limits import Limits
from scapy_mpa.stream.lingering import LINGER_NS, LINGERING_CONNECTIONS, Lingering
from scapy_mpa.stream.octets.chunk import CHUNK_OVERHEAD
from scapy_mpa.stream.octets.past import PAST_OCTETS, PastConnections, Tail
from scapy_mpa.stream.ordinary_connection import OrdinaryConnection
from scapy_mpa.stream.segment import ACK, FIN, PSH, RST, SECOND, SYN, Segment, reverse_flow
from scapy_mpa.stream.sequence import unwrap
from scapy_mpa.wire.dialect import Dialect

if TYPE_CHECKING:
    from scapy_mpa.stream.events import Event

__all__ = ["LINGERING_CONNECTIONS", "LINGER_NS", "Flows"]

_FIRST_SWEEP: Final = 1024
"""Connections from which on those that are idle are looked for: fewer are in nobody's way."""
_BATCH: Final = 512
"""Events that are handed out at a time when all connections end."""
STRAIGHT_AT_LEAST = 1 << 17
"""Octets that a direction must be allowed to hold for the straight path: more than the longest FPDU
in pieces."""

_NOT_PSH: Final = 0xFF & ~PSH

Either: TypeAlias = Connection | OrdinaryConnection

_HANDSHAKE: Final = SYN | ACK | FIN | RST
_TURNS: Final = SYN | FIN | RST
"""Flags of segments with which connections begin and end."""


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
    :param straight: whether ordinary segments may go without recovery.  Whoever asks connections
        what they hold must have all of them in recovery.
    """

    __slots__ = (
        "_common",
        "_connections",
        "_dialect",
        "_held",
        "_is_straight",
        "_lingering",
        "_number",
        "_past",
        "_repeats",
        "_sweep_at",
        "_tails",
        "directions",
        "late_copies",
        "limits",
        "segments",
        "shared",
    )

    def __init__(
        self,
        first_number: int = 0,
        *,
        limits: Limits | None = None,
        dialect: Dialect | None = None,
        straight: bool = True,
    ) -> None:
        self.limits = limits or Limits()
        self._is_straight = straight and self.limits.octets_per_half >= STRAIGHT_AT_LEAST
        self._dialect = dialect
        # By the flow of direction 0 alone: of very many that takes half as much.
        self._connections: dict[bytes, Either] = {}
        self._lingering: Lingering[Either] = Lingering()
        self._past = PastConnections()
        # Of those that linger: what is known of their last octets.
        self._tails: dict[Either, tuple[Tail, Tail]] = {}
        # By what _ports() returns.
        self._repeats: dict[bytes, Repeat] = {}
        self._held = 0
        self._common = common = Common(Budget(self.limits))
        self.shared = Shared(common.budget, common.recent, self._give_back)
        common.emit = self.shared.rows.append
        self.directions: dict[bytes, Direction] = {}
        """By flow, the directions that are as they should be."""
        self._number = first_number
        self._sweep_at = min(_FIRST_SWEEP, self.limits.connections)
        self.segments = 0
        """Segments taken here, which is where each connection begins."""
        self.late_copies = 0
        """Segments with nothing but octets of connections that were ended before."""

    def receive(self, segment: Segment) -> list[Event]:
        """Take a segment; return what it brought to light, in order of recovery."""
        self.take(segment)
        return self.events()

    def take(self, segment: Segment) -> None:
        """Take a segment; what it brings to light is added to ``shared.rows``."""
        self.segments += 1
        flow, seq, ack, flags, octets, length, frame, time_ns = segment
        direction = self.directions.get(flow)
        try:
            if direction is not None:
                is_plain = flags & _NOT_PSH == ACK and len(octets) == length
                if is_plain and direction.receive(seq, ack, octets, frame, time_ns):
                    return
            if self._is_straight and self._follow(segment, direction):
                return
            if direction is not None:
                self.connection(flow)
            if flags & SYN or self._repeats:
                self._hold_or_take(segment)
            else:
                self._recover(segment)
        except Exception as error:
            self.fail(segment, error)
            return
        if length and self._is_straight:
            self._take_out(flow)

    def _follow(self, segment: Segment, direction: Direction | None) -> bool:
        """Have a connection that is ordinary from its SYN on take a segment, or begin with it.

        Return whether that is possible; else recovery takes the segment, and has the connection.

        :param direction: has refused the segment, if the straight path has the connection.
        """
        flow, flags, time_ns = segment.flow, segment.flags, segment.time_ns
        connection = self._find(flow) if direction is None else direction.connection
        if connection is None:
            return flags & _HANDSHAKE == SYN and self._begin(segment)
        if not isinstance(connection, OrdinaryConnection):
            return False
        if connection.lingers:
            return connection.is_late_word(segment) and self._take_late_word(connection, segment)
        if not connection.receive(segment):
            return False
        if flags & _TURNS:
            # No other segment says what time it is, so that most need not come here to do so.
            self._expire(None, time_ns)
        if flags & SYN:
            self.directions[connection.identity.flow], self.directions[connection.reverse] = (
                connection.directions
            )
        elif connection.is_over:
            del self.directions[connection.identity.flow], self.directions[connection.reverse]
            self._linger(connection, time_ns)
        return True

    def fail(self, segment: Segment, error: Exception) -> None:
        """Report a fault of this program, which costs the connection of a segment and no other."""
        known = self._find(segment.flow)
        if known is None:
            raise error
        if isinstance(known, Connection) and not known.is_ordinary:
            known.fail(error, segment)
            return
        flow = known.identity.flow
        connection = self._connections[flow] = Connection(known.identity, self._common)
        for each in (flow, connection.reverse):
            self.directions.pop(each, None)
        self._tails.pop(known, None)
        self._lingering.discard(known)
        connection.frame, connection.time_ns = segment.frame, segment.time_ns
        connection.fail(error, segment)

    def _begin(self, segment: Segment) -> bool:
        """Begin an ordinary connection, if nothing that is known of its ports may be of it."""
        flow, reverse = segment.flow, reverse_flow(segment.flow)
        if (
            segment.length
            # A connection from an endpoint to itself: nobody could tell the directions apart.
            or flow == reverse
            or self._dialect is not None
            or (self._repeats and _ports(flow) in self._repeats)
            or self._past.begins(segment)
        ):
            return False
        self._expire(None, segment.time_ns)
        identity = self._identity(segment)
        self._connections[flow] = OrdinaryConnection(identity, reverse, self.shared, segment)
        return True

    def _take_late_word(self, connection: OrdinaryConnection, segment: Segment) -> bool:
        """Have a connection that lingers take an acknowledgement, unless it is over by then."""
        self._expire(connection, segment.time_ns)
        if self._find(segment.flow) is connection:
            connection.acknowledge(segment)
            self._lingering.refresh(connection, segment.time_ns)
        return True

    def _take_out(self, flow: bytes) -> None:
        """Let the straight path have the connection of a flow if all is as it should be."""
        connection = self.connection(flow)
        if connection is None or connection.lingers:
            return
        directions = take_out(connection, self.shared)
        if directions is not None:
            self.directions[connection.identity.flow] = directions[0]
            self.directions[connection.reverse] = directions[1]

    def _give_back(self, connection: Either) -> Connection:
        """Let recovery have a connection, if the straight path has it; return it."""
        flow = connection.identity.flow
        if isinstance(connection, OrdinaryConnection):
            self.directions.pop(flow, None)
            self.directions.pop(connection.reverse, None)
            recovered = recover(connection, self._common)
            if self._connections.get(flow) is connection:
                self._connections[flow] = recovered
            if connection in self._tails:
                self._tails[recovered] = self._tails.pop(connection)
                self._lingering.exchange(connection, recovered)
            return recovered
        if connection.is_ordinary:
            one = self.directions.pop(flow)
            give_back((one, self.directions.pop(connection.reverse)))
        return connection

    def _settled(self, connection: Either) -> Either:
        """Return a connection that is to end as the one that can say what there is to be said."""
        if isinstance(connection, OrdinaryConnection) and connection.is_settled:
            self.directions.pop(connection.identity.flow, None)
            self.directions.pop(connection.reverse, None)
            return connection
        return self._give_back(connection)

    def _recover(self, segment: Segment) -> None:
        """Take a segment that is not ordinary, or of a connection that is not."""
        connection = self.connection(segment.flow)
        if segment.flags & _TURNS or connection is None or connection.lingers:
            # No other segment says what time it is, so that most need not come here to do so.
            self._expire(connection, segment.time_ns)
            connection = self.connection(segment.flow)
        if connection is None or not self._is_of(connection, segment):
            if not segment.length and not segment.flags & SYN:
                # It carries nothing and opens nothing: a late word of a connection that is over.
                return
            if self._past.spans(segment) or self._past.begins(segment):
                self.late_copies += 1
                return
            if connection is not None:
                self._end(connection, "reused")
            connection = self._open(segment)
        connection.receive(segment)
        if connection.lingers and not connection.is_over:
            # A RST seemed to have ended it.
            connection.lingers = False
            del self._tails[connection]
            self._lingering.discard(connection)
        elif connection.lingers:
            self._lingering.refresh(connection, segment.time_ns)
        elif connection.is_over:
            self._linger(connection, segment.time_ns)

    def _is_of(self, connection: Connection, segment: Segment) -> bool:
        """Tell whether a segment is of the connection that has its ports."""
        half, peer = connection.pair(segment.flow)
        if not belongs(half, peer, segment):
            return False
        number, high = segment.seq, half.high
        if high is None:
            number, high = segment.ack, peer.high or 0
        # So far off it is rather of the connection before, where that had octets there.
        is_far = abs(unwrap(number, high) - high) > PAST_OCTETS
        return not (is_far and (self._past.spans(segment) or self._past.begins(segment)))

    def _hold_or_take(self, segment: Segment) -> None:
        """Hold a segment that may be a copy of a connection that is over, or take it."""
        ports = _ports(segment.flow)
        connection = self.connection(segment.flow)
        repeat = self._repeats.get(ports)
        if repeat is None:
            repeat = begin(connection, self._past, segment)
            if repeat is None:
                self._recover(segment)
                return
            self._repeats[ports] = repeat
        elif shows_new(repeat.former, self._past, segment):
            if segment.flags & (SYN | ACK) == SYN:
                # Another beginning: nothing has told the one before it from copies.
                self._take_copies(ports)
                self._hold_or_take(segment)
                return
            if connection is not None:
                self._end(connection)
            following = self._open(repeat.segments[0])
            for each in self._let_go(ports):
                following.receive(each)
            self._recover(segment)
            return
        if connection is not None:
            self._lingering.refresh(connection, segment.time_ns)
        self._held += len(segment.payload) + CHUNK_OVERHEAD
        if repeat.hold(segment):
            self._take_copies(ports)
        while self._held > min(HELD_REPEATS, self.limits.octets_in_total):
            self._take_copies(next(iter(self._repeats)))

    def _take_copies(self, ports: bytes) -> None:
        """Take the segments held of some ports, which are copies."""
        former = self._repeats[ports].former
        segments = self._let_go(ports)
        if former is None:
            self._past.renew(segments[-1])
        for each in segments:
            self._recover(each)

    def _let_go(self, ports: bytes) -> list[Segment]:
        """Hold the segments of some ports no more; return them."""
        repeat = self._repeats.pop(ports)
        self._held -= repeat.octets
        return repeat.segments

    def events(self) -> list[Event]:
        """Return what was found since this was asked last, in order of recovery."""
        rows = self.shared.rows
        if not rows:
            return []
        events = [event_of(row) if type(row) is tuple else row for row in rows]
        rows.clear()
        return events

    def holds(self, flow: bytes) -> bool:
        """Whether segments of these ports are held until it is known whether they are copies."""
        return _ports(flow) in self._repeats

    def take_number(self) -> int:
        """Return the number of the next connection, which it will not be any more."""
        number = self._number
        self._number = number + 1
        return number

    def carries_mpa(self, flow: bytes) -> bool | None:
        """Tell whether what a direction carries now is MPA: octets after its startup frame.

        None if there is no connection of that flow.
        """
        connection = self._find(flow)
        return None if connection is None else connection.carries_mpa(flow)

    def connection(self, flow: bytes) -> Connection | None:
        """Return the connection of a flow as it stands now, None if there is none.

        Recovery has it from now on, until the straight path takes it out.
        """
        connection = self._find(flow)
        return None if connection is None else self._give_back(connection)

    def _find(self, flow: bytes) -> Either | None:
        """Return the connection of a flow, whoever has it; None if there is none."""
        connections = self._connections
        return connections.get(flow) or connections.get(reverse_flow(flow))

    @property
    def unsearched(self) -> int:
        """Directions of which nothing is known and that were not searched to their end for FPDUs,
        because too many octets of the capture look like some."""
        return self._common.purse.unsearched

    def finish(self) -> list[Event]:
        """Return what can be said now that the capture has ended; start afresh."""
        for _ in self.ends():
            pass
        return self.events()

    def ends(self) -> Iterator[None]:
        """Add to ``shared.rows`` what :meth:`finish` returns, a few hundred events at a time.

        Their memory is free when the next ones come.
        """
        for ports in list(self._repeats):
            self._take_copies(ports)
        live = list(self._connections.values())
        self._connections.clear()
        self._lingering = Lingering()
        self._past = PastConnections()
        self._tails.clear()
        live.reverse()
        while live:
            connection = self._settled(live.pop())
            connection.finish("connection ended" if connection.is_over else "capture ended")
            if len(self.shared.rows) >= _BATCH:
                yield

    def _identity(self, segment: Segment) -> ConnectionId:
        """Return that of a connection that begins, for which there is room now."""
        if len(self._connections) >= self._sweep_at:
            self._sweep(segment.time_ns)
        return ConnectionId(self.take_number(), segment.flow)

    def _open(self, segment: Segment) -> Connection:
        connection = Connection(self._identity(segment), self._common, self._dialect)
        self._connections[segment.flow] = connection
        return connection

    def _sweep(self, time_ns: int) -> None:
        """Make room for a connection: end those that have been idle for long, or for longest."""
        live = sorted(self._connections.values(), key=lambda each: each.last_time_ns)
        most = self.limits.connections
        # So that the work of sweeping is spread over the connections that come.
        surplus = len(live) + 1 - most + most // 8 if len(live) >= most else 0
        # By another clock, one that is not idle may seem to be for as long as they are apart.
        idle_ns = self.limits.idle_seconds * SECOND + self._lingering.apart_ns
        for index, connection in enumerate(live):
            is_idle = time_ns - connection.last_time_ns >= idle_ns
            if not is_idle and index >= surplus:
                break
            self._end(connection, "idle" if is_idle else "limit")
        self._sweep_at = min(max(_FIRST_SWEEP, 2 * len(self._connections)), most)

    def _linger(self, connection: Either, time_ns: int) -> None:
        connection.lingers = True
        self._tails[connection] = connection.tails()
        self._lingering.add(connection, time_ns, may_gain=not connection.is_captured)
        for each in self._lingering.surplus():
            self._end(each)

    def _expire(self, connection: Either | None, time_ns: int) -> None:
        """End those that have been over for long enough.

        :param connection: the one that a segment seems to be of.
        :param time_ns: when that was captured.
        """
        if connection is not None and self._lingering.outstays(connection, time_ns):
            self._end(connection)
        for each in self._lingering.witness(time_ns):
            self._end(each)
        self._past.apart = self._lingering.apart_ns // SECOND

    def _end(self, connection: Either, ending: Ending | None = None) -> None:
        """Report what can be said of a connection, which loses its ports."""
        del self._connections[connection.identity.flow]
        connection = self._settled(connection)
        flow = connection.identity.flow
        self._lingering.discard(connection)
        repeat = self._repeats.get(_ports(flow)) if self._repeats else None
        if repeat is not None:
            repeat.former = None
        tails = self._tails.pop(connection, None) or connection.tails()
        self._past.add(flow, connection.last_time_ns, connection.spans(), tails)
        if connection.is_over:
            ending = None
        connection.finish("limit" if ending == "limit" else "connection ended", ending)


def _ports(flow: bytes) -> bytes:
    """Return what names the ports of a flow and of its reverse."""
    return min(flow, reverse_flow(flow))
