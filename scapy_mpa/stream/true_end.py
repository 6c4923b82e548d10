# SPDX-License-Identifier: GPL-2.0-or-later
"""Where FPDUs truly end that lie about their ULPDU_Length, which their CRC tells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from scapy_mpa.stream.candidate import FRAMING_WINDOW, WORD, FPDUReader
from scapy_mpa.stream.island import Island
from scapy_mpa.stream.search import COST_OF_PLACE, SEARCHED_AT_A_TIME, header_words
from scapy_mpa.wire.crc import RESIDUE, crc32c
from scapy_mpa.wire.fpdu import HEADER_LENGTH, MARKER_INTERVAL, MARKER_LENGTH, fpdu_length

if TYPE_CHECKING:
    from scapy_mpa.wire.sound_length import SoundLength

__all__ = ["FPDUEnds"]

# What searches may spend: a multiple of the octets that the stream brought, so that no content
# makes the cost per octet grow, and something to begin with.
_OCTETS_AT_FIRST: Final = 1 << 20
_OCTETS_PER_OCTET: Final = 8
# The share of what is left that it may cost to tell whether octets are one FPDU, whatever its
# ULPDU_Length says: many places are asked.
_FAIR_SHARE: Final = 4
# What it costs to ask whether one ends there that began before, the share of what is left that it
# may cost to ask for one place after the other, and of how many at once.
_COST_OF_END: Final = 80
_SHARE_OF_ENDS: Final = 8
_MOST_LIARS: Final = 8
# Octets in which an end is looked for first: where FPDUs are short, many may lie, and what searches
# may cost is for each octet.
_ENDS_FIRST: Final = 256


class FPDUEnds(FPDUReader):
    """Tells where FPDUs of one direction end, within what that may cost.

    For parameters see :class:`~scapy_mpa.stream.candidate.FPDUReader`.
    """

    __slots__ = ("_allowance",)

    def __init__(self, origin: int, *, markers: bool, crc: bool) -> None:
        super().__init__(origin, markers=markers, crc=crc)
        self._allowance = _OCTETS_AT_FIRST

    def allow(self, fresh: int) -> None:
        """Let searches spend what so many octets of stream are worth."""
        self._allowance += fresh * _OCTETS_PER_OCTET

    def has_spent_nothing(self, octets: int) -> bool:
        """Tell whether searches may still spend all that so many octets of stream are worth."""
        return self._allowance == _OCTETS_AT_FIRST + octets * _OCTETS_PER_OCTET

    def _is_one(self, island: Island, start: int, end: int) -> bool:
        """Tell whether one FPDU reaches from ``start`` to ``end``, but for its ULPDU_Length."""
        measured = self._measure(start)
        length = end - start
        if length % WORD or not measured.least <= length <= FRAMING_WINDOW:
            return False
        if _FAIR_SHARE * length > self._allowance:
            return False
        self._allowance -= length
        measured.extend(island.read(start, end))
        return measured.is_one()

    def _kept_by_ends(self) -> int:
        """Return what must be left when it was asked where FPDUs truly end (:meth:`_true_end`)."""
        return self._allowance - self._allowance // _SHARE_OF_ENDS

    def _measure(self, start: int) -> SoundLength:
        """Return what tells whether one FPDU reaches from ``start`` to somewhere."""
        # Most captures need none, and a command is to start soon.
        from scapy_mpa.wire.sound_length import SoundLength

        return SoundLength((start - self.origin) % MARKER_INTERVAL if self.markers else None)

    def _true_end(
        self, island: Island, places: Sequence[int], limit: int, *, may_end: bool
    ) -> tuple[int, int] | None:
        """Tell which of some FPDUs lies about its ULPDU_Length, and where it truly ends.

        There its CRC is good as it is, if the sender lied, or with the length that it had.  Only
        where another one may begin is asked, the nearest place first.

        :param places: where they begin, ascending; each but the first if those before tell the
            truth.
        :param may_end: whether one may end at ``limit``, though none is seen to begin there.
        """
        if island.absent:
            # No CRC can be checked that covers what the snap length cut off.
            upto = island.captured_until(places[0], limit)
            may_end = may_end and upto == limit
            limit = upto
        ends_near = limit - places[0] <= _ENDS_FIRST
        if may_end and ends_near and self._is_one(island, places[0], limit):
            return places[0], limit
        asked = [(start, self._measure(start)) for start in places[:_MOST_LIARS]]
        kept = self._kept_by_ends()
        begin = places[0]
        last = min(limit, asked[-1][0] + FRAMING_WINDOW)
        size = _ENDS_FIRST
        while begin < last:
            upto = min(begin + size, last)
            size = min(2 * size, SEARCHED_AT_A_TIME)
            block = island.read(begin, min(limit, upto + WORD))
            words = header_words(block)
            self._allowance -= COST_OF_PLACE * len(words)
            ends = [end for end in self._starts_of(words, begin) if end <= upto]
            if upto == limit and may_end and (limit - places[0]) % WORD == 0:
                ends.append(limit)
            for end in ends:
                for start, measured in asked:
                    if not start + measured.least <= end <= start + FRAMING_WINDOW:
                        continue
                    until = start + measured.octets
                    self._allowance -= end - until + _COST_OF_END
                    if self._allowance < kept:
                        return None
                    if until < begin:
                        measured.extend(island.read(until, end))
                    else:
                        measured.extend(block[until - begin : end - begin])
                    if measured.is_one():
                        return start, end
            # It mostly ends nearer; but the payload of a long one may hold many places.
            asks_limit = begin == places[0] and may_end and not ends_near
            if asks_limit and self._is_one(island, begin, limit):
                return begin, limit
            begin = upto
        return None

    def _starts_of(self, words: list[int], begin: int) -> Iterable[int]:
        """Return where the FPDUs start whose ULPDU_Lengths stand so far behind ``begin``."""
        if not self.markers:
            return [begin + word for word in words]
        phases = [(begin + word - self.origin) % MARKER_INTERVAL for word in words]
        return [
            begin + word - (MARKER_LENGTH if phase == MARKER_LENGTH else 0)
            for word, phase in zip(words, phases, strict=True)
            if phase and (word or phase != MARKER_LENGTH)
        ]

    def _must_lie(self, island: Island, start: int, end: int) -> bool:
        """Tell whether one FPDU reaches from ``start`` to ``end``, of another length than it says.

        Wherever Markers may be: its CRC is good as it is, and no number of them makes up for the
        difference.
        """
        octets = island.read(start, end)
        # Zero may as well be the beginning of a Marker.
        ulpdu_length = int.from_bytes(octets[:HEADER_LENGTH], "big")
        if self.markers or not ulpdu_length or self._allowance < 0:
            return False
        self._allowance -= len(octets)
        unmarked = fpdu_length(ulpdu_length)
        most = MARKER_LENGTH * (unmarked // (MARKER_INTERVAL - MARKER_LENGTH) + 1)
        return not 0 <= len(octets) - unmarked <= most and crc32c(octets) == RESIDUE
