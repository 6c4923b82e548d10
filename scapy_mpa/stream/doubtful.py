# SPDX-License-Identifier: GPL-2.0-or-later
"""Errors that only the end of a connection proves, for what a capture lacks may be to blame.

There may be very many connections that wait for their end, so few errors of each are kept, and no
more of one than its event needs.  Of the others it is told how many they were.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from scapy_mpa.stream.events import ConnectionId, ErrorFound
from scapy_mpa.wire.rules import Violation

__all__ = ["DOUBTFUL", "Doubt", "Doubtful"]

DOUBTFUL: Final = 8
"""Errors of one kind that are kept; the one after them may say how many more came."""


class Doubt(NamedTuple):
    """An error that may be none: what its event needs beside the connection."""

    direction: int
    frame: int
    time_ns: int
    seq: int
    text: str

    def error(self, connection: ConnectionId) -> ErrorFound:
        """Return it as the event that it is if nothing is missing from the capture."""
        direction, frame, time_ns, seq, text = self
        return ErrorFound(connection, direction, frame, time_ns, None, seq, text)


@dataclass(slots=True, eq=False)
class Doubtful:
    """Errors of one kind that wait for the end of a connection."""

    _kept: dict[int, Doubt] = field(default_factory=dict)
    _counted: int = 0
    """How many others came."""
    _first_counted: Doubt | None = None
    _is_vague: bool = False
    """Whether some of these were none, nobody knows which."""

    def __len__(self) -> int:
        """How many are kept."""
        return len(self._kept)

    def add(self, key: int, doubt: Doubt) -> None:
        """Take an error.

        :param key: what :meth:`withdraw` names it by; it takes the place of one with the same.
        """
        if key in self._kept or len(self._kept) < DOUBTFUL:
            self._kept[key] = doubt
            return
        if not self._counted:
            self._first_counted = doubt
        self._counted += 1

    def withdraw(self, key: int) -> bool:
        """Take it that an error was none; tell whether that one was kept.

        If it was not, it may be among those that are only counted: then there is one less of them,
        for rather too few are told than one too many.
        """
        if self._kept.pop(key, None) is not None:
            return True
        if self._counted:
            self._counted -= 1
            self._is_vague = self._counted > 0
        return False

    def only_count(self) -> None:
        """Keep none of the errors, only how many they are, and where the first one is."""
        if not self._kept:
            return
        first = next(iter(self._kept.values()))
        if (
            not self._counted
            or self._first_counted is None
            or first.frame < self._first_counted.frame
        ):
            self._first_counted = first
        self._counted += len(self._kept)
        self._kept.clear()

    def errors(
        self, connection: ConnectionId, summary: Callable[[int], Violation]
    ) -> list[ErrorFound]:
        """Return the errors, none of which was withdrawn, as events.

        :param summary: what to say of as many, from the first of them on, as are only counted.
        """
        told = list(self._kept.values())
        if self._counted and self._first_counted is not None:
            doubt = self._first_counted
            if self._counted > 1 or self._is_vague:
                doubt = doubt._replace(text=str(summary(self._counted)))
            told.append(doubt)
        return [each.error(connection) for each in told]
