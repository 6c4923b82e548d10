# SPDX-License-Identifier: GPL-2.0-or-later
"""Records as lines to be read.

::

    frame  seconds since the first frame  #connection sender > receiver  what it is

Numbers that only matter to some records come last, and so do not push the others out of sight:
what is not as usual (CRC verdict, order, how an FPDU was located), then the sequence number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final

from scapy_mpa.cli.mpa import carried_mpa
from scapy_mpa.cli.reading import Reading
from scapy_mpa.cli.timing import microseconds
from scapy_mpa.records import RecordedEvent
from scapy_mpa.records.ddp import (
    DDPFields,
    ddp_fields,
    ddp_header,
    ddp_payload,
    frame_fields,
    frame_payload,
)
from scapy_mpa.records.rdmap import WITH_HEADER
from scapy_mpa.stream.events import (
    AdaptionIndicationSeen,
    ChunksMissing,
    ConnectionEnded,
    ConnectionId,
    CrcVerdict,
    DDPCarrier,
    DDPSegmentRecovered,
    ErrorFound,
    FPDURecovered,
    FPDUWithoutCRC,
    GapFound,
    IFTFrameRecovered,
    LocatedBy,
    MessageRecovered,
    Negotiated,
    OverlapDiffers,
    SctpConnectionId,
    SessionControlSeen,
    SoftUiWARPRecovered,
    StartupSeen,
)
from scapy_mpa.stream.segment import SECOND
from scapy_mpa.stream.sequence import sequence_number
from scapy_mpa.wire.control_flags import Meaning, meaning_of
from scapy_mpa.wire.ddp import (
    DDP_HEADER_LENGTHS,
    TAGGED,
    TAGGED_FIELDS,
    UNTAGGED_FIELDS,
    UNTAGGED_LENGTH,
    parse_ddp,
)
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import RemoteProtocolError
from scapy_mpa.wire.ift_indication import FLAGS, VERSION
from scapy_mpa.wire.interoperability import RNIC
from scapy_mpa.wire.rdmap import (
    parse_atomic_request,
    parse_atomic_response,
    parse_control,
    parse_immediate_data,
    parse_read_request,
)
from scapy_mpa.wire.rdmap_names import (
    ATOMIC_OPERATIONS,
    INVALIDATING_OPCODES,
    AtomicOperation,
    Opcode,
    message_name,
)
from scapy_mpa.wire.startup import StartupFrame
from scapy_mpa.wire.terminate import parse_terminate

__all__ = ["Lines"]

_TELLING: Final = WITH_HEADER | INVALIDATING_OPCODES
"""Opcodes of which the line says more than the numbers of every DDP header."""

_GSO: Final = 0x08
"""The bit of Res with which siw asks for FPDUs that are larger than a segment, and grants them."""
_CACHED_LABELS: Final = 4096
"""Pairs of endpoints that are kept as text."""

_CACHED_PATTERNS: Final = 1024
"""Patterns of FPDUs that are kept: real traffic has some twenty."""

_LENGTH: Final = "%d octets"
"""What of a pattern is filled with the octets after the DDP header."""

_COLOURS: Final[dict[type, str]] = {
    StartupSeen: "green",
    AdaptionIndicationSeen: "green",
    SessionControlSeen: "green",
    GapFound: "yellow",
    ChunksMissing: "yellow",
    OverlapDiffers: "yellow",
    ErrorFound: "red",
    ConnectionEnded: "cyan",
}


class Lines:
    """Makes the lines of one capture.

    :param reading: the capture.
    :param colour: set off what is not an ordinary FPDU.
    """

    head = "%6d %11.6f %s"

    def __init__(self, reading: Reading, *, colour: bool = False) -> None:
        self._reading = reading
        self._colour = colour
        self.width = 0
        # By number and direction, -1 for a connection as a whole.
        self._labels: dict[tuple[int, int], tuple[ConnectionId, str]] = {}
        self._patterns: dict[tuple[bytes, CrcVerdict, LocatedBy, bool], str | None] = {}

    @property
    def first_time_ns(self) -> int:
        """Time of the first frame, in nanoseconds since the epoch."""
        return self._reading.first_time_ns

    def line(self, event: RecordedEvent) -> str:
        """Return the line of ``event``, without the line's end."""
        line = self._fpdu_line(event) if isinstance(event, FPDURecovered) else None
        if line is None:
            kind = type(event)
            what = _WHAT[kind](event)
            direction = -1 if kind is ConnectionEnded else event.direction
            seconds = (event.time_ns - self._reading.first_time_ns) / SECOND
            label = self.label(event.connection, direction)
            line = f"{event.frame:>6} {seconds:>11.6f} {label}  {what}"
        return self._coloured(event, line) if self._colour else line

    def pattern(
        self,
        control: bytes,
        crc: CrcVerdict,
        located_by: LocatedBy,
        *,
        out_of_order: bool,
        length: int | None = None,
    ) -> str | None:
        """Return the pattern for a kind of FPDU, None if each must be seen as a whole.

        What fills it is frame, seconds since the first frame, label, then STag and TO or QN, MSN
        and MO, octets after the DDP header unless ``length`` says them, and seq.

        :param control: the DDP and the RDMAP control octet.
        """
        key = control, crc, located_by, out_of_order
        if key not in self._patterns:
            if len(self._patterns) >= _CACHED_PATTERNS:
                self._patterns.clear()
            self._patterns[key] = _pattern(*key)
        pattern = self._patterns[key]
        if pattern is None or length is None:
            return pattern
        return pattern.replace(_LENGTH, _LENGTH % length)

    def label(self, connection: ConnectionId, direction: int) -> str:
        """Return number and endpoints; ``direction`` is -1 for a connection as a whole."""
        key = connection.number, direction
        known = self._labels.get(key)
        if known is not None and known[0] is connection:
            return known[1]
        one, other = connection.endpoints
        if direction == 1:
            one, other = other, one
        text = f"#{connection.number:<2} {one} {'-' if direction < 0 else '>'} {other}"
        if len(self._labels) >= _CACHED_LABELS:
            self._labels.clear()
        if len(text) > self.width:
            self.width = width = len(text)
            for at, (known_connection, each) in self._labels.items():
                self._labels[at] = known_connection, each.ljust(width)
        text = text.ljust(self.width)
        self._labels[key] = connection, text
        return text

    def _fpdu_line(self, event: FPDURecovered) -> str | None:
        """Return the line of an FPDU whose header is whole and says all."""
        octets = ddp_header(event)
        tagged = octets >= TAGGED
        length = DDP_HEADER_LENGTHS[tagged]
        if len(octets) < length:
            return None
        pattern = self.pattern(
            octets[:2], event.crc, event.located_by, out_of_order=event.out_of_order
        )
        if pattern is None:
            return None
        fields = (TAGGED_FIELDS if tagged else UNTAGGED_FIELDS).unpack_from(octets)
        return pattern % (
            event.frame,
            (event.time_ns - self._reading.first_time_ns) / SECOND,
            self.label(event.connection, event.direction),
            *(fields if tagged else fields[1:]),
            event.ulpdu_length - length,
            event.seq,
        )

    def _coloured(self, event: RecordedEvent, line: str) -> str:
        if isinstance(event, FPDURecovered | IFTFrameRecovered | DDPSegmentRecovered):
            colour = "red" if event.crc == "bad" else None
        elif isinstance(event, MessageRecovered):
            colour = None if event.complete else "yellow"
        else:
            colour = _COLOURS[type(event)]
        if colour is None:
            return line
        import click

        return click.style(line, fg=colour)


def _control(octets: bytes) -> tuple[str, str, int]:
    """Return what the two control octets say: name, mark of the last segment, opcode."""
    header = parse_ddp(octets.ljust(UNTAGGED_LENGTH, b"\0"))
    opcode = parse_control(header.rsvdulp).opcode
    return message_name(opcode), " L" if header.last else "", opcode


def _pattern(
    control: bytes,
    crc: CrcVerdict,
    located_by: LocatedBy,
    out_of_order: bool,
) -> str | None:
    name, last, opcode = _control(control)
    if control >= TAGGED:
        place = "stag 0x%08x to 0x%x"
    elif opcode in _TELLING:
        return None
    else:
        place = "qn %d msn %d mo %d"
    marks = _marks(crc, located_by, ahead=out_of_order)
    return f"{Lines.head}  {name} {place} {_LENGTH}{last}{marks}, seq %d"


def _marks(crc: CrcVerdict, located_by: LocatedBy, *, ahead: bool) -> str:
    """Return what is not as usual."""
    marks = "" if crc == "good" else f", CRC {crc}"
    if ahead:
        marks += ", out of order"
    if located_by == "search":
        marks += ", by search"
    return marks


def _startup(event: StartupSeen) -> str:
    return _startup_text(event.startup, event.dialect)


@lru_cache(maxsize=1024)
def _startup_text(startup: StartupFrame, dialect: Dialect | None) -> str:
    words = [
        startup.kind.value.capitalize(),
        f"rev {startup.revision} M{startup.markers:d} C{startup.crc:d}",
    ]
    if startup.rejected:
        words.append("rejected" if startup.kind.value == "reply" else "R1")
    if startup.s_bit and not startup.enhanced:
        words.append("S1")
    if startup.reserved:
        gso = " (in siw, GSO)" if startup.reserved == _GSO else ""
        words.append(f"reserved 0x{startup.reserved:x}{gso}")
    if startup.enhanced:
        meaning = meaning_of(dialect)
        words.append(_enhanced(startup.ird, startup.ord, startup.control_flags, meaning))
    if startup.extension:
        words.append(f"extension {startup.extension.hex()}")
    words.append(f"PD {len(startup.private_data)}")
    return " ".join(words)


def _fpdu(event: FPDURecovered) -> str:
    marks = _marks(event.crc, event.located_by, ahead=event.out_of_order)
    return f"{_ddp(event)}{marks}, seq {event.seq}"


def _ddp_segment(event: DDPSegmentRecovered) -> str:
    marks = _marks(event.crc, "length", ahead=event.out_of_order)
    return f"{_ddp(event)}{marks}, DDP-SSN {event.ddp_ssn}, TSN {event.seq}"


def _session_control(event: SessionControlSeen) -> str:
    control = event.control
    words = [f"Session {control.function} stream {event.stream}"]
    if control.enhanced:
        meaning = meaning_of(event.dialect)
        words.append(_enhanced(control.ird, control.ord, control.control_flags, meaning))
    words.append(f"PD {len(control.private_data)}")
    ahead = ", out of order" if event.out_of_order else ""
    return f"{' '.join(words)}{ahead}, DDP-SSN {control.ddp_ssn}, TSN {event.seq}"


def _enhanced(ird: int | None, ord: int | None, control_flags: str | None, meaning: Meaning) -> str:
    """Return what enhanced data say (RFC 6581 9)."""
    flags = ""
    if control_flags:
        flags = f" flags {control_flags} ({', '.join(meaning.words(control_flags))})"
    return f"IRD {ird} ORD {ord}{flags}"


def _ddp(event: DDPCarrier) -> str:
    """Return what the DDP and RDMAP headers say."""
    fields = ddp_fields(event)
    by_responder = event.connection.initiator == 1 - event.direction
    what = _segment(fields, ddp_payload(event), by_responder=by_responder)
    if what is None:
        unit = "FPDU" if isinstance(event, FPDURecovered) else "DDP Segment Chunk"
        what = f"{fields.message or unit}, ULPDU of {event.ulpdu_length} octets"
    return what


def _segment(fields: DDPFields, payload: bytes, *, by_responder: bool = False) -> str | None:
    """Return what a DDP segment is, None if not all of its header is there."""
    name = fields.message or "DDP segment"
    last = " L" if fields.last else ""
    if fields.tagged and fields.to is not None:
        return (
            f"{name} stag 0x{fields.stag:08x} to 0x{fields.to:x} "
            f"{fields.payload_length} octets{last}"
        )
    if fields.mo is not None:
        return (
            f"{name} qn {fields.qn} msn {fields.msn} mo {fields.mo} "
            f"{fields.payload_length} octets{last}"
            f"{_within(payload, fields, by_responder)}"
        )
    return None


def _within(payload: bytes, fields: DDPFields, by_responder: bool) -> str:
    """Return what an untagged header, or what it brings, has to say beyond its numbers."""
    if fields.invalidate_stag is not None:
        return f" invalidates 0x{fields.invalidate_stag:08x}"
    try:
        if fields.opcode == Opcode.TERMINATE:
            return f": {parse_terminate(payload, by_responder=by_responder).text}"
        tell = _HEADERS.get(fields.opcode or 0)
        return "" if tell is None else tell(payload)
    except RemoteProtocolError:
        return " (malformed)"


def _read_request(payload: bytes) -> str:
    request = parse_read_request(payload)
    return f" reads {request.rdma_read_size} of stag 0x{request.src_stag:08x}"


def _atomic_request(payload: bytes) -> str:
    request = parse_atomic_request(payload)
    code = request.atomic_operation_code
    name = ATOMIC_OPERATIONS.get(code) or f"operation {code}"
    compared = f" if 0x{request.compare_data:x}" if code == AtomicOperation.CMP_SWAP else ""
    return (
        f" {name} 0x{request.add_or_swap_data:x}{compared} at stag 0x{request.remote_stag:08x} "
        f"to 0x{request.remote_to:x}"
    )


def _atomic_response(payload: bytes) -> str:
    return f" was 0x{parse_atomic_response(payload).original_remote_data_value:x}"


def _immediate_data(payload: bytes) -> str:
    return f" 0x{parse_immediate_data(payload).immediate_data.hex()}"


_HEADERS: Final[dict[int, Callable[[bytes], str]]] = {
    Opcode.READ_REQUEST: _read_request,
    Opcode.ATOMIC_REQUEST: _atomic_request,
    Opcode.ATOMIC_RESPONSE: _atomic_response,
    Opcode.IMMEDIATE_DATA: _immediate_data,
    Opcode.IMMEDIATE_DATA_WITH_SE: _immediate_data,
}
"""What the RDMAP headers of Untagged messages say, by opcode."""


def _indication(event: AdaptionIndicationSeen) -> str:
    told = event.indication
    words = ["Adaption indication", f"phase {told.ph:d}", "RDMA" if told.r else "DDP"]
    words.append(" ".join(name.upper() for name in FLAGS[2:] if getattr(told, name)))
    words.append(f"VTag 0x{told.vtag:04x}")
    if told.marker_interval:
        words.append(f"marker interval {told.marker_interval}")
    if told.version != VERSION or told.bc_version != VERSION:
        words.append(f"version {told.version} BC {told.bc_version}")
    if told.reserved_flags or any(told.reserved):
        words.append("reserved bits set")
    if not told.crc_is_good():
        words.append("CRC bad")
    return f"{' '.join(filter(None, words))}, seq {event.seq}"


def _frame(event: IFTFrameRecovered) -> str:
    fields = frame_fields(event)
    what = _segment(fields, frame_payload(event))
    if what is None:
        size, payload_size, _ = event.header
        what = f"{fields.message or 'Frame'}, {size} and {payload_size} octets"
    words = [f"VTag 0x{event.header.vtag:04x}"]
    for name, verdict in ("header", event.header_crc), ("payload", event.payload_crc):
        if verdict in ("bad", "unknown"):
            words.append(f"{name} CRC {verdict}")
    if event.header_crc == event.payload_crc == "off":
        words.append("no CRC")
    if event.placed == "speculative":
        words.append("placed speculatively")
    if event.located_by == "search":
        words.append("by search")
    return f"{what}, {', '.join(words)}, seq {event.seq}"


def _message(event: MessageRecovered) -> str:
    words = [] if event.opcode is None else [message_name(event.opcode)]
    if not event.fpdus:
        words.append("missing message" if event.messages == 1 else "missing messages")
    else:
        words.append("message" if event.complete else "incomplete message")
    if event.stag is not None:
        words.append(f"stag 0x{event.stag:08x} to 0x{event.to:x}")
    elif event.msn is not None:
        last = sequence_number(event.msn + event.messages - 1)
        words.append(f"qn {event.qn} msn {event.msn}{f' to {last}' if event.messages > 1 else ''}")
    if event.fpdus:
        is_sctp = isinstance(event.connection, SctpConnectionId)
        unit = "DDP Segment" if is_sctp else "FPDU"
        words.append(f"{event.length} octets in {_counted(event.fpdus, unit)}")
    return " ".join(words) + "".join(f", {each}" for each in _of_message(event))


def _of_message(event: MessageRecovered) -> Iterator[str]:
    """Yield what there is to say of some messages only."""
    read = event.read_request
    if event.opcode == Opcode.READ_REQUEST and read is not None:
        yield (
            f"reads {read.rdma_read_size} of stag 0x{read.src_stag:08x} to 0x{read.src_to:x} "
            f"into stag 0x{read.sink_stag:08x} to 0x{read.sink_to:x}"
        )
    if event.request_identifier is not None:
        yield f"request identifier 0x{event.request_identifier:x}"
    if event.answers is not None:
        after = "" if event.latency_ns is None else f" after {microseconds(event.latency_ns)} us"
        yield f"answers msn {event.answers}{after}"
    elif event.requested:
        yield "answers one of several Requests"
    elif event.requested is False:
        yield "answers no Request"
    if read is not None and (event.as_requested is False or not event.fpdus):
        yield f"{read.rdma_read_size} octets asked for"
    if event.fpdus and event.missing:
        more = " ..." if len(event.missing) > _MISSING_SHOWN else ""
        shown = [_stretch(event, *each) for each in event.missing[:_MISSING_SHOWN]]
        yield f"lacks {', '.join(shown)}{more}"
    if event.cut_off:
        yield f"{_counted(event.cut_off, 'octet')} cut off"
    for count, noun in (
        (event.duplicates, "duplicate"),
        (event.overlaps, "overlap"),
        (event.conflicts, "conflict"),
    ):
        if count:
            yield _counted(count, noun)


def _stretch(event: MessageRecovered, start: int | None, length: int | None) -> str:
    """Return which octets of a message are missing."""
    if start is None:
        return "its beginning, perhaps"
    at = f"0x{start:x}" if event.stag is not None else f"{start}"
    return f"the rest from {at}" if length is None else f"{length} at {at}"


def _gap(event: GapFound) -> str:
    return f"gap of {_counted(event.length, 'octet')}: {event.reason}, seq {event.seq}"


def _chunks_missing(event: ChunksMissing) -> str:
    return f"gap of {_counted(event.length, 'chunk')}: {event.reason}, DDP-SSN {event.seq}"


def _overlap(event: OverlapDiffers) -> str:
    return f"overlap: {_counted(event.length, 'octet')} came again, not the same, seq {event.seq}"


def _error(event: ErrorFound) -> str:
    code = "" if event.code is None else f" {event.code:d}"
    name = "TSN" if isinstance(event.connection, SctpConnectionId) else "seq"
    return f"error{code}: {event.text}, {name} {event.seq}"


def _connection(event: ConnectionEnded) -> str:
    halves = event.halves[event.direction], event.halves[1 - event.direction]

    def both(name: str) -> str:
        return f"{getattr(halves[0], name)}/{getattr(halves[1], name)}"

    words = [event.ending if event.end is None else event.end.text]
    if event.dialect is not None:
        words.append(event.dialect.value)
    elif event.revision is not None:
        words.append(f"revision {event.revision}")
    if any(half.markers for half in halves):
        words.append(f"markers {halves[0].markers or 0:d}/{halves[1].markers or 0:d}")
    if event.crc is not None:
        words.append("CRC on" if event.crc else "CRC off")
    elif any(half.crcs is not None for half in halves):
        words.append("CRC " + "/".join((half.crcs or "").upper() or "off" for half in halves))
    if event.rnics is not None and any(RNIC.RDMAC in side for side in event.rnics):
        words.append("RNICs " + " to ".join(" or ".join(side) for side in event.rnics))
    over_sctp = isinstance(event.connection, SctpConnectionId)
    noun = "frames" if event.dialect is Dialect.DRAFT_IFT_01 else "FPDUs"
    if over_sctp:
        noun = "DDP Segments"
    words.append(f"{both('fpdus')} {noun}" if carried_mpa(event) else "no MPA")
    words.append(f"{both('octets')} octets")
    if event.negotiated is not None:
        words += _negotiated(event.negotiated)
    counts = {**_COUNTS, "farthest_ahead": "chunks ahead"} if over_sctp else _COUNTS
    for name, text in counts.items():
        if getattr(halves[0], name) or getattr(halves[1], name):
            words.append(f"{both(name)} {text}")
    if event.errors:
        words.append(_counted(event.errors, "error"))
    return f"ended: {', '.join(words)}"


def _negotiated(negotiated: Negotiated) -> Iterator[str]:
    """Yield what was negotiated, and what was not kept."""
    for name, pair in (("IRD", negotiated.ird), ("ORD", negotiated.ord)):
        if pair != (None, None):
            yield f"{name} {'/'.join('-' if number is None else str(number) for number in pair)}"
    if negotiated.rtr is not None:
        yield f"RTR by {negotiated.rtr.value.capitalize()}"
    elif negotiated.rtr_agreed:
        yield "no RTR"
    for text in negotiated.broken:
        yield f"not kept: {text}"


_COUNTS: Final = {
    "crc_bad": "bad CRC",
    "gaps": "gaps",
    "out_of_order": "out of order",
    "farthest_ahead": "octets ahead",
    "retransmitted": "retransmitted",
}

_MISSING_SHOWN: Final = 4
"""Stretches of a message that its line shows; the record has more."""


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


_WHAT: Final[dict[type, Callable[[Any], str]]] = {
    StartupSeen: _startup,
    FPDURecovered: _fpdu,
    SoftUiWARPRecovered: _fpdu,
    FPDUWithoutCRC: _fpdu,
    AdaptionIndicationSeen: _indication,
    IFTFrameRecovered: _frame,
    SessionControlSeen: _session_control,
    DDPSegmentRecovered: _ddp_segment,
    MessageRecovered: _message,
    GapFound: _gap,
    ChunksMissing: _chunks_missing,
    OverlapDiffers: _overlap,
    ErrorFound: _error,
    ConnectionEnded: _connection,
}
