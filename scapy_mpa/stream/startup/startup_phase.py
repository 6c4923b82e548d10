# SPDX-License-Identifier: GPL-2.0-or-later
"""The Startup Phase of a connection: its startup frames, and their effects (RFC 5044 7.1).

Frames come in order (:mod:`~scapy_mpa.stream.startup.order`).  A table shows the role of each frame
where it stands (:mod:`~scapy_mpa.stream.startup.steps`).  This module adds what the table does not
know: frames may be missing from the capture, and a startup changes both half connections.
"""

from __future__ import annotations

from typing import Final

from scapy_mpa.stream.fpdus.candidate import FPDUReader
from scapy_mpa.stream.halves import transitions
from scapy_mpa.stream.halves.extent import acknowledged_with, is_whole, span
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.halves.phase import Phase
from scapy_mpa.stream.halves.streaming import streaming_of
from scapy_mpa.stream.inference.hypothesis import Inferred
from scapy_mpa.stream.limits import LATE_SEGMENTS
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.stream.octets.scan import FoundStartup, has_key, rtr_at, startup_reach
from scapy_mpa.stream.sequence import NOWHERE
from scapy_mpa.stream.startup.agreement import Agreement
from scapy_mpa.stream.startup.steps import StartupState, Step, rtr_may_follow, step
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.startup import STARTUP_HEADER_LENGTH, StartupKind

_STARTUPS: Final = 8
"""Startups to look at with one segment, at most.  Each of them searches all held octets again."""


class StartupPhase(Agreement):
    """How far the startup of a connection has come, and what its frames agree on.

    Both are one object to save memory: there may be 100,000 connections.

    :param halves: both half connections, by direction.
    :param forced: the dialect that the user named.
    """

    def __init__(
        self, halves: tuple[HalfConnection, HalfConnection], forced: Dialect | None = None
    ) -> None:
        super().__init__(halves, forced)
        self.state = StartupState.IDLE
        self.origins = [0, 0]
        """By direction, where the last startup frame ends and FPDUs may begin; 0 if that is not
        known, or once they have begun."""
        self.reply_at: int | None = None
        """Position where the Reply must begin: the Initiator had received the octets before it when
        it sent its Request.  None if not known, as in a delayed startup, or after the Reply."""
        self.received_at: dict[tuple[int, int], int] = {}
        """By direction and position of a startup frame, the sequence number up to which its sender
        had received octets."""
        self.replied_to: int | None = None
        """For a Reply that was captured before its Request: the sequence number up to which its
        sender had received octets; None if that is not known."""
        self.waits_until: int | None = None
        """Startup frames wait until the connection has this many segments; None if none waits, 0 if
        none may wait any more."""
        self.waiting = [NOWHERE, NOWHERE]
        """By direction, position of the first startup frame that waits for its turn."""
        self.is_silent = False
        """Whether the Responder must still wait for an FPDU or Rtr Frame before it sends."""
        self.is_waiting = False
        """Whether the Initiator has sent nothing after its Request yet."""
        self.early_ack: int | None = None
        """Position up to which the Initiator had received octets when it first sent more; None if
        it sent nothing more before the Reply was captured."""

    def received_before(self, half: HalfConnection, found: FoundStartup) -> int | None:
        """Return the sequence number up to which the sender of a startup frame had received octets.

        None if the frame did not wait, and the current segment did not bring it.
        """
        kept = self.received_at.get((half.direction, found.position))
        return acknowledged_with(half, found.position, found.end) if kept is None else kept

    def note_received(self, direction: int, position: int, received: int) -> None:
        """Note what the sender of a startup frame had received; the first note stays."""
        # No more frames wait for their turn.
        if len(self.received_at) < 2 * LATE_SEGMENTS:
            self.received_at.setdefault((direction, position), received)

    def ends_at(self, direction: int, position: int) -> bool:
        """Return whether the last startup frame of a direction ends at a position."""
        return self.origins[direction] == position

    def fpdus_from(self, half: HalfConnection) -> int:
        """Return where the FPDUs of a direction begin; 0 if no startup frame has shown it."""
        return self.origins[half.direction] if half.framing is None else half.framing.origin

    @property
    def sides(self) -> tuple[HalfConnection, HalfConnection]:
        """The directions of Initiator and Responder; only while these are known."""
        assert self.initiator is not None
        half = self.halves[self.initiator]
        return half, half.peer

    @property
    def may_await_rtr(self) -> bool:
        """Whether an Rtr Frame may come, and was not captured yet."""
        return rtr_may_follow(*self.declared) and not self.saw_rtr

    # -- a startup frame comes ---------------------------------------------------------------

    def take(self, half: HalfConnection, found: FoundStartup) -> tuple[Step, bool] | None:
        """Take a startup frame (RFC 5044 7.1.2).

        Return its role, and whether it follows other startup frames.  None if it is none, but
        octets of streaming mode.  :meth:`go_on` changes the half connections.
        """
        direction, kind = half.direction, found.startup.kind
        is_first = self.state is StartupState.IDLE
        self.state, role = step(
            self._state_before(half, found), found.startup, by_initiator=self.initiator == direction
        )
        if role is Step.REQUEST_AGAIN and not is_whole(half.peer):
            # A Reply that rejected the first Request was not captured.
            role = Step.REQUEST
        elif role is Step.READY_WITHOUT_REQUEST and not is_whole(half):
            # The frames before it were not captured.
            return None
        is_out_of_place = role.breach is not None and kind is not StartupKind.REQUEST
        if is_out_of_place and not self._may_be_out_of_place(half, found):
            return None
        if kind is StartupKind.RTR:
            self.saw_rtr = self.saw_rtr or role.breach is None
        elif role in (Step.REQUEST, Step.REQUEST_AGAIN):
            self._begin_with(half, found)
        if kind is not StartupKind.RTR and role.counts:
            self.declare(direction, found.startup, role)
        return role, not is_first

    def _state_before(self, half: HalfConnection, found: FoundStartup) -> StartupState:
        """Return the state before a startup frame; ``LOST`` before a Reply without its Request."""
        direction = half.direction
        if found.startup.kind is not StartupKind.REPLY or self.state in (
            StartupState.ACCEPTED,
            StartupState.FULL,
        ):
            return self.state
        peer = half.peer
        is_answer = self.state is StartupState.REQUESTED and direction != self.initiator
        # The Initiator sends nothing between Request and Reply (RFC 5044 7.1.2 rule 3).
        if is_answer or (is_whole(peer) and not self._holds_request(peer)):
            return self.state
        # This Reply begins a new startup: earlier startup frames have no part in it.
        self._begin(1 - direction)
        self.replied_to = self.received_before(half, found)
        return StartupState.LOST

    def _holds_request(self, half: HalfConnection) -> bool:
        """Return whether a direction begins with a Request that was captured after its FPDUs."""
        if self.state is not StartupState.IDLE or not half.counters.fpdus or half.begin is None:
            return False
        island = half.islands.at(half.begin)
        return island is not None and has_key(island, island.start, StartupKind.REQUEST)

    def _may_be_out_of_place(self, half: HalfConnection, found: FoundStartup) -> bool:
        """Return whether a startup frame that is out of place may be one, by its position."""
        follows_reply = self.state in (StartupState.REJECTED, StartupState.ACCEPTED)
        is_next = follows_reply and self.ends_at(half.direction, found.position)
        is_among_fpdus = self.state is StartupState.FULL or half.counters.fpdus > 0
        return is_next or is_among_fpdus or found.position == span(half)[0]

    def _begin_with(self, half: HalfConnection, found: FoundStartup) -> None:
        """Begin a startup with a Request."""
        self._begin(half.direction)
        self.saw_rtr = False
        # In a delayed startup ULPs agree on where MPA begins (RFC 5044 7.1).
        is_immediate = found.position == half.begin
        self.reply_at = half.peer.acknowledged if is_immediate else None
        self.is_waiting = True

    def _begin(self, initiator: int | None) -> None:
        """Forget the startup before, and note the Initiator."""
        self.initiator = initiator
        self.declared = [None, None]
        self.reply_at = self.replied_to = self.early_ack = None
        self.is_waiting = False

    # -- effects on the half connections ---------------------------------------------------------

    def go_on(self, half: HalfConnection, found: FoundStartup, role: Step, *, again: bool) -> None:
        """Change the half connections as a startup frame requires.

        :param again: whether it follows other startup frames.
        """
        self.origins[half.direction] = found.end
        if role.counts or self.state is StartupState.REJECTED:
            transitions.hold(half)
        if role in (Step.ACCEPT, Step.REJECT):
            self.reply_at = None
        if role is Step.ACCEPT:
            self._enter_full_operation()
        elif role is Step.READY and self.state is StartupState.FULL:
            self.begin_fpdus()
        elif role in (Step.REQUEST, Step.REQUEST_AGAIN, Step.LATE_ACCEPT) and again:
            # The peer's octets so far belong to a startup that was rejected.
            self.resume_streaming(half.peer)

    def _enter_full_operation(self) -> None:
        """Begin FPDUs in both directions, or only the Responder's if an Rtr Frame may come."""
        self.is_silent = True
        if self.may_await_rtr:
            self.state = StartupState.ACCEPTED
            self._begin_fpdus(self.sides[1])
        else:
            self.begin_fpdus()

    def begin_fpdus(self) -> None:
        """Begin FPDUs in each direction where they have not begun (RFC 5044 7.1.2)."""
        self.state = StartupState.FULL
        for half in self.sides:
            self._begin_fpdus(half)
        self.origins = [0, 0]
        self.received_at.clear()

    def _begin_fpdus(self, half: HalfConnection) -> None:
        if half.phase is Phase.HELD:
            carried = self._carried(half)
            dialect = None if self.last is None else self.last.dialect
            transitions.enter_full_operation(half, carried, dialect=dialect)

    def _carried(self, half: HalfConnection) -> Inferred:
        """Return what a direction carries after its startup frame, as startup frames show."""
        direction = half.direction
        markers, crc = bool(self.has_markers(direction)), bool(self.uses_crc)
        return Inferred(self.origins[direction], markers, crc)

    # -- the first octets of the Initiator -------------------------------------------------------

    def find_rtr(self, *, final: bool) -> None:
        """Take the Rtr Frame after a Reply that accepts, or begin FPDUs if there is none.

        S in Request and Reply of revision 1 announces an Rtr Frame (rtr-frame-proposal-2007 2), or
        means nothing.  The Initiator's octets are held until the first ones show which.

        :param final: nothing more will come.
        """
        half, _ = self.sides
        position = self.origins[half.direction]
        island = half.islands.at(position)
        if island is None or not island.holds(position):
            # Octets after a hole do not show what begins at the position.
            if final and (half.high or 0) <= position:
                self.begin_fpdus()
            return
        is_short = island.end < position + STARTUP_HEADER_LENGTH
        # All octets sent may be too few for an Rtr Frame.
        is_none = final and is_short and island.end == half.high
        found = False if is_none else rtr_at(island, position, final=final)
        if half.phase in (Phase.HELD, Phase.FULL) and isinstance(found, FoundStartup):
            half.owner.on_startup(half, island, found)
        elif found is not None:
            self.begin_fpdus()

    # -- refuted startup frames --------------------------------------------------------------

    def refute(self, half: HalfConnection) -> None:
        """Forget a startup frame: the octets after it show that it was part of a payload.

        After a rejection these are octets of streaming mode, which show nothing.
        """
        if self.state is StartupState.REJECTED:
            return
        self.forget()
        streaming = streaming_of(half)
        if streaming is not None:
            streaming.refute()

    def forget(self) -> None:
        """Forget all startup frames: none belongs to the octets that follow."""
        self.state = StartupState.IDLE
        self._begin(None)
        self.is_silent = False
        self.negotiating = None

    # -- after a startup frame ----------------------------------------------------------------

    def resume_streaming(self, *halves: HalfConnection) -> None:
        """Go back to streaming mode, and look for startup frames, first those of the Initiator."""
        back = [half for half in halves if transitions.resume_streaming(half)]
        for half in sorted(back, key=lambda half: half.direction != self.initiator):
            streaming = streaming_of(half)
            if streaming is not None:
                streaming.resume()

    def look_after_end(self, half: HalfConnection) -> None:
        """Look for another Request directly after a startup frame.

        After a rejection, look for anything (RFC 5044 7.1.2 rule 3).
        """
        progress = -1
        # Octets that were captured before may hold several startups.
        for _ in range(_STARTUPS):
            if half.phase is not Phase.HELD or sum(self.origins) == progress:
                return
            progress = sum(self.origins)
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
        """Find out what a rejected connection is used for.

        It goes back to streaming mode (RFC 5044 7.1.2 rule 3).  But some Initiators send FPDUs even
        so, and some Responders set R without rejecting: Linux siw echoes R.
        """
        reach = startup_reach(island, origin)
        if reach:
            if reach <= island.end:
                self.resume_streaming(half)
            return
        carried = self._carried(half)
        reader = FPDUReader(origin, markers=carried.markers, crc=carried.crc)
        verdict = reader.verifies(island, origin)
        if verdict:
            text = "FPDUs although the Reply rejects (RFC 5044 7.1.2 rules 2, 3)"
            half.wrong(None, origin, text)
            transitions.enter_full_operation(half, carried)
        elif verdict is False:
            self.resume_streaming(*self.halves)

    def read_before(self, half: HalfConnection, island: Island, found: FoundStartup) -> bool:
        """Read FPDUs before a startup frame in streaming mode; return whether there are any."""
        begin = max(island.start, self.origins[half.direction])
        if half.begin != island.start or not begin < found.position or not island.holds(begin):
            return False
        for markers in (False, True):
            if FPDUReader(begin, markers=markers, crc=True).verifies(island, begin):
                transitions.enter_full_operation(half, Inferred(begin, markers, crc=True))
                return True
        return False
