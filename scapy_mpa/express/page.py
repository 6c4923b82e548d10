# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of text in the making: patterns, and the fields that fill them, many at a time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["LINES_OF_A_PAGE", "Page"]

LINES_OF_A_PAGE = 512
"""Lines after which a page is worth a write."""

_WHOLE_LINE = b"%b\n"


class Page:
    """Lines that are not written yet.

    To fill hundreds of patterns in one go takes half of what it takes to fill them one by one,
    and this is what a listing spends most of its time on.
    """

    __slots__ = ("fields", "patterns")

    def __init__(self) -> None:
        self.patterns: list[bytes] = []
        """For :func:`bytes.__mod__`, each with its line's end."""
        self.fields: list[Any] = []
        """What fills them, one behind the other."""

    def add(self, lines: Iterable[str]) -> None:
        """Add lines as they are."""
        for line in lines:
            self.patterns.append(_WHOLE_LINE)
            self.fields.append(line.encode())

    def take(self) -> bytes:
        """Return the text, and begin a new page."""
        text = b"".join(self.patterns) % tuple(self.fields)
        self.patterns.clear()
        self.fields.clear()
        return text

    def mark(self) -> tuple[int, int]:
        """Return how far the page is filled."""
        return len(self.patterns), len(self.fields)

    def cut(self, mark: tuple[int, int]) -> None:
        """Take back what was added since :meth:`mark`."""
        del self.patterns[mark[0] :], self.fields[mark[1] :]
