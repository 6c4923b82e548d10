# SPDX-License-Identifier: GPL-2.0-or-later
"""Payload below a line."""

from __future__ import annotations

from typing import Final

from scapy_mpa.records import RecordedEvent
from scapy_mpa.records.ddp import ddp_payload, frame_payload
from scapy_mpa.stream.events import (
    DDPSegmentRecovered,
    FPDURecovered,
    IFTFrameRecovered,
    MessageRecovered,
    SessionControlSeen,
    StartupSeen,
    StreamingSeen,
)

__all__ = ["hex_dump", "payload_dump"]

_ROW: Final = 16
_INDENT: Final = " " * 8
_SHOWN: Final = bytes(octet if 0x20 <= octet < 0x7F else ord(".") for octet in range(256))


def payload_dump(event: RecordedEvent) -> list[str]:
    """Return the lines of what the ULP sent: the payload of a DDP segment, or Private Data."""
    if isinstance(event, FPDURecovered | DDPSegmentRecovered):
        return hex_dump(ddp_payload(event))
    if isinstance(event, IFTFrameRecovered):
        return hex_dump(frame_payload(event))
    if isinstance(event, MessageRecovered):
        return hex_dump(event.payload or b"")
    if isinstance(event, StreamingSeen):
        return hex_dump(event.octets)
    if isinstance(event, StartupSeen):
        return hex_dump(event.startup.private_data)
    if isinstance(event, SessionControlSeen):
        return hex_dump(event.control.private_data)
    return []


def hex_dump(octets: bytes) -> list[str]:
    """Return lines of 16 octets: offset, hexadecimal, ASCII."""
    rows = []
    for at in range(0, len(octets), _ROW):
        row = octets[at : at + _ROW]
        text = row.translate(_SHOWN).decode("ascii")
        rows.append(f"{_INDENT}{at:04x}  {row.hex(' '):<{3 * _ROW}} {text}")
    return rows
