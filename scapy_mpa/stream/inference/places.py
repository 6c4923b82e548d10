# SPDX-License-Identifier: GPL-2.0-or-later
"""Where Markers are, as verified FPDUs say (RFC 5044 4.3).

A CRC covers the Markers of an FPDU.  So it tells how many there are, but not where: an MSN of 12
that stands 12 octets behind ULPDU_Length reads as a Marker.  Still each verified FPDU speaks
against some places modulo 512, and one that holds Markers speaks for those places where words read
as Markers.  The place for which most speak is where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scapy_mpa.wire.fpdu import MARKER_INTERVAL, MARKER_LENGTH

__all__ = ["Ballot"]

_WORD: Final = 4
_PLACES: Final = MARKER_INTERVAL // _WORD
# By how many FPDUs a place, or that there are no Markers, must lead while more may come.
_LEAD: Final = 2


class Ballot:
    """What the verified FPDUs of one alignment say.

    :param reference: position at which one of them begins.
    """

    __slots__ = (
        "_against",
        "_behind",
        "_in_headers",
        "_in_payload",
        "_marked",
        "_spanning",
        "_unmarked",
        "_votes",
        "first",
        "is_believed",
        "is_doubtful",
        "octets",
        "reference",
    )

    def __init__(self, reference: int) -> None:
        self.reference = reference
        self.first = reference
        """Position at which the first one begins of those in the same island."""
        self.octets = 0
        """How long all of them are together."""
        self.is_believed = False
        """Whether these are the FPDUs of the direction, and not part of a payload."""
        self.is_doubtful = False
        """Whether one of them lies among octets that are not of FPDUs."""
        self._unmarked = 0
        self._marked = 0
        self._spanning = 0
        self._against = [0] * _PLACES
        self._behind = [0] * _PLACES
        self._votes = [0] * _PLACES
        self._in_payload = [0] * _PLACES
        self._in_headers: set[tuple[int, int]] = set()

    def _place(self, position: int) -> int:
        return (position - self.reference) // _WORD % _PLACES

    def count_unmarked(self, start: int, end: int, pointing: Sequence[int]) -> None:
        """Count an FPDU that holds no Marker.

        :param start: position of its first octet.
        :param end: position behind its last one.
        :param pointing: where words in it may be Markers, which its length hides.
        """
        self.octets += end - start
        self._unmarked += 1
        # A Marker right behind it is no less likely than elsewhere.  But if it is not there, what
        # follows cannot be read, and leaves the FPDU without a witness.
        self._behind[self._place(end)] += 1
        # A Marker right before it would be part of it.
        first = start - MARKER_LENGTH
        if end - first >= MARKER_INTERVAL:
            self._spanning += 1
            return
        for position in range(first, end, _WORD):
            self._against[self._place(position)] += position not in pointing

    def count_marked(self, start: int, end: int, positions: Sequence[int], head: int) -> None:
        """Count an FPDU that holds Markers.

        :param start: position of its first octet.
        :param end: position behind its last one.
        :param positions: at one of which its first Marker begins.
        :param head: its octets in which numbers of its header stand, that may read as a Marker.
        """
        self.octets += end - start
        self._marked += 1
        for position in positions:
            place, back = self._place(position), position - start
            if not 0 < back < head:
                self._in_payload[place] += 1
            elif (place, back) in self._in_headers:
                # Where segments of a message are 512 octets long, its MSN comes again there.
                continue
            else:
                self._in_headers.add((place, back))
            self._votes[place] += 1

    def count_begun(self, position: int) -> None:
        """Count an FPDU that is not all there.

        :param position: at which one of its Markers begins.
        """
        place = self._place(position)
        self._votes[place] += 1
        self._in_payload[place] += 1

    def lean(self, origin: int, is_marked: bool) -> None:
        """Take note of what the beginning of the phase looks like, in case of a tie.

        :param origin: its position.
        :param is_marked: whether a Marker seems to be there.
        """
        self._in_payload[self._place(origin)] += is_marked

    def _counts(self, markers: bool | None, origin: int | None) -> dict[int | None, int]:
        """Return how many FPDUs speak for each possibility: a place, or None for no Markers."""
        counts: dict[int | None, int] = {}
        if not markers:
            counts[None] = self._unmarked
        if markers is not False:
            places = range(_PLACES) if origin is None else [self._place(origin)]
            others, against, votes = self._unmarked - self._spanning, self._against, self._votes
            counts |= {place: others - against[place] + votes[place] for place in places}
        return counts

    @property
    def is_contradictory(self) -> bool:
        """Whether there are Markers, but none that was seen points to its FPDU."""
        return self._marked > 0 and not any(self._votes)

    def is_settled(self, markers: bool | None, origin: int | None) -> bool:
        """Tell whether it is known where Markers are.

        :param markers: whether there are Markers, None if that is not known.
        :param origin: where one is, if there are any, None if that is not known.
        """
        if not self.is_believed:
            return False
        counts = sorted(self._counts(markers, origin).values())
        return len(counts) == 1 or counts[-1] - counts[-2] >= _LEAD

    def winners(self, markers: bool | None, origin: int | None) -> list[int | None]:
        """Return positions at which a Marker may be, None for no Markers: all for which most speak.

        The first is what the FPDUs alone would have chosen.
        """
        ranks = {
            place: (
                (count, 0, 0, 0)
                # Where as much speaks for a place, Markers were seen there.
                if place is None
                else (count, self._in_payload[place], -self._behind[place], self._votes[place])
            )
            for place, count in self._counts(markers, origin).items()
        }
        # Of equals, first those with which most FPDUs can be read, then those for which Markers
        # speak.
        best = sorted(ranks, key=ranks.__getitem__, reverse=True)
        return [
            None if place is None else self.reference + _WORD * place
            for place in best
            if ranks[place][:2] == ranks[best[0]][:2]
        ]
