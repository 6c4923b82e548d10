# SPDX-License-Identifier: GPL-2.0-or-later
"""One direction of a DDP Stream Session: its chunks in the order of their DDP-SSNs (RFC 5043 6.1).

Chunks are unordered for SCTP, so they are placed as they come; what must be read in the normative
order waits here until all before it has come, or is known to stay missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from scapy_mpa.stream.events import HalfSummary
from scapy_mpa.stream.startup.negotiation import LONGEST_RTR
from scapy_mpa.wire.sctp_ddp import SessionControl
from scapy_mpa.wire.sctp_session import HalfState
from scapy_mpa.wire.startup import StartupFrame

WAITING_CHUNKS: Final = 4096
"""Chunks of one direction that may wait for earlier ones, an eighth of what RFC 5043 10 lets be
under way: beyond it, all holes are given up."""

_LAP: Final = 1 << 16
_HALF_LAP: Final = 1 << 15
_MASK: Final = _LAP - 1


class Turn(NamedTuple):
    """A chunk that waits for its turn."""

    serial: int
    """Its DDP-SSN, counted on where that wraps."""
    code: int
    """Function code, or SEGMENT."""
    seq: int
    """TSN."""


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
    first: Turn | None = None
    """The message that the direction legally begins with."""
    last: Turn | None = None
    """The chunk whose turn was last."""
    startup: StartupFrame | None = None
    """What the enhanced message is equivalent to that it began with, None if there is none."""
    first_segment: tuple[bytes, int] | None = None
    """The head of its first DDP segment, and the octets of the whole segment."""
    reported: set[object] = field(default_factory=set)
    """What need not be reported again."""
    highest: int = -1
    """Position of the highest TSN of its chunks."""
    waiting: dict[int, Turn] = field(default_factory=dict)
    """Chunks that wait for their turn, by serial number."""
    segments: int = 0
    octets: int = 0
    gaps: int = 0
    out_of_order: int = 0
    retransmitted: int = 0
    farthest_ahead: int = 0

    def __post_init__(self) -> None:
        self.expected = 0 if self.begun else None
        self.state = HalfState.START if self.begun else HalfState.OPEN
        self.is_whole = self.begun

    def serial_of(self, ddp_ssn: int) -> int:
        """Return the serial number of a chunk: the one closest to what is awaited."""
        if self.expected is None:
            # One lap up, so that what is captured late still has a number above zero.
            self.expected = ddp_ssn + _LAP
        near = self.expected
        serial = near + ((ddp_ssn - near + _HALF_LAP) & _MASK) - _HALF_LAP
        return serial + _LAP if serial < 0 else serial

    def note_control(self, serial: int, control: SessionControl) -> None:
        """Take note of the message that the direction begins with, if it has enhanced data."""
        if self.begun and serial == 0 and control.enhanced and self.startup is None:
            self.startup = control.startup

    def note_segment(self, serial: int, ulpdu: bytes, ulpdu_length: int) -> None:
        """Take note of the first DDP segment.

        :param ulpdu: as far as it was captured.
        """
        head = ulpdu[:LONGEST_RTR]
        is_there = len(head) == min(ulpdu_length, LONGEST_RTR)
        if self.begun and serial == 1 and self.first_segment is None and is_there:
            self.first_segment = head, ulpdu_length

    def has_had(self, serial: int) -> bool:
        """Tell whether a chunk with this serial number came before, or is not waited for."""
        assert self.expected is not None
        return serial < self.expected or serial in self.waiting

    def due(self) -> Iterator[Turn]:
        """Yield the chunks whose turn it is."""
        assert self.expected is not None
        while (turn := self.waiting.pop(self.expected, None)) is not None:
            self.expected += 1
            yield turn

    @property
    def first_code(self) -> int | None:
        """Function code of the message that the direction legally begins with."""
        return None if self.first is None else self.first.code

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
            crc_bad=0,
            gaps=self.gaps,
            out_of_order=self.out_of_order,
            retransmitted=self.retransmitted,
            farthest_ahead=self.farthest_ahead,
            may_lack_end=not self.has_terminated,
        )
