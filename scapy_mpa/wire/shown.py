# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers and what others have written, such that a line on a terminal can hold them.

Names, words and values that a message repeats come from outside: they may hold escape sequences,
line ends and characters that turn the text around, or be megabytes long.
"""

from __future__ import annotations

from typing import Final

LONGEST: Final = 64
"""Characters of a value that a message repeats: enough to find it again, and less than a line."""


def shown(name: str) -> str:
    """Return a name, of a file say, as it is if it is harmless, else in quotes and in ASCII.

    It is not shortened: who reads of a file is to find it.
    """
    return name if name and name.isprintable() else ascii(name)


def counted(number: int, noun: str) -> str:
    """Return a number of what a noun says, such as ``1 octet`` or ``2 octets``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def printable(text: str, longest: int = LONGEST) -> str:
    """Return a text without quotes: other characters than printable ones escaped, cut if long."""
    return _fitting(text, longest, f"{len(text)} characters")


def quoted(value: object, longest: int = LONGEST) -> str:
    """Return a value as Python writes it, in printable characters, cut if long.

    Of a long string only the beginning is looked at, so that this takes no time and memory either.
    """
    if isinstance(value, str):
        return _fitting(repr(value[: longest + 1]), longest, f"{len(value)} characters")
    if isinstance(value, bytes | bytearray):
        return _fitting(repr(value[: longest + 1]), longest, f"{len(value)} octets")
    try:
        text = repr(value)
    except Exception:
        # An integer of thousands of digits has none, and a stranger's class may raise anything.
        return f"<{type(value).__name__}>"
    return printable(text, longest)


def _fitting(text: str, longest: int, size: str) -> str:
    """Return a text escaped; if that is too long, its beginning, and the size of the whole."""
    escaped = ""
    for each in text:
        # Escaped, a character may be ten.
        piece = each if each.isprintable() else each.encode("unicode_escape").decode()
        if len(escaped) + len(piece) > longest:
            return f"{escaped}... ({size})"
        escaped += piece
    return escaped
