# SPDX-License-Identifier: GPL-2.0-or-later
"""From FPDU to FPDU: by their lengths, and where these lead nowhere by the cheapest path.

A chain of lengths ends at an FPDU that is not verified.  Which FPDUs follow, the path tells
(:mod:`~scapy_mpa.stream.fpdus.path`).  What all paths share that may be right is reported at once.
What they do not share waits for more octets; when nothing more will come, or too much has, the
cheapest path stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from scapy_mpa.stream.events import LocatedBy
from scapy_mpa.stream.fpdus import weights
from scapy_mpa.stream.fpdus.candidate import (
    SHORTEST,
    UNREADABLE,
    WHOLE_FPDUS,
    Candidate,
    FPDUReader,
    header_octets,
)
from scapy_mpa.stream.fpdus.path import Beyond, Path, Step, cheapest_path
from scapy_mpa.stream.fpdus.region import Region
from scapy_mpa.stream.limits import FRAMING_WINDOW, LONGEST_WAIT
from scapy_mpa.stream.octets.island import Island, Run
from scapy_mpa.stream.octets.scan import KEY_PREFIX, startup_reach
from scapy_mpa.stream.sequence import NOWHERE
from scapy_mpa.wire.errors import ErrorCode
from scapy_mpa.wire.fpdu import HEADER_LENGTH, WORD
from scapy_mpa.wire.rdmap import plausible

if TYPE_CHECKING:
    from scapy_mpa.stream.fpdus.sink import Sink


_LENGTH_IN_KEY: Final = int.from_bytes(KEY_PREFIX[:HEADER_LENGTH], "big")
"""What the first octets of a Key say as ULPDU_Length."""
# A search is repeated when the octets have grown by a half, or when the last FPDU of the path ends.
_GROWTH: Final = 2
# What a search may cost, if there is so much.
_WANTED: Final = 1 << 22


class Follower:
    """Reports the FPDUs of a stretch of octets, from a place where one begins.

    :param sink: who is reported to.
    :param reader: reads them.
    :param crc_is_known: whether it is known that CRCs are on, or off.
    """

    __slots__ = ("_doubt", "_sink", "crc", "is_guess", "markers", "origin", "reader")

    def __init__(self, sink: Sink, reader: FPDUReader, *, crc_is_known: bool = True) -> None:
        self._sink = sink
        self.reader = reader
        # Whole FPDUs up to the one that shows that CRCs are off; 0 if nothing need be shown.
        self._doubt = 0 if crc_is_known else WHOLE_FPDUS
        self.origin = reader.origin
        """Position from which Markers are counted."""
        self.markers = reader.markers
        """Whether the direction has Markers."""
        self.crc = reader.crc
        """Whether CRCs are to be checked."""
        self.is_guess = reader.is_guess
        """Whether Markers may as well be elsewhere: then only what is verified counts."""

    @property
    def crc_is_known(self) -> bool:
        """Whether it was known from the beginning that CRCs are on, or off."""
        return not self._doubt

    # -- what is found -------------------------------------------------------------------------

    def _pass_on(self, island: Island, run: Run, fpdu: Candidate) -> None:
        """Report an FPDU, and add it to the run that it follows."""
        if fpdu.crc == "bad" and self._doubt:
            is_off = self._doubt == 1 or self._leads_to_whole(island, fpdu.end)
            fpdu = fpdu._replace(crc="off" if is_off else "unknown")
            self._doubt = max(1, self._doubt - 1)
        is_readable = not (self.is_guess and fpdu.crc == "unknown" and fpdu.layout.markers)
        if is_readable or fpdu.is_pointed_at:
            self._sink.found(island, fpdu, run.next_by)
        else:
            # It leads to the next one, but the places of its Markers are not known.
            self._sink.cut_off(fpdu.start, fpdu.end)
        run.next_by = "length"
        run.last = fpdu.start
        run.end = fpdu.end
        fault = fpdu.fault
        if fault is not None and (is_readable or fpdu.crc == "bad"):
            self._sink.wrong(fault.code, fpdu.start + fpdu.layout.header, fault.text)

    def _leads_to_whole(self, island: Island, at: int) -> bool:
        """Tell whether lengths lead on to an FPDU that is whole, and that no CRC verifies."""
        fpdu = self.reader.fpdu_at(island, at, island.end)
        while not isinstance(fpdu, int):
            if fpdu.crc == "bad":
                return True
            fpdu = self.reader.fpdu_at(island, fpdu.end, island.end)
        return False

    # -- the chain of lengths ----------------------------------------------------------------

    def _chain(self, island: Island, run: Run, limit: int, *, final: bool) -> None:
        """Pass on FPDU after FPDU, up to the limit or to the first that is not verified."""
        while True:
            at = run.end
            if at == limit:
                # The same number, which need not be kept thrice.
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
                if final or fpdu == UNREADABLE:
                    makes_sense = self.crc or self._may_follow(island, at, limit)
                    run.broken_at = at if makes_sense else run.last
                break
            if fpdu.sound or (not self.crc and self._is_believed(fpdu)):
                self._pass_on(island, run, fpdu)
                continue
            if fpdu.ulpdu_length == _LENGTH_IN_KEY and self._meets_startup(island, run, limit):
                break
            if fpdu.crc == "bad" and not self.is_guess:
                # Its start is certain, so it is reported (RFC 5044 4.4).
                self._pass_on(island, run, fpdu)
                run.broken_at = at
            else:
                # Without CRCs, the length of the one before may be wrong.
                run.broken_at = at if self.crc else run.last
            break
        # Without CRCs a length is not proven before the next FPDU stands after it.
        done = run.end if self.crc else run.last
        self._sink.release(island, run.start, done if run.broken_at is None else run.broken_at)

    def _meets_startup(self, island: Island, run: Run, limit: int) -> bool:
        """Leave a run at a startup frame, whose Key is no header of an FPDU; tell whether one
        begins there."""
        reach = startup_reach(island, run.end)
        if limit < island.end and reach > limit:
            # An FPDU that was found begins in its midst.
            return False
        if reach > island.end:
            island.need = reach
        elif reach:
            self._sink.meets_startup(run.end)
            run.awaits = True
            island.need = NOWHERE
        return reach > 0

    def pass_over(self, island: Island, start: int, end: int) -> None:
        """Go on after a startup frame at which a run was left.

        :param start: where it begins.
        :param end: where it ends.
        """
        run = next(each for each in island.runs if each.end == start)
        run.awaits = False
        run.end = run.last = end
        island.look_again()
        self._sink.release(island, run.start, end)

    def _is_believed(self, fpdu: Candidate) -> bool:
        """Tell whether an FPDU to which lengths have led is one, though its header looks wrong.

        A Marker may say so.  And a Send may have an STag where there is none, which its receiver
        ignores (RFC 5040 4.1); but where Markers may as well be elsewhere, one may stand there.
        """
        if fpdu.is_pointed_at:
            return True
        if not fpdu.agrees or self.is_guess:
            return False
        head = header_octets(fpdu.octets, fpdu.layout)
        return plausible(head, fpdu.ulpdu_length, any_stag=True)

    def _may_follow(self, island: Island, at: int, limit: int) -> bool:
        """Tell whether the header to which lengths have led makes sense, as far as it is there."""
        return self.reader.may_begin(island, at, limit, any_stag=not self.is_guess)

    # -- the way back --------------------------------------------------------------------------

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
        first = self.reader.fpdu_at(island, broken_at, limit) if is_certain else limit
        if not isinstance(first, int) and first.crc != "unknown":
            # It is whole now.  It is reported, good or bad.
            run.broken_at = run.search = None
            return True
        begin = broken_at if run.is_certain else max(broken_at + WORD, island.held)
        is_too_much = limit - broken_at > LONGEST_WAIT
        if run.search is not None and limit < run.search.at and not (final or is_too_much):
            island.need = run.search.at
            return False
        path = self._path(island, run, begin, limit, final=final)
        steps = path.steps if final else path.steps[: path.shared]
        at = run.end
        for index in range(len(steps)):
            if not self._take(island, run, steps, index, limit):
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
            run.search = None
        wait = max(WORD, (limit - begin) // _GROWTH)
        end = path.steps[-1].edge.end if path.steps else None
        if end is not None and end >= limit:
            # It may be over as soon as the last FPDU ends, or the one after it.
            wait = min(wait, end - limit or SHORTEST)
        island.need = run.searching().at = limit + wait
        return False

    def _path(self, island: Island, run: Run, begin: int, limit: int, *, final: bool) -> Path:
        """Return the cheapest path through the octets from ``begin`` on."""
        purse = self._sink.purse
        allowance = purse.lend(_WANTED)
        region = Region(self.reader, allowance, island, begin, limit, run.searching())
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
            begins_at=lambda at: self._leads_over_hole(island, at),
        )
        path = cheapest_path(region, entries, beyond, is_certain=run.is_certain)
        purse.spend(allowance.spent)
        return path

    def _take(
        self,
        island: Island,
        run: Run,
        steps: Sequence[Step],
        index: int,
        limit: int,
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
            # Its Markers speak louder than the search.
            found_by: LocatedBy = "marker" if edge.marks else "search"
            located_by: LocatedBy = "length" if step.is_led else found_by
            self._resume(island, run, edge.start, located_by)
        if is_shown:
            fpdu = self.reader.fpdu_at(island, edge.start, limit)
            if not is_reported and not isinstance(fpdu, int):
                self._pass_on(island, run, fpdu)
            run.broken_at = None
            return True
        # Where it ends is known by the next one only.
        run.broken_at = edge.start
        is_certain = index == 0 or steps[index - 1].edge.is_sound
        is_whole = edge.verdict == "bad" or (edge.verdict == "off" and edge.makes_sense)
        if step.kind == "wrong length" and is_whole and is_certain:
            fpdu = self.reader.fpdu_at(island, edge.start, limit)
            if not (isinstance(fpdu, int) or is_reported or self.is_guess):
                self._pass_on(island, run, fpdu)
        if following is None or (step.kind == "fpdu" and following.kind == "part"):
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
        following = self._sink.after(island.end)
        if following is None or end <= following.start:
            return following is not None
        limit = following.runs[0].start if following.runs else following.end
        if end >= limit or following.held > following.start:
            return end == limit < following.end
        fpdu = self.reader.fpdu_at(following, end, limit)
        return not isinstance(fpdu, int) and fpdu.crc == "good"

    def _reach_of(self, island: Island) -> int:
        """Return where the FPDU ends that begins for certain after the last one of an island.

        0 if there is none, if all of it is there, if its header makes no sense, or if the number of
        its Markers is not known.
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
        said = self.reader.header_at(island, run.end, island.end)
        if said is None or not said[0]:
            return 0
        end = run.end + said[1].length
        return end if end > island.end else 0

    # -- what is reported ----------------------------------------------------------------------

    def _resume(self, island: Island, run: Run, at: int, located_by: LocatedBy) -> None:
        """Go on at an FPDU that was found after a run."""
        begin = run.end
        if self.crc:
            is_wrong = self._has_wrong_length(run, at)
        else:
            is_open = run.is_certain and begin == run.broken_at
            is_wrong = is_open and self.reader.makes_sense(island, begin, at)
        if not island.is_captured(begin, at):
            self._sink.cut_off(begin, at)
        elif is_wrong:
            self._pass_on(island, run, self.reader.with_wrong_length(island, begin, at))
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

    def _has_wrong_length(self, run: Run, end: int) -> bool:
        """Tell whether the FPDU after a run claims octets from ``end`` on, which others own."""
        is_open = run.is_certain and run.end == run.broken_at and not self.is_guess
        return is_open and run.end + SHORTEST <= end

    def _abandon(self, island: Island, run: Run, limit: int) -> None:
        """Report what stays unexplained, now that nothing more will come."""
        if run.broken_at is None:
            return
        if run.end < limit:
            is_open = run.is_certain and run.end == run.broken_at
            is_cut = not island.is_captured(run.end, limit)
            if is_cut and not self._is_unfinished(island, run, limit):
                self._sink.cut_off(run.end, limit)
            elif self.crc and limit < island.end and self._has_wrong_length(run, limit):
                self._pass_on(island, run, self.reader.with_wrong_length(island, run.end, limit))
            elif is_open:
                self._sink.unfinished(run.end, limit - run.end)
            elif run.end > run.start:
                self._report_nothing(run.end, limit)
        run.broken_at = None
        run.end = run.last = limit

    def _is_unfinished(self, island: Island, run: Run, limit: int) -> bool:
        """Tell whether the FPDU after a run says that it goes on after all that was sent.

        If Markers may be elsewhere, it is not known how many it holds.
        """
        if limit < island.end or not run.is_certain or run.end != run.broken_at or self.is_guess:
            return False
        fpdu: Candidate | int = self.reader.fpdu_at(island, run.end, limit)
        return isinstance(fpdu, int) and fpdu != UNREADABLE
