# SPDX-License-Identifier: GPL-2.0-or-later
"""DATA chunks that came to nothing, though nothing else tells of them."""

from __future__ import annotations

from collections import Counter
from typing import Final

__all__ = ["BEFORE_FIRST", "CUT", "FORGOTTEN", "INCOMPLETE", "UNPROVEN", "Dropped"]

INCOMPLETE: Final = "SCTP message incomplete"
"""Fragments of a user message of which others did not come, or not in time (RFC 4960 6.9), unless
its DDP-SSN is reported as missing."""
BEFORE_FIRST: Final = "SCTP TSN before the first"
"""A TSN below the Initial TSN of its direction (RFC 4960 3.3.2)."""
FORGOTTEN: Final = "SCTP TSN in a forgotten hole"
"""A TSN of which it is not known any more whether it has come before."""
CUT: Final = "SCTP chunk cut"
"""The snap length left too little of it to place it."""
UNPROVEN: Final = "SCTP chunk before DDP was shown"
"""It has a PPID of DDP, and was no DDP for all that was known when it came."""


class Dropped:
    """Counts the frames that brought such chunks, by reason."""

    __slots__ = ("_last", "frames")

    def __init__(self) -> None:
        self.frames: Counter[str] = Counter()
        """By reason, how many."""
        self._last: dict[str, int] = {}
        """By reason, the last one: it may have brought several."""

    def add(self, reason: str, frame: int) -> None:
        """Count a frame, unless it was the last one to be counted for this reason."""
        if self._last.get(reason) != frame:
            self._last[reason] = frame
            self.frames[reason] += 1
