# SPDX-License-Identifier: GPL-2.0-or-later
"""Where FPDUs of the Ohio Supercomputer Center's software iWARP begin and end in one direction.

The rules:

* FPDUs lie one behind the other from the beginning of the Full Operation Phase on.  Where the
  Markers of one fall depends on how many CRC fields stand before it, so it is known only if all
  FPDUs before it are (:mod:`scapy_mpa.wire.osc`).
* With CRCs an FPDU is what its CRC says.  One with a bad CRC stands where the one before it ends,
  whatever it holds; behind it the next one begins if that is verified, or if its header makes sense
  and its length leads to one that is.
* Without CRCs, Markers and header must agree.  An FPDU of which they do not is one if they do of
  the next one.
* Behind a hole that stays, or where the lengths lead nowhere, CRCs with Markers tell both where an
  FPDU begins and where the next Marker falls: one is searched that is verified with a Marker in it
  that points back to it, or that leads to such a one over others that are verified and have none.
  Without CRCs, or without Markers, no more is told there.

With CRCs and without Markers FPDUs are those of RFC 5044, and so is what finds them.
"""

from __future__ import annotations

from typing import Final

from scapy_mpa.stream.candidate import UNREADABLE, WORD, Candidate
from scapy_mpa.stream.chain import FIRST_SEARCH
from scapy_mpa.stream.events import CrcVerdict, FPDUWithoutCRC, LocatedBy
from scapy_mpa.stream.finder import COST_OF_PLACE
from scapy_mpa.stream.in_order import HEAD, InOrderFraming
from scapy_mpa.stream.island import Island, Run
from scapy_mpa.stream.search import header_words
from scapy_mpa.wire.crc import CRC_LENGTH, RESIDUE, crc32c
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.fpdu import FPDUPTR_MASK, HEADER_LENGTH, MARKER_INTERVAL, MARKER_LENGTH
from scapy_mpa.wire.osc import fpdu_layout, marker_octets, next_phase
from scapy_mpa.wire.rdmap import plausible

__all__ = ["OSCFraming", "OSCFramingWithoutCRCs"]

_LONGEST_BRIDGE: Final = 16
"""FPDUs in a row, unverified or without a Marker, that lengths may cross."""

_LEADING: Final = bytes(MARKER_LENGTH)
"""The Marker before an FPDU."""

_POINTING: Final = [(at, marker_octets(at, 0)) for at in range(WORD, MARKER_INTERVAL, WORD)]
"""The first Marker behind a ULPDU_Length field, by how far behind it stands."""


class _Run(Run):
    """A stretch of FPDUs, and where Markers fall behind it.

    :param position: where it begins.
    :param located_by: what says so.
    :param phase: of what stands there.
    """

    __slots__ = ("is_sure", "phase")

    def __init__(self, position: int, located_by: LocatedBy, phase: int | None) -> None:
        super().__init__(position, located_by)
        self.phase = phase
        """Of the FPDU that comes next."""
        self.is_sure = True
        """Whether one begins where the one before it ends, as far as lengths can be trusted."""

    def go_on(self, position: int, phase: int | None) -> None:
        """Go on where a search has found an FPDU."""
        self.end = self.last = position
        self.phase = phase
        self.next_by = "search"
        self.trouble = None
        self.is_sure = True
        self.search_at = 0

    def take_over(self, right: _Run) -> None:
        """Be one with a run that begins where this one ends."""
        self.end_like(right)
        self.phase = right.phase
        self.is_sure = right.is_sure
        self.search_at = right.search_at


class OSCFraming(InOrderFraming):
    """Finds the FPDUs of one direction.

    Its parameters are those of :class:`~scapy_mpa.stream.framing.Framing`.
    """

    __slots__ = ()
    dialect = Dialect.OSC

    def advance(self, island: Island, fresh: int) -> None:
        """Find what can be found in an island that has grown.

        :param fresh: octets that came since the last call.
        """
        self.allow(fresh)
        super().advance(island, fresh)

    def _first_run(self, island: Island) -> Run:
        """Return the run that begins with the Full Operation Phase."""
        run = _Run(self.origin, "start", 0 if self.markers else None)
        # What lies before is released with the rest.
        run.start = island.start
        island.settled = True
        return run

    def _read(self, island: Island, *, final: bool) -> None:
        """Go from FPDU to FPDU as far as there are octets, and over what leads nowhere."""
        island.joined = False
        island.scanned = None
        if island.end <= self.origin or not self._locate(island):
            return
        first, *others = island.runs
        for index, other in enumerate(others):
            island.runs = (first, *others[index:])
            self._unite_with(island, first, other)
        island.runs = (first,)
        self._go(island, first, island.end, final=final)

    def _locate(self, island: Island) -> bool:
        """See that there is a run to go on with in an island; tell whether there is one."""
        if island.start <= self.origin:
            if not island.runs or island.runs[0].start > self.origin:
                island.runs = (self._first_run(island), *island.runs)
        elif not island.runs and not island.open_left:
            found = self._search_proven(island, island.start, island.end)
            if found is None:
                island.need = island.end + max(FIRST_SEARCH, island.end - island.start)
                return False
            island.runs = (_Run(found[0], "search", found[1]),)
            island.settled = True
        return bool(island.runs)

    def _unite_with(self, island: Island, run: Run, right: Run) -> None:
        """Pass on what a filled hole has brought between two runs, and make them one."""
        assert isinstance(run, _Run) and isinstance(right, _Run)
        self._go(island, run, right.start, final=True)
        if run.end < right.start:
            if run.trouble is None:
                run.trouble = run.end
            self._end(island, run, right.start)
        run.take_over(right)

    def _go(self, island: Island, run: Run, limit: int, *, final: bool) -> None:
        """Go on behind a run, up to a limit at the most."""
        while run.end < limit:
            if run.trouble is not None:
                if not self._leave_trouble(island, run, limit, final=final):
                    break
            elif not self._take(island, run, limit, final=final) and run.trouble is None:
                break
        self._sink.release(island, run.start, run.end)

    def _take(self, island: Island, run: Run, limit: int, *, final: bool) -> bool:
        """Pass on the FPDU at the end of a run; tell whether there is one, whole before a limit."""
        assert isinstance(run, _Run)
        start = run.end
        fpdu = self._judge(island, start, limit, run.phase)
        if isinstance(fpdu, int):
            if fpdu == UNREADABLE or (final and not run.is_sure):
                run.trouble = start
            island.need = fpdu
            return False
        if fpdu.sound:
            run.is_sure = True
        elif self.crc and run.is_sure:
            # Its start is certain, whatever it holds.
            run.is_sure = False
        else:
            need = self._need_behind(island, fpdu, limit, final=final)
            if need is not None:
                if need <= limit or final:
                    run.trouble = start
                island.need = need
                return False
        run.phase = self._behind(fpdu)
        self._pass_on(island, run, fpdu)
        return True

    def _behind(self, fpdu: Candidate) -> int | None:
        """Return the phase of what follows an FPDU."""
        phase, length = fpdu.layout.phase, fpdu.layout.length
        return None if phase is None else next_phase(phase, length, crc=self.crc)

    def _need_behind(
        self, island: Island, fpdu: Candidate, limit: int, *, final: bool
    ) -> int | None:
        """Return how far octets are needed to tell whether lengths lead on from an FPDU that is not
        verified: None if they do, no more than ``limit`` if they do not."""
        for _ in range(_LONGEST_BRIDGE if self.crc else 1):
            at = fpdu.end
            if at == limit and (final or not self.crc):
                return None
            following = self._judge(island, at, limit, self._behind(fpdu))
            if isinstance(following, int):
                return limit if following == UNREADABLE else following
            if following.sound:
                return None
            if not self._header_makes_sense(following):
                return limit
            fpdu = following
        return limit

    # -- where no length leads -----------------------------------------------------------------

    def _leave_trouble(self, island: Island, run: Run, limit: int, *, final: bool) -> bool:
        """Go on at an FPDU that a search finds; tell whether there is one."""
        assert isinstance(run, _Run) and run.trouble is not None
        if limit < run.search_at and not final:
            island.need = run.search_at
            return False
        found = self._search_proven(island, run.trouble + WORD, limit)
        if found is None:
            run.search_at = limit + max(FIRST_SEARCH, limit - run.trouble)
            island.need = run.search_at
            return False
        start, phase = found
        if run.end < start:
            self._end(island, run, start)
        run.go_on(start, phase)
        return True

    def _search_proven(self, island: Island, begin: int, limit: int) -> tuple[int, int] | None:
        """Return where the first FPDU stands that CRCs and Markers prove, and its phase."""
        if not (self.crc and self.markers):
            return None
        begin = max(begin, island.held)
        begin += (self.origin - begin) % WORD
        if begin >= limit:
            return None
        octets = island.read(begin, limit)
        for word in header_words(octets):
            self._allowance -= COST_OF_PLACE
            if self._allowance < 0:
                return None
            head = octets[word : word + HEAD]
            length = int.from_bytes(head[:HEADER_LENGTH], "big")
            if not plausible(head[HEADER_LENGTH:], length):
                continue
            found = self._proven_at(island, begin + word, limit)
            if found is not None:
                return found
        return None

    def _proven_at(self, island: Island, at: int, limit: int) -> tuple[int, int] | None:
        """Return where the FPDU begins whose ULPDU_Length seems to be at a place, and its phase.

        None unless it is verified, and a Marker in it, or in one to which verified ones lead.
        """
        start, counted = at, 0
        for _ in range(_LONGEST_BRIDGE):
            marked = self._marked_at(island, at, limit)
            if marked is not None:
                assert marked.layout.phase is not None
                if at == start:
                    # A Marker may lead it.
                    start = marked.start
                phase = (marked.layout.phase - counted) % MARKER_INTERVAL
                behind = self._judge(island, marked.end, limit, self._behind(marked))
                first = self._judge(island, start, limit, phase)
                if isinstance(first, int) or not first.sound:
                    return None
                goes_on = isinstance(behind, int) or behind.sound or counted > 0
                return (start, phase) if goes_on else None
            fpdu = self._judge(island, at, limit, None)
            if isinstance(fpdu, int) or not fpdu.sound:
                return None
            self._allowance -= fpdu.layout.length
            counted += fpdu.layout.length - CRC_LENGTH
            at = fpdu.end
        return None

    def _marked_at(self, island: Island, at: int, limit: int) -> Candidate | None:
        """Return the verified FPDU at a place if a Marker says that it begins there."""
        window = island.read(at, min(limit, at + MARKER_INTERVAL))
        places = [
            (at, -ahead % MARKER_INTERVAL)
            for ahead, marker in _POINTING
            if window[ahead : ahead + MARKER_LENGTH] == marker
        ]
        places += [
            (begin, 0)
            for begin in (at - MARKER_LENGTH, at)
            if begin >= island.held
            and begin + MARKER_LENGTH <= limit
            and island.read(begin, begin + MARKER_LENGTH) == _LEADING
        ]
        for start, phase in places:
            if self._allowance < 0:
                break
            fpdu = self._judge(island, start, limit, phase)
            if isinstance(fpdu, int):
                continue
            self._allowance -= fpdu.layout.length
            if fpdu.crc == "good" and fpdu.is_pointed_at:
                return fpdu
        return None

    def _judge(self, island: Island, start: int, limit: int, phase: int | None) -> Candidate | int:
        """Read the FPDU at ``start``, or say up to which position octets are needed for it."""
        header = start + MARKER_LENGTH if phase == 0 else start
        behind = header + HEADER_LENGTH
        if behind > limit:
            return behind
        if start < island.held or island.captured_until(start, behind) < behind:
            return UNREADABLE
        ulpdu_length = int.from_bytes(island.read(header, behind), "big")
        layout = fpdu_layout(ulpdu_length, phase, self.crc)
        end = start + layout.length
        if end > limit:
            return end
        octets = island.read(start, end)
        seen = island.captured_until(start, end)
        if seen < end:
            return self._judge_cut(island, start, ulpdu_length, layout, octets[: seen - start])
        agrees = self._agrees(layout, octets)
        pointed = agrees and bool(layout.markers)
        if self.crc:
            good = crc32c(octets) == RESIDUE
            crc: CrcVerdict = "good" if good else "bad"
            return Candidate(start, end, ulpdu_length, layout, octets, crc, agrees, pointed, good)
        sound = agrees and self._plausible(octets, layout, ulpdu_length)
        return Candidate(start, end, ulpdu_length, layout, octets, "off", agrees, pointed, sound)

    @staticmethod
    def _fpduptr(island: Island, marker: int) -> int | None:
        """Return what a Marker says, None if the snap length cut it off."""
        end = marker + MARKER_LENGTH
        if island.captured_until(marker, end) < end:
            return None
        return int.from_bytes(island.read(marker + 2, end), "little") & FPDUPTR_MASK


class OSCFramingWithoutCRCs(OSCFraming):
    """The same where CRCs are off, so that there are no CRC fields."""

    __slots__ = ()
    recovered = FPDUWithoutCRC
