# SPDX-License-Identifier: GPL-2.0-or-later
"""What is done to a direction on loan: segments taken, kept behind a hole, and known already."""

from __future__ import annotations

from typing import Any, Final

from scapy_mpa.express.fpdus import SoundFPDUs
from scapy_mpa.express.page import Page
from scapy_mpa.stream.budget import Budget
from scapy_mpa.stream.connections.loan import (
    EARLY_OCTETS,
    EARLY_SEGMENTS,
    LENT_PIECES,
    NOTHING_WAITS,
    Loan,
)
from scapy_mpa.stream.octets.chunk import CHUNK_OVERHEAD, Chunk
from scapy_mpa.stream.octets.overlap import RecentOctets
from scapy_mpa.wire.fpdu import HEADER_LENGTH, fpdu_length

__all__ = ["Borrower"]

_MASK: Final = 0xFFFFFFFF
_BEHIND: Final = 0x80000000


class Borrower:
    """Brings loans up to date.

    ``moment``, where a method asks for it, is what :mod:`~scapy_mpa.express.fpdus` says.

    :param fpdus: passes FPDUs on.
    :param page: where they are written.
    :param recent: where octets are remembered.
    :param budget: where it is counted what loans hold.
    """

    def __init__(self, fpdus: SoundFPDUs, page: Page, recent: RecentOctets, budget: Budget) -> None:
        self._fpdus = fpdus
        self._is_quick = fpdus.is_quick
        self._page = page
        self._recent = recent
        self._budget = budget
        self.holders: dict[Loan, None] = {}
        """Loans of directions of which octets are held; those that began first come first."""

    def begin(self, loan: Loan) -> None:
        """Prepare a fresh loan."""
        if self._is_quick and loan.takes_data and not (loan.awaits or loan.begins_phase):
            self._moved(loan, loan.end)
        else:
            self._weigh(loan)
        if loan.owner.held:
            self.holders[loan] = None
        self._fpdus.begin(loan)

    def end(self, loan: Loan) -> None:
        """Make a loan ready to be given back."""
        self._budget.room += loan.waiting.held
        self.holders.pop(loan, None)
        loan.segments += loan.singles
        loan.fpdus += loan.singles

    def take(self, loan: Loan, octets: bytes, brought_by: int, number: int, moment: Any) -> int:
        """Take the payload of a segment that continues a direction.

        Return how many octets of it were taken: all, or those before an FPDU that is not sound.

        :param brought_by: the frame of the segment.
        :param number: the frame that makes it the next: the same, or one that fills a hole.
        """
        begin = loan.end
        waiting = loan.waiting
        pieces = waiting.pieces
        if len(octets) < waiting.missing and pieces:
            if len(pieces) >= LENT_PIECES:
                return 0
            pieces.append(Chunk(begin, octets, brought_by))
            if not loan.crc:
                waiting.tail = [*waiting.tail, pieces[-1]]
            waiting.missing -= len(octets)
            self._moved(loan, begin + len(octets))
            return len(octets)
        first_frames: Any = brought_by
        data = octets
        begun = self._lacks(loan) if pieces and len(octets) > waiting.missing else 0
        if 0 < begun < len(octets) and waiting.missing <= begun:
            # What completes the FPDU goes first: there is much more behind it in a merged segment,
            # which would all be moved to be joined with the pieces.
            if not self.take(loan, octets[:begun], brought_by, number, moment):
                return 0
            pieces = ()
        elif pieces:
            begun = 0
            data = b"".join([*[piece.octets for piece in pieces], octets])
            first_frames = dict.fromkeys((*[piece.frame for piece in pieces], brought_by))
        base = pieces[0].position if pieces else begin
        available = len(data)
        before = None if loan.crc else (self._page.mark(), loan.fpdus)
        at, last, missing = self._fpdus.read(
            loan, data, base, begun, first_frames, brought_by, number, moment
        )
        if before is not None and not missing and at < available:
            # Where segments begin may be all that tells: this one is not taken apart.
            mark, loan.fpdus = before
            self._page.cut(mark)
            return 0
        if not at and (loan.begins_phase or (missing == 0 and at < available and pieces)):
            # The first FPDU is not sound, or must be whole: this segment was not taken at all.
            return 0
        if not loan.crc:
            holding = loan.holding
            if at:
                holding.last = base + last
            segments = *holding.tail, Chunk(begin, octets, brought_by)
            holding.tail = [each for each in segments if each.end > holding.last]
        if missing:
            # It goes on in the next segment.
            if at or not pieces:
                loan.holding.pieces = [Chunk(base + at, data[at:], brought_by)]
            else:
                pieces.append(Chunk(begin, octets, brought_by))
            loan.holding.missing = missing
        elif loan.waiting.pieces:
            loan.waiting.pieces = ()
            loan.waiting.missing = 0
        end = base + (available if missing else at)
        self._moved(loan, end)
        return end - begin

    def _lacks(self, loan: Loan) -> int:
        """Return how many octets an FPDU of which there are pieces lacks; 0 if nothing says so."""
        pieces = loan.waiting.pieces
        if not pieces or not (self._is_quick and loan.crc) or loan.markers:
            return 0
        start, octets, _ = pieces[0]
        if len(octets) < HEADER_LENGTH:
            return 0
        return start + fpdu_length(octets[0] << 8 | octets[1]) - loan.end

    def room_behind_hole(self, loan: Loan, length: int) -> int:
        """Return how far ahead segments of ``length`` octets may begin if there may be one at each
        multiple of that up to there, and no others."""
        if not self._may_keep(loan):
            return 0
        budget, held = self._budget, length + CHUNK_OVERHEAD
        waiting = loan.waiting
        room = min(budget.room, budget.each - waiting.held) + waiting.early_held
        return min(min(EARLY_SEGMENTS, room // held) * length, EARLY_OCTETS - length)

    @staticmethod
    def _may_keep(loan: Loan) -> bool:
        """Tell whether segments may be kept; this does not change as long as there are any."""
        is_acknowledged = (loan.seq - loan.peer.ack) & _MASK >= _BEHIND
        return not (loan.markers or loan.begins_phase or is_acknowledged)

    def hand_over(self, loan: Loan) -> None:
        """Be done with segments behind a hole, which the caller has taken over."""
        loan.waiting.early = ()
        loan.waiting.early_held = 0
        self._weigh(loan)

    def take_back(self, loan: Loan, early: list[tuple[int, bytes, int]]) -> None:
        """Keep segments behind a hole again; there is room for them."""
        position, octets, _ = early[-1]
        holding = loan.holding
        holding.early = early
        holding.early_end = position + len(octets)
        holding.early_held = sum(len(each) + CHUNK_OVERHEAD for _, each, _ in early)
        loan.quick_seq = -1
        self._weigh(loan)

    def keep(self, loan: Loan, seq: int, octets: bytes, number: int) -> bool:
        """Keep a segment that lies beyond a hole, if that may be; tell whether it may."""
        waiting = loan.waiting
        early = waiting.early
        length = len(octets)
        ahead = (seq - loan.seq) & _MASK
        position = loan.end + ahead
        budget = self._budget
        held = length + CHUNK_OVERHEAD
        holds = waiting.held + held
        if (
            ahead + length > EARLY_OCTETS
            or len(early) >= EARLY_SEGMENTS
            or held > budget.room
            or holds > budget.each
        ):
            return False
        if not early:
            if not self._may_keep(loan):
                return False
            waiting = loan.holding
            waiting.early = [(position, octets, number)]
            waiting.early_end = position + length
            loan.quick_seq = -1
            self.holders[loan] = None
        elif position >= waiting.early_end:
            early.append((position, octets, number))
            waiting.early_end = position + length
        else:
            end = position + length
            index = len(early)
            while index and early[index - 1][0] >= end:
                index -= 1
            if index:
                before, known, _ = early[index - 1]
                if before + len(known) > position:
                    is_copy = before == position and known == octets and length > 1
                    loan.owner.count_copies(is_copy)
                    return is_copy
            early.insert(index, (position, octets, number))
        waiting.early_held += held
        waiting.held = holds
        budget.room -= held
        return True

    def fill(self, loan: Loan, octets: bytes, number: int, moment: Any) -> bool:
        """Take a segment before a hole, and what lies behind the hole if it fills it.

        Return False if the segment cannot be taken; the loan is then as it was.
        """
        waiting = loan.waiting
        early = waiting.early
        begin = loan.end
        end = begin + len(octets)
        if not early or end > early[0][0]:
            return False
        run = [(begin, octets, number)]
        for segment in early:
            if segment[0] != end:
                break
            run.append(segment)
            end += len(segment[1])
        mark = self._page.mark()
        if not self._fpdus.read_each(loan, run, number, moment):
            self._page.cut(mark)
            if not self._take_run(loan, run, number, moment):
                self._page.cut(mark)
                return False
        self._recent.remember_run(loan.owner, run, end - begin)
        waiting.early_held -= end - begin - len(octets) + CHUNK_OVERHEAD * (len(run) - 1)
        waiting.early = early[len(run) - 1 :] or ()
        self._moved(loan, end)
        return True

    def _take_run(
        self, loan: Loan, run: list[tuple[int, bytes, int]], number: int, moment: Any
    ) -> bool:
        """Take segments in a row, in FPDUs of any size and place.

        Return False if they cannot be taken; all is then as it was, but for what was written.
        """
        waiting = loan.waiting
        pieces = waiting.pieces
        before = loan.end, waiting.last, waiting.tail, pieces, waiting.missing, loan.fpdus
        if pieces:
            waiting.pieces = pieces.copy()
        if self._is_quick and loan.crc:
            # Nobody asks which frame brought what, unless an FPDU is left over.
            data = b"".join([each for _, each, _ in run])
            sound = self.take(loan, data, number, number, moment) == len(data)
            if sound and waiting.pieces:
                start = waiting.pieces[0].position
                chunks = [Chunk(*each).behind(start) for each in (*pieces, *run)]
                waiting.pieces = [chunk for chunk in chunks if chunk.octets]
        else:
            sound = all(
                self.take(loan, each, brought_by, number, moment) == len(each)
                for _, each, brought_by in run
            )
        if not sound:
            end, waiting.last, waiting.tail, waiting.pieces, waiting.missing, loan.fpdus = before
            self._moved(loan, end)
        return sound

    def repeats(self, loan: Loan, seq: int, octets: bytes) -> bool:
        """Take a segment all of which is known and the same; tell whether it is."""
        end = loan.end - ((loan.seq - seq - len(octets)) & _MASK)
        position = end - len(octets)
        if position < loan.begin or end > loan.end or len(octets) == 1:
            return False
        # It mostly comes again not long after it came, and not in other pieces.
        for known_position, known, owner in reversed(self._recent.order):
            if owner is loan.owner and known_position <= position:
                start = position - known_position
                if known[start : start + len(octets)] != octets:
                    return False
                loan.owner.count_copies(1)
                return True
        return False

    def _moved(self, loan: Loan, end: int) -> None:
        loan.move(end)
        waiting = loan.waiting
        is_quick = self._is_quick and loan.crc
        loan.quick_seq = loan.seq if is_quick and not (waiting.pieces or waiting.early) else -1
        if waiting is not NOTHING_WAITS:
            self._weigh(loan)

    def _weigh(self, loan: Loan) -> None:
        """Count anew what a loan holds: segments behind a hole, and those of an FPDU.

        The latter lie back to back, up to where it ends.
        """
        waiting = loan.waiting
        chunks = (waiting.pieces if loan.crc else waiting.tail) or waiting.pieces
        held = waiting.early_held
        if chunks:
            held += loan.end - chunks[0].position + CHUNK_OVERHEAD * len(chunks)
        if held != waiting.held:
            self._holds(loan, held)

    def _holds(self, loan: Loan, held: int) -> None:
        """Take note of what a loan holds now."""
        self._budget.room -= held - loan.waiting.held
        if held or loan.owner.held:
            self.holders[loan] = None
        else:
            self.holders.pop(loan, None)
        if held:
            loan.waiting.held = held
        else:
            loan.waiting = NOTHING_WAITS
