# SPDX-License-Identifier: GPL-2.0-or-later
"""Text tables, with columns as wide as their longest cells, and lists of names, for a terminal."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from textwrap import wrap
from typing import Final, NamedTuple

_BETWEEN: Final = "  "
_INDENT: Final = "    "
_NOTHING: Final = "0/-"
"""The characters in the cells of a column without information."""


class Column(NamedTuple):
    """One column of a table."""

    heading: str
    right: bool = False
    """Whether its cells are aligned to the right, as numbers are."""
    rank: int = 0
    """If there is no room for all columns, the highest rank is left out first; rank 0 stays."""
    key: str = ""
    """The key of the value in its cells."""


class Table:
    """A table.

    :param rows: the cells of each row, joined by tabs.  There may be very many rows, so each is
        kept as one string.
    :param hidden: the headings of columns that are not shown.
    """

    def __init__(
        self, columns: Sequence[Column], rows: Sequence[str], hidden: Collection[str] = ()
    ) -> None:
        self._rows = rows
        self._headings = [column.heading for column in columns]
        self._widths = [len(heading) for heading in self._headings]
        self._informative: set[int] = set()
        for cells in self._cells():
            self._widths = list(map(max, self._widths, map(len, cells)))
            self._informative |= {at for at, cell in enumerate(cells) if cell.strip(_NOTHING)}
        self._shown = {
            at: column for at, column in enumerate(columns) if column.heading not in hidden
        }
        """The columns that are shown, by their place in a row."""

    def _cells(self) -> Iterator[list[str]]:
        return (row.split("\t") for row in self._rows)

    def fit(self, width: int) -> int:
        """Leave out columns until lines have at most ``width`` characters; return how many.

        Columns in which all cells are zeros or dashes are left out first.
        """
        shown, count = self._shown, len(self._shown)
        order = sorted(shown, key=lambda at: (at not in self._informative, shown[at].rank))
        between = len(_BETWEEN)
        while order and sum(between + self._widths[at] for at in shown) - between > width:
            at = order.pop()
            if shown[at].rank:
                del shown[at]
        return count - len(shown)

    def lines(self) -> Iterator[str]:
        """Yield the lines of the table, the headings first."""
        pattern = _BETWEEN.join(
            f"{{{at}:{'>' if column.right else '<'}{self._widths[at]}}}"
            for at, column in self._shown.items()
        )
        for cells in chain([self._headings], self._cells()):
            yield pattern.format(*cells).rstrip()


def wrapped(entries: Iterable[tuple[str, str]], width: int) -> Iterator[str]:
    """Yield lines of at most ``width`` characters: each name, and its text below it, indented."""
    for name, text in entries:
        yield name
        yield from wrap(text, width, initial_indent=_INDENT, subsequent_indent=_INDENT)
