# SPDX-License-Identifier: GPL-2.0-or-later
"""One SCTP association, and the DDP Stream Sessions on its streams (RFC 4960, RFC 5043)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from scapy_mpa.dialects.sctp.fragments import Fragments, UserMessage
from scapy_mpa.dialects.sctp.half import SessionHalf
from scapy_mpa.dialects.sctp.packet import SctpPacket
from scapy_mpa.dialects.sctp.session import Session
from scapy_mpa.dialects.sctp.tsn import TSNSpace
from scapy_mpa.stream.events import CrcVerdict, Ending, Event, GapReason, SctpConnectionId
from scapy_mpa.stream.segment import reverse_flow
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import RemoteProtocolError
from scapy_mpa.wire.rdmap import plausible
from scapy_mpa.wire.rules import Violation
from scapy_mpa.wire.sctp_chunks import (
    TAG_LENGTH,
    DataChunk,
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

_HELD_BY_TURN: Final = 200
"""Octets of memory that a waiting chunk takes, roughly."""

_MOST_PROBLEMS: Final = 16
"""Errors that wait for a session, at most.  Also PPIDs of other protocols that are reported, at
most: each is reported once."""

_T_FLAG: Final = 0x01
"""A flag of ABORT and SHUTDOWN COMPLETE: the sender had no association, and reflects the
Verification Tag (RFC 4960 8.5.1)."""

_OUT_OF_THE_BLUE: Final = frozenset({ChunkType.ABORT, ChunkType.SHUTDOWN_COMPLETE})

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
    tags: list[int | None] = field(default_factory=lambda: [None, None])
    """By direction, the Verification Tag of its packets, None if unknown."""
    _inits: list[InitChunk | None] = field(default_factory=lambda: [None, None])
    """By direction, its INIT or INIT ACK, None if it was not captured."""
    _tsns: tuple[TSNSpace, TSNSpace] = field(default_factory=lambda: (TSNSpace(), TSNSpace()))
    _fragments: tuple[Fragments, Fragments] = field(
        default_factory=lambda: (Fragments(), Fragments())
    )
    _sessions: dict[int, Session] = field(default_factory=dict)
    """By Stream Identifier, the last session on a pair of SCTP streams."""
    _problems: list[_Problem] = field(default_factory=list)
    _reported: set[int] = field(default_factory=set)
    """PPIDs of other protocols that were reported."""
    _unplaced: bool = False
    """True if a captured chunk belongs to no session."""
    carries_ddp: bool = False
    """True if anything has shown that it carries DDP."""
    _waiting: int = 0
    """Number of chunks that wait for earlier ones, in all sessions."""
    ending: Ending | None = None
    """How it has ended, None while it is open."""
    last_frame: int = 0
    last_time_ns: int = 0
    packets: int = 0
    held: int = 0
    """Octets of memory taken, roughly."""

    # -- identity --------------------------------------------------------------------------------

    def direction_of(self, packet: SctpPacket) -> int | None:
        """Return the direction of a packet, None if it does not belong to this association.

        After the end of the association, only packets with a known Verification Tag belong to it.

        :param packet: a packet between the same endpoints.
        """
        direction = 0 if packet.flow == self.flow else 1
        own, peer = self.tags[direction], self.tags[1 - direction]
        may_be_new = self.ending is None
        tag, kind = packet.verification_tag, -1
        if packet.chunks:
            first = packet.chunks[0]
            kind = first.type
            if kind == ChunkType.INIT:
                # An INIT has Verification Tag 0, and announces the tag of the other direction.
                own, tag = peer, int.from_bytes(first.value[:TAG_LENGTH], "big")
            elif kind in _OUT_OF_THE_BLUE and first.flags & _T_FLAG and tag == peer:
                return direction
        return direction if tag == own or (own is None and may_be_new) else None

    # -- in --------------------------------------------------------------------------------------

    def receive(self, packet: SctpPacket, direction: int) -> None:
        """Take a packet."""
        self.packets += 1
        self.last_frame, self.last_time_ns = packet.frame, packet.time_ns
        for chunk in packet.chunks:
            kind = chunk.type
            if kind == ChunkType.DATA:
                self.tags[direction] = self.tags[direction] or packet.verification_tag
                self._take_data(packet, direction, chunk)
                continue
            self.ending = _ENDINGS.get(kind, self.ending)
            try:
                if kind in (ChunkType.INIT, ChunkType.INIT_ACK):
                    self._take_init(packet, direction, chunk)
                elif kind in (ChunkType.SACK, ChunkType.SHUTDOWN):
                    self._tsns[1 - direction].acknowledge(parse_cumulative_ack(chunk.value))
            except RemoteProtocolError:
                # The snap length cut it, or it makes no sense.
                continue
        self._weigh()

    def _take_init(self, packet: SctpPacket, direction: int, chunk: Chunk) -> None:
        """Take an INIT or INIT ACK.

        If it comes after DATA, or with another tag, it is late or forged (RFC 4960 5.2.3).
        """
        init = parse_init(chunk.value)
        tsns = self._tsns[direction]
        if not tsns.is_empty or self.tags[1 - direction] not in (None, init.initiate_tag):
            return
        self.tags[direction] = self.tags[direction] or packet.verification_tag or None
        self.tags[1 - direction] = init.initiate_tag
        self._inits[direction] = init
        tsns.begin(init.initial_tsn)
        self.carries_ddp = self.carries_ddp or offers_ddp(init)
        is_answer = chunk.type == ChunkType.INIT_ACK
        asked = self._inits[1 - direction] if is_answer else init
        # Without the INIT, the number of streams that its sender accepts is unknown.
        accepted = init.outbound_streams if asked is None else asked.inbound_streams
        name, whole = "INIT ACK" if is_answer else "INIT", len(chunk.value) == chunk.length
        for what in init_violations(init, name, accepted=accepted, whole=whole):
            self._add_problem(packet, direction, init, what)

    def _take_data(self, packet: SctpPacket, direction: int, chunk: Chunk) -> None:
        try:
            data = parse_data(chunk.flags, chunk.value, chunk.length)
        except RemoteProtocolError:
            # The snap length cut it, or it makes no sense.
            self._unplaced = True
            return
        position = self._tsns[direction].position(data.tsn)
        if not self._tsns[direction].take(position):
            if data.stream in self._sessions:
                self._sessions[data.stream].halves[direction].retransmitted += 1
            return
        crc: CrcVerdict = "good" if packet.crc == "good" else "unknown"
        frame = packet.frame
        fragment = UserMessage(position, data, (frame,), frame, packet.time_ns, crc)
        # Most messages are whole in one chunk.
        is_whole = data.beginning and data.ending
        message = fragment if is_whole else self._fragments[direction].take(fragment)
        if message is not None:
            self._take_message(packet, direction, message)

    def _take_message(self, packet: SctpPacket, direction: int, message: UserMessage) -> None:
        """Take a whole user message."""
        chunk = message.chunk
        if chunk.ppid not in (SEGMENT_PPID, SESSION_CONTROL_PPID):
            self._take_other(packet, direction, chunk)
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
            what = length_violation(chunk)
            if what is not None:
                self._add_problem(packet, direction, chunk, what)
            return
        session = self._session_of(direction, message, ddp_ssn, control)
        self._waiting -= session.waiting
        session.take(direction, message, ddp_ssn, control)
        self._waiting += session.waiting

    def _take_other(self, packet: SctpPacket, direction: int, chunk: DataChunk) -> None:
        """Take a chunk with the PPID of another protocol (RFC 5043 5.1)."""
        if chunk.ppid not in self._reported and len(self._reported) < _MOST_PROBLEMS:
            self._reported.add(chunk.ppid)
            for what in data_violations(chunk):
                self._add_problem(packet, direction, chunk, what)

    # -- sessions --------------------------------------------------------------------------------

    def _session_of(
        self, direction: int, message: UserMessage, ddp_ssn: int, control: SessionControl | None
    ) -> Session:
        """Return the session that a chunk belongs to."""
        number = message.chunk.stream
        known = self._sessions.get(number)
        code = -1 if control is None or ddp_ssn else control.function_code
        if known is not None and not _begins_another(known, direction, message.position, code):
            return known
        if known is not None:
            self._waiting -= known.waiting
            known.finish("reused", "connection ended", whole=False)
        # A session begins with DDP-SSN 0, whichever of its chunks comes first.  Only the first
        # session of an association may have begun before the capture.
        begun = code in INITIATES or known is not None or any(self._inits)
        session = self._session(number, begun=begun)
        self._sessions[number] = session
        session.note(message.frame, message.time_ns)
        own, peer = self._inits[direction], self._inits[1 - direction]
        if own is not None and peer is not None:
            found = stream_violation(message.chunk, own, peer)
            if found is not None:
                session.error(direction, message.chunk.tsn, found)
        self._report_problems(session)
        return session

    def _session(self, stream: int | None, *, begun: bool) -> Session:
        """Return a new session, with stream None if no stream is known."""
        identity = SctpConnectionId(self._number(), self.flow, stream)
        halves = SessionHalf(begun), SessionHalf(begun)
        return Session(identity, self._emit, halves, self._tsns, self._dialect)

    def _report_problems(self, session: Session) -> None:
        """Report the errors of the association as errors of a session."""
        problems, self._problems = self._problems, []
        for each in problems:
            session.note(each.frame, each.time_ns)
            session.error(each.direction, each.seq, each.what)

    def _add_problem(
        self, packet: SctpPacket, direction: int, chunk: DataChunk | InitChunk, what: Violation
    ) -> None:
        """Report an error as that of a session, now or when there is a session."""
        seq = chunk.tsn if isinstance(chunk, DataChunk) else chunk.initial_tsn
        if len(self._problems) < _MOST_PROBLEMS:
            self._problems.append(_Problem(direction, packet.frame, packet.time_ns, seq, what))
        number = chunk.stream if isinstance(chunk, DataChunk) else 0
        session = self._sessions.get(number) or next(iter(self._sessions.values()), None)
        if session is not None:
            self._report_problems(session)

    # -- memory ----------------------------------------------------------------------------------

    def _weigh(self) -> None:
        """Set ``held``."""
        waiting = (*self._fragments, *self._tsns)
        self.held = sum(each.held for each in waiting) + self._waiting * _HELD_BY_TURN

    @property
    def sessions(self) -> int:
        """Number of sessions kept."""
        return len(self._sessions)

    def relieve(self) -> None:
        """Free memory: drop fragments, and give up all holes."""
        for fragments, tsns in zip(self._fragments, self._tsns, strict=True):
            self._unplaced |= fragments.held > 0
            fragments.clear()
            tsns.give_up()
        for session in self._sessions.values():
            session.relieve()
        self._waiting = self.held = 0

    # -- the end ---------------------------------------------------------------------------------

    def finish(self, ending: Ending, reason: GapReason) -> bool:
        """Report the ends of all sessions; return whether the association carries DDP.

        :param ending: used unless the association itself has ended.
        :param reason: why missing chunks are not waited for any longer.
        """
        ending = self.ending or ending
        is_unplaced = self._unplaced or any(each.held for each in self._fragments)
        whole = all(each.is_complete for each in self._tsns) and not is_unplaced
        for session in self._sessions.values():
            session.finish(ending, reason, whole=whole)
        if self.carries_ddp and not self._sessions:
            empty = self._session(None, begun=False)
            self._report_problems(empty)
            empty.note(self.last_frame, self.last_time_ns)
            empty.finish(ending, "capture ended", whole=False)
        return self.carries_ddp

    @property
    def flows(self) -> tuple[bytes, bytes]:
        """The flows of direction 0 and 1."""
        return self.flow, reverse_flow(self.flow)


def _begins_another(session: Session, direction: int, position: int, code: int) -> bool:
    """True if a chunk begins another session on the stream of this one (RFC 5043 6.1, 6.6).

    :param code: the function code of the chunk if its DDP-SSN is 0, else -1.
    """
    half = session.halves[direction]
    if code in INITIATES:
        # The first message of a direction has the lowest TSN.
        return position > half.highest >= 0
    # It may answer an Initiate that was not captured.
    return code in ANSWERS and half.is_over


def _looks_like_ddp(chunk: DataChunk) -> bool:
    """True if a chunk alone shows DDP.

    Its PPID is assigned to DDP, but other protocols can use it.
    """
    octets = chunk.user_data
    if chunk.ppid == SEGMENT_PPID:
        return plausible(octets[DDP_SSN_LENGTH:], chunk.length - DDP_SSN_LENGTH)
    is_captured = len(octets) >= SESSION_CONTROL_LENGTH
    return is_captured and parse_session_control(octets).function_code in FUNCTION_NAMES
