# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the lengths of FPDUs lead, and what that says for and against those that are there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from scapy_mpa.stream.fpdus.candidate import UNREADABLE, WORD, Candidate
from scapy_mpa.stream.fpdus.true_end import FPDUEnds
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.wire.crc import RESIDUE, crc32c
from scapy_mpa.wire.ddp import TAGGED_LENGTH
from scapy_mpa.wire.fpdu import MARKER_LENGTH, MARKER_RESERVED

__all__ = [
    "LONGEST_CHAIN",
    "MOST_SENSELESS",
    "OCTETS_FOR_ONE",
    "FPDUFollower",
    "Reached",
    "cost_of",
]

# How many unverified FPDUs in a row the chain of lengths may cross before it is given up.
_LONGEST_BRIDGE: Final = 16
OCTETS_FOR_ONE: Final = 8
"""So many octets of which but a CRC is taken, or that are looked through for places, cost as much
as one of an FPDU that is tried."""

MOST_SENSELESS: Final = 4
"""FPDUs in a row with a damaged header, too, over which lengths may lead."""

LONGEST_CHAIN: Final = 64
"""Sound FPDUs in a row behind which nobody looks for a break any more."""

Reached: TypeAlias = Literal["sound", "end", "short", "long"]
"""What comes behind FPDUs over which lengths lead: one that is verified, the end of the octets, one
that is not all there, or what is none."""


class FPDUFollower(FPDUEnds):
    """Follows the lengths of FPDUs of one direction, within what that may cost.

    For parameters see :class:`~scapy_mpa.stream.fpdus.candidate.FPDUReader`.
    """

    __slots__ = ()

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
                self._allowance -= cost_of(bridge)
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
        self._allowance -= cost_of(bridge)
        goes_on = reached in ("sound", "end")
        if not goes_on:
            kept = self._kept_by_ends()
            # What cannot be asked any more speaks for nothing.
            goes_on = (
                self._true_end(island, self._to_ask([at]), limit, may_end=True) is not None
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


def cost_of(bridge: Sequence[Candidate]) -> int:
    """Return what it cost to follow lengths over FPDUs."""
    return sum(each.layout.length for each in bridge) // OCTETS_FOR_ONE
