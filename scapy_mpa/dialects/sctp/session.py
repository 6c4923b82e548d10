# SPDX-License-Identifier: GPL-2.0-or-later
"""One DDP Stream Session: its chunks as events, and its rules (RFC 5043 6, RFC 6581 7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from scapy_mpa.dialects.sctp.fragments import UserMessage
from scapy_mpa.dialects.sctp.half import WAITING_CHUNKS, SessionHalf, Turn
from scapy_mpa.dialects.sctp.negotiation import negotiated, note_control, note_segment
from scapy_mpa.stream.doubtful import Doubt, Doubtful
from scapy_mpa.stream.events import (
    ChunksMissing,
    ConnectionEnded,
    DDPSegmentRecovered,
    Ending,
    ErrorFound,
    Event,
    GapReason,
    SctpConnectionId,
    SessionControlSeen,
)
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.forced import session_dialect
from scapy_mpa.wire.rules import Violation
from scapy_mpa.wire.sctp_ddp import DDP_SSN_LENGTH, SessionControl
from scapy_mpa.wire.sctp_rules import control_violations, data_violations
from scapy_mpa.wire.sctp_session import (
    NEXT,
    SEGMENT,
    HalfState,
    Role,
    answer_violation,
    order_violation,
    rejected_violation,
    role_of,
    unfinished_violation,
)

__all__ = ["Session"]

_MASK: Final = 0xFFFF


@dataclass(slots=True, eq=False)
class Session:
    """A session, from its first chunk on."""

    identity: SctpConnectionId
    """What its events are given."""
    _emit: Callable[[Event], None]
    """Takes its events."""
    halves: tuple[SessionHalf, SessionHalf]
    _dialect: Dialect | None = None
    """What the user says is spoken."""
    previous: Session | None = None
    """The one before on its stream, to which chunks may still come late."""
    is_initiated: bool = False
    """Whether the first of its chunks that was captured is its Initiate."""
    _active: int | None = None
    """The direction in which the active side sends."""
    _doubtful: Doubtful = field(default_factory=Doubtful)
    """What is wrong with the order of messages, unless DATA chunks are missing, which may be known
    only later: then it may be the capture's fault."""
    _errors: int = 0
    _frame: int = 0
    _time_ns: int = 0

    # -- in --------------------------------------------------------------------------------------

    def take(
        self, direction: int, message: UserMessage, ddp_ssn: int, control: SessionControl | None
    ) -> None:
        """Take a whole chunk.

        :param control: what is in it, None if it is a DDP Segment Chunk.
        """
        half = self.halves[direction]
        chunk = message.chunk
        frame, time_ns, frames = message.frame, message.time_ns, message.frames
        self.note(frame, time_ns)
        code = SEGMENT if control is None else control.function_code
        serial = half.serial_of(ddp_ssn, code)
        assert half.expected is not None
        ahead = serial - half.expected
        is_ahead = ahead > 0
        half.highest_position = max(half.highest_position, message.position)
        half.octets += len(chunk.user_data)
        place = self.identity, direction, frame, time_ns, chunk.tsn, chunk.stream
        octets, unordered, crc = chunk.user_data, chunk.unordered, message.crc
        if control is None:
            half.segments += 1
            half.out_of_order += is_ahead
            half.farthest_ahead = max(half.farthest_ahead, ahead)
            length = chunk.length - DDP_SSN_LENGTH
            note_segment(half, serial, octets[DDP_SSN_LENGTH:], length)
            found = DDPSegmentRecovered(
                *place, serial, half.begun, length, octets, unordered, crc, is_ahead, frames
            )
            self._emit(found)
        else:
            note_control(half, serial, control)
            dialect = session_dialect(code, self._dialect)
            seen = SessionControlSeen(*place, octets, unordered, is_ahead, frames, control, dialect)
            self._emit(seen)
        turn = Turn(serial, 0, code, chunk.tsn, frame, time_ns, ddp_ssn)
        for what in data_violations(chunk):
            self._tell_once(direction, turn, what.clause, what)
        if control is not None:
            for what in control_violations(control, chunk.length):
                self.error(direction, turn.seq, what)
        self._wait(direction, turn)

    def take_short(self, direction: int, ddp_ssn: int) -> None:
        """Take a chunk that is too short for more than its DDP-SSN."""
        serial = self.halves[direction].serial_of(ddp_ssn, SEGMENT)
        self._wait(direction, Turn(serial, 0, SEGMENT, 0, 0, 0, ddp_ssn, is_whole=False))

    def _wait(self, direction: int, turn: Turn) -> None:
        """Let a chunk wait for its turn, which it may be."""
        half = self.halves[direction]
        half.take(turn)
        self._deliver(direction)
        if half.waiting > WAITING_CHUNKS:
            self._skip(direction, "limit")

    def error(self, direction: int, seq: int, what: Violation) -> None:
        """Report something that is wrong with what the last frame brought.

        :param seq: TSN.
        """
        self._report(direction, self._frame, self._time_ns, seq, what)

    def note(self, frame: int, time_ns: int) -> None:
        """Take note of a frame that has to do with the session."""
        self._frame, self._time_ns = frame, time_ns

    def relieve(self) -> None:
        """Wait for nothing."""
        for direction in (0, 1):
            while self.halves[direction].waiting:
                self._skip(direction, "limit")

    @property
    def waiting(self) -> int:
        """How many chunks wait for others."""
        return self.halves[0].waiting + self.halves[1].waiting

    @property
    def is_over(self) -> bool:
        """Whether one of the sides has ended it."""
        return any(half.is_over for half in self.halves)

    # -- in the order of DDP-SSNs ----------------------------------------------------------------

    def _deliver(self, direction: int) -> None:
        half = self.halves[direction]
        for turn, is_late in half.due():
            if not turn.is_whole:
                if not is_late:
                    half.note_loss()
            elif is_late:
                # It may still tell which side is which.
                self._role(direction, turn.code)
                self._note_copy(direction, turn)
            else:
                self._look_at(direction, turn)

    def _note_copy(self, direction: int, turn: Turn) -> None:
        """Report a DDP-SSN that is used twice, if it was there before."""
        if self.halves[direction].is_whole:
            what = Violation(f"DDP-SSN {turn.number} is used twice", "RFC 5043 5.2.1")
            self._claim(direction, turn, what)

    def _look_at(self, direction: int, turn: Turn) -> None:
        """Hold a chunk against what came before it."""
        half = self.halves[direction]
        code = turn.code
        role = self._role(direction, code)
        found = order_violation(role, half.state, code)
        if found is not None:
            if code != SEGMENT or half.state not in half.told:
                # Of segments the first will do.
                half.told.add(half.state)
                self._claim(direction, turn, found)
            if half.state is HalfState.START:
                # Once will do.
                half.state = HalfState.OPEN
        else:
            if half.state is HalfState.START:
                half.first_code = code
                if role is None:
                    # Only the passive side may begin with a Terminate (RFC 5043 6.4).
                    role = Role.PASSIVE
                    self._active = 1 - direction
            elif role is None:
                role = Role.ACTIVE
            half.state = NEXT[role, half.state, code]
        self._compare(direction, turn)

    def _role(self, direction: int, code: int) -> Role | None:
        """Return which side a direction is sent by, None if that is not known."""
        if self._active is None:
            role = role_of(code)
            if role is not None:
                self._active = direction if role is Role.ACTIVE else 1 - direction
            return role
        return Role.ACTIVE if direction == self._active else Role.PASSIVE

    def _compare(self, direction: int, turn: Turn) -> None:
        """Hold what one side has sent against what the other one has."""
        if self._active is None:
            return
        active, passive = self.halves[self._active], self.halves[1 - self._active]
        if active.first_code is not None and passive.first_code is not None:
            found = answer_violation(active.first_code, passive.first_code)
            if found is not None and "answer" not in passive.told:
                passive.told.add("answer")
                self._claim(1 - self._active, turn, found)
        if active.begun and (active.expected or 0) > 1:
            found = rejected_violation(passive.state)
            if found is not None and "rejected" not in active.told:
                active.told.add("rejected")
                self._claim(self._active, turn, found)

    # -- holes -----------------------------------------------------------------------------------

    def _skip(self, direction: int, reason: GapReason, *, is_skipped: bool = False) -> None:
        """Give up the first hole of a direction.

        :param is_skipped: whether nothing is missing from the capture, so that there is no chunk
            with these DDP-SSNs.
        """
        half = self.halves[direction]
        hole = half.hole()
        assert hole is not None
        serial, length = hole
        if is_skipped:
            first = serial & _MASK
            what = Violation(f"{length} DDP-SSNs from {first} on were never used", "RFC 5043 6")
            if not serial:
                what = Violation(f"the first DDP-SSN is {length & _MASK}, not 0", "RFC 5043 6.1")
            self._report(direction, self._frame, self._time_ns, 0, what)
        else:
            half.gaps += 1
            frame, time_ns = self._frame, self._time_ns
            self._emit(
                ChunksMissing(
                    self.identity, direction, frame, time_ns, serial & _MASK, length, reason, serial
                )
            )
        half.skip(is_lost=not is_skipped)
        self._deliver(direction)

    # -- the end ---------------------------------------------------------------------------------

    def finish(
        self,
        ending: Ending,
        reason: GapReason,
        *,
        whole: bool,
        sure: bool,
        orderly: bool,
    ) -> None:
        """Report what is left to say.

        :param ending: if the session itself does not say how it ended.
        :param reason: why what is missing is not waited for any longer.
        :param whole: whether all DATA chunks were captured, of all streams and both directions.
        :param sure: whether what is wrong with the order of messages is their sender's fault.
        :param orderly: whether nothing more could come because the association was shut down, or
            its stream used for another session.
        """
        for direction in (0, 1):
            while self.halves[direction].waiting:
                self._skip(direction, reason, is_skipped=whole and self.halves[direction].begun)
        halves = self.halves
        if sure:
            found = self._doubtful.errors(self.identity, _more_errors)
            self._errors += len(found)
            for each in found:
                self._emit(each)
        active = self._active
        is_whole = whole and all(half.is_whole for half in halves)
        if orderly and is_whole and active is not None:
            own, peers = halves[active], halves[1 - active]
            unfinished = unfinished_violation(
                (own.state, own.first_code), (peers.state, peers.first_code)
            )
            if unfinished is not None:
                self.error(active, 0, unfinished)
        is_rejected = any(half.state in (HalfState.REJECTED, HalfState.REFUSED) for half in halves)
        terminated = sum(half.has_terminated for half in halves)
        if is_rejected or terminated == len(halves) or (terminated and ending == "closed"):
            ending = "closed"
        elif terminated:
            ending = "half closed"
        endpoints = self.identity.endpoints
        self._emit(
            ConnectionEnded(
                connection=self.identity,
                direction=active or 0,
                frame=self._frame,
                time_ns=self._time_ns,
                initiator=None if active is None else endpoints[active],
                responder=None if active is None else endpoints[1 - active],
                dialect=Dialect.RFC5043,
                revision=None,
                crc=None,
                rejected=is_rejected,
                halves=(halves[0].summary(), halves[1].summary()),
                errors=self._errors,
                ending=ending,
                negotiated=(
                    None
                    if active is None
                    else negotiated(halves[active], halves[1 - active], self._dialect)
                ),
            )
        )

    # -- out -------------------------------------------------------------------------------------

    def _tell_once(self, direction: int, turn: Turn, what: object, found: Violation) -> None:
        """Report what is wrong with a chunk, unless the like was reported of the direction."""
        told = self.halves[direction].told
        if what not in told:
            told.add(what)
            self._report(direction, turn.frame, turn.time_ns, turn.seq, found)

    def _claim(self, direction: int, turn: Turn, what: Violation) -> None:
        """Report what is wrong with the order of messages, in the end."""
        doubt = Doubt(direction, turn.frame, turn.time_ns, turn.seq, str(what))
        self._doubtful.add(len(self._doubtful), doubt)

    def _report(self, direction: int, frame: int, time_ns: int, seq: int, what: Violation) -> None:
        self._errors += 1
        self._emit(ErrorFound(self.identity, direction, frame, time_ns, None, seq, str(what)))


def _more_errors(count: int) -> Violation:
    return Violation(f"{count} more such errors from here on", "RFC 5043 6")
