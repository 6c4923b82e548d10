# SPDX-License-Identifier: GPL-2.0-or-later
"""What this project finds in a capture, as rows with the keys of :mod:`.tshark`."""

from pathlib import Path
from typing import NamedTuple, TypeAlias

from scapy.packet import Packet, Raw

from scapy_mpa.capture import open_capture
from scapy_mpa.layers import DDPTagged, DDPUntagged, RDMAPAtomicRequest, RDMAPTerminate
from scapy_mpa.stream.events import Event, FPDURecovered, StartupSeen
from scapy_mpa.stream.flows import Flows
from scapy_mpa.wire.crc import CRC_LENGTH
from scapy_mpa.wire.fpdu import HEADER_LENGTH, pad_length
from scapy_mpa.wire.rdmap_names import INVALIDATING_OPCODES
from scapy_mpa.wire.startup import StartupKind
from tests.differential.tshark import Row
from tests.stream.feed import decoded

Half: TypeAlias = tuple[int, int]
"""Connection and direction, as events number them."""

Found: TypeAlias = StartupSeen | FPDURecovered


class Reading(NamedTuple):
    """A whole capture."""

    found: dict[Half, list[Found]]
    """Startup frames and FPDUs of each half connection, each in stream order."""
    flow_of: dict[int, bytes]
    """The flow of each frame, by frame number."""


def read(capture: Path) -> Reading:
    """Dissect a capture."""
    reading, flows = Reading({}, {}), Flows()
    events: list[Event] = []
    with open_capture(capture) as frames:
        for segment in decoded(frames):
            reading.flow_of[segment.frame] = segment.flow
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


RENAMED = {
    # The DDP header also has fields of these names.
    (RDMAPAtomicRequest, "reserved"): "atomic_reserved",
    (RDMAPTerminate, "reserved"): "terminate_reserved",
    (RDMAPTerminate, "ddp_header"): "copied_ddp_header",
    (RDMAPTerminate, "rdmap_header"): "copied_rdmap_header",
}
UNKNOWN = ("immediate_data", "mirrored", "evidence", "problem")
"""Fields that Wireshark does not show."""


def _segment(ulpdu: bytes) -> Row:
    """The fields of a DDP segment and of its message, and its payload."""
    segment = (DDPTagged if ulpdu[0] & 0x80 else DDPUntagged)(ulpdu)
    row: Row = {**segment.fields}
    if not segment.tagged:
        row["rsvdulp"] = ulpdu[1:6]
        if segment.opcode not in INVALIDATING_OPCODES:
            del row["invalidate_stag"]
    message = segment.payload
    if isinstance(message, Raw):
        return {**row, "payload": message.load}
    if isinstance(message, RDMAPTerminate):
        # Wireshark knows only RFC 5040's layout.
        message = RDMAPTerminate(bytes(message), mirrored=False)
    for name, value in message.fields.items():
        if name not in UNKNOWN and value is not None:
            key = RENAMED.get((type(message), name), name)
            row[key] = bytes(value) if isinstance(value, Packet) else value
    octets = bytes(message.payload) if not isinstance(message, RDMAPTerminate) else b""
    return {**row, "payload": octets} if octets else row
