# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs of the Ohio Supercomputer Center's software iWARP, as far as its format is known.

Three things differ from RFC 5044 4:

* The count of octets from Marker to Marker skips CRC fields.  So an FPDU has the layout of RFC 5044
  4.3, but at another *phase*, which falls back by 4 octets with each FPDU.
* FPDUPTR is in the octet order of the host; least significant octet first is assumed.
* With CRCs off there is no CRC field.  Then nothing is skipped, and Markers are at the places of
  RFC 5044.

With CRCs on and without Markers its FPDUs are those of RFC 5044.
"""

from __future__ import annotations

from functools import lru_cache

from scapy_mpa.wire.crc import CRC_LENGTH
from scapy_mpa.wire.fpdu import CACHED_LAYOUTS, MARKER_INTERVAL, Layout, layout_with


@lru_cache(maxsize=CACHED_LAYOUTS)
def fpdu_layout(ulpdu_length: int, phase: int | None, crc: bool) -> Layout:
    """Return the places of the parts of an FPDU.

    :param ulpdu_length: octets of the ULPDU, 0 to 65535.
    :param phase: number of octets of the direction that count before its first octet, modulo 512;
        None without Markers.
    :param crc: whether CRCs are on, so that there is a CRC field.
    :raises LocalProtocolError: a value is out of range.
    """
    return layout_with(CRC_LENGTH * crc, "<", ulpdu_length, phase)


def next_phase(phase: int, length: int, *, crc: bool) -> int:
    """Return the phase of the octet after an FPDU.

    :param phase: phase of the FPDU.
    :param length: octets of the FPDU, Markers and CRC field included.
    :param crc: whether CRCs are on.
    """
    return (phase + length - CRC_LENGTH * crc) % MARKER_INTERVAL


def marker_octets(at: int, header: int) -> bytes:
    """Return the 4 octets of a Marker.

    :param at: where it begins, counted from the FPDU's first octet.
    :param header: where ULPDU_Length begins: 4 after a leading Marker, else 0.
    """
    # In an FPDU near 64 KiB, FPDUPTR exceeds 16 bits.
    return bytes(2) + (max(0, at - header) & 0xFFFF).to_bytes(2, "little")
