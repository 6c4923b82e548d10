# SPDX-License-Identifier: GPL-2.0-or-later
"""What a direction carries whose startup frames were not captured.

Three things are unknown: whether the octets are FPDUs at all, whether CRCs are on, and whether
there are Markers and where.  All are found by looking for FPDUs that stand in a row:

* With CRCs, one verified FPDU is 32 bits of evidence.  But a payload may hold FPDUs (a download
  of an iWARP capture, say), so two must stand back to back, or one must fill a segment.
* A Marker inside a verified FPDU says where all Markers are; verified FPDUs in a row over more
  than 512 octets that hold none say that there are none.
* Without CRCs, several headers in a row must make sense, each where the length before it leads.

Ordinary TCP traffic has none of this.  How much of it is looked at is limited for each half
connection, so finding out costs a bounded amount.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from scapy_mpa.stream.islands import Island
from scapy_mpa.stream.search import header_words
from scapy_mpa.wire.crc import RESIDUE, crc32c
from scapy_mpa.wire.fpdu import (
    FPDUPTR_MASK,
    HEADER_LENGTH,
    MARKER_INTERVAL,
    MARKER_LENGTH,
    Layout,
    fpdu_layout,
    strip_markers,
)
from scapy_mpa.wire.rdmap import plausible

__all__ = ["Inferred", "infer"]

_WORD: Final = 4
_HEAD: Final = HEADER_LENGTH + 18 + MARKER_LENGTH
# FPDUs in a row that nobody takes for chance: with CRCs, and without.
_VERIFIED_CHAIN: Final = 2
_PLAUSIBLE_CHAIN: Final = 4
_LONGEST_CHAIN: Final = 64
# Markers that say more than zero, as many other things do, without CRCs.
_TELLING_POINTERS: Final = 2
# Octets that one attempt may go over to check candidates, as a multiple of those it looks at, so
# that no content makes the cost per octet grow.
_OCTETS_PER_OCTET: Final = 8
_COST_OF_MARKERS: Final = 64
# What the words behind a ULPDU_Length field say if they are Markers.
_POINTERS: Final = b"".join(
    back.to_bytes(_WORD, "big") for back in range(_WORD, MARKER_INTERVAL, _WORD)
)


class Inferred(NamedTuple):
    """What was found out about a direction."""

    origin: int
    """A position from which Markers, or else FPDUs, lie at multiples of 512, or else of 4."""
    markers: bool
    crc: bool


class _Found(NamedTuple):
    start: int
    end: int
    phase: int | None
    """Offset of the first octet modulo 512, None if the FPDU reads as one without Markers."""
    pointers: int
    """How many of its Markers say more than zero."""


def _pointers(layout: Layout) -> int:
    return sum(1 for fpduptr in layout.fpduptrs if fpduptr)


class _Attempt:
    """One look at an island."""

    def __init__(self, island: Island, begin: int, *, crc: bool, markers: bool | None) -> None:
        self._island = island
        self._begin = begin
        self._octets = island.read(begin, island.end)
        self._crc = crc
        self._markers = markers
        self.allowance = _OCTETS_PER_OCTET * len(self._octets)

    def look(self, *, final: bool, sure: bool) -> Inferred | None:
        """Return what FPDUs in a row say.

        :param final: nothing will be added to the island.
        :param sure: the direction is known to carry FPDUs.
        """
        for start in self._starts():
            if self.allowance < 0:
                return None
            if not self._makes_sense(start):
                continue
            for first in self._fpdus_at(start):
                inferred = self._follow(first, final=final, sure=sure)
                if inferred is not None:
                    return inferred
        return None

    def _starts(self) -> Iterator[int]:
        """Yield where an FPDU's ULPDU_Length may stand: first in the likeliest alignment."""
        boundaries = [
            chunk.position for chunk in self._island.chunks(self._begin, self._island.end)
        ]
        counts = [0] * _WORD
        for position in boundaries:
            counts[(position - self._begin) % _WORD] += 1
        for shift in sorted(range(_WORD), key=lambda each: -counts[each]):
            for word in header_words(self._octets[shift:]):
                yield self._begin + shift + word

    def _makes_sense(self, header: int) -> bool:
        """Tell whether the DDP header makes sense, with or without a Marker in its midst."""
        at = header - self._begin
        head = self._octets[at : at + _HEAD]
        ulpdu_length = int.from_bytes(head[:HEADER_LENGTH], "big")
        return plausible(head[HEADER_LENGTH:], ulpdu_length) or any(
            plausible(head[HEADER_LENGTH:marker] + head[marker + MARKER_LENGTH :], ulpdu_length)
            for marker in range(_WORD, _HEAD - MARKER_LENGTH, _WORD)
        )

    def _word(self, position: int) -> int:
        at = position - self._begin
        return int.from_bytes(self._octets[at : at + _WORD], "big")

    def _fpdus_at(self, header: int) -> Iterator[_Found]:
        """Yield what FPDUs the octets at ``header`` may be, the likeliest first.

        A CRC does not tell where in an FPDU a Marker lies, so here its reserved bits count, which
        a sender must leave zero (RFC 5044 4.2): 32 bits are no chance, 14 are.  A Marker before
        ULPDU_Length is all zeros, and so are many other things.
        """
        at = header - self._begin
        if at + HEADER_LENGTH > len(self._octets):
            return
        ulpdu_length = int.from_bytes(self._octets[at : at + HEADER_LENGTH], "big")
        if self._markers is not False:
            for back in self._markers_behind(at):
                phase = -back % MARKER_INTERVAL
                if fpdu_layout(ulpdu_length, phase).markers:
                    yield from self._marked(header, ulpdu_length, phase)
        if not self._markers and self._holds(header, ulpdu_length, None):
            yield _Found(header, header + fpdu_layout(ulpdu_length).length, None, 0)
        if self._markers is not False and at >= MARKER_LENGTH and self._word(header - _WORD) == 0:
            yield from self._marked(header - MARKER_LENGTH, ulpdu_length, 0)

    def _markers_behind(self, at: int) -> Iterator[int]:
        """Yield how far behind ``at`` words stand that read as Markers pointing there."""
        self.allowance -= _COST_OF_MARKERS
        words = self._octets[at + _WORD : at + MARKER_INTERVAL]
        words = words[: len(words) & -_WORD]
        # All words at once: those that are as they should be come out as zeros.
        expected = int.from_bytes(_POINTERS[: len(words)], "big")
        differences = (int.from_bytes(words, "big") ^ expected).to_bytes(len(words), "big")
        backs = []
        found = differences.find(bytes(_WORD))
        while found >= 0:
            if found % _WORD == 0:
                backs.append(found + _WORD)
            found = differences.find(bytes(_WORD), found + 1)
        # Numbers of the DDP header read as Markers by chance, an MSN of 12 for one, and in every
        # segment of a message; elsewhere 32 bits are no chance.
        yield from sorted(backs, key=lambda back: back < _HEAD)

    def _marked(self, start: int, ulpdu_length: int, phase: int) -> Iterator[_Found]:
        if self._holds(start, ulpdu_length, phase):
            layout = fpdu_layout(ulpdu_length, phase)
            yield _Found(start, start + layout.length, phase, _pointers(layout))

    def _holds(self, start: int, ulpdu_length: int, phase: int | None) -> bool:
        """Tell whether an FPDU stands at ``start``."""
        layout = fpdu_layout(ulpdu_length, phase)
        at = start - self._begin
        end = at + layout.length
        if end > len(self._octets):
            return False
        octets = self._octets[at:end]
        said = layout.unpack.unpack_from(octets)
        if any(
            one & FPDUPTR_MASK != other & FPDUPTR_MASK
            for one, other in zip(said, layout.fpduptrs, strict=True)
        ):
            return False
        if self._crc:
            self.allowance -= layout.length
            return crc32c(octets) == RESIDUE
        head = octets[: layout.header + _HEAD]
        body = strip_markers(head, [each for each in layout.markers if each < len(head)])
        return plausible(body[HEADER_LENGTH:], ulpdu_length)

    def _next(self, at: int, phase: int | None, *, known: bool) -> _Found | None:
        """Return the FPDU at ``at``; ``known`` if ``phase`` tells where Markers are."""
        if not known:
            return next(self._fpdus_at(at), None) or next(
                (each for each in self._fpdus_at(at + MARKER_LENGTH) if each.start == at), None
            )
        header = at + MARKER_LENGTH if phase == 0 else at
        offset = header - self._begin
        ulpdu_length = int.from_bytes(self._octets[offset : offset + HEADER_LENGTH], "big")
        if not self._holds(at, ulpdu_length, phase):
            return None
        layout = fpdu_layout(ulpdu_length, phase)
        return _Found(at, at + layout.length, phase, _pointers(layout))

    def _is_cut(self, at: int, phase: int | None) -> bool:
        """Tell whether the octets end inside the FPDU at ``at``, if one stands there."""
        header = at - self._begin + (MARKER_LENGTH if phase == 0 else 0)
        if header + HEADER_LENGTH > len(self._octets):
            return True
        ulpdu_length = int.from_bytes(self._octets[header : header + HEADER_LENGTH], "big")
        end = at - self._begin + fpdu_layout(ulpdu_length, phase).length
        words = self._octets[header : header + _WORD]
        return end > len(self._octets) and (
            len(words) < _WORD or any(True for _ in header_words(words))
        )

    def _follow(self, first: _Found, *, final: bool, sure: bool) -> Inferred | None:
        """Follow FPDUs from the first one on, until enough is known."""
        origin = None if first.phase is None else first.start - first.phase
        count = 1
        pointers = first.pointers
        at = first.end
        needed = 1 if sure and self._crc else self._needed(first)
        while count < _LONGEST_CHAIN and not (self._crc and count >= needed):
            phase = None if origin is None else (at - origin) % MARKER_INTERVAL
            known = origin is not None or self._markers is False
            following = self._next(at, phase, known=known)
            if following is None:
                break
            if origin is None and following.phase is not None:
                origin = following.start - following.phase
            count += 1
            pointers += following.pointers
            at = following.end
        if count < needed:
            return None
        told = final or self._markers is False or at - first.start > 2 * MARKER_INTERVAL
        if self._crc:
            return self._follow_unmarked(first, final=final)
        # Without CRCs a wrong idea of where Markers are goes on for a few FPDUs at most.
        phase = None if origin is None else (at - origin) % MARKER_INTERVAL
        if not told or (count < _LONGEST_CHAIN and not self._is_cut(at, phase)):
            return None
        if origin is not None and pointers < _TELLING_POINTERS:
            return None
        return Inferred(first.start if origin is None else origin, origin is not None, False)

    def _follow_unmarked(self, first: _Found, *, final: bool) -> Inferred | None:
        """Follow verified FPDUs that hold no Marker so far, until one does or none can."""
        following: _Found | None = first
        at = first.start
        while self._markers is not False and at - first.start <= MARKER_INTERVAL:
            following = first if at == first.start else self._next(at, None, known=False)
            if following is None:
                return Inferred(first.start, False, True) if final else None
            if following.phase is not None:
                return self._confirm(following, final=final)
            at = following.end
        return Inferred(first.start, False, True)

    def _confirm(self, found: _Found, *, final: bool) -> Inferred | None:
        """Follow verified FPDUs from one that seems to hold a Marker, until others agree.

        A CRC does not tell where in an FPDU the Marker lies, and an MSN of 12 that stands 12
        octets behind ULPDU_Length reads as one.
        """
        assert found.phase is not None
        origin = found.start - found.phase
        pointers, at = found.pointers, found.end
        while found.phase and pointers < _TELLING_POINTERS:
            phase = (at - origin) % MARKER_INTERVAL
            following = self._next(at, phase, known=True)
            if following is None:
                if final and self._is_cut(at, phase):
                    break
                return None
            pointers += following.pointers
            if following.phase == 0:
                # Its Marker comes first, and without it the CRC would not fit.
                break
            at = following.end
        return Inferred(origin, True, True)

    def _needed(self, first: _Found) -> int:
        """Return how many FPDUs must stand in a row to be believed."""
        island = self._island
        if not self._crc:
            return _PLAUSIBLE_CHAIN
        return 1 if island.fills_segments(first.start, first.end) else _VERIFIED_CHAIN


def infer(
    island: Island, begin: int, *, crc: bool | None, markers: bool | None, final: bool, sure: bool
) -> Inferred | None:
    """Find out what an island carries, if it can be told.

    :param begin: where in the island to begin.
    :param crc: whether CRCs are on, None if that is not known.
    :param markers: whether there are Markers, None if that is not known.
    :param final: nothing will be added to the island.
    :param sure: the direction is known to carry FPDUs, as one is when the other does.
    """
    if crc is not False:
        found = _Attempt(island, begin, crc=True, markers=markers).look(final=final, sure=sure)
        if found is not None or crc:
            return found
    return _Attempt(island, begin, crc=False, markers=markers).look(final=final, sure=sure)
