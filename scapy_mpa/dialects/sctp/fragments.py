# SPDX-License-Identifier: GPL-2.0-or-later
"""User messages that were sent in several DATA chunks (RFC 4960 6.9).

Fragments have consecutive TSNs; the first has B set, the last E.  They may come in any order.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from scapy_mpa.stream.events import CrcVerdict
from scapy_mpa.wire.sctp_chunks import DataChunk

_HELD_BY_EACH: Final = 600
"""Octets of memory that a fragment takes besides its user data, roughly."""


class UserMessage(NamedTuple):
    """A user message, or a fragment of a user message."""

    position: int
    """Position of the TSN of its first DATA chunk."""
    chunk: DataChunk
    """One chunk with the captured user data of all its chunks."""
    frames: tuple[int, ...]
    """The captured frames that brought its chunks, by TSN."""
    frame: int
    """The frame that completed it."""
    time_ns: int
    crc: CrcVerdict


class Fragments:
    """The incomplete user messages of one direction."""

    __slots__ = ("_fragments", "_other_end", "held")

    def __init__(self) -> None:
        self._fragments: dict[int, UserMessage] = {}
        """By position."""
        self._other_end: dict[int, int] = {}
        """In each run of consecutive fragments, the last position by the first, and the reverse."""
        self.held = 0
        """Octets of memory taken, roughly."""

    def take(self, fragment: UserMessage) -> UserMessage | None:
        """Take a fragment; return the whole message if this completes it."""
        fragments, other_end = self._fragments, self._other_end
        first = last = fragment.position
        fragments[first] = fragment
        self.held += len(fragment.chunk.user_data) + _HELD_BY_EACH
        if self._goes_on(first - 1):
            first = other_end.pop(first - 1)
        if self._goes_on(last):
            last = other_end.pop(last + 1)
        other_end[first], other_end[last] = last, first
        if not (fragments[first].chunk.beginning and fragments[last].chunk.ending):
            return None
        other_end.pop(first)
        other_end.pop(last, None)
        pieces = [fragments.pop(position) for position in range(first, last + 1)]
        self.held -= sum(len(each.chunk.user_data) + _HELD_BY_EACH for each in pieces)
        return _joined(pieces, fragment)

    def _goes_on(self, position: int) -> bool:
        """True if the fragments at a position and after it may belong to one message."""
        here, after = self._fragments.get(position), self._fragments.get(position + 1)
        return not (here is None or after is None or here.chunk.ending or after.chunk.beginning)

    def clear(self) -> None:
        """Forget all fragments."""
        self._fragments.clear()
        self._other_end.clear()
        self.held = 0


def _joined(pieces: list[UserMessage], last: UserMessage) -> UserMessage:
    """Return the message of these fragments, up to the first one that the snap length cut."""
    octets = []
    for each in pieces:
        octets.append(each.chunk.user_data)
        if len(each.chunk.user_data) < each.chunk.length:
            break
    chunk = pieces[0].chunk._replace(
        user_data=b"".join(octets),
        length=sum(each.chunk.length for each in pieces),
        flags=pieces[0].chunk.flags | pieces[-1].chunk.flags,
    )
    frames = tuple(dict.fromkeys(each.frame for each in pieces))
    crc: CrcVerdict = "good" if all(each.crc == "good" for each in pieces) else "unknown"
    return last._replace(position=pieces[0].position, chunk=chunk, frames=frames, crc=crc)
