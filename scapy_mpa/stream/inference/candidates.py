# SPDX-License-Identifier: GPL-2.0-or-later
"""The octets of one island, and where FPDUs may begin in them.

Two read FPDUs from there: :mod:`~scapy_mpa.stream.inference.verified`, by their CRCs, and
:mod:`~scapy_mpa.stream.inference.rows`, without.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple, Protocol

from scapy_mpa.stream.fpdus.candidate import HEAD
from scapy_mpa.stream.fpdus.heads import rest_makes_sense
from scapy_mpa.stream.fpdus.search import (
    MARKED_ZERO_LENGTH,
    ZERO_LENGTH,
    agreeing_words,
    header_words,
)
from scapy_mpa.stream.limits import STREAMING_OCTETS
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.stream.octets.stretch import Stretch
from scapy_mpa.stream.purse import Allowance, Purse
from scapy_mpa.wire.ddp import TAGGED_LENGTH
from scapy_mpa.wire.fpdu import (
    HEADER_LENGTH,
    MARKER_INTERVAL,
    MARKER_LENGTH,
    WORD,
    points_alike,
)
from scapy_mpa.wire.rdmap import BOUNDS

# What a search wants to spend: enough for one payload full of headers, and so much for each octet.
_AT_FIRST: Final = 1 << 20
_FOR_AN_OCTET: Final = 16
# What a header costs at which no more is looked.
_COST_OF_WORD: Final = 64
# What a header costs that makes no sense.
_COST_OF_PLACE: Final = 1024
COST_OF_FAILURE: Final = 4096
"""What a search costs that finds nothing, beside the octets that it reads."""
# The share that is kept for the less likely alignments: an STag may look like the header of a long
# FPDU, and stands in all FPDUs of a message.
_SHARE_OF_OTHERS: Final = 16
# What the words after a ULPDU_Length field say if they are Markers: its first, or its second, for
# one of them may be forged.
_POINTERS: Final = b"".join(
    back.to_bytes(WORD, "big") for back in range(WORD, 2 * MARKER_INTERVAL, WORD)
)
# Where an FPDU's QN is, without a Marker in its header before it, and with one.
_QN: Final = slice(8, 12)
_QN_BEHIND_MARKER: Final = slice(12, 16)
# Octets of a header up to TO, or QN and MSN: no two segments have the same.
_TOLD: Final = HEADER_LENGTH + TAGGED_LENGTH


class Memory(Protocol):
    """What is remembered of the searches in a direction."""

    without_crcs: object
    """Octets in which no FPDU has a good CRC, and what was known when they were searched."""


class Known(NamedTuple):
    """What is known of a direction before its octets are looked at."""

    crc: bool | None
    """Whether CRCs are on, None if that is not known."""
    markers: bool | None
    """Whether there are Markers, None if that is not known."""
    origin: int | None
    """Where its Full Operation Phase begins, None if its startup frame was not captured."""
    sure: bool
    """Whether it carries FPDUs, as a direction does when the other does."""
    purse: Purse
    """What pays for looks at its octets."""
    memory: Memory
    unasked: bool = False
    """Whether it is known that no startup frame asked for MPA: then only two good CRCs in a row are
    believed."""


class Candidates:
    """The octets of an island, and which of them belong to FPDUs that were found.

    :param allowance: what may be spent on them.
    """

    def __init__(self, island: Island, known: Known, allowance: Allowance) -> None:
        self.island = island
        self.known = known
        # No FPDU begins before the phase.
        begin = island.start if known.origin is None else max(island.start, known.origin)
        self.stretch = Stretch(island, begin, island.end)
        self.boundaries = dict.fromkeys(island.telling_boundaries(begin, island.end))
        """Where segments begin that are not tiny."""
        self._explained = bytearray(len(self.stretch.octets))
        self.allowance = allowance
        """What may still be spent."""
        self._was_left_out = False
        # The same header again says nothing new: a payload may repeat it.
        self._seen: set[bytes] = set()

    @property
    def is_all(self) -> bool:
        """Whether all was looked at so far that was to be."""
        return self.allowance.left >= 0 and not self._was_left_out

    def explain(self, start: int, end: int) -> None:
        """Take note of octets in which no further FPDU begins."""
        begin = self.stretch.begin
        self._explained[start - begin : end - begin] = b"\1" * (end - start)

    def is_explained(self, position: int) -> bool:
        """Tell whether the octet at a position is of an FPDU that was found."""
        return bool(self._explained[position - self.stretch.begin])

    def headers(self) -> Iterator[int]:
        """Yield where the ULPDU_Length of an FPDU may stand that nothing explains so far, if its
        header makes sense.

        First where segments begin, then at any word of the likeliest alignment, then at those of
        the others, in their order: what an FPDU explains is looked at no more.
        """
        begin, end = self.stretch.begin, self.stretch.end
        counts = [0] * WORD
        for chunk in self.island.chunks(begin, end):
            counts[(chunk.position - begin) % WORD] += 1
        likeliest, *others = sorted(range(WORD), key=lambda each: -counts[each])
        kept = self.allowance.left // _SHARE_OF_OTHERS
        boundaries = self.boundaries
        yield from self._sensible(boundaries, kept)
        words = [each for each in self._words(likeliest) if each not in boundaries]
        yield from self._sensible(words, kept)
        words = [each for each in chain(*map(self._words, others)) if each not in boundaries]
        yield from self._sensible(sorted(words), 0)

    def _sensible(self, places: Iterable[int], kept: int) -> Iterator[int]:
        """Yield places with headers that make sense and that nothing explains, as long as more may
        be spent than what is kept.

        One that makes none costs, too: octets may be full of what headers begin with.  Most are
        known by their first octets, without a call for each.
        """
        begin, octets = self.stretch.begin, self.stretch.octets
        for position in places:
            if self.allowance.left < kept:
                self._was_left_out = True
                return
            at = position - begin
            if at < 0 or self._explained[at]:
                continue
            head = octets[at : at + HEAD]
            control = head[HEADER_LENGTH:WORD]
            if control not in BOUNDS:
                self.allowance.left -= _COST_OF_WORD
                continue
            shortest, longest, queue = BOUNDS[control]
            said = head[:_TOLD]
            is_known = said in self._seen or not shortest <= head[0] << 8 | head[1] <= longest
            if is_known or queue not in (None, head[_QN], head[_QN_BEHIND_MARKER]):
                self.allowance.left -= _COST_OF_WORD
            elif rest_makes_sense(head):
                self._seen.add(said)
                yield position
            else:
                self.allowance.left -= _COST_OF_PLACE

    def _words(self, shift: int) -> list[int]:
        """Return the places in an alignment where the first word of an FPDU may stand."""
        words = []
        for start, end in self._captured():
            first = start + (self.stretch.begin + shift - start) % WORD
            words += [first + word for word in header_words(self.stretch.read(first, end))]
        return words

    def _captured(self) -> Iterator[tuple[int, int]]:
        """Yield where octets begin and end that the snap length did not cut off, from the first on.

        What stands for the others may be most of them, for a frame is as long as it claims.
        """
        at = self.stretch.begin
        for start, end in self.island.absent or ():
            if at < start:
                yield at, start
            at = max(at, end)
        if at < self.stretch.end:
            yield at, self.stretch.end

    def zero_lengths(self) -> Iterator[int]:
        """Yield where FPDUs of zero length stand, their CRC too, that nothing explains."""
        begin, all_octets = self.stretch.begin, self.stretch.octets
        for octets, header in ((ZERO_LENGTH, 0), (MARKED_ZERO_LENGTH, MARKER_LENGTH)):
            for start, end in self._captured():
                at = all_octets.find(octets, start - begin, end - begin)
                while at >= 0 and self.allowance.left >= 0:
                    if not self._explained[at]:
                        self.allowance.left -= COST_OF_FAILURE
                        yield begin + at + header
                    at = all_octets.find(octets, at + 1, end - begin)

    def markers_after(self, header: int) -> list[int]:
        """Return how far after ``header`` words stand that read as Markers pointing there."""
        self.allowance.left -= _COST_OF_WORD
        words = self.stretch.read(header + WORD, header + 2 * MARKER_INTERVAL)
        return [found + WORD for found in agreeing_words(words, _POINTERS)]

    def may_be_led(self, header: int) -> bool:
        """Tell whether a Marker may lead the FPDU whose ULPDU_Length stands at ``header``.

        It says 0.
        """
        marker = header - MARKER_LENGTH
        if marker < self.stretch.begin or not self.stretch.is_captured(marker, header):
            return False
        return points_alike(self.stretch.number(marker, header), 0)


def candidates(islands: Sequence[Island], known: Known) -> Iterator[Candidates]:
    """Yield the octets of each island, as long as there are not too many before it."""
    purse, counted = known.purse, STREAMING_OCTETS
    for island in islands:
        octets = min(island.end - island.start, counted)
        counted -= octets
        looked_at = Candidates(island, known, purse.lend(_AT_FIRST + _FOR_AN_OCTET * octets))
        try:
            yield looked_at
        finally:
            allowance = looked_at.allowance
            purse.spend(allowance.spent)
            purse.cut_short += allowance.is_short and not looked_at.is_all
        if not counted:
            break
