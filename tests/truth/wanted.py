# SPDX-License-Identifier: GPL-2.0-or-later
"""What must or may be reported about an FPDU."""

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

    def is_reported_by(self, statement: Statement) -> bool:
        """Whether a statement is a right report of this FPDU."""
        full, early = self.statement, self.in_time
        if self.unmarked is not None and statement.markers == 0:
            full = self.unmarked
        if self.may_be_unknown and statement.crc == "unknown":
            full = full._replace(crc="unknown")
            early = early and early._replace(crc="unknown")
        payload = statement.payload
        if early is not None and statement.crc == early.crc:
            is_begun = full.payload.startswith(payload) and payload.startswith(early.payload)
            headers = early.header, full.header
            same = early._replace(header=statement.header, payload=payload)
            return is_begun and statement.header in headers and statement == same
        if self.is_cut:
            return statement == full._replace(payload=payload) and full.payload.startswith(payload)
        return statement == full
