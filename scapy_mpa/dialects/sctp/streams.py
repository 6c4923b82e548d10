# SPDX-License-Identifier: GPL-2.0-or-later
"""The streams of one SCTP association: which DDP Stream Session a chunk belongs to (RFC 5043 6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scapy_mpa.dialects.sctp.session import Session
from scapy_mpa.dialects.sctp.tsn import TSNSpace
from scapy_mpa.wire.sctp_ddp import ANSWERS, INITIATES, SessionControl

__all__ = ["Streams", "begins_session"]


def begins_session(ddp_ssn: int, control: SessionControl | None) -> bool:
    """Tell whether a session begins with this: an Initiate with DDP-SSN 0 (RFC 5043 6.1)."""
    return control is not None and control.function_code in INITIATES and not ddp_ssn


class Streams:
    """Finds the sessions of an association.

    :param tsns: by direction, those that have come.
    """

    __slots__ = ("_current", "_tsns")

    def __init__(self, tsns: Sequence[TSNSpace]) -> None:
        self._current: dict[int, Session] = {}
        """By Stream Identifier, the last session on a pair of SCTP streams."""
        self._tsns = tsns

    def __bool__(self) -> bool:
        return bool(self._current)

    def __iter__(self) -> Iterator[Session]:
        """Iterate over the last session of each stream."""
        return iter(self._current.values())

    def current(self, number: int) -> Session | None:
        """Return the last session on a stream, None if there is none."""
        return self._current.get(number)

    def some(self, number: int) -> Session | None:
        """Return the last session on a stream, or else on any."""
        return self._current.get(number) or next(iter(self), None)

    def add(self, number: int, session: Session) -> Session | None:
        """Add a session; return the one to which no chunk can come any more, if there is one."""
        before = self._current.get(number)
        self._current[number] = session
        if before is None:
            return None
        session.previous, gone, before.previous = before, before.previous, None
        return gone

    def session_of(self, direction: int, number: int, position: int) -> Session | None:
        """Return the session on a stream to which a TSN belongs.

        A stream is not used again while chunks of the session before may be outstanding (RFC 5043
        6.6), so a TSN below the highest of that session is one of its.
        """
        current = self._current.get(number)
        previous = None if current is None else current.previous
        if previous is not None and position <= previous.halves[direction].highest_position:
            return previous
        return current

    def is_of_next(
        self,
        session: Session,
        direction: int,
        position: int,
        ddp_ssn: int,
        control: SessionControl | None,
    ) -> bool:
        """Tell whether a chunk is not of a session on its stream, but of another one after it."""
        if begins_session(ddp_ssn, control):
            return self._begins_anew(session, direction, position)
        half = session.halves[direction]
        if position <= half.highest_position:
            return False
        # Of another session the Initiate was not captured.
        if control is not None and control.function_code in ANSWERS and not ddp_ssn:
            # After the end of a session it answers the Initiate of the next one, though nothing
            # else shows that there was any.
            return half.is_over or (not self.is_gapless and half.begun and bool(half.expected))
        return half.is_over and not self.is_gapless

    def _begins_anew(self, session: Session, direction: int, position: int) -> bool:
        """Tell whether an Initiate with DDP-SSN 0 is the beginning of another session.

        What a direction begins with has the lowest TSN (RFC 5043 6.6).
        """
        highest = session.halves[direction].highest_position
        if highest >= 0:
            return position > highest
        # Of a session that is over it may come late, unless its own is known to be missing.
        return session.is_over and self._tsns[direction].lacks_before(position)

    @property
    def is_gapless(self) -> bool:
        """Whether no DATA chunk is known to be missing."""
        return all(each.is_gapless for each in self._tsns)
