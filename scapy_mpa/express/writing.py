# SPDX-License-Identifier: GPL-2.0-or-later
"""How FPDUs of directions on loan are written, other than where many are at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from scapy_mpa.express.page import Page
from scapy_mpa.records.kinds import FPDUKind, Patterns, Templates
from scapy_mpa.stream.connections.loan import Loan
from scapy_mpa.stream.events import CrcVerdict, FPDURecovered, LocatedBy
from scapy_mpa.stream.segment import SECOND
from scapy_mpa.wire.ddp import DDP_HEADER_LENGTHS, TAGGED, TAGGED_FIELDS, UNTAGGED_FIELDS
from scapy_mpa.wire.fpdu import HEADER_LENGTH, MARKER_LENGTH, fpdu_layout

__all__ = ["Writing"]

_MASK: Final = 0xFFFFFFFF
_MOST_WRITERS: Final = 4096
"""Patterns, or functions, that are kept: the latter take some 1000 octets each.  Real traffic has
some twenty; control octets may have any value."""

_PatternsOf: TypeAlias = dict[tuple[bytes, LocatedBy], bytes | None]
_TemplatesOf: TypeAlias = dict[tuple[bytes, int, LocatedBy], Any]


class Writing:
    """Writes FPDUs one by one, and keeps what many have in common.

    :param writer: how FPDUs are written.
    :param page: where they are written.
    :param unit: nanoseconds in a unit of the fraction of a connection on loan.
    """

    def __init__(self, writer: Patterns | Templates, page: Page, unit: int) -> None:
        self._writer = writer
        self._page = page
        self._unit = unit
        self.patterns = writer if isinstance(writer, Patterns) else None
        """What lines are made by; None if it is templates."""
        self._templates = None if isinstance(writer, Patterns) else writer
        # By whether there are CRCs: a pattern for each pair of control octets.
        self._known: tuple[_PatternsOf, _PatternsOf] = {}, {}
        # Likewise, a function for each pair and number of Markers.
        self._made: tuple[_TemplatesOf, _TemplatesOf] = {}, {}
        self._width = 0

    def begin(self, loan: Loan) -> None:
        """Prepare a fresh loan."""
        if not loan.begins_phase:
            self._name(loan)

    def _name(self, loan: Loan) -> None:
        """Give a loan its label, which may need more room than all before it.

        Not before it has an FPDU: perhaps nothing else of its connection is written.
        """
        label = self._writer.label(loan.identity, loan.direction)
        loan.label = label if self.patterns is None else label.encode()

    def align(self, loans: Mapping[bytes, Loan]) -> None:
        """Have the labels of all loans as wide as the widest that was written so far."""
        patterns = self.patterns
        if patterns is not None and patterns.width != self._width:
            self._width = patterns.width
            for loan in loans.values():
                loan.label = loan.label.ljust(self._width)

    def write(
        self,
        loan: Loan,
        number: int,
        moment: Any,
        start: int,
        fpdu: bytes,
        phase: int | None,
        head: bytes,
        frames: Any,
    ) -> None:
        """Write an FPDU."""
        header = MARKER_LENGTH if phase == 0 else 0
        ulpdu_length = int.from_bytes(fpdu[header : header + HEADER_LENGTH], "big")
        position = start + header
        base = loan.base
        offset = None if base is None else position - base
        located_by: LocatedBy = "start" if start == base else "length"
        if located_by == "start":
            self._name(loan)
        tagged = head >= TAGGED
        length = DDP_HEADER_LENGTHS[tagged]
        if len(head) >= length:
            fields = (TAGGED_FIELDS if tagged else UNTAGGED_FIELDS).unpack_from(head)
            if self.patterns is not None:
                pattern = self._pattern(loan, head[:2], located_by)
                if pattern is not None:
                    self._page.patterns.append(pattern)
                    self._page.fields += (
                        number,
                        moment,
                        loan.label,
                        *(fields if tagged else fields[1:]),
                        ulpdu_length - length,
                        position & _MASK,
                    )
                    return
            else:
                template = self._template(loan, head[:2], ulpdu_length, phase, located_by)
                # Clocks and time offsets of captures may lie before 1970.
                if template is not None and moment >= 0:
                    joined = frames if isinstance(frames, int) else ",".join(map(str, frames))
                    line = template(
                        loan.label,
                        number,
                        moment,
                        position & _MASK,
                        offset,
                        ulpdu_length,
                        joined,
                        *fields,
                    )
                    self._page.add((line,))
                    return
        connection = loan.connection
        event = FPDURecovered(
            loan.identity,
            loan.direction,
            number,
            connection.seconds * SECOND + connection.fraction * self._unit,
            position & _MASK,
            offset,
            ulpdu_length,
            fpdu,
            phase,
            len(fpdu_layout(ulpdu_length, phase).markers),
            "good" if loan.crc else "off",
            located_by,
            False,
            (frames,) if isinstance(frames, int) else tuple(frames),
        )
        self._page.add((self._writer.line(event),))

    def _pattern(self, loan: Loan, control: bytes, located_by: LocatedBy) -> bytes | None:
        """Return the pattern for an FPDU with these control octets."""
        key = control, located_by
        known = self._known[loan.crc]
        if key not in known:
            assert self.patterns is not None
            if len(known) >= _MOST_WRITERS:
                known.clear()
            verdict: CrcVerdict = "good" if loan.crc else "off"
            pattern = self.patterns.pattern(control, verdict, located_by, out_of_order=False)
            known[key] = None if pattern is None else pattern.encode() + b"\n"
        return known[key]

    def _template(
        self,
        loan: Loan,
        control: bytes,
        ulpdu_length: int,
        phase: int | None,
        located_by: LocatedBy,
    ) -> Any:
        """Return what writes an FPDU with these control octets and as many Markers."""
        count = len(fpdu_layout(ulpdu_length, phase).markers)
        key = control, count, located_by
        made = self._made[loan.crc]
        if key not in made:
            assert self._templates is not None
            if len(made) >= _MOST_WRITERS:
                made.clear()
            verdict: CrcVerdict = "good" if loan.crc else "off"
            kind = FPDUKind(control, count, verdict, located_by, out_of_order=False)
            make = self._templates.tagged if control >= TAGGED else self._templates.untagged
            made[key] = make(kind)
        return made[key]
