# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs of osc and of SoftUiWARP, which are not laid out as RFC 5044 4 has it.

The FPDU before it says where one begins, and in osc also where its Markers are
(:mod:`scapy_mpa.wire.osc`).  So FPDUs are read in order:

* An FPDU is verified by its CRC.  Without CRCs its Markers must agree, and its header must make
  sense.
* With CRCs, one with a bad CRC is reported where a verified one ends.  Any other that is not
  verified is one if its length leads to a header that makes sense.
* Octets after a hole wait until the hole is filled, or is known to stay.
* After a hole that stays, and where a length leads nowhere, osc's FPDUs are searched.  With CRCs
  one counts that has a good CRC, and that leads to another one or fills its segments.  Without CRCs
  a Marker must point to it.  SoftUiWARP has neither, so nothing more is found.

An osc direction with CRCs and without Markers is laid out as RFC 5044 has it, and read so.
"""

from __future__ import annotations

from typing import Final

from scapy_mpa.stream.events import (
    CrcVerdict,
    FPDURecovered,
    FPDUWithoutCRC,
    SoftUiWARPRecovered,
)
from scapy_mpa.stream.fpdus.candidate import HEAD, UNREADABLE, WORD, Candidate, header_octets
from scapy_mpa.stream.fpdus.heads import head_makes_sense
from scapy_mpa.stream.fpdus.search import COST_OF_PLACE, FIRST_SEARCH, agreeing_words, header_words
from scapy_mpa.stream.fpdus.sink import Sink
from scapy_mpa.stream.octets.island import Island, Run
from scapy_mpa.wire import osc, softuiwarp
from scapy_mpa.wire.crc import crc_is_good
from scapy_mpa.wire.ddp import TAGGED_LENGTH
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import ErrorCode
from scapy_mpa.wire.fpdu import (
    HEADER_LENGTH,
    MARKER_INTERVAL,
    MARKER_LENGTH,
    Layout,
    fpdu_layout,
    points_alike,
)
from scapy_mpa.wire.rdmap import plausible

__all__ = ["InOrder", "makes_sense"]

_LEADING: Final = bytes(MARKER_LENGTH)
"""The Marker before an FPDU."""

_POINTERS: Final = b"".join(osc.marker_octets(at, 0) for at in range(WORD, MARKER_INTERVAL, WORD))
"""The first Marker after a ULPDU_Length field, for each place where it may stand."""

_COMPARED: Final = MARKER_INTERVAL // WORD
"""FPDUs that are read to choose between readings of one: the next Marker is in one of them."""

_OCTETS_AT_FIRST: Final = 1 << 20
_OCTETS_PER_OCTET: Final = 16
"""What searches may go over: so many octets, and so many for each that was captured."""


class InOrder:
    """Finds the FPDUs of one direction.

    :param sink: takes them.
    :param origin: position of offset 0 of the Full Operation Phase.
    :param dialect: osc or SoftUiWARP.
    :param markers: whether the direction has Markers, None if that is not known.
    :param crc: whether CRCs are on.
    :param from_start: whether the phase begins at ``origin``; if not, an FPDU begins there.
    """

    __slots__ = ("_allowance", "_sink", "crc", "dialect", "from_start", "markers", "origin")
    crc_is_known: Final = True

    def __init__(
        self,
        sink: Sink,
        origin: int,
        dialect: Dialect,
        *,
        markers: bool | None,
        crc: bool,
        from_start: bool = True,
    ) -> None:
        self._sink = sink
        self.origin = origin
        self.dialect = dialect
        self.markers = markers
        self.crc = crc
        self.from_start = from_start
        self._allowance = _OCTETS_AT_FIRST

    @property
    def recovered(self) -> type[FPDURecovered]:
        """The event that reports an FPDU."""
        if self.dialect is Dialect.SOFTUIWARP:
            return SoftUiWARPRecovered
        return FPDURecovered if self.crc else FPDUWithoutCRC

    # -- an island, from the first FPDU to the last ---------------------------------------------

    def advance(self, island: Island, fresh: int) -> None:
        """Find what can be found in an island that has grown.

        :param fresh: octets that came since the last call.
        """
        self._allowance += fresh * _OCTETS_PER_OCTET
        if island.joined or island.end >= island.need:
            self._read(island, final=False)

    def finish(self, island: Island) -> None:
        """Find what can be found in an island to whose end nothing will be added."""
        self._read(island, final=True)
        if island.runs:
            self._end(island, island.runs[0], island.end)

    def give_up(self, island: Island) -> int:
        """Find what can be found in an island that is let go of, though more may come.

        Return where the octets begin that might have been of use then.
        """
        self._read(island, final=True)
        if island.runs:
            return island.runs[0].end
        return island.end if island.end <= self.origin else island.start

    def go_on(self, island: Island, run: Run, position: int) -> None:
        """Take over a run of RFC 5044's framing.

        :param position: where its last FPDU ends.
        """
        run.end = position
        run.broken_at = None
        run.next_by = "length"
        island.runs = (run,)
        island.need = island.start
        self._read(island, final=False)

    def _read(self, island: Island, *, final: bool) -> None:
        """Report FPDU after FPDU as far as there are octets."""
        island.joined = False
        island.scanned = None
        self._begin(island, final=final)
        while island.runs:
            run, *others = island.runs
            limit = others[0].start if others else island.end
            self._go(island, run, limit, final=final or bool(others))
            self._sink.release(island, run.start, run.end)
            if not others:
                break
            # A hole was filled after FPDUs after it had been found.
            run.broken_at = run.end
            self._end(island, run, limit)
            others[0].start = run.start
            island.runs = tuple(others)

    def _begin(self, island: Island, *, final: bool) -> None:
        """Find where the first FPDU of an island begins, if that is not known yet."""
        limit = island.runs[0].start if island.runs else island.end
        if island.start <= self.origin < limit and (self.from_start or not self._searches):
            run = self._run_at(self.origin, 0 if self.markers else None)
            run.next_by = "start" if self.from_start else "search"
            # What lies before it is released with the rest.
            run.start = island.start
        elif self._searches and not (island.settled or island.open_left):
            final = final or limit < island.end
            found = self.search(island, island.start, limit, final=final)
            if found is None:
                island.settled = bool(island.runs)
                island.need = island.end + max(FIRST_SEARCH, island.end - island.start)
                return
            run = self._run_at(found.start, found.layout.phase)
        else:
            return
        island.settled = True
        island.runs = (run, *island.runs)

    @staticmethod
    def _run_at(position: int, phase: int | None) -> Run:
        run = Run(position, "search")
        run.phase = phase
        return run

    def _go(self, island: Island, run: Run, limit: int, *, final: bool) -> None:
        """Go on after a run, up to a limit at the most."""
        while run.end < limit:
            if run.broken_at is not None:
                if not self._leave_trouble(island, run, limit, final=final):
                    break
            elif not self._take(island, run, limit, final=final) and run.broken_at is None:
                break

    def _take(self, island: Island, run: Run, limit: int, *, final: bool) -> bool:
        """Report the FPDU at the end of a run; return whether there is a whole one before a limit.

        If there is none, ``run.broken_at`` or ``island.need`` says why.
        """
        fpdu = self._read_at(island, run.end, limit, run.phase)
        if isinstance(fpdu, int):
            if fpdu == UNREADABLE or (final and not run.is_certain):
                run.broken_at = run.end
            island.need = fpdu
            return False
        if fpdu.sound:
            run.is_certain = True
        elif self._may_hide_markers(run.phase):
            run.broken_at = run.end
            return False
        elif self.crc and run.is_certain:
            # Its start is certain, whatever it holds.
            run.is_certain = False
        elif not makes_sense(island, fpdu.end, limit, self._phase_after(fpdu)):
            island.need = fpdu.end + HEAD
            if final or island.need <= limit:
                run.broken_at = run.end
            return False
        if fpdu.layout.markers:
            self.markers = True
        self._sink.found(island, fpdu, run.next_by)
        fault = fpdu.fault
        if fault is not None:
            self._sink.wrong(fault.code, fpdu.start + fpdu.layout.header, fault.text)
        run.next_by = "length"
        run.last = fpdu.start
        run.end = fpdu.end
        run.phase = self._phase_after(fpdu)
        return True

    def _leave_trouble(self, island: Island, run: Run, limit: int, *, final: bool) -> bool:
        """Go on at an FPDU that a search finds; return whether there is one."""
        assert run.broken_at is not None
        search = run.searching()
        if not self._searches or (limit < search.at and not final):
            island.need = search.at
            return False
        found = self.search(island, run.broken_at + WORD, limit, final=final)
        if found is None:
            island.need = search.at = limit + max(FIRST_SEARCH, limit - run.broken_at)
            return False
        self._end(island, run, found.start)
        run.end = run.last = found.start
        run.phase = found.layout.phase
        run.next_by = "search"
        run.broken_at = run.search = None
        run.is_certain = True
        return True

    def _end(self, island: Island, run: Run, limit: int) -> None:
        """Say what is not explained up to a limit, now that nothing more will come."""
        if run.end >= limit:
            return
        if run.end < island.held or island.captured_until(run.end, limit) < limit:
            self._sink.cut_off(run.end, limit)
        elif run.broken_at is None:
            self._sink.unfinished(run.end, limit - run.end)
        else:
            text = f"{limit - run.end} octets in which no FPDU begins ({self.dialect.value})"
            code = ErrorCode.CRC_MISMATCH if self.crc else ErrorCode.MARKER_MISMATCH
            self._sink.wrong(code, run.end, text)
        run.end = limit

    # -- one FPDU -------------------------------------------------------------------------------

    def _phase_after(self, fpdu: Candidate) -> int | None:
        """Return the phase of what follows an FPDU, None if it is not known."""
        phase, length = fpdu.layout.phase, fpdu.layout.length
        return None if phase is None else osc.next_phase(phase, length, crc=self.crc)

    def _may_hide_markers(self, phase: int | None) -> bool:
        """Return whether an FPDU may have Markers of which it is not known where they are."""
        return self.crc and phase is None

    def _layout(self, ulpdu_length: int, phase: int | None) -> Layout:
        if self.dialect is Dialect.OSC:
            return osc.fpdu_layout(ulpdu_length, phase, self.crc)
        return fpdu_layout(ulpdu_length)._replace(length=softuiwarp.fpdu_length(ulpdu_length))

    def _read_at(
        self, island: Island, start: int, limit: int, phase: int | None
    ) -> Candidate | int:
        """Read the FPDU at ``start``, or say up to which position octets are needed for it.

        :param phase: None if it is not known, or there are no Markers.
        """
        fpdu = self._read_in_phase(island, start, limit, phase)
        if isinstance(fpdu, int) or fpdu.crc == "good" or not self._may_hide_markers(phase):
            return fpdu
        if fpdu.crc == "unknown":
            # Nothing says how many Markers lie in what was cut off.
            return fpdu._replace(sound=False)
        return self._marked_at(island, start, limit) or fpdu

    def _read_in_phase(
        self, island: Island, start: int, limit: int, phase: int | None
    ) -> Candidate | int:
        """Read the FPDU at ``start`` with Markers where its phase has them, None for none.

        Or say up to which position octets are needed for it.
        """
        header = start + MARKER_LENGTH if phase == 0 else start
        body = header + HEADER_LENGTH
        if body > limit:
            return body
        if start < island.held or island.captured_until(start, body) < body:
            return UNREADABLE
        ulpdu_length = int.from_bytes(island.read(header, body), "big")
        layout = self._layout(ulpdu_length, phase)
        end = start + layout.length
        if end > limit:
            return end
        seen = island.captured_until(start, end)
        octets = island.read(start, seen)
        self._allowance -= layout.length
        # Of one that was cut short the last Markers may be missing.
        said = [
            (int.from_bytes(octets[at + 2 : at + MARKER_LENGTH], "little"), fpduptr)
            for at, fpduptr in zip(layout.markers, layout.fpduptrs, strict=True)
            if at + MARKER_LENGTH <= len(octets)
        ]
        agrees = all(points_alike(one, other) for one, other in said)
        verdict: CrcVerdict = "unknown" if self.crc else "off"
        if self.crc and seen == end:
            sound = crc_is_good(octets)
            verdict = "good" if sound else "bad"
        else:
            sound = agrees and makes_sense(island, start, end, phase)
        is_pointed_at = agrees and bool(said)
        return Candidate(
            start, end, ulpdu_length, layout, octets, verdict, agrees, is_pointed_at, sound
        )

    def _marked_at(self, island: Island, start: int, limit: int) -> Candidate | int | None:
        """Read the FPDU at ``start``, with Markers at an unknown phase.

        Its CRC tells how many Markers it has, but not where.  A number in its header may read as
        one, so the reading counts that most FPDUs after it agree with.  Return None if there is no
        reading, or up to which position octets are needed for one.
        """
        octets = island.read(start, min(limit, start + MARKER_INTERVAL))
        phases = [0] if octets.startswith(_LEADING) else []
        words = agreeing_words(octets[WORD:], _POINTERS)
        phases += [-(WORD + at) % MARKER_INTERVAL for at in words]
        found: list[Candidate] = []
        need = None
        for phase in phases:
            fpdu = self._read_in_phase(island, start, limit, phase)
            if isinstance(fpdu, int):
                need = need or fpdu
            elif fpdu.sound and fpdu.is_pointed_at:
                found.append(fpdu)
            if self._allowance < 0:
                break
        if len(found) > 1:
            return max(found, key=lambda each: self._followers(island, each, limit))
        return found[0] if found else need

    def _followers(self, island: Island, fpdu: Candidate, limit: int) -> tuple[int, bool]:
        """Return how many verified FPDUs follow one, and whether its header has no Marker."""
        count = 0
        following: Candidate | int = fpdu
        while isinstance(following, Candidate) and following.sound and count < _COMPARED:
            count += 1
            phase = self._phase_after(following)
            following = self._read_in_phase(island, following.end, limit, phase)
        return count, not 0 < fpdu.layout.markers[0] < HEAD

    # -- searches -------------------------------------------------------------------------------

    @property
    def _searches(self) -> bool:
        return self.dialect is Dialect.OSC

    def begins(self, island: Island) -> bool:
        """Return whether a verified FPDU stands at ``origin``."""
        phase = 0 if self.markers else None
        fpdu = self._read_in_phase(island, self.origin, island.end, phase)
        return isinstance(fpdu, Candidate) and fpdu.sound

    def search(self, island: Island, begin: int, limit: int, *, final: bool) -> Candidate | None:
        """Return the first FPDU that leads to another one, or fills its segments.

        FPDUs stand at multiples of 4 octets from ``origin``.

        :param final: nothing more will come: if there is none, the first one with a good CRC.
        """
        begin = max(begin, island.held)
        begin += (self.origin - begin) % WORD
        octets = island.read(begin, limit) if begin < limit else b""
        alone = None
        for word in header_words(octets):
            self._allowance -= COST_OF_PLACE
            if self._allowance < 0:
                break
            if head_makes_sense(octets[word : word + HEAD], any_stag=True):
                found = self._found_at(island, begin + word, begin, limit)
                if found is not None and self._leads_on(island, found, limit):
                    return found
                alone = alone or found
        return alone if final and self.crc else None

    def _found_at(self, island: Island, header: int, begin: int, limit: int) -> Candidate | None:
        """Return the verified FPDU whose ULPDU_Length stands at ``header``, None if none does.

        :param begin: where the first octet lies that may be of it: a Marker may lead it.
        """
        if self.crc:
            found = self._proven(self._read_at(island, header, limit, None))
        else:
            found = self._proven(self._marked_at(island, header, limit))
            if found is not None and found.layout.phase == MARKER_LENGTH:
                # A Marker leads it.
                found = None
        lead = header - MARKER_LENGTH
        if found is None and lead >= begin and island.read(lead, header) == _LEADING:
            found = self._proven(self._read_in_phase(island, lead, limit, 0))
        return found

    def _proven(self, fpdu: Candidate | int | None) -> Candidate | None:
        """Return an FPDU if its CRC, or a Marker, proves it; None if not."""
        if not isinstance(fpdu, Candidate) or not (fpdu.sound and fpdu.agrees):
            return None
        return fpdu if self.crc or fpdu.telling_markers else None

    def _leads_on(self, island: Island, fpdu: Candidate, limit: int) -> bool:
        """Return whether an FPDU that a search has found stands where FPDUs stand."""
        end, phase = fpdu.end, self._phase_after(fpdu)
        if end == limit or island.fills_segments(fpdu.start, end):
            return True
        following = self._read_at(island, end, limit, phase)
        if isinstance(following, Candidate):
            return following.sound
        # A Marker may lead it.
        phases = (None, 0) if phase is None else (phase,)
        return limit - end < HEAD or any(makes_sense(island, end, limit, each) for each in phases)


def makes_sense(island: Island, start: int, limit: int, phase: int | None = None) -> bool:
    """Return whether the header of an FPDU at ``start`` is there, before a limit, and makes sense.

    SoftUiWARP leaves an STag of before where a Send has none.

    :param phase: of the FPDU, None without Markers.
    """
    header = start + MARKER_LENGTH if phase == 0 else start
    end = island.captured_until(start, min(limit, header + HEAD))
    if end < header + HEADER_LENGTH + TAGGED_LENGTH:
        return False
    octets = island.read(start, end)
    ulpdu_length = int.from_bytes(octets[header - start :][:HEADER_LENGTH], "big")
    layout = osc.fpdu_layout(ulpdu_length, phase, True)
    return plausible(header_octets(octets, layout), ulpdu_length, any_stag=True)
