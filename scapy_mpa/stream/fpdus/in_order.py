# SPDX-License-Identifier: GPL-2.0-or-later
"""Find FPDUs of osc and SoftUiWARP, which are not laid out as in RFC 5044 4.

Only the FPDU before an FPDU shows where it begins and, in osc, where its Markers are
(:mod:`scapy_mpa.wire.osc`).  So FPDUs are read in order, from the beginning of the phase:

* An FPDU is verified by its CRC.  Without CRCs, its Markers must point to its beginning, and its
  header must make sense.
* With CRCs, an FPDU with a bad CRC is reported if it follows a verified one.  Any other unverified
  FPDU is reported if its length leads to a header that makes sense.
* Octets after a hole wait until the hole is filled.  If it stays, or if a length leads to no FPDU,
  nothing more is found.

An osc direction with CRCs and without Markers has the layout of RFC 5044, and is read so.
"""

from __future__ import annotations

from typing import NamedTuple

from scapy_mpa.stream.fpdus.candidate import HEAD, UNREADABLE, Candidate, FPDUReader
from scapy_mpa.stream.fpdus.sink import Sink
from scapy_mpa.stream.octets.island import Island, Run
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import ErrorCode
from scapy_mpa.wire.fpdu import MARKER_INTERVAL, OSC, OSC_WITHOUT_CRCS, SOFTUIWARP, FPDUFormat


class InOrder(NamedTuple):
    """Finds the FPDUs of one direction."""

    sink: Sink
    """Receives what is found."""
    origin: int
    """Position of offset 0 of the Full Operation Phase."""
    dialect: Dialect
    """osc or SoftUiWARP."""
    markers: bool
    """Whether the direction has Markers."""
    crc: bool
    """Whether CRCs are on."""
    from_start: bool = True
    """Whether the phase begins at ``origin``; if not, an FPDU begins there."""
    crc_is_known: bool = True
    """Startup frames, or the user, have shown whether CRCs are on."""

    @property
    def form(self) -> FPDUFormat:
        """How FPDUs are laid out."""
        if self.dialect is Dialect.SOFTUIWARP:
            return SOFTUIWARP
        return OSC if self.crc else OSC_WITHOUT_CRCS

    # -- an island, from the first FPDU to the last ---------------------------------------------

    def advance(self, island: Island) -> None:
        """Look for FPDUs in an island that has grown."""
        if island.joined or island.end >= island.need:
            self._read(island, final=False)

    def finish(self, island: Island) -> None:
        """Look for FPDUs in an island to whose end no octets will be added."""
        self._read(island, final=True)
        if island.runs:
            self._end(island, island.runs[0], island.end)

    def give_up(self, island: Island) -> int:
        """Look for FPDUs in an island that is dropped, although more octets may follow.

        Return the position from which its octets are unused, although they might be used later.
        """
        self._read(island, final=True)
        if island.runs:
            return island.runs[0].end
        return island.end if island.end <= self.origin else island.start

    def go_on(self, island: Island, run: Run, position: int) -> None:
        """Take over a run from the framing of RFC 5044.

        :param position: where its last FPDU ends.
        """
        run.end = position
        run.broken_at = None
        run.next_by = "length"
        island.runs = (run,)
        island.need = island.start
        self._read(island, final=False)

    def _read(self, island: Island, *, final: bool) -> None:
        """Report FPDU after FPDU while there are octets."""
        island.joined = False
        island.scanned = None
        self._begin(island)
        while island.runs:
            run, *others = island.runs
            limit = others[0].start if others else island.end
            is_last = final or bool(others)
            while run.end < limit and run.broken_at is None:
                if not self._take(island, run, limit, final=is_last):
                    break
            self.sink.release(island, run.start, run.end)
            if not others:
                break
            # A hole was filled, but FPDUs after it were found before.
            run.broken_at = run.end
            self._end(island, run, limit)
            others[0].start = run.start
            island.runs = tuple(others)

    def _begin(self, island: Island) -> None:
        """Begin a run with the first FPDU, if the island holds it and it was not read yet."""
        limit = island.runs[0].start if island.runs else island.end
        if not island.start <= self.origin < limit:
            return
        run = Run(self.origin, "start" if self.from_start else "search")
        run.phase = 0 if self.markers else None
        # Octets before the origin are released with the run.
        run.start = island.start
        island.settled = True
        island.runs = (run, *island.runs)

    def _take(self, island: Island, run: Run, limit: int, *, final: bool) -> bool:
        """Report the FPDU at the end of a run; return whether a whole one ends before a limit.

        If there is none, ``run.broken_at`` or ``island.need`` shows why.
        """
        fpdu: Candidate | int = UNREADABLE
        if run.end >= island.held:
            fpdu = self._reader(run.end, run.phase).fpdu_at(island, run.end, limit)
        if isinstance(fpdu, int):
            if fpdu == UNREADABLE or (final and not run.is_certain):
                run.broken_at = run.end
            island.need = fpdu
            return False
        if fpdu.sound:
            run.is_certain = True
        elif self.crc and run.is_certain:
            # Its start is certain, but its length is not.
            run.is_certain = False
        elif not self._reader(fpdu.end, self._phase_after(fpdu)).makes_sense(
            island, fpdu.end, limit
        ):
            island.need = fpdu.end + HEAD
            if final or island.need <= limit:
                run.broken_at = run.end
            return False
        self.sink.found(island, fpdu, run.next_by)
        fault = fpdu.fault
        if fault is not None:
            self.sink.wrong(fault.code, fpdu.start + fpdu.layout.header, fault.text)
        run.next_by = "length"
        run.last = fpdu.start
        run.end = fpdu.end
        run.phase = self._phase_after(fpdu)
        return True

    def _end(self, island: Island, run: Run, limit: int) -> None:
        """Report octets that stay unexplained up to a limit, since no more will come."""
        if run.end >= limit:
            return
        if run.end < island.held or not island.is_captured(run.end, limit):
            self.sink.cut_off(run.end, limit)
        elif run.broken_at is None:
            self.sink.unfinished(run.end, limit - run.end)
        else:
            text = f"{limit - run.end} octets in which no FPDU begins ({self.dialect.value})"
            code = ErrorCode.CRC_MISMATCH if self.crc else ErrorCode.MARKER_MISMATCH
            self.sink.wrong(code, run.end, text)
        run.end = limit

    # -- one FPDU -------------------------------------------------------------------------------

    def _reader(self, position: int, phase: int | None) -> FPDUReader:
        """Return a reader for an FPDU with this phase; None: without Markers.

        SoftUiWARP leaves an old STag in the unused STag field of a Send.
        """
        return FPDUReader(
            position - (phase or 0),
            markers=phase is not None,
            crc=self.crc,
            layout_of=self.form.layout,
            any_stag=True,
        )

    def _phase_after(self, fpdu: Candidate) -> int | None:
        """Return the phase of the octets after an FPDU, None without Markers."""
        phase = fpdu.layout.phase
        if phase is None:
            return None
        return (phase + fpdu.layout.length - self.form.uncounted) % MARKER_INTERVAL
