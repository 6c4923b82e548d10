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
from scapy_mpa.dialects.sctp.setup import Setup
from scapy_mpa.dialects.sctp.streams import Streams, begins_session
from scapy_mpa.dialects.sctp.tsn import TSNSpace
from scapy_mpa.stream.events import (
    CrcVerdict,
    Ending,
    Event,
    GapReason,
    SctpConnectionId,
)
from scapy_mpa.stream.segment import reverse_flow
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import RemoteProtocolError
from scapy_mpa.wire.rdmap import plausible
from scapy_mpa.wire.rules import Violation
from scapy_mpa.wire.sctp_chunks import (
    DATA_HEADER_LENGTH,
    TSN_LENGTH,
    DataChunk,
    InitChunk,
    parse_cumulative_ack,
    parse_data,
    parse_init,
)
from scapy_mpa.wire.sctp_ddp import (
    DDP_SSN_LENGTH,
    SEGMENT_PPID,
    SESSION_CONTROL_PPID,
    FunctionCode,
    SessionControl,
    parse_segment,
    parse_session_control,
)
from scapy_mpa.wire.sctp_packet import Chunk, ChunkType
from scapy_mpa.wire.sctp_rules import (
    data_violations,
    header_violation,
    init_violations,
    length_violation,
    speaks_ddp,
)

__all__ = ["Association"]

_HELD_BY_TURN: Final = 200
"""Octets of memory that a waiting chunk takes, roughly."""

_MOST_PROBLEMS: Final = 16
"""Errors that wait for a session, to be reported with it: a chunk with another PPID counts once."""

_CODES: Final = frozenset(FunctionCode)


class _Problem(NamedTuple):
    """What is wrong with the association, or with a chunk that belongs to no session."""

    direction: int
    frame: int
    time_ns: int
    seq: int
    what: Violation


@dataclass(slots=True, eq=False)
class Association:
    """An association, from the first of its packets that was captured on."""

    flow: bytes
    """That of direction 0: who sent the first packet."""
    _number: Callable[[], int]
    """Gives the number of the next connection."""
    _emit: Callable[[Event], None]
    """Takes events."""
    _dialect: Dialect | None = None
    """What the user says is spoken; with DDP over SCTP, PPIDs need no further evidence."""
    _tsns: tuple[TSNSpace, TSNSpace] = field(default_factory=lambda: (TSNSpace(), TSNSpace()))
    _setup: Setup = field(init=False)
    _streams: Streams = field(init=False)
    _fragments: tuple[Fragments, Fragments] = field(
        default_factory=lambda: (Fragments(), Fragments())
    )
    _problems: list[_Problem] = field(default_factory=list)
    _told: set[int] = field(default_factory=set)
    """PPIDs of other protocols that were reported."""
    _unplaced: bool = False
    """Whether a chunk was captured that is of no session."""
    carries_ddp: bool = False
    """Whether anything has shown that it carries DDP."""
    _waiting: int = 0
    """Chunks of all sessions that wait for others."""
    _waiters: dict[Session, int] = field(default_factory=dict)
    """The sessions in which chunks wait, and how many do."""
    ending: Ending | None = None
    """How it has ended, None while it lives."""
    last_frame: int = 0
    last_time_ns: int = 0
    packets: int = 0
    damaged: int = 0
    """Packets with a bad Checksum that no error tells of."""
    sessions: int = 0
    """How many sessions are kept."""
    held: int = 0
    """Octets of memory that what waits takes, roughly."""

    def __post_init__(self) -> None:
        self._setup = Setup(self.flow, self._tsns)
        self._streams = Streams(self._tsns)

    # -- whose packet it is ----------------------------------------------------------------------

    def direction_of(self, packet: SctpPacket) -> int | None:
        """Return which direction a packet belongs to, None if it is none of this association's.

        Once it has ended, only a known Verification Tag shows that a packet does.

        :param packet: one between the same endpoints.
        """
        return self._setup.direction_of(packet, by_tag=self.ending is not None)

    @property
    def tags(self) -> list[int | None]:
        """By direction, the Verification Tag of its packets, None if it is not known."""
        return self._setup.tags

    @property
    def is_gapless(self) -> bool:
        """Whether no TSN is known to be missing."""
        return self._streams.is_gapless

    # -- in --------------------------------------------------------------------------------------

    def receive(self, packet: SctpPacket, direction: int) -> None:
        """Take a packet."""
        self.packets += 1
        self.last_frame, self.last_time_ns = packet.frame, packet.time_ns
        if packet.crc == "bad":
            self._note_bad(packet, direction)
            return
        for chunk in packet.chunks:
            kind = chunk.type
            if kind == ChunkType.DATA:
                self._take_data(packet, direction, chunk)
            elif chunk.length < 0:
                # Nobody can make anything of it, and it is the last one.
                break
            elif kind in (ChunkType.INIT, ChunkType.INIT_ACK):
                self._take_init(packet, direction, chunk)
            elif kind in (ChunkType.SACK, ChunkType.SHUTDOWN):
                self._take_ack(direction, chunk)
            elif kind == ChunkType.ABORT:
                self.ending = "reset"
            elif kind in (ChunkType.SHUTDOWN_ACK, ChunkType.SHUTDOWN_COMPLETE):
                self.ending = "closed"
        is_shown = not (any(self._setup.inits) and self._tsns[direction].is_empty)
        if self.tags[direction] is None and is_shown:
            # Else the answer to the INIT says it.
            self.tags[direction] = packet.verification_tag or None

    def _take_init(self, packet: SctpPacket, direction: int, chunk: Chunk) -> None:
        try:
            init = parse_init(chunk.value)
        except RemoteProtocolError:
            # The snap length cut it, or nobody can make anything of it.
            return
        setup = self._setup
        if not setup.believes(direction, init):
            return
        setup.take(direction, init, packet.verification_tag)
        if speaks_ddp(init):
            self.carries_ddp = True
        name = "INIT" if chunk.type == ChunkType.INIT else "INIT ACK"
        for what in init_violations(init, name, whole=len(chunk.value) == chunk.length):
            self._add_problem(packet, direction, init, what)

    def _take_ack(self, direction: int, chunk: Chunk) -> None:
        try:
            self._tsns[1 - direction].acknowledge(parse_cumulative_ack(chunk.value))
        except RemoteProtocolError:
            # The snap length cut it: then it says nothing.
            return

    def _take_data(self, packet: SctpPacket, direction: int, chunk: Chunk) -> None:
        try:
            data = parse_data(chunk.flags, chunk.value, chunk.length)
        except RemoteProtocolError:
            # The snap length cut it, if it was not sent like that.
            self._check_header(packet, direction, chunk)
            return
        tsns = self._tsns[direction]
        position = tsns.position(data.tsn)
        if not tsns.take(position):
            session = self._streams.session_of(direction, data.stream, position)
            if session is not None and not tsns.is_unsure(position):
                session.halves[direction].retransmitted += 1
            return
        crc: CrcVerdict = "good" if packet.crc == "good" else "unknown"
        frame = packet.frame
        fragment = UserMessage(position, data, (frame,), frame, packet.time_ns, crc)
        # Most messages are whole in one chunk.
        is_whole = data.beginning and data.ending
        message = fragment if is_whole else self._fragments[direction].take(fragment)
        if message is not None:
            self._take_message(packet, direction, message)
        self._weigh()

    def _check_header(self, packet: SctpPacket, direction: int, chunk: Chunk) -> None:
        """Report a DATA chunk that was too short for its header when it was sent."""
        self._unplaced = True
        what = header_violation(chunk.length)
        if what is None:
            return
        # By its TSN, as far as it has one.
        known = chunk.value if len(chunk.value) >= TSN_LENGTH else b""
        header = known.ljust(DATA_HEADER_LENGTH, b"\0")
        self._add_problem(packet, direction, parse_data(chunk.flags, header, chunk.length), what)

    def _take_message(self, packet: SctpPacket, direction: int, message: UserMessage) -> None:
        """Take a whole user message."""
        chunk = message.chunk
        if chunk.ppid not in (SEGMENT_PPID, SESSION_CONTROL_PPID):
            self._take_other(packet, direction, chunk)
            return
        is_assumed = self._dialect is Dialect.RFC5043
        if not (self.carries_ddp or is_assumed or _looks_like_ddp(chunk)):
            self._unplaced = True
            return
        self.carries_ddp = True
        control: SessionControl | None = None
        try:
            if chunk.ppid == SESSION_CONTROL_PPID:
                control = parse_session_control(chunk.user_data)
                ddp_ssn = control.ddp_ssn
            else:
                ddp_ssn, _ = parse_segment(chunk.user_data)
        except RemoteProtocolError:
            # It is that short, or the snap length cut it.
            self._unplaced = True
            what = length_violation(chunk)
            if what is not None:
                self._add_problem(packet, direction, chunk, what)
                self._take_short(direction, message)
            return
        session = self._place(direction, message, ddp_ssn, control)
        session.take(direction, message, ddp_ssn, control)
        self._note_waiting(session)

    def _take_short(self, direction: int, message: UserMessage) -> None:
        """Give a chunk that is too short the place of its DDP-SSN, if it has one."""
        chunk = message.chunk
        session = self._streams.session_of(direction, chunk.stream, message.position)
        if session is not None and len(chunk.user_data) >= DDP_SSN_LENGTH:
            session.take_short(direction, parse_segment(chunk.user_data)[0])
            self._note_waiting(session)

    def _note_waiting(self, session: Session) -> None:
        """Count the chunks of a session that wait."""
        waiting = session.waiting
        self._waiting += waiting - self._waiters.get(session, 0)
        if waiting:
            self._waiters[session] = waiting
        else:
            self._waiters.pop(session, None)

    def _take_other(self, packet: SctpPacket, direction: int, chunk: DataChunk) -> None:
        """Take a chunk that is none of DDP's (RFC 5043 5.1)."""
        if chunk.ppid in self._told or len(self._told) >= _MOST_PROBLEMS:
            return
        self._told.add(chunk.ppid)
        for what in data_violations(chunk):
            self._add_problem(packet, direction, chunk, what)

    # -- sessions --------------------------------------------------------------------------------

    def _place(
        self, direction: int, message: UserMessage, ddp_ssn: int, control: SessionControl | None
    ) -> Session:
        """Return the session that a chunk belongs to."""
        number = message.chunk.stream
        known = self._streams.session_of(direction, number, message.position)
        if known is not None and not self._streams.is_of_next(
            known, direction, message.position, ddp_ssn, control
        ):
            return known
        is_initiate = begins_session(ddp_ssn, control)
        # A session begins with DDP-SSN 0, whichever of its chunks comes first; what is not known
        # is only whether the first one of an association has begun in the capture.
        begun = is_initiate or known is not None or any(self._setup.inits)
        session = self._session(number, begun=begun)
        session.is_initiated = is_initiate
        self.sessions += 1
        session.note(message.frame, message.time_ns)
        self._check_stream(session, direction, message.chunk)
        gone = self._streams.add(number, session)
        if gone is not None:
            self._finish(gone, "reused", "connection ended", orderly=True)
        self._tell(session)
        return session

    def _session(self, stream: int | None, *, begun: bool) -> Session:
        """Return a new session, on no stream if there is none."""
        identity = SctpConnectionId(self._number(), self.flow, stream)
        halves = SessionHalf(begun), SessionHalf(begun)
        return Session(identity, self._emit, halves, self._dialect)

    def _check_stream(self, session: Session, direction: int, chunk: DataChunk) -> None:
        """Report a session on a stream that was not agreed on."""
        found = self._setup.stream_violation(direction, chunk)
        if found is not None:
            session.error(direction, chunk.tsn, found)

    def _tell(self, session: Session) -> None:
        """Report of a session what is wrong with the association."""
        problems, self._problems = self._problems, []
        for each in problems:
            session.note(each.frame, each.time_ns)
            session.error(each.direction, each.seq, each.what)

    def _add_problem(
        self, packet: SctpPacket, direction: int, chunk: DataChunk | InitChunk, what: Violation
    ) -> None:
        """Report of a session, at once or when there is one."""
        number, seq = (
            (chunk.stream, chunk.tsn) if isinstance(chunk, DataChunk) else (0, chunk.initial_tsn)
        )
        if len(self._problems) < _MOST_PROBLEMS:
            self._problems.append(_Problem(direction, packet.frame, packet.time_ns, seq, what))
        session = self._streams.some(number)
        if session is not None:
            self._tell(session)

    def _note_bad(self, packet: SctpPacket, direction: int) -> None:
        """Report a packet that its receiver discards (RFC 4960 6.8)."""
        for chunk in packet.chunks:
            if chunk.type != ChunkType.DATA:
                continue
            try:
                data = parse_data(chunk.flags, chunk.value, chunk.length)
            except RemoteProtocolError:
                continue
            session = self._streams.current(data.stream)
            if session is not None:
                session.halves[direction].crc_bad += 1
                session.note(packet.frame, packet.time_ns)
                what = Violation("the CRC32c of an SCTP packet is bad", "RFC 4960 6.8")
                session.error(direction, data.tsn, what)
                return
        self.damaged += 1

    # -- memory ----------------------------------------------------------------------------------

    def _weigh(self) -> None:
        """Find out what is held."""
        held = self._fragments[0].held + self._fragments[1].held
        held += self._tsns[0].held + self._tsns[1].held
        self.held = held + self._waiting * _HELD_BY_TURN

    def relieve(self) -> None:
        """Hold less: drop the oldest fragments, or wait for nothing, or forget the older holes."""
        if any(each.drop_oldest() for each in self._fragments):
            self._unplaced = True
        elif self._waiters:
            for session in self._waiters:
                session.relieve()
            self._waiters.clear()
            self._waiting = 0
        else:
            for tsns in self._tsns:
                tsns.relieve()
        self._weigh()

    # -- the end ---------------------------------------------------------------------------------

    def finish(self, ending: Ending, reason: GapReason) -> bool:
        """Report what is left to say; return whether the association had to do with DDP.

        :param ending: unless it has ended by itself.
        :param reason: why what is missing is not waited for any longer.
        """
        ending = self.ending or ending
        self._unplaced |= any(each.held for each in self._fragments)
        for current in self._streams:
            if current.previous is not None:
                self._finish(current.previous, "reused", reason, orderly=True)
            self._finish(current, ending, reason, orderly=ending == "closed")
        if not self.carries_ddp:
            return False
        if not self._streams:
            self._finish_alone(ending)
        return True

    def _finish(
        self, session: Session, ending: Ending, reason: GapReason, *, orderly: bool
    ) -> None:
        self.sessions -= 1
        self._waiting -= self._waiters.pop(session, 0)
        # Of an association whose beginning was not captured, the beginning of a session may have
        # been before the first chunk of one direction, and other chunks of it after that.
        sure = self._streams.is_gapless and (all(self._setup.inits) or session.is_initiated)
        whole = all(each.is_complete for each in self._tsns) and not self._unplaced
        session.finish(ending, reason, whole=whole, sure=sure, orderly=orderly)

    def _finish_alone(self, ending: Ending) -> None:
        """Report an association on which no session was seen."""
        session = self._session(None, begun=False)
        self._tell(session)
        session.note(self.last_frame, self.last_time_ns)
        session.finish(ending, "capture ended", whole=False, sure=False, orderly=False)

    @property
    def flows(self) -> tuple[bytes, bytes]:
        """The flows of direction 0 and 1."""
        return self.flow, reverse_flow(self.flow)


def _looks_like_ddp(chunk: DataChunk) -> bool:
    """Tell whether a chunk shows by itself that DDP is spoken.

    The PPIDs are assigned to DDP, but nothing keeps others from using them.
    """
    octets = chunk.user_data
    if chunk.ppid == SEGMENT_PPID:
        return plausible(octets[DDP_SSN_LENGTH:], chunk.length - DDP_SSN_LENGTH)
    try:
        return parse_session_control(octets).function_code in _CODES
    except RemoteProtocolError:
        return False
