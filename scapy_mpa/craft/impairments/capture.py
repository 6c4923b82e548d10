# SPDX-License-Identifier: GPL-2.0-or-later
"""Impairments by the capture: it misses segments, cuts them, or begins too late."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scapy_mpa.craft.given import number, share
from scapy_mpa.craft.impairments.base import MOST, WORD, refuse_sctp
from scapy_mpa.craft.script import IndicationItem, StartupItem
from scapy_mpa.craft.segment import Segment
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.shown import quoted
from scapy_mpa.wire.tcp import SYN

if TYPE_CHECKING:
    from scapy_mpa.craft.conversation import Conversation


@dataclass(frozen=True, slots=True)
class CaptureLoss:
    """Segments of any kind are not captured, although the receiver gets them.

    :raises LocalProtocolError: a value is out of range.
    """

    rate: float
    """The share of segments that are missed, 0 to 1."""

    def __post_init__(self) -> None:
        share("a rate", self.rate)

    def __call__(self, segments: list[Segment], rng: random.Random) -> list[Segment]:
        return [segment for segment in segments if rng.random() >= self.rate]


@dataclass(frozen=True, slots=True)
class SnapLength:
    """Only the first octets of each frame are captured, always with all headers.

    :raises LocalProtocolError: a value is out of range.
    """

    octets: int
    """How many octets of a frame are captured, with the link header."""
    headers: int = 54
    """Octets of the headers, without TCP options: 54 with Ethernet, IPv4 and TCP; see
    :attr:`~scapy_mpa.craft.conversation.Conversation.header_length`."""

    def __post_init__(self) -> None:
        if self.octets < self.headers:
            raise LocalProtocolError(
                f"a snap length of {quoted(self.octets)} octets is below the "
                f"{quoted(self.headers)} of the headers"
            )

    def __call__(self, segments: list[Segment], rng: random.Random) -> list[Segment]:
        return [self._cut(segment) for segment in segments]

    def _cut(self, segment: Segment) -> Segment:
        there = len(segment.octets) if segment.captured is None else segment.captured
        left = max(0, self.octets - self.headers - len(segment.options))
        return replace(segment, captured=left) if left < there else segment


@dataclass(frozen=True, slots=True)
class LateStart:
    """The capture starts in the middle.

    :raises LocalProtocolError: a value is out of range.
    """

    segments: int
    """How many segments are missed, from 0."""

    def __post_init__(self) -> None:
        number("a number of segments", self.segments, 0, MOST)

    def __call__(self, segments: list[Segment], rng: random.Random) -> list[Segment]:
        return segments[self.segments :]


@dataclass(frozen=True, slots=True)
class StartupCut:
    """The capture starts after the startup frames, and after every copy of them.

    With iWARP Framing for TCP, it starts after the adaption indications.

    :raises LocalProtocolError: when called with packets of SCTP.
    """

    conversation: Conversation

    def __call__(self, segments: list[Segment], rng: random.Random) -> list[Segment]:
        refuse_sctp("a cut after startup frames", segments, "use LateStart (--skip)")
        ends = [0, 0]
        for placed in self.conversation.layout():
            if isinstance(placed.item, StartupItem | IndicationItem):
                ends[placed.item.side] = placed.end
        return segments[self._last(segments, ends) + 1 :]

    def _last(self, segments: Sequence[Segment], ends: Sequence[int]) -> int:
        """Return the index of the last segment that begins before the Full Operation Phase."""
        isns = self.conversation.isns
        last = -1
        for index, segment in enumerate(segments):
            if segment.octets or segment.flags & SYN:
                begin = isns[segment.side] + 1 + ends[segment.side] & WORD
                if (segment.seq - begin & WORD) >> 31:
                    last = index
        return last
