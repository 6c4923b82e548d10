# SPDX-License-Identifier: GPL-2.0-or-later
"""Which ULPDU_Length would make the CRC of octets good (RFC 5044 4.1, 4.4).

CRC32c is linear: how two CRCs differ depends only on how the octets differ, and on how many follow.
So the CRC as it is shows which octets the field should hold, wherever the FPDU may end.  Each octet
is read once.
"""

from __future__ import annotations

from array import array
from typing import Final

from scapy_mpa.wire.crc import RESIDUE, crc32c
from scapy_mpa.wire.crc_zeros import before_zeros, masks_before
from scapy_mpa.wire.fpdu import HEADER_LENGTH, MARKER_LENGTH, fpdu_length

_WORD: Final = 4
_BITS_OF_WORD: Final = 8 * _WORD
_ONE: Final = (1).to_bytes(_WORD, "big")
_IS_BIG_ENDIAN: Final = array("I", [1]).tobytes()[0] == 0
# A register that holds RESIDUE holds it again after this word: how much one differs from RESIDUE
# depends on nothing but how much it did before, and how much the words differ from this one.
_AS_BEFORE: Final = int.from_bytes(RESIDUE.to_bytes(_WORD, "little"), "big")


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
        for masks in masks_before(words):
            if (register & masks[words]).bit_count() & 1:
                return False
        difference = before_zeros(register, words)
        if difference >> 8 * HEADER_LENGTH:
            return False
        # The first octet of the field stands in the lowest bits of the register.
        other = int.from_bytes(difference.to_bytes(HEADER_LENGTH, "little"), "big")
        return not other or fpdu_length(self._said ^ other, self._phase) == self.octets

    def sift(self, octets: bytes) -> list[int]:
        """Return after how many octets it may be that all up to there are one FPDU: as many as are
        there, or more, ascending.

        Of places where they are not, one in 16 is left by chance.  Many places take a tenth of
        what it takes to ask of each (:meth:`is_one`), for all are worked out at once.

        :param octets: what follows those that are there, a multiple of 4.  Where none are, as many
            are added as the shortest FPDU has, and there must be.
        """
        if not self.octets:
            shortest = self.least
            self.extend(octets[:shortest])
            octets = octets[shortest:]
        likely = [self.octets]
        count = len(octets) // _WORD
        if not count:
            return likely
        first = (self.octets - self._header) // _WORD
        register = self._crc ^ RESIDUE
        # One number holds all words, the first of them in its highest bits.
        ones = int.from_bytes(_ONE * count, "big")
        words = int.from_bytes(octets, "big") ^ ones * _AS_BEFORE
        unlike = 0
        for bit, masks in enumerate(masks_before(first + count)):
            # Where a word ends, the bit that must be zero is that where it begins, and the sum of
            # the bits of the word that are in the mask.
            sums = words & _joined(masks[first : first + count])
            for half in (16, 8, 4, 2, 1):
                sums ^= sums >> half
            sums &= ones
            if (register & masks[first]).bit_count() & 1:
                sums ^= 1 << _BITS_OF_WORD * (count - 1)
            unlike |= sums << bit
        shift = _BITS_OF_WORD
        while shift < _BITS_OF_WORD * count:
            unlike ^= unlike >> shift
            shift *= 2
        lowest = unlike.to_bytes(_WORD * count, "big")[_WORD - 1 :: _WORD]
        at = lowest.find(0)
        while at >= 0:
            likely.append(self.octets + _WORD * (at + 1))
            at = lowest.find(0, at + 1)
        return likely


def _joined(masks: array[int]) -> int:
    """Return masks as one number, the first in its highest bits, each with its lowest octet first,
    as the octets of a word go through a register."""
    if _IS_BIG_ENDIAN:
        masks.byteswap()
    return int.from_bytes(masks.tobytes(), "big")
