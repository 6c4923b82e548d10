# SPDX-License-Identifier: GPL-2.0-or-later
"""A connection that stays on the straight path from its SYN to its end.

It consists of SYN, SYN,ACK, Request, Reply, FPDUs with CRCs each way, and a FIN each way or a RST.
At its end nothing is missing.  Nearly all connections are like this, and recovery
(:mod:`~scapy_mpa.stream.connections`) takes five times as long.  A segment is taken whole, or
refused.  After a refused segment, the connection goes to recovery, which reads its beginning again
(:func:`~scapy_mpa.stream.handover.recover`).
"""

from collections.abc import Iterator
from typing import Final

from scapy_mpa.stream.direction import Direction, event_of
from scapy_mpa.stream.events import (
    Closer,
    ConnectionEnded,
    ConnectionId,
    Ending,
    FPDURecovered,
    GapReason,
    HalfSummary,
    StartupSeen,
    end_of,
    names_of,
)
from scapy_mpa.stream.halves.shared import Shared
from scapy_mpa.stream.octets.chunk import CHUNK_OVERHEAD
from scapy_mpa.stream.segment import Segment
from scapy_mpa.stream.sequence import (
    SEQUENCE_HALF,
    SEQUENCE_MASK,
    compact,
    first_position,
    sequence_number,
)
from scapy_mpa.stream.startup.negotiation import Negotiating
from scapy_mpa.stream.startup.steps import Step
from scapy_mpa.stream.startup.usual import Agreed, agreed_by, usual_startup
from scapy_mpa.stream.timed import Timed
from scapy_mpa.wire.startup import StartupKind
from scapy_mpa.wire.tcp import ACK, FIN, HANDSHAKE, NOT_PSH, PSH, RST, SYN

_KINDS: Final = StartupKind.REQUEST, StartupKind.REPLY
"""The kind of startup frame that each direction must send."""


class OrdinaryConnection:
    """One connection.  The Initiator sends the SYN, and direction 0 is its direction.

    :param reverse: the flow of direction 1.
    :param segment: the SYN.
    """

    __slots__ = (
        "closer",
        "identity",
        "initiator",
        "lingers",
        "negotiating",
        "reset",
        "responder",
        "reverse",
        "times",
    )

    def __init__(
        self, identity: ConnectionId, reverse: bytes, shared: Shared, segment: Segment
    ) -> None:
        self.identity = identity
        self.reverse = reverse
        """The flow of direction 1: the same object in all tables."""
        self.times = Timed(segment)
        self.negotiating: Negotiating | None = None
        """Set by the Reply, if the Request has revision 2."""
        self.reset: Segment | None = None
        """The RST that ended the connection."""
        self.closer: Closer | None = None
        """The first FIN."""
        self.lingers = False
        """Whether the table of connections keeps it only for late segments."""
        self.initiator = self._direction(shared, 0, segment)
        self.responder: Direction | None = None
        """Set by the SYN,ACK."""

    def _direction(self, shared: Shared, index: int, syn: Segment) -> Direction:
        """Return a direction right after its SYN; it reads no FPDUs yet."""
        begin = compact(first_position(syn.seq) + 1)
        direction = Direction(shared, self, index, None, shared.unread_shapes, begin, 0, syn.ack)
        direction.reads_no_fpdus = True
        direction.segments = 1
        return direction

    # -- in --------------------------------------------------------------------------------------

    def receive(self, segment: Segment) -> bool:
        """Take a segment with a SYN, FIN or RST; return False if it is refused."""
        initiator, responder = self.initiator, self.responder
        if responder is None:
            return self._take_syn_ack(segment)
        is_initiator = segment.flow == self.identity.flow
        direction, peer = (initiator, responder) if is_initiator else (responder, initiator)
        flags = segment.flags & NOT_PSH
        if segment.seq != direction.seq or segment.length or not self.is_settled:
            return False
        if flags == FIN | ACK:
            return self._take_fin(direction, segment)
        if flags not in (RST, RST | ACK):
            return False
        if flags != RST and 0 < (segment.ack - peer.seq) & SEQUENCE_MASK < SEQUENCE_HALF:
            # It acknowledges octets that were not captured.
            return False
        self.reset = segment
        direction.segments += 1
        self.times.note_segment(segment)
        return True

    def _take_syn_ack(self, segment: Segment) -> bool:
        """Take the SYN,ACK; return False if the segment is something else."""
        initiator = self.initiator
        if (
            segment.flow != self.reverse
            or segment.flags & HANDSHAKE != SYN | ACK
            or segment.length
            or segment.ack != initiator.seq
        ):
            return False
        responder = self.responder = self._direction(initiator.shared, 1, segment)
        initiator.peer, responder.peer = responder, initiator
        # The Initiator has not acknowledged this SYN yet.
        initiator.ack = segment.seq
        self.times.note_segment(segment)
        return True

    def take_octets(
        self, direction: Direction, seq: int, ack: int, octets: bytes, frame: int, time_ns: int
    ) -> bool:
        """Take octets of a direction that reads no FPDUs; return False if they are refused.

        They must be the next startup frame, alone in its segment (RFC 5044 7.1.2), or the
        Initiator's first FPDU.
        """
        index = direction.index
        if direction.startup:
            return not index and self._take_first_fpdu(seq, ack, octets, frame, time_ns)
        usual = usual_startup(octets)
        if usual is None or usual.startup.kind is not _KINDS[index]:
            return False
        agreed = agreed_by(self.initiator.startup, usual.octets) if index else None
        # It must acknowledge everything that was captured of the peer.
        if seq != direction.seq or ack != direction.peer.seq or (index and agreed is None):
            return False
        direction.startup = usual.octets
        direction.frame = frame
        self.identity.initiator = 0
        direction.shared.rows.append(
            StartupSeen(
                self.identity,
                index,
                frame,
                time_ns,
                seq,
                usual.octets,
                (frame,),
                usual.startup,
                usual.dialect,
            )
        )
        direction.origin = compact(direction.origin + len(octets))
        direction.seq = sequence_number(direction.origin)
        if agreed is not None:
            self._enter_full_operation(agreed)
            self.times.end_startup(time_ns)
            return True
        self.times.begin_startup(time_ns)
        direction.hold(len(octets) + CHUNK_OVERHEAD)
        return True

    def _enter_full_operation(self, agreed: Agreed) -> None:
        """Have both directions read FPDUs, after both startup frames."""
        assert self.responder is not None
        for direction in (self.initiator, self.responder):
            shared, startup = direction.shared, direction.startup
            shared.recent.remember(direction.key, _begin(direction), startup, direction.frame)
            if direction.held:
                direction.hold(-direction.held)
            direction.shapes = shared.tables[agreed.kinds[direction.index]]
            # Without CRCs, recovery checks the first FPDU.
            direction.reads_no_fpdus = not direction.shapes.crc
        self.responder.awaits_fpdu = True
        request, reply = agreed.request, agreed.reply
        if request.startup.revision == 2:
            negotiating = self.negotiating = Negotiating()
            negotiating.take_startup(request.startup, Step.REQUEST, request.dialect)
            negotiating.take_startup(reply.startup, Step.ACCEPT, reply.dialect)
            self.initiator.reads_no_fpdus |= negotiating.is_open

    def _take_first_fpdu(self, seq: int, ack: int, octets: bytes, frame: int, time_ns: int) -> bool:
        """Take the Initiator's first FPDU, if it may be an RTR indication (RFC 6581 9)."""
        negotiating, initiator = self.negotiating, self.initiator
        if negotiating is None or not negotiating.is_open or not initiator.shapes.crc:
            return False
        rows = initiator.shared.rows
        rows_before = len(rows)
        initiator.reads_no_fpdus = False
        if not initiator.take(seq, ack, octets, frame, time_ns):
            initiator.reads_no_fpdus = True
            return False
        first = event_of(rows[rows_before])
        assert isinstance(first, FPDURecovered)
        negotiating.take_fpdu(first)
        return True

    def _take_fin(self, direction: Direction, segment: Segment) -> bool:
        """Take a FIN: it uses one sequence number, and no octets follow it."""
        stalled = direction.unacknowledged if self.times.is_late(segment.time_ns) else 0
        if direction.reads_no_fpdus or not direction.receive(
            segment.seq, segment.ack, b"", segment.frame, segment.time_ns
        ):
            return False
        self.times.note_progress(segment.frame, segment.time_ns, stalled)
        direction.is_closed = direction.reads_no_fpdus = True
        self.closer = self.closer or Closer(direction.index, segment.frame)
        direction.can_read_next = False
        direction.seq = sequence_number(segment.seq + 1)
        return True

    # -- its state -------------------------------------------------------------------------------

    @property
    def directions(self) -> tuple[Direction, ...]:
        """Direction 0, and direction 1 if it has begun."""
        return (self.initiator,) if self.responder is None else (self.initiator, self.responder)

    @property
    def is_settled(self) -> bool:
        """Whether both startup frames were captured, and after them nothing is held or missing."""
        # Asked several times for each connection, so without a loop.
        initiator, responder = self.initiator, self.responder
        if responder is None or not responder.startup:
            return False
        if initiator.pieces or initiator.ahead or initiator.unproven:
            return False
        return not (responder.pieces or responder.ahead or responder.unproven)

    @property
    def has_both_startups(self) -> bool:
        """Whether both startup frames were captured."""
        return self.responder is not None and bool(self.responder.startup)

    @property
    def carries_fpdus(self) -> bool:
        """Whether both startup frames were captured, and CRCs are on."""
        return self.initiator.shapes.crc and self.has_both_startups

    @property
    def has_both_fins(self) -> bool:
        """Whether both FINs were captured: only copies may follow."""
        responder = self.responder
        return responder is not None and self.initiator.is_closed and responder.is_closed

    def carries_mpa(self, flow: bytes) -> bool:
        """Return whether a direction now carries MPA: octets after its startup frame."""
        direction = self.initiator if flow == self.identity.flow else self.responder
        return direction is not None and bool(direction.startup)

    @property
    def is_over(self) -> bool:
        """Whether only late copies may follow."""
        return self.reset is not None or self.has_both_fins

    def beginning(self) -> Iterator[Segment]:
        """Yield segments made anew: its SYNs, its startup frames, its last acknowledgements."""
        for direction in self.directions:
            syn = SYN | ACK if direction.index else SYN
            yield self._segment(direction, syn, _begin(direction) - 1, _begin(self.initiator))
        for direction in self.directions:
            if direction.startup:
                ack = self.initiator.origin if direction.index else _begin(direction.peer)
                yield self._segment(direction, PSH | ACK, _begin(direction), ack, direction.startup)
        for direction in () if self.responder is None else self.directions:
            if direction.ack != sequence_number(_begin(direction.peer) - 1):
                yield self._segment(direction, ACK, direction.origin, direction.ack)

    def _segment(
        self, direction: Direction, flags: int, position: int, ack: int, octets: bytes = b""
    ) -> Segment:
        flow = self.reverse if direction.index else self.identity.flow
        seq, ack, time_ns = sequence_number(position), sequence_number(ack), self.times.time_ns
        return Segment(flow, seq, ack, flags, octets, len(octets), direction.frame, time_ns)

    # -- the end ---------------------------------------------------------------------------------

    def finish(self, reason: GapReason, ending: Ending | None = None) -> None:
        """Report that it ended; only while :attr:`is_settled`.

        :param reason: not used, as there are no holes.
        :param ending: how it ended, if its segments do not show that.
        """
        self.initiator.shared.rows.append(self.standing(ending))
        self.leave()

    def standing(self, ending: Ending | None = None) -> ConnectionEnded:
        """Return the report for an end right now; only while :attr:`is_settled`.

        :param ending: how it ended, if its segments do not show that.
        """
        initiator, responder = self.initiator, self.responder
        assert responder is not None
        agreed = agreed_by(initiator.startup, responder.startup)
        assert agreed is not None
        endpoints = self.identity.endpoints
        ending = ending or self._ending()
        reset, times = self.reset, self.times
        return ConnectionEnded(
            connection=self.identity,
            direction=0,
            frame=times.frame,
            time_ns=times.time_ns,
            initiator=endpoints[0],
            responder=endpoints[1],
            dialect=agreed.reply.dialect,
            revision=agreed.reply.startup.revision,
            crc=initiator.shapes.crc,
            rejected=False,
            halves=(_summary(initiator), _summary(responder)),
            errors=0,
            ending=ending,
            rnics=agreed.rnics,
            negotiated=None if self.negotiating is None else self.negotiating.result(),
            end=end_of(
                ending,
                times.frame,
                names_of(endpoints, 0),
                reset=reset and Closer(int(reset.flow != self.identity.flow), reset.frame),
                closer=self.closer,
                within=[
                    each.index for each in self.directions if each.shape and not each.shape.last
                ],
            ),
            timing=times.timing(initiator.unacknowledged),
        )

    def _ending(self) -> Ending:
        """Return how it ended, as its segments show."""
        if self.has_both_fins:
            return "closed"
        if self.reset is not None:
            return "reset"
        is_half_closed = any(direction.is_closed for direction in self.directions)
        return "half closed" if is_half_closed else "capture ended"

    def leave(self) -> None:
        """Drop the directions.  They refer to each other, so only the garbage collector would free
        them."""
        if self.responder is not None:
            del self.initiator.peer, self.responder.peer
        del self.initiator, self.responder


def _begin(direction: Direction) -> int:
    """Return the position of the first octet after the SYN."""
    return direction.origin - len(direction.startup)


def _summary(direction: Direction) -> HalfSummary:
    octets = len(direction.startup) + direction.offset
    return direction.counters.summary(octets, direction.shapes.marked)
