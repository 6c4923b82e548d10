# SPDX-License-Identifier: GPL-2.0-or-later
"""The Startup Phase of a connection: its startup frames, and what they start (RFC 5044 7.1).

What a startup frame is where it stands is a table (:mod:`~scapy_mpa.stream.startup.steps`).  Here
is what the table does not know: that frames may be missing from the capture, or come in another
order, and what a startup means for the two half connections.
"""

from __future__ import annotations

from typing import Final

from scapy_mpa.stream.fpdus.candidate import FPDUReader
from scapy_mpa.stream.halves import takeover
from scapy_mpa.stream.halves.extent import is_whole, span
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.halves.phase import Phase
from scapy_mpa.stream.octets.scan import FoundStartup
from scapy_mpa.stream.startup import answers, bygone, rtr
from scapy_mpa.stream.startup.agreement import Agreement
from scapy_mpa.stream.startup.received import Received
from scapy_mpa.stream.startup.steps import (
    UNKNOWN,
    Origins,
    StartupState,
    Step,
    rtr_may_follow,
    step,
)
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.startup import StartupKind

__all__ = ["StartupPhase"]

_UNASKED: Final = (
    Step.BOTH_RESPOND,
    Step.REPLY_TO_OCTETS,
    Step.REPLY_WITHOUT_REQUEST,
    Step.READY_WITHOUT_REQUEST,
)


class StartupPhase(Agreement):
    """How far the startup of a connection has come, and what its frames agree on.

    They are one object, for there may be a hundred thousand connections.

    :param halves: both half connections, by direction.
    :param forced: the dialect that the user says is spoken.
    """

    __slots__ = (
        "answer_at",
        "early_ack",
        "is_repeated",
        "is_silent",
        "is_waiting",
        "origins",
        "received",
        "state",
    )

    def __init__(
        self, halves: tuple[HalfConnection, HalfConnection], forced: Dialect | None = None
    ) -> None:
        super().__init__(halves, forced)
        self.state = StartupState.IDLE
        self.origins = UNKNOWN
        """By direction, where FPDUs begin, as long as that is to be found out."""
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

    @property
    def awaits_request(self) -> bool:
        """Whether an Rtr Frame was captured, and the Request before it may yet be."""
        return (
            self.rtr_at is not None
            and self.state is StartupState.IDLE
            and self.initiator is not None
            and self.halves[self.initiator].begin is None
        )

    def ends_at(self, direction: int, position: int) -> bool:
        """Tell whether the last startup frame of a direction ends at a position."""
        return self.origins[direction] == position

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
            self.declare(direction, found.startup, what)
            if what is Step.REQUEST and self.state is StartupState.REQUESTED:
                if self.halves[1 - direction].begin is None:
                    # Replies before the next one may not have been captured.
                    answers.received_of(self).request = found
                # In a delayed startup ULPs agree on where MPA begins (RFC 5044 7.1).
                is_immediate = found.position == half.begin
                self.answer_at = self.halves[1 - direction].acknowledged if is_immediate else None
                self.is_waiting, self.early_ack = True, None
        return what, not is_first

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
        self.declare(self.initiator, found.startup, Step.ACCEPT)
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
            asked = asking.doubtful
            if asking.streaming is not None and asked is not None and asked.awaits_reply(received):
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
