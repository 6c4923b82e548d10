# SPDX-License-Identifier: GPL-2.0-or-later
"""What must or may be said of an FPDU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from .headers import Header


class Statement(NamedTuple):
    """What is said of an FPDU, by the names that records have."""

    seq: int
    ulpdu_length: int
    markers: int
    crc: str
    header: Header
    payload: bytes


@dataclass(frozen=True)
class Wanted:
    """An FPDU that there is to be found."""

    statement: Statement
    offset: int
    """Of its ULPDU_Length field in the Full Operation Phase."""
    is_required: bool
    is_cut: bool
    """Any part of the payload will do, from its beginning."""
    may_be_unknown: bool = False
    """Of its CRC it may be said that it is unknown."""
    unmarked: Statement | None = None
    """What it says read without Markers: it lies about its length, and nobody knows of any."""
    in_time: Statement | None = None
    """What was captured of it in time, if copies came later that brought more."""

    def statement_with(self, markers: int) -> Statement:
        """What there is to be said if it is said to hold so many Markers."""
        return self.unmarked if self.unmarked is not None and markers == 0 else self.statement

    def is_said_by(self, statement: Statement) -> bool:
        """Whether a statement says this."""
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
