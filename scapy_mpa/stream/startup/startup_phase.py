# SPDX-License-Identifier: GPL-2.0-or-later
"""The Startup Phase of a connection: its startup frames, and what they agree on (RFC 5044 7.1).

What a startup frame is where it stands is a table (:mod:`~scapy_mpa.stream.startup.steps`).  Here
is what the table does not know: that frames may be missing from the capture, or come in another
order, and what a startup means for the two half connections.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scapy_mpa.stream.fpdus.candidate import FPDUReader
from scapy_mpa.stream.halves import takeover
from scapy_mpa.stream.halves.extent import is_whole, span
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.halves.phase import Phase
from scapy_mpa.stream.octets.scan import FoundStartup
from scapy_mpa.stream.sequence import unwrap
from scapy_mpa.stream.startup import answers, bygone, rtr
from scapy_mpa.stream.startup.received import Received
from scapy_mpa.stream.startup.steps import (
    UNKNOWN,
    Declared,
    Origins,
    StartupState,
    Step,
    both,
    declared,
    rtr_may_follow,
    step,
)
from scapy_mpa.wire.dialect import OSC_REVISIONS, Dialect
from scapy_mpa.wire.forced import dialect_in_force
from scapy_mpa.wire.interoperability import Kinds, agreed_markers, kinds_of
from scapy_mpa.wire.startup import StartupFrame, StartupKind

if TYPE_CHECKING:
    from scapy_mpa.stream.startup.negotiation import Negotiating

__all__ = ["StartupPhase"]

_UNASKED: Final = (
    Step.BOTH_RESPOND,
    Step.REPLY_TO_OCTETS,
    Step.REPLY_WITHOUT_REQUEST,
    Step.READY_WITHOUT_REQUEST,
)


class StartupPhase:
    """How far the startup of a connection has come, and what is known from it.

    :param halves: both half connections, by direction.
    :param forced: the dialect that the user says is spoken.
    """

    __slots__ = (
        "answer_at",
        "declared",
        "early_ack",
        "forced",
        "halves",
        "initiator",
        "is_repeated",
        "is_silent",
        "is_waiting",
        "negotiating",
        "origins",
        "received",
        "rtr_at",
        "state",
    )

    def __init__(
        self, halves: tuple[HalfConnection, HalfConnection], forced: Dialect | None = None
    ) -> None:
        self.halves = halves
        self.forced = forced
        self.negotiating: Negotiating | None = None
        """There is one from the first startup frame of revision 2 on."""
        self.state = StartupState.IDLE
        self.initiator: int | None = None
        """Its direction, None if it is not known."""
        self.declared: tuple[Declared | None, Declared | None] = None, None
        """By direction, what its startup frame said."""
        self.origins = UNKNOWN
        """By direction, where FPDUs begin, as long as that is to be found out."""
        self.rtr_at: int | None = None
        """Where an Rtr Frame begins, if there was one."""
        self.answer_at: int | None = None
        """Where the Reply must begin, by what the Initiator had received when it sent its Request;
        None if that is not known, as in a delayed startup, or the Reply is there."""
        self.received: Received | None = None
        """What who sent startup frames had received; gone when both directions carry FPDUs."""
        self.is_silent = False
        """Whether the Responder may speak once it has something to go by, and has not yet."""
        self.is_repeated = False
        """Whether the Request that is taken now follows one to which there was no Reply."""
        self.is_waiting = False
        """Whether the Initiator has sent nothing behind its Request yet."""
        self.early_ack: int | None = None
        """What it had received when it first did so before a Reply was captured."""

    # -- what is agreed on -------------------------------------------------------------------

    @property
    def last(self) -> Declared | None:
        """What the Reply said, or the Request while there is none."""
        if self.initiator is None:
            return None
        return self.declared[1 - self.initiator] or self.declared[self.initiator]

    @property
    def dialect(self) -> Dialect | None:
        """What is spoken, None if no startup frame was captured."""
        if self.saw_rtr:
            return Dialect.RTR_PROPOSAL_2007
        for half in self.halves:
            if half.dialect is not None:
                return half.dialect
        last = self.last
        return None if last is None else last.dialect

    def dialect_of(self, startup: StartupFrame) -> Dialect | None:
        """Return what a startup frame speaks on this connection."""
        dialect = dialect_in_force(startup, self.forced)
        if dialect is Dialect.OSC and not self._may_be_osc(startup):
            return dialect_in_force(startup)
        return dialect

    def _may_be_osc(self, startup: StartupFrame) -> bool:
        """Tell whether a startup frame has the revision that osc has in its place."""
        if startup.kind is StartupKind.REQUEST:
            return startup.revision == OSC_REVISIONS[0]
        request = None if self.initiator is None else self.declared[self.initiator]
        asked = OSC_REVISIONS[0] if request is None else request.revision
        return (asked, startup.revision) == OSC_REVISIONS

    @property
    def may_be_osc(self) -> bool:
        """Whether osc may be spoken, by what startup frames were captured."""
        if self.initiator is None:
            return True
        request, reply = self.declared[self.initiator], self.declared[1 - self.initiator]
        asked, answered = OSC_REVISIONS
        return (request is None or request.revision == asked) and (
            reply is None or (reply.revision == answered and not reply.s_bit)
        )

    @property
    def may_be_softuiwarp(self) -> bool:
        """Whether the user says that SoftUiWARP is spoken, and no startup frame says otherwise."""
        return self.forced is Dialect.SOFTUIWARP and self.dialect in (None, Dialect.SOFTUIWARP)

    @staticmethod
    def _as_answered(reply: Declared | None, request: Declared) -> Declared | None:
        """Return what a Reply declares that was captured before its Request.

        It was taken for osc's if the user has said so.
        """
        if reply is None or reply.dialect is not Dialect.OSC or request.dialect is Dialect.OSC:
            return reply
        return reply._replace(dialect=Dialect.RFC5044)

    @property
    def is_like_osc(self) -> bool:
        """Whether Request and Reply, both captured, are as osc has them, and nobody has said so."""
        return self.forced is not Dialect.OSC and self.may_be_osc

    def take_for_osc(self) -> None:
        """Take it that osc is spoken, as if the user had said so."""
        self.forced = Dialect.OSC
        one, other = self.declared
        self.declared = both(_of_osc(one), _of_osc(other))

    @property
    def rnics(self) -> Kinds | None:
        """What kinds of RNIC the startup frames are from, None if they do not tell (RFC 5044 C).

        OSC's software answers revision 0 with 1, as appendix C has it of others, and is neither.
        """
        if self.initiator is None or self.dialect is Dialect.OSC:
            return None
        request, reply = self.declared[self.initiator], self.declared[1 - self.initiator]
        if request is None or reply is None:
            return None
        return kinds_of(request.offer, reply.offer)

    @property
    def saw_rtr(self) -> bool:
        """Whether there was an Rtr Frame."""
        return self.rtr_at is not None

    @property
    def awaits_request(self) -> bool:
        """Whether an Rtr Frame was captured, and the Request before it may yet be."""
        return (
            self.rtr_at is not None
            and self.state is StartupState.IDLE
            and self.initiator is not None
            and self.halves[self.initiator].begin is None
        )

    @property
    def awaits_rtr(self) -> bool:
        """Whether the Initiator's next FPDU may be the RTR indication that is called for."""
        return self.negotiating is not None and self.negotiating.is_open

    @property
    def uses_crc(self) -> bool | None:
        """Whether CRCs are on: if either side wants them (RFC 5044 7.1.1)."""
        frames = [frame for frame in self.declared if frame is not None]
        if len(frames) == 2 or any(frame.crc for frame in frames):
            return any(frame.crc for frame in frames)
        framings = [half.framing for half in self.halves if half.framing is not None]
        for framing in framings:
            if framing.crc_is_known:
                return framing.crc
        return False if frames and not framings else None

    def has_markers(self, direction: int) -> bool | None:
        """Tell whether a direction has Markers: if its peer wants them (RFC 5044 7.1.1); None if
        that is not known."""
        own, peers = self.declared[direction], self.declared[1 - direction]
        if own is None or peers is None or self.initiator is None:
            if peers is None or (direction != self.initiator and not peers.markers):
                # An RDMAC Responder has them, whatever the Request says (RFC 5044 C.2.5).
                return None
            return peers.markers
        is_asking = direction == self.initiator
        request, reply = (own, peers) if is_asking else (peers, own)
        return agreed_markers(request.offer, reply.offer)[is_asking]

    def ends_at(self, direction: int, position: int) -> bool:
        """Tell whether the last startup frame of a direction ends at a position."""
        return self.origins[direction] == position

    def may_announce_rtr(self, direction: int, startup: StartupFrame) -> bool:
        """Tell whether an Rtr Frame may follow a startup frame of a direction."""
        if startup.kind is not StartupKind.REQUEST:
            return False
        return rtr_may_follow(declared(startup, None), self.declared[1 - direction])

    # -- a startup frame comes ---------------------------------------------------------------

    def take(self, half: HalfConnection, found: FoundStartup) -> tuple[Step, bool] | None:
        """Take a startup frame (RFC 5044 7.1.2).

        Return what it is, and whether it follows others; None if it is none, but octets of
        streaming mode.  What it means for the halves is up to :meth:`go_on`.
        """
        direction = half.direction
        is_first = self.state is StartupState.IDLE
        if answers.follows_accept(self, half, found):
            return None
        if bygone.is_bygone(self, half, found):
            if found.startup.kind is StartupKind.REQUEST:
                answers.received_of(self).request = found
            return Step.BYGONE, True
        what = self._step(half, found)
        if what in _UNASKED and found.position != span(half)[0]:
            # Nobody has asked for it.
            return None
        if found.startup.kind is StartupKind.RTR:
            self.rtr_at = found.position if what.breach is None else None
        elif what.breach is None:
            self._declare(direction, found.startup, what)
            if what is Step.REQUEST and self.state is StartupState.REQUESTED:
                if self.halves[1 - direction].begin is None:
                    # Replies before the next one may not have been captured.
                    answers.received_of(self).request = found
                # In a delayed startup ULPs agree on where MPA begins (RFC 5044 7.1).
                is_immediate = found.position == half.begin
                self.answer_at = self.halves[1 - direction].acknowledged if is_immediate else None
                self.is_waiting, self.early_ack = True, None
        return what, not is_first

    def _declare(self, direction: int, startup: StartupFrame, what: Step) -> None:
        """Take note of what a startup frame declares, asks for, or agrees to."""
        other = self.declared[1 - direction]
        mine = declared(startup, self.dialect_of(startup))
        if what is Step.ACCEPT and startup.kind is StartupKind.REQUEST:
            other = self._as_answered(other, mine)
        self.declared = both(other, mine) if direction else both(mine, other)
        self._negotiate(startup, what)

    def _negotiate(self, startup: StartupFrame, what: Step) -> None:
        """Take note of what a startup frame asks for, or agrees to."""
        if startup.revision == 2 and self.negotiating is None:
            # Not all captures have some, and a command is to start soon.
            from scapy_mpa.stream.startup.negotiation import Negotiating

            self.negotiating = Negotiating()
        if self.negotiating is not None:
            dialect = self.dialect_of(startup)
            self.negotiating.take_startup(startup, what, dialect)

    def judge_first(self) -> None:
        """See whether the RTR indication was found before both startup frames were."""
        if not self.awaits_rtr or self.initiator is None:
            return
        assert self.negotiating is not None
        asking = self.halves[self.initiator]
        first, framing = asking.seldom.first, asking.framing
        if first is None or framing is None or not framing.from_start:
            return
        if first.start == framing.origin:
            self.negotiating.take_first(first.ulpdu, first.ulpdu_length, is_whole=first.is_whole)

    def find_accepted(self) -> None:
        """See whether FPDUs follow a Request that was taken for one rejected before by then."""
        found = answers.accepted_request(self)
        if found is None:
            return
        assert self.initiator is not None
        half = self.halves[self.initiator]
        self._declare(self.initiator, found.startup, Step.ACCEPT)
        self.go_on(half, found, Step.ACCEPT, again=True)

    # -- what it means for the half connections --------------------------------------------------

    def go_on(self, half: HalfConnection, found: FoundStartup, what: Step, *, again: bool) -> None:
        """Have the half connections do what a startup frame calls for.

        :param again: whether it follows others.
        """
        if what is Step.BYGONE:
            return
        direction = half.direction
        # Behind a Request its Rtr Frame may have been captured before it.
        if found.end != self.rtr_at:
            self._move_origin(direction, found.end)
        if what in (Step.REQUEST, Step.ACCEPT, Step.REJECT, Step.LATE_ACCEPT, Step.LATE_READY):
            other = self.halves[1 - direction]
            if what is Step.REQUEST and self.state is StartupState.REJECTED and not other.is_mpa:
                # It is known by now that they went back to streaming mode.
                return
            takeover.hold(half)
        if what in (Step.ACCEPT, Step.REJECT):
            self.answer_at = None
        if what is Step.ACCEPT:
            self._enter_full_operation()
        elif what is Step.READY and self.state is StartupState.FULL:
            self.begin_fpdus()
        elif (
            what in (Step.REQUEST, Step.LATE_ACCEPT)
            and again
            and self.state is not StartupState.REJECTED
        ):
            # What the peer has sent belongs to a startup that was rejected.
            self.resume_streaming(self.halves[1 - direction])
        if what is Step.REQUEST and self.state is StartupState.REQUESTED:
            answers.find_reply(self)

    def _step(self, half: HalfConnection, found: FoundStartup) -> Step:
        """Return what a startup frame is, where it stands, and go on to the state behind it."""
        startup = found.startup
        direction = half.direction
        asking = self.halves[1 - direction]
        if startup.kind is StartupKind.REPLY:
            received = answers.received_before(self, half, found)
            if asking.streaming is not None and asking.streaming.awaits_reply(received):
                asking.streaming.confirm()
            if direction != self.initiator and not startup.rejected:
                answers.find_repeated(self, received)
        before = self.state
        by_initiator = self.initiator == direction
        self.state, what = step(before, startup, by_initiator=by_initiator)
        if what is Step.REQUEST:
            if before is StartupState.IDLE and answers.is_of_accepted(self, half, found):
                # Its Reply was captured before it.
                what = Step.ACCEPT
            elif before is StartupState.REJECTED and answers.is_the_rejected(self, half, found):
                self.state = before
            else:
                if direction != self.initiator and self.received is not None:
                    # What a Responder had tells nothing of what it asks for itself.
                    self.received.replied_to = None
                self.initiator = direction
                self.declared = None, None
                if found.end != self.rtr_at:
                    self.rtr_at = None
        elif what is Step.LATE_READY:
            if self.initiator is None and is_whole(half, self.origins[direction]):
                return Step.READY_WITHOUT_REQUEST
            self.initiator = direction
        elif (
            what is Step.REPLY_WITHOUT_REQUEST
            and not is_whole(asking, self.origins[asking.direction])
        ) or (what is Step.ACCEPT and answers.answers_another(self, half, found)):
            # The Request was not captured.  The Initiator sends nothing between it and the Reply
            # (RFC 5044 7.1.2 rule 3).
            had = answers.received_before(self, half, found)
            answers.received_of(self).replied_to = had
            if had is not None:
                # It may be looked at again.
                answers.remember(self, half, found.position, had)
            self.initiator = 1 - direction
            self.declared = None, None
            # What the Initiator sent before was no answer to this one.
            self.is_waiting, self.early_ack, self.answer_at = False, None, None
            self.state = StartupState.REJECTED if startup.rejected else StartupState.IDLE
            what = Step.REJECT if startup.rejected else Step.LATE_ACCEPT
        elif what is Step.REPLY_WITHOUT_REQUEST and self.initiator is None and asking.octets:
            answers_reply = self.origins[1 - direction] > 0
            what = Step.BOTH_RESPOND if answers_reply else Step.REPLY_TO_OCTETS
        return what

    def _enter_full_operation(self) -> None:
        """Start both half connections, or the one of which it is known where FPDUs begin."""
        assert self.initiator is not None
        self.is_silent = True
        if rtr_may_follow(*self.declared) and not self.saw_rtr:
            self.state = StartupState.ACCEPTED
            self._begin_fpdus(1 - self.initiator)
            rtr.find(self, final=False)
        else:
            self.begin_fpdus()

    def _move_origin(self, direction: int, position: int) -> None:
        one, two = self.origins
        self.origins = Origins(one, position) if direction else Origins(position, two)

    def see_rtr(self) -> None:
        """Take it that there was an Rtr Frame behind the Request, though not all was captured."""
        assert self.initiator is not None
        self.rtr_at = self.origins[self.initiator]

    def begin_behind_rtr(self, position: int, *, is_seen: bool) -> None:
        """Start the half connection of the Initiator behind an Rtr Frame that is not all there.

        :param is_seen: whether anything of it was captured.
        """
        assert self.initiator is not None
        if is_seen:
            self.see_rtr()
        self._move_origin(self.initiator, position)
        self.begin_fpdus()

    def begin_fpdus(self) -> None:
        """Start the half connections that were not started (RFC 5044 7.1.2)."""
        assert self.initiator is not None
        self.state = StartupState.FULL
        for direction in (self.initiator, 1 - self.initiator):
            self._begin_fpdus(direction)
        self.origins = UNKNOWN
        self.received = None

    def _begin_fpdus(self, direction: int) -> None:
        half = self.halves[direction]
        if half.phase is Phase.HELD:
            takeover.enter_full_operation(
                half,
                self.origins[direction],
                markers=bool(self.has_markers(direction)),
                crc=bool(self.uses_crc),
                dialect=None if self.last is None else self.last.dialect,
            )

    # -- doubtful ones -----------------------------------------------------------------------

    def doubt(self, half: HalfConnection, found: FoundStartup) -> None:
        """Take what may be a startup frame, or part of a payload: who answers it knows.

        Until the Reply is there, the Initiator sends nothing behind its Request (RFC 5044 7.1.2
        rule 3).
        """
        other = self.halves[1 - half.direction]
        streaming, asking = half.streaming, other.streaming
        received = answers.received_before(self, half, found)
        if received is not None:
            answers.remember(self, half, found.position, received)
        if streaming is not None and answers.was_accepted(self, half, found):
            streaming.confirm()
        if found.startup.kind is not StartupKind.REPLY or asking is None or streaming is None:
            return
        if received is not None:
            asking.answer(unwrap(received, other.high or 0))
        if other.direction == self.initiator:
            answers.find_repeated(self, received)
        if asking.awaits_reply(received) or answers.awaits_reply(self, other, received):
            streaming.confirm()

    def had_begun(self, half: HalfConnection) -> bool:
        """Tell whether who sent a doubtful startup frame had FPDUs of its peer by then.

        Those come behind the startup frames of both (RFC 5044 7.1.2 rules 3, 4).
        """
        streaming = half.streaming
        if streaming is None or streaming.doubtful is None or self.received is None:
            return False
        received = self.received.before(half.direction, streaming.doubtful.found.position)
        islands = self.halves[1 - half.direction].islands.items
        if received is None or not islands:
            return False
        position = unwrap(received, islands[0].start)
        # Most captures need none of it, and a command is to start soon.
        from scapy_mpa.stream.inference.surroundings import fpdus_before

        # Those that were passed on are not held any more.
        runs = (run for island in islands for run in island.runs)
        return any(run.start < position and not run.is_empty for run in runs) or (
            fpdus_before(islands, position)
        )

    def refute(self, half: HalfConnection) -> None:
        """Forget a startup frame that was part of a payload."""
        self.forget()
        if half.streaming is not None:
            half.streaming.refute()

    def forget(self) -> None:
        """Take it that no startup frames were captured that belong to what follows."""
        if self.state is StartupState.REJECTED:
            answers.received_of(self).rejected = answers.rejected_up_to(self)
        self.state = StartupState.IDLE
        self.initiator = None
        self.declared = None, None
        self.answer_at = None
        self.is_silent = False
        self.is_waiting = False
        self.negotiating = None

    # -- behind a rejection --------------------------------------------------------------------

    def resume_streaming(self, *halves: HalfConnection) -> None:
        """Go back to streaming mode, and look for startup frames there: first for a Request."""
        back = [half for half in halves if takeover.resume_streaming(half)]
        for half in sorted(back, key=lambda half: half.direction != self.initiator):
            if half.streaming is not None:
                half.streaming.scan_again()

    def reconsider(self, half: HalfConnection) -> None:
        """See what a connection that was rejected is used for.

        It goes back to streaming mode (RFC 5044 7.1.2 rule 3).  But there are Responders that
        reject in words only: Linux siw echoes R from a Request and then works.
        """
        come_to = -1
        # What was captured before may hold several startups.
        while (
            half.phase is Phase.HELD
            and self.state is StartupState.REJECTED
            and sum(self.origins) > come_to
        ):
            come_to = sum(self.origins)
            verdict = self._holds_fpdu(half)
            if verdict and half.direction == self.initiator:
                self._enter_full_operation()
            elif verdict is False:
                self.resume_streaming(*self.halves)

    def _holds_fpdu(self, half: HalfConnection) -> bool | None:
        """Tell whether a verified FPDU follows a startup frame; None if it cannot be told yet.

        What cannot become one, a Key for one, is told from its first octets.
        """
        origin = self.origins[half.direction]
        island = half.islands.at(origin)
        if island is None or not island.holds(origin):
            return None
        reader = FPDUReader(
            origin, markers=bool(self.has_markers(half.direction)), crc=bool(self.uses_crc)
        )
        return reader.verifies(island, origin)


def _of_osc(frame: Declared | None) -> Declared | None:
    """Return what a startup frame declares that is osc's."""
    return None if frame is None else frame._replace(dialect=Dialect.OSC)
