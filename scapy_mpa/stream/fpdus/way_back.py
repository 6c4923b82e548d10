# SPDX-License-Identifier: GPL-2.0-or-later
"""The way back to where FPDUs begin, behind one that is not verified.

First by what its CRC tells of where it ends (:mod:`~scapy_mpa.wire.sound_length`), then by FPDUs to
which lengths lead over others that are damaged, too, and last by a search.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scapy_mpa.stream.events import LocatedBy
from scapy_mpa.stream.fpdus.candidate import (
    FRAMING_WINDOW,
    SHORTEST,
    UNREADABLE,
    WORD,
    Candidate,
)
from scapy_mpa.stream.fpdus.chain import FPDUChain
from scapy_mpa.stream.fpdus.finder import (
    CONVINCING_CHAIN,
    found_by,
    head_of,
    holds_itself,
    is_tagged,
)
from scapy_mpa.stream.fpdus.follower import MOST_SENSELESS, Reached, cost_of
from scapy_mpa.stream.octets.island import Island, Run
from scapy_mpa.wire.ddp import TAGGED_LENGTH
from scapy_mpa.wire.errors import ErrorCode
from scapy_mpa.wire.fpdu import MARKER_LENGTH, fpdu_length

__all__ = ["FIRST_SEARCH", "FPDUWayBack"]

FIRST_SEARCH: Final = 2_048
"""Octets that must have come before another search is worth its cost, at least."""

# Octets for which the chain of lengths is waited for, if what comes next looks like an FPDU.
_LONGEST_WAIT: Final = 8 * FRAMING_WINDOW


class FPDUWayBack(FPDUChain):
    """Follows chains of lengths, and finds FPDUs again where these lead nowhere.

    For parameters see :class:`~scapy_mpa.stream.fpdus.chain.FPDUChain`.
    """

    __slots__ = ()

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

    def _recover(self, island: Island, run: Run, limit: int, *, final: bool) -> bool:
        """Find the way back to where FPDUs begin; tell whether that succeeded."""
        trouble = run.trouble
        assert trouble is not None
        bridge: list[Candidate] = []
        reached: Reached | None = None
        if run.anchored:
            bridge, reached, need = self._bridge(island, run.end, limit)
            need_at = bridge[-1].end if bridge else run.end
            alone = not self.crc and len(bridge) == 1 and island.is_boundary(limit)
            ends = (final or alone) and self._may_end(island, bridge, limit)
            if reached == "sound" or (reached == "end" and ends):
                return self._cross(island, run, bridge, limit, final=final)
            likely = self._looks_like_start(island, need_at, limit)
            patience = _LONGEST_WAIT if likely else FRAMING_WINDOW
            if reached != "long" and not final and limit - trouble < patience:
                island.need = min(need, trouble + patience)
                return False
        # What a row of FPDUs may take that nothing but headers bears out.
        row = FRAMING_WINDOW * (1 if self.crc or self.markers else CONVINCING_CHAIN)
        longest = _LONGEST_WAIT if run.anchored else row
        is_too_much = limit - trouble > longest + FRAMING_WINDOW
        if run.search is not None and limit < run.search.at and not (final or is_too_much):
            island.need = run.search.at
            return False
        if reached is not None and self.crc:
            found_back = self._by_crc(island, run, bridge, reached, limit, final=final)
            if found_back is not None:
                return found_back
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
            self._resume(island, run, found.start, found_by(found))
            return True
        if not final:
            if is_too_much:
                run.trouble = limit - row
                run.anchored = False
                # A late copy may fill the hole before the island, and need what follows it.
                kept = run.start + FRAMING_WINDOW if run.is_empty else run.start
                island.is_torn = island.is_torn or run.is_empty
                trouble = run.trouble
                self._sink.release(island, kept, trouble)
            self._search_later(island, run, limit, trouble)
        return False

    def _by_crc(
        self,
        island: Island,
        run: Run,
        bridge: Sequence[Candidate],
        reached: Reached,
        limit: int,
        *,
        final: bool,
    ) -> bool | None:
        """Find the way back by what CRCs tell of those that lie; None if it must be searched for.

        :param bridge: those over which lengths lead from the end of the run.
        :param reached: what comes behind them.
        """
        trouble = run.trouble
        assert trouble is not None
        if self._is_scarce() and not self._makes_sense(island, trouble, limit):
            # It ends before any good ones in a row, and to look for these first costs less.
            row = self._search(island, trouble + WORD, limit, final=False, liar=trouble)
            if row is not None:
                if not self._set_right(island, run, (), row.start, may_end=True):
                    self._resume(island, run, row.start, found_by(row))
                return True
        behind = bridge[-1].end if bridge else run.end
        may_end = final or limit < island.end
        if self._set_right(island, run, bridge, limit, may_end=may_end, behind=behind):
            return True
        if self._may_hold_more(island, trouble, limit, final=final):
            self._search_later(island, run, limit, trouble)
            return False
        if reached == "long" and self._skip(island, run, limit):
            return True
        if reached == "short" and limit == island.end and self._leads_over_hole(island, behind):
            # Lengths lead to one that a hole cuts off: good ones before that are its payload.
            self._search_later(island, run, limit, trouble)
            return False
        return None

    def _leads_over_hole(self, island: Island, start: int) -> bool:
        """Tell whether an FPDU that a hole cuts off ends in it, or where one begins behind it.

        :param island: before the hole.
        """
        end = self._reach(island, start)
        behind = self._sink.behind(island.end)
        if not end or behind is None:
            return False
        return end <= behind.start or self._leads_into(behind, end)

    def _reach(self, island: Island, start: int) -> int:
        """Return where an FPDU ends that the end of an island cuts off.

        0 if its header is not all there or makes no sense, or if nobody knows how many Markers it
        holds.
        """
        if self.is_guess:
            return 0
        said = self._header_at(island, start, island.end)
        if said is None or not said[0]:
            return 0
        end = start + said[1].length
        return end if end > island.end else 0

    def _leads_into(self, island: Island, end: int) -> bool:
        """Tell whether an FPDU ends where a good one begins in the island behind the hole in it.

        One that lies may, too; but then others lead there whose octets it claims.
        """
        limit = island.runs[0].start if island.runs else island.end
        if not island.held == island.start < end <= limit:
            return False
        if end == limit:
            is_one = limit < island.end
        else:
            fpdu = self._try(island, end, limit)
            is_one = not isinstance(fpdu, int) and fpdu.crc == "good"
        return is_one and self._swallowed(island, island.start - WORD, end, limit) is None

    def _cross(
        self, island: Island, run: Run, bridge: Sequence[Candidate], limit: int, *, final: bool
    ) -> bool:
        """Go on behind FPDUs that are not verified, if what is verified tells none of them a liar.

        Lengths lead over them to one that is verified, or to the end.
        """
        trouble = run.trouble
        assert trouble is not None
        end = bridge[-1].end if bridge else run.end
        found = None
        if not self.crc:
            if bridge:
                found = self._search(island, trouble + WORD, limit, final=final)
                if found is not None and found.start >= end:
                    found = None
        elif self._set_right(island, run, bridge, end, may_end=True):
            return True
        elif (found := self._swallowed(island, trouble, end, limit)) is not None:
            # Unless the lie leads to an FPDU in its own payload, that holds others before.
            if self._set_right(island, run, bridge, limit, may_end=limit < island.end):
                return True
            if self._may_hold_more(island, trouble, limit, final=final):
                self._search_later(island, run, limit, trouble)
                return False
            found = self._first_swallowed(island, trouble, found)
        elif bridge:
            found = self._search(island, trouble + WORD, end, final=False, bridge=bridge)
        if found is not None:
            self._resume(island, run, found.start, found_by(found))
            return True
        for fpdu in bridge:
            self._pass_on(island, run, fpdu)
        run.trouble = run.search = None
        return True

    def _skip(self, island: Island, run: Run, limit: int) -> bool:
        """Go on at the FPDU to which lengths lead over others whose headers are damaged, too.

        Of such nothing is told: they may as well be chance.
        """
        assert run.trouble is not None
        bridge, reached, _ = self._bridge(island, run.end, limit, senseless=MOST_SENSELESS)
        self._allowance -= cost_of(bridge)
        if reached != "sound":
            return False
        end = bridge[-1].end
        found = self._swallowed(island, run.trouble, end, limit)
        if found is not None:
            found = self._first_swallowed(island, run.trouble, found)
        else:
            found = self._search(island, run.trouble + WORD, end, final=False, bridge=bridge)
        self._resume(island, run, end if found is None else found.start, "search")
        return True

    @staticmethod
    def _may_hold_more(island: Island, start: int, limit: int, *, final: bool) -> bool:
        """Tell whether octets may be missing of what an FPDU truly is, which may hold others."""
        return limit < start + FRAMING_WINDOW and not (final or island.absent)

    @staticmethod
    def _search_later(island: Island, run: Run, limit: int, trouble: int) -> None:
        """Leave a run as it is until so much more has come that a search is worth its cost."""
        island.need = run.searching().at = limit + max(FIRST_SEARCH, limit - trouble)

    def _set_right(
        self,
        island: Island,
        run: Run,
        bridge: Sequence[Candidate],
        limit: int,
        *,
        may_end: bool,
        behind: int | None = None,
    ) -> bool:
        """Go on behind an FPDU that lies about its ULPDU_Length, if its CRC tells where it ends.

        :param bridge: those over which lengths lead from the end of the run.
        :param may_end: whether one may end at ``limit``, though none is seen to begin there.
        :param behind: where another one may begin, to which lengths lead.
        """
        assert run.trouble is not None
        places = [run.trouble, *(fpdu.start for fpdu in bridge)]
        if behind is not None and places[-1] < behind < limit:
            places.append(behind)
        asked = self._to_ask(places)
        if behind is not None:
            # When more has come it is asked from there on.
            search = run.searching()
            if search.asked is not None and list(search.asked) == list(asked):
                asked = search.asked
            search.asked = asked
        found = self._true_end(island, asked, limit, may_end=may_end)
        if found is None or (self.is_guess and not self._must_lie(island, *found)):
            # If Markers may be elsewhere, some may lie in one that tells the truth.
            return False
        liar, end = found
        for fpdu in bridge:
            if fpdu.start <= liar:
                self._pass_on(island, run, fpdu)
        run.trouble = liar
        following = self._try(island, end, limit)
        self._resume(
            island, run, end, "search" if isinstance(following, int) else found_by(following)
        )
        return True

    def _first_swallowed(self, island: Island, trouble: int, found: Candidate) -> Candidate:
        """Return the first FPDU that one with a lying ULPDU_Length swallowed whole.

        :param found: the first in the row of those that lead to where it leads.  Behind others that
            were swallowed, some that are damaged may stand.
        """
        first = self._search(island, trouble + WORD, found.start, final=False, liar=trouble)
        return first or found

    def _is_something(self, island: Island, fpdu: Candidate, limit: int) -> bool:
        """Tell whether, without CRCs, anything says that this is an FPDU, though a damaged one.

        :param limit: up to where octets are there.
        """
        return super()._is_something(island, fpdu, limit) or self._leads_on(island, fpdu, limit)

    def _leads_on(self, island: Island, fpdu: Candidate, limit: int) -> bool:
        """Tell whether the length of an FPDU whose header makes no sense leads to others that are
        beyond doubt, or to the FIN.

        An untagged header says as much as a few tagged ones in a row.
        """
        if fpdu.ulpdu_length < TAGGED_LENGTH or not fpdu.agrees:
            return False
        at = fpdu.end
        weight = 0
        heads: set[bytes] = set()
        while weight < CONVINCING_CHAIN:
            if at == limit:
                return limit < island.end or self._sink.ends_at(limit)
            following = self._try(island, at, limit)
            if isinstance(following, int) or not following.sound:
                return False
            if following.is_pointed_at or island.fills_segments(at, following.end):
                return True
            at = following.end
            head = head_of(following)
            # Where there are Markers, nobody need believe what a payload repeats.
            if not (self.markers and (head in heads or holds_itself(following))):
                heads.add(head)
                weight += 1 if is_tagged(following) else CONVINCING_CHAIN
        return True

    def _may_end(self, island: Island, bridge: Sequence[Candidate], limit: int) -> bool:
        """Tell whether it says something that lengths lead over unverified FPDUs to ``limit``.

        Where Markers may as well be elsewhere, so may the end of the last one: that it fits what
        was captured before a hole is chance.  So is that a payload does that repeats itself.
        """
        if limit < island.end or self._sink.ends_at(limit):
            return True
        return not (self.is_guess or (self.crc and _repeat_themselves(bridge)))

    def _swallowed(self, island: Island, start: int, end: int, limit: int) -> Candidate | None:
        """Return the first FPDU that one with a lying ULPDU_Length swallowed whole.

        :param end: where a verified FPDU begins.
        :param limit: up to where octets are there.

        Those behind it must lead exactly to ``end``: no payload that merely looks like FPDUs does,
        for the swallowing one ends with a CRC of its own.  Or the last one holds what begins at
        ``end``, which then is part of its payload.
        """
        at = start
        for start_of_row in self._starts(island, start + WORD, limit, stop=end):
            if start_of_row < at:
                # It is of the row before, or of a payload in it.
                continue
            first: Candidate | None = None
            at = start_of_row
            while at < end and self._is_worth_a_try(island, at, limit):
                fpdu = self._try(island, at, limit)
                if isinstance(fpdu, int):
                    break
                self._allowance -= fpdu.layout.length
                if not fpdu.sound:
                    break
                first = first or fpdu
                at = fpdu.end
            if first is not None and at >= end:
                return first
        return None

    def _is_worth_a_try(self, island: Island, at: int, limit: int) -> bool:
        """Tell whether what lengths have led to may be an FPDU, though of zero length.

        Behind a row may stand anything, and what it claims would all have to be gone over.
        """
        said = self._header_at(island, at, limit)
        return said is None or said[0] or said[1].length <= fpdu_length(0) + MARKER_LENGTH

    def _resume(self, island: Island, run: Run, at: int, located_by: LocatedBy) -> None:
        """Go on at an FPDU that was found behind a run."""
        begin = run.end
        at = self._over_zero_length(island, begin, at)
        if self._is_cut(island, begin, at):
            self._sink.cut_off(begin, at)
        elif (
            self._is_liar(island, run, at)
            if self.crc
            else run.anchored and self._makes_sense(island, begin, at)
        ):
            self._pass_on(island, run, self._liar(island, begin, at))
        elif begin < at and begin > run.start:
            self._sink.wrong(
                ErrorCode.CRC_MISMATCH if self.crc else ErrorCode.MARKER_MISMATCH,
                begin,
                f"{at - begin} octets in which no FPDU begins (RFC 5044 4.1)",
            )
        if run.is_empty:
            run.start = at
        run.end = run.last = at
        run.next_by = located_by
        run.trouble = run.search = None
        run.anchored = True

    def _over_zero_length(self, island: Island, begin: int, at: int) -> int:
        """Return where those of zero length begin that directly precede an FPDU, else ``at``.

        An RTR indication may be such (RFC 6581 9.2).  It has no header by which a search finds it,
        but all of its octets are known beforehand.
        """
        lengths = (fpdu_length(0), fpdu_length(0) + MARKER_LENGTH)
        lowest = max(begin, island.held)
        while self.crc:
            starts = (at - length for length in lengths if at - length >= lowest)
            start = next((each for each in starts if self._is_zero_length(island, each, at)), None)
            if start is None:
                break
            at = start
        return at

    def _is_zero_length(self, island: Island, start: int, end: int) -> bool:
        """Tell whether the octets from ``start`` up to ``end`` are an FPDU of zero length."""
        fpdu = self._try(island, start, end)
        if isinstance(fpdu, int):
            return False
        return fpdu.sound and fpdu.end == end and fpdu.ulpdu_length == 0

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
            is_cut = self._is_cut(island, run.end, limit)
            if is_cut and not self._is_unfinished(island, run, limit):
                self._sink.cut_off(run.end, limit)
            elif self.crc and limit < island.end and self._is_liar(island, run, limit):
                self._pass_on(island, run, self._liar(island, run.end, limit))
            elif run.anchored and run.end == run.trouble and (self.is_guess or not bridge):
                self._sink.unfinished(run.end, limit - run.end)
            elif run.end > run.start:
                self._sink.wrong(
                    ErrorCode.CRC_MISMATCH if self.crc else ErrorCode.MARKER_MISMATCH,
                    run.end,
                    f"{limit - run.end} octets in which no FPDU begins (RFC 5044 4.1)",
                )
        run.trouble = None
        run.end = run.last = limit

    def _is_unfinished(self, island: Island, run: Run, limit: int) -> bool:
        """Tell whether the FPDU behind a run says that it goes on behind all that was sent.

        Where Markers may as well be elsewhere, nobody knows how many of them it holds.
        """
        if limit < island.end or not run.anchored or run.end != run.trouble or self.is_guess:
            return False
        fpdu = self._try(island, run.end, limit)
        return isinstance(fpdu, int) and fpdu != UNREADABLE


def _repeat_themselves(fpdus: Sequence[Candidate]) -> bool:
    """Tell whether FPDUs begin like each other, or hold their own beginning: MSN, MO and TO of
    those that a sender sends go on from one to the next."""
    heads = {head_of(fpdu) for fpdu in fpdus}
    return len(heads) < len(fpdus) or any(map(holds_itself, fpdus))
