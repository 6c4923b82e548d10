# SPDX-License-Identifier: GPL-2.0-or-later
"""Which ULPDU_Length would make the CRC of octets good (RFC 5044 4.1, 4.4).

CRC32c is linear: octets that differ have CRCs that differ by something that the difference and the
octets behind it alone tell.  So from the CRC as it is, the octets that the field should hold can be
worked out, wherever the FPDU may end, and each octet is gone over once.
"""

from __future__ import annotations

from array import array
from functools import cache
from typing import Final, TypeAlias

from scapy_mpa.wire.crc import RESIDUE, crc32c
from scapy_mpa.wire.fpdu import (
    HEADER_LENGTH,
    LARGEST_ULPDU_LENGTH,
    MARKER_LENGTH,
    fpdu_length,
)

__all__ = ["SoundLength"]

_WORD: Final = 4
_BITS_OF_WORD: Final = 8 * _WORD
_BITS_OF_CRC: Final = 32
_HIGHEST_BIT: Final = 1 << _BITS_OF_CRC - 1
_ALL_BITS: Final = (1 << _BITS_OF_CRC) - 1
# The polynomial of CRC32c, its lowest power in the highest bit.
_POLYNOMIAL: Final = 0x82F63B78

# What each octet of a register stands for before some zeros, from its lowest octet to its highest.
_Inverse: TypeAlias = tuple[list[int], list[int], list[int], list[int]]

# By how many words of zeros there were: which bits of a register sum up to one that it had before
# them.  The field is as long as half a register, so that these bits must be zero.
_MASKS: Final = [array("I", [_HIGHEST_BIT >> bit]) for bit in range(4)]
_MASKS_AT_A_TIME: Final = 1 << 8


class SoundLength:
    """The CRC of octets that may be one FPDU, but for its ULPDU_Length, up to where they reach.

    :param phase: offset of the first one modulo 512, or None without Markers.
    """

    __slots__ = ("_crc", "_header", "_phase", "_said", "octets")

    def __init__(self, phase: int | None) -> None:
        self.octets = 0
        """How many octets there are."""
        self._phase = phase
        self._header = MARKER_LENGTH if phase == 0 else 0
        self._said = 0
        self._crc = 0

    @property
    def least(self) -> int:
        """How many octets the shortest FPDU has."""
        return self._header + fpdu_length(0)

    def extend(self, octets: bytes) -> None:
        """Add octets, a multiple of 4, no more in all than the longest FPDU has; the first time no
        fewer than the shortest."""
        if not self.octets:
            field = octets[self._header : self._header + HEADER_LENGTH]
            self._said = int.from_bytes(field, "big")
        self._crc = crc32c(octets, self._crc)
        self.octets += len(octets)

    def is_one(self) -> bool:
        """Tell whether all octets are one FPDU.

        Their CRC is good as it is if the sender lied, else with the length that they have.
        """
        register = self._crc ^ RESIDUE
        words = (self.octets - self._header) // _WORD
        # A few bits tell of nearly all that is none, at a fifth of the cost.
        try:
            for masks in _MASKS:
                if (register & masks[words]).bit_count() & 1:
                    return False
        except IndexError:
            _extend_masks(words)
            return self.is_one()
        difference = _before_zeros(register, words)
        if difference >> 8 * HEADER_LENGTH:
            return False
        # The first octet of the field stands in the lowest bits of the register.
        other = int.from_bytes(difference.to_bytes(HEADER_LENGTH, "little"), "big")
        return not other or fpdu_length(self._said ^ other, self._phase) == self.octets


def _extend_masks(words: int) -> None:
    """Have :data:`_MASKS` at hand for so many words, and some more."""
    one, two, three, four = _inverse_of_masks()
    for number, masks in enumerate(_MASKS):
        mask = masks[-1]
        more = array("I", [0]) * (words + _MASKS_AT_A_TIME - len(masks))
        # What _undo does; there may be thousands.
        for at in range(len(more)):
            low, high = mask & 0xFFFF, mask >> 16
            mask = one[low & 0xFF] ^ two[low >> 8] ^ three[high & 0xFF] ^ four[high >> 8]
            more[at] = mask
        # Put there as a whole: sessions in other threads may be about it, too.
        _MASKS[number] = masks + more


@cache
def _inverse_of_masks() -> _Inverse:
    """Return what gives the mask of a word more."""
    columns = [_before_word(1 << bit) for bit in range(_BITS_OF_CRC)]
    rows = [0] * _BITS_OF_CRC
    for at, column in enumerate(columns):
        for bit in range(_BITS_OF_CRC):
            rows[bit] |= (column >> bit & 1) << at
    return _inverse_of(rows)


def _before_zeros(register: int, words: int) -> int:
    """Return what the register of a CRC32c held before so many words of zeros."""
    for inverse in _inverses():
        if words & 1:
            register = _undo(inverse, register)
        words >>= 1
        if not words:
            break
    return register


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
    """Return what undoes one word of zeros, two, four, and so on, up to the longest FPDU."""
    longest = fpdu_length(LARGEST_ULPDU_LENGTH, 0) // _WORD
    columns = [_before_word(1 << bit) for bit in range(_BITS_OF_CRC)]
    inverses: list[_Inverse] = []
    while longest >> len(inverses):
        if inverses:
            columns = [_undo(inverses[-1], column) for column in columns]
        inverses.append(_inverse_of(columns))
    return inverses


def _inverse_of(columns: list[int]) -> _Inverse:
    """Return what gives for a register the sum of the columns for which its bits stand."""
    return _sums(columns[:8]), _sums(columns[8:16]), _sums(columns[16:24]), _sums(columns[24:])


def _sums(columns: list[int]) -> list[int]:
    """Return for each octet the sum of the columns that its bits stand for."""
    sums = [0]
    for column in columns:
        sums += [column ^ each for each in sums]
    return sums


def _before_word(register: int) -> int:
    """Return what the register held before a word of zeros."""
    for _ in range(_BITS_OF_WORD):
        if register & _HIGHEST_BIT:
            register = (register ^ _POLYNOMIAL) << 1 & _ALL_BITS | 1
        else:
            register <<= 1
    return register
