# SPDX-License-Identifier: GPL-2.0-or-later
"""What is done to a direction on loan: FPDUs of any size and place, as long as they are sound."""

from __future__ import annotations

from struct import Struct
from typing import Any, Final

from scapy_mpa.records.kinds import FPDUKind, Templates
from scapy_mpa.stream.events import FPDURecovered
from scapy_mpa.stream.islands import Chunk
from scapy_mpa.stream.loan import Loan
from scapy_mpa.wire.crc import RESIDUE, crc32c
from scapy_mpa.wire.ddp import TAGGED_LENGTH, UNTAGGED_LENGTH
from scapy_mpa.wire.fpdu import (
    HEADER_LENGTH,
    MARKER_INTERVAL,
    MARKER_LENGTH,
    fpdu_layout,
    strip_markers,
)
from scapy_mpa.wire.rdmap import plausible

__all__ = ["Borrower"]

_TAGGED: Final = Struct(">2xIQ")
_UNTAGGED: Final = Struct(">2xIIII")
_MASK: Final = 0xFFFFFFFF
_COUNTED: Final = object()
"""Stands for a template where nothing is written."""
_HEAD: Final = HEADER_LENGTH + UNTAGGED_LENGTH


class Borrower:
    """Brings loans up to date.

    :param templates: how FPDUs are written; None: they are only counted.
    :param lines: where lines are put.
    """

    def __init__(self, templates: Templates | None, lines: list[str]) -> None:
        self._templates = templates
        self._lines = lines
        self.writes = templates is not None

    def take(self, loan: Loan, octets: bytes, number: int, time_ns: int) -> int:
        """Take the payload of a segment that continues a direction.

        Return how many octets of it were taken: all, or those before an FPDU that is not sound.
        """
        begin = loan.end
        pieces = loan.pieces
        if len(octets) < loan.missing and pieces:
            pieces.append(Chunk(begin, octets, number))
            loan.missing -= len(octets)
            self._moved(loan, begin + len(octets))
            return len(octets)
        first_frames: Any = number
        data = octets
        if pieces:
            data = b"".join([*(piece.octets for piece in pieces), octets])
            numbers = dict.fromkeys((*(piece.frame for piece in pieces), number))
            first_frames = ",".join(map(str, numbers))
        base = loan.start
        available = len(data)
        crc = loan.crc
        read = self._read_simple if crc and not loan.markers else self._read
        at, last, missing = read(loan, data, number, first_frames, time_ns)
        if missing == 0 and at < available and not at and pieces:
            # The first FPDU is not sound: this segment was not taken at all.
            return 0
        if at:
            loan.last = base + last
            loan.tail = [] if crc else [Chunk(base + last, data[last:at], number)]
        loan.start = base + at
        if missing or at == available:
            if at or not pieces:
                loan.pieces = [Chunk(base + at, data[at:], number)] if at < available else []
            else:
                pieces.append(Chunk(begin, octets, number))
            loan.missing = missing
            self._moved(loan, base + available)
            return len(octets)
        loan.pieces = []
        loan.missing = 0
        self._moved(loan, base + at)
        return base + at - begin

    def _read_simple(
        self, loan: Loan, data: bytes, number: int, first_frames: Any, time_ns: int
    ) -> tuple[int, int, int]:
        """Do what :meth:`_read` does, with CRCs and without Markers, where it takes least."""
        templates, append = loan.templates, self._lines.append
        base, offset_base = loan.start, loan.base
        at = last = fpdus = 0
        missing = 0
        available = len(data)
        while at < available:
            if available - at < HEADER_LENGTH:
                missing = HEADER_LENGTH - (available - at)
                break
            ulpdu_length = data[at] << 8 | data[at + 1]
            end = at + (ulpdu_length + 5 & ~3) + 4
            if end > available:
                missing = end - available
                break
            fpdu = data[at:end]
            if crc32c(fpdu) != RESIDUE:
                break
            template = templates.get(fpdu[2:4])
            if not self.writes:
                if template is None:
                    templates[fpdu[2:4]] = _COUNTED
            elif template is None or ulpdu_length < UNTAGGED_LENGTH:
                head = fpdu[HEADER_LENGTH : HEADER_LENGTH + min(ulpdu_length, UNTAGGED_LENGTH)]
                brought_by = number if at else first_frames
                self._write(loan, number, time_ns, base + at, fpdu, None, head, brought_by)
            else:
                position = base + at
                append(
                    template(
                        number,
                        time_ns,
                        position & _MASK,
                        None if offset_base is None else position - offset_base,
                        ulpdu_length,
                        number if at else first_frames,
                        *(_TAGGED if fpdu[2] & 0x80 else _UNTAGGED).unpack_from(fpdu, 2),
                    )
                )
            fpdus += 1
            last = at
            at = end
        loan.fpdus += fpdus
        return at, last, missing

    def _read(
        self, loan: Loan, data: bytes, number: int, first_frames: Any, time_ns: int
    ) -> tuple[int, int, int]:
        """Pass on the sound FPDUs with which ``data`` begins.

        Return where in ``data`` the next one begins, where the last one began, and how many
        octets the next one lacks; 0 if it is all there, and not sound.
        """
        base = loan.start
        markers, crc = loan.markers, loan.crc
        missing = 0
        at = last = 0
        available = len(data)
        while at < available:
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
            if not self.writes:
                loan.templates[head[:2]] = _COUNTED
            else:
                brought_by = number if at else first_frames
                self._write(loan, number, time_ns, base + at, fpdu, phase, head, brought_by)
            last = at
            at = end
        return at, last, missing

    @staticmethod
    def _moved(loan: Loan, end: int) -> None:
        loan.end = end
        loan.seq = end & _MASK
        loan.is_simple = loan.crc and not loan.markers and not loan.pieces

    def _write(
        self,
        loan: Loan,
        number: int,
        time_ns: int,
        start: int,
        fpdu: bytes,
        phase: int | None,
        head: bytes,
        frames: Any,
    ) -> None:
        """Write an FPDU."""
        templates = self._templates
        assert templates is not None
        header = MARKER_LENGTH if phase == 0 else 0
        ulpdu_length = int.from_bytes(fpdu[header : header + HEADER_LENGTH], "big")
        layout = fpdu_layout(ulpdu_length, phase)
        position = start + header
        offset = None if loan.base is None else position - loan.base
        control = head[:2]
        tagged = control >= b"\x80"
        if len(head) >= (TAGGED_LENGTH if tagged else UNTAGGED_LENGTH):
            count = len(layout.markers)
            key: Any = (control, count) if count else control
            template = loan.templates.get(key)
            if template is None and key not in loan.templates:
                kind = FPDUKind(
                    loan.connection,
                    loan.direction,
                    control,
                    count,
                    "good" if loan.crc else "off",
                    "length",
                    False,
                )
                template = templates.tagged(kind) if tagged else templates.untagged(kind)
                loan.templates[key] = template
            if template is not None:
                fields = (_TAGGED if tagged else _UNTAGGED).unpack_from(head)
                self._lines.append(
                    template(
                        number, time_ns, position & _MASK, offset, ulpdu_length, frames, *fields
                    )
                )
                return
        self._lines.append(
            templates.line(
                FPDURecovered(
                    loan.connection,
                    loan.direction,
                    number,
                    time_ns,
                    position & _MASK,
                    offset,
                    ulpdu_length,
                    fpdu,
                    phase,
                    len(layout.markers),
                    "good" if loan.crc else "off",
                    "length",
                    False,
                    tuple(map(int, str(frames).split(","))),
                )
            )
        )
