# SPDX-License-Identifier: GPL-2.0-or-later
"""DATA chunks of one direction, in the order of their TSNs (RFC 4960 3.3.1).

A chunk waits until all earlier ones have come.  So whoever takes the chunks from here never sees
disorder, only holes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from scapy_mpa.stream.events import CrcVerdict, GapReason
from scapy_mpa.stream.limits import LATE_SEGMENTS
from scapy_mpa.stream.sequence import first_position, unwrap
from scapy_mpa.wire.sctp_chunks import DataChunk

WAITING_CHUNKS: Final = 4096
"""Chunks of one direction that wait for earlier ones, at most: an eighth of the chunks that RFC
5043 10 allows in flight.  If there are more, the first hole is given up."""

HELD_BY_EACH: Final = 600
"""Octets of memory that a waiting chunk takes besides its user data, roughly."""


class Captured(NamedTuple):
    """A DATA chunk, or a user message that several chunks make up, and the packets with it."""

    chunk: DataChunk
    frames: tuple[int, ...]
    """The captured frames that brought it, by TSN."""
    frame: int
    """The last of them."""
    time_ns: int
    crc: CrcVerdict
    ahead: int
    """TSNs from the first missing one to this one, when it was captured."""

    @property
    def held(self) -> int:
        """Octets of memory taken, roughly."""
        return len(self.chunk.user_data) + HELD_BY_EACH


class TSNOrder:
    """The order of TSNs in one direction, as positions that never wrap."""

    __slots__ = ("_acknowledged", "_next", "_waiting", "held", "missing")

    def __init__(self) -> None:
        self._next: int | None = None
        """The position of the next TSN; None before the first one."""
        self._waiting: dict[int, Captured] = {}
        """By position, the chunks after the first hole."""
        self._acknowledged = -1
        """The position up to which the peer has acknowledged all TSNs."""
        self.missing: GapReason | None = "acknowledged"
        """Why the last missing TSN is not waited for; None if all were captured since the Initial
        TSN."""
        self.held = 0
        """Octets of memory that waiting chunks take, roughly; also those that wait for DDP-SSNs."""

    def begin(self, tsn: int) -> None:
        """Take the Initial TSN, before any other TSN (RFC 4960 3.3.2)."""
        self._next = first_position(tsn)
        self.missing = None

    @property
    def is_empty(self) -> bool:
        """True if neither a TSN nor the Initial TSN has come."""
        return self._next is None

    @property
    def is_complete(self) -> bool:
        """True if the peer has acknowledged exactly the captured TSNs, and none is missing."""
        return self.missing is None and self._acknowledged + 1 == self._next

    def acknowledge(self, tsn: int) -> None:
        """Note a Cumulative TSN Ack of the peer (RFC 4960 3.3.4)."""
        self._acknowledged = max(self._acknowledged, self._position(tsn))

    def _position(self, tsn: int) -> int:
        return first_position(tsn) if self._next is None else unwrap(tsn, self._next)

    def take(self, captured: Captured) -> bool:
        """Take a chunk; return False if it came before, or is not waited for any longer."""
        position = self._position(captured.chunk.tsn)
        if self._next is None:
            self._next = position
        if position < self._next or position in self._waiting:
            return False
        captured = captured._replace(ahead=position - self._next)
        self._waiting[position] = captured
        self.held += captured.held
        return True

    def due(self, give_up: GapReason | None = None) -> Iterator[tuple[Captured, bool]]:
        """Yield the chunks whose turn it is; with each, whether TSNs are missing before it.

        :param give_up: why no missing TSN is waited for any longer; None to wait.
        """
        waiting = self._waiting
        while waiting:
            is_hole = self._next not in waiting
            if is_hole:
                first = min(waiting)
                missing = give_up or self._lost_before(first)
                if missing is None:
                    return
                self._next, self.missing = first, missing
            assert self._next is not None
            captured = waiting.pop(self._next)
            self._next += 1
            self.held -= captured.held
            yield captured, is_hole

    def _lost_before(self, position: int) -> GapReason | None:
        """Return why the TSNs missing before a position are not waited for; None if they are."""
        if self._acknowledged + 1 >= position and len(self._waiting) > LATE_SEGMENTS:
            return "acknowledged"
        return "limit" if len(self._waiting) > WAITING_CHUNKS else None
