# SPDX-License-Identifier: GPL-2.0-or-later
"""What is printed below a line: the layers of a packet as Scapy shows them, and payload."""

from __future__ import annotations

from typing import Any, Final

from scapy_mpa.records.record import RecordedEvent

_ROW: Final = 16
_INDENT: Final = " " * 8
_SHOWN: Final = bytes(octet if 0x20 <= octet < 0x7F else ord(".") for octet in range(256))


def layer_tree(event: RecordedEvent) -> list[str]:
    """Return the lines of the layers that ``event`` brought, none if it brought no packet."""
    # Scapy takes most of a second to import, which only those wait for who ask for layers.
    from scapy_mpa.layers.recovered import layer_of

    packet = layer_of(event)
    if packet is None:
        return []
    return [f"{_INDENT}{line}".rstrip() for line in packet.show(dump=True).splitlines()]


def payload_dump(record: dict[str, Any]) -> list[str]:
    """Return the lines of what the ULP sent: payload, or Private Data of a startup frame.

    :param record: with the payload.
    """
    return hex_dump(bytes.fromhex(record.get("payload") or record.get("private_data") or ""))


def hex_dump(octets: bytes) -> list[str]:
    """Return lines of 16 octets: offset, hexadecimal, ASCII."""
    rows = []
    for at in range(0, len(octets), _ROW):
        row = octets[at : at + _ROW]
        text = row.translate(_SHOWN).decode("ascii")
        rows.append(f"{_INDENT}{at:04x}  {row.hex(' '):<{3 * _ROW}} {text}")
    return rows
