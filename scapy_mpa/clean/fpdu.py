# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs without their Markers (RFC 5044 4.3), the verdict on their CRCs unchanged."""

from __future__ import annotations

from typing import Final

from scapy_mpa.stream.events import FPDURecovered
from scapy_mpa.wire import softuiwarp
from scapy_mpa.wire.crc import CRC_LENGTH, crc_field
from scapy_mpa.wire.fpdu import (
    HEADER_LENGTH,
    fpdu_layout,
    fpdu_length,
    pad_length,
    strip_markers,
)

__all__ = ["OFF_GRID", "is_padded_otherwise", "unmarked_octets"]


OFF_GRID: Final = 2
"""Octets by which an FPDU of SoftUiWARP that was taken for one of RFC 5044 seems to end too early
or too late.  No FPDU is as short as that: nothing is missing there, and nothing came too late."""


def unmarked_octets(event: FPDURecovered) -> bytes:
    """Return the octets of an FPDU as they would be in a direction without Markers.

    The CRC field is wrong by the same bits as it was: a good one is good, a bad one is bad.  Where
    CRCs are off it stays as it is.
    """
    octets = event.octets
    if is_padded_otherwise(event):
        padded = HEADER_LENGTH + event.ulpdu_length
        return octets[:padded] + bytes(pad_length(event.ulpdu_length) + CRC_LENGTH)
    if not event.markers:
        return octets
    layout = fpdu_layout(event.ulpdu_length, event.phase)
    without = strip_markers(octets, layout.markers)
    if event.crc == "off" or len(octets) < layout.length:
        return without
    body = without[:-CRC_LENGTH]
    if event.crc == "good":
        return body + crc_field(body)
    wrong_by = _number(crc_field(octets[:-CRC_LENGTH])) ^ _number(octets[-CRC_LENGTH:])
    field = _number(crc_field(body)) ^ wrong_by
    return body + field.to_bytes(CRC_LENGTH, "big")


def is_padded_otherwise(event: FPDURecovered) -> bool:
    """Tell whether an FPDU ends with the pad that SoftUiWARP gives it, and not RFC 5044 4.1."""
    length = softuiwarp.fpdu_length(event.ulpdu_length)
    return (
        event.crc == "off"
        and event.phase is None
        and len(event.octets) == length != fpdu_length(event.ulpdu_length)
    )


def _number(field: bytes) -> int:
    return int.from_bytes(field, "big")
