# SPDX-License-Identifier: GPL-2.0-or-later
"""User messages that were sent in several DATA chunks (RFC 4960 6.9).

Fragments have consecutive TSNs; the first has B set, the last E.  They may come in any order.
"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from scapy_mpa.stream.events import CrcVerdict
from scapy_mpa.wire.sctp_chunks import DataChunk

__all__ = ["Fragments", "UserMessage"]

_HELD_BY_EACH: Final = 600
"""Octets of memory that a fragment takes besides its user data, roughly."""


class UserMessage(NamedTuple):
    """A user message, or a fragment of one."""

    position: int
    """Of the TSN of its first DATA chunk."""
    chunk: DataChunk
    """With the user data of all its chunks, as far as they were captured."""
    frames: tuple[int, ...]
    """The captured frames that brought them, by TSN."""
    frame: int
    """The one that completed it."""
    time_ns: int
    crc: CrcVerdict


class Fragments:
    """The incomplete user messages of one direction."""

    __slots__ = ("_by_end", "_by_start", "held")

    def __init__(self) -> None:
        # Runs of consecutive fragments of one message, by the TSN of their first one and by that
        # after their last one.
        self._by_start: dict[int, deque[UserMessage]] = {}
        self._by_end: dict[int, deque[UserMessage]] = {}
        self.held = 0
        """Octets of memory taken, roughly."""

    def take(self, fragment: UserMessage) -> UserMessage | None:
        """Take a fragment; return the whole message if this completes it."""
        start = fragment.position
        end = start + 1
        run = deque((fragment,))
        self.held += len(fragment.chunk.user_data) + _HELD_BY_EACH
        left = None if fragment.chunk.beginning else self._by_end.get(start)
        if left is not None and not left[-1].chunk.ending:
            del self._by_end[start]
            left.append(fragment)
            run = left
            start = run[0].position
        right = None if fragment.chunk.ending else self._by_start.get(end)
        if right is not None and not right[0].chunk.beginning:
            del self._by_start[end]
            end = right[-1].position + 1
            # The shorter one moves.
            if len(run) < len(right):
                right.extendleft(reversed(run))
                run = right
            else:
                run.extend(right)
        if run[0].chunk.beginning and run[-1].chunk.ending:
            self._by_start.pop(start, None)
            self._by_end.pop(end, None)
            self.held -= sum(map(_held, run))
            return _joined(run, fragment)
        self._by_start[start] = run
        self._by_end[end] = run
        return None

    def drop_oldest(self) -> bool:
        """Forget the fragments that have waited for longest; return whether there were any.

        They are consecutive ones of one message, the first of which may be missing.
        """
        if not self._by_start:
            return False
        run = self._by_start.pop(next(iter(self._by_start)))
        self._by_end.pop(run[-1].position + 1, None)
        self.held -= sum(map(_held, run))
        return True


def _held(fragment: UserMessage) -> int:
    return len(fragment.chunk.user_data) + _HELD_BY_EACH


def _joined(run: deque[UserMessage], last: UserMessage) -> UserMessage:
    """Return the message that fragments make; what follows one that was cut is left out."""
    first = run[0]
    pieces = []
    for each in run:
        pieces.append(each.chunk.user_data)
        if len(each.chunk.user_data) < each.chunk.length:
            break
    flags = first.chunk.flags | run[-1].chunk.flags
    chunk = first.chunk._replace(
        user_data=b"".join(pieces), length=sum(each.chunk.length for each in run), flags=flags
    )
    frames = tuple(dict.fromkeys(each.frames[0] for each in run))
    crc: CrcVerdict = "good" if all(each.crc == "good" for each in run) else "unknown"
    return UserMessage(first.position, chunk, frames, last.frame, last.time_ns, crc)
