# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes records of the events of the stream core.

The record of an event has ``type``, ``connection``, ``src`` (the sender), ``dst`` (the receiver),
``frame``, ``time`` (seconds since the first frame) and ``timestamp``.  All records of a type have
the same keys; a key that does not apply is None.  ``docs/records.md`` says what the numbers count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from operator import attrgetter
from typing import Any, Final, TypeAlias

from scapy_mpa.records.ddp import ddp_fields, ddp_payload, frame_fields, frame_payload
from scapy_mpa.records.rdmap import fields_of
from scapy_mpa.records.tables import (
    CAPTURE,
    CAPTURE_END,
    DEPTHS,
    FUNCTION,
    INDICATION,
    NEGOTIATED,
    OBJECTS,
    READ,
    STARTUP,
    VERSION,
    fields,
    specific_fields,
)
from scapy_mpa.records.values import carried_by, moment, number, sides, timestamp, values_of
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
    GapFound,
    HalfSummary,
    IFTFrameRecovered,
    MessageRecovered,
    OverlapDiffers,
    SctpConnectionId,
    SessionControlSeen,
    StartupSeen,
    StreamingSeen,
    Timing,
)
from scapy_mpa.stream.segment import SECOND
from scapy_mpa.wire.ddp import UNTAGGED_LENGTH
from scapy_mpa.wire.dialect import Dialect, extension_length
from scapy_mpa.wire.rdmap import HEADER_OPCODES, ReadRequest
from scapy_mpa.wire.rdmap_names import message_name
from scapy_mpa.wire.startup import StartupFrame

Record: TypeAlias = dict[str, Any]
RecordedEvent: TypeAlias = Event | MessageRecovered
"""Events that have records."""


def record_of(event: RecordedEvent, clock: Clock, *, payload: bool = False) -> Record:
    """Return the record of ``event``.

    :param clock: clock of the capture.
    :param payload: add the key ``payload`` to records with octets of a ULP: the octets captured
        after the DDP header, in hexadecimal.
    """
    return {
        "type": type_of(event),
        **connection_keys(event.connection, event.direction),
        **when(event.frame, event.time_ns, clock),
        **specific_keys(event, clock, payload=payload),
    }


def connection_keys(connection: ConnectionId, direction: int) -> Record:
    """Return the keys for the connection of a record.

    :param direction: the direction whose sender is ``src``.
    """
    endpoints = connection.endpoints
    return {
        "connection": connection.number,
        "src": endpoints[direction],
        "dst": endpoints[1 - direction],
    }


def when(frame: int, time_ns: int, clock: Clock) -> Record:
    """Return the keys for the time of a record.

    :param frame: frame with which the event was found.
    :param time_ns: when that frame was captured, in nanoseconds since the epoch.
    """
    return {
        "frame": frame,
        "time": (time_ns - clock.begin_ns) / SECOND,
        "timestamp": timestamp(time_ns),
    }


def json_of(value: Record | str) -> str:
    """Return a record, or a text, as JSON in ASCII: ``json.loads`` makes the same of it again."""
    return _encoder()(value)


@cache
def _encoder() -> Callable[[Any], str]:
    # Imported late: a command must start soon, and not every command writes JSON.
    import json

    return json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def capture_record(file: str, clock: Clock) -> Record:
    """Return the first record of a capture.

    :param file: name of the capture.
    """
    begin = timestamp(clock.begin_ns) if clock.newest else None
    return {"type": CAPTURE, "version": VERSION, "file": file, "timestamp": begin}


def capture_end_record(file: str, frames: int, not_followed: Mapping[str, int]) -> Record:
    """Return the last record of a capture.

    :param file: name of the capture.
    :param frames: number of frames read.
    :param not_followed: numbers of frames that were not followed, by reason.
    """
    return {"type": CAPTURE_END, "file": file, "frames": frames, "not_followed": dict(not_followed)}


def carried_mpa(record: dict[str, Any]) -> bool:
    """Return whether the record of a connection shows any MPA, or DDP over SCTP.

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


def specific_keys(event: RecordedEvent, clock: Clock, *, payload: bool = False) -> Record:
    """Return the keys of a record that not all types have.

    :param payload: see :func:`record_of`.
    """
    kind, make = _KINDS[type(event)]
    given = make(event, clock)
    frames = getattr(event, "frames", None)
    if frames is not None:
        given |= carried_by(frames, clock)
    record = values_of(specific_fields(kind), event, given)
    if payload and kind in _PAYLOADS:
        octets = _PAYLOADS[kind](event)
        record["payload"] = None if octets is None else octets.hex()
    return record


def startup_fields(startup: StartupFrame, dialect: Dialect | None) -> Record:
    """Return the keys of a ``startup`` record for the frame itself.

    :param dialect: dialect of the frame (RFC 5044 7.1.1, RFC 6581 9); None if unknown.
    """
    given = {
        "dialect": None if dialect is None else dialect.value,
        "s": startup.s_bit,
        "extension": startup.extension.hex() if extension_length(startup.revision) else None,
    }
    return values_of(STARTUP, startup, given)


def _fpdu(event: FPDURecovered, clock: Clock) -> Record:
    return _segment_keys(event, ddp_fields(event))


def _segment_keys(
    event: FPDURecovered | IFTFrameRecovered | DDPSegmentRecovered, header: dict[str, Any]
) -> Record:
    """Return the keys that the record of every DDP segment has, whatever carried the segment.

    :param header: the fields of its DDP header.
    """
    # MO is the last field of an Untagged header, so the header is whole.
    is_whole = header["opcode"] in HEADER_OPCODES and header["mo"] is not None
    body = event.ulpdu[UNTAGGED_LENGTH:] if is_whole else b""
    return header | fields_of(header["opcode"], body, event.connection, event.direction)


def _indication(event: AdaptionIndicationSeen, clock: Clock) -> Record:
    return {
        **values_of(INDICATION, event.indication, {"ph": int(event.indication.ph)}),
        "dialect": Dialect.DRAFT_IFT_01.value,
    }


def _frame(event: IFTFrameRecovered, clock: Clock) -> Record:
    return {**event.header._asdict(), **_segment_keys(event, frame_fields(event))}


def _session_control(event: SessionControlSeen, clock: Clock) -> Record:
    return {
        "tsn": event.seq,
        **values_of(FUNCTION, event.control),
        **values_of(DEPTHS, event.control.startup),
    }


def _ddp_segment(event: DDPSegmentRecovered, clock: Clock) -> Record:
    return {"tsn": event.seq, **_segment_keys(event, ddp_fields(event))}


def _message(event: MessageRecovered, clock: Clock) -> Record:
    read, latency = event.read_request, latency_of(event, clock)
    is_tagged = event.stag is not None
    return {
        "message": None if event.opcode is None else message_name(event.opcode),
        "missing": [[number(at) if is_tagged else at, octets] for at, octets in event.missing],
        **(dict.fromkeys(ReadRequest._fields) if read is None else values_of(READ, read)),
        **fields_of(event.opcode, event.header, event.connection, event.direction),
        "latency": None if isinstance(latency, str) else latency,
        "captured": moment(event.captured, clock),
        "captured_from": moment(event.captured_from, clock),
        "parts": [
            values_of(OBJECTS["part"], each, {"offset": number(each.offset)} if is_tagged else {})
            for each in event.parts
        ],
    }


def latency_of(event: MessageRecovered, clock: Clock) -> float | str:
    """Return the seconds from the last octet of a Request to the last octet of its Response.

    Or why they are not known, in words that follow the word Response.
    """
    if event.answers is None:
        return "whose Request is not known"
    if not event.has_last:
        return "whose end was not captured"
    if event.conflicts:
        return "whose segments contradict each other"
    begin, end = (
        None if frame is None else clock.time_ns(frame)
        for frame in (event.request_frame, event.captured)
    )
    if begin is None or end is None:
        return "whose time is no longer remembered"
    if begin > end:
        return "whose time is before that of the Request"
    return (end - begin) / SECOND


def _gap(event: GapFound, clock: Clock) -> Record:
    return {"seq": None, "ddp_ssn": event.seq} if isinstance(event, ChunksMissing) else {}


def _error(event: ErrorFound, clock: Clock) -> Record:
    over_sctp = isinstance(event.connection, SctpConnectionId)
    return {
        "code": None if event.code is None else int(event.code),
        "seq": None if over_sctp else event.seq,
        "tsn": event.seq if over_sctp else None,
    }


def _connection(event: ConnectionEnded, clock: Clock) -> Record:
    halves = event.halves[::-1] if event.direction else event.halves
    return {
        **{
            name: sides(source, target)
            for name, source, target in zip(_OF_DIRECTIONS, *map(_values, halves), strict=True)
        },
        "ended": event.ending,
        "end": event.end and _end(event.end, event.direction),
        **({} if event.timing is None else _timing_fields(event, event.timing, halves, clock)),
        **({"broken": []} if event.negotiated is None else values_of(NEGOTIATED, event.negotiated)),
    }


def _end(end: End, initiator: int) -> Record:
    unanswered = sides(end.unanswered[initiator], end.unanswered[1 - initiator])
    return values_of(OBJECTS["end"], end, {"unanswered": unanswered})


def _timing_fields(
    event: ConnectionEnded, timing: Timing, halves: tuple[HalfSummary, HalfSummary], clock: Clock
) -> Record:
    """Return the keys of a ``connection`` record for its speed and its stalls.

    :param halves: summaries of the directions from ``src`` and from ``dst``.
    """
    lasted_ns = event.time_ns - timing.first_ns
    given = {
        "began": {"frame": timing.first_frame, "time": (timing.first_ns - clock.begin_ns) / SECOND},
        "duration": lasted_ns / SECOND,
        "octets_per_second": sides(
            *[each.octets * SECOND / lasted_ns if lasted_ns > 0 else None for each in halves]
        ),
        "handshake": _seconds(timing.handshake_ns),
        "startup": _seconds(timing.startup_ns),
        "longest_stall": _seconds(timing.longest_stall_ns or None),
        "stalls": timing.stalls,
        "stall_frame": timing.stall_frame,
        "late_segments": sides(*[each.late for each in halves]),
        "retransmitted_share": sides(*map(_retransmitted_share, halves)),
    }
    if timing.stalls:
        order = event.direction, 1 - event.direction
        given["stalled"] = sides(*[bool(timing.stalled >> side & 1) for side in order])
    return given


def _retransmitted_share(half: HalfSummary) -> float | None:
    """Return the share of retransmitted octets among all captured ones."""
    captured = half.octets + half.retransmitted_octets
    return half.retransmitted_octets / captured if captured else None


def _seconds(time_ns: int | None) -> float | None:
    return None if time_ns is None else time_ns / SECOND


_FIELDS: Final = fields(specific_fields("connection"))
_OF_DIRECTIONS: Final = [name for name, word in _FIELDS.items() if word.endswith("{}")]
"""The keys of a ``connection`` record with a value for each direction."""
_values: Final = attrgetter(*_OF_DIRECTIONS)


_KINDS: Final[dict[type, tuple[str, Callable[[Any, Clock], Record]]]] = {
    StartupSeen: ("startup", lambda event, clock: startup_fields(event.startup, event.dialect)),
    StreamingSeen: ("streaming", lambda event, clock: {}),
    FPDURecovered: ("fpdu", _fpdu),
    MessageRecovered: ("message", _message),
    GapFound: ("gap", _gap),
    ChunksMissing: ("gap", _gap),
    OverlapDiffers: ("overlap", lambda event, clock: {}),
    ErrorFound: ("error", _error),
    ConnectionEnded: ("connection", _connection),
    AdaptionIndicationSeen: ("adaption_indication", _indication),
    IFTFrameRecovered: ("ift_frame", _frame),
    SessionControlSeen: ("session_control", _session_control),
    DDPSegmentRecovered: ("ddp_segment", _ddp_segment),
}
"""By class of event: the type of its record, and a function.  The function makes the keys that are
no attributes of the event, and do not follow from its frames."""

_PAYLOADS: Final[dict[str, Callable[[Any], bytes | None]]] = {
    "streaming": attrgetter("octets"),
    "fpdu": ddp_payload,
    "message": attrgetter("payload"),
    "ift_frame": frame_payload,
    "ddp_segment": ddp_payload,
}
"""By type of record: a function that returns the octets of the ULP in an event."""
