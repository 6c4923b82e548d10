# SPDX-License-Identifier: GPL-2.0-or-later
"""Where Markers are, as FPDUs with good CRCs say (RFC 5044 4.3).

A CRC covers the Markers of an FPDU.  So it tells how many there are, but not where: an MSN of 12
that stands 12 octets after ULPDU_Length reads as a Marker.  Each place, and that there are none,
is a hypothesis.  How well each explains the FPDUs is added up in bits.  The best one is certain as
soon as all others are :data:`~scapy_mpa.stream.fpdus.weights.PROOF` after it.
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
"""FPDUs that are looked at in the end, all places together."""
# What octets of a Marker can be: zeros first, and a multiple of four in the end (RFC 5044 4.2).
_OF_A_MARKER: Final = {0: b"\0", 1: b"\0", 3: bytes(range(0, 256, WORD))}


class Verified(NamedTuple):
    """An FPDU with known beginning and end, and unknown places of Markers."""

    start: int
    end: int
    header: int
    """Position of its ULPDU_Length: after ``start`` if a Marker leads it."""
    ulpdu_length: int
    octets: bytes
    """Empty if its CRC is bad or was cut off: then only its length counts."""


class PhaseVotes:
    """Bits of each place, from FPDUs of one alignment.

    :param reference: position at which one of them begins.
    :param markers: whether there are Markers, None if that is not known.
    :param origin: where one is, if there are any, None if that is not known.
    """

    __slots__ = ("_bits", "_fpdus", "is_believed", "is_doubtful", "octets", "reference")

    def __init__(self, reference: int, markers: bool | None, origin: int | None) -> None:
        self.reference = reference
        places = range(0, MARKER_INTERVAL, WORD)
        if origin is not None:
            # An FPDU that is not aligned with it holds none.
            at = (origin - reference) % MARKER_INTERVAL
            places = range(at, at + 1) if at in places else range(0)
        self._bits: dict[int | None, int] = {} if markers else {None: 0}
        if markers is not False:
            self._bits |= dict.fromkeys(places, -UNKNOWN_PHASE * (origin is None))
        # What is compared in the end, if places are left.
        self._fpdus: deque[Verified] = deque(maxlen=_COMPARED // 4)
        self.octets = 0
        """How long all FPDUs are together."""
        self.is_believed = False
        """Whether these are the FPDUs of the direction, and not part of a payload."""
        self.is_doubtful = False
        """Whether one of them lies among octets that are not of FPDUs."""

    @property
    def places(self) -> int:
        """Hypotheses that are left."""
        return len(self._bits)

    @property
    def is_settled(self) -> bool:
        """Whether these FPDUs are believed, and it is known where Markers are."""
        return self.is_believed and len(self._bits) == 1

    def take(self, fpdu: Verified) -> None:
        """Add up what one more FPDU says."""
        self.octets += fpdu.end - fpdu.start
        if fpdu.octets and fpdu.ulpdu_length:
            self._fpdus.append(fpdu)
        if fpdu.end - fpdu.start == fpdu_length(fpdu.ulpdu_length):
            self._take_unmarked(fpdu)
        else:
            for place in self._bits:
                self._bits[place] += self._bits_for(fpdu, place)
        self._drop()

    def _take_unmarked(self, fpdu: Verified) -> None:
        """Add up what an FPDU without Markers says: it speaks equally for all places outside it.

        A Marker right before it would be part of it.
        """
        start = fpdu.start - self.reference - MARKER_LENGTH
        upto = min(fpdu.end - self.reference, start + MARKER_INTERVAL)
        held = {position % MARKER_INTERVAL for position in range(start, upto, WORD)}
        bits = self._bits_for(fpdu, None)
        for place in self._bits:
            self._bits[place] += -CRC if place in held else bits

    def _layout(self, fpdu: Verified, place: int | None) -> Layout:
        """Return where Markers are in an FPDU if they are at a place."""
        phase = None
        if place is not None:
            phase = (fpdu.start - self.reference - place) % MARKER_INTERVAL
        return fpdu_layout(fpdu.ulpdu_length, phase)

    def _bits_for(self, fpdu: Verified, place: int | None) -> int:
        """Return how well Markers at a place explain an FPDU."""
        start, end, header, ulpdu_length, octets = fpdu
        layout = self._layout(fpdu, place)
        if layout.length != end - start or layout.header != header - start:
            return -CRC
        if not octets:
            return 0
        is_sound = not ulpdu_length or plausible(header_octets(octets, layout), ulpdu_length)
        marks, forged = marker_bits(layout, octets)
        return TAGGED * is_sound + marks - forged

    def compare(self, octets: Sequence[tuple[int, bytes]]) -> None:
        """Compare the places that are left, by all octets and by the headers.

        All octets hold Markers, not only those of the FPDUs here.  A wrong place takes a number in
        a header for a Marker, so MSN or TO does not go on from segment to segment.

        :param octets: those of islands, each with the position of the first one.
        """
        columns = [bytearray() for _ in range(MARKER_INTERVAL)]
        for begin, some in octets:
            for at in range(min(MARKER_INTERVAL, len(some))):
                place = (begin + at - self.reference) % MARKER_INTERVAL
                columns[place] += some[at::MARKER_INTERVAL]
        kept = list(self._fpdus)[-(_COMPARED // max(1, len(self._bits))) :]
        for candidate in self._bits:
            if kept:
                self._bits[candidate] += self._shown(kept, candidate)
            if candidate is not None:
                for at, possible in _OF_A_MARKER.items():
                    column = columns[(candidate + at) % MARKER_INTERVAL]
                    self._bits[candidate] -= FORGED * len(column.translate(None, possible))
        self._drop()

    def _shown(self, fpdus: Sequence[Verified], place: int | None) -> int:
        """Return the bits that headers show if Markers are at a place."""
        evidence = Evidence()
        for fpdu in fpdus:
            octets = header_octets(fpdu.octets, self._layout(fpdu, place))
            evidence.take(octets, fpdu.ulpdu_length, (), is_whole=True)
        return evidence.bits

    def _drop(self) -> None:
        """Forget the places that are too far from the best."""
        least = max(self._bits.values(), default=0) - PROOF
        self._bits = {place: bits for place, bits in self._bits.items() if bits > least}

    def best(self) -> list[int | None]:
        """Return where a Marker may be, None for no Markers: the likeliest position first."""
        ranked = sorted(self._bits, key=self._bits.__getitem__, reverse=True)
        return [None if place is None else self.reference + place for place in ranked]
