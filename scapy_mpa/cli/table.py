# SPDX-License-Identifier: GPL-2.0-or-later
"""A table in text: columns as wide as they must be."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

_BETWEEN: Final = "  "
_NOTHING: Final = "0/-"
"""What the cells of a column consist of that has nothing to say."""


class Column(NamedTuple):
    """One column of a table."""

    heading: str
    right: bool = False
    """Whether its cells are aligned to the right, as numbers are."""
    rank: int = 0
    """Where there is no room for all columns, the one with the highest rank goes first; 0 stays."""
    key: str = ""
    """What its cells show, of whatever the rows are made of."""


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table, the headings first.

    :param rows: are gone through twice.
    """
    headings = [column.heading for column in columns]
    pattern = _BETWEEN.join(
        f"{{:{'>' if column.right else '<'}{width}}}"
        for width, column in zip(_widths(columns, rows), columns, strict=True)
    )
    for cells in chain((headings,), rows):
        yield pattern.format(*cells).rstrip()


def fitting(columns: Sequence[Column], rows: Iterable[Sequence[str]], width: int) -> list[Column]:
    """Return those of a table's columns for which a line of ``width`` characters has room.

    Columns in which all cells are zeros or dashes go first.
    """
    shown = dict(zip(columns, _widths(columns, rows), strict=True))
    telling = {
        column
        for cells in rows
        for column, cell in zip(columns, cells, strict=True)
        if cell.strip(_NOTHING)
    }
    order = sorted(columns, key=lambda column: (column not in telling, column.rank))
    while order and sum(shown.values()) + len(_BETWEEN) * (len(shown) - 1) > width:
        column = order.pop()
        if column.rank:
            del shown[column]
    return list(shown)


def _widths(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> list[int]:
    """Return how wide the columns of a table must be."""
    widths = [len(column.heading) for column in columns]
    for cells in rows:
        widths = list(map(max, widths, map(len, cells)))
    return widths
