# SPDX-License-Identifier: GPL-2.0-or-later
"""Where FPDUs begin and end in the islands of one direction, and whether they are what they say.

The rules (RFC 5044 6, and section 8 for what does not fit):

* An FPDU is *located* by the beginning of the Full Operation Phase, by the end of the FPDU
  before it, by a Marker, or, last, by search.
* It is *verified* by its CRC.  Without CRCs its Markers must agree on where it begins and its
  DDP and RDMAP headers must make sense.
* Behind a verified FPDU the next one begins: that start is certain, so whatever stands there
  is reported, good or bad.  Any other start counts only if the FPDU there is verified.
* An FPDU that is not verified may have lied about its length.  What follows is believed once
  the chain of lengths comes to a verified FPDU, or to the very place where one is known to
  begin; else the octets behind its start are searched.
* Without CRCs no length is proven before something else says where the next FPDU begins.  Where
  the chain of lengths breaks, the last one may have lied, so its octets are searched, too; what
  stands behind it is an FPDU if its header makes sense or a Marker points to it.

An island beyond a hole is framed at once if there are Markers to start from.  Without them
nothing but a search could help, and the octets of a payload may look like an FPDU: such an
island waits until the hole is filled, or is known to stay.
"""

from __future__ import annotations

from typing import Final, Protocol

from scapy_mpa.stream.candidate import SHORTEST, UNREADABLE, WORD, Candidate
from scapy_mpa.stream.events import LocatedBy
from scapy_mpa.stream.finder import COST_OF_PLACE, FPDUFinder, found_by
from scapy_mpa.stream.island import Island, Run
from scapy_mpa.stream.leads import Leads
from scapy_mpa.stream.scan import FoundStartup, startup_at
from scapy_mpa.wire.errors import ErrorCode
from scapy_mpa.wire.fpdu import (
    HEADER_LENGTH,
    MARKER_INTERVAL,
    MARKER_LENGTH,
    Layout,
    fpdu_length,
)

__all__ = ["FRAMING_WINDOW", "Framing", "Sink"]

FRAMING_WINDOW: Final = 66_560
"""No FPDU is longer: 64 KiB of ULPDU, 130 Markers, header, pad and CRC.  Octets that could not
be placed are of no use once this much follows them."""

_FIRST_SEARCH: Final = 2_048
# Octets for which the chain of lengths is waited for, if what comes next looks like an FPDU.
_LONGEST_WAIT: Final = 8 * FRAMING_WINDOW


# A place that no island reaches.
_NOWHERE: Final = 1 << 62


class Sink(Protocol):
    """Who is told what framing finds."""

    @property
    def settled_below(self) -> int:
        """Octets below this position that the snap length cut off are no longer waited for."""

    def found(self, island: Island, fpdu: Candidate, located_by: LocatedBy) -> None:
        """Take an FPDU."""

    def wrong(self, code: ErrorCode, position: int, text: str) -> None:
        """Take an error."""

    def cut_off(self, start: int, end: int) -> None:
        """Take note of a stretch in which the snap length cut off what is needed to go on."""

    def unfinished(self, position: int, length: int) -> None:
        """Take note of an FPDU of which only the first ``length`` octets will ever be there."""

    def may_start(self, island: Island) -> bool:
        """Tell whether nothing was sent before an island, for all that is known."""

    def started(self, island: Island, found: FoundStartup) -> None:
        """Take the startup frame that was captured behind FPDUs."""

    def release(self, island: Island, start: int, end: int) -> None:
        """Give up octets whose work is done."""


class Framing(FPDUFinder):
    """Finds the FPDUs of one direction in its islands.

    :param sink: who is told.
    :param origin: position of offset 0 of the Full Operation Phase.
    :param markers: whether the direction has Markers.
    :param crc: whether CRCs are to be checked.
    :param from_start: whether the phase is known to begin at ``origin``; if not, that is merely
        a place from which Markers can be counted.
    :param is_guess: whether Markers may as well be elsewhere: then only what is verified counts.
    :param crc_is_known: whether it is known that CRCs are on, or off.
    """

    __slots__ = ("_sink", "crc_is_known", "from_start", "is_guess")

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
        super().__init__(origin, markers=markers, crc=crc)
        self._sink = sink
        self.from_start = from_start
        self.is_guess = is_guess
        self.crc_is_known = crc_is_known

    def advance(self, island: Island, fresh: int) -> None:
        """Find what can be found in an island that has grown.

        :param fresh: octets that came since the last call.
        """
        self._find(island, fresh, final=False)

    def finish(self, island: Island) -> None:
        """Find what can be found in an island to whose end nothing will be added."""
        self._find(island, 0, final=True)
        if island.runs:
            self._abandon(island, island.runs[-1], island.end)

    def give_up(self, island: Island) -> int:
        """Find what can be found in an island that is let go of, though more may come.

        Return where the octets begin that might have been of use then.
        """
        self._find(island, 0, final=True)
        if island.runs:
            return island.runs[-1].end
        return island.end if self.from_start and island.end <= self.origin else island.start

    def _find(self, island: Island, fresh: int, *, final: bool) -> None:
        self.allow(fresh)
        if island.joined:
            self._fill(island)
        elif island.end < island.need and not final:
            return
        if not island.runs and not self._locate(island):
            return
        if not island.open_left and not island.settled:
            self._settle(island)
        self._follow(island, island.runs[-1], island.end, final=final)

    # -- what is found -------------------------------------------------------------------------

    def _pass_on(self, island: Island, run: Run, fpdu: Candidate) -> None:
        """Report an FPDU and count it to the run behind which it stands."""
        if fpdu.crc == "bad" and not self.crc_is_known:
            fpdu = fpdu._replace(crc="unknown")
        self._sink.found(island, fpdu, run.next_by)
        run.next_by = "length"
        run.last = fpdu.start
        run.end = fpdu.end
        if fpdu.crc == "bad":
            self._sink.wrong(
                ErrorCode.CRC_MISMATCH,
                fpdu.start + fpdu.layout.header,
                f"CRC does not match the FPDU (ULPDU_Length {fpdu.ulpdu_length})",
            )
        elif not fpdu.agrees:
            self._sink.wrong(
                ErrorCode.MARKER_MISMATCH,
                fpdu.start + fpdu.layout.header,
                f"Markers point elsewhere than to their FPDU (ULPDU_Length {fpdu.ulpdu_length})",
            )

    # -- the chain of lengths ----------------------------------------------------------------

    def _follow(self, island: Island, run: Run, limit: int, *, final: bool) -> None:
        """Go on behind a run.

        :param limit: where the next run begins, or the island ends.
        :param final: nothing more will come between here and there.
        """
        run.awaits = False
        while True:
            if run.trouble is None:
                self._chain(island, run, limit, final=final)
            if run.trouble is None or not self._recover(island, run, limit, final=final):
                return

    def _chain(self, island: Island, run: Run, limit: int, *, final: bool) -> None:
        """Pass on FPDU after FPDU, up to the limit or to the first that is not verified."""
        while True:
            at = run.end
            if at == limit:
                # The same number, which need not be kept thrice.
                run.end = island.need = limit
                break
            fpdu = self._try(island, at, limit)
            if island.absent and self._awaits_copy(island, at, fpdu):
                self._await(island, run)
                break
            if isinstance(fpdu, int):
                island.need = fpdu
                if final or fpdu == UNREADABLE:
                    makes_sense = self.crc or self._may_begin(island, at, limit)
                    run.trouble = at if makes_sense else run.last
                break
            if fpdu.sound or (fpdu.is_pointed_at and not self.crc):
                self._pass_on(island, run, fpdu)
                continue
            if fpdu.crc == "bad" and not self.is_guess:
                # Its start is certain, whatever it holds.
                self._pass_on(island, run, fpdu)
                run.trouble = at
            else:
                # Without CRCs, it may be the one before that lied.
                run.trouble = at if self.crc else run.last
            break
        # Without CRCs a length is not proven before the next FPDU stands behind it.
        done = run.end if self.crc else run.last
        self._sink.release(island, run.start, done if run.trouble is None else run.trouble)

    # -- what the snap length cut off ----------------------------------------------------------

    def _judge_cut(
        self, island: Island, start: int, ulpdu_length: int, layout: Layout, seen: bytes
    ) -> Candidate:
        """Judge an FPDU of which the snap length cut something off.

        Where Markers may as well be elsewhere, nothing says how many lie in what was cut off.
        """
        fpdu = super()._judge_cut(island, start, ulpdu_length, layout, seen)
        if self.is_guess and not fpdu.is_pointed_at:
            return fpdu._replace(sound=False)
        return fpdu

    @staticmethod
    def _is_cut(island: Island, start: int, end: int) -> bool:
        """Tell whether octets between two places were cut off."""
        return bool(island.absent) and island.captured_until(start, end) < end

    def _awaits(self, island: Island, start: int, end: int) -> bool:
        """Tell whether a copy may yet bring octets that were cut off between two places."""
        start = max(start, self._sink.settled_below)
        return start < end and self._is_cut(island, start, end)

    def _awaits_copy(self, island: Island, start: int, fpdu: Candidate | int) -> bool:
        """Tell whether a copy may yet bring what is missing of the FPDU at ``start``."""
        if fpdu == UNREADABLE:
            return self._awaits(island, start, start + MARKER_LENGTH + HEADER_LENGTH)
        return not isinstance(fpdu, int) and self._awaits(island, start, fpdu.end)

    @staticmethod
    def _await(island: Island, run: Run) -> None:
        """Leave a run as it is until there is more to be known (:meth:`Island.look_again`)."""
        run.awaits = True
        island.need = _NOWHERE

    # -- behind an FPDU that is not verified ---------------------------------------------------

    def _recover(self, island: Island, run: Run, limit: int, *, final: bool) -> bool:
        """Find the way back to where FPDUs begin; tell whether that succeeded."""
        trouble = run.trouble
        assert trouble is not None
        if self._awaits(island, trouble, min(limit, trouble + FRAMING_WINDOW)):
            self._await(island, run)
            return False
        bridge: list[Candidate] = []
        if run.anchored:
            bridge, reached, need = self._bridge(island, run.end, limit)
            need_at = bridge[-1].end if bridge else run.end
            alone = not self.crc and len(bridge) == 1 and island.is_boundary(limit)
            if reached == "sound" or (reached == "end" and (final or alone)):
                if not self.crc and bridge:
                    found = self._search(island, trouble + WORD, limit, final=final)
                    if found is not None and found.start < need_at:
                        self._resume(island, run, found)
                        return True
                if self.crc:
                    found = self._swallowed(island, trouble, need_at)
                    if found is None and bridge:
                        found = self._search(island, trouble + WORD, need_at, final=False)
                    if found is not None:
                        # What is verified tells that others have lied about their length.
                        self._resume(island, run, found)
                        return True
                    if bridge and self._is_one(island, trouble, need_at):
                        bridge = []
                        run.end = need_at
                for fpdu in bridge:
                    self._pass_on(island, run, fpdu)
                run.trouble = None
                return True
            likely = self._looks_like_start(island, need_at, limit)
            patience = _LONGEST_WAIT if likely else FRAMING_WINDOW
            if reached != "long" and not final and limit - trouble < patience:
                island.need = min(need, trouble + patience)
                return False
        longest = _LONGEST_WAIT if run.anchored else FRAMING_WINDOW
        is_too_much = limit - trouble > longest + FRAMING_WINDOW
        if limit < run.search_at and not (final or is_too_much):
            island.need = run.search_at
            return False
        # Without CRCs, nothing says that an FPDU of which not all octets are there is a liar.
        claimed = (
            not self.crc
            and run.anchored
            and trouble == run.end
            and self._makes_sense(island, trouble, limit)
        )
        at_last = final or is_too_much
        liar = trouble if run.anchored else None
        found = self._search(
            island, trouble + WORD, limit, final=at_last, claimed=claimed, liar=liar, run=run
        )
        if found is not None:
            self._resume(island, run, found)
            return True
        if not final:
            if is_too_much:
                run.trouble = limit - FRAMING_WINDOW
                run.anchored = False
                # A late copy may fill the hole before the island, and need what follows it.
                kept = run.start + FRAMING_WINDOW if run.is_empty else run.start
                island.is_torn = island.is_torn or run.is_empty
                trouble = run.trouble
                self._sink.release(island, kept, trouble)
            island.need = run.search_at = limit + max(_FIRST_SEARCH, limit - trouble)
        return False

    def _swallowed(self, island: Island, start: int, end: int) -> Candidate | None:
        """Return the first FPDU that one with a lying ULPDU_Length swallowed whole.

        :param end: where a verified FPDU begins.

        Either those behind it must lead exactly to ``end``: no payload that merely looks like
        FPDUs does, for the swallowing one ends with a CRC of its own.  Or the swallowing one must
        be whole without it, but for its length.
        """
        for at in self._starts(island, start + WORD, end):
            first = fpdu = self._try(island, at, end)
            while not isinstance(fpdu, int) and fpdu.sound and fpdu.end < end:
                self._allowance -= fpdu.layout.length
                fpdu = self._try(island, fpdu.end, end)
            if isinstance(first, int) or not first.sound:
                continue
            if (not isinstance(fpdu, int) and fpdu.sound) or self._is_one(island, start, at):
                return first
        return None

    def _resume(self, island: Island, run: Run, found: Candidate) -> None:
        """Go on at an FPDU that a search has found."""
        begin = run.end
        if self._is_cut(island, begin, found.start):
            self._sink.cut_off(begin, found.start)
        elif (
            self._is_liar(island, run, found.start)
            if self.crc
            else run.anchored and self._makes_sense(island, begin, found.start)
        ):
            self._pass_on(island, run, self._liar(island, begin, found.start))
        elif begin < found.start and begin > run.start:
            self._sink.wrong(
                ErrorCode.CRC_MISMATCH if self.crc else ErrorCode.MARKER_MISMATCH,
                begin,
                f"{found.start - begin} octets in which no FPDU begins",
            )
        if run.is_empty:
            run.start = found.start
        run.end = run.last = found.start
        run.next_by = found_by(found)
        run.trouble = None
        run.anchored = True
        run.search_at = 0

    def _is_liar(self, island: Island, run: Run, end: int) -> bool:
        """Tell whether the FPDU behind a run claims octets from ``end`` on, which others own."""
        start = run.end
        is_certain = run.anchored and start == run.trouble and start + SHORTEST <= end
        return is_certain and (not self.is_guess or self._must_lie(island, start, end))

    def _abandon(self, island: Island, run: Run, limit: int) -> None:
        """Say what stays unexplained, now that nothing more will come."""
        if run.trouble is None:
            return
        bridge = self._bridge(island, run.end, limit)[0] if run.anchored else []
        if not self.crc and run.anchored and self._makes_sense(island, run.end, limit):
            fpdu = self._try(island, run.end, limit)
            if not isinstance(fpdu, int):
                self._pass_on(island, run, fpdu)
            elif limit < island.end:
                # An FPDU is known to begin amid its octets.
                self._pass_on(island, run, self._liar(island, run.end, limit))
        if run.end < limit:
            if self._is_cut(island, run.end, limit) and (
                limit < island.end
                or (run.anchored and self._try(island, run.end, limit) == UNREADABLE)
            ):
                self._sink.cut_off(run.end, limit)
            elif self.crc and limit < island.end and self._is_liar(island, run, limit):
                self._pass_on(island, run, self._liar(island, run.end, limit))
            elif run.anchored and run.end == run.trouble and not bridge:
                self._sink.unfinished(run.end, limit - run.end)
            elif run.end > run.start:
                self._sink.wrong(
                    ErrorCode.CRC_MISMATCH if self.crc else ErrorCode.MARKER_MISMATCH,
                    run.end,
                    f"{limit - run.end} octets in which no FPDU begins",
                )
        run.trouble = None
        run.end = run.last = limit

    # -- without a chain -----------------------------------------------------------------------

    def _locate(self, island: Island) -> bool:
        """Find a place to start from in an island; tell whether there is one."""
        if not self.from_start:
            self._find_beginning(island, ())
        if self.from_start and island.end <= self.origin:
            # A startup frame, and what it brings may look like an FPDU.
            return False
        if self.from_start and island.start <= self.origin:
            island.runs = (self._first_run(island),)
            return True
        found = self._by_marker(island, island.end)
        if found is not None:
            island.runs = (Run(found.start, "marker"),)
            return True
        if island.open_left:
            return False
        # Nothing leads anywhere: a run of no FPDUs, behind which only a search can help.
        run = Run(island.start, "search")
        run.trouble = island.start - WORD
        run.anchored = False
        island.runs = (run,)
        island.settled = True
        island.need = island.end
        return True

    def _first_run(self, island: Island) -> Run:
        """Return the run that begins with the Full Operation Phase."""
        run = Run(self.origin, "start")
        # What lies before is none of framing's business, and is released with the rest.
        run.start = island.start
        island.settled = True
        return run

    def _by_marker(self, island: Island, limit: int) -> Candidate | None:
        """Return a verified FPDU that a Marker before ``limit`` leads to.

        Each Marker is read once, and each place tried once, when its FPDU is whole.
        """
        if not self.markers:
            return None
        lowest = max(island.start, self.origin) if self.from_start else island.start
        leads = island.leads
        if leads is None:
            leads = island.leads = Leads(lowest)
        before = min(leads.begin + MARKER_LENGTH - 1, limit)
        for begin, end in ((lowest, before), (leads.end, limit)):
            for start in self._pointed_at(island, begin, end):
                leads.add(start)
        leads.begin = lowest
        leads.end = max(leads.end, limit - MARKER_LENGTH + 1)
        for start in leads.due(lowest, limit):
            end = self._end_of(island, start, limit)
            if end > limit:
                leads.wait(start, end)
            elif self._may_be_tried(island, start, end, limit):
                fpdu = self._try(island, start, limit)
                if isinstance(fpdu, int) or not fpdu.sound:
                    continue
                if self.crc or fpdu.is_pointed_at:
                    return fpdu
        return None

    def _end_of(self, island: Island, start: int, limit: int) -> int:
        """Return how far octets are needed to tell how long an FPDU is, or where it ends."""
        phase = (start - self.origin) % MARKER_INTERVAL if self.markers else None
        header = start + MARKER_LENGTH if phase == 0 else start
        if header + HEADER_LENGTH > limit:
            return header + HEADER_LENGTH
        ulpdu_length = int.from_bytes(island.read(header, header + HEADER_LENGTH), "big")
        return start + fpdu_length(ulpdu_length, phase)

    def _may_be_tried(self, island: Island, start: int, end: int, limit: int) -> bool:
        """Tell whether an FPDU to which a Marker points is worth what it costs to try it."""
        said = self._header_at(island, start, limit)
        makes_sense = said is not None and said[0]
        self._allowance -= COST_OF_PLACE
        is_worth_it = self._is_worth_it(end - start, makes_sense=makes_sense, is_likely=True)
        self._allowance -= (end - start) * is_worth_it
        return is_worth_it

    # -- between runs --------------------------------------------------------------------------

    def _fill(self, island: Island) -> None:
        """Use what a filled hole has brought: go from run to run, and make them one."""
        island.joined = False
        # There is no startup frame to be looked for any more.
        island.scanned = None
        runs = island.runs
        if not runs:
            return
        if not self.from_start:
            runs = self._find_beginning(island, runs)
        if self.from_start and island.start <= self.origin < runs[0].start:
            runs = (self._first_run(island), *runs)
        elif island.open_left and (found := self._by_marker(island, runs[0].start)) is not None:
            runs = (Run(found.start, "marker"), *runs)
        self._unite_all(island, runs)

    def _find_beginning(self, island: Island, runs: tuple[Run, ...]) -> tuple[Run, ...]:
        """See whether FPDUs directly follow a startup frame that was captured behind them.

        Return the runs of the island from there on.
        """
        known = tuple(run for run in runs if not run.is_empty)
        limit = known[0].start if known else island.end
        if limit == island.start or self.is_guess or not self._sink.may_start(island):
            return runs
        if island.held > island.start:
            return runs
        found = startup_at(island, island.start, limit)
        if found is None or (found.end - self.origin) % (MARKER_INTERVAL if self.markers else WORD):
            return runs
        leads_on = known and found.end == limit
        if not (leads_on or self.verifies(island, found.end)):
            return runs
        self.origin = found.end
        self.from_start = True
        island.settled = True
        if leads_on:
            known[0].start = island.start
        self._sink.started(island, found)
        return known

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
        if was_empty and not run.anchored:
            # Nothing was found in it, but an FPDU may yet reach into it from the left.
            run.start = right.start
        run.end = right.end
        run.last = right.last
        run.trouble = right.trouble
        run.next_by = right.next_by
        run.anchored = right.anchored
        return True

    def _settle(self, island: Island) -> None:
        """Search before the first run, now that the hole before it will not be filled."""
        first = island.runs[0]
        if self._awaits(island, island.start, first.start):
            return
        island.settled = True
        island.leads = None
        if island.start < first.start:
            found = self._search(island, island.start, first.start, final=True)
            if found is not None:
                run = Run(found.start, found_by(found))
                self._unite_all(island, (run, *island.runs))
