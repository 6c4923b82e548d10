# SPDX-License-Identifier: GPL-2.0-or-later
"""Where FPDUs begin and end in the islands of one direction, and whether they are what they say.

The rules (RFC 5044 6, and section 8 for what does not fit):

* An FPDU is *located* by the beginning of the Full Operation Phase, by the end of the FPDU
  before it, by a Marker, or, last, by search.
* It is *verified* by its CRC.  Without CRCs its Markers must agree on where it begins and its
  DDP and RDMAP headers must make sense.  Where a length has led to it, less is enough
  (:meth:`~scapy_mpa.stream.fpdus.follower.Follower._is_believed`).
* After a verified FPDU the next one begins: that start is certain, so whatever stands there
  is reported, good or bad.  Any other start counts only if the FPDU there is verified.
* An FPDU that is not verified may have a wrong length.  So may the last one of a chain that breaks
  without CRCs.  The cheapest path tells which FPDUs follow
  (:mod:`~scapy_mpa.stream.fpdus.path`).

In an island after a hole, a Marker leads to an FPDU at once.  Without Markers only a search helps,
and a payload may look like an FPDU: such an island waits until the hole is filled or closed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scapy_mpa.stream.events import FPDURecovered
from scapy_mpa.stream.fpdus.candidate import Candidate, FPDUReader, header_octets
from scapy_mpa.stream.fpdus.follower import Follower
from scapy_mpa.stream.fpdus.search import COST_OF_PLACE
from scapy_mpa.stream.octets.island import Island, Run
from scapy_mpa.stream.octets.leads import Leads
from scapy_mpa.stream.sequence import NOWHERE
from scapy_mpa.wire.ddp import ddp_header_length
from scapy_mpa.wire.fpdu import HEADER_LENGTH, MARKER_LENGTH, WORD, fpdu_length
from scapy_mpa.wire.terminate import is_terminate

if TYPE_CHECKING:
    from scapy_mpa.stream.fpdus.sink import Sink

# What each octet costs of an FPDU that is tried after a hole.  A hostile capture may have the same
# octets tried again and again.  At this cost each octet pays for 14 tries, which read and check it.
_COST_OF_OCTET: Final = 12


class Framing(Follower):
    """Finds the FPDUs of one direction in its islands.

    :param sink: who is reported.
    :param origin: position of offset 0 of the Full Operation Phase.
    :param markers: whether the direction has Markers.
    :param crc: whether CRCs are to be checked.
    :param from_start: whether the phase is known to begin at ``origin``; if not, that is merely
        a place from which Markers can be counted.
    :param is_guess: whether Markers may as well be elsewhere: then only what is verified counts.
    :param crc_is_known: whether it is known that CRCs are on, or off.
    """

    __slots__ = ("from_start",)
    dialect: Final = None
    """Whose FPDUs they are, if they are not laid out as RFC 5044 4 has it."""
    recovered: Final = FPDURecovered
    """The event that tells of one."""

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
        reader = FPDUReader(origin, markers=markers, crc=crc, is_guess=is_guess)
        super().__init__(sink, reader, crc_is_known=crc_is_known)
        self.from_start = from_start

    def advance(self, island: Island) -> None:
        """Find what can be found in an island that has grown."""
        self._find(island, final=False)

    def finish(self, island: Island) -> None:
        """Find what can be found in an island to whose end nothing will be added."""
        self._find(island, final=True)
        self._sink.reaches(self._reach_of(island))
        if island.runs:
            self._abandon(island, island.runs[-1], island.end)

    def give_up(self, island: Island) -> int:
        """Find what can be found in an island that is let go of, though more may come.

        Return where the octets begin that might have been of use then.
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
        """Pass on FPDU after FPDU, up to the limit or to the first that is not verified.

        If the pad was misread, what follows seems to be a long FPDU that is not whole yet.  It is
        not waited for.
        """
        super()._chain(island, run, limit, final=final)
        is_doubtful = run.broken_at is None and run.end < limit and self._may_pad(island, limit)
        if is_doubtful and not self._may_follow(island, run.end, limit):
            need = island.need
            if self._sink.hand_to_softuiwarp(island, run, final=False) == "undecided":
                island.need = min(need, island.need)

    def _recover(self, island: Island, run: Run, limit: int, *, final: bool) -> bool:
        """Find the way back to where FPDUs begin; tell whether that succeeded.

        First of all see whether it was the pad that led astray.
        """
        if run.broken_at == run.last and self._may_pad(island, limit):
            handover = self._sink.hand_to_softuiwarp(island, run, final=final)
            if handover != "refused":
                return False
        return super()._recover(island, run, limit, final=final)

    def _may_pad(self, island: Island, limit: int) -> bool:
        """Tell whether the FPDUs up to a limit may be those of a stack that pads otherwise."""
        is_certain = self.from_start and island.start <= self.origin and limit == island.end
        return is_certain and not (self.crc or self.markers)

    # -- without a chain -----------------------------------------------------------------------

    def _locate(self, island: Island) -> bool:
        """Find a place to start from in an island; tell whether there is one."""
        if self.from_start and island.end <= self.origin:
            # A startup frame, and what it brings may look like an FPDU.
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
                # Its first segment stays as it is.
                island.need = NOWHERE
            return False
        # Nothing leads anywhere: a run of no FPDUs, after which only a search can help.
        island.runs = (self._empty_run(island),)
        island.settled = True
        island.need = island.end
        return True

    def _ahead(self, island: Island, limit: int) -> Run | None:
        """Return a run in which FPDUs can be reported though the hole before an island is open.

        A Marker leads to it.  Without Markers, the first segment shows it.
        """
        if not self.markers:
            return Run(island.start, "search") if self._holds_fpdus(island, limit) else None
        found = self._by_marker(island, limit)
        return None if found is None else Run(found.start, "marker")

    def _holds_fpdus(self, island: Island, limit: int) -> bool:
        """Tell whether the first segment of an island holds verified FPDUs and nothing else.

        That is no chance, and a payload that holds FPDUs is hardly cut up like that.
        """
        at = end = island.start
        # FPDUs are multiples of 4 octets.
        may_begin = self.crc and not (at - self.origin) % WORD
        # Not within the one that the hole before it cuts off, whose payload may hold FPDUs.
        if may_begin and at < limit and self._carried(island) <= at:
            end = island.chunks(at, limit)[0].end
        if not at < end <= limit or not self._sink.purse.spend(_COST_OF_OCTET * (end - at)):
            return False
        while at < end:
            fpdu = self.reader.fpdu_at(island, at, end)
            if isinstance(fpdu, int) or fpdu.crc != "good":
                return False
            head = header_octets(fpdu.octets, fpdu.layout)
            if fpdu.ulpdu_length < ddp_header_length(head) or is_terminate(head):
                # The straight path reads these in order only.
                return False
            at = fpdu.end
        return True

    @staticmethod
    def _empty_run(island: Island) -> Run:
        """Return a run of no FPDUs at the beginning of an island."""
        run = Run(island.start, "search")
        run.broken_at = island.start - WORD
        run.is_certain = False
        return run

    def first_run(self, island: Island) -> Run:
        """Return the run that begins with the Full Operation Phase."""
        run = Run(self.origin, "start")
        # What lies before is not for framing, and is released with the rest.
        run.start = island.start
        island.settled = True
        return run

    def _by_marker(self, island: Island, limit: int) -> Candidate | None:
        """Return a verified FPDU that a Marker before ``limit`` leads to.

        Each Marker is read once, and each place tried once, when its FPDU is whole.
        """
        lowest = max(island.start, self.origin) if self.from_start else island.start
        leads = island.leads
        if leads is None:
            leads = island.leads = Leads(lowest)
        before = min(leads.begin + MARKER_LENGTH - 1, limit)
        for begin, end in ((lowest, before), (leads.end, limit)):
            for _, start in self.reader.pointers(island, begin, end):
                leads.add(start)
        leads.begin = lowest
        leads.end = max(leads.end, limit - MARKER_LENGTH + 1)
        for start in leads.due(lowest, limit):
            end = self._end_of(island, start, limit)
            if end > limit:
                leads.wait(start, end)
            elif self._may_be_tried(island, start, end, limit):
                fpdu = self.reader.fpdu_at(island, start, limit)
                if isinstance(fpdu, int) or not fpdu.sound:
                    continue
                if self.crc or fpdu.is_pointed_at:
                    return fpdu
        return None

    def _end_of(self, island: Island, start: int, limit: int) -> int:
        """Return how far octets are needed to tell how long an FPDU is, or where it ends."""
        phase, header = self.reader.begin_at(start)
        if header + HEADER_LENGTH > limit:
            return header + HEADER_LENGTH
        ulpdu_length = int.from_bytes(island.read(header, header + HEADER_LENGTH), "big")
        return start + fpdu_length(ulpdu_length, phase)

    def _may_be_tried(self, island: Island, start: int, end: int, limit: int) -> bool:
        """Tell whether an FPDU to which a Marker points is worth what it costs to try it."""
        said = self.reader.header_at(island, start, limit)
        # Without CRCs, an FPDU that makes no sense is no evidence.
        is_worth_it = self.crc or (said is not None and said[0])
        return is_worth_it and self._sink.purse.spend(
            COST_OF_PLACE + _COST_OF_OCTET * (end - start)
        )

    # -- between runs --------------------------------------------------------------------------

    def _fill(self, island: Island) -> None:
        """Use what a filled hole has brought: go from run to run, and make them one."""
        island.joined = False
        # There is no startup frame to be looked for any more.
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
        """Pass on what lies between the runs of an island, and make them one."""
        first, *others = runs
        for index, run in enumerate(others):
            island.runs = (first, *others[index:])
            if not self._unite(island, first, run):
                return
        island.runs = (first,)

    def _unite(self, island: Island, run: Run, right: Run) -> bool:
        """Pass on what lies between two runs, and make them one; tell whether that was done."""
        was_empty = run.is_empty
        self._follow(island, run, right.start, final=True)
        if run.awaits:
            return False
        self._abandon(island, run, right.start)
        if was_empty and not run.is_certain:
            # Nothing was found in it, but an FPDU may yet reach into it from the left.
            run.start = right.start
        run.end_like(right)
        return True

    def _settle(self, island: Island) -> None:
        """Search before the first run, now that the hole before it will not be filled."""
        first = island.runs[0]
        island.settled = True
        island.leads = None
        if island.start == first.start:
            return
        self._unite_all(island, (self._empty_run(island), *island.runs))
