# SPDX-License-Identifier: GPL-2.0-or-later
"""Events of the stream core as records.

Every record has ``type``, ``connection``, ``src``, ``dst``, ``frame``, ``time`` (seconds since the
first frame) and ``timestamp``, where ``src`` sent and ``dst`` received what the record is about.  A
key is there in every record of its type, None where it does not apply.  What its numbers count
stands in ``docs/records.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias

from scapy_mpa.records.ddp import ddp_fields, ddp_payload, frame_fields, frame_payload
from scapy_mpa.records.rdmap import WITH_HEADER, fields_of
from scapy_mpa.records.values import (
    carried_by,
    latency,
    moment,
    number,
    shown,
    stag,
    taken,
    timestamp,
)
from scapy_mpa.stream.clock import Clock
from scapy_mpa.stream.events import (
    AdaptionIndicationSeen,
    ChunksMissing,
    ConnectionEnded,
    ConnectionId,
    DDPSegmentRecovered,
    End,
    ErrorFound,
    Event,
    FPDURecovered,
    FPDUWithoutCRC,
    GapFound,
    HalfSummary,
    IFTFrameRecovered,
    MessageRecovered,
    Negotiated,
    OverlapDiffers,
    Part,
    SctpConnectionId,
    SessionControlSeen,
    SoftUiWARPRecovered,
    StartupSeen,
    StreamingSeen,
)
from scapy_mpa.stream.segment import SECOND
from scapy_mpa.wire.ddp import UNTAGGED_LENGTH
from scapy_mpa.wire.dialect import Dialect, extension_length
from scapy_mpa.wire.ift_indication import FLAGS
from scapy_mpa.wire.rdmap import ReadRequest
from scapy_mpa.wire.rdmap_names import message_name
from scapy_mpa.wire.startup import StartupFrame

__all__ = [
    "CAPTURE",
    "CAPTURE_END",
    "RECORD_TYPES",
    "TIMING_KEYS",
    "VERSION",
    "Record",
    "RecordedEvent",
    "capture_end_record",
    "capture_record",
    "carried_mpa",
    "latency_of",
    "own_fields",
    "record_of",
    "type_of",
    "when",
    "whose",
]

# What records have by the names that it has in the event, or in the frame that this brought.
_OF_STARTUP: Final = (
    *("kind", "revision", "markers", "crc", "rejected", "enhanced", "pd_length"),
    *("private_data", "ird", "ord", "control_flags"),
)
_OF_SESSION_CONTROL: Final = (
    *("ddp_ssn", "function_code", "function", "enhanced"),
    *("private_data", "ird", "ord", "control_flags"),
)
_OF_SIDES: Final = (
    *("markers", "fpdus", "octets", "crc_bad", "gaps", "out_of_order", "retransmitted"),
    *("crcs", "farthest_ahead"),
)

Record: TypeAlias = dict[str, object]
RecordedEvent: TypeAlias = Event | MessageRecovered
"""What there is a record of."""


VERSION: Final = 1
"""Of the records.  It rises when a key goes or changes its meaning; more keys leave it as it is."""


def record_of(event: RecordedEvent, clock: Clock, *, payload: bool = False) -> Record:
    """Return the record of ``event``.

    :param clock: of the capture.
    :param payload: give records of what carries octets of a ULP the key ``payload``: what was
        captured after the DDP header, in hexadecimal.
    """
    return {
        **whose(type_of(event), event.connection, event.direction),
        **when(event.frame, event.time_ns, clock),
        **own_fields(event, clock, payload=payload),
    }


def whose(kind: str, connection: ConnectionId, direction: int) -> Record:
    """Return the keys that say what a record is, and of what connection.

    :param direction: the one whose sender is ``src``.
    """
    endpoints = connection.endpoints
    return {
        "type": kind,
        "connection": connection.number,
        "src": endpoints[direction],
        "dst": endpoints[1 - direction],
    }


def when(frame: int, time_ns: int, clock: Clock) -> Record:
    """Return the keys that say when something was found.

    :param frame: with which it was.
    :param time_ns: when that was captured, in nanoseconds since the epoch.
    """
    return {
        "frame": frame,
        "time": (time_ns - clock.begin_ns) / SECOND,
        "timestamp": timestamp(time_ns),
    }


def capture_record(file: str, clock: Clock) -> Record:
    """Return the first record of a capture.

    :param file: its name.
    """
    begin = timestamp(clock.begin_ns) if clock.newest else None
    return {"type": CAPTURE, "version": VERSION, "file": file, "timestamp": begin}


def capture_end_record(file: str, frames: int, not_followed: Mapping[str, int]) -> Record:
    """Return the last record of a capture.

    :param file: its name.
    :param frames: all that were read.
    :param not_followed: how many of them were not followed, by reason.
    """
    return {"type": CAPTURE_END, "file": file, "frames": frames, "not_followed": dict(not_followed)}


def carried_mpa(record: dict[str, Any]) -> bool:
    """Tell from its record whether a connection had anything to do with MPA, or DDP over SCTP.

    A bad startup frame is enough.
    """
    return (
        record["dialect"] is not None
        or record["revision"] is not None
        or record["errors"] > 0
        or any(record["fpdus"].values())
    )


def type_of(event: RecordedEvent) -> str:
    """Return the record's ``type``, one of ``RECORD_TYPES``."""
    return _KINDS[type(event)][0]


def own_fields(event: RecordedEvent, clock: Clock, *, payload: bool = False) -> Record:
    """Return what a record of this type has and others have not.

    :param payload: see :func:`record_of`.
    """
    fields = _KINDS[type(event)][1](event, clock)
    if payload and isinstance(event, (FPDURecovered, DDPSegmentRecovered)):
        fields["payload"] = ddp_payload(event).hex()
    elif payload and isinstance(event, IFTFrameRecovered):
        fields["payload"] = frame_payload(event).hex()
    elif payload and isinstance(event, StreamingSeen):
        fields["payload"] = event.octets.hex()
    elif payload and isinstance(event, MessageRecovered):
        fields["payload"] = None if event.payload is None else event.payload.hex()
    return fields


def _startup(event: StartupSeen, clock: Clock) -> Record:
    return {
        "seq": event.seq,
        **_startup_fields(event.startup, event.dialect),
        **carried_by(event.frames, clock),
    }


@lru_cache(maxsize=1024)
def _startup_fields(startup: StartupFrame, dialect: Dialect | None) -> Record:
    """Return the keys of a ``startup`` record that are about the frame itself; many are the same.

    :param dialect: what it speaks (RFC 5044 7.1.1, RFC 6581 9); None if that is not known.
    """
    return {
        **taken(startup, _OF_STARTUP),
        "dialect": None if dialect is None else dialect.value,
        "s": startup.s_bit,
        "reserved": startup.reserved,
        "extension": startup.extension.hex() if extension_length(startup.revision) else None,
    }


def _streaming(event: StreamingSeen, clock: Clock) -> Record:
    return {"seq": event.seq, "length": event.length, **carried_by(event.frames, clock)}


def _fpdu(event: FPDURecovered, clock: Clock) -> Record:
    return {
        "seq": event.seq,
        "offset": event.offset,
        "ulpdu_length": event.ulpdu_length,
        "markers": event.markers,
        "crc": event.crc,
        "located_by": event.located_by,
        "out_of_order": event.out_of_order,
        **_brought(event, ddp_fields(event), clock),
    }


def _brought(
    event: FPDURecovered | IFTFrameRecovered | DDPSegmentRecovered,
    header: dict[str, Any],
    clock: Clock,
) -> Record:
    """Return what every record of a DDP segment says, whatever carried it.

    :param header: the fields of its DDP header.
    """
    # The last field: the header is there, and is that of an Untagged one.
    is_whole = header["opcode"] in WITH_HEADER and header["mo"] is not None
    body = event.ulpdu[UNTAGGED_LENGTH:] if is_whole else b""
    return {
        **carried_by(event.frames, clock),
        **header,
        **fields_of(header["opcode"], body, event.connection, event.direction),
    }


def _indication(event: AdaptionIndicationSeen, clock: Clock) -> Record:
    indication = event.indication
    return {
        "seq": event.seq,
        **taken(indication, ("version", "bc_version", *FLAGS)),
        "ph": int(indication.ph),
        **taken(indication, ("reserved_flags", "vtag", "marker_interval", "reserved")),
        "crc": "good" if indication.crc_is_good() else "bad",
        "dialect": Dialect.DRAFT_IFT_01.value,
        **carried_by(event.frames, clock),
    }


def _frame(event: IFTFrameRecovered, clock: Clock) -> Record:
    return {
        "seq": event.seq,
        "offset": event.offset,
        "header_size": event.header.header_size,
        "payload_size": event.header.payload_size,
        "vtag": event.header.vtag,
        "header_crc": event.header_crc,
        "payload_crc": event.payload_crc,
        "located_by": event.located_by,
        "out_of_order": event.out_of_order,
        "placed": event.placed,
        **_brought(event, frame_fields(event), clock),
    }


def _session_control(event: SessionControlSeen, clock: Clock) -> Record:
    return {
        "stream": event.stream,
        "tsn": event.seq,
        **taken(event.control, _OF_SESSION_CONTROL),
        "unordered": event.unordered,
        "out_of_order": event.out_of_order,
        **carried_by(event.frames, clock),
        "dialect": event.dialect.value,
    }


def _ddp_segment(event: DDPSegmentRecovered, clock: Clock) -> Record:
    return {
        "stream": event.stream,
        "tsn": event.seq,
        "ddp_ssn": event.ddp_ssn,
        "ulpdu_length": event.ulpdu_length,
        "unordered": event.unordered,
        "crc": event.crc,
        "out_of_order": event.out_of_order,
        **_brought(event, ddp_fields(event), clock),
    }


def _message(event: MessageRecovered, clock: Clock) -> Record:
    read = event.read_request
    has_to = event.stag is not None
    return {
        "opcode": event.opcode,
        "message": None if event.opcode is None else message_name(event.opcode),
        "length": event.length,
        "captured_length": event.captured_length,
        "fpdus": event.fpdus,
        "complete": event.complete,
        "qn": event.qn,
        "msn": event.msn,
        "stag": stag(event.stag),
        "to": number(event.to),
        "missing": [[number(at) if has_to else at, octets] for at, octets in event.missing],
        "cut_off": event.cut_off,
        "duplicates": event.duplicates,
        "overlaps": event.overlaps,
        "conflicts": event.conflicts,
        "messages": event.messages,
        "answers": event.answers,
        "requested": event.requested,
        "as_requested": event.as_requested,
        **(shown(read._asdict()) if read is not None else dict.fromkeys(ReadRequest._fields)),
        "request_identifier": number(event.request_identifier),
        **fields_of(event.opcode, event.header, event.connection, event.direction),
        "request_frame": event.request_frame,
        "latency": latency_of(event, clock),
        "captured": None if event.captured is None else moment(event.captured, clock),
        "captured_from": (
            None if event.captured_from is None else moment(event.captured_from, clock)
        ),
        "parts": [_part(part, has_to=has_to) for part in event.parts],
    }


def _part(part: Part, *, has_to: bool) -> Record:
    return {
        "seq": part.seq,
        "frames": list(part.frames),
        "offset": number(part.offset) if has_to else part.offset,
        "length": part.length,
    }


def latency_of(event: MessageRecovered, clock: Clock) -> float | None:
    """Return the seconds from the last octet of a Request to the last one of its Response.

    None if that was not captured, or if either frame's time is not remembered.
    """
    is_ended = event.has_last and not event.conflicts
    seconds = latency(event.request_frame, event.captured, clock) if is_ended else None
    return None if seconds is None or seconds < 0 else seconds


def _gap(event: GapFound, clock: Clock) -> Record:
    has_chunks = isinstance(event, ChunksMissing)
    return {
        "seq": None if has_chunks else event.seq,
        "ddp_ssn": event.seq if has_chunks else None,
        "length": event.length,
        "reason": event.reason,
    }


def _overlap(event: OverlapDiffers, clock: Clock) -> Record:
    return {"seq": event.seq, "length": event.length}


def _error(event: ErrorFound, clock: Clock) -> Record:
    over_sctp = isinstance(event.connection, SctpConnectionId)
    return {
        "code": None if event.code is None else int(event.code),
        "seq": None if over_sctp else event.seq,
        "tsn": event.seq if over_sctp else None,
        "text": event.text,
    }


def _connection(event: ConnectionEnded, clock: Clock) -> Record:
    source, target = event.halves[event.direction], event.halves[1 - event.direction]
    sides = {name: _sides(getattr(source, name), getattr(target, name)) for name in _OF_SIDES}
    crcs, farthest_ahead = sides.pop("crcs"), sides.pop("farthest_ahead")
    return {
        "initiator": event.initiator,
        "responder": event.responder,
        "dialect": event.dialect and event.dialect.value,
        "revision": event.revision,
        **sides,
        "crc": event.crc,
        "crcs": crcs,
        "errors": event.errors,
        "ended": event.ending,
        "end": event.end and _end(event.end, event.direction),
        "farthest_ahead": farthest_ahead,
        "rnics": event.rnics and _sides(*([each.value for each in side] for side in event.rnics)),
        **_timing_fields(event, clock),
        **_negotiation_fields(event.negotiated),
    }


def _sides(source: object, target: object) -> Record:
    """Return an object with a value of either direction."""
    return {"src": source, "dst": target}


def _end(end: End, initiator: int) -> Record:
    return {
        **end._asdict(),
        "within_message": [*end.within_message],
        "unanswered": _sides(end.unanswered[initiator], end.unanswered[1 - initiator]),
    }


def _timing_fields(event: ConnectionEnded, clock: Clock) -> Record:
    """Return the keys of a ``connection`` record that tell how fast it was, and its stalls."""
    timing = event.timing
    if timing is None:
        return dict.fromkeys(TIMING_KEYS)
    lasted_ns = event.time_ns - timing.first_ns
    sides = event.direction, 1 - event.direction
    halves = [event.halves[side] for side in sides]
    rates = [each.octets * SECOND / lasted_ns if lasted_ns > 0 else None for each in halves]
    stalled = [bool(timing.stalled >> side & 1) for side in sides]
    values = (
        {"frame": timing.first_frame, "time": (timing.first_ns - clock.begin_ns) / SECOND},
        lasted_ns / SECOND,
        _sides(*rates),
        _seconds(timing.handshake_ns),
        _seconds(timing.startup_ns),
        timing.stalls,
        _seconds(timing.longest_stall_ns or None),
        timing.stall_frame,
        _sides(*stalled) if timing.stalls else None,
        _sides(*map(_retransmitted_share, halves)),
    )
    return dict(zip(TIMING_KEYS, values, strict=True))


def _retransmitted_share(half: HalfSummary) -> float | None:
    """Return which share of the octets captured was captured before."""
    captured = half.octets + half.retransmitted_octets
    return half.retransmitted_octets / captured if captured else None


def _seconds(time_ns: int | None) -> float | None:
    return None if time_ns is None else time_ns / SECOND


def _negotiation_fields(negotiated: Negotiated | None) -> Record:
    """Return the keys of a ``connection`` record that tell what was negotiated (RFC 6581 9).

    :param negotiated: None if nothing was.
    """
    if negotiated is None:
        return {**dict.fromkeys(Negotiated._fields), "broken": []}
    agreed = negotiated.rtr_agreed
    return {
        **negotiated._asdict(),
        "ird": _sides(*negotiated.ird),
        "ord": _sides(*negotiated.ord),
        "rtr_agreed": None if agreed is None else [each.value for each in agreed],
        "rtr": None if negotiated.rtr is None else negotiated.rtr.value,
        "broken": list(negotiated.broken),
    }


TIMING_KEYS: Final = (
    "began",
    "duration",
    "octets_per_second",
    "handshake",
    "startup",
    "stalls",
    "longest_stall",
    "stall_frame",
    "stalled",
    "retransmitted_share",
)
"""What a ``connection`` record has only over TCP."""


_KINDS: Final[dict[type, tuple[str, Callable[[Any, Clock], Record]]]] = {
    StartupSeen: ("startup", _startup),
    StreamingSeen: ("streaming", _streaming),
    FPDURecovered: ("fpdu", _fpdu),
    SoftUiWARPRecovered: ("fpdu", _fpdu),
    FPDUWithoutCRC: ("fpdu", _fpdu),
    MessageRecovered: ("message", _message),
    GapFound: ("gap", _gap),
    ChunksMissing: ("gap", _gap),
    OverlapDiffers: ("overlap", _overlap),
    ErrorFound: ("error", _error),
    ConnectionEnded: ("connection", _connection),
    AdaptionIndicationSeen: ("adaption_indication", _indication),
    IFTFrameRecovered: ("ift_frame", _frame),
    SessionControlSeen: ("session_control", _session_control),
    DDPSegmentRecovered: ("ddp_segment", _ddp_segment),
}

CAPTURE: Final = "capture"
"""The type of :func:`capture_record`."""

CAPTURE_END: Final = "capture_end"
"""The type of :func:`capture_end_record`."""

RECORD_TYPES: Final = (
    CAPTURE,
    *dict.fromkeys(kind for kind, _ in _KINDS.values()),
    CAPTURE_END,
)
"""Every value of the key ``type``."""
