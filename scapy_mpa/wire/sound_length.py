# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the ULPDU_Length that makes the CRC of octets good (RFC 5044 4.1, 4.4).

CRC32c is linear: the difference of two CRCs depends only on the difference of the octets, and on
the number of octets that follow.  So, for each possible end of the FPDU, the CRC shows the right
value of the field.  Each octet is read once.
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
# After this word, a register that holds RESIDUE holds it again.  So the difference from RESIDUE
# depends only on the difference before, and on the difference of the words from this one.
_KEEPS_RESIDUE: Final = int.from_bytes(RESIDUE.to_bytes(_WORD, "little"), "big")


class SoundLength:
    """The CRC of octets that may be an FPDU with a wrong ULPDU_Length.

    :param phase: offset of the first octet modulo 512, or None without Markers.
    """

    __slots__ = ("_claimed", "_crc", "_header", "_phase", "octets")

    def __init__(self, phase: int | None) -> None:
        self.octets = 0
        """Number of octets added so far."""
        self._phase = phase
        self._header = MARKER_LENGTH if phase == 0 else 0
        self._claimed = 0
        self._crc = 0

    @property
    def least(self) -> int:
        """Octets of the shortest FPDU."""
        return self._header + fpdu_length(0)

    def extend(self, octets: bytes) -> None:
        """Add octets, a multiple of 4.

        The first time at least as many as the shortest FPDU has, in all at most as many as the
        longest FPDU has.
        """
        if not self.octets:
            field = octets[self._header : self._header + HEADER_LENGTH]
            self._claimed = int.from_bytes(field, "big")
        self._crc = crc32c(octets, self._crc)
        self.octets += len(octets)

    def is_fpdu(self) -> bool:
        """Return whether all octets are one FPDU.

        Their CRC must be good as captured, with the wrong length, or with their real length.
        """
        register = self._crc ^ RESIDUE
        words = (self.octets - self._header) // _WORD
        # Four bits exclude nearly all octets that are no FPDU, at a fifth of the cost.
        for masks in masks_before(words):
            if (register & masks[words]).bit_count() & 1:
                return False
        difference = before_zeros(register, words)
        if difference >> 8 * HEADER_LENGTH:
            return False
        # The lowest bits of the register are the first octet of the field.
        wrong = int.from_bytes(difference.to_bytes(HEADER_LENGTH, "little"), "big")
        return not wrong or fpdu_length(self._claimed ^ wrong, self._phase) == self.octets

    def possible_lengths(self, octets: bytes) -> list[int]:
        """Return the lengths at which all octets so far may be one FPDU, ascending.

        The first is the number of octets added before, the others are longer.  One in 16 wrong
        lengths remains by chance.  Many lengths cost a tenth of a call of :meth:`is_fpdu` for each,
        because all are computed at once.

        :param octets: the octets after those added before, a multiple of 4.  If none were added,
            this adds the first ones, as many as the shortest FPDU has; there must be so many.
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
        # One number holds all words, the first word in its highest bits.
        ones = int.from_bytes(_ONE * count, "big")
        words = int.from_bytes(octets, "big") ^ ones * _KEEPS_RESIDUE
        mismatches = 0
        for bit, masks in enumerate(masks_before(first + count)):
            # The bit that must be zero at the end of a word is the bit at its beginning, plus the
            # sum of the masked bits of the word.
            sums = words & _joined(masks[first : first + count])
            for half in (16, 8, 4, 2, 1):
                sums ^= sums >> half
            sums &= ones
            if (register & masks[first]).bit_count() & 1:
                sums ^= 1 << _BITS_OF_WORD * (count - 1)
            mismatches |= sums << bit
        shift = _BITS_OF_WORD
        while shift < _BITS_OF_WORD * count:
            mismatches ^= mismatches >> shift
            shift *= 2
        lowest = mismatches.to_bytes(_WORD * count, "big")[_WORD - 1 :: _WORD]
        at = lowest.find(0)
        while at >= 0:
            likely.append(self.octets + _WORD * (at + 1))
            at = lowest.find(0, at + 1)
        return likely


def _joined(masks: array[int]) -> int:
    """Return masks as one number, the first in its highest bits, each with its lowest octet first.

    In that order the octets of a word enter the register.
    """
    if _IS_BIG_ENDIAN:
        masks.byteswap()
    return int.from_bytes(masks.tobytes(), "big")
