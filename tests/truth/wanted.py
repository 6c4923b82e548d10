# SPDX-License-Identifier: GPL-2.0-or-later
"""What must or may be reported about an FPDU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from .headers import Header


class Statement(NamedTuple):
    """A report of an FPDU, by the names that records have."""

    seq: int
    ulpdu_length: int
    markers: int
    crc: str
    header: Header
    payload: bytes


@dataclass(frozen=True)
class Wanted:
    """An FPDU to be found."""

    statement: Statement
    offset: int
    """The offset of its ULPDU_Length field in the Full Operation Phase."""
    is_required: bool
    is_cut: bool
    """Any first part of the payload is enough."""
    may_be_unknown: bool = False
    """Its CRC may be reported as unknown."""
    unmarked: Statement | None = None
    """The report without Markers, if its length is wrong and places of Markers are unknown."""
    in_time: Statement | None = None
    """The report of the first copies alone, if later copies brought more octets."""

    def statement_with(self, markers: int) -> Statement:
        """The right statement for a report with so many Markers."""
        return self.unmarked if self.unmarked is not None and markers == 0 else self.statement

    def is_reported_by(self, statement: Statement) -> bool:
        """Whether a statement is a right report of this FPDU."""
        full = self.statement_with(statement.markers)
        early = self.in_time
        if self.may_be_unknown and statement.crc == "unknown":
            full = full._replace(crc="unknown")
            early = early and early._replace(crc="unknown")
        if early is not None and statement.crc == early.crc:
            payload = statement.payload
            return (
                statement._replace(header=early.header, payload=b"") == early._replace(payload=b"")
                and statement.header in (early.header, full.header)
                and full.payload.startswith(payload)
                and payload.startswith(early.payload)
            )
        if self.is_cut:
            return statement._replace(payload=b"") == full._replace(
                payload=b""
            ) and full.payload.startswith(statement.payload)
        return statement == full
