# SPDX-License-Identifier: GPL-2.0-or-later
"""A TCP connection: a segment to its direction, and what the two half connections ask of it."""

from __future__ import annotations

from scapy_mpa.stream.connections.reset import Reset
from scapy_mpa.stream.connections.terminated import closer_of
from scapy_mpa.stream.events import (
    Closer,
    ConnectionEnded,
    ConnectionId,
    Ending,
    FPDURecovered,
    GapReason,
    StartupSeen,
    StreamingSeen,
    end_of,
    names_of,
)
from scapy_mpa.stream.fpdus.framing import Framing
from scapy_mpa.stream.halves import holes, intake, transitions
from scapy_mpa.stream.halves.common import Common
from scapy_mpa.stream.halves.extent import (
    is_captured,
    is_complete,
    is_within_message,
    may_reset,
    span,
    tail,
    waits,
)
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.halves.other import OtherFraming
from scapy_mpa.stream.halves.phase import Phase
from scapy_mpa.stream.halves.streaming import Streaming, is_unknown
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.stream.octets.past import Span, Tail
from scapy_mpa.stream.octets.scan import FoundStartup, startup_at
from scapy_mpa.stream.segment import ACK, HANDSHAKE, RST, Segment, reverse_flow
from scapy_mpa.stream.sequence import sequence_number, unwrap
from scapy_mpa.stream.startup import beginnings, breaches, order, rtr
from scapy_mpa.stream.startup.breaches import Breach
from scapy_mpa.stream.startup.startup_phase import StartupPhase
from scapy_mpa.stream.startup.steps import StartupState, Step
from scapy_mpa.stream.timed import Timed
from scapy_mpa.wire.ddp import UNTAGGED_LENGTH
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import ErrorCode
from scapy_mpa.wire.terminate import is_terminate


class Connection:
    """One TCP connection, from its first captured segment to its end.

    :param identity: number and flow.
    :param common: what all connections have in common.
    :param segment: its first one, which is yet to be received.
    :param dialect: what the user says is spoken.
    """

    __slots__ = (
        "closer",
        "common",
        "errors",
        "failed",
        "frame",
        "halves",
        "hasty",
        "identity",
        "is_ordinary",
        "lingers",
        "met_key",
        "other",
        "rejected_in",
        "reset",
        "resume_at",
        "reverse",
        "segments",
        "startup",
        "terminated",
        "time_ns",
        "times",
    )

    def __init__(
        self,
        identity: ConnectionId,
        common: Common,
        segment: Segment,
        dialect: Dialect | None = None,
    ) -> None:
        self.identity = identity
        self.common = common
        self.frame = segment.frame
        """The frame that brought the last segment, which has shown what is found now."""
        self.time_ns = segment.time_ns
        self.times = Timed(segment)
        self.reverse = reverse_flow(identity.flow)
        """The flow of direction 1; whoever keeps it keeps the same object."""
        self.halves = HalfConnection(0, self), HalfConnection(1, self)
        for half in self.halves:
            half.reader = Streaming(half)
        self.segments = 0
        self.startup = StartupPhase(self.halves, dialect)
        self.other: OtherFraming | None = None
        """What is known of another framing, once something of it was seen."""
        self.errors = 0
        """Errors reported so far."""
        self.failed = False
        """Whether a fault of this program keeps it from being followed (:meth:`fail`)."""
        self.reset: Reset | None = None
        """The RST with which it may have ended."""
        self.closer: Closer | None = None
        """The first FIN."""
        self.terminated: Closer | None = None
        """The first Terminate."""
        self.rejected_in = 0
        """The frame that completed the last Reply that rejects."""
        self.met_key: tuple[HalfConnection, int] | None = None
        """Where a startup frame stands that was met where an FPDU must begin."""
        self.is_ordinary = False
        """Whether the straight path has it (:mod:`~scapy_mpa.stream.handover`)."""
        self.hasty = 0
        """Times in a row that the straight path had it and took few segments."""
        self.resume_at = 0
        """Segments before the next time."""
        self.lingers = False
        """For the use of who follows all connections: whether it is known to be over."""

    # -- in ----------------------------------------------------------------------------------

    def half(self, flow: bytes) -> HalfConnection:
        """Return the direction that a flow is."""
        return self.pair(flow)[0]

    def pair(self, flow: bytes) -> tuple[HalfConnection, HalfConnection]:
        """Return the direction that a flow is, and the other one.

        A connection from an endpoint to itself has one flow for both: that is direction 0.
        """
        one, other = self.halves
        return (one, other) if flow == self.identity.flow else (other, one)

    def receive(self, segment: Segment) -> None:
        """Take a segment of this connection."""
        self.segments += 1
        self.frame = segment.frame
        self.time_ns = segment.time_ns
        if self.failed:
            return
        flags = segment.flags
        direction = 0 if segment.flow == self.identity.flow else 1
        half, peer = self.halves[direction], self.halves[1 - direction]
        waiting = self.waiting if self.times.is_late(segment.time_ns) else 0
        progress = [each.progress for each in self.halves]
        had_fin = half.fin is not None
        if flags & ACK and not flags & RST:
            peer.acknowledge(segment.ack)
        if flags & RST and may_reset(half, peer, segment) and not self._is_reset:
            self.reset = Reset(half, peer, segment)
        startup = self.startup
        self.common.current = segment
        intake.receive(half, segment)
        if self.times.is_opening:
            if not direction and flags & HANDSHAKE == ACK:
                self.times.end_handshake(segment.time_ns)
        elif [each.progress for each in self.halves] != progress:
            if waiting:
                self.times.end_stall(segment.frame, segment.time_ns, waiting)
            self.times.move(segment.time_ns)
        if not had_fin and half.fin is not None and self._closes(half, peer, segment):
            self.closer = Closer(direction, segment.frame)
        if self.reset is not None and not flags & RST and self.reset.is_dropped(segment, direction):
            self.reset = None
        startup.look_after_end(half)
        if startup.waits_until:
            order.resume(startup, self.segments)
        while self.met_key is not None:
            self._read_key(*self.met_key)
        if startup.state is StartupState.ACCEPTED:
            rtr.find(startup, final=False)
        self.common.current = None
        if startup.is_waiting and segment.length and direction == startup.initiator:
            self.report(breaches.speak(startup, segment))
        if startup.is_silent and direction != startup.initiator:
            self.hear(segment)

    def _closes(self, half: HalfConnection, peer: HalfConnection, segment: Segment) -> bool:
        """Tell whether a FIN is the first of the two, whichever was captured first."""
        if peer.fin is None or half.fin is None or self.closer is None:
            return self.closer is None
        # The other one has acknowledged it, so this one has not acknowledged the other one.
        was_first = half.acknowledged is not None and half.acknowledged > half.fin
        return was_first and unwrap(segment.ack, peer.fin) <= peer.fin

    def fail(self, error: Exception, segment: Segment | None = None) -> None:
        """Report a fault of this program, and follow this connection no further.

        The other connections of the capture must not pay for it.

        :param segment: the one that led to it, None if none of this connection did.
        """
        if self.failed:
            return
        self.failed = True
        half, position = self.halves[0], 0
        if segment is not None:
            self.common.current = None
            half, position = self.half(segment.flow), segment.seq
        text = f"a fault of scapy-mpa ends what is read of this connection: {error!r}"
        half.wrong(None, position, text)
        for each in self.halves:
            transitions.abandon(each)

    def hear(self, segment: Segment) -> None:
        """See whether the Responder speaks too early, with a segment that was taken already."""
        startup = self.startup
        breach = breaches.hear(startup, segment)
        self.report(breach)
        if breach is not None and startup.negotiating is not None:
            startup.negotiating.take_breach(breach.text)

    def carries_mpa(self, flow: bytes) -> bool:
        """Tell whether what a direction carries now is MPA: octets after its startup frame."""
        return self.half(flow).phase is not Phase.STREAMING

    def take_octets(self, *_: object) -> bool:
        """Take no octets: of a connection that was in recovery, the straight path refuses them."""
        return False

    def reach(self, flow: bytes) -> int | None:
        """Return the sequence number after the octets that were captured of a direction, if any
        were."""
        _, end = span(self.half(flow))
        return sequence_number(end) if end else None

    def spans(self) -> tuple[Span, Span]:
        """Return where the octets of direction 0 and direction 1 lie."""
        return span(self.halves[0]), span(self.halves[1])

    def tails(self) -> tuple[Tail, Tail]:
        """Return what is known of the last octets of direction 0 and direction 1."""
        return tail(self.halves[0]), tail(self.halves[1])

    @property
    def waiting(self) -> int:
        """Which directions have octets that were not acknowledged: 1 << direction, or both."""
        return sum(1 << half.direction for half in self.halves if waits(half))

    @property
    def was_reset(self) -> bool:
        """Whether a RST was captured, and nothing after it shows that its receiver dropped it."""
        return self.reset is not None

    @property
    def _is_reset(self) -> bool:
        return self.reset is not None and self.reset.is_expected

    @property
    def is_over(self) -> bool:
        """Whether nothing but late copies is to be expected."""
        if self._is_reset:
            return True
        one, other = self.halves
        # Asked of each segment: most come before any FIN.
        return one.fin is not None and is_complete(one) and is_complete(other)

    @property
    def is_captured(self) -> bool:
        """Whether all of it was captured, so that nothing of it is to be expected but copies."""
        return all(map(is_captured, self.halves))

    def finish(self, reason: GapReason, ending: Ending | None = None) -> None:
        """Report what can be said now that nothing more will come.

        :param reason: why holes will not be filled.
        :param ending: how the connection ended, if the connection itself does not know.
        """
        if not self.failed:
            try:
                _conclude(self, reason, ending)
                return
            except Exception as error:
                self.fail(error)
        _leave(self, "failed")

    def relieve(self, half: HalfConnection) -> None:
        """Have a half connection hold fewer octets, if that is possible."""
        if not self.is_ordinary:
            try:
                holes.relieve(half)
            except Exception as error:
                # Another connection needs the room, and must not pay for a fault in this one.
                self.fail(error)

    # -- what the halves report ----------------------------------------------------------------

    def on_startup(self, half: HalfConnection, island: Island, found: FoundStartup) -> None:
        """Take a startup frame, pass it on, and go on after it (RFC 5044 7.1.2)."""
        frames = island.frames(found.position, found.position + len(found.octets))
        taken = self.startup.take(half, found)
        if taken is None:
            return
        what, again = taken
        # Of one that reaches into a hole nobody knows what it says, but it is known to be there.
        has_hole = found.lacking > 0 and span(half)[1] > found.end - found.lacking
        self.report_streaming(half, found.position)
        if not has_hole:
            self._report_startup(half, found, frames)
            for breach in breaches.of_frame(self.startup, half, found, what):
                self.report(breach)
        time_ns = self.time_ns if self.frame in frames else None
        if what is Step.ACCEPT:
            self.times.end_startup(time_ns)
        elif what in (Step.REQUEST, Step.REQUEST_AGAIN):
            self.times.begin_startup(time_ns)
        if what is Step.REJECT:
            self.rejected_in = max(frames)
        self.startup.go_on(half, found, what, again=again)

    def _report_startup(
        self, half: HalfConnection, found: FoundStartup, frames: tuple[int, ...]
    ) -> None:
        """Report a startup frame."""
        self.identity.note_startup(half.direction, found.startup.kind)
        self.common.emit(
            StartupSeen(
                *half.head(found.position),
                octets=found.octets,
                frames=frames,
                startup=found.startup,
                dialect=self.startup.dialect_of(found.startup),
                lacking=found.lacking,
            )
        )

    def report_streaming(self, half: HalfConnection, upto: int | None = None) -> None:
        """Report the octets of streaming mode that are held and were not reported.

        :param upto: position before which they lie; None: they lie before nothing.
        """
        if half.phase is Phase.FULL or half.phase is Phase.OTHER:
            return
        done = max(half.streamed, self.startup.origins[half.direction])
        for island in half.islands.items:
            start = max(island.held, done)
            end = island.end if upto is None else min(upto, island.end)
            if start >= end:
                continue
            half.streamed = end
            self.common.emit(
                StreamingSeen(
                    *half.head(start),
                    length=end - start,
                    octets=island.read(start, island.captured_until(start, end)),
                    frames=island.frames(start, end),
                )
            )

    def on_fpdu(self, half: HalfConnection, event: FPDURecovered, ulpdu: bytes) -> None:
        """Report an FPDU, and see what it says of the connection.

        :param ulpdu: as far as a receiver takes it for what it is.
        """
        startup = self.startup
        if half.direction == startup.initiator and startup.negotiating is not None:
            startup.negotiating.take_fpdu(event)
        self.common.emit(event)
        if self.terminated is None and len(ulpdu) >= UNTAGGED_LENGTH and is_terminate(ulpdu):
            by_responder = startup.initiator == 1 - half.direction
            self.terminated = closer_of(half, ulpdu, by_responder=by_responder)

    def report(self, breach: Breach | None) -> None:
        """Report what breaks a rule of startup."""
        if breach is not None:
            breach.half.wrong(breach.code, breach.position, breach.text)

    def _read_key(self, half: HalfConnection, position: int) -> None:
        """Go back to streaming mode at a startup frame that stands where an FPDU must begin.

        If it begins no startup, FPDUs go on after it as before.
        """
        self.met_key = None
        framing, island = half.reader, half.islands.at(position)
        if not isinstance(framing, Framing) or island is None:
            return
        found = startup_at(island, position)
        if found is None:
            return
        is_first = self.startup.state is StartupState.IDLE
        items = half.islands.items
        goes_on = island.open_left or any(run.start > position for one in items for run in one.runs)
        if not goes_on:
            while items[0] is not island:
                holes.give_up(half, "acknowledged")
            # What was captured before the frame is done with, Keys in it, too.
            self.met_key = None
            transitions.leave_full_operation(half, position, found.end)
        self.on_startup(half, island, found)
        if is_first:
            text = "FPDUs before a Request (RFC 5044 7.1.2 rule 1)"
            half.wrong(ErrorCode.INVALID_STARTUP_FRAME, position, text)
        if goes_on:
            # FPDUs that follow it were found before, or may follow others yet to be captured.
            framing.pass_over(island, position, found.end)
            half.advance(island)
        elif half.phase is Phase.STREAMING:
            transitions.enter_full_operation(
                half,
                found.end,
                markers=bool(framing.markers),
                crc=framing.crc,
                dialect=framing.dialect,
            )

    def must_wait(self, half: HalfConnection, island: Island, found: FoundStartup) -> bool:
        """Tell whether a startup frame must wait for what was sent before it."""
        return order.must_wait(self.startup, half, island, found)

    def reads_before(self, half: HalfConnection, island: Island, found: FoundStartup) -> bool:
        """Read FPDUs before a startup frame in streaming mode; tell whether there are some."""
        return self.startup.read_before(half, island, found)

    def on_refuted(self, half: HalfConnection) -> None:
        """Forget a startup frame that was part of a payload."""
        self.startup.refute(half)

    def ends_startup(self, half: HalfConnection, position: int) -> bool:
        """Tell whether the last startup frame of a direction ends at a position."""
        return self.startup.ends_at(half.direction, position)

    def on_unknown(self, half: HalfConnection, *, must_decide: bool) -> None:
        """Find out what a direction carries whose startup frames were not captured.

        :param must_decide: with what is there, as if nothing more came.  May be asked for more than
            once: also where octets have become many, or memory short.
        """
        if must_decide:
            order.wait_no_more(self.startup)
        if self.spoken is None:
            find_out = beginnings.decide if must_decide else beginnings.look
            find_out(self.startup, half)

    def standing(self) -> ConnectionEnded:
        """Return what would be reported of it as a whole if it ended now."""
        return _ended(self, "failed" if self.failed else _ending_of(self))

    @property
    def spoken(self) -> OtherFraming | None:
        """What is known of the other framing that it speaks, None if it speaks none."""
        return self.other if self.other is not None and self.other.is_begun else None


def _conclude(connection: Connection, reason: GapReason, ending: Ending | None) -> None:
    """Report what is still to be said of a connection, and let go of what it consists of.

    :param reason: why holes will not be filled.
    :param ending: how the connection ended, if the connection itself does not know.
    """
    one, other = connection.halves
    other_framing = connection.spoken
    ending = ending or _ending_of(connection)
    if other_framing is None:
        _conclude_startup(connection)
        initiator = connection.startup.initiator
    else:
        other_framing.conclude(_how_it_ended(connection))
        initiator = other_framing.initiator
    if connection.reset is not None:
        connection.reset.acknowledge()
    for half in (other, one) if initiator else (one, other):
        if other_framing is None and initiator is not None:
            connection.report_streaming(half)
        holes.finish(half, reason)
    _leave(connection, ending)


def _leave(connection: Connection, ending: Ending) -> None:
    """Report that a connection ended, and let go of what it consists of."""
    connection.common.emit(_ended(connection, ending))
    for half in connection.halves:
        half.leave()


def _conclude_startup(connection: Connection) -> None:
    """Find out, for the last time, what MPA carried, and what its startup lacked."""
    startup = connection.startup
    order.wait_no_more(startup)
    if startup.state is StartupState.ACCEPTED:
        rtr.find(startup, final=True)
    if any(map(is_unknown, connection.halves)):
        beginnings.conclude(startup)
    if not connection.errors:
        connection.report(breaches.of_beginning(startup))
        how = _how_it_ended(connection)
        connection.report(breaches.of_silence(startup, how))
        connection.report(breaches.of_part(startup, how))


def _how_it_ended(connection: Connection) -> str | None:
    """Return how a connection ended, as a word; None if that was not captured."""
    return {"reset": "reset", "capture ended": None}.get(_ending_of(connection), "closed")


def _ending_of(connection: Connection) -> Ending:
    """Return how a connection ended, by what was captured of it.

    After both FINs a RST resets nothing (RFC 9293 3.10.7.4), unless octets had not arrived.
    """
    reset, halves = connection.reset, connection.halves
    closed = [half.fin is not None for half in halves]
    if all(closed):
        lacks = any((half.acknowledged or 0) < (half.fin or 0) for half in halves)
        return "reset" if lacks and reset is not None and reset.is_expected else "closed"
    if reset is not None:
        return "reset"
    return "half closed" if any(closed) else "capture ended"


def _ended(connection: Connection, ending: Ending) -> ConnectionEnded:
    """Return what is reported of a connection as a whole."""
    startup, spoken = connection.startup, connection.spoken
    initiator, last = startup.initiator, startup.last
    if spoken is not None:
        initiator, last = spoken.initiator, None
    one, other = connection.halves
    endpoints = connection.identity.endpoints
    is_rejected = startup.state is StartupState.REJECTED
    return ConnectionEnded(
        connection=connection.identity,
        direction=initiator or 0,
        frame=connection.frame,
        time_ns=connection.time_ns,
        initiator=None if initiator is None else endpoints[initiator],
        responder=None if initiator is None else endpoints[1 - initiator],
        dialect=startup.dialect if spoken is None else spoken.dialect,
        revision=None if last is None else last.revision,
        crc=startup.uses_crc if spoken is None else None,
        rejected=is_rejected,
        halves=(one.summary(), other.summary()),
        errors=connection.errors,
        ending=ending,
        rnics=startup.rnics,
        negotiated=None if startup.negotiating is None else startup.negotiating.result(),
        end=end_of(
            ending,
            connection.frame,
            names_of(endpoints, initiator),
            terminated=connection.terminated,
            rejected=connection.rejected_in if is_rejected else None,
            reset=None if connection.reset is None else connection.reset.closer,
            closer=connection.closer,
            within=[half.direction for half in connection.halves if is_within_message(half)],
        ),
        timing=connection.times.timing(connection.time_ns, connection.waiting),
    )
