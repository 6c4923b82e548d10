# SPDX-License-Identifier: GPL-2.0-or-later
"""One direction of a DDP Stream Session: its state, and its DDP-SSNs (RFC 5043 6.1)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from scapy_mpa.dialects.sctp.tsn import Captured
from scapy_mpa.stream.events import HalfSummary
from scapy_mpa.stream.halves.counters import Counters
from scapy_mpa.wire.sctp_ddp import ANSWERS, REJECTS, FunctionCode, SessionControl
from scapy_mpa.wire.sctp_rules import SEGMENT, HalfState

_HALF_LAP: Final = 1 << 15
_MASK: Final = 0xFFFF
_ENDS: Final = REJECTS | {FunctionCode.TERMINATE}
"""Function codes after which a sender must not send any more."""


class Message(NamedTuple):
    """A user message of a session."""

    serial: int
    """Its DDP-SSN, as a number that never wraps."""
    captured: Captured
    control: SessionControl | None
    """Its session control message, None if it is a DDP Segment Chunk."""

    @property
    def code(self) -> int:
        """Its function code, or SEGMENT."""
        return SEGMENT if self.control is None else self.control.function_code


class Turn(NamedTuple):
    """A chunk, as far as its order matters."""

    serial: int
    """Its DDP-SSN, as a number that never wraps."""
    code: int
    """Function code, or SEGMENT."""
    seq: int
    """TSN."""


@dataclass(slots=True, eq=False)
class SessionHalf:
    """One direction of a session."""

    begun: bool
    """True if the session begins in the capture, so that DDP-SSN 0 is expected."""
    expected: int | None = field(init=False)
    """The next serial number; None before the first chunk if the beginning is unknown."""
    state: HalfState = field(init=False)
    is_whole: bool = field(init=False)
    """False if the beginning is unknown, or a DDP-SSN is missing."""
    may_skip: bool = False
    """True if the next DDP-SSN may be any: a chunk that is too short came before."""
    waiting: list[Message] = field(default_factory=list)
    """By serial number, then by arrival, the messages after a missing one, or before the peer's
    Initiate."""
    first: Turn | None = None
    """The first message of the direction, if it may come first."""
    last: Turn | None = None
    """The last chunk."""
    reported: set[object] = field(default_factory=set)
    """States and clauses whose violations need not be reported again."""
    octets: int = 0
    counters: Counters = field(default_factory=Counters)

    def __post_init__(self) -> None:
        self.expected = 0 if self.begun else None
        self.state = HalfState.START if self.begun else HalfState.OPEN
        self.is_whole = self.begun

    def serial_of(self, ddp_ssn: int) -> int:
        """Return the serial number of a chunk: the one closest to the expected number."""
        near = ddp_ssn if self.expected is None else self.expected
        return near + ((ddp_ssn - near + _HALF_LAP) & _MASK) - _HALF_LAP

    def is_due(self, message: Message, peer: SessionHalf) -> bool:
        """Return whether it is a message's turn, or its turn is past.

        A message waits for earlier DDP-SSNs, since SCTP may send in another order (RFC 5043 5.2.1).
        An answer waits for the Initiate.
        """
        if self.state is peer.state is HalfState.START and message.code in ANSWERS:
            return False
        return self.may_skip or self.expected is None or message.serial <= self.expected

    @property
    def first_code(self) -> int | None:
        """Function code of ``first``."""
        return None if self.first is None else self.first.code

    @property
    def is_over(self) -> bool:
        """True if the sender must not send any more after what it has sent."""
        is_ended = self.state in (HalfState.DONE, HalfState.REJECTED, HalfState.REFUSED)
        return is_ended or any(each.code in _ENDS for each in self.waiting)

    @property
    def has_terminated(self) -> bool:
        """True if it ended with a Terminate."""
        return self.state in (HalfState.DONE, HalfState.REFUSED)

    def summary(self) -> HalfSummary:
        """Return the summary of this direction."""
        summary = self.counters.summary(self.octets, markers=False)
        return summary._replace(may_lack_end=not self.has_terminated)
