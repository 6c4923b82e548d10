# SPDX-License-Identifier: GPL-2.0-or-later
"""What is done to a direction on loan: FPDUs of any size and place, as long as they are sound."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from scapy_mpa.express.headers import FPDU_HEADERS
from scapy_mpa.express.page import Page
from scapy_mpa.express.shapes import LOW_MSN, SEVEN_DIGITS, Shapes
from scapy_mpa.stream.budget import Budget
from scapy_mpa.stream.chunk import CHUNK_OVERHEAD, Chunk
from scapy_mpa.stream.loan import EARLY_OCTETS, EARLY_SEGMENTS, LENT_PIECES, Loan
from scapy_mpa.stream.overlap import RecentOctets
from scapy_mpa.wire.crc import CRC_LENGTH, RESIDUE, crc32c
from scapy_mpa.wire.ddp import UNTAGGED_LENGTH
from scapy_mpa.wire.fpdu import (
    HEADER_LENGTH,
    MARKER_INTERVAL,
    MARKER_LENGTH,
    fpdu_layout,
    strip_markers,
)
from scapy_mpa.wire.rdmap import plausible

if TYPE_CHECKING:
    from scapy_mpa.records.kinds import Patterns, Templates

__all__ = ["SHORTEST", "Borrower"]

SHORTEST: Final = 28
"""Octets of the shortest FPDU in which either DDP header is there for sure."""
_ULPDU_LENGTH: Final = Struct(">H")
_AROUND: Final = HEADER_LENGTH + CRC_LENGTH + 3
"""What an FPDU has beside its ULPDU, with as much pad as it may need (RFC 5044 4.1)."""
_IN_WORDS: Final = -4
_MOST_STEPS: Final = 4096
"""ULPDU_Lengths of which it is kept how their FPDUs are passed."""
_MASK: Final = 0xFFFFFFFF
_BEHIND: Final = 0x80000000
_HEAD: Final = HEADER_LENGTH + UNTAGGED_LENGTH

_Step: TypeAlias = tuple[int, Callable[..., tuple[Any, ...]]]
"""Octets of an FPDU, and what gives them, with the ULPDU_Length behind: both at once takes less."""


class Borrower:
    """Brings loans up to date.

    ``moment``, where a method asks for it, is the time of the frame that is being read: for
    patterns in seconds since the first frame, else in nanoseconds since the epoch.

    :param writer: how FPDUs are written; None: they are only counted.
    :param page: where they are written.
    :param recent: where octets are remembered.
    :param unit: nanoseconds in a unit of the fraction of a loan.
    :param budget: where it is counted what loans hold.
    """

    def __init__(
        self,
        writer: Patterns | Templates | None,
        page: Page,
        recent: RecentOctets,
        unit: int,
        budget: Budget,
    ) -> None:
        self._page = page
        self._recent = recent
        self._unit = unit
        self._writing: Writing | None = None
        patterns = None
        if writer is not None:
            # A summary writes none, and is to start soon.
            from scapy_mpa.express.writing import Writing

            self._writing = Writing(writer, page, unit)
            patterns = self._writing.patterns
        self.shapes = Shapes(patterns)
        self._head = b"" if patterns is None else patterns.head.encode()
        # Where nothing is written, by ULPDU_Length.
        self._steps: dict[int, _Step] = {}
        self._budget = budget
        self.holders: dict[Loan, None] = {}
        """Loans of directions of which octets are held; those that began first come first."""
        self.writes = patterns is not None
        """Whether FPDUs are written by patterns."""
        self.is_quick = self.writes or writer is None
        """Whether they are written so, or not at all."""

    def begin(self, loan: Loan) -> None:
        """Prepare a fresh loan."""
        if self.is_quick and loan.takes_data and not (loan.awaits or loan.begins_phase):
            self._moved(loan, loan.end)
        else:
            self._weigh(loan)
        if loan.owner.held:
            self.holders[loan] = None
        if self._writing is not None:
            self._writing.begin(loan)

    def align(self, loans: Mapping[bytes, Loan]) -> None:
        """Have the labels of all loans as wide as the widest that was written so far."""
        if self._writing is not None:
            self._writing.align(loans)

    def end(self, loan: Loan) -> None:
        """Make a loan ready to be given back."""
        self._budget.room += loan.held
        self.holders.pop(loan, None)
        loan.fraction *= self._unit
        loan.segments += loan.singles
        loan.fpdus += loan.singles

    # -- segments ------------------------------------------------------------------------------

    def take(self, loan: Loan, octets: bytes, brought_by: int, number: int, moment: Any) -> int:
        """Take the payload of a segment that continues a direction.

        Return how many octets of it were taken: all, or those before an FPDU that is not sound.

        :param brought_by: the frame of the segment.
        :param number: the frame that makes it the next: the same, or one that fills a hole.
        """
        begin = loan.end
        pieces = loan.pieces
        if len(octets) < loan.missing and pieces:
            if len(pieces) >= LENT_PIECES:
                return 0
            pieces.append(Chunk(begin, octets, brought_by))
            if not loan.crc:
                loan.tail = [*loan.tail, pieces[-1]]
            loan.missing -= len(octets)
            self._moved(loan, begin + len(octets))
            return len(octets)
        first_frames: Any = brought_by
        data = octets
        begun = self._lacks(loan) if pieces and len(octets) > loan.missing else 0
        if 0 < begun < len(octets) and loan.missing <= begun:
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
        at, last, missing = self._read(
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
            if at:
                loan.last = base + last
            segments = *loan.tail, Chunk(begin, octets, brought_by)
            loan.tail = [each for each in segments if each.end > loan.last]
        if missing or at == available:
            if at or not pieces:
                loan.pieces = ()
                if at < available:
                    loan.pieces = [Chunk(base + at, data[at:], brought_by)]
            else:
                pieces.append(Chunk(begin, octets, brought_by))
            loan.missing = missing
            self._moved(loan, base + available)
            return len(octets)
        loan.pieces = ()
        loan.missing = 0
        self._moved(loan, base + at)
        return base + at - begin

    def _lacks(self, loan: Loan) -> int:
        """Return how many octets an FPDU of which there are pieces lacks; 0 if nothing says so."""
        if not loan.pieces or not (self.is_quick and loan.crc) or loan.markers:
            return 0
        start, octets, _ = loan.pieces[0]
        if len(octets) < HEADER_LENGTH:
            return 0
        ulpdu_length: int = _ULPDU_LENGTH.unpack_from(octets)[0]
        return start + (ulpdu_length + _AROUND & _IN_WORDS) - loan.end

    def take_several(
        self, loan: Loan, octets: bytes, position: int, number: int, moment: Any
    ) -> int:
        """Take the sound FPDUs with which a segment begins, where its direction stands.

        The direction has CRCs, and nothing waits for its octets.  Where it ends then is for the
        caller to say.

        Return how many octets were taken.

        :param position: where that is.
        """
        if loan.markers:
            return self._read_marked(loan, octets, position, 0, number, moment)
        if self.writes:
            return self._read_unmarked(loan, octets, position, 0, number, moment)
        return self._count(loan, octets, 0)

    def room_behind_hole(self, loan: Loan, length: int) -> int:
        """Return how far ahead segments of ``length`` octets may begin if there may be one at each
        multiple of that up to there, and no others."""
        if not self._may_keep(loan):
            return 0
        budget, held = self._budget, length + CHUNK_OVERHEAD
        room = min(budget.room, budget.each - loan.held) + loan.early_held
        return min(min(EARLY_SEGMENTS, room // held) * length, EARLY_OCTETS - length)

    @staticmethod
    def _may_keep(loan: Loan) -> bool:
        """Tell whether segments may be kept; this does not change as long as there are any."""
        is_acknowledged = (loan.seq - loan.peer.ack) & _MASK >= _BEHIND
        return not (loan.markers or loan.begins_phase or is_acknowledged)

    def hand_over(self, loan: Loan) -> None:
        """Be done with segments behind a hole, which the caller has taken over."""
        loan.early = ()
        loan.early_held = 0
        self._weigh(loan)

    def take_back(self, loan: Loan, early: list[tuple[int, bytes, int]]) -> None:
        """Keep segments behind a hole again; there is room for them."""
        position, octets, _ = early[-1]
        loan.early = early
        loan.early_end = position + len(octets)
        loan.early_held = sum(len(each) + CHUNK_OVERHEAD for _, each, _ in early)
        loan.quick_seq = -1
        self._weigh(loan)

    def keep(self, loan: Loan, seq: int, octets: bytes, number: int) -> bool:
        """Keep a segment that lies beyond a hole, if that may be; tell whether it may."""
        early = loan.early
        length = len(octets)
        ahead = (seq - loan.seq) & _MASK
        position = loan.end + ahead
        budget = self._budget
        held = length + CHUNK_OVERHEAD
        holds = loan.held + held
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
            loan.early = [(position, octets, number)]
            loan.early_end = position + length
            loan.quick_seq = -1
            self.holders[loan] = None
        elif position >= loan.early_end:
            early.append((position, octets, number))
            loan.early_end = position + length
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
        loan.early_held += held
        loan.held = holds
        budget.room -= held
        return True

    def fill(self, loan: Loan, octets: bytes, number: int, moment: Any) -> bool:
        """Take a segment before a hole, and what lies behind the hole if it fills it.

        Return False if the segment cannot be taken; the loan is then as it was.
        """
        early = loan.early
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
        if not self._read_each(loan, run, number, moment):
            self._page.cut(mark)
            if not self._take_run(loan, run, number, moment):
                self._page.cut(mark)
                return False
        self._recent.remember_run(loan.owner, run, end - begin)
        loan.early_held -= end - begin - len(octets) + CHUNK_OVERHEAD * (len(run) - 1)
        loan.early = early[len(run) - 1 :] or ()
        self._moved(loan, end)
        return True

    def _read_each(
        self, loan: Loan, run: list[tuple[int, bytes, int]], number: int, moment: Any
    ) -> bool:
        """Pass on the FPDUs of segments in a row if each is one of its own, and sound.

        That is most of a bulk transfer, and nothing need be joined and cut out again.

        Return False if one is not; all is then as it was, but for what was written.
        """
        if not (self.is_quick and loan.crc) or loan.pieces:
            return False
        writes, find, unmarked = self.writes, self.shapes.find, self.shapes.unmarked
        lines, fields = self._page.patterns, self._page.fields
        unpack = FPDU_HEADERS.unpack_from
        head = self._head % (number, moment, loan.label) if writes else b""
        last = -1
        length, tagged, usual, line = 0, False, b"", b""
        for position, octets, _ in run:
            size = len(octets)
            if size < SHORTEST:
                return False
            word, first, second, third = unpack(octets)
            if word != last:
                length, tagged, _, (usual, line), _ = unmarked.get(word) or find(word, None)
                last = word
            if length != size or crc32c(octets) != RESIDUE:
                return False
            if writes:
                if tagged:
                    lines.append(usual if first > SEVEN_DIGITS else line)
                    fields += (head, first, second, position & _MASK)
                elif third or second > LOW_MSN:
                    lines.append(line)
                    fields += (head, second >> 32, second & _MASK, third, position & _MASK)
                else:
                    lines.append(usual)
                    fields += (head, second, position & _MASK)
        loan.fpdus += len(run)
        return True

    def _take_run(
        self, loan: Loan, run: list[tuple[int, bytes, int]], number: int, moment: Any
    ) -> bool:
        """Take segments in a row, in FPDUs of any size and place.

        Return False if they cannot be taken; all is then as it was, but for what was written.
        """
        before = loan.end, loan.last, loan.tail, loan.pieces, loan.missing, loan.fpdus
        if loan.pieces:
            loan.pieces = loan.pieces.copy()
        if self.is_quick and loan.crc:
            # Nobody asks which frame brought what, unless an FPDU is left over.
            data = b"".join([each for _, each, _ in run])
            sound = self.take(loan, data, number, number, moment) == len(data)
            if sound and loan.pieces:
                start = loan.pieces[0].position
                pieces = [Chunk(*each).behind(start) for each in (*before[3], *run)]
                loan.pieces = [piece for piece in pieces if piece.octets]
        else:
            sound = all(
                self.take(loan, each, brought_by, number, moment) == len(each)
                for _, each, brought_by in run
            )
        if not sound:
            end, loan.last, loan.tail, loan.pieces, loan.missing, loan.fpdus = before
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
        is_quick = self.is_quick and loan.crc
        loan.quick_seq = loan.seq if is_quick and not (loan.pieces or loan.early) else -1
        if loan.held or loan.pieces or loan.tail:
            self._weigh(loan)

    def _weigh(self, loan: Loan) -> None:
        """Count anew what a loan holds: segments behind a hole, and those of an FPDU.

        The latter lie back to back, up to where it ends.
        """
        chunks = (loan.pieces if loan.crc else loan.tail) or loan.pieces
        held = loan.early_held
        if chunks:
            held += loan.end - chunks[0].position + CHUNK_OVERHEAD * len(chunks)
        if held != loan.held:
            self._holds(loan, held)

    def _holds(self, loan: Loan, held: int) -> None:
        """Take note of what a loan holds now."""
        self._budget.room -= held - loan.held
        if held or loan.owner.held:
            self.holders[loan] = None
        else:
            self.holders.pop(loan, None)
        loan.held = held

    # -- FPDUs ---------------------------------------------------------------------------------

    def _read(
        self,
        loan: Loan,
        data: bytes,
        base: int,
        at: int,
        first_frames: Any,
        brought_by: int,
        number: int,
        moment: Any,
    ) -> tuple[int, int, int]:
        """Pass on the sound FPDUs that begin at ``at`` of ``data``, back to back.

        Return where in ``data`` the next one begins, where the last one began, and how many
        octets the next one lacks; 0 if it is all there, and not sound.

        :param base: the position at which ``data`` begins.
        """
        last = at
        markers, crc = loan.markers, loan.crc
        # The first of all says how it was located.
        is_quick = self.is_quick and crc and base != loan.base
        missing = 0
        available = len(data)
        while True:
            if is_quick and markers:
                at = self._read_marked(loan, data, base, at, number, moment)
            elif is_quick and self.writes:
                at = self._read_unmarked(loan, data, base, at, number, moment)
            elif is_quick:
                at = self._count(loan, data, at)
            if at == available:
                break
            phase = (base + at - loan.origin) % MARKER_INTERVAL if markers else None
            header = MARKER_LENGTH if phase == 0 else 0
            body = at + header + HEADER_LENGTH
            if body > available:
                missing = body - available
                break
            ulpdu_length = data[body - 2] << 8 | data[body - 1]
            layout = fpdu_layout(ulpdu_length, phase)
            end = at + layout.length
            if end > available:
                # Without CRCs, a header that makes no sense is not waited for (SoftUiWARP's pads).
                head = data[body : body + UNTAGGED_LENGTH]
                is_there = not (crc or markers) and len(head) == UNTAGGED_LENGTH
                if not is_there or plausible(head, ulpdu_length):
                    missing = end - available
                break
            fpdu = data[at:end]
            if layout.markers:
                if layout.unpack.unpack_from(fpdu) != layout.fpduptrs:
                    break
                inside = [each for each in layout.markers if each < header + _HEAD]
                head = strip_markers(fpdu[: header + _HEAD + MARKER_LENGTH], inside)
                head = head[HEADER_LENGTH : HEADER_LENGTH + min(ulpdu_length, UNTAGGED_LENGTH)]
            else:
                head = fpdu[HEADER_LENGTH : HEADER_LENGTH + min(ulpdu_length, UNTAGGED_LENGTH)]
            if crc:
                if crc32c(fpdu) != RESIDUE:
                    break
            elif not plausible(head, ulpdu_length):
                break
            loan.fpdus += 1
            if self._writing is not None:
                frames = brought_by if at else first_frames
                self._writing.write(loan, number, moment, base + at, fpdu, phase, head, frames)
            last = at
            at = end
        return at, last, missing

    def _count(self, loan: Loan, data: bytes, at: int) -> int:
        """Do what :meth:`_read_unmarked` does where nothing is written.

        Nothing counts then but where an FPDU ends, and its CRC.

        Return where the first FPDU begins that is not easy.
        """
        available = len(data)
        if available - at < HEADER_LENGTH:
            return at
        steps = self._steps
        fpdus = 0
        (ulpdu_length,) = _ULPDU_LENGTH.unpack_from(data, at)
        length, unpack = steps.get(ulpdu_length) or self._step(ulpdu_length)
        end = at + length
        enough = available - HEADER_LENGTH
        while end <= enough:
            octets, ulpdu_length = unpack(data, at)
            if crc32c(octets) != RESIDUE:
                break
            fpdus += 1
            at = end
            try:
                length, unpack = steps[ulpdu_length]
            except KeyError:
                length, unpack = self._step(ulpdu_length)
            end = at + length
        else:
            if end <= available and crc32c(data[at:end]) == RESIDUE:
                fpdus += 1
                at = end
        loan.fpdus += fpdus
        return at

    def _step(self, ulpdu_length: int) -> _Step:
        """Return how an FPDU without Markers is passed, and have it at hand from now on."""
        steps = self._steps
        if len(steps) >= _MOST_STEPS:
            steps.clear()
        length = ulpdu_length + _AROUND & _IN_WORDS
        step = steps[ulpdu_length] = length, Struct(f">{length}sH").unpack_from
        return step

    def _read_unmarked(
        self, loan: Loan, data: bytes, base: int, at: int, number: int, moment: Any
    ) -> int:
        """Do what :meth:`_read` does, with CRCs and without Markers, as long as it is easy.

        Return where the first FPDU begins that is not.

        :param base: the position at which ``data`` begins.
        :param at: where in ``data`` to begin.
        """
        find, known = self.shapes.find, self.shapes.unmarked.get
        lines, fields = self._page.patterns, self._page.fields
        unpack = FPDU_HEADERS.unpack_from
        before = len(lines)
        seq = base & _MASK
        available = len(data)
        # Where sequence numbers wrap nothing is easy, so that this need not be seen to elsewhere.
        enough = available - SHORTEST if seq + available <= _MASK else -1
        if at > enough:
            return at
        head = self._head % (number, moment, loan.label)
        while True:
            word, first, second, third = unpack(data, at)
            length, tagged, _, (usual, line), _ = known(word) or find(word, None)
            end = at + length
            if end > available or crc32c(data[at:end]) != RESIDUE:
                break
            # What is usual goes field by field: that takes less than a tuple of them.
            if tagged:
                lines.append(usual if first > SEVEN_DIGITS else line)
                fields.append(head)
                fields.append(first)
                fields.append(second)
                fields.append(seq + at)
            elif third or second > LOW_MSN:
                lines.append(line)
                fields += (head, second >> 32, second & _MASK, third, seq + at)
            else:
                lines.append(usual)
                fields.append(head)
                fields.append(second)
                fields.append(seq + at)
            at = end
            # Asked here, the jump is a short one, which Python takes with less ado.
            if at > enough:
                break
        loan.fpdus += len(lines) - before
        return at

    def _read_marked(
        self, loan: Loan, data: bytes, base: int, at: int, number: int, moment: Any
    ) -> int:
        """Do the same with Markers; write only if that is wanted."""
        writes, find, known = self.writes, self.shapes.find, self.shapes.marked.get
        lines, fields = self._page.patterns, self._page.fields
        unpack = FPDU_HEADERS.unpack_from
        seq = base & _MASK
        phase_of = base - loan.origin
        fpdus = 0
        available = len(data)
        enough = available - SHORTEST - MARKER_LENGTH
        head = self._head % (number, moment, loan.label) if writes else b""
        while at <= enough:
            phase = (phase_of + at) % MARKER_INTERVAL
            header = at if phase else at + MARKER_LENGTH
            word, first, second, third = unpack(data, header)
            shape = known(word * MARKER_INTERVAL + phase) or find(word, phase)
            length, tagged, _, (usual, line), pointers = shape
            end = at + length
            if (
                end > available
                or crc32c(data[at:end]) != RESIDUE
                or (pointers is not None and pointers.unpack(data, at) != pointers.fpduptrs)
            ):
                break
            if writes:
                if tagged:
                    lines.append(usual if first > SEVEN_DIGITS else line)
                    fields += (head, first, second, seq + header & _MASK)
                elif third or second > LOW_MSN:
                    lines.append(line)
                    fields += (head, second >> 32, second & _MASK, third, seq + header & _MASK)
                else:
                    lines.append(usual)
                    fields += (head, second, seq + header & _MASK)
            fpdus += 1
            at = end
        loan.fpdus += fpdus
        return at
