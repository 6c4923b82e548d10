# SPDX-License-Identifier: GPL-2.0-or-later
"""The way back to where FPDUs begin, after one that is not verified: the cheapest path.

What all paths share that may be right is reported at once.  What they do not share waits for more
octets; when nothing more will come, or too much has, the cheapest path stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final

from scapy_mpa.stream.events import LocatedBy
from scapy_mpa.stream.fpdus import weights
from scapy_mpa.stream.fpdus.candidate import FRAMING_WINDOW, SHORTEST, UNREADABLE, WORD, Candidate
from scapy_mpa.stream.fpdus.chain import FPDUChain
from scapy_mpa.stream.fpdus.path import Beyond, Path, Step, cheapest_path
from scapy_mpa.stream.fpdus.region import Region
from scapy_mpa.stream.octets.island import Island, Run
from scapy_mpa.stream.octets.scan import startup_reach
from scapy_mpa.wire.errors import ErrorCode

__all__ = ["FPDUWayBack", "found_by"]

# Octets for which a decision is waited for.
_LONGEST_WAIT: Final = 4 * FRAMING_WINDOW
# A search is repeated when the octets have grown by a half.  So often it is repeated sooner, when
# the last FPDU of the path ends.
_GROWTH: Final = 2
_EAGER_TRIES: Final = 8


class FPDUWayBack(FPDUChain):
    """Follows chains of lengths, and finds FPDUs again where these lead nowhere.

    For parameters see :class:`~scapy_mpa.stream.fpdus.chain.FPDUChain`.
    """

    __slots__ = ()

    def _follow(self, island: Island, run: Run, limit: int, *, final: bool) -> None:
        """Go on after a run.

        :param limit: where the next run begins, or the island ends.
        :param final: nothing more will come between here and there.
        """
        run.awaits = False
        while True:
            if run.broken_at is None:
                self._chain(island, run, limit, final=final)
            if run.broken_at is None or not self._recover(island, run, limit, final=final):
                return

    def _recover(self, island: Island, run: Run, limit: int, *, final: bool) -> bool:
        """Find the way back to where FPDUs begin; tell whether that succeeded."""
        broken_at = run.broken_at
        assert broken_at is not None
        is_certain = self.crc and run.is_certain and broken_at == run.end and not self.is_guess
        first = self._try(island, broken_at, limit) if is_certain else limit
        if not isinstance(first, int) and first.crc != "unknown":
            # It is whole now.  It is reported, good or bad.
            run.broken_at = run.search = None
            return True
        begin = broken_at if run.is_certain else max(broken_at + WORD, island.held)
        is_too_much = limit - broken_at > _LONGEST_WAIT
        if run.search is not None and limit < run.search.at and not (final or is_too_much):
            island.need = run.search.at
            return False
        path = self._path(island, run, begin, limit, final=final)
        steps = path.steps if final else path.steps[: path.shared]
        at = run.end
        for index in range(len(steps)):
            is_startup = run.broken_at is None and startup_reach(island, run.end)
            if is_startup or not self._take(island, run, steps, index, limit, final=final):
                break
        if run.end != at or (self.crc and run.broken_at is None):
            run.search = None
            return run.broken_at is None
        if final:
            return False
        if is_too_much:
            run.broken_at = limit - FRAMING_WINDOW
            run.is_certain = False
            # A late copy may fill the hole before the island, and need what follows it.
            kept = run.start + FRAMING_WINDOW if run.is_empty else run.start
            island.has_hole = island.has_hole or run.is_empty
            self._sink.release(island, kept, run.broken_at)
        search = run.searching()
        wait = max(WORD, (limit - begin) // _GROWTH)
        end = path.steps[-1].edge.end if path.steps else None
        if search.tries < _EAGER_TRIES and end is not None and end >= limit:
            # It may be over as soon as the last FPDU ends, or the one after it.
            wait = min(wait, end - limit or SHORTEST)
        search.tries += 1
        island.need = search.at = limit + wait
        if isinstance(first, int) and limit < first < search.at:
            island.need = search.at = first
        return False

    def _path(self, island: Island, run: Run, begin: int, limit: int, *, final: bool) -> Path:
        """Return the cheapest path through the octets from ``begin`` on."""
        region = Region(self, self.allowance, island, begin, limit, run.searching())
        ends_at_known_fpdu = limit < island.end
        entries = [(begin, 0.0)] if run.is_certain else []
        if not run.is_certain and run.is_empty and begin == island.start:
            carried = self._carried(island)
            if begin <= carried < limit + ends_at_known_fpdu:
                # At the limit one is known to begin.
                shown = region.evidence(carried, {}) if carried < limit else weights.PROOF
                entries = [(carried, max(0.0, weights.PROOF - weights.CARRIED - shown))]
        beyond = Beyond(
            ends_at_known_fpdu=ends_at_known_fpdu,
            may_grow=not (final or ends_at_known_fpdu),
            sender_is_done=final and self._sink.ends_at(limit),
            begins_at=lambda at: self._leads_over_hole(island, at),
        )
        return cheapest_path(region, entries, beyond, is_certain=run.is_certain)

    def _take(
        self,
        island: Island,
        run: Run,
        steps: Sequence[Step],
        index: int,
        limit: int,
        *,
        final: bool,
    ) -> bool:
        """Report a step of a path; tell whether the next one may be, too."""
        step = steps[index]
        following = steps[index + 1] if index + 1 < len(steps) else None
        edge = step.edge
        is_reported = edge.start == run.last < run.end
        is_shown = step.kind == "fpdu" and (
            is_reported or self._is_shown(island, steps, index, limit)
        )
        if not is_shown and (step.kind == "lost" or edge.verdict == "cut"):
            # It is of one gap with what follows.
            if run.broken_at is None:
                run.broken_at = edge.start
            return following is not None
        if not is_reported and (run.end != edge.start or not run.is_certain):
            located_by: LocatedBy = "length" if step.is_led else found_by(edge.marks)
            self._resume(island, run, edge.start, located_by)
        if is_shown:
            fpdu = self._try(island, edge.start, limit)
            if not is_reported and not isinstance(fpdu, int):
                self._pass_on(island, run, fpdu)
            run.broken_at = None
            return True
        # Where it ends is known by the next one only.
        run.broken_at = edge.start
        is_certain = index == 0 or steps[index - 1].edge.is_sound
        is_whole = edge.verdict == "bad" or (edge.verdict == "off" and edge.makes_sense)
        if step.kind == "wrong length" and is_whole and is_certain:
            fpdu = self._try(island, edge.start, limit)
            if not (isinstance(fpdu, int) or is_reported or self.is_guess):
                self._pass_on(island, run, fpdu)
        if following is None or (step.kind == "fpdu" and following.kind == "part"):
            return False
        if step.kind == "fpdu" and not final:
            # A sound one may yet follow.
            return False
        if step.kind == "fpdu" and not is_certain:
            # Nothing is said of it.
            run.is_certain = False
        return True

    def _is_shown(self, island: Island, steps: Sequence[Step], index: int, limit: int) -> bool:
        """Tell whether an FPDU on a path is to be reported as what it says.

        If only the path speaks for it, it must lead to a sound one, or to the end.
        """
        step, edge = steps[index], steps[index].edge
        if self.is_guess and edge.verdict != "good" and not step.is_led:
            return False
        if self.crc and edge.verdict == "cut" and edge.bits == edge.marks:
            # Neither header nor CRC was captured.
            return False
        is_certain = index == 0 or steps[index - 1].edge.is_sound
        is_unsure = edge.verdict == "bad" and not (is_certain and edge.makes_sense)
        is_unsure = is_unsure or (self.is_guess and edge.verdict != "good")
        if not is_unsure and edge.cost < weights.SENSELESS:
            return True
        for following in islice(steps, index + 1, None):
            if following.kind != "fpdu" or following.edge.is_sound:
                return following.kind == "fpdu"
            edge = following.edge
        return edge.end == limit and (limit < island.end or self._sink.ends_at(limit))

    # -- over holes ----------------------------------------------------------------------------

    def _carried(self, island: Island) -> int:
        """Return where the FPDU ends that the hole before an island cuts off; 0 if none."""
        before = self._sink.before(island)
        return self._sink.reached if before is None else self._reach_of(before)

    def _leads_over_hole(self, island: Island, end: int) -> bool:
        """Tell whether what ends after an island ends in the hole, or where an FPDU begins."""
        behind = self._sink.behind(island.end)
        if behind is None or end <= behind.start:
            return behind is not None
        limit = behind.runs[0].start if behind.runs else behind.end
        if end >= limit or behind.held > behind.start:
            return end == limit < behind.end
        fpdu = self._try(behind, end, limit)
        return not isinstance(fpdu, int) and fpdu.crc == "good"

    def _reach_of(self, island: Island) -> int:
        """Return where the FPDU ends that begins for certain after the last one of an island.

        0 if there is none that is not all there, if its header makes no sense, or if nobody knows
        how many Markers it holds.
        """
        run = island.runs[-1] if island.runs else None
        if (
            run is None
            or not run.is_certain
            or run.broken_at not in (None, run.end)
            or self.is_guess
        ):
            return 0
        if not island.held <= run.end < island.end:
            return 0
        said = self._header_at(island, run.end, island.end)
        if said is None or not said[0]:
            return 0
        end = run.end + said[1].length
        return end if end > island.end else 0

    # -- what is reported ----------------------------------------------------------------------

    def _resume(self, island: Island, run: Run, at: int, located_by: LocatedBy) -> None:
        """Go on at an FPDU that was found after a run."""
        begin = run.end
        if self._is_cut(island, begin, at):
            self._sink.cut_off(begin, at)
        elif (
            self._has_wrong_length(island, run, at)
            if self.crc
            else run.is_certain and begin == run.broken_at and self._makes_sense(island, begin, at)
        ):
            self._pass_on(island, run, self._with_wrong_length(island, begin, at))
        elif run.start < begin < at and not self.is_guess:
            self._report_nothing(begin, at)
        if run.is_empty:
            run.start = at
        run.end = run.last = at
        run.next_by = located_by
        run.broken_at = run.search = None
        run.is_certain = True

    def _report_nothing(self, begin: int, end: int) -> None:
        code = ErrorCode.CRC_MISMATCH if self.crc else ErrorCode.MARKER_MISMATCH
        text = f"{end - begin} octets in which no FPDU begins (RFC 5044 4.1)"
        self._sink.wrong(code, begin, text)

    def _has_wrong_length(self, island: Island, run: Run, end: int) -> bool:
        """Tell whether the FPDU after a run claims octets from ``end`` on, which others own."""
        start = run.end
        is_certain = run.is_certain and start == run.broken_at and start + SHORTEST <= end
        return is_certain and (not self.is_guess or self._must_lie(island, start, end))

    def _abandon(self, island: Island, run: Run, limit: int) -> None:
        """Say what stays unexplained, now that nothing more will come."""
        if run.broken_at is None:
            return
        if not self.crc and run.is_certain and self._makes_sense(island, run.end, limit):
            fpdu = self._try(island, run.end, limit)
            if not isinstance(fpdu, int):
                self._pass_on(island, run, fpdu)
            elif limit < island.end:
                # An FPDU is known to begin amid its octets.
                self._pass_on(island, run, self._with_wrong_length(island, run.end, limit))
        if run.end < limit:
            is_open = run.is_certain and run.end == run.broken_at
            is_cut = self._is_cut(island, run.end, limit)
            if is_cut and not self._is_unfinished(island, run, limit):
                self._sink.cut_off(run.end, limit)
            elif self.crc and limit < island.end and self._has_wrong_length(island, run, limit):
                self._pass_on(island, run, self._with_wrong_length(island, run.end, limit))
            elif is_open:
                self._sink.unfinished(run.end, limit - run.end)
            elif run.end > run.start:
                self._report_nothing(run.end, limit)
        run.broken_at = None
        run.end = run.last = limit

    def _is_unfinished(self, island: Island, run: Run, limit: int) -> bool:
        """Tell whether the FPDU after a run says that it goes on after all that was sent.

        Where Markers may as well be elsewhere, nobody knows how many of them it holds.
        """
        if limit < island.end or not run.is_certain or run.end != run.broken_at or self.is_guess:
            return False
        fpdu: Candidate | int = self._try(island, run.end, limit)
        return isinstance(fpdu, int) and fpdu != UNREADABLE


def found_by(marks: float) -> LocatedBy:
    """Return what led a search to an FPDU: its Markers speak louder than the search."""
    return "marker" if marks else "search"
