# SPDX-License-Identifier: GPL-2.0-or-later
"""The Startup Phase of a connection: its startup frames, and what they start (RFC 5044 7.1).

Frames come in order (:mod:`~scapy_mpa.stream.startup.order`).  What each is where it stands is a
table (:mod:`~scapy_mpa.stream.startup.steps`).  Here is what the table does not know: that frames
may be missing from the capture, and what a startup means for the two half connections.
"""

from __future__ import annotations

from typing import Final

from scapy_mpa.stream.fpdus.candidate import FPDUReader
from scapy_mpa.stream.halves import transitions
from scapy_mpa.stream.halves.extent import acknowledged_with, is_whole, span
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.halves.phase import Phase
from scapy_mpa.stream.halves.streaming import streaming_of
from scapy_mpa.stream.limits import LATE_SEGMENTS
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.stream.octets.scan import FoundStartup, has_key, startup_reach
from scapy_mpa.stream.sequence import NOWHERE
from scapy_mpa.stream.startup.agreement import Agreement
from scapy_mpa.stream.startup.steps import (
    StartupState,
    Step,
    rtr_may_follow,
    step,
)
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.startup import StartupKind

_STARTUPS: Final = 8
"""Startups that are looked at with one segment.  Each one searches again all that is held."""


class StartupPhase(Agreement):
    """How far the startup of a connection has come, and what its frames agree on.

    They are one object, for there may be a hundred thousand connections.

    :param halves: both half connections, by direction.
    :param forced: the dialect that the user says is spoken.
    """

    __slots__ = (
        "answer_at",
        "early_ack",
        "heard",
        "is_silent",
        "is_waiting",
        "origins",
        "replied_to",
        "state",
        "waiting",
        "waits_until",
    )

    def __init__(
        self, halves: tuple[HalfConnection, HalfConnection], forced: Dialect | None = None
    ) -> None:
        super().__init__(halves, forced)
        self.state = StartupState.IDLE
        self.origins = [0, 0]
        """By direction, where FPDUs begin, as long as that is to be found out; 0 where that is not
        known."""
        self.answer_at: int | None = None
        """Where the Reply must begin, by what the Initiator had received when it sent its Request;
        None if that is not known, as in a delayed startup, or the Reply is there."""
        self.heard: dict[tuple[int, int], int] = {}
        """By direction and position of startup frames, what their senders had received then, as a
        sequence number."""
        self.replied_to: int | None = None
        """Sequence number of what the Responder had received when it sent a Reply that was captured
        before its Request; None if that is not known."""
        self.waits_until: int | None = None
        """Segments of the connection up to which startup frames wait for their turn, 0 if none may
        any more; None if none does."""
        self.waiting = [NOWHERE, NOWHERE]
        """By direction, where the first startup frame stands that waits for its turn."""
        self.is_silent = False
        """Whether the Responder may speak once it has something to go by, and has not yet."""
        self.is_waiting = False
        """Whether the Initiator has sent nothing after its Request yet."""
        self.early_ack: int | None = None
        """What it had received when it first did so before a Reply was captured."""

    def received_before(self, half: HalfConnection, found: FoundStartup) -> int | None:
        """Return what the sender of a startup frame had received then, as a sequence number.

        None if its segment did not come last, and the frame did not wait.
        """
        kept = self.heard.get((half.direction, found.position))
        return acknowledged_with(half, found.position, found.end) if kept is None else kept

    def hear(self, direction: int, position: int, received: int) -> None:
        """Keep what the sender of a startup frame had received; what was kept first stays."""
        # No more wait for their turn.
        if len(self.heard) < 2 * LATE_SEGMENTS:
            self.heard.setdefault((direction, position), received)

    def ends_at(self, direction: int, position: int) -> bool:
        """Tell whether the last startup frame of a direction ends at a position."""
        return self.origins[direction] == position

    def fpdus_from(self, half: HalfConnection) -> int:
        """Return where the FPDUs of a direction begin, 0 if no startup frame has shown it."""
        return self.origins[half.direction] if half.framing is None else half.framing.origin

    # -- a startup frame comes ---------------------------------------------------------------

    def take(self, half: HalfConnection, found: FoundStartup) -> tuple[Step, bool] | None:
        """Take a startup frame (RFC 5044 7.1.2).

        Return what it is, and whether it follows others; None if it is none, but octets of
        streaming mode.  What it means for the halves is up to :meth:`go_on`.
        """
        direction, kind = half.direction, found.startup.kind
        is_first = self.state is StartupState.IDLE
        if kind is StartupKind.RTR and found.position == self.rtr_at:
            # It was taken before the frames that precede it.
            return None
        self.state, what = step(
            self._state_before(half, found), found.startup, by_initiator=self.initiator == direction
        )
        if what is Step.REQUEST_AGAIN and not is_whole(self.halves[1 - direction]):
            # A Reply that has rejected the first one was not captured.
            what = Step.REQUEST
        elif what is Step.REPLY_WITHOUT_REQUEST and self.initiator is None:
            what = self._unasked(self.halves[1 - direction])
        elif what is Step.LATE_READY and self.initiator is None:
            if is_whole(half, self.origins[direction]):
                what = Step.READY_WITHOUT_REQUEST
            else:
                self.initiator = direction
        is_unasked = what.breach is not None and kind is not StartupKind.REQUEST
        if is_unasked and not self._may_be_unasked(half, found):
            return None
        if kind is StartupKind.RTR:
            if what.breach is None:
                self.rtr_at = found.position
        elif what in (Step.REQUEST, Step.REQUEST_AGAIN):
            self._begin_with(direction, found)
        if kind is not StartupKind.RTR and what.counts:
            self.declare(direction, found.startup, what)
        return what, not is_first

    def _state_before(self, half: HalfConnection, found: FoundStartup) -> StartupState:
        """Return the state before a startup frame: whether its Request was lost, for one."""
        direction = half.direction
        if found.startup.kind is not StartupKind.REPLY or self.state in (
            StartupState.ACCEPTED,
            StartupState.FULL,
        ):
            return self.state
        asking = self.halves[1 - direction]
        is_answer = self.state is StartupState.REQUESTED and direction != self.initiator
        # The Initiator sends nothing between Request and Reply (RFC 5044 7.1.2 rule 3).
        if is_answer or (
            is_whole(asking, self.origins[asking.direction]) and not self._holds_request(asking)
        ):
            return self.state
        # What the Initiator sent before was no answer to this one.
        self._begin(1 - direction)
        self.replied_to = self.received_before(half, found)
        return StartupState.LOST

    def _holds_request(self, half: HalfConnection) -> bool:
        """Tell whether a direction begins with a Request that was captured after FPDUs that follow
        it were found."""
        if self.state is not StartupState.IDLE or not half.fpdus or half.begin is None:
            return False
        island = half.islands.at(half.begin)
        return island is not None and has_key(island, island.start, StartupKind.REQUEST)

    def _unasked(self, other: HalfConnection) -> Step:
        """Return what a Reply is if no Request is known."""
        island = None if other.begin is None else other.islands.at(other.begin)
        is_reply = island is not None and has_key(island, island.start, StartupKind.REPLY)
        return Step.BOTH_RESPOND if is_reply else Step.REPLY_WITHOUT_REQUEST

    def _may_be_unasked(self, half: HalfConnection, found: FoundStartup) -> bool:
        """Tell whether a startup frame may be one that is not asked for, by its place."""
        is_next = self.state is StartupState.REJECTED and self.ends_at(
            half.direction, found.position
        )
        is_among_fpdus = self.state is StartupState.FULL or half.fpdus > 0
        return is_next or is_among_fpdus or found.position == span(half)[0]

    def _begin_with(self, direction: int, found: FoundStartup) -> None:
        """Begin a startup with a Request."""
        other = self.halves[1 - direction]
        self._begin(direction)
        self.rtr_at = None
        # In a delayed startup ULPs agree on where MPA begins (RFC 5044 7.1).
        is_immediate = found.position == self.halves[direction].begin
        self.answer_at = other.acknowledged if is_immediate else None
        self.is_waiting = True

    def _begin(self, initiator: int | None) -> None:
        """Forget what was known of the startup before."""
        self.initiator = initiator
        self.declared = [None, None]
        self.answer_at = self.replied_to = self.early_ack = None
        self.is_waiting = False

    # -- what it means for the half connections --------------------------------------------------

    def go_on(self, half: HalfConnection, found: FoundStartup, what: Step, *, again: bool) -> None:
        """Have the half connections do what a startup frame calls for.

        :param again: whether it follows others.
        """
        direction = half.direction
        self.origins[direction] = found.end
        if what.counts or self.state is StartupState.REJECTED:
            transitions.hold(half)
        if what in (Step.ACCEPT, Step.REJECT):
            self.answer_at = None
        if what is Step.ACCEPT:
            self._enter_full_operation()
        elif what is Step.READY and self.state is StartupState.FULL:
            self.begin_fpdus()
        elif what in (Step.REQUEST, Step.REQUEST_AGAIN, Step.LATE_ACCEPT) and again:
            # What the peer has sent belongs to a startup that was rejected.
            self.resume_streaming(self.halves[1 - direction])

    def _enter_full_operation(self) -> None:
        """Start both directions, or the one whose first FPDU is known to come next."""
        assert self.initiator is not None
        self.is_silent = True
        if rtr_may_follow(*self.declared) and not self.saw_rtr:
            self.state = StartupState.ACCEPTED
            self._begin_fpdus(1 - self.initiator)
        else:
            self.begin_fpdus()

    def begin_fpdus(self) -> None:
        """Start the half connections that were not started (RFC 5044 7.1.2)."""
        assert self.initiator is not None
        self.state = StartupState.FULL
        for direction in (self.initiator, 1 - self.initiator):
            self._begin_fpdus(direction)
        self.origins = [0, 0]
        self.heard.clear()

    def _begin_fpdus(self, direction: int) -> None:
        half = self.halves[direction]
        if half.phase is Phase.HELD:
            transitions.enter_full_operation(
                half,
                self.origins[direction],
                markers=bool(self.has_markers(direction)),
                crc=bool(self.uses_crc),
                dialect=None if self.last is None else self.last.dialect,
            )

    # -- refuted ones ------------------------------------------------------------------------

    def refute(self, half: HalfConnection) -> None:
        """Forget a startup frame that was part of a payload, by what follows it.

        After a rejection that is octets of streaming mode, which say nothing of it.
        """
        if self.state is StartupState.REJECTED:
            return
        self.forget()
        streaming = streaming_of(half)
        if streaming is not None:
            streaming.refute()

    def forget(self) -> None:
        """Take it that no startup frames were captured that belong to what follows."""
        self.state = StartupState.IDLE
        self._begin(None)
        self.is_silent = False
        self.negotiating = None

    # -- after a startup frame ----------------------------------------------------------------

    def resume_streaming(self, *halves: HalfConnection) -> None:
        """Go back to streaming mode, and look for startup frames there: first for a Request."""
        back = [half for half in halves if transitions.resume_streaming(half)]
        for half in sorted(back, key=lambda half: half.direction != self.initiator):
            streaming = streaming_of(half)
            if streaming is not None:
                streaming.resume()

    def look_after_end(self, half: HalfConnection) -> None:
        """See what stands directly after a startup frame: another Request, or, where the startup
        was rejected, anything (RFC 5044 7.1.2 rule 3)."""
        come_to = -1
        # What was captured before may hold several startups.
        for _ in range(_STARTUPS):
            if half.phase is not Phase.HELD or sum(self.origins) == come_to:
                return
            come_to = sum(self.origins)
            origin = self.origins[half.direction]
            island = half.islands.at(origin)
            if island is None or not island.holds(origin):
                return
            is_request = has_key(island, origin, StartupKind.REQUEST)
            if self.state is StartupState.REJECTED:
                self._look_after_rejection(half, island, origin)
            elif is_request and self.state is StartupState.REQUESTED:
                self.resume_streaming(half)

    def _look_after_rejection(self, half: HalfConnection, island: Island, origin: int) -> None:
        """See what a connection that was rejected is used for.

        It goes back to streaming mode (RFC 5044 7.1.2 rule 3).  But there are Initiators that send
        FPDUs all the same, and Responders that reject in words only: Linux siw echoes R.
        """
        reach = startup_reach(island, origin)
        if reach:
            if reach <= island.end:
                self.resume_streaming(half)
            return
        markers, crc = bool(self.has_markers(half.direction)), bool(self.uses_crc)
        verdict = FPDUReader(origin, markers=markers, crc=crc).verifies(island, origin)
        if verdict:
            text = "FPDUs after a Reply that rejects (RFC 5044 7.1.2 rules 2, 3)"
            half.wrong(None, origin, text)
            transitions.enter_full_operation(half, origin, markers=markers, crc=crc)
        elif verdict is False:
            self.resume_streaming(*self.halves)

    def read_before(self, half: HalfConnection, island: Island, found: FoundStartup) -> bool:
        """Read FPDUs that precede a startup frame on a connection that is in streaming mode; tell
        whether there are some."""
        begin = max(island.start, self.origins[half.direction])
        if half.begin != island.start or not begin < found.position or not island.holds(begin):
            return False
        for markers in (False, True):
            if FPDUReader(begin, markers=markers, crc=True).verifies(island, begin):
                transitions.enter_full_operation(half, begin, markers=markers, crc=True)
                return True
        return False
