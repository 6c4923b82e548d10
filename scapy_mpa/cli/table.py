# SPDX-License-Identifier: GPL-2.0-or-later
"""A table in text: columns as wide as they must be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Column", "table"]


class Column(NamedTuple):
    """One column of a table."""

    heading: str
    right: bool = False
    """Whether its cells are aligned to the right, as numbers are."""


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table, the headings first."""
    lines = [[column.heading for column in columns], *rows]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if column.right else cell.ljust(width)
            for cell, width, column in zip(cells, widths, columns, strict=True)
        ).rstrip()
        for cells in lines
    ]
