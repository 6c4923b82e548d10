# SPDX-License-Identifier: GPL-2.0-or-later
"""Go from FPDU to FPDU by their lengths.  Where a length is wrong, the cheapest path goes on.

A chain of lengths breaks at an unverified FPDU.  The cheapest path shows which FPDUs follow
(:mod:`~scapy_mpa.stream.fpdus.path`).  FPDUs that all likely paths share are reported at once.
The others wait for more octets.  If no more octets can come, or too many have come, the cheapest
path counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from scapy_mpa.stream.events import LocatedBy
from scapy_mpa.stream.fpdus import weights
from scapy_mpa.stream.fpdus.candidate import UNREADABLE, Candidate, FPDUReader, header_octets
from scapy_mpa.stream.fpdus.path import Beyond, Path, PathSearch, Step
from scapy_mpa.stream.fpdus.region import Region
from scapy_mpa.stream.fpdus.search import SHORTEST
from scapy_mpa.stream.limits import FRAMING_WINDOW, LONGEST_WAIT
from scapy_mpa.stream.octets.island import Island, Run
from scapy_mpa.stream.octets.scan import KEY_PREFIX, startup_reach
from scapy_mpa.stream.purse import Search
from scapy_mpa.stream.sequence import NOWHERE
from scapy_mpa.wire.errors import ErrorCode
from scapy_mpa.wire.fpdu import HEADER_LENGTH, WORD
from scapy_mpa.wire.rdmap import plausible

if TYPE_CHECKING:
    from scapy_mpa.stream.fpdus.sink import Sink


_LENGTH_IN_KEY: Final = int.from_bytes(KEY_PREFIX[:HEADER_LENGTH], "big")
"""The ULPDU_Length, if the first octets of a Key are read as an FPDU."""


class Follower:
    """Reports the FPDUs of a stretch of octets, from a position at which an FPDU begins.

    :param sink: receives what is found.
    :param reader: reads the FPDUs.
    :param crc_is_known: whether it is known that CRCs are on or off.
    :param is_guess: whether the positions of Markers are a guess.
    """

    __slots__ = ("_sink", "crc", "crc_is_known", "is_guess", "markers", "origin", "reader")

    def __init__(
        self, sink: Sink, reader: FPDUReader, *, crc_is_known: bool, is_guess: bool
    ) -> None:
        self._sink = sink
        self.reader = reader
        self.crc_is_known = crc_is_known
        """Whether it was known from the beginning that CRCs are on or off.  If not, a CRC that is
        not good is unknown."""
        self.origin = reader.origin
        """Position from which Markers are counted."""
        self.markers = reader.markers
        """Whether the direction has Markers."""
        self.crc = reader.crc
        """Whether CRCs are checked."""
        self.is_guess = is_guess
        """Whether the positions of Markers are a guess: then only verified FPDUs count."""

    # -- one FPDU --------------------------------------------------------------------------------

    def _report(self, island: Island, run: Run, fpdu: Candidate) -> None:
        """Report an FPDU if it counts, and add it to the run before it."""
        if fpdu.crc == "bad" and not self.crc_is_known:
            fpdu = fpdu._replace(crc="unknown")
        counts = fpdu.crc == "good" or fpdu.is_pointed_at or not self.is_guess
        if counts:
            self._sink.found(island, fpdu, run.next_by)
        elif fpdu.crc == "unknown":
            self._sink.cut_off(fpdu.start, fpdu.end)
        run.next_by = "length"
        run.last = fpdu.start
        run.end = fpdu.end
        run.search = None
        fault = fpdu.fault
        if fault is not None and counts:
            self._sink.wrong(fault.code, fpdu.start + fpdu.layout.header, fault.text)

    # -- the chain of lengths ----------------------------------------------------------------

    def _chain(self, island: Island, run: Run, limit: int, *, final: bool) -> None:
        """Report FPDU after FPDU, up to the limit or to the first unverified one."""
        while True:
            at = run.end
            if at == limit:
                # Share one integer object among the three, which saves memory.
                run.end = island.need = limit
                break
            fpdu = self.reader.fpdu_at(island, at, limit)
            if isinstance(fpdu, int):
                island.need = fpdu
                may_begin = not final or limit < island.end
                if (
                    fpdu - at > _LENGTH_IN_KEY
                    and may_begin
                    and self._meets_startup(island, run, limit)
                ):
                    break
                if (
                    self.crc
                    and fpdu - at > self._sink.longest
                    and self._ends_before(island, run, limit)
                ):
                    # A length that is wrong mostly exceeds all others.
                    run.broken_at = at
                    break
                if final or fpdu == UNREADABLE:
                    run.broken_at = at if self.crc else run.last
                break
            if fpdu.sound or (not self.crc and self._is_believed(fpdu)):
                self._report(island, run, fpdu)
                continue
            if fpdu.ulpdu_length == _LENGTH_IN_KEY and self._meets_startup(island, run, limit):
                break
            if fpdu.crc == "bad":
                # Its start is certain, so it is reported (RFC 5044 4.4).
                self._report(island, run, fpdu)
                run.broken_at = at
            else:
                # Without CRCs, the length of the FPDU before it may be wrong.
                run.broken_at = at if self.crc else run.last
            break
        # Without CRCs, only the FPDU at its end proves a length.
        done = run.end if self.crc else run.last
        self._sink.release(island, run.start, done if run.broken_at is None else run.broken_at)

    def _ends_before(self, island: Island, run: Run, limit: int) -> bool:
        """Return whether the FPDU after a run, not whole by its length, ends earlier by its CRC.

        A good FPDU must begin there.  Only the first segment that holds any is looked at: a payload
        may hold many.
        """
        search = run.ensure_search()
        begin = max(run.end + WORD, search.at)
        if begin >= limit:
            return False
        search.at, island.need = limit, min(island.need, limit + SHORTEST)
        for position, octets, _ in island.cut_out(begin, limit):
            places = self._sink.fpdus_within(octets, position - self.origin)
            if places:
                region = self._region(island, run, run.end, limit)
                edge = region.edge(run.end)
                is_shown = edge is not None and any(
                    region.may_end(edge, position + at) for at in places
                )
                search.at = 0 if is_shown else NOWHERE
                return is_shown
        return False

    def _meets_startup(self, island: Island, run: Run, limit: int) -> bool:
        """Stop a run at a startup frame; return whether one begins there.

        Its Key does not read as the header of an FPDU.
        """
        reach = startup_reach(island, run.end)
        if limit < island.end and reach > limit:
            # A reported FPDU begins inside it.
            return False
        if reach > island.end:
            island.need = reach
        elif reach:
            self._sink.meets_startup(run.end)
            run.awaits_startup = True
            island.need = NOWHERE
        return reach > 0

    def pass_over(self, island: Island, start: int, end: int) -> None:
        """Go on after a startup frame at which a run has stopped.

        :param start: where the frame begins.
        :param end: where the frame ends.
        """
        run = next(run for run in island.runs if run.end == start)
        run.awaits_startup = False
        run.end = run.last = end
        island.look_again()
        self._sink.release(island, run.start, end)

    def _is_believed(self, fpdu: Candidate) -> bool:
        """Return whether to believe an FPDU to which a length leads, though its header looks wrong.

        A Marker that points to it is enough.  Or it may be a Send whose Invalidate STag is not 0:
        its receiver ignores that field (RFC 5040 4.1).
        """
        if fpdu.is_pointed_at:
            return True
        if not fpdu.agrees:
            return False
        head = header_octets(fpdu.octets, fpdu.layout)
        return plausible(head, fpdu.ulpdu_length, any_stag=True)

    # -- after a break of the chain --------------------------------------------------------------

    def _follow(self, island: Island, run: Run, limit: int, *, final: bool) -> None:
        """Report the FPDUs after a run.

        :param limit: where the next run begins, or the island ends.
        :param final: no octets will be added before the limit.
        """
        run.awaits_startup = False
        while True:
            if run.broken_at is None:
                self._chain(island, run, limit, final=final)
            if run.broken_at is None or not self._recover(island, run, limit, final=final):
                return

    def _recover(self, island: Island, run: Run, limit: int, *, final: bool) -> bool:
        """Find FPDUs after a break of the chain; return whether the chain goes on."""
        broken_at = run.broken_at
        assert broken_at is not None
        may_be_whole = self.crc and run.next_is_unverified
        first = self.reader.fpdu_at(island, broken_at, limit) if may_be_whole else limit
        if not isinstance(first, int) and first.crc != "unknown":
            # The FPDU is whole now.  It is reported, good or bad.
            run.broken_at = run.search = None
            return True
        begin = broken_at if run.is_certain else max(broken_at + WORD, island.held)
        is_too_much = limit - broken_at > LONGEST_WAIT
        if run.search is not None and limit < run.search.at and not (final or is_too_much):
            island.need = run.search.at
            return False
        found = self._sink.purse.search(
            (run, begin),
            lambda: self._search(island, run, begin, limit, final=final),
            at_once=final,
        )
        if found is None:
            island.need = island.end + 1
            return False
        path, limit, is_final = found
        is_too_much = limit - broken_at > LONGEST_WAIT
        steps = path.steps if is_final else path.steps[: path.shared]
        at = run.end
        for index in range(len(steps)):
            if not self._report_step(island, run, steps, index, limit, final=is_final):
                break
        # A search that had waited is not the last one.
        goes_on = final and not is_final
        if run.end != at or (self.crc and run.broken_at is None):
            run.search = None
            return run.broken_at is None or goes_on
        if final:
            return goes_on
        if is_too_much:
            run.broken_at = limit - FRAMING_WINDOW
            run.is_certain = False
            # A late copy may fill the hole before the island, and need the octets after the hole.
            kept = run.start + FRAMING_WINDOW if run.is_empty else run.start
            island.has_hole = island.has_hole or run.is_empty
            self._sink.release(island, kept, run.broken_at)
            run.search = None
        # Another search is worth its cost when the octets have grown by a half.
        wait = max(WORD, (limit - begin) // 2)
        end = path.steps[-1].edge.end if path.steps else None
        if end is not None and end >= limit:
            # The end of the last FPDU, or of the next, may settle it before.
            wait = min(wait, end - limit or SHORTEST)
        island.need = run.ensure_search().at = limit + wait
        return False

    def _search(
        self, island: Island, run: Run, begin: int, limit: int, *, final: bool
    ) -> Search[tuple[Path, int, bool]]:
        """Search for the cheapest path from ``begin`` to a limit.

        Return it with the limit, and whether nothing more will come before that.
        """
        region = self._region(island, run, begin, limit)
        ends_at_known_fpdu = limit < island.end
        entries = [(begin, 0.0)] if run.is_certain else []
        if not run.is_certain and run.is_empty and begin == island.start:
            entry = self._end_over_hole(island)
            if begin <= entry < limit + ends_at_known_fpdu:
                # At the limit an FPDU is known to begin.
                evidence = region.evidence(entry, {}) if entry < limit else weights.PROOF
                entries = [(entry, max(0.0, weights.PROOF - weights.CARRIED - evidence))]
        beyond = Beyond(
            ends_at_known_fpdu=ends_at_known_fpdu,
            may_grow=not (final or ends_at_known_fpdu),
            may_begin_at=lambda at: self._leads_over_hole(island, at),
        )
        search = PathSearch(region, entries, is_certain=run.is_certain, beyond=beyond)
        while not search.advance():
            yield
        return search.path, limit, final

    def _region(self, island: Island, run: Run, begin: int, limit: int) -> Region:
        allowance = self._sink.purse.lend()
        return Region(self.reader, allowance, island, begin, limit, run.ensure_search())

    def _report_step(
        self,
        island: Island,
        run: Run,
        steps: Sequence[Step],
        index: int,
        limit: int,
        *,
        final: bool,
    ) -> bool:
        """Report a step of a path; return whether the next step may be reported, too."""
        step = steps[index]
        following = steps[index + 1] if index + 1 < len(steps) else None
        edge = step.edge
        is_reported = edge.start == run.last < run.end
        is_reportable = step.kind == "fpdu" and (
            is_reported or self._is_reportable(island, steps, index, limit, final=final)
        )
        if not is_reportable and (step.kind == "lost" or edge.verdict == "cut"):
            # The FPDU forms one gap with the octets after it.
            if run.broken_at is None:
                run.broken_at = edge.start
            return following is not None
        if not is_reported and (run.end != edge.start or not run.is_certain):
            # A Marker is better evidence than the search.
            found_by: LocatedBy = "marker" if edge.marker_bits else "search"
            located_by: LocatedBy = "length" if step.by_length else found_by
            self._resume(island, run, edge.start, located_by)
        if is_reportable:
            fpdu = self.reader.fpdu_at(island, edge.start, limit)
            if not is_reported and not isinstance(fpdu, int):
                self._report(island, run, fpdu)
            run.broken_at = None
            return True
        # Only the next FPDU shows where this one ends.
        run.broken_at = edge.start
        is_certain = _is_certain(steps, index)
        is_whole = edge.verdict == "bad" or (edge.verdict == "off" and edge.makes_sense)
        if step.kind == "wrong length" and is_whole and is_certain:
            fpdu = self.reader.fpdu_at(island, edge.start, limit)
            if not (isinstance(fpdu, int) or is_reported):
                self._report(island, run, fpdu)
        if following is None or (step.kind == "fpdu" and following.kind == "part"):
            return False
        if step.kind == "fpdu" and not is_certain:
            # It is not reported.
            run.is_certain = False
        return True

    def _is_reportable(
        self, island: Island, steps: Sequence[Step], index: int, limit: int, *, final: bool
    ) -> bool:
        """Return whether an FPDU on a path is reported with the length that it has.

        If the path is its only evidence, lengths must lead from it to a sound FPDU or to the end.
        """
        edge = steps[index].edge
        if self.crc and edge.verdict == "cut" and edge.bits == edge.marker_bits:
            # Neither header nor CRC was captured.
            return False
        is_unsure = edge.verdict == "bad" and not (_is_certain(steps, index) and edge.makes_sense)
        if not is_unsure and edge.cost < weights.SENSELESS:
            return True
        for following in islice(steps, index + 1, None):
            if following.kind != "fpdu" or following.edge.is_sound:
                return following.kind == "fpdu"
            edge = following.edge
        # Before the end of the island, an FPDU is known to begin at the limit.
        is_known = final and limit < island.end
        return edge.end == limit and (is_known or self._sink.ends_at(limit))

    # -- over holes ----------------------------------------------------------------------------

    def _end_over_hole(self, island: Island) -> int:
        """Return the end of the FPDU that the hole before an island cuts off; 0 if none."""
        before = self._sink.before(island)
        return self._sink.reached if before is None else self._reach_of(before)

    def _leads_over_hole(self, island: Island, end: int) -> bool:
        """Return whether ``end``, after an island, is in the hole or where an FPDU begins."""
        following = self._sink.after(island.end)
        if following is None or end <= following.start:
            return following is not None
        limit = following.runs[0].start if following.runs else following.end
        if end >= limit or following.held > following.start:
            return end == limit < following.end
        fpdu = self.reader.fpdu_at(following, end, limit)
        return not isinstance(fpdu, int) and fpdu.crc == "good"

    def _reach_of(self, island: Island) -> int:
        """Return the end of the FPDU that is not whole at the end of an island.

        0 if there is none at a certain start, or if its header makes no sense.
        """
        run = island.runs[-1] if island.runs else None
        if run is None or not run.is_certain or run.broken_at not in (None, run.end):
            return 0
        if not island.held <= run.end < island.end:
            return 0
        header = self.reader.header_at(island, run.end, island.end)
        if header is None or not header[0]:
            return 0
        end = run.end + header[1].length
        return end if end > island.end else 0

    # -- unexplained octets ----------------------------------------------------------------------

    def _resume(self, island: Island, run: Run, at: int, located_by: LocatedBy) -> None:
        """Go on at an FPDU that was found after a run, and report the octets between."""
        begin = run.end
        if self.crc:
            is_wrong = self._has_wrong_length(run, at)
        else:
            is_wrong = run.next_is_unverified and self.reader.makes_sense(island, begin, at)
        if not island.is_captured(begin, at):
            self._sink.cut_off(begin, at)
        elif is_wrong:
            self._report(island, run, self.reader.with_wrong_length(island, begin, at))
        elif run.start < begin < at:
            self._report_no_fpdu(begin, at)
        if run.is_empty:
            run.start = at
        run.end = run.last = at
        run.next_by = located_by
        run.broken_at = run.search = None
        run.is_certain = True

    def _report_no_fpdu(self, begin: int, end: int) -> None:
        code = ErrorCode.CRC_MISMATCH if self.crc else ErrorCode.MARKER_MISMATCH
        text = f"{end - begin} octets in which no FPDU begins (RFC 5044 4.1)"
        self._sink.wrong(code, begin, text)

    def _has_wrong_length(self, run: Run, end: int) -> bool:
        """Return whether the FPDU after a run claims octets after ``end``, where another begins."""
        return run.next_is_unverified and run.end + SHORTEST <= end

    def _abandon(self, island: Island, run: Run, limit: int) -> None:
        """Report octets that stay unexplained, since no more will come."""
        if run.broken_at is None:
            return
        if run.end < limit:
            is_cut = not island.is_captured(run.end, limit)
            if is_cut and not self._is_unfinished(island, run, limit):
                self._sink.cut_off(run.end, limit)
            elif self.crc and limit < island.end and self._has_wrong_length(run, limit):
                self._report(island, run, self.reader.with_wrong_length(island, run.end, limit))
            elif run.next_is_unverified:
                self._sink.unfinished(run.end, limit - run.end)
            elif run.end > run.start:
                self._report_no_fpdu(run.end, limit)
        run.broken_at = None
        run.end = run.last = limit

    def _is_unfinished(self, island: Island, run: Run, limit: int) -> bool:
        """Return whether the FPDU after a run is longer than the octets that were sent."""
        if limit < island.end or not run.next_is_unverified:
            return False
        fpdu: Candidate | int = self.reader.fpdu_at(island, run.end, limit)
        return isinstance(fpdu, int) and fpdu != UNREADABLE


def _is_certain(steps: Sequence[Step], index: int) -> bool:
    """Return whether an FPDU on a path begins where one must begin.

    The one before it is sound, or it continues the message of that one.
    """
    if index == 0:
        return True
    before = steps[index - 1].edge
    return before.is_sound or steps[index].edge.continues(before)
