# SPDX-License-Identifier: GPL-2.0-or-later
"""One DDP Stream Session: the events of its chunks, and its rules (RFC 5043 6, RFC 6581 7)."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from scapy_mpa.dialects.sctp.half import Message, SessionHalf, Turn
from scapy_mpa.dialects.sctp.tsn import Captured, TSNOrder
from scapy_mpa.stream.events import (
    ChunksMissing,
    ConnectionEnded,
    DDPSegmentRecovered,
    Ending,
    ErrorFound,
    Event,
    SctpConnectionId,
    SessionControlSeen,
)
from scapy_mpa.stream.limits import LATE_SEGMENTS
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.forced import session_dialect
from scapy_mpa.wire.rules import Violation
from scapy_mpa.wire.sctp_ddp import (
    DDP_SSN_LENGTH,
    FUNCTION_NAMES,
    SESSION_CONTROL_LENGTH,
    SessionControl,
)
from scapy_mpa.wire.sctp_rules import (
    NEXT,
    SEGMENT,
    HalfState,
    Role,
    answer_violation,
    control_violations,
    data_violations,
    order_violation,
    rejected_violation,
    role_of,
    unfinished_violation,
)

_MASK: Final = 0xFFFF


@dataclass(slots=True, eq=False)
class Session:
    """A session, from its first chunk on."""

    identity: SctpConnectionId
    """The connection of its events."""
    _emit: Callable[[Event], None]
    """Takes its events."""
    halves: tuple[SessionHalf, SessionHalf]
    _tsns: tuple[TSNOrder, TSNOrder]
    """The TSNs of the association.  If some are missing, a wrong order of messages may come from
    the capture."""
    _dialect: Dialect | None = None
    """The dialect forced by the user."""
    _errors: int = 0
    _current: tuple[int, int] = (0, 0)
    """Frame and time of the message processed: the place of its errors."""
    _newest: tuple[int, int] = (0, 0)
    """The last frame of all messages processed, and its time: the place of the end."""

    # -- in --------------------------------------------------------------------------------------

    def take(
        self, direction: int, captured: Captured, ddp_ssn: int, control: SessionControl | None
    ) -> None:
        """Take a user message of a direction.

        :param control: its session control message, None if it is a DDP Segment Chunk.
        """
        half, peer = self.halves[direction], self.halves[1 - direction]
        message = Message(half.serial_of(ddp_ssn), captured, control)
        if control is not None:
            # It shows the role before its turn comes.
            self._role(direction, control.function_code)
        if not half.waiting and half.is_due(message, peer):
            self._take_turn(direction, message)
        else:
            insort(half.waiting, message, key=attrgetter("serial"))
            self._tsns[direction].held += captured.held
            self._deliver(direction)

    def take_short(self, direction: int) -> None:
        """Take a chunk that is too short for a DDP-SSN: the next one may be any."""
        # If TSNs are missing, the missing DDP-SSNs are theirs.  Else one may be this chunk's.
        self._deliver(direction, give_up=self._tsns[direction].missing is not None)
        self.halves[direction].may_skip = True
        self._deliver(direction)

    def give_up(self) -> None:
        """Process the messages that wait, whatever is missing."""
        for direction in (0, 1):
            self._deliver(direction, give_up=True)

    def _deliver(self, direction: int, *, give_up: bool = False) -> None:
        """Process the waiting messages whose turn it is.

        :param give_up: whether none waits any longer.
        """
        half, peer = self.halves[direction], self.halves[1 - direction]
        waiting = half.waiting
        while waiting and (
            give_up or len(waiting) > LATE_SEGMENTS or half.is_due(waiting[0], peer)
        ):
            message = waiting.pop(0)
            self._tsns[direction].held -= message.captured.held
            self._take_turn(direction, message)

    def _take_turn(self, direction: int, message: Message) -> None:
        """Process a message whose turn it is."""
        half, captured, tsn = self.halves[direction], message.captured, message.captured.chunk.tsn
        self.note(captured.frame, captured.time_ns)
        if half.expected is not None and message.serial < half.expected:
            self._process(direction, message)
            if half.is_whole:
                ddp_ssn = message.serial & _MASK
                what = Violation(f"DDP-SSN {ddp_ssn} is used twice", "RFC 5043 5.2.1")
                if message.serial < 0:
                    what = Violation(f"DDP-SSN {ddp_ssn} comes before 0", "RFC 5043 6.1")
                self._report_order(direction, tsn, what)
            return
        had_begun = half.state is not HalfState.START
        turn = Turn(message.serial, message.code, tsn)
        self._note_missing(direction, turn)
        self._process(direction, message)
        if turn.code == SEGMENT or turn.code in FUNCTION_NAMES:
            self._check_order(direction, turn)
        half.last = turn
        if not had_begun and half.state is not HalfState.START:
            # The answer may have waited for it.
            self._deliver(1 - direction)

    def _process(self, direction: int, message: Message) -> None:
        """Report a user message, and what is wrong with it alone."""
        half, chunk, control = self.halves[direction], message.captured.chunk, message.control
        half.octets += len(chunk.user_data)
        self._report(direction, message)
        for what in data_violations(chunk):
            if what.clause not in half.reported:
                half.reported.add(what.clause)
                self.error(direction, chunk.tsn, what)
        for what in () if control is None else control_violations(control, chunk.length):
            self.error(direction, chunk.tsn, what)

    def _report(self, direction: int, message: Message) -> None:
        """Report a user message."""
        serial, captured, control = message
        half, chunk, ahead = self.halves[direction], captured.chunk, captured.ahead
        place = self.identity, direction, captured.frame, captured.time_ns, chunk.tsn, chunk.stream
        octets, unordered, frames = chunk.user_data, chunk.unordered, captured.frames
        if control is None:
            half.counters.fpdus += 1
            if ahead > 0:
                half.counters.count_ahead(1, ahead)
            length = chunk.length - DDP_SSN_LENGTH
            self._emit(
                DDPSegmentRecovered(
                    *(*place, serial, half.begun, length, octets, unordered),
                    *(captured.crc, ahead > 0, frames),
                )
            )
        else:
            dialect = session_dialect(control.function_code, self._dialect)
            length = chunk.length - SESSION_CONTROL_LENGTH
            self._emit(
                SessionControlSeen(
                    *(*place, octets, length, unordered, ahead > 0, frames, control, dialect)
                )
            )

    def error(self, direction: int, seq: int, what: Violation) -> None:
        """Report an error, with the number and time of the frame noted last.

        :param seq: TSN.
        """
        self._errors += 1
        self._emit(ErrorFound(self.identity, direction, *self._current, None, seq, str(what)))

    def note(self, frame: int, time_ns: int) -> None:
        """Note a frame that belongs to the session."""
        self._current = frame, time_ns
        self._newest = max(self._newest, self._current)

    # -- in the order of DDP-SSNs ----------------------------------------------------------------

    def _note_missing(self, direction: int, turn: Turn) -> None:
        """Report the DDP-SSNs missing before a chunk.

        If no TSN is missing, the sender has skipped them.
        """
        half = self.halves[direction]
        begin, half.expected = half.expected, turn.serial + 1
        may_skip, half.may_skip = half.may_skip, False
        if begin is None or begin == turn.serial:
            return
        length = turn.serial - begin
        half.is_whole = False
        if may_skip:
            return
        reason = self._tsns[direction].missing
        if reason is None and not begin:
            what = Violation(f"the first DDP-SSN is {length & _MASK}, not 0", "RFC 5043 6.1")
            self.error(direction, turn.seq, what)
        elif reason is None:
            text = f"{length} DDP-SSNs from {begin & _MASK} on were never used"
            self.error(direction, turn.seq, Violation(text, "RFC 5043 6"))
        else:
            half.counters.gaps += 1
            if half.state is HalfState.START:
                # The first message of the direction may be missing.
                half.state = HalfState.OPEN
            place = *self._current, begin & _MASK
            self._emit(ChunksMissing(self.identity, direction, *place, length, reason, begin))

    def _check_order(self, direction: int, turn: Turn) -> None:
        """Check a chunk against the state of its direction."""
        half = self.halves[direction]
        code = turn.code
        role = self._role(direction, code)
        found = order_violation(role, half.state, code)
        if found is None:
            if half.first is None and code != SEGMENT:
                half.first = turn
                if role is None and half.state is HalfState.START:
                    # Only the passive side may begin with a Terminate (RFC 5043 6.4).
                    role = Role.PASSIVE
                    self.identity.initiator = 1 - direction
            half.state = NEXT[role or Role.ACTIVE, half.state, code]
        else:
            if code != SEGMENT or half.state not in half.reported:
                # Only the first segment in a wrong state is reported.
                half.reported.add(half.state)
                self._report_order(direction, turn.seq, found)
            if half.state is HalfState.START:
                half.state = HalfState.EARLY

    def _role(self, direction: int, code: int) -> Role | None:
        """Return the side that sends in a direction, None if unknown."""
        if self.identity.initiator is None:
            role = role_of(code)
            if role is not None:
                self.identity.initiator = direction if role is Role.ACTIVE else 1 - direction
            return role
        return Role.ACTIVE if direction == self.identity.initiator else Role.PASSIVE

    # -- the end ---------------------------------------------------------------------------------

    def finish(self, ending: Ending, *, whole: bool) -> None:
        """Report the end of the session.

        :param ending: used if the messages of the session do not show how it ended.
        :param whole: all DATA chunks of all streams and both directions were captured.
        """
        self.give_up()
        self._compare(may_be_unfinished=whole and ending == "closed")
        halves = self.halves
        is_rejected = any(half.state in (HalfState.REJECTED, HalfState.REFUSED) for half in halves)
        terminated = sum(half.has_terminated for half in halves)
        if is_rejected or terminated == len(halves) or (terminated and ending == "closed"):
            ending = "closed"
        elif terminated:
            ending = "half closed"
        initiator, responder = None, None
        if self.identity.initiator is not None:
            endpoints = self.identity.endpoints
            initiator = endpoints[self.identity.initiator]
            responder = endpoints[1 - self.identity.initiator]
        self._emit(
            ConnectionEnded(
                connection=self.identity,
                direction=self.identity.initiator or 0,
                frame=self._newest[0],
                time_ns=self._newest[1],
                initiator=initiator,
                responder=responder,
                dialect=Dialect.RFC5043,
                revision=None,
                crc=None,
                rejected=is_rejected,
                halves=(halves[0].summary(), halves[1].summary()),
                errors=self._errors,
                ending=ending,
            )
        )

    def _compare(self, *, may_be_unfinished: bool) -> None:
        """Report the errors that only both directions together show.

        :param may_be_unfinished: messages that were not sent are errors, too.
        """
        direction = self.identity.initiator
        if direction is None:
            return
        active, passive = self.halves[direction], self.halves[1 - direction]
        if active.first is not None and passive.first is not None:
            what = answer_violation(active.first.code, passive.first.code)
            self._report_order(1 - direction, passive.first.seq, what)
        if active.begun and active.last is not None and active.last.serial:
            self._report_order(direction, active.last.seq, rejected_violation(passive.state))
        if may_be_unfinished and active.is_whole and passive.is_whole:
            what = unfinished_violation(
                (active.state, active.first_code), (passive.state, passive.first_code)
            )
            if what is not None:
                self.error(direction, 0, what)

    def _report_order(self, direction: int, seq: int, what: Violation | None) -> None:
        """Report a wrong order of messages, unless the capture may lack some."""
        if what is not None and all(each.missing is None for each in self._tsns):
            self.error(direction, seq, what)
