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
    """Of its ULPDU_Length field in the Full Operation Phase."""
    is_required: bool
    is_cut: bool
    """Any part of the payload is enough, from its beginning."""
    may_be_unknown: bool = False
    """Its CRC may be reported as unknown."""
    unmarked: Statement | None = None
    """The report if its length is wrong and Markers are unknown: read without them."""
    in_time: Statement | None = None
    """The report of what was captured in time, if later copies brought more."""

    def statement_with(self, markers: int) -> Statement:
        """What must be reported if a report says that it holds so many Markers."""
        return self.unmarked if self.unmarked is not None and markers == 0 else self.statement

    def is_reported_by(self, statement: Statement) -> bool:
        """Whether a statement reports this."""
        mine = self.statement_with(statement.markers)
        early = self.in_time
        if self.may_be_unknown and statement.crc == "unknown":
            mine = mine._replace(crc="unknown")
            early = early and early._replace(crc="unknown")
        if early is not None and statement.crc == early.crc:
            payload = statement.payload
            return (
                statement._replace(header=early.header, payload=b"") == early._replace(payload=b"")
                and statement.header in (early.header, mine.header)
                and mine.payload.startswith(payload)
                and payload.startswith(early.payload)
            )
        if self.is_cut:
            return statement._replace(payload=b"") == mine._replace(
                payload=b""
            ) and mine.payload.startswith(statement.payload)
        return statement == mine
