# SPDX-License-Identifier: GPL-2.0-or-later
"""One direction of a DDP Stream Session: its chunks in the order of their DDP-SSNs (RFC 5043 6.1).

Chunks are unordered for SCTP, so they are placed as they come; what must be looked at in the
normative order waits here until all before it have come, or are known to stay missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final, NamedTuple

from scapy_mpa.stream.events import HalfSummary
from scapy_mpa.wire.sctp_ddp import ANSWERS, INITIATES
from scapy_mpa.wire.sctp_session import HalfState
from scapy_mpa.wire.startup import StartupFrame

__all__ = ["WAITING_CHUNKS", "SessionHalf", "Turn"]

WAITING_CHUNKS: Final = 4096
"""Chunks of one direction that may wait for earlier ones, an eighth of what RFC 5043 10 lets be
under way: beyond it, the oldest hole is given up."""

_LAP: Final = 1 << 16
_HALF_LAP: Final = 1 << 15
_MASK: Final = _LAP - 1


class Turn(NamedTuple):
    """A chunk that waits for its turn."""

    serial: int
    """Its DDP-SSN, counted on where that wraps."""
    order: int
    """So that nothing after it is ever compared."""
    code: int
    """Function code, or SEGMENT."""
    seq: int
    """TSN."""
    frame: int
    time_ns: int
    number: int
    """Its DDP-SSN as it is."""
    is_whole: bool = True
    """Whether its sender sent more of it than its DDP-SSN."""


@dataclass(slots=True, eq=False)
class SessionHalf:
    """One direction of a session."""

    begun: bool
    """Whether the session begins in the capture, so that DDP-SSN 0 is awaited."""
    expected: int | None = field(init=False)
    """The serial number whose turn it is, None before the first chunk of an unknown beginning."""
    state: HalfState = field(init=False)
    is_whole: bool = field(init=False)
    """Whether no DDP-SSN was given up."""
    first_code: int | None = None
    """Function code of the message that the direction began with."""
    startup: StartupFrame | None = None
    """What the enhanced message is equivalent to that it began with, None if there is none."""
    first_segment: tuple[bytes, int] | None = None
    """The head of its first DDP segment, and the octets of the whole segment."""
    told: set[object] = field(default_factory=set)
    """What need not be reported again."""
    highest_position: int = -1
    """Of the TSNs of its chunks."""
    _waiting: list[Turn] = field(default_factory=list)
    _count: int = 0
    segments: int = 0
    octets: int = 0
    crc_bad: int = 0
    gaps: int = 0
    out_of_order: int = 0
    retransmitted: int = 0
    farthest_ahead: int = 0

    def __post_init__(self) -> None:
        self.expected = 0 if self.begun else None
        self.state = HalfState.START if self.begun else HalfState.OPEN
        self.is_whole = self.begun

    def serial_of(self, ddp_ssn: int, code: int) -> int:
        """Return the serial number of a chunk: the one closest to what is awaited."""
        if self.expected is None:
            if ddp_ssn == 0 and (code in INITIATES or code in ANSWERS):
                # What a direction begins with shows its beginning (RFC 5043 6.1).
                self.begun = self.is_whole = True
                self.state = HalfState.START
                self.expected = 0
                return 0
            # One lap up, so that what is captured late still has a number above zero.
            self.expected = ddp_ssn + _LAP
        near = self.expected
        serial = near + ((ddp_ssn - near + _HALF_LAP) & _MASK) - _HALF_LAP
        return serial + _LAP if serial < 0 else serial

    def take(self, turn: Turn) -> None:
        """Take a chunk."""
        self._count += 1
        heappush(self._waiting, turn._replace(order=self._count))

    def due(self) -> Iterator[tuple[Turn, bool]]:
        """Yield the chunks whose turn it is, and whether it was before."""
        waiting = self._waiting
        while waiting:
            assert self.expected is not None
            serial = waiting[0].serial
            if serial > self.expected:
                return
            turn = heappop(waiting)
            is_late = serial < self.expected
            if not is_late:
                self.expected += 1
            yield turn, is_late

    @property
    def waiting(self) -> int:
        """How many chunks wait."""
        return len(self._waiting)

    def hole(self) -> tuple[int, int] | None:
        """Return the first hole that chunks wait after: serial number and length."""
        if not self._waiting or self.expected is None:
            return None
        return self.expected, self._waiting[0].serial - self.expected

    def skip(self, *, is_lost: bool) -> None:
        """Wait no longer for what is in the first hole.

        :param is_lost: whether there was anything in it.
        """
        if is_lost:
            self.note_loss()
        self.is_whole = False
        self.expected = self._waiting[0].serial

    def note_loss(self) -> None:
        """Take note that a chunk is missing."""
        if self.state is HalfState.START:
            # It may have been the message that the direction begins with.
            self.state = HalfState.OPEN
        self.is_whole = False

    @property
    def is_over(self) -> bool:
        """Whether the sender has nothing more to say."""
        return self.state in (HalfState.DONE, HalfState.REJECTED, HalfState.REFUSED)

    @property
    def has_terminated(self) -> bool:
        """Whether it ended with a Terminate."""
        return self.state in (HalfState.DONE, HalfState.REFUSED)

    def summary(self) -> HalfSummary:
        """Return what it carried."""
        return HalfSummary(
            markers=False,
            fpdus=self.segments,
            octets=self.octets,
            crc_bad=self.crc_bad,
            gaps=self.gaps,
            out_of_order=self.out_of_order,
            retransmitted=self.retransmitted,
            farthest_ahead=self.farthest_ahead,
        )
