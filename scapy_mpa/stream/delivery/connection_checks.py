# SPDX-License-Identifier: GPL-2.0-or-later
"""The segments of one connection, held against the rules above MPA, each for itself and in order.

Where octets of the stream are missing nothing is said of the order until it is known again, and
nothing at all of what must be counted from the beginning.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from scapy_mpa.stream.delivery.order import QueueOrder
from scapy_mpa.stream.delivery.outstanding import Outstanding
from scapy_mpa.stream.delivery.split import SplitHeader
from scapy_mpa.stream.delivery.turns import Turns
from scapy_mpa.stream.events import (
    Carrier,
    ConnectionId,
    DDPCarrier,
    ErrorFound,
    FPDURecovered,
    GapFound,
    StartupSeen,
)
from scapy_mpa.stream.sequence import first_position, unwrap
from scapy_mpa.wire.ddp import DDPHeader, ddp_header_of
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import ErrorCode
from scapy_mpa.wire.fpdu import LARGEST_MULPDU
from scapy_mpa.wire.negotiation import (
    INSUFFICIENT_IRD,
    MPA_WORDS,
    NO_MATCHING_RTR,
    SCTP_WORDS,
    negotiate,
)
from scapy_mpa.wire.rdmap import (
    ATOMIC_REQUEST_LENGTH,
    ATOMIC_RESPONSE_LENGTH,
    HEADER_OPCODES,
    parse_atomic_request,
    parse_atomic_response,
    parse_control,
)
from scapy_mpa.wire.rdmap_names import Opcode
from scapy_mpa.wire.rules import (
    TerminateCode,
    Violation,
    message_violation,
    version_violation,
    violation,
)
from scapy_mpa.wire.startup import StartupFrame, StartupKind

__all__ = ["SPLIT_HEADERS", "WAITING", "ConnectionChecks"]

WAITING: Final = 1024
"""Segments of one direction that may wait for earlier ones, more than overtake others on the way;
beyond it, nothing is said of their order."""

SPLIT_HEADERS: Final = 8
"""RDMAP headers of one direction that may lack segments at one time: a sender cuts up one message
at a time, so only loss leaves any open.  The oldest goes unchecked."""

_MPA_VERSIONS: Final = "RFC 5044 C.1"
_DDP_VERSION: Final = "RFC 5041 4.1"


class _Turn(NamedTuple):
    """A segment that waits for its turn."""

    header: DDPHeader
    length: int
    """Octets behind the header."""
    carrier: Carrier


class _Half:
    """What counts of one direction."""

    __slots__ = (
        "asked",
        "has_begun",
        "headers",
        "is_whole",
        "order",
        "terminated",
        "turns",
    )

    def __init__(self) -> None:
        self.order = QueueOrder()
        self.turns: Turns[_Turn | None] = Turns()
        """None stands for a segment that nothing is known of."""
        self.has_begun = False
        """Whether its beginning was seen: without it nobody knows what else was not."""
        self.is_whole = True
        """Whether all from there on was seen."""
        self.terminated: int | None = None
        """The MSN of a Terminate, until anything follows it."""
        self.headers: dict[tuple[int | None, int | None, int], SplitHeader] = {}
        """RDMAP headers that lack segments, by QN, MSN and opcode."""
        self.asked = Outstanding()

    def put_together(self, header: DDPHeader, body: bytes, length: int) -> SplitHeader | None:
        """Take a segment that is not all of its message; return the RDMAP header if that is whole.

        :param body: the octets behind its DDP header that were captured.
        :param length: how many there are.
        """
        assert header.mo is not None
        headers = self.headers
        key = header.qn, header.msn, parse_control(header.rsvdulp).opcode
        if key not in headers and len(headers) == SPLIT_HEADERS:
            del headers[next(iter(headers))]
        split = headers.setdefault(key, SplitHeader())
        split.put(header.mo, body, length, last=header.last)
        return None if split.octets is None else headers.pop(key)


class ConnectionChecks:
    """What counts of a connection."""

    __slots__ = (
        "broken",
        "errors",
        "found",
        "halves",
        "irds",
        "request",
        "version",
    )

    def __init__(self) -> None:
        self.errors = 0
        """How many were found in all."""
        self.found: list[ErrorFound] = []
        """Those that were not passed on yet."""
        self.halves = _Half(), _Half()
        self.irds: list[int | None] = [None, None]
        """By direction, how many RDMA Read Requests it may have outstanding."""
        self.request: StartupFrame | None = None
        self.version: int | None = None
        """DV of both directions (RFC 5044 C.1), None while nothing tells."""
        self.broken: tuple[str, ...] = ()
        """What is broken of what was negotiated, which is known in the end."""

    def _report(self, event: StartupSeen | DDPCarrier, what: Violation) -> None:
        self.errors += 1
        self.found.append(_error(event, what))

    # -- startup -----------------------------------------------------------------------------------

    def take_startup(self, event: StartupSeen) -> None:
        """Hold a Reply against its Request (RFC 6581 9)."""
        startup = event.startup
        if startup.kind is StartupKind.REQUEST:
            self.request = startup
            self.irds = [None, None]
            return
        if startup.kind is not StartupKind.REPLY:
            return
        request, self.request = self.request, None
        # With revision 0 it may be either: Linux siw has version 1 there.
        self.version = 1 if startup.revision in (1, 2) else None
        if request is None:
            return
        words = SCTP_WORDS if event.dialect is Dialect.RFC5043 else MPA_WORDS
        agreed = negotiate(request, startup, event.dialect, words)
        if agreed is None:
            return
        # Each side is bound by the IRD of the other.
        of_initiator, of_responder = agreed.ird
        self.irds[1 - event.direction] = of_responder
        self.irds[event.direction] = of_initiator
        for each in agreed.refused:
            self._report(event, each)

    # -- segments ----------------------------------------------------------------------------------

    def take_gap(self, gap: GapFound) -> None:
        """Take note of octets that will stay missing."""
        half = self.halves[gap.direction]
        half.is_whole = False
        if half.turns.expected is not None and gap.reason != "snap length":
            seq, length = gap.place
            self._deliver(half, half.turns.due(unwrap(seq, half.turns.expected) + length))

    def take_segment(self, carrier: Carrier) -> None:
        """Look at a segment, and let it wait for its turn."""
        half = self.halves[carrier.direction]
        turns = half.turns
        seq, offset, leading, extent = carrier.place
        if turns.expected is None:
            # What came before it is known only if its offset is.
            position = first_position(seq)
            turns.expected = position - (leading if offset is None else offset)
            if offset is None:
                half.is_whole = False
                half.order.forget()
            else:
                half.has_begun = True
        else:
            position = unwrap(seq, turns.expected)
        start = position - leading
        end = start + extent
        header = self._judge(carrier) if carrier.is_acceptable else None
        turn = header and _Turn(header, carrier.ulpdu_length - header.length, carrier)
        if start == turns.expected and not turns.waiting:
            self._look_at(half, start, end, turn)
            return
        kept = turn and turn._replace(carrier=carrier._replace(octets=b"", frames=()))
        turns.wait(carrier, start, end, kept)
        self._deliver(half, turns.due_with(carrier, start, WAITING))

    def _judge(self, carrier: DDPCarrier) -> DDPHeader | None:
        """Hold a segment against the rules for itself, and the message that it makes whole.

        Return its header, None if nothing can be told of it.
        """
        ulpdu = carrier.ulpdu
        if carrier.ulpdu_length > LARGEST_MULPDU and isinstance(carrier, FPDURecovered):
            text = f"a ULPDU of {carrier.ulpdu_length} octets, {LARGEST_MULPDU} at most are allowed"
            self._report(carrier, Violation(text, "RFC 5044 3"))
        found = violation(ulpdu, carrier.ulpdu_length)
        header = ddp_header_of(ulpdu) if found is None else None
        if header is not None:
            if self.version is None:
                self.version = header.ddp_version
            clause = _MPA_VERSIONS if isinstance(carrier, FPDURecovered) else _DDP_VERSION
            found = version_violation(header, self.version, clause)
        if found is not None:
            # What else would be wrong because of it is not another fault.
            self._report(carrier, found)
        if header is None:
            return None
        body = ulpdu[header.length :]
        if header.tagged:
            self._note_read_response(carrier, header)
        elif _is_message(header):
            self._note_atomic(carrier, header, body)
        elif parse_control(header.rsvdulp).opcode in HEADER_OPCODES:
            return self._judge_split(carrier, header, body)
        return header

    def _judge_split(self, carrier: DDPCarrier, header: DDPHeader, body: bytes) -> DDPHeader | None:
        """Do the same for a message in several segments that is an RDMAP header."""
        half = self.halves[carrier.direction]
        split = half.put_together(header, body, carrier.ulpdu_length - header.length)
        if split is None:
            return header
        octets, length = split.octets, split.length
        assert octets is not None and length is not None
        found = message_violation(parse_control(header.rsvdulp).opcode, octets, length)
        if found is not None:
            self._report(carrier, found)
            return None
        self._note_atomic(carrier, header, octets)
        return header

    @property
    def waiting(self) -> int:
        """How many segments wait for their turn."""
        return len(self.halves[0].turns.waiting) + len(self.halves[1].turns.waiting)

    @property
    def outstanding(self) -> int:
        """How many Atomic Requests are not answered, those with the same identifier as one."""
        return len(self.halves[0].asked) + len(self.halves[1].asked)

    @property
    def doubtful(self) -> int:
        """How many errors wait for its end and need not be kept."""
        return self.halves[0].asked.doubtful + self.halves[1].asked.doubtful

    def forget_requests(self) -> None:
        """Do without Atomic Requests that are not answered."""
        for half in self.halves:
            if len(half.asked):
                half.asked.forget()

    def only_count(self) -> None:
        """Keep of the errors that wait for its end how many they are."""
        for half in self.halves:
            half.asked.only_count()

    def flush(self) -> None:
        """Look at what waits."""
        for half in self.halves:
            self._deliver(half, half.turns.due(half.turns.last))

    def finish(self, connection: ConnectionId) -> None:
        """Look at what still waits, and report what has turned out to be wrong.

        :param connection: whose this is.
        """
        self.flush()
        halves = self.halves
        if all(half.has_begun and half.is_whole and half.asked.is_known for half in halves):
            for half in halves:
                exceeding = half.asked.exceeding(connection)
                doubtful = [*half.asked.unasked(connection), *exceeding]
                self.broken += tuple(each.text for each in exceeding)
                self.errors += len(doubtful)
                self.found += doubtful

    def _deliver(self, half: _Half, due: Iterator[tuple[int, int, _Turn | None]]) -> None:
        """Look at what is due."""
        for start, end, turn in due:
            self._look_at(half, start, end, turn)

    def _look_at(self, half: _Half, start: int, end: int, turn: _Turn | None) -> None:
        """Hold a segment against those before it."""
        assert half.turns.expected is not None
        if start < half.turns.expected:
            return
        if start > half.turns.expected or turn is None:
            half.is_whole = False
            half.order.forget()
        half.turns.expected = end
        if turn is None:
            return
        header, length, carrier = turn
        opcode = parse_control(header.rsvdulp).opcode
        is_terminate = opcode == Opcode.TERMINATE and not header.tagged
        # Unless it is the rest of that one.
        is_rest = is_terminate and header.msn == half.terminated and not _is_message(header)
        if half.terminated is not None and not is_rest:
            self._report(carrier, Violation("a message follows a Terminate", "RFC 5040 5.4"))
            half.terminated = None
        if header.tagged:
            return
        found = half.order.take(header, length)
        if found is not None:
            self._report(carrier, found)
        if is_terminate:
            half.terminated = header.msn
        elif opcode == Opcode.READ_REQUEST and header.last:
            half.asked.ask_to_read(carrier, self.irds[carrier.direction])

    # -- Requests and Responses --------------------------------------------------------------------

    def _note_read_response(self, carrier: DDPCarrier, header: DDPHeader) -> None:
        """Take note of the end of an RDMA Read Response.

        As it is recovered, not in turn: a Response answers its Request even if the capture has
        missed something before it.
        """
        if header.last and parse_control(header.rsvdulp).opcode == Opcode.READ_RESPONSE:
            self.halves[1 - carrier.direction].asked.answer_read(carrier)

    def _note_atomic(self, carrier: DDPCarrier, header: DDPHeader, body: bytes) -> None:
        """Take note of a message if it is an Atomic Request or an Atomic Response, likewise.

        :param body: the octets behind its DDP headers.
        """
        opcode = parse_control(header.rsvdulp).opcode
        if opcode == Opcode.ATOMIC_REQUEST and len(body) == ATOMIC_REQUEST_LENGTH:
            identifier = parse_atomic_request(body).request_identifier
            self.halves[carrier.direction].asked.ask(identifier)
        elif opcode == Opcode.ATOMIC_RESPONSE and len(body) == ATOMIC_RESPONSE_LENGTH:
            identifier = parse_atomic_response(body).original_request_identifier
            self.halves[1 - carrier.direction].asked.answer(carrier, identifier)


def _is_message(header: DDPHeader) -> bool:
    """Tell whether a segment is all of an Untagged message."""
    return header.last and header.mo == 0


_MPA_CODES: Final[dict[TerminateCode | None, ErrorCode]] = {
    INSUFFICIENT_IRD: ErrorCode.INSUFFICIENT_IRD,
    NO_MATCHING_RTR: ErrorCode.NO_MATCHING_RTR,
}


def _error(event: StartupSeen | DDPCarrier, what: Violation) -> ErrorFound:
    return ErrorFound(
        event.connection,
        event.direction,
        event.frame,
        event.time_ns,
        _MPA_CODES.get(what.terminate),
        event.seq,
        str(what),
    )
