# SPDX-License-Identifier: GPL-2.0-or-later
"""Find out where Markers are, by FPDUs with good CRCs (RFC 5044 4.3).

A CRC covers the Markers of an FPDU.  So it shows how many there are, but not where: an MSN of 12
that is 12 octets after ULPDU_Length reads as a Marker.  An *offset* is the distance modulo 512 from
a reference position to a Marker.  Each offset is a hypothesis, and so is that there are no Markers.
For each, the bits of all FPDUs are added up.  The best one is certain once all others have
:data:`~scapy_mpa.stream.fpdus.weights.PROOF` bits less.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final, NamedTuple

from scapy_mpa.stream.fpdus.candidate import header_octets, marker_bits
from scapy_mpa.stream.fpdus.weights import CRC, FORGED, PROOF, TAGGED, UNKNOWN_PHASE
from scapy_mpa.stream.inference.evidence import Evidence
from scapy_mpa.wire.fpdu import (
    MARKER_INTERVAL,
    MARKER_LENGTH,
    WORD,
    Layout,
    fpdu_layout,
    fpdu_length,
)
from scapy_mpa.wire.rdmap import plausible

_COMPARED: Final = 256
"""FPDUs that are compared at the end, for all offsets together."""
# Possible values of the octets of a Marker: zeros first, a multiple of 4 last (RFC 5044 4.2).
_OF_A_MARKER: Final = {0: b"\0", 1: b"\0", 3: bytes(range(0, 256, WORD))}


class Verified(NamedTuple):
    """An FPDU with known beginning and end, whose Markers may be at any offset."""

    start: int
    end: int
    header: int
    """Position of its ULPDU_Length: after ``start`` if the FPDU begins with a Marker."""
    ulpdu_length: int
    octets: bytes


class PhaseVotes:
    """The bits of each offset, from FPDUs of one alignment.

    :param reference: position at which one of these FPDUs begins.
    :param markers: whether there are Markers, None if that is not known.
    :param origin: position of a Marker, if there are any; None if that is not known.
    """

    __slots__ = ("_bits", "_fpdus", "is_believed", "octets", "reference")

    def __init__(self, reference: int, markers: bool | None, origin: int | None) -> None:
        self.reference = reference
        offsets = range(0, MARKER_INTERVAL, WORD)
        if origin is not None:
            # FPDUs of another alignment than the Marker hold none.
            at = (origin - reference) % MARKER_INTERVAL
            offsets = range(at, at + 1) if at in offsets else range(0)
        self._bits: dict[int | None, int] = {} if markers else {None: 0}
        if markers is not False:
            self._bits |= dict.fromkeys(offsets, -UNKNOWN_PHASE * (origin is None))
        # FPDUs that are compared at the end, if several offsets are left.
        self._fpdus: deque[Verified] = deque(maxlen=_COMPARED // 4)
        self.octets = 0
        """Octets of all FPDUs together."""
        self.is_believed = False
        """Whether these are FPDUs of the direction, and not part of a payload."""

    @property
    def hypotheses(self) -> int:
        """Number of hypotheses that are left."""
        return len(self._bits)

    @property
    def is_settled(self) -> bool:
        """Whether these FPDUs are believed, and the offset of Markers is known."""
        return self.is_believed and len(self._bits) == 1

    def take(self, fpdu: Verified) -> None:
        """Add the bits of one more FPDU."""
        self.octets += fpdu.end - fpdu.start
        if fpdu.ulpdu_length:
            self._fpdus.append(fpdu)
        if fpdu.end - fpdu.start == fpdu_length(fpdu.ulpdu_length):
            self._take_unmarked(fpdu)
        else:
            for offset in self._bits:
                self._bits[offset] += self._bits_for(fpdu, offset)
        self._drop()

    def _take_unmarked(self, fpdu: Verified) -> None:
        """Add the bits of an FPDU without Markers: the same for all offsets outside the FPDU.

        A Marker right before its ULPDU_Length would be part of it.
        """
        start = fpdu.start - self.reference - MARKER_LENGTH
        upto = min(fpdu.end - self.reference, start + MARKER_INTERVAL)
        held = {position % MARKER_INTERVAL for position in range(start, upto, WORD)}
        bits = self._bits_for(fpdu, None)
        for offset in self._bits:
            self._bits[offset] += -CRC if offset in held else bits

    def _layout(self, fpdu: Verified, offset: int | None) -> Layout:
        """Return the layout of an FPDU if Markers are at an offset."""
        phase = None
        if offset is not None:
            phase = (fpdu.start - self.reference - offset) % MARKER_INTERVAL
        return fpdu_layout(fpdu.ulpdu_length, phase)

    def _bits_for(self, fpdu: Verified, offset: int | None) -> int:
        """Return how well Markers at an offset explain an FPDU, in bits."""
        start, end, header, ulpdu_length, octets = fpdu
        layout = self._layout(fpdu, offset)
        if layout.length != end - start or layout.header != header - start:
            return -CRC
        is_sound = not ulpdu_length or plausible(header_octets(octets, layout), ulpdu_length)
        marks, forged = marker_bits(layout, octets)
        return TAGGED * is_sound + marks - forged

    def compare(self, octets: Sequence[tuple[int, bytes]]) -> None:
        """Compare the offsets that are left, by all octets and by the headers.

        All octets hold Markers, not only those of these FPDUs.  At a wrong offset, a number in a
        header is read as a Marker.  Then MSN or TO does not continue from segment to segment.

        :param octets: the octets of each island, after the position of the first one.
        """
        columns = [bytearray() for _ in range(MARKER_INTERVAL)]
        for begin, stretch in octets:
            for at in range(min(MARKER_INTERVAL, len(stretch))):
                offset = (begin + at - self.reference) % MARKER_INTERVAL
                columns[offset] += stretch[at::MARKER_INTERVAL]
        kept = list(self._fpdus)[-(_COMPARED // max(1, len(self._bits))) :]
        for candidate in self._bits:
            if kept:
                self._bits[candidate] += self._shown(kept, candidate)
            if candidate is not None:
                for at, possible in _OF_A_MARKER.items():
                    column = columns[(candidate + at) % MARKER_INTERVAL]
                    self._bits[candidate] -= FORGED * len(column.translate(None, possible))
        self._drop()

    def _shown(self, fpdus: Sequence[Verified], offset: int | None) -> int:
        """Return the bits of headers if Markers are at an offset."""
        evidence = Evidence()
        for fpdu in fpdus:
            octets = header_octets(fpdu.octets, self._layout(fpdu, offset))
            evidence.take(octets, fpdu.ulpdu_length, (), is_whole=True)
        return evidence.bits

    def _drop(self) -> None:
        """Drop the offsets whose bits are too far below the best."""
        least = max(self._bits.values(), default=0) - PROOF
        self._bits = {offset: bits for offset, bits in self._bits.items() if bits > least}

    def best(self) -> list[int | None]:
        """Return possible positions of a Marker, None for no Markers; the likeliest first."""
        ranked = sorted(self._bits, key=self._bits.__getitem__, reverse=True)
        return [None if offset is None else self.reference + offset for offset in ranked]
