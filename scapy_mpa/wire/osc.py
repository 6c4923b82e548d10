# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs of the Ohio Supercomputer Center's software iWARP, as far as its wire is known.

Three things differ from RFC 5044 4:

* The count of octets from Marker to Marker skips CRC fields.  So an FPDU is laid out as in RFC 5044
  4.3, but at another *phase*, which falls back by 4 octets with each FPDU.
* FPDUPTR is in the order of octets of the host, taken to be the least significant octet first.
* With CRCs off there is no CRC field.  Then nothing is skipped, and Markers are where RFC 5044 has
  them for the octets that are there.

With CRCs on and without Markers its FPDUs are those of RFC 5044.
"""

from __future__ import annotations

from functools import lru_cache

from scapy_mpa.wire.crc import CRC_LENGTH
from scapy_mpa.wire.fpdu import CACHED_LAYOUTS, MARKER_INTERVAL, Layout, layout_with


@lru_cache(maxsize=CACHED_LAYOUTS)
def fpdu_layout(ulpdu_length: int, phase: int | None, crc: bool) -> Layout:
    """Return where the parts of an FPDU lie.

    :param ulpdu_length: octets of the ULPDU, 0 to 65535.
    :param phase: of its first octet: how many octets of its direction precede it that count,
        modulo 512; None without Markers.
    :param crc: whether CRCs are on, so that there is a CRC field.
    :raises LocalProtocolError: a value is out of range.
    """
    return layout_with(CRC_LENGTH * crc, "<", ulpdu_length, phase)


def next_phase(phase: int, length: int, *, crc: bool) -> int:
    """Return the phase of what follows an FPDU.

    :param phase: of the FPDU.
    :param length: its octets, Markers and CRC field included.
    :param crc: whether CRCs are on.
    """
    return (phase + length - CRC_LENGTH * crc) % MARKER_INTERVAL


def marker_octets(at: int, header: int) -> bytes:
    """Return the 4 octets of a Marker.

    :param at: where it begins, counted from the FPDU's first octet.
    :param header: where ULPDU_Length begins: 4 after a leading Marker, else 0.
    """
    # An FPDU near 64 KiB outruns the 16 bits of FPDUPTR.
    return bytes(2) + (max(0, at - header) & 0xFFFF).to_bytes(2, "little")
