# SPDX-License-Identifier: GPL-2.0-or-later
"""All SCTP associations of a capture: packets in, events out."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

from scapy_mpa.dialects.sctp.association import Association
from scapy_mpa.dialects.sctp.packet import SctpPacket
from scapy_mpa.stream.budget import Budget
from scapy_mpa.stream.events import Ending, Event, GapReason
from scapy_mpa.stream.limits import Limits, limits_of
from scapy_mpa.stream.lingering import Lingering
from scapy_mpa.stream.segment import SECOND
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.sctp_packet import ChunkType

_BEGINNINGS: Final = frozenset({ChunkType.INIT, ChunkType.INIT_ACK})
_OPENING: Final = _BEGINNINGS | {ChunkType.DATA}
"""Chunks with which an unknown association may begin in the capture.  Others carry no data."""
_ENDS: Final = frozenset({ChunkType.ABORT, ChunkType.SHUTDOWN, ChunkType.SHUTDOWN_COMPLETE})

_HELD_BY_ASSOCIATION: Final = 2560
_HELD_BY_SESSION: Final = 2304
"""Octets of memory that an association and a session take, roughly, without waiting chunks."""


class Associations:
    """Takes SCTP packets in the order of capture, and returns events.

    :param number: returns the number of the next connection; each DDP Stream Session is one.
    :param limits: limits of memory.  ``connections`` limits associations, and also sessions.  Their
        memory counts toward ``octets_in_total``.
    :param dialect: the dialect forced by the user.  With DDP over SCTP, chunks with its PPIDs are
        DDP without further evidence.  With the draft before RFC 6581, control flags have its
        meaning.
    """

    def __init__(
        self,
        number: Callable[[], int],
        limits: Limits | None = None,
        dialect: Dialect | None = None,
    ) -> None:
        self._number = number
        self._dialect = dialect
        self._limits = limits_of(limits)
        self._budget = Budget(self._limits)
        self._events: list[Event] = []
        self._by_flow: dict[bytes, Association] = {}
        self._live: OrderedDict[Association, None] = OrderedDict()
        """All associations; the one without a packet for longest comes first."""
        self._lingering: Lingering[Association] = Lingering()
        """The associations that have ended, but may still get late packets."""
        self._sessions = 0
        self.without_ddp = 0
        """Packets of associations without a sign of DDP, counted when the association ends."""
        self.damaged = 0
        """Packets with a bad Checksum (RFC 4960 6.8), ignored because their receiver discards
        them."""
        self.dropped: Counter[str] = Counter()
        """Packets dropped because of a fault of this program, by reason."""
        self.unknown = 0
        """Packets that belong to no association, by their Verification Tags (RFC 4960 8.5)."""

    def receive(self, packet: SctpPacket) -> list[Event]:
        """Take a packet; return the events that it causes, in order of recovery."""
        kinds = {chunk.type for chunk in packet.chunks}
        if kinds & (_BEGINNINGS | _ENDS):
            # As with TCP, only a few packets advance the clock.
            for each in self._lingering.advance(packet.time_ns):
                self._end(each, "closed", "connection ended")
        if packet.crc == "bad":
            self.damaged += 1
            return self._taken()
        found = self._find(packet, kinds)
        if found is None:
            self.unknown += 1
            return self._taken()
        association, direction = found
        sessions = association.sessions
        try:
            association.receive(packet, direction)
            if association.held > self._limits.octets_per_half:
                association.relieve()
        except Exception as error:
            # A fault of this program must not stop the other associations.
            self.dropped[f"a fault of scapy-mpa in an SCTP association: {error!r}"] += 1
            with suppress(Exception):
                self._end(association, "failed", "connection ended")
            return self._taken()
        self._count_sessions(association.sessions - sessions)
        self._note(association, packet.time_ns)
        self._budget.update(association)
        while self._are_too_many():
            self._end(next(iter(self._live)), "limit", "limit")
        return self._taken()

    def ends(self) -> Iterator[list[Event]]:
        """Yield the events of the end of the capture, association by association."""
        for association in sorted(self._live, key=lambda each: each.last_frame):
            is_over = association.ending is not None
            reason: GapReason = "connection ended" if is_over else "capture ended"
            self._end(association, "capture ended", reason)
            yield self._taken()

    def _note(self, association: Association, time_ns: int) -> None:
        """Note the time of a packet, and the end of its association."""
        self._live.move_to_end(association)
        if association.ending is not None:
            self._lingering.discard(association)
            self._lingering.add(association, time_ns)
            for each in self._lingering.surplus():
                self._end(each, "closed", "connection ended")

    def _are_too_many(self) -> bool:
        """True if the association without a packet for longest must be ended.

        One association with one session always stays, even with the lowest limits.
        """
        if self._sessions > self._limits.connections:
            return True
        return self._budget.room < 0 and len(self._live) + self._sessions > 2

    def _count_sessions(self, more: int) -> None:
        self._sessions += more
        self._budget.room -= more * _HELD_BY_SESSION

    def _taken(self) -> list[Event]:
        events = self._events[:]
        self._events.clear()
        return events

    def _find(self, packet: SctpPacket, kinds: set[int]) -> tuple[Association, int] | None:
        """Return the association of a packet, and its direction; None if it has none."""
        association = self._by_flow.get(packet.flow)
        if association is not None:
            direction = association.direction_of(packet)
            if direction is not None:
                return association, direction
        if not kinds & _OPENING:
            return None
        if association is not None:
            if association.ending is None and packet.chunks[0].type != ChunkType.INIT:
                # Its receiver discards it (RFC 4960 8.5).
                return None
            self._end(association, "reused", "connection ended")
        return self._open(packet), 0

    def _open(self, packet: SctpPacket) -> Association:
        idle_ns = self._limits.idle_seconds * SECOND
        while self._live:
            oldest = next(iter(self._live))
            if packet.time_ns - oldest.last_time_ns >= idle_ns:
                self._end(oldest, "idle", "limit")
            elif len(self._live) >= self._limits.connections:
                self._end(oldest, "limit", "limit")
            else:
                break
        association = Association(packet.flow, self._number, self._events.append, self._dialect)
        for flow in association.flows:
            self._by_flow[flow] = association
        self._live[association] = None
        self._budget.room -= _HELD_BY_ASSOCIATION
        return association

    def _end(self, association: Association, ending: Ending, reason: GapReason) -> None:
        del self._live[association]
        self._lingering.discard(association)
        for flow in association.flows:
            self._by_flow.pop(flow, None)
        self._budget.room += _HELD_BY_ASSOCIATION
        self._count_sessions(-association.sessions)
        if not association.finish(ending, reason):
            self.without_ddp += association.packets
        self._budget.count(association)
