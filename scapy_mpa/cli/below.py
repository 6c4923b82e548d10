# SPDX-License-Identifier: GPL-2.0-or-later
"""The text below a line: the layers of a packet as Scapy shows them, and a dump of payload."""

from __future__ import annotations

from typing import Any, Final

from scapy_mpa.records.record import RecordedEvent

_ROW: Final = 16
_INDENT: Final = " " * 8
_SHOWN: Final = bytes(octet if 0x20 <= octet < 0x7F else ord(".") for octet in range(256))


def layer_tree(event: RecordedEvent) -> list[str]:
    """Return the lines of the layers of ``event``, none if it has no packet."""
    # Imported late: importing Scapy takes most of a second, and only layers need it.
    from scapy_mpa.layers.recovered import layer_of

    packet = layer_of(event)
    if packet is None:
        return []
    return [f"{_INDENT}{line}".rstrip() for line in packet.show(dump=True).splitlines()]


def payload_dump(record: dict[str, Any]) -> list[str]:
    """Return the lines of the octets of the ULP: payload, or Private Data of a startup frame.

    :param record: a record with payload.
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
