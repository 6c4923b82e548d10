# SPDX-License-Identifier: GPL-2.0-or-later
"""Read one FPDU at a given position, and verify it.

Its CRC verifies an FPDU.  Without CRCs, its Markers must point to its beginning, and its DDP and
RDMAP headers must make sense (RFC 5044 6).
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

from scapy_mpa.stream.events import CrcVerdict
from scapy_mpa.stream.fpdus import weights
from scapy_mpa.stream.fpdus.search import header_words
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.stream.octets.stretch import Stretch
from scapy_mpa.wire.crc import crc_is_good
from scapy_mpa.wire.ddp import TAGGED, TAGGED_LENGTH, UNTAGGED_LENGTH
from scapy_mpa.wire.errors import ErrorCode
from scapy_mpa.wire.fpdu import (
    FPDUPTR_MASK,
    HEADER_LENGTH,
    MARKER_INTERVAL,
    MARKER_LENGTH,
    WORD,
    Layout,
    fpdu_layout,
    has_fpduptr,
    strip_markers,
)
from scapy_mpa.wire.rdmap import plausible

UNREADABLE: Final = -1
"""Returned for an FPDU whose ULPDU_Length was not captured."""

HEAD: Final = HEADER_LENGTH + UNTAGGED_LENGTH + MARKER_LENGTH
"""Octets of ULPDU_Length, the longest DDP header, and a Marker that may lie in it."""


def header_octets(octets: bytes, layout: Layout) -> bytes:
    """Return the octets after the ULPDU_Length of an FPDU that hold its DDP header.

    :param octets: of the FPDU, from its first one on, with Markers.
    """
    head = octets[: layout.header + HEAD]
    body = strip_markers(head, [at for at in layout.markers if at < len(head)])
    return body[HEADER_LENGTH:]


def marker_bits(layout: Layout, octets: bytes) -> tuple[int, int]:
    """Return the evidence for an FPDU, and against it, from its captured Markers, in bits.

    :param octets: of the FPDU, from its first one on.
    """
    marks = forged = 0
    for at, fpduptr in zip(layout.markers, layout.fpduptrs, strict=True):
        field = octets[at : at + MARKER_LENGTH]
        if len(field) < MARKER_LENGTH:
            break
        word = int.from_bytes(field, "big")
        if not has_fpduptr(word, fpduptr):
            forged += weights.FORGED
        elif word == fpduptr > 0:
            marks += weights.MARKER
        else:
            marks += weights.LEADING
    return marks, forged


def header_makes_sense(head: bytes, ulpdu_length: int, *, any_stag: bool = False) -> bool | None:
    """Return whether a DDP header makes sense; None if too little of it was captured to decide.

    :param head: the captured beginning of the ULPDU.
    :param ulpdu_length: octets of the whole ULPDU.
    :param any_stag: as of :func:`~scapy_mpa.wire.rdmap.plausible`.
    """
    if plausible(head, ulpdu_length, any_stag=any_stag):
        return True
    if len(head) < TAGGED_LENGTH:
        return None
    # Missing octets count as zeros, which contradict least.
    is_short = head[:1] < TAGGED and len(head) < UNTAGGED_LENGTH
    is_possible = is_short and plausible(head + bytes(HEAD), ulpdu_length, any_stag=any_stag)
    return None if is_possible else False


Octets: TypeAlias = Island | Stretch
"""The octets in which FPDUs are read."""


class Fault(NamedTuple):
    """An error of an FPDU (RFC 5044 8)."""

    code: ErrorCode
    text: str


class Candidate(NamedTuple):
    """Octets that may be an FPDU."""

    start: int
    end: int
    ulpdu_length: int
    layout: Layout
    octets: bytes
    crc: CrcVerdict
    agrees: bool
    """Whether all its Markers point to its beginning; True without Markers."""
    is_pointed_at: bool
    """Whether a captured Marker does so."""
    sound: bool
    """Whether it is verified."""

    @property
    def fault(self) -> Fault | None:
        """The error that a receiver would find; None if none."""
        if self.crc == "bad":
            text = f"CRC does not match the FPDU, ULPDU_Length {self.ulpdu_length} (RFC 5044 4.4)"
            return Fault(ErrorCode.CRC_MISMATCH, text)
        if self.agrees:
            return None
        text = "Markers point elsewhere than to their FPDU, "
        text += f"ULPDU_Length {self.ulpdu_length} (RFC 5044 4.3)"
        return Fault(ErrorCode.MARKER_MISMATCH, text)


class FPDUReader(NamedTuple):
    """Reads FPDUs of one direction at any position."""

    origin: int
    """Position from which Markers are counted."""
    markers: bool
    """Whether the direction has Markers."""
    crc: bool
    """Whether CRCs are checked."""
    layout_of: Callable[[int, int | None], Layout] = fpdu_layout
    """Gives the layout of an FPDU by its ULPDU_Length and phase."""
    any_stag: bool = False
    """As of :func:`~scapy_mpa.wire.rdmap.plausible`."""

    def verifies(self, island: Island, start: int) -> bool | None:
        """Return whether a verified FPDU begins at ``start``; None if more octets are needed."""
        # The octets of runs belong to other FPDUs, and were released.
        limit = min((run.start for run in island.runs if run.start > start), default=island.end)
        fpdu = self.fpdu_at(island, start, limit)
        if not isinstance(fpdu, int):
            return fpdu.sound
        if fpdu == UNREADABLE:
            return False
        if start + MARKER_LENGTH + WORD > island.end:
            return None
        _, word = self.begin_at(start)
        return None if header_words(island.read(word, word + WORD)) else False

    def begin_at(self, start: int) -> tuple[int | None, int]:
        """Return the phase of an FPDU at ``start``, and the position of its ULPDU_Length.

        Without Markers the phase is None.
        """
        if not self.markers:
            return None, start
        phase = (start - self.origin) % MARKER_INTERVAL
        return phase, start if phase else start + MARKER_LENGTH

    def _layout_at(self, island: Octets, start: int) -> tuple[int, Layout]:
        """Return the ULPDU_Length of an FPDU, which must be captured, and its layout."""
        phase, header = self.begin_at(start)
        ulpdu_length = int.from_bytes(island.read(header, header + HEADER_LENGTH), "big")
        return ulpdu_length, self.layout_of(ulpdu_length, phase)

    def fpdu_at(self, island: Octets, start: int, limit: int) -> Candidate | int:
        """Return the FPDU at ``start``, or the position up to which octets are needed for it."""
        _, header = self.begin_at(start)
        body = header + HEADER_LENGTH
        if body > limit:
            return body
        if island.absent and not island.is_captured(start, body):
            return UNREADABLE
        ulpdu_length, layout = self._layout_at(island, start)
        end = start + layout.length
        if end > limit:
            return end
        octets = island.read(start, end)
        if island.absent and (seen := island.captured_until(start, end)) < end:
            return self._judge_cut(island, start, ulpdu_length, layout, octets, seen - start)
        markers = layout.unpack.unpack_from(octets)
        agrees = markers == layout.fpduptrs or all(map(has_fpduptr, markers, layout.fpduptrs))
        pointed = agrees and bool(markers)
        if self.crc:
            good = crc_is_good(octets)
            crc: CrcVerdict = "good" if good else "bad"
            return Candidate(start, end, ulpdu_length, layout, octets, crc, agrees, pointed, good)
        if pointed:
            # Without CRCs, all bits of the first FPDUPTR must be as sent.
            pointed = markers[0] == layout.fpduptrs[0]
        sound = agrees and self._plausible(octets, layout, ulpdu_length)
        return Candidate(start, end, ulpdu_length, layout, octets, "off", agrees, pointed, sound)

    def _judge_cut(
        self,
        island: Octets,
        start: int,
        ulpdu_length: int,
        layout: Layout,
        octets: bytes,
        seen: int,
    ) -> Candidate:
        """Judge an FPDU that the snap length cut.

        Its header must make sense, and its captured Markers must point to it.

        :param seen: number of captured octets at its beginning.
        """
        pairs = zip(layout.markers, layout.unpack.unpack_from(octets), layout.fpduptrs, strict=True)
        alike = [
            has_fpduptr(marker, fpduptr)
            for at, marker, fpduptr in pairs
            if island.is_captured(start + at, start + at + MARKER_LENGTH)
        ]
        agrees = all(alike)
        pointed = agrees and bool(alike)
        octets = octets[:seen]
        sound = agrees and self._plausible(octets, layout, ulpdu_length)
        crc: CrcVerdict = "unknown" if self.crc else "off"
        end = start + layout.length
        return Candidate(start, end, ulpdu_length, layout, octets, crc, agrees, pointed, sound)

    def _plausible(self, octets: bytes, layout: Layout, ulpdu_length: int) -> bool:
        return plausible(header_octets(octets, layout), ulpdu_length, any_stag=self.any_stag)

    def with_wrong_length(self, island: Island, start: int, end: int) -> Candidate:
        """Return the FPDU at ``start``, ended at ``end``: its ULPDU_Length leads farther."""
        ulpdu_length, layout = self._layout_at(island, start)
        octets = island.read(start, end)
        crc: CrcVerdict = "bad" if self.crc else "off"
        return Candidate(start, end, ulpdu_length, layout, octets, crc, True, False, False)

    def makes_sense(self, island: Octets, start: int, limit: int) -> bool:
        """Return whether the header at ``start`` was captured before the limit and makes sense."""
        header = self.header_at(island, start, limit)
        return header is not None and header[0]

    def may_begin(self, island: Octets, start: int, limit: int, *, any_stag: bool = False) -> bool:
        """Return whether the header at ``start`` makes sense, as far as it was captured.

        :param any_stag: as of :func:`~scapy_mpa.wire.rdmap.plausible`.
        """
        header = self.header_at(island, start, limit, any_stag=any_stag)
        return header is None or header[0]

    def header_at(
        self, island: Octets, start: int, limit: int, *, any_stag: bool = False
    ) -> tuple[bool, Layout] | None:
        """Return whether the header at ``start`` makes sense, and the layout of its FPDU.

        None if too little of the header was captured to decide.
        """
        _, header = self.begin_at(start)
        end = min(limit, header + HEAD)
        if island.absent:
            end = island.captured_until(start, end)
        if end < header + HEADER_LENGTH:
            return None
        ulpdu_length, layout = self._layout_at(island, start)
        head = header_octets(island.read(start, end), layout)
        any_stag = any_stag or self.any_stag
        makes_sense = header_makes_sense(head, ulpdu_length, any_stag=any_stag)
        return None if makes_sense is None else (makes_sense, layout)

    def pointers(self, island: Octets, begin: int, limit: int) -> Iterator[tuple[int, int]]:
        """Yield the position of each Marker, and the start of the FPDU to which it points."""
        first = begin + (self.origin - begin) % MARKER_INTERVAL
        for marker in range(first, limit - MARKER_LENGTH + 1, MARKER_INTERVAL):
            end = marker + MARKER_LENGTH
            if not island.is_captured(marker, end):
                continue
            start = marker - (int.from_bytes(island.read(marker + 2, end), "big") & FPDUPTR_MASK)
            if (start - self.origin) % MARKER_INTERVAL == MARKER_LENGTH:
                start -= MARKER_LENGTH
            yield marker, start

    def starts_of(self, words: list[int], begin: int) -> list[int]:
        """Return the starts of FPDUs whose ULPDU_Lengths are ``words`` octets after ``begin``."""
        if not self.markers:
            return [begin + word for word in words]
        phases = [(begin + word - self.origin) % MARKER_INTERVAL for word in words]
        return [
            begin + word - (MARKER_LENGTH if phase == MARKER_LENGTH else 0)
            for word, phase in zip(words, phases, strict=True)
            if phase and (word or phase != MARKER_LENGTH)
        ]
