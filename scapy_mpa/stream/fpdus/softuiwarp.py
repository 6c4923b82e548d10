# SPDX-License-Identifier: GPL-2.0-or-later
"""What shows that the FPDUs of a direction have the pads of SoftUiWARP.

A direction without Markers and CRCs is taken for SoftUiWARP if the chain of RFC 5044 breaks after
an FPDU of odd length, and the chain with the other pad goes on.  Three FPDUs in a row must show
that, or all up to the end of the stream, two at least: their headers make sense, their pads and CRC
fields are zero.  All FPDUs of a conforming sender are on the 4-octet grid.  The next one of these
is off it.
"""

from __future__ import annotations

from typing import Final

from scapy_mpa.stream.fpdus.candidate import HEAD, FPDUReader
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.wire.fpdu import HEADER_LENGTH
from scapy_mpa.wire.softuiwarp import CRC_FIELD, fpdu_length, pad_length

_ROW: Final = 3
_SHORTEST_ROW: Final = 2


def pads_otherwise(island: Island, start: int, end: int, *, final: bool) -> int | None:
    """Tell whether SoftUiWARP's pad leads on from an FPDU where RFC 5044's does not.

    :param start: where the last FPDU that RFC 5044's lengths led to begins.
    :param end: where it ends by RFC 5044.
    :param final: nothing will be added to the island.
    :return: where the FPDU ends if so; 0 if not; None if it is not known yet, and ``island.need``
        is where to ask again.
    """
    if start < island.held or start == end:
        return 0
    ulpdu_length = _length_at(island, start)
    usual_end = start + fpdu_length(ulpdu_length)
    if not ulpdu_length & 1 or end == usual_end:
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
        following = at + fpdu_length(ulpdu_length)
        if following > island.end:
            if final:
                return 0
            island.need = following
            return None
        trailer = pad_length(ulpdu_length) + len(CRC_FIELD)
        is_captured = island.is_captured(at, following)
        if not is_captured or any(island.read(following - trailer, following)):
            return 0
        at = following
        row += 1
    return usual_end


def _length_at(island: Island, start: int) -> int:
    return int.from_bytes(island.read(start, start + HEADER_LENGTH), "big")
