# SPDX-License-Identifier: GPL-2.0-or-later
"""Where FPDUs truly end that lie about their ULPDU_Length, which their CRC tells."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final

from scapy_mpa.stream.fpdus.candidate import FRAMING_WINDOW, WORD, FPDUReader
from scapy_mpa.stream.fpdus.search import header_words
from scapy_mpa.stream.octets.island import Asked, Island
from scapy_mpa.wire.crc import RESIDUE, crc32c
from scapy_mpa.wire.fpdu import HEADER_LENGTH, MARKER_INTERVAL, MARKER_LENGTH, fpdu_length
from scapy_mpa.wire.sound_length import SoundLength

__all__ = ["FPDUEnds"]

# What searches may spend: a multiple of the octets that the stream brought, so that no content
# makes the cost per octet grow, and something to begin with.
_OCTETS_AT_FIRST: Final = 1 << 20
_OCTETS_PER_OCTET: Final = 8
# What they may spend beside that on FPDUs for which nothing speaks but their CRC, so that no others
# are missed for these.
_SPARE_AT_FIRST: Final = 1 << 18
_SPARE_PER_OCTET: Final = 4
# The share of what is left that it may cost to tell whether octets are one FPDU, whatever its
# ULPDU_Length says: many places are asked.
_FAIR_SHARE: Final = 4
# The share of what is left that it may cost to ask place after place where some FPDUs end, and of
# how many at once.
_SHARE_OF_ENDS: Final = 4
_MOST_LIARS: Final = 8
# What it costs to find a place, and to ask whether one that began before ends there.
_COST_OF_PLACE: Final = 4
_COST_OF_END: Final = 40
# So many places, if they are no fewer than one in so many words, are sifted first, which leaves one
# in 16; and what that costs for each word.
_MANY_ENDS: Final = 32
_DENSE_ENDS: Final = 8
_COST_OF_WORD: Final = 4
# Octets in which an end is looked for first: where FPDUs are short, many may lie, and what searches
# may cost is for each octet; and then at a time.
_ENDS_FIRST: Final = 256
_ENDS_AT_A_TIME: Final = 8 << 10


class FPDUEnds(FPDUReader):
    """Tells where FPDUs of one direction end, within what that may cost.

    For parameters see :class:`~scapy_mpa.stream.fpdus.candidate.FPDUReader`.
    """

    __slots__ = ("_allowance", "_spare")

    def __init__(self, origin: int, *, markers: bool, crc: bool) -> None:
        super().__init__(origin, markers=markers, crc=crc)
        self._allowance = _OCTETS_AT_FIRST
        self._spare = _SPARE_AT_FIRST

    def allow(self, fresh: int) -> None:
        """Let searches spend what so many octets of stream are worth."""
        self._allowance += fresh * _OCTETS_PER_OCTET
        self._spare += fresh * _SPARE_PER_OCTET

    def _is_scarce(self) -> bool:
        """Tell whether less is left for searches than there was at first."""
        return self._allowance < _OCTETS_AT_FIRST

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
        return SoundLength((start - self.origin) % MARKER_INTERVAL if self.markers else None)

    def _to_ask(self, places: Sequence[int]) -> Asked:
        """Return FPDUs that begin at some places, and of which nothing was asked yet."""
        return {start: self._measure(start) for start in places[:_MOST_LIARS]}

    def _true_end(
        self, island: Island, asked: Asked, limit: int, *, may_end: bool
    ) -> tuple[int, int] | None:
        """Tell which of some FPDUs lies about its ULPDU_Length, and where it truly ends.

        There its CRC is good as it is, if the sender lied, or with the length that it had.  Only
        where another one may begin is asked, the nearest place first.

        :param asked: the FPDUs, each but the first if those before tell the truth; how far it was
            asked is kept there.
        :param may_end: whether one may end at ``limit``, though none is seen to begin there.
        """
        first, last = min(asked), max(asked)
        if island.absent:
            # No CRC can be checked that covers what the snap length cut off.
            upto = island.captured_until(first, limit)
            may_end = may_end and upto == limit
            limit = upto
        near = min(limit, first + _ENDS_FIRST)
        if may_end and near == limit and self._is_one(island, first, limit):
            return first, limit
        kept = self._kept_by_ends()
        # It mostly ends near; but else, the payload of a long one may hold many places.
        end = self._true_end_of(island, first, asked[first], near, kept)
        if end is None and may_end and near < limit and self._is_one(island, first, limit):
            end = limit
        if end is not None:
            return first, end
        for start, measured in asked.items():
            # Each but the last leaves a quarter of what may be spent to those behind it.
            least = kept if start == last else (self._allowance + 3 * kept) // 4
            end = self._true_end_of(island, start, measured, limit, least, may_end=may_end)
            if end is not None:
                return start, end
        return None

    def _true_end_of(
        self,
        island: Island,
        start: int,
        measured: SoundLength,
        limit: int,
        least: int,
        *,
        may_end: bool = False,
    ) -> int | None:
        """Tell where one FPDU truly ends, from where it was asked before.

        :param start: where it begins.
        :param measured: its CRC, up to where it was asked.
        :param limit: up to where to ask.
        :param least: how much must be left of what searches may cost.
        :param may_end: whether it may end at ``limit``, though none is seen to begin there.
        """
        begin, last = start + measured.octets, min(limit, start + FRAMING_WINDOW)
        if may_end and limit < begin and self._is_one(island, start, limit):
            return limit
        while begin < last:
            size = min(max(_ENDS_FIRST, begin - start), _ENDS_AT_A_TIME)
            upto = min(begin + size, last)
            block = island.read(begin, min(limit, upto + WORD))
            words = header_words(block)
            self._allowance -= (upto - begin) // WORD + _COST_OF_PLACE * len(words)
            ends = self._starts_of(words, begin)
            if upto == limit and may_end and (limit - start) % WORD == 0:
                ends.append(limit)
            first = start + max(measured.octets, measured.least)
            ends = ends[bisect_left(ends, first) : bisect_right(ends, upto)]
            for end in self._likely_ends(ends, start, measured, block[: upto - begin]):
                self._allowance -= _COST_OF_END
                if self._allowance < least:
                    return None
                measured.extend(block[start + measured.octets - begin : end - begin])
                if measured.is_one():
                    return end
            # The last word is asked of once more when more has come, which may be its header.
            done = upto if upto < last else upto - (upto - begin) % WORD - WORD
            if done >= start + max(measured.octets, measured.least):
                measured.extend(block[start + measured.octets - begin : done - begin])
            begin = upto
        return None

    def _likely_ends(
        self, ends: list[int], start: int, measured: SoundLength, octets: bytes
    ) -> list[int]:
        """Return at which of some places one FPDU may end, without most others if they are many.

        :param ends: the places, ascending.
        :param start: where it begins.
        :param measured: its CRC, up to where it was asked.
        :param octets: what follows that, up to the last place and farther.
        """
        words = len(octets) // WORD
        if len(ends) < _MANY_ENDS or _DENSE_ENDS * len(ends) < words:
            return ends
        self._allowance -= _COST_OF_WORD * words
        likely = measured.sift(octets[: WORD * words])
        places = set(ends)
        return [start + length for length in likely if start + length in places]

    def _starts_of(self, words: list[int], begin: int) -> list[int]:
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
