# SPDX-License-Identifier: GPL-2.0-or-later
"""One direction of a DDP Stream Session: its chunks in the order of their DDP-SSNs (RFC 5043 6.1).

Chunks are unordered for SCTP, so they are placed as they come; what must be looked at in the
normative order waits here until all before it have come, or are known to stay missing.
"""

from __future__ import annotations

from collections.abc import Iterator
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
    """So that nothing behind it is ever compared."""
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


class SessionHalf:
    """One direction of a session.

    :param begun: whether the session begins in the capture, so that DDP-SSN 0 is awaited.
    """

    __slots__ = (
        "_count",
        "_waiting",
        "begun",
        "crc_bad",
        "expected",
        "farthest_ahead",
        "first_code",
        "first_segment",
        "gaps",
        "highest_position",
        "is_whole",
        "octets",
        "out_of_order",
        "retransmitted",
        "segments",
        "startup",
        "state",
        "told",
    )

    def __init__(self, *, begun: bool) -> None:
        self.begun = begun
        self.expected: int | None = 0 if begun else None
        """The serial number whose turn it is, None before the first chunk of an unknown
        beginning."""
        self.state = HalfState.START if begun else HalfState.OPEN
        self.first_code: int | None = None
        """Function code of the message that the direction began with."""
        self.startup: StartupFrame | None = None
        """What the enhanced message is equivalent to that it began with, None if there is none."""
        self.first_segment: tuple[bytes, int] | None = None
        """The head of its first DDP segment, and the octets of the whole segment."""
        self.is_whole = begun
        """Whether no DDP-SSN was given up."""
        self.told: set[object] = set()
        """What need not be reported again."""
        self.highest_position = -1
        """Of the TSNs of its chunks."""
        self._waiting: list[Turn] = []
        self._count = 0
        self.segments = 0
        self.octets = 0
        self.crc_bad = 0
        self.gaps = 0
        self.out_of_order = 0
        self.retransmitted = 0
        self.farthest_ahead = 0

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

    def note_position(self, position: int) -> None:
        """Take note of the TSN of a chunk."""
        self.highest_position = max(self.highest_position, position)

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
        """Return the first hole that chunks wait behind: serial number and length."""
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
