# SPDX-License-Identifier: GPL-2.0-or-later
"""What this project finds in a capture, as rows with the keys of :mod:`.tshark`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from scapy_mpa.capture import Decoder, open_capture
from scapy_mpa.stream.events import Event, FPDURecovered, StartupSeen
from scapy_mpa.stream.flows import Flows
from scapy_mpa.wire.crc import CRC_LENGTH
from scapy_mpa.wire.ddp import parse_ddp
from scapy_mpa.wire.fpdu import HEADER_LENGTH, pad_length
from scapy_mpa.wire.rdmap import (
    ATOMIC_REQUEST_LENGTH,
    ATOMIC_RESPONSE_LENGTH,
    READ_REQUEST_LENGTH,
    parse_atomic_request,
    parse_atomic_response,
    parse_control,
    parse_read_request,
)
from scapy_mpa.wire.rdmap_names import Opcode
from scapy_mpa.wire.startup import StartupKind
from scapy_mpa.wire.terminate import parse_terminate
from tests.differential.tshark import Row

Half: TypeAlias = tuple[int, int]
"""Connection and direction, as events number them."""

Found: TypeAlias = StartupSeen | FPDURecovered

INVALIDATING = (Opcode.SEND_WITH_INVALIDATE, Opcode.SEND_WITH_SE_AND_INVALIDATE)


class Reading(NamedTuple):
    """A whole capture."""

    found: dict[Half, list[Found]]
    """Startup frames and FPDUs of each half connection, each in stream order."""
    flow_of: dict[int, bytes]
    """The flow of each frame, by frame number."""


def read(capture: Path) -> Reading:
    """Dissect a capture."""
    reading = Reading({}, {})
    decoder, flows = Decoder(), Flows()
    events: list[Event] = []
    with open_capture(capture) as frames:
        for frame in frames:
            segment = decoder.segment(frame)
            if segment is not None:
                reading.flow_of[frame.number] = segment.flow
                events += flows.receive(segment)
    for event in events + flows.finish():
        if isinstance(event, Found):
            half = event.connection.number, event.direction
            reading.found.setdefault(half, []).append(event)
    for each in reading.found.values():
        each.sort(key=_place)
    return reading


def _place(event: Found) -> int:
    if isinstance(event, StartupSeen):
        return -1
    assert event.offset is not None
    return event.offset


def row(event: Found) -> Row:
    """The row of an event."""
    return _startup(event) if isinstance(event, StartupSeen) else _fpdu(event)


def _startup(event: StartupSeen) -> Row:
    startup = event.startup
    row: Row = {
        "frame": event.frame,
        "kind": "req" if startup.kind is StartupKind.REQUEST else "rep",
        "markers": startup.markers,
        "crc_flag": startup.crc,
        "rejected": startup.rejected,
        "reserved": startup.s_bit << 4 | startup.reserved,
        "revision": startup.revision,
        "pd_length": startup.pd_length,
    }
    if startup.data:
        row["data"] = startup.data
    return row


def _fpdu(event: FPDURecovered) -> Row:
    row: Row = {
        "frame": event.frame,
        "kind": "fpdu",
        "ulpdu_length": event.ulpdu_length,
        "crc": event.crc,
        "crc_field": int.from_bytes(event.octets[-CRC_LENGTH:], "big"),
    }
    if pad_length(event.ulpdu_length):
        row["pad"] = event.octets[HEADER_LENGTH + event.ulpdu_length : -CRC_LENGTH]
    if event.ulpdu_length:
        row |= _segment(event.ulpdu)
    return row


def _there(fields: dict[str, Any], *names: str, **renamed: str) -> Row:
    """Fields that are not None: those with these names, and others under new names."""
    wanted = {**dict(zip(names, names, strict=True)), **renamed}
    return {new: fields[old] for old, new in wanted.items() if fields[old] is not None}


def _segment(ulpdu: bytes) -> Row:
    header = parse_ddp(ulpdu)
    control = parse_control(header.rsvdulp)
    row = _there(
        header._asdict(),
        *("tagged", "last", "reserved", "ddp_version", "stag", "to", "qn", "msn", "mo"),
    )
    row |= _there(control._asdict(), "rdmap_version", "opcode", reserved="rdmap_reserved")
    if header.rsvdulp_word is not None:
        row["rsvdulp"] = ulpdu[1:6]
        if control.opcode in INVALIDATING:
            row["invalidate_stag"] = header.rsvdulp_word
    return row | _body(control.opcode, header.tagged, ulpdu[header.length :])


HEADERS: dict[int, tuple[int, Callable[[bytes], Any]]] = {
    Opcode.READ_REQUEST: (READ_REQUEST_LENGTH, parse_read_request),
    Opcode.ATOMIC_REQUEST: (ATOMIC_REQUEST_LENGTH, parse_atomic_request),
    Opcode.ATOMIC_RESPONSE: (ATOMIC_RESPONSE_LENGTH, parse_atomic_response),
}
"""By opcode, the octets of an RDMAP header, and its parser."""


def _body(opcode: int, tagged: bool, octets: bytes) -> Row:
    """What follows the DDP header: an RDMAP header, or payload."""
    if not tagged and opcode == Opcode.TERMINATE:
        return _terminate(octets)
    fields: Row = {}
    if not tagged and opcode in HEADERS:
        size, parse = HEADERS[opcode]
        fields = parse(octets[:size])._asdict()
        octets = octets[size:]
    if "reserved" in fields:
        # The DDP header also has a field of that name.
        fields["atomic_reserved"] = fields.pop("reserved")
    return {**fields, "payload": octets} if octets else fields


def _terminate(octets: bytes) -> Row:
    return _there(
        # Wireshark knows only RFC 5040's layout.
        parse_terminate(octets, mirrored=False)._asdict(),
        *("layer", "etype", "error_code", "m", "d", "r", "ddp_segment_length"),
        reserved="terminate_reserved",
        ddp_header="copied_ddp_header",
        rdmap_header="copied_rdmap_header",
    )
