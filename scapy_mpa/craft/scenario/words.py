# SPDX-License-Identifier: GPL-2.0-or-later
"""Splits a line of a scenario into words.

A word is any text without white space, or a string in double quotes.  In a string, a backslash
means what it means in C: ``\\n``, ``\\r``, ``\\t``, ``\\0``, ``\\"``, ``\\\\``, ``\\x41``.
``#`` begins a comment.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from scapy_mpa.craft.scenario.error import ScenarioError
from scapy_mpa.wire.shown import printable, quoted

MOST_WORDS: Final = 64
"""Words of a line, at most: more than any step takes, but not so many that memory runs out."""

_NEXT: Final = re.compile(r'[ \t]*([^ \t"#]*)')
"""Blanks, and the word after them: none before a string, a comment and the end of the line."""
_END_OF_WORD: Final = re.compile(r"[ \t#]|$")
_MARK: Final = re.compile(r'\\(x[0-9A-Fa-f]{2}|.?)|"')
"""An escape in a string, or the end of the string.

It is searched for repeatedly: an expression for a whole string would keep a place to backtrack to
for each character."""
_ESCAPES: Final = {"n": b"\n", "r": b"\r", "t": b"\t", "0": b"\0", '"': b'"', "\\": b"\\"}
_STRING_WANTED: Final = 'a string ends with ", then a blank or the end of the line'


class Word(NamedTuple):
    """A word of a line."""

    text: str
    """The text as written, without quotes."""
    octets: bytes | None = None
    """The octets of a string; None: the word is not a string."""

    def __str__(self) -> str:
        """The word as error messages show it."""
        return quoted(self.text) if self.octets is None else f'"{printable(self.text)}"'


def words_of(line: str) -> list[Word]:
    """Return the words of a line.

    :raises ScenarioError: a string is not closed, words and strings touch, there are too many
        words, or a character has no octets in UTF-8.
    """
    words: list[Word] = []
    line = line.rstrip()
    at = 0
    while found := _NEXT.match(line, at):
        begin, at = found.span(1)
        if begin == at and not line.startswith('"', at):
            break
        if len(words) == MOST_WORDS:
            raise ScenarioError(f"more than {MOST_WORDS} words in one line; no step takes so many")
        if begin < at:
            word, wanted = Word(found[1]), "a blank must separate a string from other words"
        else:
            (word, at), wanted = _string(line, at), _STRING_WANTED
        if _END_OF_WORD.match(line, at) is None:
            raise ScenarioError(f"{wanted}: {printable(line[begin:])}")
        words.append(word)
    return words


def _string(line: str, begin: int) -> tuple[Word, int]:
    """Return the string that begins with quotes at a place, and the place after it.

    Its octets are UTF-8; ``\\x41`` is one octet.

    :raises ScenarioError: it is not closed, an escape is unknown, or a character has no octets in
        UTF-8.
    """
    octets = bytearray()
    at = begin + 1
    for mark in _MARK.finditer(line, at):
        octets += _utf8(line[at : mark.start()])
        at = mark.end()
        name = mark[1]
        if name is None:
            return Word(line[begin + 1 : at - 1], bytes(octets)), at
        if len(name) == 3:
            octets += bytes.fromhex(name[1:])
        elif name in _ESCAPES:
            octets += _ESCAPES[name]
        elif name:
            raise ScenarioError(
                f"no escape {printable(mark[0])} in a string; there are "
                '\\n \\r \\t \\0 \\" \\\\ and \\x41'
            )
    raise ScenarioError(f"{_STRING_WANTED}: {printable(line[begin:])}")


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ScenarioError(
            f"the character {quoted(text[error.start])} has no octets in UTF-8; write "
            "octets as \\x41"
        ) from error
