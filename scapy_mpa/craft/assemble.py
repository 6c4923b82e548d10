# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the octets of an FPDU item (RFC 5044 4.1 to 4.4)."""

from __future__ import annotations

from struct import Struct
from typing import Final

from scapy_mpa.craft.given import as_octets, number
from scapy_mpa.craft.script import FPDUItem, Overrides
from scapy_mpa.wire.crc import CRC_LENGTH, crc_field
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.fpdu import (
    LARGEST_ULPDU_LENGTH,
    MARKER_LENGTH,
    STANDARD,
    FPDUFormat,
    insert_markers,
    marker_octets,
    marker_places,
)

_LENGTH: Final = Struct(">H")
IDLE_CRC: Final = bytes(CRC_LENGTH)
"""The CRC field where CRCs are off: it may contain any value (RFC 5044 4.1)."""


def assemble(item: FPDUItem, phase: int | None, *, crc: bool, form: FPDUFormat = STANDARD) -> bytes:
    """Return the octets of an FPDU; any of its fields may be wrong.

    :param phase: offset of its first octet in the Full Operation Phase modulo 512, or None without
        Markers.
    :param crc: whether CRCs are on.
    :param form: how its dialect lays it out.
    :raises LocalProtocolError: it cannot be expressed on the wire.
    """
    overrides = item.overrides or Overrides()
    ulpdu = item.ulpdu
    length = len(ulpdu) if overrides.ulpdu_length is None else overrides.ulpdu_length
    if not 0 <= length <= LARGEST_ULPDU_LENGTH:
        raise LocalProtocolError(f"ULPDU_Length {length} does not fit its 16 bits (RFC 5044 4.1)")
    pad = bytes(form.pad_length(len(ulpdu)))
    if overrides.pad is not None:
        pad = as_octets("a pad", overrides.pad)
    body = b"".join((_LENGTH.pack(length), ulpdu, pad))
    places = overrides.marker_places
    if places is None:
        places = () if phase is None else marker_places(len(body) + form.crc_length, phase)
    else:
        low, end = 0, len(body) + form.crc_length
        for index, at in enumerate(places):
            number(f"the place of Marker {index}:", at, low, end + MARKER_LENGTH * index - 1)
            low = at + MARKER_LENGTH
    header = MARKER_LENGTH if places and places[0] == 0 else 0
    markers = [marker_octets(at, header, form.order) for at in places]
    for index, given in (overrides.markers or {}).items():
        octets = as_octets("a Marker", given)
        if not 0 <= index < len(places) or len(octets) != MARKER_LENGTH:
            raise LocalProtocolError(
                f"{len(octets)} octets for Marker {index}: the FPDU has {len(places)} Markers of 4 "
                "octets, counted from 0 (RFC 5044 4.2)"
            )
        markers[index] = octets
    # If FPDUs are not at multiples of four octets, a Marker may lie within a CRC field.
    covered = sum(at - MARKER_LENGTH * index <= len(body) for index, at in enumerate(places))
    right = crc_field(insert_markers(body, places[:covered], markers))
    field = right if crc else bytes(form.crc_length)
    if overrides.crc is not None:
        given = overrides.crc(right) if callable(overrides.crc) else overrides.crc
        field = as_octets("a CRC", given)
    return insert_markers(body + field, places, markers)
