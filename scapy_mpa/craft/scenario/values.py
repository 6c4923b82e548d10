# SPDX-License-Identifier: GPL-2.0-or-later
"""Readers of the values of a scenario, from words."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import isfinite
from random import Random
from typing import Any, Final, TypeAlias

from scapy_mpa.craft.endpoint import Endpoint
from scapy_mpa.craft.scenario.error import ScenarioError
from scapy_mpa.craft.scenario.words import Word

LARGEST_SCENARIO: Final = 1 << 28
"""Octets of payload, at most: a conversation takes some three times its payload in memory."""

MOST_PIECES: Final = 1 << 21
"""FPDUs and segments, at most: each takes one or two objects, about half a kilobyte."""

_FRAMING: Final = 64
"""More octets than a piece of payload has around it: headers, pad, CRC."""

_DRAWN: Final = 1 << 20
"""Random octets that are made at a time: a multiple of 4."""

_NUMBER: Final = re.compile(r"0x[0-9A-Fa-f]{1,16}|[0-9][0-9_]{0,24}")
_HEX: Final = re.compile(r"hex:([0-9A-Fa-f]*)")
_ENDPOINT: Final = re.compile(r"(?:\[([^\]]+)\]|([^:]+)):([0-9]{1,5})")


class Chance:
    """Makes random data of a given size, and counts all data against the limits.

    :param seed: the same seed makes the same octets.
    :param room: the most octets of payload in an FPDU.
    :param mss: the most octets in a segment.
    """

    def __init__(
        self, seed: int | str, room: int = LARGEST_SCENARIO, mss: int = LARGEST_SCENARIO
    ) -> None:
        self._rng = Random(seed)
        self._left = LARGEST_SCENARIO
        self._room = room
        self._mss = mss
        self._pieces_left = MOST_PIECES

    def octets(self, size: int) -> bytes:
        """Return random octets.

        :raises ScenarioError: the scenario has too many octets.
        """
        self.take(size)
        # Making them piece by piece gives the same octets, and takes less memory.
        pieces = [_DRAWN] * (size // _DRAWN) + [size % _DRAWN]
        return b"".join(map(self._rng.randbytes, pieces))

    def take(self, size: int) -> None:
        """Count octets of payload.

        :raises ScenarioError: the scenario has too many octets.
        """
        self._left -= size
        if self._left < 0:
            raise ScenarioError(f"more than {LARGEST_SCENARIO} octets of data in one scenario")
        self.take_pieces(-(-size // self._room), size)

    def take_pieces(self, count: int, size: int = 0) -> None:
        """Count FPDUs, or frames or chunks, and the segments that carry them.

        :param size: octets of payload in all of them.
        :raises ScenarioError: the scenario has too many of them.
        """
        self._pieces_left -= count - (-(size + count * _FRAMING) // self._mss)
        if self._pieces_left < 0:
            raise ScenarioError(
                f"more than {MOST_PIECES} FPDUs or segments in one scenario; send less, or make "
                "them larger (mss, mulpdu)"
            )


Read: TypeAlias = Callable[[Word, Chance], Any]
"""Returns the value of a word, or raises ScenarioError."""


def number(low: int, high: int) -> Read:
    """Read a number: decimal, or hexadecimal after ``0x``."""

    def read(word: Word, chance: Chance) -> int:
        if word.octets is None and _NUMBER.fullmatch(word.text):
            value = int(word.text, 0) if word.text[:2] == "0x" else int(word.text.replace("_", ""))
            if low <= value <= high:
                return value
        raise ScenarioError(f"a number from {low} to {high} is wanted, not {word}")

    return read


def field(bits: int) -> Read:
    """Read the number of a field of so many bits."""
    return number(0, (1 << bits) - 1)


def data(word: Word, chance: Chance) -> bytes:
    """Read data: how many octets, a string, or octets in hexadecimal."""
    if word.octets is not None:
        chance.take(len(word.octets))
        return word.octets
    if word.text[:4] == "hex:":
        found = _HEX.fullmatch(word.text)
        if found is None or len(found[1]) % 2:
            raise ScenarioError(f"hex: is followed by pairs of hexadecimal digits, not {word}")
        chance.take(len(found[1]) // 2)
        return bytes.fromhex(found[1])
    if _NUMBER.fullmatch(word.text):
        return chance.octets(number(0, LARGEST_SCENARIO)(word, chance))
    raise ScenarioError(
        f'data are wanted, not {word}: a size such as 1000, a string in quotes such as "hello", or '
        "hex:00112233"
    )


def seconds(low: float, high: float) -> Read:
    """Read a time in seconds."""

    def read(word: Word, chance: Chance) -> float:
        try:
            value = float(word.text) if word.octets is None else float("nan")
        except ValueError:
            value = float("nan")
        if isfinite(value) and low <= value <= high:
            return value
        raise ScenarioError(f"seconds from {low:.0f} to {high:.0f} are wanted, not {word}")

    return read


def choice(values: dict[str, Any]) -> Read:
    """Read one of some words."""

    def read(word: Word, chance: Chance) -> Any:
        if word.octets is None and word.text in values:
            return values[word.text]
        raise ScenarioError(f"one of {', '.join(values)} is wanted, not {word}")

    return read


def text(word: Word, chance: Chance) -> str:
    """Read a word as it is."""
    if word.octets is not None:
        raise ScenarioError(f"a word without quotes is wanted, not {word}")
    return word.text


def flags(word: Word, chance: Chance) -> str:
    """Read control flags: letters, or ``none``."""
    return "" if word == Word("none") else text(word, chance)


def endpoint(word: Word, chance: Chance) -> Endpoint:
    """Read address and port."""
    found = _ENDPOINT.fullmatch(word.text) if word.octets is None else None
    if found is None:
        raise ScenarioError(
            f"address and port are wanted, such as 10.0.0.1:4000 or [fd00::1]:4000, not {word}"
        )
    return Endpoint(found[1] or found[2], int(found[3]))
