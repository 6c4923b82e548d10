# SPDX-License-Identifier: GPL-2.0-or-later
"""A table in text: columns as wide as they must be."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

__all__ = ["Column", "table"]


class Column(NamedTuple):
    """One column of a table."""

    heading: str
    right: bool = False
    """Whether its cells are aligned to the right, as numbers are."""


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table, the headings first.

    :param rows: are gone through twice.
    """
    headings = [column.heading for column in columns]
    widths = list(map(len, headings))
    for cells in rows:
        widths = list(map(max, widths, map(len, cells)))
    pattern = "  ".join(
        f"{{:{'>' if column.right else '<'}{width}}}"
        for width, column in zip(widths, columns, strict=True)
    )
    for cells in chain((headings,), rows):
        yield pattern.format(*cells).rstrip()
