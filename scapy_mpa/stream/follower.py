# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the lengths of FPDUs lead, and what that says for and against those that are there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from scapy_mpa.stream.candidate import (
    FRAMING_WINDOW,
    UNREADABLE,
    WORD,
    Candidate,
    FPDUReader,
)
from scapy_mpa.stream.island import Island
from scapy_mpa.stream.search import (
    COST_OF_PLACE,
    SEARCHED_AT_A_TIME,
    header_words,
)
from scapy_mpa.wire.crc import RESIDUE, crc32c
from scapy_mpa.wire.ddp import TAGGED_LENGTH
from scapy_mpa.wire.fpdu import (
    HEADER_LENGTH,
    MARKER_INTERVAL,
    MARKER_LENGTH,
    MARKER_RESERVED,
    fpdu_length,
)

if TYPE_CHECKING:
    from scapy_mpa.wire.sound_length import SoundLength

__all__ = ["LONGEST_CHAIN", "MOST_SENSELESS", "FPDUFollower", "Reached"]

# How many unverified FPDUs in a row the chain of lengths may cross before it is given up.
_LONGEST_BRIDGE: Final = 16
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
MOST_SENSELESS: Final = 4
"""FPDUs in a row with a damaged header, too, over which lengths may lead."""

LONGEST_CHAIN: Final = 64
"""Sound FPDUs in a row behind which nobody looks for a break any more."""

Reached: TypeAlias = Literal["sound", "end", "short", "long"]
"""What comes behind FPDUs over which lengths lead: one that is verified, the end of the octets, one
that is not all there, or what is none."""


class FPDUFollower(FPDUReader):
    """Follows the lengths of FPDUs of one direction, within what that may cost.

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

    def _bridge(
        self, island: Island, at: int, limit: int, *, senseless: int = 0
    ) -> tuple[list[Candidate], Reached, int]:
        """Follow lengths over FPDUs that are not verified, but whose headers make sense.

        Return them, what came behind them, and how far octets are needed to say more.

        :param senseless: with CRCs, how many of them in a row may make no sense.
        """
        bridge: list[Candidate] = []
        left = senseless
        while len(bridge) < _LONGEST_BRIDGE:
            if at == limit:
                return bridge, "end", limit + 1
            fpdu = self._try(island, at, limit)
            if fpdu == UNREADABLE:
                return bridge, "long", limit
            if isinstance(fpdu, int):
                return bridge, "short", fpdu
            if fpdu.sound:
                return bridge, "sound", limit
            if self.crc:
                makes_sense = self._header_makes_sense(fpdu)
                left = senseless if makes_sense else left - 1
                # One that has no room for a header is no place to be led to.
                is_one = left >= 0 and (makes_sense or fpdu.ulpdu_length >= TAGGED_LENGTH)
            else:
                is_one = self._is_something(island, fpdu, limit)
            if not is_one:
                return bridge, "long", limit
            bridge.append(fpdu)
            at = fpdu.end
        return bridge, "long", limit

    def _is_something(self, island: Island, fpdu: Candidate, limit: int) -> bool:
        """Tell whether, without CRCs, anything says that this is an FPDU, though a damaged one.

        One that fills a segment may be of a kind that makes no sense; the zero-length FPDU of RFC
        6581 9.2 is.

        :param limit: up to where octets are there.
        """
        return (
            fpdu.is_pointed_at
            or self._makes_sense(island, fpdu.start, fpdu.end)
            or self._lacks_header(island, fpdu)
            or island.fills_segments(fpdu.start, fpdu.end)
        )

    def _lacks_header(self, island: Island, fpdu: Candidate) -> bool:
        """Tell whether the snap length has left too little of an FPDU to tell what it is."""
        return len(fpdu.octets) < fpdu.layout.length and (
            fpdu.agrees and self._may_begin(island, fpdu.start, fpdu.end)
        )

    def _chain_from(self, island: Island, fpdu: Candidate, limit: int) -> tuple[int, bool, int]:
        """Follow the chain of lengths from an FPDU that a search has found.

        Return how many FPDUs, it included, are verified, whether the chain then breaks, and where.
        """
        count = 1
        at = fpdu.end
        while count < LONGEST_CHAIN and at < limit:
            following = self._try(island, at, limit)
            if following == UNREADABLE:
                # The snap length has left nothing that could speak for it or against it.
                return count + 1, False, at
            is_sound = not isinstance(following, int) and following.sound
            if limit < island.end and not (is_sound or island.absent):
                return self._chain_to(island, at, limit, count)
            if isinstance(following, int):
                likely = self._looks_like_start(island, at, limit)
                return count + likely, not likely and at + MARKER_LENGTH + WORD <= limit, at
            if not following.sound and self._lacks_header(island, following):
                return count + 1, False, at
            if not following.sound:
                # Those that are damaged may stand between it and the next sound one.
                bridge, reached, _ = self._bridge(island, at, limit, senseless=MOST_SENSELESS)
                self._allowance -= sum(each.layout.length for each in bridge)
                goes_on = reached == "sound" or any(
                    self._looks_like_start(island, each, limit)
                    for each in (at, *(crossed.end for crossed in bridge))
                )
                return count + goes_on, not goes_on and reached != "end", at
            self._allowance -= following.layout.length
            count += 1
            at = following.end
        return count, False, at

    def _chain_to(self, island: Island, at: int, limit: int, count: int) -> tuple[int, bool, int]:
        """Say how the chain of lengths goes on where an FPDU is known to begin at ``limit``.

        It leads there, if over damaged ones, or to one that lies about its length.  Else these are
        payload, and what they lead to is a part of an FPDU.
        """
        bridge, reached, _ = self._bridge(island, at, limit, senseless=MOST_SENSELESS)
        self._allowance -= sum(each.layout.length for each in bridge)
        goes_on = reached in ("sound", "end")
        if not goes_on:
            kept = self._kept_by_ends()
            # What cannot be asked any more speaks for nothing.
            goes_on = (
                self._true_end(island, [at], limit, may_end=True) is not None
                or self._allowance < kept
            )
        return count + goes_on, not goes_on, at

    def _is_disowned(
        self, island: Island, fpdu: Candidate, end: int, begin: int, limit: int, liar: int | None
    ) -> bool:
        """Tell whether Markers say that good FPDUs are payload of one that begins before them.

        The next Marker does that points to where that one begins: it holds all between (RFC 5044
        4.3).  It is forged if lengths lead to an FPDU that holds it and whose CRC tells so; it may
        be if not all of that is there, or if it points to where no header makes sense, unless
        another one says the same.

        :param fpdu: the first of the good ones.
        :param end: where the last one ends.
        :param begin: before which nothing was looked at.
        :param liar: where, before ``begin``, an FPDU begins for certain.
        """
        if not self.markers:
            return False
        pointed = self._pointed_at(island, end, limit)
        claimed_from = next(pointed, fpdu.start)
        if claimed_from >= fpdu.start or (liar is not None and claimed_from < liar):
            return False
        if claimed_from == next(pointed, None):
            return True
        if claimed_from >= begin and not self._makes_sense(island, claimed_from, limit):
            return False
        marker = self._next_marker(end)
        following = self._try(island, end, limit)
        while not isinstance(following, int) and following.end <= marker:
            self._allowance -= following.layout.length
            if not (following.sound or self._header_makes_sense(following)):
                return True
            end = following.end
            following = self._try(island, end, limit)
        if isinstance(following, int):
            # What it says is not all there, unless it claims an FPDU that is known to be one.
            return limit < island.end or not self._may_begin(island, end, limit)
        self._allowance -= following.layout.length
        return following.crc == "bad" and not self._fits_without_forgery(following)

    @staticmethod
    def _fits_without_forgery(fpdu: Candidate) -> bool:
        """Tell whether the CRC of an FPDU is good once its Markers say what they should."""
        octets = bytearray(fpdu.octets)
        for at, fpduptr in zip(fpdu.layout.markers, fpdu.layout.fpduptrs, strict=True):
            octets[at : at + MARKER_LENGTH] = MARKER_RESERVED + fpduptr.to_bytes(2, "big")
        return crc32c(bytes(octets)) == RESIDUE

    def _outweighs(
        self, island: Island, fpdu: Candidate, bridge: Sequence[Candidate], limit: int
    ) -> bool:
        """Tell whether a good FPDU speaks against those over which lengths lead to ``limit``.

        It does if the one of them in which it begins is one up to there, but for its ULPDU_Length;
        if it, or a good one to which it leads, ends behind the payload of that; or if lengths lead
        on to ``limit``, though over damaged ones.  But one that is damaged and ends where one of
        the others does may be a part of an FPDU, with which a payload ends.
        """
        places = [each.start for each in bridge]
        holder = max((place for place in places if place < fpdu.start), default=None)
        if holder is not None and self._is_one(island, holder, fpdu.start):
            return True
        following: Candidate | int = fpdu
        damaged = 0
        while not isinstance(following, int) and damaged <= _LONGEST_BRIDGE:
            self._allowance -= following.layout.length
            start, at = following.start, following.end
            if following.sound and any(start < place <= at for place in (*places, limit)):
                return True
            damaged += not following.sound
            if at in places:
                return False
            if at == limit:
                return start < places[-1]
            following = self._try(island, at, limit)
        return False

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
