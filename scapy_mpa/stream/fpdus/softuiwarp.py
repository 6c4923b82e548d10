# SPDX-License-Identifier: GPL-2.0-or-later
"""Check whether the FPDUs of a direction have the pads of SoftUiWARP.

A direction without Markers and CRCs counts as SoftUiWARP if two conditions hold.  With the pads of
RFC 5044, the chain of lengths breaks after an FPDU of odd length.  With the pads of SoftUiWARP, it
goes on: for three FPDUs in a row or, at the end of the stream, for all that are left, at least two.
Their headers must make sense, and their pads and CRC fields must be zero.  A conforming sender's
FPDUs are all on the 4-octet grid.  The next of these FPDUs is not.
"""

from __future__ import annotations

from typing import Final

from scapy_mpa.stream.fpdus.candidate import HEAD, FPDUReader
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.wire.fpdu import HEADER_LENGTH, SOFTUIWARP

_ROW: Final = 3
_SHORTEST_ROW: Final = 2


def pads_otherwise(island: Island, start: int, end: int, *, final: bool) -> int | None:
    """Return where an FPDU ends if its pad is SoftUiWARP's, and not RFC 5044's.

    :param start: where the last FPDU begins to which lengths of RFC 5044 lead.
    :param end: where this FPDU ends by RFC 5044.
    :param final: no octets will be added to the island.
    :return: its end with SoftUiWARP's pad; 0 if it has none; None if that is not known before
        octets reach ``island.need``.
    """
    if start < island.held or start == end:
        return 0
    ulpdu_length = _length_at(island, start)
    softuiwarp_end = start + SOFTUIWARP.layout(ulpdu_length, None).length
    if not ulpdu_length & 1 or end == softuiwarp_end:
        return 0
    reader = FPDUReader(start, markers=False, crc=False, any_stag=True)
    at, row = start, -1
    while row < _ROW:
        if at + HEAD > island.end and at > start:
            if final and at == island.end and row >= _SHORTEST_ROW:
                break
            if final or not reader.may_begin(island, at, island.end):
                return 0
            island.need = at + HEAD
            return None
        if not reader.makes_sense(island, at, island.end):
            return 0
        ulpdu_length = _length_at(island, at)
        layout = SOFTUIWARP.layout(ulpdu_length, None)
        following = at + layout.length
        if following > island.end:
            if final:
                return 0
            island.need = following
            return None
        trailer = layout.pad + SOFTUIWARP.crc_length
        is_captured = island.is_captured(at, following)
        if not is_captured or any(island.read(following - trailer, following)):
            return 0
        at = following
        row += 1
    return softuiwarp_end


def _length_at(island: Island, start: int) -> int:
    return int.from_bytes(island.read(start, start + HEADER_LENGTH), "big")
