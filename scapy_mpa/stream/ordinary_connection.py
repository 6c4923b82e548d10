# SPDX-License-Identifier: GPL-2.0-or-later
"""The ordinary connection: from its SYN to its end, without anything odd.

SYN, SYN,ACK, Request, Reply, FPDUs each way, a FIN each way or a RST: all of it was captured, whole
and in order.  Nearly all connections are so, and recovery (:mod:`~scapy_mpa.stream.connections`)
takes five times as long for one.  A segment is taken whole, or it is refused.  A connection that
refuses one goes to recovery, which reads its beginning once more
(:func:`~scapy_mpa.stream.handover.recover`).
"""

from collections.abc import Iterator
from typing import Final

from scapy_mpa.stream.direction import Direction, Shared, event_of
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
from scapy_mpa.stream.octets.chunk import CHUNK_OVERHEAD
from scapy_mpa.stream.octets.past import Span, Tail
from scapy_mpa.stream.segment import ACK, FIN, HANDSHAKE, NOT_PSH, PSH, RST, SYN, Segment
from scapy_mpa.stream.sequence import (
    SEQUENCE_HALF,
    SEQUENCE_MASK,
    compact,
    first_position,
    sequence_number,
)
from scapy_mpa.stream.startup.negotiation import Negotiating
from scapy_mpa.stream.startup.steps import Step
from scapy_mpa.stream.startup.usual import Agreed, agreed, usual_startup
from scapy_mpa.stream.timed import Timed
from scapy_mpa.wire.crc import crc32c
from scapy_mpa.wire.startup import StartupKind

_KINDS: Final = StartupKind.REQUEST, StartupKind.REPLY
"""By direction, what its startup frame must be."""
_LITTLE: Final = 64
"""Octets of a startup frame that are not counted while it waits for the peer's."""


class OrdinaryConnection:
    """One connection; who sends the SYN is the Initiator, and direction 0.

    :param reverse: the flow of direction 1.
    :param segment: the SYN.
    """

    __slots__ = (
        "closer",
        "frame",
        "identity",
        "lingers",
        "negotiating",
        "one",
        "other",
        "reset",
        "reverse",
        "time_ns",
        "times",
    )

    def __init__(
        self, identity: ConnectionId, reverse: bytes, shared: Shared, segment: Segment
    ) -> None:
        self.identity = identity
        self.reverse = reverse
        """The flow of direction 1; whoever keeps it keeps the same object."""
        self.frame = segment.frame
        """The frame that brought the last segment."""
        self.time_ns = segment.time_ns
        self.times = Timed(segment)
        self.negotiating: Negotiating | None = None
        """There is one from the Reply on, if the Request is of revision 2."""
        self.reset: Segment | None = None
        """The RST with which it ended."""
        self.closer: Closer | None = None
        """The first FIN."""
        self.lingers = False
        """For the use of who follows all connections: whether it is known to be over."""
        self.one = self._direction(shared, 0, segment)
        self.other: Direction | None = None
        """There is one from the SYN,ACK on."""

    def _direction(self, shared: Shared, index: int, syn: Segment) -> Direction:
        """Return a direction of which there is no more than its SYN, and that takes no octets."""
        begin = compact(first_position(syn.seq) + 1)
        direction = Direction(shared, self, index, None, shared.unread_shapes, begin, 0, syn.ack)
        direction.takes_no_octets = True
        direction.segments = 1
        return direction

    # -- in --------------------------------------------------------------------------------------

    def receive(self, segment: Segment) -> bool:
        """Take a segment with a SYN, FIN or RST; tell whether that is possible."""
        one, other = self.one, self.other
        if other is None:
            return self._take_answer(segment)
        direction, peer = (one, other) if segment.flow == self.identity.flow else (other, one)
        turn = segment.flags & NOT_PSH
        if segment.seq != direction.seq or segment.length or not self.is_settled:
            return False
        if turn == FIN | ACK:
            return self._take_fin(direction, segment)
        if turn not in (RST, RST | ACK):
            return False
        if turn != RST and 0 < (segment.ack - peer.seq) & SEQUENCE_MASK < SEQUENCE_HALF:
            # It acknowledges octets that were not captured.
            return False
        self.reset = segment
        self._note(direction, segment)
        return True

    def _note(self, direction: Direction, segment: Segment) -> None:
        """Take note of where a segment was captured."""
        direction.segments += 1
        self.frame = segment.frame
        self.time_ns = segment.time_ns

    def _take_answer(self, segment: Segment) -> bool:
        """Take the SYN,ACK."""
        one = self.one
        if (
            segment.flow != self.reverse
            or segment.flags & HANDSHAKE != SYN | ACK
            or segment.length
            or segment.ack != one.seq
        ):
            return False
        other = self.other = self._direction(one.shared, 1, segment)
        one.peer, other.peer = other, one
        # Not even the SYN is acknowledged yet.
        one.ack = segment.seq
        self.frame = segment.frame
        self.time_ns = segment.time_ns
        return True

    def take_octets(
        self, direction: Direction, seq: int, ack: int, octets: bytes, frame: int, time_ns: int
    ) -> bool:
        """Take octets of a direction that takes none: a startup frame if it is one, alone in its
        segment, and its turn (RFC 5044 7.1.2)."""
        index = direction.index
        if direction.startup:
            return not index and self._take_first(seq, ack, octets, frame, time_ns)
        found = usual_startup(octets)
        if found is None or found.startup.kind is not _KINDS[index]:
            return False
        both = agreed(self.one.startup, found.octets) if index else None
        # It acknowledges all that was captured of the peer.
        if seq != direction.seq or ack != direction.peer.seq or (index and both is None):
            return False
        direction.startup = found.octets
        direction.brought_by = frame
        self.identity.initiator = 0
        direction.shared.rows.append(
            StartupSeen(
                self.identity,
                index,
                frame,
                time_ns,
                seq,
                found.octets,
                (frame,),
                found.startup,
                found.dialect,
            )
        )
        direction.origin = compact(direction.origin + len(octets))
        direction.seq = sequence_number(direction.origin)
        if both is not None:
            self._enter_full_operation(both)
            self.times.end_startup(time_ns)
            return True
        self.times.begin_startup(time_ns)
        if len(octets) > _LITTLE:
            direction.hold(len(octets) + CHUNK_OVERHEAD)
        return True

    def _enter_full_operation(self, both: Agreed) -> None:
        """Have both directions carry FPDUs, now that there are both startup frames."""
        assert self.other is not None
        for direction in (self.one, self.other):
            shared, startup = direction.shared, direction.startup
            shared.recent.remember(direction, _begin(direction), startup, direction.brought_by)
            direction.brought_by = 0
            if direction.held:
                direction.hold(-direction.held)
            direction.shapes = shared.tables[both.kinds[direction.index]]
            # Without CRCs, the first FPDU is looked at more closely than here.
            direction.takes_no_octets = not direction.shapes.crc
        self.other.awaits = True
        request, reply = both.request, both.reply
        if request.startup.revision == 2:
            negotiating = self.negotiating = Negotiating()
            negotiating.take_startup(request.startup, Step.REQUEST, request.dialect)
            negotiating.take_startup(reply.startup, Step.ACCEPT, reply.dialect)
            self.one.takes_no_octets |= negotiating.is_open

    def _take_first(self, seq: int, ack: int, octets: bytes, frame: int, time_ns: int) -> bool:
        """Take the Initiator's first FPDU, if it may be an RTR indication (RFC 6581 9)."""
        negotiating, one = self.negotiating, self.one
        if negotiating is None or not negotiating.is_open or not one.shapes.crc:
            return False
        rows = one.shared.rows
        before = len(rows)
        one.takes_no_octets = False
        if not one.take(seq, ack, octets, frame, time_ns):
            one.takes_no_octets = True
            return False
        first = event_of(rows[before])
        assert isinstance(first, FPDURecovered)
        negotiating.take_fpdu(first)
        return True

    def acknowledge(self, segment: Segment) -> None:
        """Take a segment of which :meth:`is_late_word` holds."""
        direction = self.one if segment.flow == self.identity.flow else self.other
        assert direction is not None
        if direction.ack != segment.ack:
            if self.times.is_late(segment.time_ns):
                self.times.end_stall(segment.frame, segment.time_ns, direction.waiting)
            self.times.move(segment.time_ns)
        direction.ack = segment.ack
        self._note(direction, segment)

    def _take_fin(self, direction: Direction, segment: Segment) -> bool:
        """Take a FIN: it takes a sequence number, and no octets follow it."""
        waiting = direction.waiting if self.times.is_late(segment.time_ns) else 0
        if direction.takes_no_octets or not direction.receive(
            segment.seq, segment.ack, b"", segment.frame, segment.time_ns
        ):
            return False
        if waiting:
            self.times.end_stall(segment.frame, segment.time_ns, waiting)
        self.times.move(segment.time_ns)
        direction.is_closed = direction.takes_no_octets = True
        self.closer = self.closer or Closer(direction.index, segment.frame)
        direction.can_read_next = False
        direction.seq = sequence_number(segment.seq + 1)
        return True

    # -- how it stands ---------------------------------------------------------------------------

    @property
    def directions(self) -> tuple[Direction, ...]:
        """Direction 0, and direction 1 if it has begun."""
        return (self.one,) if self.other is None else (self.one, self.other)

    @property
    def is_settled(self) -> bool:
        """Whether both startup frames are there, and nothing is held or missing after them."""
        one, other = self.one, self.other
        if other is None or not other.startup:
            return False
        return not (
            one.pieces or one.ahead or one.tail or other.pieces or other.ahead or other.tail
        )

    @property
    def has_begun(self) -> bool:
        """Whether both startup frames are there."""
        return self.other is not None and bool(self.other.startup)

    @property
    def carries_fpdus(self) -> bool:
        """Whether its directions may have taken octets after the startup frames."""
        return self.one.shapes.crc and self.has_begun

    @property
    def is_captured(self) -> bool:
        """Whether both FINs were captured, so that nothing is to be expected but copies."""
        other = self.other
        return other is not None and self.one.is_closed and other.is_closed

    def carries_mpa(self, flow: bytes) -> bool:
        """Tell whether what a direction carries now is MPA: octets after its startup frame."""
        direction = self.one if flow == self.identity.flow else self.other
        return direction is not None and bool(direction.startup)

    @property
    def is_over(self) -> bool:
        """Whether nothing but late copies is to be expected."""
        return self.reset is not None or self.is_captured

    def is_late_word(self, segment: Segment) -> bool:
        """Tell whether a segment acknowledges the last FIN, or an earlier octet, and no more."""
        if self.other is None or self.reset is not None:
            return False
        is_one = segment.flow == self.identity.flow
        direction = self.one if is_one else self.other
        return (
            segment.flags & NOT_PSH == ACK
            and not segment.length
            and segment.seq == direction.seq
            and not direction.awaits
            and segment.ack in (direction.ack, direction.peer.seq)
        )

    def reach(self, flow: bytes) -> int | None:
        """Return the sequence number after the octets that were captured of a direction, if any
        were."""
        direction = self.one if flow == self.identity.flow else self.other
        return None if direction is None else direction.seq

    def spans(self) -> tuple[Span, Span]:
        """Return where the octets of direction 0 and direction 1 lie."""
        one, other = self.one, self.other
        assert other is not None
        return (_begin(one), one.position), (_begin(other), other.position)

    def tails(self) -> tuple[Tail, Tail]:
        """Return what is known of the last octets of direction 0 and direction 1."""
        one, other = self.one, self.other
        assert other is not None
        return _tail(one), _tail(other)

    def beginning(self) -> Iterator[Segment]:
        """Yield segments like those with which it has begun, and acknowledgements up to now."""
        for each in self.directions:
            syn = SYN | ACK if each.index else SYN
            yield self._made(each, syn, _begin(each) - 1, _begin(self.one))
        for each in self.directions:
            if each.startup:
                peers = self.one.origin if each.index else _begin(each.peer)
                yield self._made(each, PSH | ACK, _begin(each), peers, each.startup)
        for each in () if self.other is None else self.directions:
            if each.ack != sequence_number(_begin(each.peer) - 1):
                yield self._made(each, ACK, each.origin, each.ack)

    def _made(
        self, direction: Direction, flags: int, position: int, ack: int, octets: bytes = b""
    ) -> Segment:
        frame = direction.brought_by
        flow = self.reverse if direction.index else self.identity.flow
        seq, ack = sequence_number(position), sequence_number(ack)
        return Segment(flow, seq, ack, flags, octets, len(octets), frame, self.time_ns)

    # -- the end ---------------------------------------------------------------------------------

    def finish(self, reason: GapReason, ending: Ending | None = None) -> None:
        """Report that it ended; only while :attr:`is_settled`.

        :param reason: why holes will not be filled, of which there are none.
        :param ending: how it ended, if the connection itself does not know.
        """
        self.one.shared.rows.append(self.standing(ending))
        self.leave()

    def standing(self, ending: Ending | None = None) -> ConnectionEnded:
        """Return what would be reported if it ended now; only while :attr:`is_settled`.

        :param ending: how, if the connection itself does not know.
        """
        one, other = self.one, self.other
        assert other is not None
        both = agreed(one.startup, other.startup)
        assert both is not None
        initiator, responder = self.identity.endpoints
        ending = ending or self._ending()
        reset = self.reset
        return ConnectionEnded(
            connection=self.identity,
            direction=0,
            frame=self.frame,
            time_ns=self.time_ns,
            initiator=initiator,
            responder=responder,
            dialect=both.reply.dialect,
            revision=both.reply.startup.revision,
            crc=one.shapes.crc,
            rejected=False,
            halves=(_summary(one), _summary(other)),
            errors=0,
            ending=ending,
            rnics=both.rnics,
            negotiated=None if self.negotiating is None else self.negotiating.result(),
            end=end_of(
                ending,
                self.frame,
                names_of((initiator, responder), 0),
                reset=reset and Closer(int(reset.flow != self.identity.flow), reset.frame),
                closer=self.closer,
                within=[
                    each.index for each in self.directions if each.shape and not each.shape.last
                ],
            ),
            timing=self.times.timing(self.time_ns, one.waiting),
        )

    def _ending(self) -> Ending:
        """Return how it ended, by what was captured of it."""
        if self.is_captured:
            return "closed"
        if self.reset is not None:
            return "reset"
        is_half = any(each.is_closed for each in self.directions)
        return "half closed" if is_half else "capture ended"

    def leave(self) -> None:
        """Let go of the directions: all these refer to each other, and would stay until the
        collector comes."""
        if self.other is not None:
            del self.one.peer, self.other.peer
        del self.one, self.other


def _begin(direction: Direction) -> int:
    """Return the position of the first octet after the SYN."""
    return direction.origin - len(direction.startup)


def _tail(direction: Direction) -> Tail:
    octets = direction.shared.recent.last_of(direction, direction.position)
    return len(octets), crc32c(octets)


def _summary(direction: Direction) -> HalfSummary:
    return HalfSummary(
        direction.shapes.marked,
        direction.fpdus,
        len(direction.startup) + direction.offset,
        0,
        0,
        direction.early,
        direction.copies,
        direction.farthest,
        retransmitted_octets=direction.copied,
    )
