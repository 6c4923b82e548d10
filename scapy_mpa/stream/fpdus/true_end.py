# SPDX-License-Identifier: GPL-2.0-or-later
"""Where an FPDU with a wrong ULPDU_Length ends: its CRC tells."""

from __future__ import annotations

from typing import Final

from scapy_mpa.stream.fpdus.region import Region
from scapy_mpa.stream.limits import FRAMING_WINDOW
from scapy_mpa.wire.fpdu import WORD

# What it costs to ask whether the FPDU ends at a place.
_COST_OF_END: Final = 500
# If there are so many places, and at least one in so many words, they are sifted first.  That
# leaves one in 16; and what that costs for each word.
_MANY_ENDS: Final = 8
_COST_OF_WORD: Final = 50


class TrueEnd:
    """Asks place after place whether an FPDU ends there.  Each octet is read once, also when more
    of them have come.

    :param start: where it begins.
    """

    def __init__(self, region: Region, start: int) -> None:
        self._region = region
        self._start = start
        self._crc = region.crc_so_far(start)
        self._upto = min(region.stretch.captured_until(start, region.limit), start + FRAMING_WINDOW)

    @property
    def asked(self) -> int:
        """Before which place it does not end."""
        return self._start + max(self._crc.octets, self._crc.least)

    def first(self, places: list[int]) -> int | None:
        """Return the first of some places at which the FPDU may end, or None.

        :param places: ascending, and none before those asked before.
        """
        start, measured, asked = self._start, self._crc, self.asked
        ends = [at for at in places if asked <= at <= self._upto and (at - start) % WORD == 0]
        if not ends or not self._region.crc:
            return None
        # Most end at one of the first.
        for some in (ends[: _MANY_ENDS - 1], ends[_MANY_ENDS - 1 :]):
            for at in self._likely(some):
                if not self._measure(at):
                    return None
                if measured.is_one():
                    return at
        self._measure(ends[-1])
        return None

    def _measure(self, at: int) -> bool:
        """Go on to a place, unless there already; tell whether what it costs was left."""
        region, measured = self._region, self._crc
        done = self._start + measured.octets
        if not region.allowance.spend(_COST_OF_END + (at - done)):
            return False
        if at > done:
            measured.extend(region.stretch.read(done, at))
        return True

    def _likely(self, ends: list[int]) -> list[int]:
        """Return the places without most of those at which it does not end, if they are many."""
        region, measured = self._region, self._crc
        done = self._start + measured.octets
        words = (ends[-1] - done) // WORD if ends else 0
        if len(ends) < _MANY_ENDS or _MANY_ENDS * len(ends) < words:
            return ends
        if not region.allowance.spend(_COST_OF_WORD * words):
            return []
        octets = region.stretch.read(done, ends[-1])
        likely = {self._start + length for length in measured.sift(octets)}
        return [at for at in ends if at in likely]
