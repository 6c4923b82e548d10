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
* Behind a hole that stays, where the lengths lead nowhere, or where the beginning was not captured,
  one is searched whose CRC is good, with Markers in it or without, and behind which the next one
  begins.  From the first one with Markers on it is known where these fall.  Without CRCs, a Marker
  must point to it, or lengths must lead from it to one to which a Marker does.

With CRCs and without Markers FPDUs are those of RFC 5044, and so is what finds them.
"""

from __future__ import annotations

from typing import Final

from scapy_mpa.stream.dialects.in_order import InOrderFraming
from scapy_mpa.stream.dialects.osc_reader import LONGEST_ROW, OSCReader
from scapy_mpa.stream.events import FPDUWithoutCRC, LocatedBy
from scapy_mpa.stream.fpdus.candidate import HEAD, UNREADABLE, WORD, Candidate
from scapy_mpa.stream.fpdus.heads import head_makes_sense
from scapy_mpa.stream.fpdus.search import COST_OF_PLACE, header_words
from scapy_mpa.stream.fpdus.way_back import FIRST_SEARCH
from scapy_mpa.stream.octets.island import Island, Run
from scapy_mpa.stream.octets.scan import startups_at, startups_before
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.fpdu import MARKER_INTERVAL, MARKER_LENGTH

__all__ = ["OSCFraming", "OSCFramingWithoutCRCs"]

_LONGEST_BRIDGE: Final = 16
"""FPDUs in a row, unverified, that lengths may cross."""


class _Run(Run):
    """A stretch of FPDUs, and where Markers fall behind it.

    :param position: where it begins.
    :param located_by: what says so.
    :param phase: of what stands there.
    """

    __slots__ = ("begins_at", "is_sure", "phase", "search_at")

    def __init__(self, position: int, located_by: LocatedBy, phase: int | None) -> None:
        super().__init__(position, located_by)
        self.begins_at = self.phase = phase
        """Of the FPDU that it begins with, and of the one that comes next; None if not known."""
        self.is_sure = True
        """Whether one begins where the one before it ends, as far as lengths can be trusted."""
        self.search_at = 0
        """How far octets must reach before another search is worth its cost."""

    def go_on(self, found: Candidate) -> None:
        """Go on where a search has found an FPDU."""
        self.end = self.last = found.start
        self.phase = found.layout.phase
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


class OSCFraming(OSCReader, InOrderFraming):
    """Finds the FPDUs of one direction.

    Its parameters are those of :class:`~scapy_mpa.stream.fpdus.framing.Framing`.

    :param is_guess: whether there may be Markers for all that is known: then ``markers`` tells
        whether any was seen.
    """

    __slots__ = ()
    dialect = Dialect.OSC

    @property
    def may_have_markers(self) -> bool:
        """Whether FPDUs may hold Markers."""
        return self.markers or self.is_guess

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
        is_new = island.joined or not island.runs
        island.joined = False
        island.scanned = None
        if is_new and not self.from_start:
            self._find_beginning_alone(island)
        if self.from_start and island.end <= self.origin:
            return
        if not self._find_run(island, final=final):
            return
        if is_new and not self.from_start:
            self._look_before(island, island.runs[0])
        first, *others = island.runs
        for index, other in enumerate(others):
            island.runs = (first, *others[index:])
            self._unite_with(island, first, other)
        island.runs = (first,)
        self._go(island, first, island.end, final=final)

    def _find_run(self, island: Island, *, final: bool) -> bool:
        """See that there is a run to go on with in an island; tell whether there is one."""
        if self.from_start and island.start <= self.origin:
            if not island.runs or island.runs[0].start > self.origin:
                island.runs = (self._first_run(island), *island.runs)
        elif not (island.settled or island.open_left):
            limit = island.runs[0].start if island.runs else island.end
            final = final or limit < island.end
            found = self._search_proven(island, island.start, limit, final=final)
            if found is not None:
                run = _Run(found.start, "search", found.layout.phase)
                island.runs = (run, *island.runs)
            if island.runs:
                island.settled = True
            else:
                island.need = island.end + max(FIRST_SEARCH, island.end - island.start)
        return bool(island.runs)

    def _find_beginning_alone(self, island: Island) -> None:
        """See whether an island is a startup frame, captured behind FPDUs and before a hole."""
        if not self.crc or island.held > island.start:
            return
        frames = startups_at(island, island.start, island.end)
        if (
            frames
            and frames[-1].end == island.end
            and not frames[-1].startup.rejects
            and self._sink.may_start(island, frames[0])
        ):
            self._begin_behind(island, frames)

    def _look_before(self, island: Island, run: Run) -> None:
        """See whether startup frames directly precede the first run of an island."""
        assert isinstance(run, _Run)
        if not self.crc or run.begins_at or run.start <= island.held:
            return
        frames = startups_before(island, run.start)
        if frames:
            run.start = island.start
            self._begin_behind(island, frames)

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
        fpdu = self.read_at(island, start, limit, run.phase)
        if isinstance(fpdu, int):
            if fpdu == UNREADABLE or (final and not run.is_sure):
                run.trouble = start
            island.need = fpdu
            return False
        if fpdu.sound:
            run.is_sure = True
        elif self.may_have_markers and run.phase is None:
            # Nobody knows how many Markers it holds.
            run.trouble = start
            return False
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
        if fpdu.layout.markers:
            self.markers = True
        run.phase = self.behind(fpdu)
        self._pass_on(island, run, fpdu)
        return True

    def _need_behind(
        self, island: Island, fpdu: Candidate, limit: int, *, final: bool
    ) -> int | None:
        """Return how far octets are needed to tell whether lengths lead on from an FPDU that is not
        verified: None if they do, no more than ``limit`` if they do not."""
        for _ in range(_LONGEST_BRIDGE if self.crc else 1):
            at = fpdu.end
            if at == limit and (final or not self.crc):
                return None
            following = self.judge(island, at, limit, self.behind(fpdu))
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
        found = self._search_proven(island, run.trouble + WORD, limit, final=final)
        if found is None:
            run.search_at = limit + max(FIRST_SEARCH, limit - run.trouble)
            island.need = run.search_at
            return False
        if run.end < found.start:
            self._end(island, run, found.start)
        run.go_on(found)
        return True

    def _search_proven(
        self, island: Island, begin: int, limit: int, *, final: bool
    ) -> Candidate | None:
        """Return the first FPDU whose CRC is good and behind which the next one begins.

        :param final: nothing more will come: if there is none, the first whose CRC is good.
        """
        begin = max(begin, island.held)
        begin += (self.origin - begin) % WORD
        doubtful = None
        octets = island.read(begin, limit) if begin < limit else b""
        for word in header_words(octets):
            if not self.spend(COST_OF_PLACE):
                break
            if not head_makes_sense(octets[word : word + HEAD]):
                continue
            found = self.starting_at(island, begin + word, begin, limit)
            if found is None:
                continue
            if self.goes_on(island, found, limit):
                return found
            doubtful = doubtful or found
        return doubtful if final else None


class OSCFramingWithoutCRCs(OSCFraming):
    """The same where CRCs are off, so that there are no CRC fields.

    Nothing is skipped then, so where Markers fall follows from where one does.
    """

    __slots__ = ()
    recovered = FPDUWithoutCRC

    def _search_proven(
        self, island: Island, begin: int, limit: int, *, final: bool
    ) -> Candidate | None:
        """Return the first FPDU to which a Marker points, or from which lengths lead to such a one.

        :param final: nothing more will come.
        """
        if not self.markers:
            return None
        begin = max(begin, island.held)
        begin += (self.origin - begin) % WORD
        octets = island.read(begin, limit) if begin < limit else b""
        for word in header_words(octets):
            if not self.spend(COST_OF_PLACE):
                break
            start = begin + word
            phase = (start - self.origin) % MARKER_INTERVAL
            if phase == MARKER_LENGTH:
                start, phase = start - MARKER_LENGTH, 0
            if phase == 0 and start == begin + word:
                # A Marker stands there.
                continue
            found = self.judge(island, start, limit, phase)
            if start >= begin and self._leads_to_marker(island, found, limit):
                assert not isinstance(found, int)
                return found
        return None

    def _leads_to_marker(self, island: Island, fpdu: Candidate | int, limit: int) -> bool:
        """Tell whether a Marker points to an FPDU, or to one to which lengths lead from it."""
        for _ in range(LONGEST_ROW):
            if isinstance(fpdu, int) or not fpdu.sound:
                return False
            if fpdu.telling_markers:
                return True
            if not self.spend(fpdu.layout.length):
                return False
            fpdu = self.judge(island, fpdu.end, limit, self.behind(fpdu))
        return False
