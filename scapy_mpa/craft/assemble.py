# SPDX-License-Identifier: GPL-2.0-or-later
"""From an FPDU as it is meant to its octets (RFC 5044 4.1 to 4.4)."""

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
    points_alike,
)

_LENGTH: Final = Struct(">H")
IDLE_CRC: Final = bytes(CRC_LENGTH)
"""The field where CRCs are off: it may contain any value (RFC 5044 4.1)."""


class Manner(NamedTuple):
    """In what the FPDUs of dialects differ."""

    layout: Callable[[int, int | None], Layout] = fpdu_layout
    """Where the parts of an FPDU lie, but for its pad, by ULPDU_Length and phase."""
    pad_length: Callable[[int], int] = pad_length
    """The octets of pad for a ULPDU_Length."""
    marker: Callable[[int, int], bytes] = marker_octets
    """The octets of a Marker, by where it begins and where ULPDU_Length does."""
    fpduptr: Callable[[bytes], tuple[int]] = Struct(">2xH").unpack
    """What a Marker says."""
    crc_length: int = CRC_LENGTH
    """Octets of the CRC field."""


STANDARD: Final = Manner()
"""RFC 5044 4."""
SOFTUIWARP: Final = Manner(pad_length=softuiwarp.pad_length)
OSC: Final = Manner(
    partial(osc.fpdu_layout, crc=True),
    marker=osc.marker_octets,
    fpduptr=Struct("<2xH").unpack,
)
OSC_WITHOUT_CRCS: Final = OSC._replace(layout=partial(osc.fpdu_layout, crc=False), crc_length=0)


class Assembled(NamedTuple):
    """The octets of an FPDU, and what is in them."""

    octets: bytes
    header: int
    """Where ULPDU_Length begins: 4 after a leading Marker, else 0."""
    markers: int
    """How many Markers there are."""
    ulpdu: bytes
    """What a receiver takes for the ULPDU, if ``is_regular``."""
    crc: bool | None
    """Whether the CRC field is right; None if CRCs are off."""
    is_regular: bool
    """Whether its beginning, its end and its Markers are where its ULPDU_Length says."""
    agrees: bool
    """Whether its Markers point to its ULPDU_Length field."""


def assemble(
    item: FPDUItem,
    phase: int | None,
    *,
    crc: bool,
    manner: Manner = STANDARD,
) -> Assembled:
    """Return the octets of an FPDU of which any field may be wrong, wherever it lies.

    :param phase: offset of its first octet in the Full Operation Phase modulo 512, or None without
        Markers.
    :param crc: whether CRCs are on.
    :param manner: whose FPDU it is.
    :raises LocalProtocolError: it cannot be expressed on the wire.
    """
    overrides = item.overrides or Overrides()
    ulpdu = item.ulpdu
    length = len(ulpdu) if overrides.ulpdu_length is None else overrides.ulpdu_length
    if not 0 <= length <= LARGEST_ULPDU_LENGTH:
        raise LocalProtocolError(f"ULPDU_Length {length} does not fit its 16 bits (RFC 5044 4.1)")
    pad = bytes(manner.pad_length(len(ulpdu))) if overrides.pad is None else overrides.pad
    body = b"".join((_LENGTH.pack(length), ulpdu, pad))
    places = overrides.marker_places
    if places is None:
        places = () if phase is None else marker_places(len(body) + manner.crc_length, phase)
    header = MARKER_LENGTH if places and places[0] == 0 else 0
    conforming = [manner.marker(at, header) for at in places]
    markers = conforming[:]
    for index, octets in (overrides.markers or {}).items():
        if not 0 <= index < len(places) or len(octets) != MARKER_LENGTH:
            raise LocalProtocolError(
                f"{len(octets)} octets for Marker {index}: the FPDU has {len(places)} Markers of 4 "
                "octets, counted from 0 (RFC 5044 4.2)"
            )
        markers[index] = octets
    # Off its 4-octet grid, a stream may have a Marker in the midst of a CRC field.
    covered = sum(at - MARKER_LENGTH * index <= len(body) for index, at in enumerate(places))
    right = crc_field(insert_markers(body, places[:covered], markers))
    field = right if crc else bytes(manner.crc_length)
    if overrides.crc is not None:
        crc_said = overrides.crc(right) if callable(overrides.crc) else overrides.crc
        field = as_octets("a CRC", crc_said)
    octets = insert_markers(body + field, places, markers)
    return Assembled(
        octets,
        header,
        len(places),
        (ulpdu + pad)[:length],
        field == right if crc else None,
        _is_regular(octets, length, field, places, phase, manner),
        all(map(partial(_point_alike, manner), markers, conforming)),
    )


def _point_alike(manner: Manner, marker: bytes, conforming: bytes) -> bool:
    """Tell whether two Markers are the same to a receiver (RFC 5044 4.2)."""
    return points_alike(manner.fpduptr(marker)[0], manner.fpduptr(conforming)[0])


def _is_regular(
    octets: bytes,
    length: int,
    field: bytes,
    places: tuple[int, ...],
    phase: int | None,
    manner: Manner,
) -> bool:
    """Tell whether a receiver finds all parts of an FPDU where they are."""
    if (phase or 0) & 3 or len(field) != manner.crc_length:
        return False
    layout = manner.layout(length, phase)
    pad = manner.pad_length(length)
    return layout.length - layout.pad + pad == len(octets) and layout.markers == places
