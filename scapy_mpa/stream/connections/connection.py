# SPDX-License-Identifier: GPL-2.0-or-later
"""A TCP connection in recovery: passes segments to its two directions, and reports its end."""

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
from scapy_mpa.stream.halves.extent import is_complete, is_within_message, may_reset, span, waits
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.halves.other import OtherFraming
from scapy_mpa.stream.halves.phase import Phase
from scapy_mpa.stream.halves.shared import Shared
from scapy_mpa.stream.halves.streaming import Streaming, is_unknown
from scapy_mpa.stream.inference.hypothesis import Inferred
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.stream.octets.scan import FoundStartup, startup_at
from scapy_mpa.stream.segment import Segment, reverse_flow
from scapy_mpa.stream.startup import beginnings, breaches, order
from scapy_mpa.stream.startup.breaches import Breach
from scapy_mpa.stream.startup.startup_phase import StartupPhase
from scapy_mpa.stream.startup.steps import StartupState, Step
from scapy_mpa.stream.timed import Timed
from scapy_mpa.wire.ddp import UNTAGGED_LENGTH
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import ErrorCode
from scapy_mpa.wire.tcp import ACK, HANDSHAKE, RST
from scapy_mpa.wire.terminate import is_terminate


class Connection:
    """One TCP connection, from its first captured segment to its end.

    :param identity: number and flow.
    :param common: what all connections have in common.
    :param segment: its first segment, which :meth:`receive` has not taken yet.
    :param dialect: the dialect that the user has given, if any.
    """

    def __init__(
        self,
        identity: ConnectionId,
        shared: Shared,
        segment: Segment,
        dialect: Dialect | None = None,
    ) -> None:
        self.identity = identity
        self.shared = shared
        self.times = Timed(segment)
        self.reverse = reverse_flow(identity.flow)
        """The flow of direction 1.  All tables share this object."""
        self.halves = HalfConnection(0, self), HalfConnection(1, self)
        for half in self.halves:
            half.reader = Streaming(half)
        self.segments = 0
        self.startup = StartupPhase(self.halves, dialect)
        self.other: OtherFraming | None = None
        """The framing other than MPA's that it may use; None before any sign of one."""
        self.errors = 0
        """Errors reported so far."""
        self.failed = False
        """Whether a fault of this program has ended the reading (:meth:`fail`)."""
        self.reset: Reset | None = None
        """The RST that may have ended the connection."""
        self.closer: Closer | None = None
        """The first FIN."""
        self.terminated: Closer | None = None
        """The first Terminate."""
        self.rejected_in = 0
        """The frame that completed the last rejecting Reply."""
        self.met_key: tuple[HalfConnection, int] | None = None
        """Direction and position of a startup frame found where an FPDU must begin."""
        self.is_ordinary = False
        """Whether the straight path follows it (:mod:`~scapy_mpa.stream.handover`)."""
        self.lingers = False
        """Whether the connection table keeps it only for late copies.  Set by that table."""

    # -- in ----------------------------------------------------------------------------------

    def half(self, flow: bytes) -> HalfConnection:
        """Return the direction of a flow.

        A connection from an endpoint to itself has one flow.  It counts as direction 0.
        """
        first, second = self.halves
        return first if flow == self.identity.flow else second

    def receive(self, segment: Segment) -> None:
        """Take a segment of this connection."""
        self.segments += 1
        self.times.note_segment(segment)
        if self.failed:
            return
        flags = segment.flags
        half = self.half(segment.flow)
        direction, peer = half.direction, half.peer
        stalled = self.unacknowledged if self.times.is_late(segment.time_ns) else 0
        progress = [one.progress for one in self.halves]
        if flags & ACK and not flags & RST:
            peer.acknowledge(segment.ack)
        if flags & RST and may_reset(half, segment) and not self._is_reset:
            self.reset = Reset(half, segment)
        startup = self.startup
        self.shared.current = segment
        intake.receive(half, segment)
        if peer.islands.after_open_hole() is not None:
            # Acknowledgements alone close a hole, too.
            holes.check(peer)
            peer.budget.update(peer)
        if self.times.is_opening:
            if not direction and flags & HANDSHAKE == ACK:
                self.times.end_handshake(segment.time_ns)
        elif [one.progress for one in self.halves] != progress:
            self.times.note_progress(segment.frame, segment.time_ns, stalled)
        if self.closer is None and half.fin is not None:
            self.closer = Closer(direction, segment.frame)
        if self.reset is not None and not flags & RST and self.reset.is_dropped(segment, direction):
            self.reset = None
        startup.look_after_end(half)
        if startup.waits_until:
            order.resume(startup, self.segments)
        while self.met_key is not None:
            self._read_key(*self.met_key)
        if startup.state is StartupState.ACCEPTED:
            startup.find_rtr(final=False)
        self.shared.current = None
        if flags & RST:
            # Octets of a RST explain it, and are not part of the stream (RFC 9293 3.5.3).
            # Rules 3 and 4 are about octets of the stream.
            return
        if startup.is_waiting and segment.length and direction == startup.initiator:
            self.report(breaches.of_early_initiator(startup, segment))

    def fail(self, error: Exception, segment: Segment | None = None) -> None:
        """Report a fault of this program, and read this connection no further.

        Other connections of the capture go on.

        :param segment: the segment of this connection that led to the fault, None if none did.
        """
        if self.failed:
            return
        self.failed = True
        half, position = self.halves[0], 0
        if segment is not None:
            self.shared.current = None
            half, position = self.half(segment.flow), segment.seq
        text = f"a fault of scapy-mpa ends what is read of this connection: {error!r}"
        half.wrong(None, position, text)
        for each in self.halves:
            transitions.abandon(each)

    def carries_mpa(self, flow: bytes) -> bool:
        """True if a direction is past its startup frame and carries FPDUs."""
        return self.half(flow).phase is not Phase.STREAMING

    def take_octets(self, *_: object) -> bool:
        """Take nothing: the straight path refuses octets of a connection from recovery."""
        return False

    @property
    def unacknowledged(self) -> int:
        """The directions with unacknowledged octets, as bits: 1 << direction."""
        return sum(1 << half.direction for half in self.halves if waits(half))

    @property
    def was_reset(self) -> bool:
        """Whether a RST was captured, and no later segment shows that its receiver dropped it."""
        return self.reset is not None

    @property
    def _is_reset(self) -> bool:
        return self.reset is not None and self.reset.is_expected

    @property
    def is_over(self) -> bool:
        """Whether it has ended, so that only late copies can follow."""
        if self._is_reset:
            return True
        first, second = self.halves
        # Every segment asks this, and most come before any FIN.
        return first.fin is not None and is_complete(first) and is_complete(second)

    def finish(self, reason: GapReason, ending: Ending | None = None) -> None:
        """Report all that is left, now that no more segments come.

        :param reason: why holes stay open.
        :param ending: how the connection ended, None if its own segments show it.
        """
        if not self.failed:
            try:
                _conclude(self, reason, ending)
                return
            except Exception as error:
                self.fail(error)
        _leave(self, "failed")

    def relieve(self, half: HalfConnection) -> None:
        """Make a half connection hold fewer octets, if it can."""
        if not self.is_ordinary:
            try:
                holes.relieve(half)
            except Exception as error:
                # Another connection needs the memory, and must not fail with this one.
                self.fail(error)

    # -- what the halves report ----------------------------------------------------------------

    def on_startup(self, half: HalfConnection, island: Island, found: FoundStartup) -> None:
        """Take a startup frame, report it, and read on after it (RFC 5044 7.1.2)."""
        frames = island.frames(found.position, found.position + len(found.octets))
        taken = self.startup.take(half, found)
        if taken is None:
            return
        step, again = taken
        # A frame that reaches into a hole counts, but it is not reported: its content is unknown.
        has_hole = found.lacking > 0 and span(half)[1] > found.end - found.lacking
        self.report_streaming(half, found.position)
        if not has_hole:
            self._report_startup(half, found, frames)
            for breach in breaches.of_frame(self.startup, half, found, step):
                self.report(breach)
        time_ns = self.times.time_ns if self.times.frame in frames else None
        if step is Step.ACCEPT:
            self.times.end_startup(time_ns)
        elif step in (Step.REQUEST, Step.REQUEST_AGAIN):
            self.times.begin_startup(time_ns)
        if step is Step.REJECT:
            self.rejected_in = max(frames)
        self.startup.go_on(half, found, step, again=again)

    def _report_startup(
        self, half: HalfConnection, found: FoundStartup, frames: tuple[int, ...]
    ) -> None:
        """Report a startup frame."""
        self.identity.note_startup(half.direction, found.startup.kind)
        self.shared.rows.append(
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
        """Report the held octets of streaming mode that were not reported yet.

        :param upto: position after the last of them; None for all.
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
            self.shared.rows.append(
                StreamingSeen(
                    *half.head(start),
                    length=end - start,
                    octets=island.read(start, island.captured_until(start, end)),
                    frames=island.frames(start, end),
                )
            )

    def on_fpdu(self, half: HalfConnection, event: FPDURecovered, ulpdu: bytes) -> None:
        """Report an FPDU, and note a Terminate or an RTR indication in it.

        :param ulpdu: its ULPDU; empty if a receiver does not accept the FPDU.
        """
        startup = self.startup
        if half.direction == startup.initiator and startup.negotiating is not None:
            startup.negotiating.take_fpdu(event)
        self.shared.rows.append(event)
        ends = len(ulpdu) >= UNTAGGED_LENGTH and is_terminate(ulpdu)
        if startup.is_silent and half.direction != startup.initiator:
            self._hear(event, ends=ends)
        if self.terminated is None and ends:
            by_responder = startup.initiator == 1 - half.direction
            frame = max(event.frames)
            self.terminated = closer_of(half, ulpdu, frame, by_responder=by_responder)

    def _hear(self, event: FPDURecovered, *, ends: bool) -> None:
        """Take the first FPDU of the Responder.

        :param ends: whether it is a Terminate.
        """
        startup = self.startup
        breach = breaches.of_early_responder(startup, event.acknowledged, ends=ends)
        if breach is not None and startup.negotiating is not None:
            startup.negotiating.take_breach(breach.text)
        self.report(breach)

    def report(self, breach: Breach | None) -> None:
        """Report a broken rule of startup, if there is one."""
        if breach is not None:
            breach.half.wrong(breach.code, breach.position, breach.text)

    def _read_key(self, half: HalfConnection, position: int) -> None:
        """Return to streaming mode at a startup frame found where an FPDU must begin.

        If no new startup begins there, FPDUs go on after the frame.
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
            # All octets before the frame are finished, and so are the Keys in them.
            self.met_key = None
            transitions.leave_full_operation(half, position, found.end)
        self.on_startup(half, island, found)
        if is_first:
            text = "FPDUs before a Request (RFC 5044 7.1.2 rule 1)"
            half.wrong(ErrorCode.INVALID_STARTUP_FRAME, position, text)
        if goes_on:
            # FPDUs after the frame were found already, or may follow octets still to be captured.
            framing.pass_over(island, position, found.end)
            half.advance(island)
        elif half.phase is Phase.STREAMING:
            carried = Inferred(found.end, framing.markers, framing.crc)
            transitions.enter_full_operation(half, carried, dialect=framing.dialect)

    def must_wait(self, half: HalfConnection, island: Island, found: FoundStartup) -> bool:
        """True if a startup frame must wait for frames that were sent before it."""
        return order.must_wait(self.startup, half, island, found)

    def reads_before(self, half: HalfConnection, island: Island, found: FoundStartup) -> bool:
        """Read the FPDUs before a startup frame in streaming mode; return whether there are any."""
        return self.startup.read_before(half, island, found)

    def on_refuted(self, half: HalfConnection) -> None:
        """Forget a startup frame that turned out to be payload."""
        self.startup.refute(half)

    def ends_startup(self, half: HalfConnection, position: int) -> bool:
        """True if the last startup frame of a direction ends at a position."""
        return self.startup.ends_at(half.direction, position)

    def on_unknown(self, half: HalfConnection, *, must_decide: bool, at_once: bool) -> None:
        """Find out what a direction without captured startup frames carries.

        :param must_decide: decide as if no more octets came.  Many held octets, or lack of memory,
            also force this, so it may happen more than once.
        :param at_once: a decision cannot wait for the next segment.
        """
        if must_decide:
            order.wait_no_more(self.startup)
        if self.other is None:
            beginnings.look(self.startup, half, must_decide=must_decide, at_once=at_once)

    def standing(self) -> ConnectionEnded:
        """Return the report on the whole connection as if it ended now."""
        return _ended(self, "failed" if self.failed else _ending_of(self))


def _conclude(connection: Connection, reason: GapReason, ending: Ending | None) -> None:
    """Report all that is left of a connection, and take it apart.

    :param reason: why holes stay open.
    :param ending: how the connection ended, None if its own segments show it.
    """
    first, second = connection.halves
    other_framing = connection.other
    ending = ending or _ending_of(connection)
    if other_framing is None:
        _conclude_startup(connection)
        initiator = connection.startup.initiator
    else:
        other_framing.conclude()
        initiator = other_framing.initiator
    if connection.reset is not None:
        connection.reset.acknowledge()
    for half in (second, first) if initiator else (first, second):
        if other_framing is None and initiator is not None:
            connection.report_streaming(half)
        holes.finish(half, reason)
    _leave(connection, ending)


def _leave(connection: Connection, ending: Ending) -> None:
    """Report that a connection ended, and take it apart."""
    connection.shared.rows.append(_ended(connection, ending))
    for half in connection.halves:
        half.leave()


def _conclude_startup(connection: Connection) -> None:
    """Decide finally what the directions carry, and report what the startup lacked."""
    startup = connection.startup
    order.wait_no_more(startup)
    if startup.state is StartupState.ACCEPTED:
        startup.find_rtr(final=True)
    if any(map(is_unknown, connection.halves)):
        beginnings.conclude(startup)
    if not connection.errors:
        connection.report(breaches.of_beginning(startup))
        how = _how_it_ended(connection)
        connection.report(breaches.of_silence(startup, how))
        connection.report(breaches.of_part(startup, how))


def _how_it_ended(connection: Connection) -> str | None:
    """Return "reset" or "closed"; None if no end of the connection was captured."""
    return {"reset": "reset", "capture ended": None}.get(_ending_of(connection), "closed")


def _ending_of(connection: Connection) -> Ending:
    """Return how a connection ended, as its captured segments show.

    A RST after both FINs resets nothing (RFC 9293 3.10.7.4), unless octets were still missing at
    the receiver.
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
    """Return the report on a whole connection."""
    startup, other_framing = connection.startup, connection.other
    initiator, last = startup.initiator, startup.last
    if other_framing is not None:
        initiator, last = other_framing.initiator, None
    first, second = connection.halves
    times, endpoints = connection.times, connection.identity.endpoints
    is_rejected = startup.state is StartupState.REJECTED
    return ConnectionEnded(
        connection=connection.identity,
        direction=initiator or 0,
        frame=times.frame,
        time_ns=times.time_ns,
        initiator=None if initiator is None else endpoints[initiator],
        responder=None if initiator is None else endpoints[1 - initiator],
        dialect=startup.dialect if other_framing is None else other_framing.dialect,
        revision=None if last is None else last.revision,
        crc=startup.uses_crc if other_framing is None else None,
        rejected=is_rejected,
        halves=(first.summary(), second.summary()),
        errors=connection.errors,
        ending=ending,
        rnics=startup.rnics,
        negotiated=None if startup.negotiating is None else startup.negotiating.result(),
        end=end_of(
            ending,
            times.frame,
            names_of(endpoints, initiator),
            terminated=connection.terminated,
            rejected=connection.rejected_in if is_rejected else None,
            reset=None if connection.reset is None else connection.reset.closer,
            closer=connection.closer,
            within=[half.direction for half in connection.halves if is_within_message(half)],
        ),
        timing=times.timing(connection.unacknowledged),
    )
