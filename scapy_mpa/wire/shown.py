# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes names and values from outside safe for a line on a terminal.

Names, words and values that a message repeats come from outside.  They may hold escape sequences,
line ends and characters that reverse the text, or be megabytes long.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

LONGEST: Final = 64
"""Characters of a value in a message: enough to find the value, and less than a line."""
_LONGEST_COMPARED: Final = 100
"""Characters of a name that is compared, at most: comparing takes time, and real names are
shorter."""


def shown(name: str) -> str:
    """Return a name, such as that of a file: unchanged if it is safe, else in quotes and ASCII.

    It is not shortened, so that the reader can find the file.
    """
    return name if name and name.isprintable() else ascii(name)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, such as ``1 octet`` or ``2 octets``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return a question that suggests similar known names; empty if there are none."""
    # Imported late: it is rarely needed.
    from difflib import get_close_matches

    near = get_close_matches(name, known, 2) if len(name) <= _LONGEST_COMPARED else []
    return f"did you mean {' or '.join(near)}?" if near else ""


def printable(text: str, longest: int = LONGEST) -> str:
    """Return a text without quotes, with unprintable characters escaped, cut if long."""
    return _fitting(text, longest, f"{len(text)} characters")


def quoted(value: object, longest: int = LONGEST) -> str:
    """Return a value as Python writes it, in printable characters, cut if long.

    Only the beginning of a long string is processed, to save time and memory.
    """
    if isinstance(value, str):
        return _fitting(repr(value[: longest + 1]), longest, f"{len(value)} characters")
    if isinstance(value, bytes | bytearray):
        return _fitting(repr(value[: longest + 1]), longest, f"{len(value)} octets")
    try:
        text = repr(value)
    except Exception:
        # repr() fails for integers of thousands of digits, and a foreign class may raise anything.
        return f"<{type(value).__name__}>"
    return printable(text, longest)


def _fitting(text: str, longest: int, size: str) -> str:
    """Return a text escaped; if that is too long, its beginning, and the size of the whole."""
    escaped = ""
    for each in text:
        # An escaped character may take ten characters.
        piece = each if each.isprintable() else each.encode("unicode_escape").decode()
        if len(escaped) + len(piece) > longest:
            return f"{escaped}... ({size})"
        escaped += piece
    return escaped
