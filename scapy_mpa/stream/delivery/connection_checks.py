# SPDX-License-Identifier: GPL-2.0-or-later
"""Check the segments of one connection against the rules above MPA, alone and in order.

After missing octets, errors of order are reported only when the order is known again.  Errors that
need a count from the beginning are not reported any more.
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
from scapy_mpa.wire.negotiation import MPA_WORDS, SCTP_WORDS, Negotiation, negotiate
from scapy_mpa.wire.rdmap import (
    HEADER_OPCODES,
    READ_REQUEST_LENGTH,
    parse_atomic_request,
    parse_atomic_response,
)
from scapy_mpa.wire.rdmap_names import Opcode
from scapy_mpa.wire.rules import (
    Violation,
    header_violation,
    message_violation,
    version_by_revision,
    version_violation,
    violation,
)
from scapy_mpa.wire.startup import StartupFrame, StartupKind

_LLP: Final = 2
"""The layer of a Terminate whose Error Codes are those of MPA (RFC 5040 4.8, RFC 6581 8)."""


@dataclass(slots=True, eq=False)
class _Half:
    """The state of one direction."""

    order: QueueOrder = field(default_factory=QueueOrder)
    turns: Turns = field(default_factory=Turns)
    has_begun: bool = False
    """True if its beginning was captured.  If not, it is unknown how much is missing."""
    is_whole: bool = True
    """True if nothing is missing since the first captured segment."""
    has_terminated: bool = False
    """True after a Terminate, until a message after it was reported."""
    outstanding: Outstanding = field(default_factory=Outstanding)


@dataclass(slots=True, eq=False)
class ConnectionChecks:
    """The checks of one connection."""

    errors: int = 0
    """Number of all errors found."""
    found: list[ErrorFound] = field(default_factory=list)
    """Errors that were not passed on yet."""
    halves: tuple[_Half, _Half] = field(default_factory=lambda: (_Half(), _Half()))
    request: StartupFrame | None = None
    agreed: Negotiation | None = None
    """What Request and Reply have agreed on."""
    initiator: int = 0
    """The direction of that Request."""
    version: int | None = None
    """DV and RV of both directions (RFC 5044 C.1), None if unknown."""
    broken: tuple[str, ...] = ()
    """Negotiated terms that were broken; known only at the end."""

    def _report(self, origin: Origin, what: Violation) -> None:
        self.errors += 1
        layer, _, number = what.terminate or (None, None, 0)
        code = ErrorCode(number) if layer == _LLP else None
        self.found.append(ErrorFound(*origin[:4], code, origin[4], str(what)))

    # -- startup -----------------------------------------------------------------------------------

    def take_startup(self, event: StartupSeen | SessionControlSeen, startup: StartupFrame) -> None:
        """Take a Request, or check a Reply against its Request (RFC 6581 9).

        :param startup: the startup frame, or the equivalent of an enhanced session control message.
        """
        if startup.kind is StartupKind.REQUEST:
            self.request, self.agreed = startup, None
            return
        if startup.kind is not StartupKind.REPLY:
            return
        request, self.request = self.request, None
        self.version = version_by_revision(startup.revision)
        if request is None:
            return
        words = SCTP_WORDS if event.dialect is Dialect.RFC5043 else MPA_WORDS
        self.agreed = negotiate(request, startup, event.dialect, words)
        self.initiator = 1 - event.direction
        for each in () if self.agreed is None else self.agreed.refused:
            self._report((*event[:4], event.seq), each)

    # -- segments ----------------------------------------------------------------------------------

    def take_segment(self, segment: DDPSegment) -> None:
        """Check a segment by itself now, and its order when its turn comes."""
        half = self.halves[segment.origin[1]]
        is_first = half.turns.expected is None
        if is_first and segment.place[1] is not None:
            half.has_begun = True
        elif is_first:
            # Segments before it may be missing.
            half.is_whole = False
            half.order.forget()
        segment.has_header = segment.is_acceptable and self._check_alone(segment)
        self._deliver(half, half.turns.take(segment))

    def _check_alone(self, segment: DDPSegment) -> bool:
        """Check a segment by itself, and the message if it is whole in it.

        :return: whether its order can be checked: its header is valid, or it needs none.
        """
        header, length, opcode = segment.header, segment.length, segment.opcode
        ulpdu_length = length + header.length if segment.has_header else length
        if ulpdu_length > LARGEST_MULPDU and segment.is_fpdu:
            text = f"a ULPDU of {ulpdu_length} octets, {LARGEST_MULPDU} at most are allowed"
            self._report(segment.origin, Violation(text, "RFC 5044 3"))
        if not segment.has_header:
            if self._is_rtr(segment):
                # No queue counts it, so that the order stays known.
                return True
            found = violation(segment.body, ulpdu_length)
            if found is not None:
                self._report(segment.origin, found)
            return False
        found = header_violation(header, length)
        if found is not None:
            # Further errors would only follow from this one.
            self._report(segment.origin, found)
            return False
        if self.version is None:
            self.version = header.ddp_version
        clause = "RFC 5044 C.1" if segment.is_fpdu else None
        found = version_violation(header, self.version, clause)
        if found is not None:
            self._report(segment.origin, found)
        if opcode in HEADER_OPCODES:
            self._take_rdmap_header(segment)
        elif opcode == Opcode.READ_RESPONSE and header.last:
            # When it is recovered, not when its turn comes: it answers its Request even if
            # segments before it are missing.
            self.halves[1 - segment.origin[1]].outstanding.add_read_response(segment)
        return True

    def _is_rtr(self, segment: DDPSegment) -> bool:
        """True if an FPDU without a DDP header is the RTR indication that was agreed on.

        By the wording of RFC 6581 9.2, an FPDU without octets is an RTR indication by Send.
        """
        _, offset, leading, _ = segment.place
        is_first = segment.is_fpdu and offset == leading
        if self.agreed is None or not is_first or segment.origin[1] != self.initiator:
            return False
        kind, breach = self.agreed.judge(segment.body, segment.length)
        return kind is not None and breach is None

    @property
    def held(self) -> int:
        """Octets of memory taken, roughly."""
        first, second = self.halves
        waiting = len(first.turns.waiting) + len(second.turns.waiting)
        return (waiting + len(first.outstanding) + len(second.outstanding)) * HELD_BY_EACH

    def relieve(self) -> None:
        """Free memory: check the waiting segments now.

        Atomic Requests without a Response are forgotten, and errors that only the end proves.
        """
        self.flush()
        for half in self.halves:
            if len(half.outstanding):
                half.outstanding.forget()

    def flush(self) -> None:
        """Check the segments that still wait."""
        for half in self.halves:
            self._deliver(half, half.turns.due())

    def finish(self) -> None:
        """Check the segments that still wait, and report the errors that only the end proves."""
        self.flush()
        halves = self.halves
        if all(half.has_begun and half.is_whole and half.outstanding.is_known for half in halves):
            for half in halves:
                for origin, what in half.outstanding.unasked_responses():
                    self._report(origin, what)
                for origin, what in half.outstanding.too_many_reads():
                    self._report(origin, what)
                    self.broken += (str(what),)
        for half in halves:
            half.outstanding.forget()

    def _deliver(self, half: _Half, due: Iterator[tuple[DDPSegment, int]]) -> None:
        """Check the order of the segments that are due, see :meth:`~.turns.Turns.due`."""
        for segment, missing in due:
            if missing > 0 or (not missing and not segment.has_header):
                half.is_whole = False
                half.order.forget()
            if missing >= 0 and segment.has_header:
                self._check_order(half, segment)

    def _check_order(self, half: _Half, segment: DDPSegment) -> None:
        """Check a segment against the segments before it."""
        header, opcode = segment.header, segment.opcode
        if half.has_terminated:
            what = Violation("a message follows a Terminate", "RFC 5040 5.4")
            self._report(segment.origin, what)
            half.has_terminated = False
        if header.tagged:
            return
        found = half.order.take(header)
        if found is not None:
            self._report(segment.origin, found)
        if opcode == Opcode.TERMINATE:
            half.has_terminated = True
        elif opcode == Opcode.READ_REQUEST and header.last:
            self._take_read_request(half, segment)

    def _take_read_request(self, half: _Half, segment: DDPSegment) -> None:
        """Count the last segment of an RDMA Read Request, and check the limits."""
        if segment.offset + segment.length != READ_REQUEST_LENGTH:
            # A malformed Request gets no Response, so it is not outstanding.
            return
        ird = ord = None
        if self.agreed is not None:
            # The IRD of each side limits the Requests of the other.  The ORD of the Reply is final;
            # that of the Request is not.
            is_initiator = segment.origin[1] == self.initiator
            ird = self.agreed.ird[is_initiator]
            ord = None if is_initiator else self.agreed.ord[1]
        half.outstanding.add_read_request(segment, ird, ord)

    # -- Requests and Responses --------------------------------------------------------------------

    def _take_rdmap_header(self, segment: DDPSegment) -> None:
        """Check a message that is an RDMAP header, and note an Atomic Request or Response."""
        opcode, direction, octets = segment.opcode, segment.origin[1], segment.rdmap_header
        if segment.header.last and (segment.offset or not segment.cut_off):
            found = message_violation(opcode, segment.body, segment.length, segment.offset)
            if found is not None:
                self._report(segment.origin, found)
                octets = b""
        if opcode == Opcode.ATOMIC_REQUEST and octets:
            identifier = parse_atomic_request(octets).request_identifier
            self.halves[direction].outstanding.add_atomic(identifier, 1, segment.origin)
        elif opcode == Opcode.ATOMIC_REQUEST:
            # It is wrong, or its sender or the snap length has cut it: its identifier is unknown.
            self.halves[direction].outstanding.forget()
        elif opcode == Opcode.ATOMIC_RESPONSE and octets:
            identifier = parse_atomic_response(octets).original_request_identifier
            self.halves[1 - direction].outstanding.add_atomic(identifier, -1, segment.origin)
