# SPDX-License-Identifier: GPL-2.0-or-later
"""What is over and stays for a while, so that what comes late finds it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Final, Generic, TypeVar

from scapy_mpa.stream.limits import LATE_SEGMENTS
from scapy_mpa.stream.segment import BEFORE_ALL_NS, SECOND

LINGER_NS: Final = 30 * SECOND
"""Nanoseconds for which what is over still takes late copies as its own."""

LINGERING_CONNECTIONS: Final = 1024
"""How many may linger at one time; the one that is over for longest goes first."""

_WITNESSES: Final = LATE_SEGMENTS
"""Others that must have come before what may still be missing something is let go for their sake.

Each interface that was captured from may have a clock of its own, and nothing tells the first word
of another clock from a pause."""

_Each = TypeVar("_Each")


class Lingering(Generic[_Each]):
    """Those that are over, the one that is so for longest first.

    The time of the capture is the latest one seen here.  So where there are several clocks, it is
    that of the one that is ahead, and no other is held against it.
    """

    __slots__ = ("_latest_ns", "_until", "_witnesses", "apart_ns")

    def __init__(self) -> None:
        self._until: OrderedDict[_Each, tuple[int, int]] = OrderedDict()
        """By who lingers, up to when it does, and the witness that is enough to let it go."""
        self._latest_ns = BEFORE_ALL_NS
        self._witnesses = 0
        self.apart_ns = 0
        """How far what was captured later has been after what was captured before, at most."""

    def add(self, each: _Each, time_ns: int, *, may_gain: bool) -> None:
        """Take one that is over.

        :param time_ns: when what ended it was captured.
        :param may_gain: whether something of it is missing that may yet come.
        """
        self._latest_ns = max(self._latest_ns, time_ns)
        enough = self._witnesses + (_WITNESSES if may_gain else 0)
        self._until[each] = self._latest_ns + LINGER_NS, enough

    def refresh(self, each: _Each, time_ns: int) -> None:
        """Have one linger anew that is here, since something more of it has come.

        :param time_ns: when that was captured.
        """
        _, enough = self._until.pop(each)
        self._latest_ns = max(self._latest_ns, time_ns)
        self._until[each] = self._latest_ns + LINGER_NS, enough

    def discard(self, each: _Each) -> None:
        """Forget one, if it is here."""
        self._until.pop(each, None)

    def exchange(self, each: _Each, other: _Each) -> None:
        """Have another one linger in place of one that is here."""
        self._until = OrderedDict(
            (other if known is each else known, until) for known, until in self._until.items()
        )

    def outstays(self, each: _Each, time_ns: int) -> bool:
        """Tell whether one has lingered for long enough when something of its own comes.

        :param time_ns: when that was captured.
        """
        until_ns, enough = self._until.get(each, (time_ns, 0))
        return until_ns < time_ns and enough <= self._witnesses

    def witness(self, time_ns: int) -> Iterator[_Each]:
        """Take note of something of others; yield who has lingered for long enough then.

        Who is yielded must be discarded before the next one is asked for.

        :param time_ns: when it was captured.
        """
        self._witnesses += 1
        if time_ns >= self._latest_ns:
            self._latest_ns = time_ns
        else:
            self.apart_ns = max(self.apart_ns, self._latest_ns - time_ns)
        while self._until:
            each, (until_ns, enough) = next(iter(self._until.items()))
            if not (until_ns < time_ns and enough <= self._witnesses):
                return
            yield each

    def surplus(self) -> Iterator[_Each]:
        """Yield those that are too many; the same holds for them."""
        while len(self._until) > LINGERING_CONNECTIONS:
            yield next(iter(self._until))
