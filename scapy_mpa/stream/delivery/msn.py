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
    follows: Origin | None
    """What begins there; None once nothing more is to be reported of them."""
    is_lossless: bool
    """Whether nothing was missing before it, so that the sender skipped them."""


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
    _settled: list[Skipped] = field(default_factory=list)
    """As many that are no longer waited for: a sender may use an MSN after higher ones."""

    @property
    def stretches(self) -> int:
        """How many stretches of skipped MSNs are kept that need not be."""
        return max(0, len(self.skipped) + len(self._settled) - 1)

    def place(self, msn: int) -> int:
        """Return the number that stands for an MSN."""
        return first_position(msn) if self.next is None else unwrap(msn, self.next)

    def note(
        self, number: int, position: int, origin: Origin, *, is_lossless: bool
    ) -> Skipped | None:
        """Take note of a message; return what it skips, if it does.

        :param position: of its first octet in the stream.
        :param origin: what brought it.
        :param is_lossless: whether nothing is missing between it and the last one.
        """
        expected = self.next
        if expected is None:
            # Nobody knows which were used before the capture, but none of them in it.
            self.settle(Skipped(self._qn, 0, number, position, origin, is_lossless=False))
            expected = number
        self.next = max(expected, number + 1)
        if number <= expected:
            return None
        return Skipped(self._qn, expected, number, position, origin, is_lossless)

    def settle(self, skipped: Skipped) -> None:
        """Wait no more for what was skipped."""
        # What brought the message after it is of no more use, and there may be very many.
        self._settled.append(skipped._replace(follows=None))
        if len(self._settled) > LATE_SEGMENTS:
            del self._settled[0]

    def due(self, position: float = -1) -> Iterator[Skipped]:
        """Wait no more for what was skipped before a position, nor for the oldest if there is too
        much; give it."""
        skipped = self.skipped
        while skipped and (skipped[0].position <= position or len(skipped) > LATE_SEGMENTS):
            oldest = skipped.pop(0)
            self.settle(oldest)
            yield oldest

    def merge_settled(self) -> None:
        """Keep of what is no longer waited for as little as possible.

        What lies between is taken for skipped as well: then a message that comes again is not
        reported, but none that comes late is said to come again.
        """
        settled = self._settled
        if settled:
            is_lossless = all(each.is_lossless for each in settled)
            whole = max(settled)._replace(first=min(settled).first, is_lossless=is_lossless)
            self._settled = [whole]

    def fill(self, number: int) -> Skipped | None:
        """Take note of a message that comes late; return what it was skipped with, if it was."""
        found = _take_out(self.skipped, number)
        if found is None:
            found = _take_out(self._settled, number)
            if len(self._settled) > LATE_SEGMENTS:
                del self._settled[0]
        return found

    def is_late(self, number: int) -> bool:
        """Tell whether a message with a higher MSN was noted before."""
        return self.next is not None and number < self.next


def _take_out(stretches: list[Skipped], number: int) -> Skipped | None:
    """Take a number out of the stretch that holds it; return what that was."""
    for index, stretch in enumerate(stretches):
        if stretch.first <= number < stretch.end:
            rest = [stretch._replace(end=number), stretch._replace(first=number + 1)]
            del stretches[index]
            for each in reversed(rest):
                if each.first < each.end:
                    stretches.insert(index, each)
            return stretch
    return None
