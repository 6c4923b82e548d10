# SPDX-License-Identifier: GPL-2.0-or-later
"""Connections of which it is not known yet whether osc is spoken.

A Request of revision 0 that is answered with revision 1 is one that the Ohio Supercomputer Center's
software iWARP sends, or a Responder has broken a rule (RFC 5044 7.1.1).  What tells are FPDUs
(:mod:`~scapy_mpa.stream.dialects.osc_evidence`).  So what follows the second of the two startup
frames, in whichever order they were captured, is held until they tell, both sides close, or it is
too much.
Then that frame is passed on and the segments are received as if nothing had been held: what is told
of a connection is the same either way, only later.

Held is only what may tell: with Markers, or without CRCs.  Where the user has said that osc is
spoken, nothing is held.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from scapy_mpa.stream.connections.connection import Connection
from scapy_mpa.stream.dialects.osc_evidence import is_osc
from scapy_mpa.stream.events import Ending, GapReason
from scapy_mpa.stream.halves import takeover
from scapy_mpa.stream.halves.extent import may_reset
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.octets.chunk import CHUNK_OVERHEAD
from scapy_mpa.stream.octets.islands import Islands
from scapy_mpa.stream.octets.past import Span
from scapy_mpa.stream.octets.scan import FoundStartup
from scapy_mpa.stream.segment import FIN, RST, SYN, Segment
from scapy_mpa.stream.sequence import unwrap
from scapy_mpa.stream.startup.osc_beginnings import is_proven
from scapy_mpa.stream.startup.steps import Step
from scapy_mpa.wire.interoperability import agreed_markers

__all__ = ["HELD_OCTETS", "HELD_SEGMENTS", "Accepting", "Undecided", "hold"]

HELD_SEGMENTS: Final = 1024
"""Segments of one connection that are held at most: the side that speaks first may be the one whose
FPDUs tell nothing."""

HELD_OCTETS: Final = 1 << 18
"""Octets of one connection that are held at most: enough for a few of the longest FPDUs."""


class Accepting(NamedTuple):
    """The second of two startup frames with which the Full Operation Phase begins."""

    half: HalfConnection
    found: FoundStartup
    frames: tuple[int, ...]
    taken: tuple[Step, bool]
    """What it is, and whether it follows others."""
    segment: Segment | None
    """That brought the last of it."""


def hold(connection: Connection, accepting: Accepting) -> bool:
    """Hold what comes from now on if that may tell; tell whether it is held.

    If it is told by what is there already, the connection knows it.
    """
    one, other = connection.halves
    if connection.identity.flow == connection.reverse or one.framing or other.framing:
        return False
    undecided = Undecided(connection, accepting)
    if not undecided.may_tell:
        return False
    # If no segment has brought it, none comes any more.
    said = undecided.decide(final=True) if accepting.segment is None else undecided.look()
    if said is not None:
        if said:
            connection.startup.take_for_osc()
        return False
    # As it is once it is passed on.
    takeover.hold(accepting.half)
    connection.undecided = undecided
    _become(connection, _UndecidedConnection)
    one.budget.update(undecided)
    return True


class Undecided:
    """The segments of one connection that are held, and what may tell.

    :param connection: which they are of.
    :param accepting: the startup frame behind which they were captured.
    """

    __slots__ = (
        "_connection",
        "_crc",
        "_is_over",
        "_look_at",
        "_sides",
        "accepting",
        "held",
        "last_time_ns",
        "segments",
    )

    def __init__(self, connection: Connection, accepting: Accepting) -> None:
        self._connection = connection
        self.accepting = accepting
        self.segments: list[Segment] = []
        """In the order of capture."""
        self._look_at = 0
        startup = connection.startup
        initiator = startup.initiator
        assert initiator is not None
        request, reply = startup.declared[initiator], startup.declared[1 - initiator]
        assert request is not None and reply is not None
        # The Request's M is about what the Initiator receives.
        own, peers = agreed_markers(request.offer, reply.offer)
        self._crc = request.crc or reply.crc
        self._sides = [
            _Side(
                half,
                accepting.found.end if half is accepting.half else startup.origins[half.direction],
                markers=peers if half.direction == initiator else own,
            )
            for half in connection.halves
        ]
        self.held = sum(side.octets for side in self._sides)
        """Octets held in memory."""
        self.last_time_ns = connection.last_time_ns
        """When the last segment was captured."""
        self._is_over = connection.was_reset

    @property
    def may_tell(self) -> bool:
        """Whether FPDUs of osc would differ from those of RFC 5044."""
        return not self._crc or any(side.markers for side in self._sides)

    def take(self, segment: Segment, direction: int) -> bool | None:
        """Hold a segment; return whether osc is spoken, None if that is not known yet."""
        self.segments.append(segment)
        self.last_time_ns = segment.time_ns
        self.held += len(segment.payload) + CHUNK_OVERHEAD
        side = self._sides[direction]
        if segment.payload and not segment.flags & (SYN | RST):
            side.islands.insert(unwrap(segment.seq, side.begin), segment.payload, 0)
        if segment.flags & FIN:
            side.fin = unwrap(segment.seq, side.begin) + segment.length
        half = self._connection.halves[direction]
        self._is_over |= bool(segment.flags & RST) and may_reset(half, segment)
        return self.look()

    def look(self) -> bool | None:
        """Return whether osc is spoken if there is enough to look at; None if it is not known."""
        is_over = self._is_over or all(each.is_complete for each in self._sides)
        is_over |= len(self.segments) >= HELD_SEGMENTS or self.held >= HELD_OCTETS
        if not is_over and self.held < self._look_at:
            return None
        # So that it costs no more than a few times what is held.
        self._look_at = self.held + self.held // 4
        return self.decide(final=is_over)

    def decide(self, *, final: bool) -> bool | None:
        """Return whether osc is spoken, None if that is not known yet.

        :param final: that must be known now.
        """
        said = [
            is_osc(
                side.beginning(),
                markers=side.markers,
                crc=self._crc,
                final=final,
                is_all=side.is_complete,
            )
            for side in self._sides
        ]
        if True in said or False in said:
            return True in said
        if not final:
            return None
        # What lies behind holes may tell.
        return self._crc and any(
            side.markers and is_proven(side.islands.items) for side in self._sides
        )

    def relieve(self) -> None:
        """Hold nothing any more."""
        _settle(self._connection, self, is_osc=False)


class _Side:
    """One direction, as far as it may tell.

    :param half: of which octets may have been captured already.
    :param begin: position where FPDUs begin.
    :param markers: whether there are Markers.
    """

    __slots__ = ("begin", "fin", "islands", "markers", "octets")

    def __init__(self, half: HalfConnection, begin: int, *, markers: bool) -> None:
        self.begin = begin
        self.markers = markers
        self.islands = Islands()
        self.fin = half.fin
        self.octets = 0
        """Those that were there at first."""
        for island in half.islands.items:
            start = max(island.held, begin)
            end = island.captured_until(start, island.end)
            if start < end:
                self.islands.insert(start, island.read(start, end), 0)
                self.octets += end - start

    @property
    def is_complete(self) -> bool:
        """Whether all that was sent is there."""
        island = self.islands.at(self.begin)
        return self.fin is not None and self.fin <= (self.begin if island is None else island.end)

    def beginning(self) -> bytes:
        """Return what is there from the beginning on, up to the first hole."""
        island = self.islands.at(self.begin)
        return b"" if island is None else island.read(self.begin, island.end)


def _become(connection: Connection, kind: type[Connection]) -> None:
    """Have a connection take segments as another class does, which has no state of its own."""
    connection.__class__ = kind


def _settle(connection: Connection, undecided: Undecided, *, is_osc: bool) -> None:
    """Go on as if nothing had been held, now that it is known what is spoken."""
    connection.undecided = None
    _become(connection, Connection)
    undecided.held = 0
    connection.halves[0].budget.count(undecided)
    if is_osc:
        connection.startup.take_for_osc()
    half, found, frames, taken, segment = undecided.accepting
    connection.go_on_with(half, found, frames, taken)
    startup = connection.startup
    by = None if segment is None else connection.half(segment.flow).direction
    if segment is not None and startup.is_silent and by != startup.initiator:
        # As ever behind a segment that was taken.
        connection.hear(segment)
    for held in undecided.segments:
        connection.receive(held)


class _UndecidedConnection(Connection):
    """A connection of which segments are held."""

    __slots__ = ()

    def receive(self, segment: Segment) -> None:
        """Hold a segment of this connection."""
        undecided = self.undecided
        assert undecided is not None
        said = undecided.take(segment, self.half(segment.flow).direction)
        if said is None:
            self.halves[0].budget.update(undecided)
        else:
            _settle(self, undecided, is_osc=said)

    def carries_mpa(self, flow: bytes) -> bool:
        """Tell whether what a direction carries now is MPA: there is a Reply, so it is."""
        return True

    @property
    def last_time_ns(self) -> int:
        """When its last segment was captured."""
        assert self.undecided is not None
        return self.undecided.last_time_ns

    def spans(self) -> tuple[Span, Span]:
        """Return where the octets of direction 0 and direction 1 lie."""
        self._decide()
        return self.spans()

    def finish(self, reason: GapReason, ending: Ending | None = None) -> None:
        """Report what can be said now that nothing more will come."""
        self._decide()
        self.finish(reason, ending)

    def _decide(self) -> None:
        """Hold nothing any more, and be an ordinary connection."""
        undecided = self.undecided
        assert undecided is not None
        _settle(self, undecided, is_osc=bool(undecided.decide(final=True)))
