# SPDX-License-Identifier: GPL-2.0-or-later
"""Text tables, with columns as wide as their longest cells."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

_BETWEEN: Final = "  "
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


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table, the headings first.

    :param rows: are iterated twice.
    """
    headings = [column.heading for column in columns]
    pattern = _BETWEEN.join(
        f"{{:{'>' if column.right else '<'}{width}}}"
        for width, column in zip(_widths(columns, rows), columns, strict=True)
    )
    for cells in chain((headings,), rows):
        yield pattern.format(*cells).rstrip()


def fitting(columns: Sequence[Column], rows: Iterable[Sequence[str]], width: int) -> list[Column]:
    """Return the columns that fit a line of ``width`` characters.

    Columns in which all cells are zeros or dashes are left out first.
    """
    shown = dict(zip(columns, _widths(columns, rows), strict=True))
    informative = {
        column
        for cells in rows
        for column, cell in zip(columns, cells, strict=True)
        if cell.strip(_NOTHING)
    }
    order = sorted(columns, key=lambda column: (column not in informative, column.rank))
    while order and sum(shown.values()) + len(_BETWEEN) * (len(shown) - 1) > width:
        column = order.pop()
        if column.rank:
            del shown[column]
    return list(shown)


def _widths(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> list[int]:
    """Return the widths of the columns of a table."""
    widths = [len(column.heading) for column in columns]
    for cells in rows:
        widths = list(map(max, widths, map(len, cells)))
    return widths
