# SPDX-License-Identifier: GPL-2.0-or-later
"""The sound FPDUs of a direction on loan, of any size and place: checked, counted and written.

Where a method is asked for a ``moment``, that is the time of the frame that is being read: for
patterns in seconds since the first frame, else in nanoseconds since the epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from scapy_mpa.express.headers import FPDU_HEADERS
from scapy_mpa.express.page import Page
from scapy_mpa.express.shapes import LOW_MSN, SEVEN_DIGITS, Shapes
from scapy_mpa.stream.connections.loan import Loan
from scapy_mpa.wire.crc import RESIDUE, crc32c
from scapy_mpa.wire.ddp import UNTAGGED_LENGTH
from scapy_mpa.wire.fpdu import (
    HEADER_LENGTH,
    MARKER_INTERVAL,
    MARKER_LENGTH,
    fpdu_layout,
    fpdu_length,
    strip_markers,
)
from scapy_mpa.wire.rdmap import plausible

if TYPE_CHECKING:
    from scapy_mpa.records.kinds import Patterns, Templates

__all__ = ["SHORTEST", "SoundFPDUs"]

SHORTEST: Final = 28
"""Octets of the shortest FPDU in which either DDP header is there for sure."""
_ULPDU_LENGTH: Final = Struct(">H")
_MOST_STEPS: Final = 4096
"""ULPDU_Lengths of which it is kept how their FPDUs are passed."""
_MASK: Final = 0xFFFFFFFF
_HEAD: Final = HEADER_LENGTH + UNTAGGED_LENGTH

_Step: TypeAlias = tuple[int, Callable[..., tuple[Any, ...]]]
"""Octets of an FPDU, and what gives them, with the ULPDU_Length behind: both at once takes less."""


class SoundFPDUs:
    """Passes them on, up to the first that is not sound.

    :param writer: how FPDUs are written; None: they are only counted.
    :param page: where they are written.
    :param unit: nanoseconds in a unit of the fraction of a connection on loan.
    """

    def __init__(self, writer: Patterns | Templates | None, page: Page, unit: int) -> None:
        self._page = page
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
        self.writes = patterns is not None
        """Whether FPDUs are written by patterns."""
        self.is_quick = self.writes or writer is None
        """Whether they are written so, or not at all."""

    def begin(self, loan: Loan) -> None:
        """Prepare a fresh loan."""
        if self._writing is not None:
            self._writing.begin(loan)

    def align(self, loans: Mapping[bytes, Loan]) -> None:
        """Have the labels of all loans as wide as the widest that was written so far."""
        if self._writing is not None:
            self._writing.align(loans)

    def read(
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
        origin = loan.origin
        # The first of all says how it was located.
        is_quick = self.is_quick and crc and base != loan.base
        missing = 0
        available = len(data)
        while True:
            if is_quick:
                at = self.read_easy(loan, data, base, at, number, moment)
            if at == available:
                break
            phase = (base + at - origin) % MARKER_INTERVAL if markers else None
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

    def read_easy(
        self, loan: Loan, data: bytes, base: int, at: int, number: int, moment: Any
    ) -> int:
        """Pass on FPDUs that begin at ``at`` of ``data``, back to back, as long as it is easy.

        The direction has CRCs, none of them is its first FPDU, and they are written by patterns or
        not at all.

        Return where the first one begins that is not easy, and may be sound for all that.

        :param base: the position at which ``data`` begins.
        """
        if loan.markers:
            return self._read_marked(loan, data, base, at, number, moment)
        if self.writes:
            return self._read_unmarked(loan, data, base, at, number, moment)
        return self._count(loan, data, at)

    def read_each(
        self, loan: Loan, run: list[tuple[int, bytes, int]], number: int, moment: Any
    ) -> bool:
        """Pass on the FPDUs of segments in a row if each is one of its own, and sound.

        That is most of a bulk transfer, and nothing need be joined and cut out again.

        Return False if one is not; all is then as it was, but for what was written.
        """
        if not (self.is_quick and loan.crc) or loan.waiting.pieces:
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

    def _read_unmarked(
        self, loan: Loan, data: bytes, base: int, at: int, number: int, moment: Any
    ) -> int:
        """Do what :meth:`read_easy` does without Markers."""
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

    def _count(self, loan: Loan, data: bytes, at: int) -> int:
        """Do the same where nothing is written.

        Nothing counts then but where an FPDU ends, and its CRC.
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
        length = fpdu_length(ulpdu_length)
        step = steps[ulpdu_length] = length, Struct(f">{length}sH").unpack_from
        return step
