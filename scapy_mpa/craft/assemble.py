# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the octets of an FPDU item (RFC 5044 4.1 to 4.4)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from struct import Struct
from typing import Final, NamedTuple

from scapy_mpa.craft.given import as_octets
from scapy_mpa.craft.script import FPDUItem, Overrides
from scapy_mpa.wire import osc, softuiwarp
from scapy_mpa.wire.crc import CRC_LENGTH, crc_field
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.fpdu import (
    LARGEST_ULPDU_LENGTH,
    MARKER_LENGTH,
    Layout,
    fpdu_layout,
    insert_markers,
    marker_octets,
    marker_places,
    pad_length,
)

_LENGTH: Final = Struct(">H")
IDLE_CRC: Final = bytes(CRC_LENGTH)
"""The CRC field where CRCs are off: it may contain any value (RFC 5044 4.1)."""


class FPDUFormat(NamedTuple):
    """How the FPDUs of a dialect are laid out."""

    layout: Callable[[int, int | None], Layout] = fpdu_layout
    """Takes ULPDU_Length and phase; returns where the parts of an FPDU are, without its pad."""
    pad_length: Callable[[int], int] = pad_length
    """Takes ULPDU_Length; returns the octets of pad."""
    marker: Callable[[int, int], bytes] = marker_octets
    """Takes the offsets of a Marker and of ULPDU_Length; returns the octets of the Marker."""
    crc_length: int = CRC_LENGTH
    """Octets of the CRC field."""


STANDARD: Final = FPDUFormat()
"""RFC 5044 4."""
SOFTUIWARP: Final = FPDUFormat(pad_length=softuiwarp.pad_length)
OSC: Final = FPDUFormat(partial(osc.fpdu_layout, crc=True), marker=osc.marker_octets)
OSC_WITHOUT_CRCS: Final = OSC._replace(layout=partial(osc.fpdu_layout, crc=False), crc_length=0)


def assemble(
    item: FPDUItem,
    phase: int | None,
    *,
    crc: bool,
    form: FPDUFormat = STANDARD,
) -> bytes:
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
    pad = bytes(form.pad_length(len(ulpdu))) if overrides.pad is None else overrides.pad
    body = b"".join((_LENGTH.pack(length), ulpdu, pad))
    places = overrides.marker_places
    if places is None:
        places = () if phase is None else marker_places(len(body) + form.crc_length, phase)
    header = MARKER_LENGTH if places and places[0] == 0 else 0
    markers = [form.marker(at, header) for at in places]
    for index, octets in (overrides.markers or {}).items():
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
