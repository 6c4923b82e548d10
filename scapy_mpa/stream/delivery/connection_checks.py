# SPDX-License-Identifier: GPL-2.0-or-later
"""The segments of one connection, checked against the rules above MPA, each by itself and in order.

After octets that are missing, no error of order is reported until the order is known again.  No
error is reported that needs a count from the beginning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from scapy_mpa.stream.delivery.held import HELD_BY_EACH
from scapy_mpa.stream.delivery.order import QueueOrder
from scapy_mpa.stream.delivery.outstanding import Outstanding
from scapy_mpa.stream.delivery.segment import DDPSegment, Origin
from scapy_mpa.stream.delivery.turns import Turns
from scapy_mpa.stream.events import ErrorFound, SessionControlSeen, StartupSeen
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import ErrorCode
from scapy_mpa.wire.fpdu import LARGEST_MULPDU
from scapy_mpa.wire.negotiation import (
    INSUFFICIENT_IRD,
    MPA_WORDS,
    NO_MATCHING_RTR,
    SCTP_WORDS,
    Negotiation,
    negotiate,
)
from scapy_mpa.wire.rdmap import (
    HEADER_OPCODES,
    parse_atomic_request,
    parse_atomic_response,
)
from scapy_mpa.wire.rdmap_names import Opcode
from scapy_mpa.wire.rules import (
    TerminateCode,
    Violation,
    header_violation,
    message_violation,
    version_violation,
    violation,
)
from scapy_mpa.wire.startup import StartupFrame, StartupKind

_MPA_VERSIONS: Final = "RFC 5044 C.1"
_DDP_VERSION: Final = "RFC 5041 4.1"


@dataclass(slots=True, eq=False)
class _Half:
    """What counts of one direction."""

    order: QueueOrder = field(default_factory=QueueOrder)
    turns: Turns = field(default_factory=Turns)
    has_begun: bool = False
    """Whether its beginning was seen: without it nobody knows what else was not."""
    is_whole: bool = True
    """Whether all from there on was seen."""
    has_terminated: bool = False
    """Whether it sent a Terminate, until anything follows that."""
    asked: Outstanding = field(default_factory=Outstanding)
    agreed: Negotiation | None = None
    """Of the Initiator, what Request and Reply have agreed on."""


@dataclass(slots=True, eq=False)
class ConnectionChecks:
    """What counts of a connection."""

    errors: int = 0
    """How many were found in all."""
    found: list[ErrorFound] = field(default_factory=list)
    """Those that were not passed on yet."""
    halves: tuple[_Half, _Half] = field(default_factory=lambda: (_Half(), _Half()))
    irds: list[int | None] = field(default_factory=lambda: [None, None])
    """By direction, how many RDMA Read Requests it may have outstanding."""
    request: StartupFrame | None = None
    version: int | None = None
    """DV of both directions (RFC 5044 C.1), None while nothing tells."""
    broken: tuple[str, ...] = ()
    """What is broken of what was negotiated, which is known in the end."""
    held: int = 0
    """Octets of memory that what waits takes, roughly."""

    def _report(self, origin: Origin, what: Violation) -> None:
        self.errors += 1
        code = None if what.terminate is None else _MPA_CODES.get(what.terminate)
        self.found.append(ErrorFound(*origin[:4], code, origin[4], str(what)))

    # -- startup -----------------------------------------------------------------------------------

    def take_startup(self, event: StartupSeen | SessionControlSeen, startup: StartupFrame) -> None:
        """Hold a Reply against its Request (RFC 6581 9).

        :param startup: the startup frame, or what an enhanced session control message says.
        """
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
        self.halves[1 - event.direction].agreed = agreed
        if agreed is None:
            return
        # Each side is bound by the IRD of the other.
        of_initiator, of_responder = agreed.ird
        self.irds[1 - event.direction] = of_responder
        self.irds[event.direction] = of_initiator
        for each in agreed.refused:
            self._report((*event[:4], event.seq), each)

    # -- segments ----------------------------------------------------------------------------------

    def take_segment(self, segment: DDPSegment) -> None:
        """Check a segment, now or in its turn."""
        half = self.halves[segment.origin[1]]
        is_first = half.turns.expected is None
        if is_first and segment.place[1] is not None:
            half.has_begun = True
        elif is_first:
            # Nobody knows what came before it.
            half.is_whole = False
            half.order.forget()
        segment.has_header = segment.is_acceptable and self._judge(segment)
        self._deliver(half, half.turns.take(segment))

    def _judge(self, segment: DDPSegment) -> bool:
        """Hold a segment against the rules for itself, and the message that it makes whole; tell
        whether anything can be reported of it."""
        header, length, opcode = segment.header, segment.length, segment.opcode
        ulpdu_length = length + header.length if segment.has_header else length
        if ulpdu_length > LARGEST_MULPDU and segment.is_fpdu:
            text = f"a ULPDU of {ulpdu_length} octets, {LARGEST_MULPDU} at most are allowed"
            self._report(segment.origin, Violation(text, "RFC 5044 3"))
        if not segment.has_header:
            found = violation(segment.body, ulpdu_length)
            if found is not None and not self._is_rtr(segment):
                self._report(segment.origin, found)
            return False
        found = header_violation(header, length)
        # Few senders cut up an RDMAP header: MULPDU is 128 at least (RFC 5044 4.5).
        is_header = opcode in HEADER_OPCODES and header.last and not segment.offset
        if found is None and is_header and not segment.cut_off:
            found = message_violation(opcode, segment.body, length)
        if found is not None:
            # What else would be wrong because of it is not another fault.
            self._report(segment.origin, found)
            return False
        if self.version is None:
            self.version = header.ddp_version
        clause = _MPA_VERSIONS if segment.is_fpdu else _DDP_VERSION
        found = version_violation(header, self.version, clause)
        if found is not None:
            self._report(segment.origin, found)
        if opcode in HEADER_OPCODES:
            self._note_atomic(segment)
        elif opcode == Opcode.READ_RESPONSE and header.last:
            # As it is recovered, not in turn: a Response answers its Request even if the capture
            # has missed something before it.
            self.halves[1 - segment.origin[1]].asked.answer_read(segment)
        return True

    def _is_rtr(self, segment: DDPSegment) -> bool:
        """Tell whether an FPDU without a DDP header is the RTR indication that was agreed on.

        An FPDU of no octets is one by Send, to the letter of RFC 6581 9.2.
        """
        agreed = self.halves[segment.origin[1]].agreed
        _, offset, leading, _ = segment.place
        if agreed is None or not segment.is_fpdu or offset != leading:
            return False
        kind, breach = agreed.judge(segment.body, segment.length)
        return kind is not None and breach is None

    def weigh(self) -> None:
        """Work out how much is held."""
        one, other = self.halves
        count = len(one.turns.waiting) + len(one.asked)
        self.held = (count + len(other.turns.waiting) + len(other.asked)) * HELD_BY_EACH

    def relieve(self) -> None:
        """Hold less.

        Segments that wait are checked now.  Atomic Requests without a Response are forgotten, and
        so is what only the end proves.
        """
        self.flush()
        for half in self.halves:
            if len(half.asked):
                half.asked.forget()
        self.weigh()

    def flush(self) -> None:
        """Look at what waits."""
        for half in self.halves:
            self._deliver(half, half.turns.due())

    def finish(self) -> None:
        """Look at what still waits, and report what has turned out to be wrong."""
        self.flush()
        halves = self.halves
        if all(half.has_begun and half.is_whole and half.asked.is_known for half in halves):
            for half in halves:
                exceeding = half.asked.exceeding()
                proven = [*half.asked.unasked(), *exceeding]
                self.broken += tuple(each.text for each in exceeding)
                self.errors += len(proven)
                self.found += proven

    def _deliver(self, half: _Half, due: Iterator[DDPSegment]) -> None:
        """Look at what is due."""
        for segment in due:
            self._look_at(half, segment)

    def _look_at(self, half: _Half, segment: DDPSegment) -> None:
        """Hold a segment against those before it."""
        expected = half.turns.expected
        assert expected is not None
        if segment.start < expected:
            return
        if segment.start > expected or not segment.has_header:
            half.is_whole = False
            half.order.forget()
        half.turns.expected = segment.end
        if not segment.has_header:
            return
        header, opcode = segment.header, segment.opcode
        if half.has_terminated:
            what = Violation("a message follows a Terminate", "RFC 5040 5.4")
            self._report(segment.origin, what)
            half.has_terminated = False
        if header.tagged:
            return
        found = half.order.take(header, segment.length)
        if found is not None:
            self._report(segment.origin, found)
        if opcode == Opcode.TERMINATE:
            half.has_terminated = True
        elif opcode == Opcode.READ_REQUEST and header.last:
            half.asked.ask_to_read(segment, self.irds[segment.origin[1]])

    # -- Requests and Responses --------------------------------------------------------------------

    def _note_atomic(self, segment: DDPSegment) -> None:
        """Take note of a message if it is an Atomic Request or an Atomic Response, likewise."""
        opcode, direction, octets = segment.opcode, segment.origin[1], segment.rdmap_header
        if opcode == Opcode.ATOMIC_REQUEST:
            asked = self.halves[direction].asked
            if octets:
                asked.ask(parse_atomic_request(octets).request_identifier)
            else:
                # Cut up by its sender, or by the snap length: nobody knows its identifier.
                asked.forget()
        elif opcode == Opcode.ATOMIC_RESPONSE and octets:
            identifier = parse_atomic_response(octets).original_request_identifier
            self.halves[1 - direction].asked.answer(segment, identifier)


_MPA_CODES: Final[dict[TerminateCode, ErrorCode]] = {
    INSUFFICIENT_IRD: ErrorCode.INSUFFICIENT_IRD,
    NO_MATCHING_RTR: ErrorCode.NO_MATCHING_RTR,
}
