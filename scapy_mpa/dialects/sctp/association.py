# SPDX-License-Identifier: GPL-2.0-or-later
"""One SCTP association, and the DDP Stream Sessions on its streams (RFC 4960, RFC 5043)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from scapy_mpa.dialects.sctp.half import SessionHalf
from scapy_mpa.dialects.sctp.packet import SctpPacket
from scapy_mpa.dialects.sctp.session import Session
from scapy_mpa.dialects.sctp.tsn import Captured, TSNOrder
from scapy_mpa.stream.events import CrcVerdict, Ending, Event, GapReason, SctpConnectionId
from scapy_mpa.stream.segment import reverse_flow
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import RemoteProtocolError
from scapy_mpa.wire.rdmap import plausible
from scapy_mpa.wire.rules import Violation
from scapy_mpa.wire.sctp_chunks import (
    TAG_LENGTH,
    DataChunk,
    DataFlag,
    InitChunk,
    parse_cumulative_ack,
    parse_data,
    parse_init,
)
from scapy_mpa.wire.sctp_ddp import (
    ANSWERS,
    DDP_SSN_LENGTH,
    FUNCTION_NAMES,
    INITIATES,
    SEGMENT_PPID,
    SESSION_CONTROL_LENGTH,
    SESSION_CONTROL_PPID,
    SessionControl,
    parse_segment,
    parse_session_control,
)
from scapy_mpa.wire.sctp_packet import Chunk, ChunkType
from scapy_mpa.wire.sctp_rules import (
    data_violations,
    init_violations,
    length_violation,
    offers_ddp,
    stream_violation,
)

_MOST_PROBLEMS: Final = 16
"""Errors that wait for a session, at most.  Also PPIDs of other protocols that are reported, at
most: each is reported once."""

_ENDINGS: Final[dict[int, Ending]] = {
    ChunkType.ABORT: "reset",
    ChunkType.SHUTDOWN_ACK: "closed",
    ChunkType.SHUTDOWN_COMPLETE: "closed",
}


class _Problem(NamedTuple):
    """An error of the association, or of a chunk that belongs to no session."""

    direction: int
    frame: int
    time_ns: int
    seq: int
    what: Violation


@dataclass(slots=True, eq=False)
class Side:
    """One direction of an association."""

    tag: int | None = None
    """The Verification Tag of its packets, None if unknown."""
    init: InitChunk | None = None
    """Its INIT or INIT ACK, None if it was not captured."""
    tsns: TSNOrder = field(default_factory=TSNOrder)
    fragments: list[Captured] = field(default_factory=list)
    """The fragments so far of a user message in several chunks (RFC 4960 6.9)."""


@dataclass(slots=True, eq=False)
class Association:
    """An association, from its first captured packet on."""

    flow: bytes
    """The flow of direction 0, the sender of the first captured packet."""
    _number: Callable[[], int]
    """Returns the number of the next connection."""
    _emit: Callable[[Event], None]
    """Takes events."""
    _dialect: Dialect | None = None
    """The dialect forced by the user.  If it is DDP over SCTP, PPIDs need no further evidence."""
    sides: tuple[Side, Side] = field(default_factory=lambda: (Side(), Side()))
    """By direction."""
    _sessions: dict[int, Session] = field(default_factory=dict)
    """By Stream Identifier, the last session on a pair of SCTP streams."""
    _problems: list[_Problem] = field(default_factory=list)
    _reported: set[int] = field(default_factory=set)
    """PPIDs of other protocols that were reported."""
    _is_catching_up: bool = False
    """True while a direction is read up to the session that the other one begins."""
    _unplaced: bool = False
    """True if a captured chunk belongs to no session."""
    carries_ddp: bool = False
    """True if anything has shown that it carries DDP."""
    ending: Ending | None = None
    """How it has ended, None while it is open."""
    last_frame: int = 0
    last_time_ns: int = 0
    packets: int = 0

    # -- identity --------------------------------------------------------------------------------

    def direction_of(self, packet: SctpPacket) -> int | None:
        """Return the direction of a packet, None if it does not belong to this association.

        After the end of the association, only packets with a known Verification Tag belong to it.

        :param packet: a packet between the same endpoints.
        """
        direction = 0 if packet.flow == self.flow else 1
        own, peer = self.sides[direction].tag, self.sides[1 - direction].tag
        may_be_new = self.ending is None
        tag = packet.verification_tag
        if packet.chunks and packet.chunks[0].type == ChunkType.INIT:
            # An INIT has Verification Tag 0, and announces the tag of the other direction.
            own, tag = peer, int.from_bytes(packet.chunks[0].value[:TAG_LENGTH], "big")
        return direction if tag == own or (own is None and may_be_new) else None

    # -- in --------------------------------------------------------------------------------------

    def receive(self, packet: SctpPacket, direction: int) -> None:
        """Take a packet."""
        self.packets += 1
        self.last_frame, self.last_time_ns = packet.frame, packet.time_ns
        side = self.sides[direction]
        for chunk in packet.chunks:
            kind = chunk.type
            self.ending = _ENDINGS.get(kind, self.ending)
            try:
                if kind == ChunkType.DATA:
                    side.tag = side.tag or packet.verification_tag
                    self._take_data(packet, direction, chunk)
                elif kind in (ChunkType.INIT, ChunkType.INIT_ACK):
                    self._take_init(packet, direction, chunk)
                elif kind in (ChunkType.SACK, ChunkType.SHUTDOWN):
                    self.sides[1 - direction].tsns.acknowledge(parse_cumulative_ack(chunk.value))
            except RemoteProtocolError:
                # The snap length cut it, or it makes no sense.
                self._unplaced = self._unplaced or kind == ChunkType.DATA

    def _take_init(self, packet: SctpPacket, direction: int, chunk: Chunk) -> None:
        """Take an INIT or INIT ACK.

        If it comes after DATA, or with another tag, it is late or forged (RFC 4960 5.2.3).
        """
        init = parse_init(chunk.value)
        side, peer = self.sides[direction], self.sides[1 - direction]
        if not side.tsns.is_empty or peer.tag not in (None, init.initiate_tag):
            return
        side.tag = side.tag or packet.verification_tag or None
        peer.tag = init.initiate_tag
        side.init = init
        side.tsns.begin(init.initial_tsn)
        self.carries_ddp = self.carries_ddp or offers_ddp(init)
        is_answer = chunk.type == ChunkType.INIT_ACK
        asked = peer.init if is_answer else init
        # Without the INIT, the number of streams that its sender accepts is unknown.
        accepted = init.outbound_streams if asked is None else asked.inbound_streams
        name, whole = "INIT ACK" if is_answer else "INIT", len(chunk.value) == chunk.length
        found = init_violations(init, name, accepted=accepted, whole=whole)
        self._add_problems(direction, packet, found, init.initial_tsn)

    def _take_data(self, packet: SctpPacket, direction: int, chunk: Chunk) -> None:
        data = parse_data(chunk.flags, chunk.value, chunk.length)
        crc: CrcVerdict = "good" if packet.crc == "good" else "unknown"
        frame = packet.frame
        captured = Captured(data, (frame,), frame, packet.time_ns, crc, 0)
        if self.sides[direction].tsns.take(captured):
            self._deliver(direction)
        elif data.stream in self._sessions:
            self._sessions[data.stream].halves[direction].counters.retransmitted += 1

    # -- in the order of TSNs --------------------------------------------------------------------

    def _deliver(self, direction: int, give_up: GapReason | None = None) -> None:
        """Take the chunks whose turn it is, and put fragments together.

        :param give_up: see :meth:`~.tsn.TSNOrder.due`.
        """
        side = self.sides[direction]
        for captured, is_hole in side.tsns.due(give_up):
            chunk = captured.chunk
            if side.fragments and (is_hole or chunk.beginning):
                self._drop_fragments(side)
            if not (chunk.beginning or side.fragments):
                self._unplaced = True
                continue
            side.fragments.append(captured)
            if chunk.ending:
                message, side.fragments = _joined(side.fragments), []
                self._take_message(direction, message)

    def _drop_fragments(self, side: Side) -> None:
        """Drop the beginning of a user message whose end is missing."""
        self._unplaced = self._unplaced or bool(side.fragments)
        side.fragments = []

    def _take_message(self, direction: int, message: Captured) -> None:
        """Take a whole user message."""
        chunk = message.chunk
        if chunk.ppid not in (SEGMENT_PPID, SESSION_CONTROL_PPID):
            # It is of another protocol (RFC 5043 5.1).
            if chunk.ppid not in self._reported and len(self._reported) < _MOST_PROBLEMS:
                self._reported.add(chunk.ppid)
                self._add_problems(direction, message, data_violations(chunk), chunk.tsn)
            return
        if not (self.carries_ddp or self._dialect is Dialect.RFC5043 or _looks_like_ddp(chunk)):
            self._unplaced = True
            return
        self.carries_ddp = True
        control: SessionControl | None = None
        try:
            if chunk.ppid == SESSION_CONTROL_PPID:
                control = parse_session_control(chunk.user_data)
            ddp_ssn, _ = parse_segment(chunk.user_data)
        except RemoteProtocolError:
            # It was sent that short, or the snap length cut it.
            self._unplaced = True
            if chunk.stream in self._sessions:
                self._sessions[chunk.stream].take_short(direction)
            self._add_problems(direction, message, length_violation(chunk), chunk.tsn)
            return
        session = self._session_of(direction, message, ddp_ssn, control)
        session.take(direction, message, ddp_ssn, control)

    # -- sessions --------------------------------------------------------------------------------

    def _session_of(
        self, direction: int, message: Captured, ddp_ssn: int, control: SessionControl | None
    ) -> Session:
        """Return the session that a chunk belongs to."""
        number = message.chunk.stream
        known = self._sessions.get(number)
        code = -1 if control is None or ddp_ssn else control.function_code
        if (
            known is not None
            and _begins_another(known, direction, code)
            and not self._is_catching_up
        ):
            # What the other direction still waits for was sent before.
            self._is_catching_up = True
            self._deliver(1 - direction, "connection ended")
            self._is_catching_up = False
            known = self._sessions[number]
        if known is not None:
            if not _begins_another(known, direction, code):
                return known
            known.finish("reused", whole=False)
        # A session begins with DDP-SSN 0, whichever of its chunks comes first.  Only the first
        # session of an association may have begun before the capture.
        own, peer = self.sides[direction].init, self.sides[1 - direction].init
        begun = code in INITIATES or known is not None or own is not None or peer is not None
        session = self._session(number, begun=begun)
        self._sessions[number] = session
        session.note(message.frame, message.time_ns)
        if own is not None and peer is not None:
            wrong = stream_violation(message.chunk, own, peer)
            if wrong is not None:
                session.error(direction, message.chunk.tsn, wrong)
        self._report_problems(session)
        return session

    def _session(self, stream: int | None, *, begun: bool) -> Session:
        """Return a new session, with stream None if no stream is known."""
        identity = SctpConnectionId(self._number(), self.flow, stream)
        halves = SessionHalf(begun), SessionHalf(begun)
        tsns = self.sides[0].tsns, self.sides[1].tsns
        return Session(identity, self._emit, halves, tsns, self._dialect)

    def _report_problems(self, session: Session) -> None:
        """Report the errors of the association as errors of a session."""
        problems, self._problems = self._problems, []
        for each in problems:
            session.note(each.frame, each.time_ns)
            session.error(each.direction, each.seq, each.what)

    def _add_problems(
        self, direction: int, place: SctpPacket | Captured, found: Iterable[Violation], seq: int
    ) -> None:
        """Report errors as those of the first session, now or when there is one.

        :param seq: the TSN.
        """
        for what in found:
            if len(self._problems) < _MOST_PROBLEMS:
                self._problems.append(_Problem(direction, place.frame, place.time_ns, seq, what))
        for session in self._sessions.values():
            self._report_problems(session)
            break

    # -- memory ----------------------------------------------------------------------------------

    @property
    def held(self) -> int:
        """Octets of memory taken, roughly."""
        fragments = [each.held for side in self.sides for each in side.fragments]
        return sum([side.tsns.held for side in self.sides]) + sum(fragments)

    @property
    def sessions(self) -> int:
        """Number of sessions kept."""
        return len(self._sessions)

    def relieve(self, reason: GapReason = "limit") -> None:
        """Wait no longer for missing chunks, and drop fragments.

        :param reason: why.
        """
        for direction, side in enumerate(self.sides):
            self._deliver(direction, reason)
            self._drop_fragments(side)
        for session in self._sessions.values():
            session.give_up()

    # -- the end ---------------------------------------------------------------------------------

    def finish(self, ending: Ending, reason: GapReason) -> bool:
        """Report the ends of all sessions; return whether the association carries DDP.

        :param ending: used unless the association itself has ended.
        :param reason: why missing chunks are not waited for any longer.
        """
        ending = self.ending or ending
        self.relieve(reason)
        whole = all(side.tsns.is_complete for side in self.sides) and not self._unplaced
        for session in self._sessions.values():
            session.finish(ending, whole=whole)
        if self.carries_ddp and not self._sessions:
            empty = self._session(None, begun=False)
            self._report_problems(empty)
            empty.note(self.last_frame, self.last_time_ns)
            empty.finish(ending, whole=False)
        return self.carries_ddp

    @property
    def flows(self) -> tuple[bytes, bytes]:
        """The flows of direction 0 and 1."""
        return self.flow, reverse_flow(self.flow)


def _begins_another(session: Session, direction: int, code: int) -> bool:
    """True if a chunk begins another session on the stream of this one (RFC 5043 6.1, 6.6).

    :param code: the function code of the chunk if its DDP-SSN is 0, else -1.
    """
    half = session.halves[direction]
    # An answer may answer an Initiate that was not captured.
    return half.last is not None and (code in INITIATES or (code in ANSWERS and half.is_over))


def _joined(pieces: list[Captured]) -> Captured:
    """Return the user message of these fragments, up to the first one that was cut."""
    first, last = pieces[0], pieces[-1]
    if len(pieces) == 1:
        return first
    octets = []
    for each in pieces:
        octets.append(each.chunk.user_data)
        if len(each.chunk.user_data) < each.chunk.length:
            break
    flags = first.chunk.flags | last.chunk.flags
    if not all(each.chunk.unordered for each in pieces):
        flags &= ~DataFlag.UNORDERED
    chunk = first.chunk._replace(
        user_data=b"".join(octets), length=sum(each.chunk.length for each in pieces), flags=flags
    )
    newest = max(pieces, key=lambda each: each.frame)
    return newest._replace(
        chunk=chunk,
        frames=tuple(dict.fromkeys(each.frame for each in pieces)),
        crc="good" if all(each.crc == "good" for each in pieces) else "unknown",
        ahead=max(each.ahead for each in pieces),
    )


def _looks_like_ddp(chunk: DataChunk) -> bool:
    """True if a chunk alone shows DDP.

    Its PPID is assigned to DDP, but other protocols can use it.
    """
    octets = chunk.user_data
    if chunk.ppid == SEGMENT_PPID:
        return plausible(octets[DDP_SSN_LENGTH:], chunk.length - DDP_SSN_LENGTH)
    is_captured = len(octets) >= SESSION_CONTROL_LENGTH
    return is_captured and parse_session_control(octets).function_code in FUNCTION_NAMES
