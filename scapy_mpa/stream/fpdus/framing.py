# SPDX-License-Identifier: GPL-2.0-or-later
"""Find the FPDUs in the islands of one direction.

The rules (RFC 5044 6, and section 8 for errors):

* An FPDU is *located* by the beginning of the Full Operation Phase, by the length of the FPDU
  before it, by a Marker, or, last, by search.
* An FPDU is *verified* by its CRC.  Without CRCs, its Markers must point to its beginning, and its
  DDP and RDMAP headers must make sense.  If a length leads to it, less is enough
  (:meth:`~scapy_mpa.stream.fpdus.follower.Follower._is_believed`).
* After a verified FPDU, the next start is *certain*.  An FPDU at a certain start is reported, good
  or bad.  An FPDU at any other start is reported only if it is verified.
* The length of an unverified FPDU may be wrong.  Without CRCs, the last FPDU before a chain of
  lengths breaks may have a wrong length, too.  Then the cheapest path shows which FPDUs follow
  (:mod:`~scapy_mpa.stream.fpdus.path`).

In an island after a hole, a Marker leads to an FPDU at once.  Otherwise only a search helps, and a
payload may look like an FPDU.  So such an island waits until the hole is filled or closed, unless
good FPDUs fill its first segment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scapy_mpa.stream.fpdus.candidate import UNREADABLE, Candidate, FPDUReader, header_octets
from scapy_mpa.stream.fpdus.follower import Follower
from scapy_mpa.stream.octets.island import Island, Run
from scapy_mpa.stream.sequence import NOWHERE
from scapy_mpa.wire.ddp import ddp_header_length
from scapy_mpa.wire.fpdu import STANDARD, WORD
from scapy_mpa.wire.terminate import is_terminate

if TYPE_CHECKING:
    from scapy_mpa.stream.fpdus.sink import Sink


class Framing(Follower):
    """Finds the FPDUs of one direction in its islands.

    :param sink: receives what is found.
    :param origin: position of offset 0 of the Full Operation Phase.
    :param markers: whether the direction has Markers.
    :param crc: whether CRCs are checked.
    :param from_start: whether the phase is known to begin at ``origin``; if not, ``origin``
        is merely a position from which Markers are counted.
    :param is_guess: whether the positions of Markers are a guess: then only verified FPDUs count.
    :param crc_is_known: whether it is known that CRCs are on or off.
    """

    __slots__ = ("from_start",)
    dialect: Final = None
    """The dialect, if FPDUs are not laid out as in RFC 5044 4."""
    form: Final = STANDARD
    """How FPDUs are laid out."""

    def __init__(
        self,
        sink: Sink,
        origin: int,
        *,
        markers: bool,
        crc: bool,
        from_start: bool = True,
        is_guess: bool = False,
        crc_is_known: bool = True,
    ) -> None:
        reader = FPDUReader(origin, markers=markers, crc=crc)
        super().__init__(sink, reader, crc_is_known=crc_is_known, is_guess=is_guess)
        self.from_start = from_start

    def advance(self, island: Island) -> None:
        """Look for FPDUs in an island that has grown."""
        self._find(island, final=False)

    def finish(self, island: Island) -> None:
        """Look for FPDUs in an island to whose end no octets will be added."""
        self._find(island, final=True)
        self._sink.reaches(self._reach_of(island))
        if island.runs:
            self._abandon(island, island.runs[-1], island.end)

    def give_up(self, island: Island) -> int:
        """Look for FPDUs in an island that is dropped, although more octets may follow.

        Return the position from which its octets are unused, although they might be used later.
        """
        self._find(island, final=True)
        self._sink.reaches(self._reach_of(island))
        if island.runs:
            return island.runs[-1].end
        return island.end if self.from_start and island.end <= self.origin else island.start

    def _find(self, island: Island, *, final: bool) -> None:
        if island.joined:
            self._fill(island)
        elif island.end < island.need and not final:
            return
        if not island.runs and not self._locate(island):
            return
        if not island.open_left and not island.settled:
            self._settle(island)
        self._follow(island, island.runs[-1], island.end, final=final)

    def _chain(self, island: Island, run: Run, limit: int, *, final: bool) -> None:
        """Report FPDU after FPDU, up to the limit or to the first unverified one.

        After a misread pad, the next FPDU seems to be long and not yet whole.  The chain does not
        wait for its end.
        """
        super()._chain(island, run, limit, final=final)
        is_doubtful = run.broken_at is None and run.end < limit and self._may_pad(island, limit)
        if is_doubtful and not self.reader.may_begin(island, run.end, limit, any_stag=True):
            need = island.need
            if self._sink.hand_to_softuiwarp(island, run, final=False) == "undecided":
                island.need = min(need, island.need)

    def _recover(self, island: Island, run: Run, limit: int, *, final: bool) -> bool:
        """Find FPDUs after a break of the chain; return whether the chain goes on.

        First check whether the pad of SoftUiWARP broke the chain.
        """
        if run.broken_at == run.last and self._may_pad(island, limit):
            handover = self._sink.hand_to_softuiwarp(island, run, final=final)
            if handover != "refused":
                return False
        return super()._recover(island, run, limit, final=final)

    def _may_pad(self, island: Island, limit: int) -> bool:
        """Return whether the FPDUs up to a limit may have the pads of SoftUiWARP."""
        is_certain = self.from_start and island.start <= self.origin and limit == island.end
        return is_certain and not (self.crc or self.markers)

    # -- the first FPDU of an island -------------------------------------------------------------

    def _locate(self, island: Island) -> bool:
        """Find where to start in an island; return whether there is a first run."""
        if self.from_start and island.end <= self.origin:
            # It holds a startup frame, whose private data may look like an FPDU.
            return False
        if self.from_start and island.start <= self.origin:
            island.runs = (self.first_run(island),)
            return True
        ahead = self._ahead(island, island.end)
        if ahead is not None:
            island.runs = (ahead,)
            return True
        if island.open_left:
            if not self.markers:
                # Its first segment will not change.
                island.need = NOWHERE
            return False
        # Nothing leads to an FPDU: search after a run without FPDUs.
        island.runs = (self._empty_run(island),)
        island.settled = True
        island.need = island.end
        return True

    def _ahead(self, island: Island, limit: int) -> Run | None:
        """Return a run whose FPDUs can be reported although the hole before the island is open.

        Good FPDUs fill the first segment, or a Marker leads to one.
        """
        first = self._first_of_segment(island, limit)
        if first is not None:
            return Run(first.start, "marker" if first.layout.markers else "search")
        found = self._by_marker(island, limit) if self.markers else None
        return None if found is None else Run(found.start, "marker")

    def _first_of_segment(self, island: Island, limit: int) -> Candidate | None:
        """Return the first FPDU of an island if good FPDUs fill its first segment.

        Chance does not produce that.  A payload with FPDUs in it is hardly ever segmented so.
        """
        at = island.start
        # FPDUs are multiples of 4 octets.
        may_begin = self.crc and at < limit and not (at - self.origin) % WORD
        end = island.chunks(at, limit)[0].end if may_begin else at
        first = None
        while at < end <= limit:
            fpdu = self.reader.fpdu_at(island, at, end)
            if isinstance(fpdu, int) or fpdu.crc != "good":
                return None
            head = header_octets(fpdu.octets, fpdu.layout)
            if fpdu.ulpdu_length < ddp_header_length(head) or is_terminate(head):
                # The straight path reads such FPDUs in order only.
                return None
            first = first or fpdu
            at = fpdu.end
        # Not inside the FPDU that the hole cuts off: its payload may hold FPDUs.  Only a Marker
        # shows which they are (RFC 5044 4.3).
        if first is None or first.layout.markers or self._end_over_hole(island) <= island.start:
            return first
        return None

    @staticmethod
    def _empty_run(island: Island) -> Run:
        """Return a run without FPDUs at the beginning of an island."""
        run = Run(island.start, "search")
        run.broken_at = island.start - WORD
        run.is_certain = False
        return run

    def first_run(self, island: Island) -> Run:
        """Return the run that begins with the Full Operation Phase."""
        run = Run(self.origin, "start")
        # Octets before the origin hold no FPDUs.  They are released with the run.
        run.start = island.start
        island.settled = True
        return run

    def _by_marker(self, island: Island, limit: int) -> Candidate | None:
        """Return a verified FPDU to which a Marker before ``limit`` points.

        Each octet is tried as part of one FPDU only.
        """
        lowest = max(island.start, self.origin) if self.from_start else island.start
        begin = max(lowest, island.markers_read)
        for _, start in self.reader.pointers(island, begin, limit):
            if start < begin or not self.reader.may_begin(island, start, limit):
                continue
            fpdu = self.reader.fpdu_at(island, start, limit)
            if not isinstance(fpdu, int):
                if fpdu.sound and (self.crc or fpdu.is_pointed_at):
                    return fpdu
                begin = fpdu.end
            elif fpdu != UNREADABLE:
                island.markers_read = start
                island.need = fpdu
                return None
        island.markers_read = limit
        return None

    # -- between runs --------------------------------------------------------------------------

    def _fill(self, island: Island) -> None:
        """After a hole was filled, report the FPDUs between the runs, and join the runs."""
        island.joined = False
        # No startup frame is looked for any more.
        island.scanned = None
        runs = island.runs
        if not runs:
            return
        begins = self.from_start and island.start <= self.origin
        if begins and self.origin < runs[0].start:
            runs = (self.first_run(island), *runs)
        elif island.open_left and (ahead := self._ahead(island, runs[0].start)) is not None:
            runs = (ahead, *runs)
        self._unite_all(island, runs)

    def _unite_all(self, island: Island, runs: tuple[Run, ...]) -> None:
        """Report the FPDUs between the runs of an island, and join the runs."""
        first, *others = runs
        for index, run in enumerate(others):
            island.runs = (first, *others[index:])
            if not self._unite(island, first, run):
                return
        island.runs = (first,)

    def _unite(self, island: Island, run: Run, right: Run) -> bool:
        """Report the FPDUs between two runs, and join the runs; return whether that was done."""
        was_empty = run.is_empty
        self._follow(island, run, right.start, final=True)
        if run.awaits_startup:
            return False
        self._abandon(island, run, right.start)
        if was_empty and not run.is_certain:
            # The run holds no FPDU.  An FPDU before the run may still reach into it.
            run.start = right.start
        run.end_like(right)
        return True

    def _settle(self, island: Island) -> None:
        """Search before the first run, since the hole before it will not be filled."""
        first = island.runs[0]
        island.settled = True
        if island.start == first.start:
            return
        self._unite_all(island, (self._empty_run(island), *island.runs))
