# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs without their Markers (RFC 5044 4.3), the verdict on their CRCs unchanged."""

from __future__ import annotations

from scapy_mpa.stream.events import FPDURecovered, FPDUWithoutCRC
from scapy_mpa.wire.crc import CRC_LENGTH, crc_field
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.fpdu import HEADER_LENGTH, fpdu_layout, pad_length, strip_markers


def unmarked_octets(event: FPDURecovered) -> bytes:
    """Return the octets of an FPDU as they would be in a direction without Markers.

    The CRC field is wrong by the same bits as it was: a good one is good, a bad one is bad.  Where
    CRCs are off it stays as it is; one that was not there is zero.
    """
    octets = event.octets
    is_whole = len(octets) == event.place[3]
    if event.dialect is Dialect.SOFTUIWARP:
        padded = HEADER_LENGTH + event.ulpdu_length
        trailer = pad_length(event.ulpdu_length) + CRC_LENGTH if is_whole else 0
        return octets[:padded] + bytes(trailer)
    lacks_crc = isinstance(event, FPDUWithoutCRC)
    if not (event.markers or lacks_crc):
        return octets
    layout = fpdu_layout(event.ulpdu_length, event.phase)
    without = strip_markers(octets, layout.markers)
    if lacks_crc:
        return without + bytes(CRC_LENGTH) if is_whole else without
    if event.crc == "off" or len(octets) < layout.length:
        return without
    body = without[:-CRC_LENGTH]
    if event.crc == "good":
        return body + crc_field(body)
    wrong_by = _number(crc_field(octets[:-CRC_LENGTH])) ^ _number(octets[-CRC_LENGTH:])
    field = _number(crc_field(body)) ^ wrong_by
    return body + field.to_bytes(CRC_LENGTH, "big")


def _number(field: bytes) -> int:
    return int.from_bytes(field, "big")
