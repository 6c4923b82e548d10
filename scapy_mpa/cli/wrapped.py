# SPDX-License-Identifier: GPL-2.0-or-later
"""Names with their descriptions, in lines that fit a terminal."""

from collections.abc import Iterable, Iterator
from textwrap import wrap
from typing import Final

_INDENT: Final = "    "


def wrapped(entries: Iterable[tuple[str, str]], width: int) -> Iterator[str]:
    """Yield lines of at most ``width`` characters: each name, and its text below it, indented."""
    for name, text in entries:
        yield name
        yield from wrap(text, width, initial_indent=_INDENT, subsequent_indent=_INDENT)
