# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs in octets where no length leads: candidates, and which of them to believe."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from scapy_mpa.stream.candidate import UNREADABLE, WORD, Candidate, FPDUReader
from scapy_mpa.stream.events import LocatedBy
from scapy_mpa.stream.islands import Island
from scapy_mpa.stream.search import header_words
from scapy_mpa.wire.fpdu import MARKER_INTERVAL, MARKER_LENGTH

__all__ = ["FPDUFinder", "found_by"]

# How many unverified FPDUs in a row the chain of lengths may cross before it is given up.
_LONGEST_BRIDGE: Final = 16
# What a search may spend on CRCs: a multiple of the octets that the stream brought, so that no
# content makes the cost per octet grow, and something to begin with.
_CRC_OCTETS_AT_FIRST: Final = 1 << 20
_CRC_OCTETS_PER_OCTET: Final = 16
# Headers that make sense, back to back, that nobody takes for chance.
_CONVINCING_CHAIN: Final = 3
# Sound FPDUs in a row behind which nobody looks for a break any more.
_LONGEST_CHAIN: Final = 64


class FPDUFinder(FPDUReader):
    """Looks for FPDUs of one direction, within what that may cost."""

    __slots__ = ("_allowance",)

    def __init__(self, origin: int, *, markers: bool, crc: bool) -> None:
        super().__init__(origin, markers=markers, crc=crc)
        self._allowance = _CRC_OCTETS_AT_FIRST

    def allow(self, fresh: int) -> None:
        """Let searches spend what so many octets of stream are worth."""
        self._allowance += fresh * _CRC_OCTETS_PER_OCTET

    def _bridge(
        self, island: Island, at: int, limit: int
    ) -> tuple[list[Candidate], Literal["sound", "end", "short", "long"], int]:
        """Follow lengths over FPDUs that are not verified.

        Return them, what came behind them, and how far octets are needed to say more.
        """
        bridge: list[Candidate] = []
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
            bridge.append(fpdu)
            at = fpdu.end
        return bridge, "long", limit

    def _starts(self, island: Island, begin: int, limit: int) -> Iterator[tuple[int, bool]]:
        """Yield, ascending, where between ``begin`` and ``limit`` an FPDU may start.

        With each place comes whether more than two octets that make sense speak for it.
        """
        begin += (self.origin - begin) % WORD
        if limit - begin < WORD:
            return
        likely: set[int] = set()
        if self.crc:
            boundaries = island.telling_boundaries(begin, limit)
            likely.update(at for at in boundaries if (at - self.origin) % WORD == 0)
        if self.markers:
            likely.update(self._pointed_at(island, begin, limit))
        possible = set(likely)
        for word in header_words(island.read(begin, limit)):
            start = begin + word
            phase = (start - self.origin) % MARKER_INTERVAL if self.markers else None
            if phase != 0:
                possible.add(start - MARKER_LENGTH if phase == MARKER_LENGTH else start)
        yield from ((at, at in likely) for at in sorted(possible) if begin <= at < limit)

    def _search(self, island: Island, begin: int, limit: int, *, final: bool) -> Candidate | None:
        """Return the first FPDU that begins at or behind ``begin`` beyond doubt.

        One behind which the chain of lengths breaks may be part of a payload: it counts only if
        nothing better is there, and nothing better will come.
        """
        doubtful = None
        for start, is_likely in self._starts(island, begin, limit):
            if not is_likely and (
                self._allowance < 0 or not self._is_plausible_at(island, start, limit)
            ):
                continue
            fpdu = self._try(island, start, limit)
            if isinstance(fpdu, int):
                continue
            self._allowance -= fpdu.layout.length
            if fpdu.sound:
                count, breaks = self._chain_from(island, fpdu, limit)
                if self._is_convincing(island, fpdu, count, limit) and not breaks:
                    return fpdu
                if self.crc and doubtful is None:
                    doubtful = fpdu
        return doubtful if final else None

    def _chain_from(self, island: Island, fpdu: Candidate, limit: int) -> tuple[int, bool]:
        """Follow the chain of lengths from an FPDU that a search has found.

        Return how many FPDUs, it included, are verified, and whether the chain then breaks.
        """
        count = 1
        at = fpdu.end
        while count < _LONGEST_CHAIN and at < limit:
            following = self._try(island, at, limit)
            if following == UNREADABLE:
                return count + island.is_boundary(fpdu.start), False
            if isinstance(following, int):
                likely = self._looks_like_start(island, at, limit)
                return count + likely, not likely and at + MARKER_LENGTH + WORD <= limit
            if not following.sound:
                # Those that are damaged may stand between it and the next sound one.
                bridge, reached, _ = self._bridge(island, at, limit)
                self._allowance -= sum(each.layout.length for each in bridge)
                goes_on = reached == "sound" or self._looks_like_start(island, at, limit)
                return count + goes_on, not goes_on and reached != "end"
            self._allowance -= following.layout.length
            count += 1
            at = following.end
        return count, False

    def _is_convincing(self, island: Island, fpdu: Candidate, count: int, limit: int) -> bool:
        """Tell whether an FPDU that a search has found stands where FPDUs stand."""
        fills = island.fills_segments(fpdu.start, fpdu.end)
        if self.crc:
            return count > 1 or fpdu.end == limit or fills
        return bool(fpdu.layout.markers) or count >= _CONVINCING_CHAIN or fills


def found_by(fpdu: Candidate) -> LocatedBy:
    """Return what led a search to an FPDU: its Markers speak louder than the search."""
    return "marker" if fpdu.layout.markers and fpdu.agrees else "search"
