# SPDX-License-Identifier: GPL-2.0-or-later
"""A TCP connection: two half connections, and what their startup frames agree on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from scapy_mpa.stream.budget import Budget
from scapy_mpa.stream.candidate import Candidate
from scapy_mpa.stream.events import (
    ConnectionEnded,
    ConnectionId,
    Ending,
    ErrorFound,
    Event,
    FPDURecovered,
    GapFound,
    GapReason,
    LocatedBy,
    OverlapDiffers,
    StartupSeen,
)
from scapy_mpa.stream.half import HalfConnection
from scapy_mpa.stream.inference import Known
from scapy_mpa.stream.island import Island
from scapy_mpa.stream.moments import Moments
from scapy_mpa.stream.overlap import RecentOctets
from scapy_mpa.stream.past import Span
from scapy_mpa.stream.phase import Phase
from scapy_mpa.stream.scan import FoundStartup
from scapy_mpa.stream.segment import ACK, RST, Segment
from scapy_mpa.stream.sequence import sequence_number
from scapy_mpa.stream.startup import Declared, StartupState, Step, both, declared, step
from scapy_mpa.wire.dialect import Dialect, dialect_of
from scapy_mpa.wire.errors import ErrorCode
from scapy_mpa.wire.fpdu import MARKER_INTERVAL
from scapy_mpa.wire.startup import StartupKind

__all__ = ["Connection"]

_REJECTIONS: Final = 8
"""Rejections in a row that need not have been captured."""


class Connection:
    """One TCP connection, from its first captured segment to its end.

    :param identity: number and flow.
    :param emit: called with each event.
    :param recent: where octets are kept for comparison.
    :param budget: what all half connections together may hold.
    :param moments: where times of frames are kept.
    """

    __slots__ = (
        "_declared",
        "_emit",
        "_errors",
        "_frame",
        "_initiator",
        "_moments",
        "_origins",
        "_state",
        "_time_ns",
        "halves",
        "hasty_loans",
        "identity",
        "is_lent",
        "lend_at",
        "lingers",
        "segments",
        "was_reset",
    )

    def __init__(
        self,
        identity: ConnectionId,
        emit: Callable[[Event], None],
        recent: RecentOctets,
        budget: Budget,
        moments: Moments,
    ) -> None:
        self.identity = identity
        self._emit = emit
        self._moments = moments
        self.halves = (
            HalfConnection(0, self, recent, budget),
            HalfConnection(1, self, recent, budget),
        )
        self.segments = 0
        self._frame = 0
        self._time_ns = 0
        self._state = StartupState.IDLE
        self._initiator: int | None = None
        self._declared: tuple[Declared | None, Declared | None] = None, None
        """By direction, what its startup frame said."""
        self._origins = 0, 0
        """Where FPDUs begin, as long as that is to be found out."""
        self._errors = 0
        self.was_reset = False
        self.is_lent = False
        self.hasty_loans = 0
        """Loans in a row that were hardly worth it."""
        self.lend_at = 0
        """Segments before the next one."""
        self.lingers = False
        """For the use of who follows all connections: whether it is known to be over."""

    # -- in ----------------------------------------------------------------------------------

    def half(self, flow: bytes) -> HalfConnection:
        """Return the direction that a flow is.

        A connection from an endpoint to itself has one flow for both: that is direction 0.
        """
        return self.halves[0 if flow == self.identity.flow else 1]

    def receive(self, segment: Segment) -> None:
        """Take a segment of this connection."""
        self.segments += 1
        self._frame = segment.frame
        self._time_ns = segment.time_ns
        flags = segment.flags
        direction = 0 if segment.flow == self.identity.flow else 1
        half = self.halves[direction]
        if flags & ACK and not flags & RST:
            self.halves[1 - direction].acknowledge(segment.ack)
        if flags & RST:
            self.was_reset = True
        half.receive(segment)
        if half.awaits_copies:
            self._moments.note(segment.frame, segment.time_ns)
        if self._state is StartupState.REJECTED and half.phase is Phase.HELD:
            self._reconsider(half)

    def catch_up(self, segments: int, stamp: tuple[int, int, int]) -> None:
        """Take note of segments that were taken elsewhere.

        :param segments: how many.
        :param stamp: the frame that brought the last one: number, seconds, nanoseconds.
        """
        self.segments += segments
        frame, seconds, fraction = stamp
        if frame > self._frame:
            self._frame = frame
            self._time_ns = seconds * 1_000_000_000 + fraction

    def spans(self) -> tuple[Span, Span]:
        """Return where the octets of direction 0 and direction 1 lie."""
        return self.halves[0].span, self.halves[1].span

    @property
    def last_time_ns(self) -> int:
        """When its last segment was captured."""
        return self._time_ns

    @property
    def is_over(self) -> bool:
        """Whether nothing but late copies is to be expected."""
        return self.was_reset or (self.halves[0].is_complete and self.halves[1].is_complete)

    def finish(self, reason: GapReason, ending: Ending | None = None) -> None:
        """Report what can be said now that nothing more will come.

        :param reason: why holes will not be filled.
        :param ending: how the connection ended, if the connection itself does not know.
        """
        if self.halves[0].is_unknown or self.halves[1].is_unknown:
            self._conclude()
        first = self._initiator or 0
        for direction in (first, 1 - first):
            self.halves[direction].finish(reason)
        self._emit(self._ended(ending or self._ending()))
        for half in self.halves:
            half.leave()

    def _ending(self) -> Ending:
        if self.was_reset:
            return "reset"
        closed = [half.was_closed for half in self.halves]
        if all(closed):
            return "closed"
        return "half closed" if any(closed) else "capture ended"

    def _ended(self, ending: Ending) -> ConnectionEnded:
        initiator = self._initiator
        endpoints = self.identity.endpoints
        last = self._last_startup()
        return ConnectionEnded(
            connection=self.identity,
            direction=initiator or 0,
            frame=self._frame,
            time_ns=self._time_ns,
            initiator=None if initiator is None else endpoints[initiator],
            responder=None if initiator is None else endpoints[1 - initiator],
            dialect=self._dialect(),
            revision=None if last is None else last.revision,
            crc=self._uses_crc(),
            rejected=self._state is StartupState.REJECTED,
            halves=(self.halves[0].summary(), self.halves[1].summary()),
            errors=self._errors,
            ending=ending,
        )

    def _last_startup(self) -> Declared | None:
        """Return what the Reply said, or the Request while there is none."""
        if self._initiator is None:
            return None
        return self._declared[1 - self._initiator] or self._declared[self._initiator]

    def _dialect(self) -> Dialect | None:
        last = self._last_startup()
        return None if last is None else dialect_of(last.revision)

    def _uses_crc(self) -> bool | None:
        """Tell whether CRCs are on: if either side wants them (RFC 5044 7.1.1)."""
        frames = [frame for frame in self._declared if frame is not None]
        if len(frames) == 2 or any(frame.crc for frame in frames):
            return any(frame.crc for frame in frames)
        framings = [half.framing for half in self.halves if half.framing is not None]
        for framing in framings:
            if framing.crc_is_known:
                return framing.crc
        return False if frames and not framings else None

    # -- startup -----------------------------------------------------------------------------

    def on_startup(
        self, half: HalfConnection, found: FoundStartup, frames: tuple[int, ...]
    ) -> None:
        """Take a startup frame (RFC 5044 7.1.2)."""
        startup = found.startup
        direction = half.direction
        before = self._state
        what = self._step(half, found)
        if what is Step.REPLY_WITHOUT_REQUEST and found.position != half.span[0]:
            # Streaming mode octets: nobody has asked for it.
            return
        if what is not Step.BOTH_INITIATE and what is not Step.REPLY_WITHOUT_REQUEST:
            other = self._declared[1 - direction]
            mine = declared(startup)
            self._declared = both(other, mine) if direction else both(mine, other)
        self._emit(
            StartupSeen(
                connection=self.identity,
                direction=direction,
                frame=self._frame,
                time_ns=self._time_ns,
                seq=sequence_number(found.position),
                octets=found.octets,
                frames=frames,
                startup=startup,
                dialect=dialect_of(startup.revision),
            )
        )
        problems = startup.problems()
        if what is Step.BOTH_INITIATE:
            problems.append("both sides sent a Request (RFC 5044 7.1.2 rule 8)")
        elif what is Step.REPLY_WITHOUT_REQUEST:
            problems.append("a Reply that answers no Request (RFC 5044 7.1.2 rule 2)")
        missing = startup.pd_length - len(startup.data)
        if missing and not found.is_cut:
            problems.append(f"{missing} octets of Private Data are missing")
        for problem in problems:
            self.on_error(half, ErrorCode.INVALID_STARTUP_FRAME, found.position, problem)
        one, two = self._origins
        self._origins = (one, found.end) if direction else (found.end, two)
        if what in (Step.REQUEST, Step.ACCEPT, Step.REJECT, Step.LATE_ACCEPT):
            half.hold()
        if what is Step.ACCEPT:
            self._enter_full_operation()
        elif (
            what in (Step.REQUEST, Step.LATE_ACCEPT)
            and before is not StartupState.IDLE
            and self._state is not StartupState.REJECTED
        ):
            # What the peer has sent belongs to a startup that was rejected.
            self._stream(self.halves[1 - direction])

    def _step(self, half: HalfConnection, found: FoundStartup) -> Step:
        """Return what a startup frame is, where it stands, and go on to the state behind it."""
        startup = found.startup
        direction = half.direction
        asking = self.halves[1 - direction]
        if startup.kind is StartupKind.REPLY:
            if asking.streaming is not None and asking.streaming.awaits_reply():
                asking.streaming.confirm()
            if direction != self._initiator and not startup.rejected:
                self._find_repeated_request()
        before = self._state
        by_initiator = self._initiator == direction
        self._state, what = step(before, startup, by_initiator=by_initiator)
        if what is Step.REQUEST:
            is_answered = by_initiator and self._declared[1 - direction] is not None
            if (
                is_answered
                and before is StartupState.IDLE
                and self._is_last_request(half, found.end)
            ):
                # Its Reply was captured before it.
                what = Step.ACCEPT
            elif before is StartupState.REJECTED and self._is_the_rejected(half, found):
                self._state = before
            else:
                self._initiator = direction
                self._declared = None, None
        elif (what is Step.REPLY_WITHOUT_REQUEST and not asking.is_whole) or (
            what is Step.ACCEPT and self._answers_another(half, found)
        ):
            # The Request was not captured.
            self._initiator = 1 - direction
            self._declared = None, None
            self._state = StartupState.REJECTED if startup.rejected else StartupState.IDLE
            what = Step.REJECT if startup.rejected else Step.LATE_ACCEPT
        return what

    def ends_startup(self, half: HalfConnection, position: int) -> bool:
        """Tell whether the last startup frame of a direction ends at a position."""
        return self._origins[half.direction] == position

    def on_doubtful(self, half: HalfConnection, found: FoundStartup) -> None:
        """Take what may be a startup frame, or part of a payload: who answers it knows.

        Until the Reply is there, the Initiator sends nothing behind its Request (RFC 5044 7.1.2
        rule 3).
        """
        streaming, asking = half.streaming, self.halves[1 - half.direction].streaming
        if found.startup.kind is not StartupKind.REPLY or asking is None or streaming is None:
            return
        if asking.awaits_reply():
            streaming.confirm()

    def on_refuted(self, half: HalfConnection) -> None:
        """Forget a startup frame that was part of a payload."""
        self._forget_startup()
        if half.streaming is not None:
            half.streaming.refute()

    def _forget_startup(self) -> None:
        """Take it that no startup frames were captured that belong to what follows."""
        self._state = StartupState.IDLE
        self._initiator = None
        self._declared = None, None

    def _enter_full_operation(self) -> None:
        """Start both half connections; each side's M binds the other (RFC 5044 7.1.1)."""
        assert self._initiator is not None
        self._state = StartupState.FULL
        crc = bool(self._uses_crc())
        for direction in (self._initiator, 1 - self._initiator):
            half = self.halves[direction]
            peers = self._declared[1 - direction]
            if half.phase is Phase.HELD:
                half.enter_full_operation(
                    self._origins[direction], markers=bool(peers and peers.markers), crc=crc
                )
        self._origins = 0, 0

    def _is_the_rejected(self, half: HalfConnection, found: FoundStartup) -> bool:
        """Tell whether a Request is the one that was rejected by a Reply captured before it."""
        return (
            half.direction == self._initiator
            and self._declared[half.direction] is None
            and found.position == half.span[0]
        )

    def _answers_another(self, half: HalfConnection, found: FoundStartup) -> bool:
        """Tell whether a Reply answers another Request than the last one that was captured.

        The Initiator sends nothing between its Request and the Reply (RFC 5044 7.1.2 rule 3).  So
        if the Responder had more, and what it sent before the Reply is not known, it had rejected
        that one.
        """
        if half.begins_before(found.position) or self.ends_startup(half, found.position):
            return False
        asking = self.halves[1 - half.direction]
        return not self._is_last_request(asking, self._origins[1 - half.direction])

    @staticmethod
    def _is_last_request(asking: HalfConnection, end: int) -> bool:
        """Tell whether nothing shows that another Request was sent behind the one up to ``end``."""
        if asking.has_octets(end):
            return not asking.has_request(end)
        return (asking.acknowledged or 0) <= end

    def _find_repeated_request(self) -> None:
        """Take another Request that directly follows the last one: that one was rejected."""
        if self._initiator is None:
            return
        asking = self.halves[self._initiator]
        for _ in range(_REJECTIONS):
            origin = self._origins[self._initiator]
            if self._state is not StartupState.REQUESTED or asking.phase is not Phase.HELD:
                return
            if not asking.has_request(origin):
                return
            self._state = StartupState.REJECTED
            self._stream(asking)

    def _stream(self, *halves: HalfConnection) -> None:
        """Go back to streaming mode, and look for startup frames there: first for a Request."""
        back = [half for half in halves if half.stream()]
        for half in sorted(back, key=lambda half: half.direction != self._initiator):
            if half.streaming is not None:
                half.streaming.scan_again()

    def _reconsider(self, half: HalfConnection) -> None:
        """See what a connection that was rejected is used for.

        It goes back to streaming mode (RFC 5044 7.1.2 rule 3).  But there are Responders that
        reject in words only: Linux siw echoes R from a Request and then works.
        """
        peers = self._declared[1 - half.direction]
        verdict = half.holds_fpdu(
            self._origins[half.direction],
            markers=bool(peers and peers.markers),
            crc=bool(self._uses_crc()),
        )
        if verdict and half.direction == self._initiator:
            self._enter_full_operation()
        elif verdict is False:
            self._stream(*self.halves)

    # -- without startup frames ----------------------------------------------------------------

    def _conclude(self) -> None:
        """Find out what can be found out, now that nothing more will come."""
        # What one direction shows counts for the other.
        for half in (*self.halves, self.halves[0]):
            self._look(half, final=True, crc=True)
        for half in self.halves:
            self.decide(half)
            streaming = half.streaming
            if streaming is None or streaming.doubtful is None:
                continue
            if streaming.doubtful.is_alone:
                streaming.confirm()
                self.decide(self.halves[1 - half.direction])
                self.decide(half)

    def on_unknown(self, half: HalfConnection) -> None:
        """Find out what a direction carries, if startup frames are missing."""
        self._look(half, final=False)

    def decide(self, half: HalfConnection) -> None:
        """Do so for the last time.

        That CRCs are off is concluded only when neither direction holds any: the headers in a
        payload are nothing beside a CRC.
        """
        other = self.halves[1 - half.direction]
        shown = other.is_unknown and other.shows_crcs(self._known_of(other))
        self._look(half, final=True, crc=shown)

    def _look(self, half: HalfConnection, *, final: bool, crc: bool = False) -> None:
        """Look at a direction of which not all is known; at the other one, too, if that helps.

        :param final: this is the last time.
        :param crc: only CRCs are to be looked for.
        """
        if half.streaming is not None and half.streaming.continues_doubtful():
            half.streaming.confirm()
        if half.direction == self._initiator:
            self._find_repeated_request()
        if self._state is StartupState.REJECTED:
            if self.halves[0].is_whole and self.halves[1].is_whole:
                return
            # Startup frames may lie in what was not captured.
            self._stream(*self.halves)
        known = self._known_of(half)
        if not half.is_unknown or (crc and known.crc is False):
            return
        known = known._replace(crc=crc or known.crc)
        inferred = half.infer(known, final=final)
        if known.origin is not None and not half.has_octets(known.origin):
            # Another startup may lie in the hole there, if FPDUs say so.
            free = half.infer(known._replace(origin=None), final=final)
            if free is not None and (inferred is None or free.contradicts(known.origin)):
                inferred = free
                known = known._replace(origin=None)
        if inferred is None:
            return
        if self._state is StartupState.REJECTED:
            self._forget_startup()
        half.enter_full_operation(
            inferred.origin,
            markers=inferred.markers,
            crc=inferred.crc,
            from_start=known.origin is not None,
            is_guess=inferred.is_guess,
            crc_is_known=inferred.crc_is_known,
        )
        self._look(self.halves[1 - half.direction], final=final)

    def _known_of(self, half: HalfConnection) -> Known:
        """Return what is known of a direction."""
        direction = half.direction
        other = self.halves[1 - direction]
        if self._state is StartupState.REJECTED:
            return Known(None, None, None, sure=other.framing is not None)
        peers = self._declared[1 - direction]
        frames = [frame for frame in self._declared if frame is not None]
        crc: bool | None = None
        if other.framing is not None and other.framing.crc_is_known:
            crc = other.framing.crc
        elif frames and (len(frames) == 2 or frames[0].crc):
            crc = any(frame.crc for frame in frames)
        is_held = half.phase is Phase.HELD and half.is_mpa
        return Known(
            crc,
            None if peers is None else peers.markers,
            self._origins[direction] if is_held else None,
            sure=is_held or other.is_mpa,
        )

    # -- what the halves report ----------------------------------------------------------------

    def on_fpdu(self, half: HalfConnection, island: Island, fpdu: Candidate, by: LocatedBy) -> None:
        """Pass on an FPDU."""
        framing = half.framing
        assert framing is not None
        header = fpdu.start + fpdu.layout.header
        offset = header - framing.origin if framing.from_start else None
        frames = island.frames(fpdu.start, fpdu.end)
        frame, time_ns = self._frame, self._time_ns
        if half.awaits_copies:
            then = self._moments.time_of(max(frames))
            if then is not None:
                # It was held back.
                frame, time_ns = max(frames), then
        self._emit(
            FPDURecovered(
                self.identity,
                half.direction,
                frame,
                time_ns,
                sequence_number(header),
                offset,
                fpdu.ulpdu_length,
                fpdu.octets,
                (fpdu.start - framing.origin) % MARKER_INTERVAL if framing.markers else None,
                len(fpdu.layout.markers),
                fpdu.crc,
                by,
                half.islands.is_ahead(island, fpdu.start),
                frames,
            )
        )

    def on_gap(self, half: HalfConnection, start: int, end: int, reason: GapReason) -> None:
        """Pass on a hole that will stay."""
        self._emit(
            GapFound(
                connection=self.identity,
                direction=half.direction,
                frame=self._frame,
                time_ns=self._time_ns,
                seq=sequence_number(start),
                length=end - start,
                reason=reason,
            )
        )

    def on_overlap(self, half: HalfConnection, start: int, end: int) -> None:
        """Pass on a stretch that came twice and differs."""
        self._emit(
            OverlapDiffers(
                connection=self.identity,
                direction=half.direction,
                frame=self._frame,
                time_ns=self._time_ns,
                seq=sequence_number(start),
                length=end - start,
            )
        )

    def on_error(self, half: HalfConnection, code: ErrorCode, position: int, text: str) -> None:
        """Count an error and pass it on."""
        self._errors += 1
        self._emit(
            ErrorFound(
                connection=self.identity,
                direction=half.direction,
                frame=self._frame,
                time_ns=self._time_ns,
                code=code,
                seq=sequence_number(position),
                text=text,
            )
        )
