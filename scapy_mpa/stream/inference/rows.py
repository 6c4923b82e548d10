# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs of one island without CRCs: in rows that no chance makes.

What is believed of them is decided in :mod:`~scapy_mpa.stream.inference.hypothesis`.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from scapy_mpa.stream.fpdus.candidate import FPDUReader, header_octets
from scapy_mpa.stream.fpdus.heads import may_be_fpdu
from scapy_mpa.stream.inference.candidates import COST_OF_FAILURE, Candidates
from scapy_mpa.stream.inference.evidence import Evidence
from scapy_mpa.wire.fpdu import MARKER_INTERVAL, MARKER_LENGTH, WORD

PLAUSIBLE_ROW: Final = 4
"""FPDUs in a row that nobody takes for chance, if they have some octets."""
AGREEING_MARKERS: Final = 2
"""Markers that must say where FPDUs begin, if these tell where Markers are."""
# What an FPDU of a row costs to read.
_COST_OF_READING: Final = 512
_PLAUSIBLE_OCTETS: Final = AGREEING_MARKERS * MARKER_INTERVAL


class Row(NamedTuple):
    """FPDUs one after the other, with headers that make sense."""

    start: int
    end: int
    """End of the last FPDU after which another may begin: what makes no sense there shows that the
    one before was misread."""
    origin: int | None
    """Position from which Markers are counted, None without."""
    fpdus: int
    whole: int
    """FPDUs that were captured whole: their CRC would have shown them."""
    aligned: int
    """FPDUs that begin with a segment."""
    evidence: Evidence

    def phase(self, position: int) -> int | None:
        """How far after the place of a Marker a position is, None without."""
        return None if self.origin is None else (position - self.origin) % MARKER_INTERVAL

    @property
    def octets(self) -> int:
        """Octets of its FPDUs."""
        return self.end - self.start

    @property
    def is_long(self) -> bool:
        """Whether chance does not make it, and whether it would hold Markers if there were any."""
        return self.fpdus >= PLAUSIBLE_ROW and self.octets > _PLAUSIBLE_OCTETS


def rows(looked_at: Candidates) -> Iterator[Row]:
    """Yield rows of FPDUs that no chance makes and that say something of Markers."""
    # A part of a row shows no more than the row.
    passed: set[tuple[int, int | None]] = set()
    for header in looked_at.headers():
        for start, phase in _beginnings(looked_at, header):
            if (start, phase) in passed:
                continue
            row = _row(looked_at, start, phase, passed)
            if not _counts(looked_at, row):
                looked_at.allowance.left -= COST_OF_FAILURE
                continue
            if row.evidence.markers >= AGREEING_MARKERS:
                # Other rows may hide Markers, or take unused CRC fields for some.
                looked_at.explain(row.start, row.end)
            yield row


def _counts(looked_at: Candidates, row: Row) -> bool:
    """Tell whether a row is proof, and says something of Markers."""
    if not row.octets or not row.evidence.is_proof(sure=looked_at.known.sure):
        return False
    if row.evidence.markers or not row.is_long:
        return row.evidence.markers > 0
    if row.origin is not None:
        return row.evidence.zeros >= AGREEING_MARKERS
    return True


def row_at(looked_at: Candidates, start: int) -> Row | None:
    """Return the longest row that begins at ``start``."""
    found = [
        _row(looked_at, first, phase, set())
        for header in (start, start + MARKER_LENGTH)
        for first, phase in _beginnings(looked_at, header)
        if first == start
    ]
    return max(found, key=lambda row: row.octets, default=None)


def _beginnings(looked_at: Candidates, header: int) -> Iterator[tuple[int, int | None]]:
    """Yield where an FPDU may begin that has its ULPDU_Length at ``header``, and its phase.

    There is one without Markers, and one for each place to which a word points back as a Marker
    would.
    """
    markers, origin = looked_at.known.markers, looked_at.known.origin
    phases: dict[int | None, None] = {} if markers else {None: None}
    if markers is not False:
        if origin is not None:
            phases[(header - origin) % MARKER_INTERVAL] = None
        else:
            backs = looked_at.markers_after(header)
            phases |= dict.fromkeys(-back % MARKER_INTERVAL for back in backs)
            if looked_at.may_be_led(header):
                phases[MARKER_LENGTH] = None
    for phase in phases:
        if phase == MARKER_LENGTH:
            # It leads the FPDU.
            if header - MARKER_LENGTH >= looked_at.stretch.begin:
                yield header - MARKER_LENGTH, 0
        elif phase is None or (phase and phase % WORD == 0):
            yield header, phase


def _row(
    looked_at: Candidates, start: int, phase: int | None, passed: set[tuple[int, int | None]]
) -> Row:
    """Return the row that begins with an FPDU, of none if it makes no sense."""
    stretch = looked_at.stretch
    origin = None if phase is None else start - phase
    reader = FPDUReader(origin or 0, markers=phase is not None, crc=False)
    fpdus = whole = aligned = 0
    boundaries = looked_at.boundaries
    last = at = start
    is_whole = True
    evidence = Evidence()
    while True:
        looked_at.allowance.left -= _COST_OF_READING
        fpdu = reader.fpdu_at(stretch, at, stretch.end)
        if isinstance(fpdu, int) or not fpdu.sound:
            break
        passed.add((at, fpdu.layout.phase))
        fpdus += 1
        aligned += at in boundaries
        last, at = at, fpdu.end
        is_whole = len(fpdu.octets) == at - last
        whole += is_whole
        markers = zip(fpdu.layout.markers, fpdu.layout.fpduptrs, strict=True)
        said = [
            fpduptr
            for marker, fpduptr in markers
            if is_whole or stretch.is_captured(last + marker, last + marker + MARKER_LENGTH)
        ]
        head = header_octets(fpdu.octets, fpdu.layout)
        evidence.take(head, fpdu.ulpdu_length, said, is_whole=is_whole)
    if not is_whole and looked_at.known.markers is None:
        # Nothing stands after it that says how many Markers lie in what was cut off.
        return Row(start, last, origin, fpdus - 1, whole, aligned, evidence)
    end = at if may_be_fpdu(looked_at.island, at) else last
    return Row(start, end, origin, fpdus, whole, aligned, evidence)
