# SPDX-License-Identifier: GPL-2.0-or-later
"""Connections of which it is not known yet whether osc is spoken.

A Request of revision 0 that is answered with revision 1 is one that the Ohio Supercomputer Center's
software iWARP sends, or a Responder has broken a rule (RFC 5044 7.1.1).  What tells are FPDUs
(:mod:`~scapy_mpa.stream.osc_evidence`).  So the segments of such a connection are held from the
Reply on, until they tell, both sides close, or they are too many.  Then they are received as if
nothing had been held: what is told of a connection is the same either way, only later.

Held is only what may tell: with Markers, or without CRCs.  The Reply must be the first thing in its
segment.  Where the user has said that osc is spoken, nothing is held.
"""

from __future__ import annotations

from typing import Final

from scapy_mpa.stream.connection import Connection
from scapy_mpa.stream.events import Ending, GapReason
from scapy_mpa.stream.island import CHUNK_OVERHEAD
from scapy_mpa.stream.islands import Islands
from scapy_mpa.stream.osc_evidence import is_osc
from scapy_mpa.stream.past import Span
from scapy_mpa.stream.segment import FIN, RST, SYN, Segment
from scapy_mpa.stream.sequence import unwrap
from scapy_mpa.stream.startup import Declared, StartupState
from scapy_mpa.wire.dialect import OSC_REVISIONS, Dialect
from scapy_mpa.wire.interoperability import Offer, agreed_markers
from scapy_mpa.wire.startup import (
    KEYS,
    STARTUP_HEADER_LENGTH,
    StartupFrame,
    StartupKind,
    parse_startup,
)

__all__ = ["HELD_OCTETS", "HELD_SEGMENTS", "Undecided", "watch"]

HELD_SEGMENTS: Final = 1024
"""Segments of one connection that are held at most: the side that speaks first may be the one whose
FPDUs tell nothing."""

HELD_OCTETS: Final = 1 << 18
"""Octets of one connection that are held at most: enough for a few of the longest FPDUs."""

_REPLY: Final = KEYS[StartupKind.REPLY]


def watch(connection: Connection) -> None:
    """Have the Reply to the last Request of a connection looked at before it is received."""
    one, other = connection.identity.flows
    if connection.startup.forced is not Dialect.OSC and one != other:
        _become(connection, _AwaitingReply)


class Undecided:
    """The segments of one connection that are held, and what may tell.

    :param connection: which they are of.
    :param request: what the Request has declared.
    :param reply: the Reply.
    :param segment: begins with it.
    """

    __slots__ = ("_connection", "_crc", "_look_at", "_sides", "held", "segments")

    def __init__(
        self, connection: Connection, request: Declared, reply: StartupFrame, segment: Segment
    ) -> None:
        self._connection = connection
        self.segments: list[Segment] = []
        """In the order of capture."""
        self.held = 0
        """Octets held in memory."""
        self._look_at = 0
        startup = connection.startup
        initiator = startup.initiator
        assert initiator is not None
        offers = request.offer, Offer(reply.revision, reply.markers, reply.crc)
        own, peers = agreed_markers(*offers)
        self._crc = request.crc or reply.crc
        asked = startup.origins[initiator]
        high = connection.halves[1 - initiator].high
        answered = segment.seq if high is None else unwrap(segment.seq, high)
        # By direction, where FPDUs begin, and whether there are Markers; the Request's M is about
        # what the Initiator receives.
        sides = (
            _Side(asked, markers=peers),
            _Side(answered + reply.length, markers=own),
        )
        self._sides = sides if initiator == 0 else sides[::-1]
        early = connection.halves[initiator].islands.at(asked)
        if early is not None and early.held <= asked:
            # It has not waited for the Reply, or that was captured late.
            octets = early.read(asked, early.captured_until(asked, early.end))
            self._sides[initiator].islands.insert(asked, octets, 0)

    @property
    def may_tell(self) -> bool:
        """Whether FPDUs of osc would differ from those of RFC 5044."""
        return not self._crc or any(side.markers for side in self._sides)

    def take(self, segment: Segment, direction: int) -> bool | None:
        """Hold a segment; return whether osc is spoken, None if that is not known yet."""
        self.segments.append(segment)
        self.held += len(segment.payload) + CHUNK_OVERHEAD
        side = self._sides[direction]
        if segment.payload and not segment.flags & (SYN | RST):
            side.islands.insert(unwrap(segment.seq, side.begin), segment.payload, 0)
        side.is_closed |= bool(segment.flags & FIN)
        is_over = all(each.is_closed for each in self._sides) or bool(segment.flags & RST)
        is_over |= len(self.segments) >= HELD_SEGMENTS or self.held >= HELD_OCTETS
        if is_over or self.held >= self._look_at:
            # So that it costs no more than a few times what is held.
            self._look_at = self.held + self.held // 4
            return self.decide(final=is_over)
        return None

    def decide(self, *, final: bool) -> bool | None:
        """Return whether osc is spoken, None if that is not known yet.

        :param final: that must be known now.
        """
        said = [
            is_osc(side.octets(), markers=side.markers, crc=self._crc, final=final)
            for side in self._sides
        ]
        if True in said or False in said:
            return True in said
        return False if final else None

    def relieve(self) -> None:
        """Hold nothing any more."""
        _settle(self._connection, self, is_osc=False)


class _Side:
    """One direction, as far as it may tell."""

    __slots__ = ("begin", "is_closed", "islands", "markers")

    def __init__(self, begin: int, *, markers: bool) -> None:
        self.begin = begin
        """Position where FPDUs begin."""
        self.islands = Islands()
        self.markers = markers
        self.is_closed = False

    def octets(self) -> bytes:
        """Return what is there from the beginning on, up to the first hole."""
        island = self.islands.at(self.begin)
        return b"" if island is None else island.read(self.begin, island.end)


def _become(connection: Connection, kind: type[Connection]) -> None:
    """Have a connection take segments as another class does, which has no state of its own."""
    connection.__class__ = kind


def _settle(connection: Connection, undecided: Undecided, *, is_osc: bool) -> None:
    """Receive what was held, now that it is known what is spoken."""
    connection.undecided = None
    _become(connection, Connection)
    undecided.held = 0
    connection.halves[0].budget.count(undecided)
    if is_osc:
        connection.startup.forced = Dialect.OSC
    for segment in undecided.segments:
        connection.receive(segment)


class _AwaitingReply(Connection):
    """A connection with a Request as osc has it, and no Reply so far.

    A class of its own, and not a question that each connection asks for each segment.
    """

    __slots__ = ()

    def receive(self, segment: Segment) -> None:
        """Take a segment of this connection."""
        startup = self.startup
        if startup.state is not StartupState.REQUESTED:
            _become(self, Connection)
        elif self.halves[startup.initiator or 0] is not self.half(segment.flow):
            undecided = self._undecided_by(segment)
            if undecided is not None and undecided.may_tell:
                self.undecided = undecided
                _become(self, _UndecidedConnection)
                self.receive(segment)
                return
        Connection.receive(self, segment)

    def _undecided_by(self, segment: Segment) -> Undecided | None:
        """Return what is to be held from a segment on, None if it is no Reply as osc has it."""
        octets = segment.payload
        if len(octets) < STARTUP_HEADER_LENGTH or not octets.startswith(_REPLY):
            return None
        reply = parse_startup(octets)
        request = self.startup.declared[self.startup.initiator or 0]
        if request is None or (request.revision, reply.revision) != OSC_REVISIONS:
            return None
        if reply.rejected or reply.s_bit:
            return None
        return Undecided(self, request, reply, segment)


class _UndecidedConnection(Connection):
    """A connection of which segments are held."""

    __slots__ = ()

    def receive(self, segment: Segment) -> None:
        """Hold a segment of this connection."""
        undecided = self.undecided
        assert undecided is not None
        self._time_ns = segment.time_ns
        said = undecided.take(segment, self.half(segment.flow).direction)
        if said is None:
            self.halves[0].budget.update(undecided)
        else:
            _settle(self, undecided, is_osc=said)

    def carries_mpa(self, flow: bytes) -> bool:
        """Tell whether what a direction carries now is MPA: there is a Reply, so it is."""
        return True

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
