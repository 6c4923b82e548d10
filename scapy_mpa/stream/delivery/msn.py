# SPDX-License-Identifier: GPL-2.0-or-later
"""Message Sequence Numbers of one queue: which come next, which were skipped (RFC 5041 4.3).

The first message on a queue has MSN 1, each further one the next number, and 0 follows
0xFFFFFFFF.  Inside, a number that never wraps stands for an MSN, as positions do for TCP sequence
numbers (:mod:`~scapy_mpa.stream.sequence`).
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
    """MSNs with others after them, of which no segment was seen."""

    qn: int
    first: int
    end: int
    position: int
    """Position in the stream before which their segments lie."""
    follows: Origin
    """What begins there."""


@dataclass(slots=True, eq=False)
class MSNSequence:
    """The MSNs of one queue, in the order of the stream."""

    _qn: int
    """The Queue Number."""
    next: int | None
    """What stands for the MSN that comes next; None: the beginning was not captured."""
    holes: int
    """How many holes the direction had when the last message began, as its owner counts; fewer
    if others may have been sent before the first one, which then may lack what they lie in."""
    newest: DDPMessage | None = None
    """The message with the highest MSN, while it is open."""
    skipped: list[Skipped] = field(default_factory=list)
    """What was skipped and may yet be filled, in the order in which it was noticed: as many
    stretches as holes that a late copy may fill."""
    _known_from: int = 0
    """From this MSN on it is known which were used.  Those before it were skipped, or were used
    before the capture."""

    def place(self, msn: int) -> int:
        """Return the number that stands for an MSN."""
        return first_position(msn) if self.next is None else unwrap(msn, self.next)

    def note(self, number: int, position: int, origin: Origin) -> Skipped | None:
        """Take note of a message; return what it skips, if it does.

        :param position: of its first octet in the stream.
        :param origin: what brought it.
        """
        expected = self.next
        if expected is None:
            # Nobody knows which were used before the capture.
            expected = self._known_from = number
        self.next = max(expected, number + 1)
        if number <= expected:
            return None
        return Skipped(self._qn, expected, number, position, origin)

    def settle(self, skipped: Skipped) -> None:
        """Wait no more for what was skipped."""
        self._known_from = max(self._known_from, skipped.end)

    def due(self, position: float = -1) -> Iterator[Skipped]:
        """Wait no more for what was skipped before a position, nor for the oldest if there is too
        much; give it."""
        skipped = self.skipped
        while skipped and (skipped[0].position <= position or len(skipped) > LATE_SEGMENTS):
            oldest = skipped.pop(0)
            self.settle(oldest)
            yield oldest

    def comes_again(self, number: int) -> bool:
        """Take note of a message that comes late; tell whether one with its MSN came before."""
        skipped = self.skipped
        for index, stretch in enumerate(skipped):
            if stretch.first <= number < stretch.end:
                rest = stretch._replace(end=number), stretch._replace(first=number + 1)
                skipped[index : index + 1] = [each for each in rest if each.first < each.end]
                return False
        return number >= self._known_from

    def is_late(self, number: int) -> bool:
        """Tell whether a message with a higher MSN was noted before."""
        return self.next is not None and number < self.next
