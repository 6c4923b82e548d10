# SPDX-License-Identifier: GPL-2.0-or-later
"""Message Sequence Numbers of one queue: the next one, and those skipped (RFC 5041 4.3).

The first message on a queue has MSN 1, each further one the next MSN, and 0 follows 0xFFFFFFFF.
Here, each MSN has a number that never wraps, as TCP sequence numbers have positions
(:mod:`~scapy_mpa.stream.sequence`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from scapy_mpa.stream.delivery.assembly import DDPMessage
from scapy_mpa.stream.delivery.segment import Origin
from scapy_mpa.stream.limits import LATE_SEGMENTS
from scapy_mpa.stream.sequence import first_position, unwrap

FIRST_MSN: Final = 1


class Skipped(NamedTuple):
    """Consecutive MSNs without a segment, before an MSN with one."""

    qn: int
    first: int
    end: int
    position: int
    """Position in the stream before which their segments lie."""
    follows: Origin
    """The origin of the segment at that position."""


@dataclass(slots=True, eq=False)
class MSNSequence:
    """The MSNs of one queue, in the order of the stream."""

    _qn: int
    """The Queue Number."""
    next: int | None
    """The number of the next MSN; None if the beginning was not captured."""
    newest: DDPMessage | None = None
    """The message with the highest MSN, while it is open."""
    skipped: list[Skipped] = field(default_factory=list)
    """Skipped MSNs that may still come, oldest first: as many stretches as holes that a late copy
    may fill."""
    _known_from: int = 0
    """From this number on, it is known which MSNs were used.  Earlier ones were skipped, or may
    have been used before the capture."""

    def place(self, msn: int) -> int:
        """Return the number of an MSN."""
        return first_position(msn) if self.next is None else unwrap(msn, self.next)

    def note(self, number: int, position: int, origin: Origin) -> Skipped | None:
        """Note a message; return the MSNs that it skips, if any.

        :param position: its first octet in the stream.
        :param origin: the origin of its first segment.
        """
        expected = self.next
        if expected is None:
            # It is unknown which MSNs were used before the capture.
            expected = self._known_from = number
        self.next = max(expected, number + 1)
        if number <= expected:
            return None
        return Skipped(self._qn, expected, number, position, origin)

    def settle(self, skipped: Skipped) -> None:
        """Wait no more for skipped MSNs."""
        self._known_from = max(self._known_from, skipped.end)

    def due(self, position: float = -1) -> Iterator[Skipped]:
        """Wait no more for MSNs skipped before a position, nor for the oldest of too many; yield
        them."""
        skipped = self.skipped
        while skipped and (skipped[0].position <= position or len(skipped) > LATE_SEGMENTS):
            oldest = skipped.pop(0)
            self.settle(oldest)
            yield oldest

    def comes_again(self, number: int) -> bool:
        """Note a late message; return whether a message with its MSN came before."""
        skipped = self.skipped
        for index, stretch in enumerate(skipped):
            if stretch.first <= number < stretch.end:
                rest = stretch._replace(end=number), stretch._replace(first=number + 1)
                skipped[index : index + 1] = [each for each in rest if each.first < each.end]
                return False
        return number >= self._known_from

    def is_late(self, number: int) -> bool:
        """True if a message with a higher MSN was noted before."""
        return self.next is not None and number < self.next
