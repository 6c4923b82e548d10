# SPDX-License-Identifier: GPL-2.0-or-later
"""From a line to its words.

A word is anything without white space, or a string in double quotes, in which a backslash has the
meaning that it has in C: ``\\n``, ``\\r``, ``\\t``, ``\\0``, ``\\"``, ``\\\\``, ``\\x41``.
``#`` begins a comment.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from scapy_mpa.craft.scenario.error import ScenarioError

__all__ = ["Word", "words_of"]

_WORD: Final = re.compile(
    r'[ \t]*(?:(#.*)|"((?:[^"\\]|\\.)*)"(?=[ \t#]|$)|([^ \t"#]+)(?=[ \t#]|$))'
)
_ESCAPE: Final = re.compile(r"\\(x[0-9A-Fa-f]{2}|.)")
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", "0": "\0", '"': '"', "\\": "\\"}


class Word(NamedTuple):
    """A word of a line."""

    text: str
    """As it is written, without quotes."""
    octets: bytes | None = None
    """Of a string, what it means."""

    def __str__(self) -> str:
        return repr(self.text) if self.octets is None else f'"{self.text}"'


def words_of(line: str) -> list[Word]:
    """Return the words of a line.

    :raises ScenarioError: a string is not closed, or words and strings touch.
    """
    words = []
    at = 0
    end = len(line.rstrip())
    while at < end:
        found = _WORD.match(line, at, end)
        if found is None:
            rest = line[at:end].strip()
            if rest.startswith('"'):
                text = 'a string ends with ", and what follows is set off by a blank'
            else:
                text = "a string is set off from other words by a blank"
            raise ScenarioError(f"{text}: {rest}")
        at = found.end()
        _, string, word = found.groups()
        if string is not None:
            words.append(Word(string, _octets(string)))
        elif word is not None:
            words.append(Word(word))
    return words


def _octets(string: str) -> bytes:
    """Return what a string means, in UTF-8; ``\\x41`` is one octet."""
    octets = b""
    at = 0
    for escape in _ESCAPE.finditer(string):
        octets += string[at : escape.start()].encode()
        at = escape.end()
        name = escape[1]
        if len(name) == 3:
            octets += bytes.fromhex(name[1:])
        elif name in _ESCAPES:
            octets += _ESCAPES[name].encode()
        else:
            raise ScenarioError(
                f'no escape {escape[0]} in a string; there are \\n \\r \\t \\0 \\" \\\\ and \\x41'
            )
    return octets + string[at:].encode()
