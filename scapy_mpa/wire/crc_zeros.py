# SPDX-License-Identifier: GPL-2.0-or-later
"""Undoes zeros in a CRC32c: the register before them is linear in the register after them."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cache
from typing import Final, TypeAlias

_BITS_OF_CRC: Final = 32
_BITS_OF_WORD: Final = 32
_HIGHEST_BIT: Final = 1 << _BITS_OF_CRC - 1
_ALL_BITS: Final = (1 << _BITS_OF_CRC) - 1
# The polynomial of CRC32c, with its lowest power in the highest bit.
_POLYNOMIAL: Final = 0x82F63B78
_BITS_OF_WORDS: Final = 15
"""Bits of a number of words: the longest FPDU has fewer than 2^15."""

# For each octet of a register after some zeros, from the lowest: by its value, its part of the
# register before the zeros.
_Inverse: TypeAlias = tuple[list[int], list[int], list[int], list[int]]

_MASKS: Final = [array("I", [_HIGHEST_BIT >> bit]) for bit in range(4)]
_MASKS_AT_A_TIME: Final = 1 << 8


def before_zeros(register: int, words: int) -> int:
    """Return the register before ``words`` words of zeros, 0 to 32767."""
    for inverse in _inverses():
        if words & 1:
            register = _undo(inverse, register)
        words >>= 1
        if not words:
            break
    return register


def masks_before(words: int) -> Sequence[array[int]]:
    """Return masks for each of the four highest bits of a register, by number of words of zeros.

    The sum of the masked bits of the register after the zeros is that bit before the zeros.

    :param words: highest number of words for which masks are needed.
    """
    if len(_MASKS[-1]) <= words:
        _extend_masks(words)
    return _MASKS


def _extend_masks(words: int) -> None:
    """Extend :data:`_MASKS` to ``words`` words and some more."""
    inverse = _inverse_of_masks()
    for number, masks in enumerate(_MASKS):
        mask = masks[-1]
        more = array("I", [0]) * (words + _MASKS_AT_A_TIME - len(masks))
        for at in range(len(more)):
            more[at] = mask = _undo(inverse, mask)
        # Replaced at once, because another thread may do the same.
        _MASKS[number] = masks + more


@cache
def _inverse_of_masks() -> _Inverse:
    """Return the tables that give the mask for one word more."""
    columns = [_before_word(1 << bit) for bit in range(_BITS_OF_CRC)]
    rows = [0] * _BITS_OF_CRC
    for at, column in enumerate(columns):
        for bit in range(_BITS_OF_CRC):
            rows[bit] |= (column >> bit & 1) << at
    return _inverse_of(rows)


def _undo(inverse: _Inverse, register: int) -> int:
    one, two, three, four = inverse
    return (
        one[register & 0xFF]
        ^ two[register >> 8 & 0xFF]
        ^ three[register >> 16 & 0xFF]
        ^ four[register >> 24]
    )


@cache
def _inverses() -> list[_Inverse]:
    """Return the tables that undo one word of zeros, two, four, and so on."""
    columns = [_before_word(1 << bit) for bit in range(_BITS_OF_CRC)]
    inverses: list[_Inverse] = []
    while len(inverses) < _BITS_OF_WORDS:
        if inverses:
            columns = [_undo(inverses[-1], column) for column in columns]
        inverses.append(_inverse_of(columns))
    return inverses


def _inverse_of(columns: list[int]) -> _Inverse:
    """Return the tables that give, for a register, the sum of the columns of its bits."""
    return _sums(columns[:8]), _sums(columns[8:16]), _sums(columns[16:24]), _sums(columns[24:])


def _sums(columns: list[int]) -> list[int]:
    """Return the sum of the columns of its bits for each value of an octet."""
    sums = [0]
    for column in columns:
        sums += [column ^ each for each in sums]
    return sums


def _before_word(register: int) -> int:
    """Return the register before one word of zeros."""
    for _ in range(_BITS_OF_WORD):
        if register & _HIGHEST_BIT:
            register = (register ^ _POLYNOMIAL) << 1 & _ALL_BITS | 1
        else:
            register <<= 1
    return register
