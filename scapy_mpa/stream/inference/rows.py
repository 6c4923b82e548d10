# SPDX-License-Identifier: GPL-2.0-or-later
"""Find FPDUs of one island without CRCs: rows of them that are no coincidence.

:mod:`~scapy_mpa.stream.inference.hypothesis` decides which of them to believe.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from scapy_mpa.stream.fpdus.candidate import FPDUReader, header_octets
from scapy_mpa.stream.fpdus.heads import may_be_fpdu
from scapy_mpa.stream.fpdus.weights import POINTING, ROW
from scapy_mpa.stream.inference.candidates import Candidates
from scapy_mpa.stream.inference.evidence import Evidence
from scapy_mpa.stream.purse import FAILURE, Search
from scapy_mpa.wire.fpdu import MARKER_INTERVAL, MARKER_LENGTH, WORD

_PLAUSIBLE_OCTETS: Final = POINTING * MARKER_INTERVAL


class Row(NamedTuple):
    """FPDUs that follow each other, with headers that make sense."""

    start: int
    end: int
    """End of the last FPDU after which another may begin.  If octets that make no sense follow an
    FPDU, it was misread."""
    origin: int | None
    """Position from which Markers are counted, None without."""
    fpdus: int
    whole: int
    """FPDUs that were captured whole.  If CRCs were on, theirs would be good."""
    aligned: int
    """FPDUs that begin with a segment."""
    evidence: Evidence

    def phase(self, position: int) -> int | None:
        """Octets from a Marker to a position, modulo 512; None without Markers."""
        return None if self.origin is None else (position - self.origin) % MARKER_INTERVAL

    @property
    def octets(self) -> int:
        """Octets of its FPDUs."""
        return self.end - self.start

    @property
    def is_long(self) -> bool:
        """Whether it is no coincidence, and long enough to hold Markers if there are any."""
        return self.fpdus >= ROW and self.octets > _PLAUSIBLE_OCTETS


def rows(search: Candidates) -> Search[list[Row]]:
    """Return rows that are proven, and that show whether there are Markers."""
    found = []
    # A part of a row is no further evidence.
    passed: set[tuple[int, int | None]] = set()
    for header in search.headers():
        if header is None:
            yield
            continue
        for start, phase in _beginnings(search, header):
            if (start, phase) in passed:
                continue
            row = yield from _row(search, start, phase, passed)
            if not _counts(search, row):
                search.allowance.spend(calls=FAILURE)
                continue
            if row.evidence.markers >= POINTING:
                # Other rows may miss Markers, or read unused CRC fields as Markers.
                search.explain(row.start, row.end)
            found.append(row)
    return found


def _counts(search: Candidates, row: Row) -> bool:
    """Return whether a row is proven, and shows whether there are Markers."""
    if not row.octets or not row.evidence.is_proof(is_expected=search.known.carries_fpdus):
        return False
    if row.evidence.markers or not row.is_long:
        return row.evidence.markers > 0
    if row.origin is not None:
        return row.evidence.zeros >= POINTING
    return True


def row_at(search: Candidates, start: int) -> Search[Row | None]:
    """Return the longest row that begins at ``start``."""
    found = []
    for header in (start, start + MARKER_LENGTH):
        for first, phase in _beginnings(search, header):
            if first == start:
                found.append((yield from _row(search, first, phase, set())))
    return max(found, key=lambda row: row.octets, default=None)


def _beginnings(search: Candidates, header: int) -> Iterator[tuple[int, int | None]]:
    """Yield the possible starts and phases of an FPDU with its ULPDU_Length at ``header``.

    One is without Markers.  Each word that may be a Marker that points to ``header`` gives another.
    """
    markers, origin = search.known.markers, search.known.origin
    phases: dict[int | None, None] = {} if markers else {None: None}
    if markers is not False:
        if origin is not None:
            phases[(header - origin) % MARKER_INTERVAL] = None
        else:
            backs = search.markers_after(header)
            phases |= dict.fromkeys(-back % MARKER_INTERVAL for back in backs)
            if search.may_be_led(header):
                phases[MARKER_LENGTH] = None
    for phase in phases:
        if phase == MARKER_LENGTH:
            # The FPDU begins with a Marker.
            if header - MARKER_LENGTH >= search.stretch.begin:
                yield header - MARKER_LENGTH, 0
        elif phase is None or (phase and phase % WORD == 0):
            yield header, phase


def _row(
    search: Candidates, start: int, phase: int | None, passed: set[tuple[int, int | None]]
) -> Search[Row]:
    """Return the row from an FPDU on; it is empty if the FPDU makes no sense."""
    stretch, purse = search.stretch, search.known.purse
    origin = None if phase is None else start - phase
    reader = FPDUReader(origin or 0, markers=phase is not None, crc=False)
    fpdus = whole = aligned = 0
    boundaries = search.boundaries
    last = at = start
    is_whole = True
    evidence = Evidence()
    while True:
        while purse.slice <= 0:
            yield
        search.allowance.spend(calls=10)
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
        fpduptrs = [
            fpduptr
            for marker, fpduptr in markers
            if is_whole or stretch.is_captured(last + marker, last + marker + MARKER_LENGTH)
        ]
        head = header_octets(fpdu.octets, fpdu.layout)
        evidence.take(head, fpdu.ulpdu_length, fpduptrs, is_whole=is_whole)
    if not is_whole and search.known.markers is None:
        # No FPDU after it shows how many Markers were cut off.
        return Row(start, last, origin, fpdus - 1, whole, aligned, evidence)
    end = at if may_be_fpdu(search.island, at) else last
    return Row(start, end, origin, fpdus, whole, aligned, evidence)
