# SPDX-License-Identifier: GPL-2.0-or-later
"""Find the end of an FPDU with a wrong ULPDU_Length, by its CRC."""

from __future__ import annotations

from typing import Final

from scapy_mpa.stream.fpdus.region import Region
from scapy_mpa.stream.limits import FRAMING_WINDOW
from scapy_mpa.wire.fpdu import WORD

# The cost of checking whether the FPDU ends at a place.
_COST_OF_END: Final = 500
# If there are so many places, and at least one in so many words, they are sifted first.  That
# leaves one in 16.  The second number is its cost for each word.
_MANY_ENDS: Final = 8
_COST_OF_WORD: Final = 50


class TrueEnd:
    """Checks place after place whether an FPDU ends there.

    Each octet is read only once, even if more octets come later.

    :param start: where the FPDU begins.
    """

    def __init__(self, region: Region, start: int) -> None:
        self._region = region
        self._start = start
        self._crc = region.crc_so_far(start)
        self._upto = min(region.stretch.captured_until(start, region.limit), start + FRAMING_WINDOW)

    @property
    def checked(self) -> int:
        """The FPDU does not end before this position."""
        return self._start + max(self._crc.octets, self._crc.least)

    def first(self, places: list[int]) -> int | None:
        """Return the first place at which the FPDU ends by its CRC, or None.

        :param places: ascending, and not before those of earlier calls.
        """
        start, measured, checked = self._start, self._crc, self.checked
        ends = [at for at in places if checked <= at <= self._upto and (at - start) % WORD == 0]
        if not ends or not self._region.crc:
            return None
        # Most FPDUs end at one of the first places.
        for batch in (ends[: _MANY_ENDS - 1], ends[_MANY_ENDS - 1 :]):
            for at in self._likely(batch):
                if not self._measure(at):
                    return None
                if measured.is_fpdu():
                    return at
        self._measure(ends[-1])
        return None

    def _measure(self, at: int) -> bool:
        """Calculate the CRC up to a place; return whether the allowance was enough for that."""
        region, measured = self._region, self._crc
        done = self._start + measured.octets
        if not region.allowance.spend(_COST_OF_END + (at - done)):
            return False
        if at > done:
            measured.extend(region.stretch.read(done, at))
        return True

    def _likely(self, ends: list[int]) -> list[int]:
        """Return the places; of many, without most of those at which the FPDU does not end."""
        region, measured = self._region, self._crc
        done = self._start + measured.octets
        words = (ends[-1] - done) // WORD if ends else 0
        if len(ends) < _MANY_ENDS or _MANY_ENDS * len(ends) < words:
            return ends
        if not region.allowance.spend(_COST_OF_WORD * words):
            return []
        octets = region.stretch.read(done, ends[-1])
        likely = {self._start + length for length in measured.possible_lengths(octets)}
        return [at for at in ends if at in likely]
