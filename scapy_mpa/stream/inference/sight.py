# SPDX-License-Identifier: GPL-2.0-or-later
"""The octets of one island, and which FPDUs they may be.

Two go over them for FPDUs, wherever these may begin: :mod:`~scapy_mpa.stream.inference.look`, by
their CRCs, and :mod:`~scapy_mpa.stream.inference.rows`, without.
"""

from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Final, NamedTuple

from scapy_mpa.stream.fpdus.candidate import HEAD, WORD, header_octets
from scapy_mpa.stream.fpdus.heads import rest_makes_sense
from scapy_mpa.stream.fpdus.search import (
    MARKED_ZERO_LENGTH,
    ZERO_LENGTH,
    agreeing_words,
    header_words,
)
from scapy_mpa.stream.inference.evidence import Evidence
from scapy_mpa.stream.inference.purse import Purse
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.wire.crc import RESIDUE, crc32c
from scapy_mpa.wire.ddp import TAGGED_LENGTH
from scapy_mpa.wire.fpdu import (
    FPDUPTR_MASK,
    HEADER_LENGTH,
    MARKER_INTERVAL,
    MARKER_LENGTH,
    Layout,
    fpdu_layout,
)
from scapy_mpa.wire.rdmap import BOUNDS

__all__ = [
    "COST_OF_FAILURE",
    "COST_OF_PLACE",
    "OCTETS_AT_FIRST",
    "Known",
    "Reading",
    "Sight",
    "looking",
]

# Octets that a look at all islands may go over to check candidates: something to begin with, which
# is enough for one payload full of headers, and a multiple of the octets there, up to some number,
# so that no content makes the cost per octet grow.
OCTETS_AT_FIRST: Final = 1 << 20
# What a look at a header costs of them that makes no sense, if its first word does and if not, and
# at words that may be Markers.
COST_OF_PLACE: Final = 1024
_COST_OF_WORD: Final = 128
# What a header that makes sense costs beside the octets of its FPDU, which may be few, if no FPDU
# is found there after all, or no row of them.
COST_OF_FAILURE: Final = 4096
_COST_OF_MARKERS: Final = 128
# Octets of an FPDU in which its header is looked for once more, and how many must come again for
# what they say to be explained by that: fewer may be a copy of a true header.
_REPEATED: Final = 512
_LEAST_REPEATED: Final = 128
# The share of it that is kept for the less likely alignments: an STag may look like the header of a
# long FPDU, and stands in all FPDUs of a message.
_SHARE_OF_OTHERS: Final = 16
# What the words behind a ULPDU_Length field say if they are Markers: its first, or its second, for
# one of them may be forged.
_POINTERS: Final = b"".join(
    back.to_bytes(WORD, "big") for back in range(WORD, 2 * MARKER_INTERVAL, WORD)
)


# Where an FPDU's QN is, without a Marker in its header before it, and with one.
_QN: Final = slice(8, 12)
_QN_BEHIND_MARKER: Final = slice(12, 16)


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
    unasked: bool = False
    """Whether it is known that no startup frame asked for MPA: then only two good CRCs in a row are
    believed."""


class Reading(NamedTuple):
    """An FPDU as which octets may be read."""

    start: int
    end: int
    layout: Layout
    phase: int | None


class Sight:
    """The octets of an island from a position on, and what was made of them so far.

    :param allowance: how many octets may be gone over.
    :param begin: the position; None: all are looked at.
    """

    def __init__(
        self, island: Island, known: Known, allowance: int, begin: int | None = None
    ) -> None:
        self.island = island
        self.known = known
        self.begin = island.start if begin is None else begin
        """Position of the first of its octets."""
        self.octets = island.read(self.begin, island.end)
        self.explained = bytearray(len(self.octets))
        """Of each, whether no further FPDU begins with it."""
        self.allowance = allowance
        """How many octets may still be gone over."""
        self._was_left_out = False

    @property
    def is_all(self) -> bool:
        """Whether all was looked at so far that was to be."""
        return self.allowance >= 0 and not self._was_left_out

    @property
    def scope(self) -> Hashable:
        """What the outcome of a look depends on if nothing is found."""
        known, island = self.known, self.island
        # A copy may bring what was cut off.
        cut_off = tuple(island.absent or ())
        return self.begin, island.end, known.markers, known.origin, known.sure, cut_off

    def headers(self) -> Iterator[int]:
        """Yield where the ULPDU_Length of an FPDU may stand that nothing explains so far, if its
        header makes sense.

        First where segments begin, then at any word of the likeliest alignment, then at those of
        the others, in their order: what an FPDU explains is looked at no more.
        """
        begin, end = self.begin, self.island.end
        counts = [0] * WORD
        for chunk in self.island.chunks(begin, end):
            counts[(chunk.position - begin) % WORD] += 1
        likeliest, *others = sorted(range(WORD), key=lambda each: -counts[each])
        kept = self.allowance // _SHARE_OF_OTHERS
        boundaries = dict.fromkeys(self.island.telling_boundaries(begin, end))
        yield from self._sensible(boundaries, kept)
        words = [each for each in self._words(likeliest) if each not in boundaries]
        yield from self._sensible(words, kept)
        words = [each for each in chain(*map(self._words, others)) if each not in boundaries]
        yield from self._sensible(sorted(words), 0)

    def _sensible(self, places: Iterable[int], kept: int) -> Iterator[int]:
        """Yield places with headers that make sense and that nothing explains, as long as more may
        be spent than what is kept.

        One that makes none costs, too: octets may be full of what headers begin with.  Most are
        told by their first octets, without a call for each.
        """
        begin, octets = self.begin, self.octets
        for position in places:
            if self.allowance < kept:
                self._was_left_out = True
                return
            at = position - begin
            if at < 0 or self.explained[at]:
                continue
            head = octets[at : at + HEAD]
            control = head[HEADER_LENGTH:WORD]
            if control not in BOUNDS:
                self.allowance -= _COST_OF_WORD
                continue
            shortest, longest, queue = BOUNDS[control]
            if not shortest <= head[0] << 8 | head[1] <= longest:
                self.allowance -= _COST_OF_WORD
            elif queue not in (None, head[_QN], head[_QN_BEHIND_MARKER]) or not rest_makes_sense(
                head
            ):
                self.allowance -= COST_OF_PLACE
            else:
                yield position

    def _words(self, shift: int) -> list[int]:
        """Return the places in an alignment where the first word of an FPDU may stand."""
        words = []
        for start, end in self._captured():
            first = start + (shift - start) % WORD
            words += [self.begin + first + word for word in header_words(self.octets[first:end])]
        return words

    def _captured(self) -> Iterator[tuple[int, int]]:
        """Yield where octets begin and end that the snap length did not cut off, from the first on.

        What stands for the others may be most of them, for a frame is as long as it claims.
        """
        begin, at = self.begin, 0
        for start, end in self.island.absent or ():
            if at < start - begin:
                yield at, start - begin
            at = max(at, end - begin)
        if at < len(self.octets):
            yield at, len(self.octets)

    def zero_lengths(self) -> Iterator[int]:
        """Yield where FPDUs of zero length stand, their CRC too, that nothing explains."""
        for octets, header in ((ZERO_LENGTH, 0), (MARKED_ZERO_LENGTH, MARKER_LENGTH)):
            for start, end in self._captured():
                at = self.octets.find(octets, start, end)
                while at >= 0 and self.allowance >= 0:
                    if not self.explained[at]:
                        self.allowance -= COST_OF_FAILURE
                        yield self.begin + at + header
                    at = self.octets.find(octets, at + 1, end)

    def readings(self, header: int) -> Iterator[Reading]:
        """Yield what FPDUs the octets at ``header`` may be.

        The reserved bits of a Marker count here, which a sender must leave zero (RFC 5044 4.2):
        32 bits are no chance, 14 are.
        """
        if header + HEADER_LENGTH > self.island.end:
            return
        ulpdu_length = self.number(header)
        markers, origin = self.known.markers, self.known.origin
        if not markers:
            yield _reading(header, ulpdu_length, None)
        if markers is False:
            return
        if origin is not None:
            phase = (header - origin) % MARKER_INTERVAL
            if phase == MARKER_LENGTH:
                if header - MARKER_LENGTH >= self.begin:
                    yield _reading(header - MARKER_LENGTH, ulpdu_length, 0)
            elif phase and phase % WORD == 0:
                yield _reading(header, ulpdu_length, phase)
            return
        leading = header - MARKER_LENGTH
        # It may be forged: then the next one tells that it is there, or the island begins with it.
        is_led = leading == self.island.start
        for phase in {-back % MARKER_INTERVAL: None for back in self.markers_behind(header)}:
            if phase == MARKER_LENGTH:
                is_led = True
                continue
            reading = _reading(header, ulpdu_length, phase)
            if phase and reading.layout.markers:
                yield reading
        if (
            leading >= self.begin
            and (is_led or self.word(leading) == 0)
            and self.is_captured(leading)
        ):
            yield _reading(leading, ulpdu_length, 0)
        if markers:
            # It may hold none.
            yield _reading(header, ulpdu_length, None)

    def read(self, start: int, phase: int | None) -> Reading | None:
        """Return the FPDU at ``start``, if its ULPDU_Length is there."""
        header = start + MARKER_LENGTH if phase == 0 else start
        if header + HEADER_LENGTH > self.island.end:
            return None
        return _reading(start, self.number(header), phase)

    def verified(self, header: int) -> Iterator[Reading]:
        """Yield the FPDUs whose ULPDU_Length stands at ``header`` and whose CRC is good."""
        seen = set()
        for reading in self.readings(header):
            start, end = reading.start, reading.end
            # A CRC does not tell where its Markers lie, only how many there are.
            if (start, end) in seen or end > self.island.end:
                continue
            seen.add((start, end))
            self.allowance -= end - start
            if crc32c(self.octets[start - self.begin : end - self.begin]) == RESIDUE:
                yield reading

    def following(self, at: int, before: Reading | None = None) -> Reading | None:
        """Return the verified FPDU that begins at ``at``, with a Marker or without.

        :param before: one that ends there, and may say where Markers are: all of those in the next
            one may be forged.
        """
        for header in (at, at + MARKER_LENGTH):
            for reading in self.verified(header):
                if reading.start == at:
                    return reading
        if before is None or before.phase is None:
            return None
        due = self.read(at, (before.phase + before.layout.length) % MARKER_INTERVAL)
        if due is None or not due.layout.markers or due.end > self.island.end:
            return None
        self.allowance -= due.layout.length
        octets = self.octets[at - self.begin : due.end - self.begin]
        return due if crc32c(octets) == RESIDUE else None

    def explain(self, start: int, end: int) -> None:
        """Take note of octets in which no further FPDU begins."""
        begin = self.begin
        self.explained[start - begin : end - begin] = b"\1" * (end - start)

    def recurs(self, header: int, end: int) -> bool:
        """Tell whether what looks like the header of an FPDU comes again in its payload.

        That is part of a payload which repeats itself: from each copy on there are such rows.  The
        stretch that does so is explained by that.
        """
        octets = self.octets
        first = at = header - self.begin
        head = octets[at : at + HEADER_LENGTH + TAGGED_LENGTH]
        # Copies may overlap each other.
        again = octets.find(head, at + WORD, min(end - self.begin, at + _REPEATED))
        if again < 0:
            return False
        while size := min(_REPEATED, len(octets) - again):
            one, other = octets[at : at + size], octets[again : again + size]
            if one != other:
                # Markers, for one, are not repeated.
                at += _in_common(one, other)
                break
            at += size
            again += size
        if at - first >= _LEAST_REPEATED:
            self.explain(header, header + at - first)
        return True

    def told(self, start: int, layout: Layout) -> tuple[int, int]:
        """Return how many Markers of an FPDU that is there point to its ULPDU_Length, and how many
        do not.  Those that the snap length cut off say nothing."""
        island = self.island
        said = layout.unpack.unpack_from(self.octets, start - self.begin)
        agreeing = others = 0
        for at, one, other in zip(layout.markers, said, layout.fpduptrs, strict=True):
            if island.absent and not self.is_captured(start + at):
                continue
            if one & FPDUPTR_MASK == other & FPDUPTR_MASK:
                agreeing += 1
            else:
                others += 1
        return agreeing, others

    def show(self, reading: Reading, evidence: Evidence) -> None:
        """Have an FPDU that is there taken as evidence."""
        start, layout = reading.start, reading.layout
        telling = tuple(
            back
            for at, back in zip(layout.markers, layout.fpduptrs, strict=True)
            if back and self.word(start + at) == back and self.is_captured(start + at)
        )
        length = self.number(start + layout.header)
        evidence.take(self.header(reading), length, telling)

    def header(self, reading: Reading) -> bytes:
        """Return the octets of an FPDU behind its ULPDU_Length in which its DDP header lies."""
        at, layout = reading.start - self.begin, reading.layout
        return header_octets(self.octets[at : at + layout.header + HEAD], layout)

    def is_captured(self, marker: int) -> bool:
        """Tell whether the snap length cut off nothing of a Marker."""
        end = marker + MARKER_LENGTH
        return self.island.captured_until(marker, end) == end

    def number(self, position: int) -> int:
        at = position - self.begin
        return int.from_bytes(self.octets[at : at + HEADER_LENGTH], "big")

    def word(self, position: int) -> int:
        at = position - self.begin
        return int.from_bytes(self.octets[at : at + WORD], "big")

    def markers_behind(self, header: int) -> list[int]:
        """Return how far behind ``header`` words stand that read as Markers pointing there."""
        self.allowance -= _COST_OF_MARKERS
        at = header - self.begin
        words = self.octets[at + WORD : at + 2 * MARKER_INTERVAL]
        return [found + WORD for found in agreeing_words(words, _POINTERS)]


@contextmanager
def looking(
    island: Island,
    known: Known,
    begin: int | None = None,
    *,
    allowance: int = OCTETS_AT_FIRST,
    final: bool = True,
) -> Iterator[Sight]:
    """Look at the octets of an island for what the purse has to spare.

    :param allowance: how many octets may be gone over at most.
    :param final: as of :meth:`Purse.lend`.
    """
    lent = known.purse.lend(allowance, final=final)
    sight = Sight(island, known, lent, begin)
    try:
        yield sight
    finally:
        known.purse.settle(lent - sight.allowance, is_short=lent < allowance and not sight.is_all)


def _in_common(one: bytes, other: bytes) -> int:
    """Return how many octets two strings of the same length begin with, both."""
    difference = int.from_bytes(one, "big") ^ int.from_bytes(other, "big")
    return len(one) - (difference.bit_length() + 7) // 8


def _reading(start: int, ulpdu_length: int, phase: int | None) -> Reading:
    layout = fpdu_layout(ulpdu_length, phase)
    return Reading(start, start + layout.length, layout, phase)
