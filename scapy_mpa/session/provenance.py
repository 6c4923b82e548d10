# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a packet that was recovered from a stream came from."""

from __future__ import annotations

from typing import NamedTuple

from scapy_mpa.stream.events import (
    AdaptionIndicationSeen,
    CrcVerdict,
    FPDURecovered,
    IFTFrameRecovered,
    LocatedBy,
    StartupSeen,
)

__all__ = ["Provenance"]


class Provenance(NamedTuple):
    """The ``provenance`` of a startup frame, FPDU or the like; the names are those of the records.

    (A named tuple: one is made for each FPDU.)
    """

    connection: int
    """Number of the connection: 0, 1, ... in order of appearance."""
    src: str
    dst: str
    seq: int
    """TCP sequence number of an FPDU's ULPDU_Length field, else of the first octet."""
    offset: int | None
    """Offset of the ULPDU_Length field in the Full Operation Phase; of a frame of iWARP Framing for
    TCP behind the adaption indication; None for a startup frame or an adaption indication."""
    frames: tuple[int, ...]
    """Numbers, from 1, of the captured frames that brought its octets."""
    located_by: LocatedBy | None
    crc: CrcVerdict | None
    out_of_order: bool
    """Found before all earlier octets of its direction were captured."""

    @classmethod
    def of(
        cls, event: FPDURecovered | StartupSeen | AdaptionIndicationSeen | IFTFrameRecovered
    ) -> Provenance:
        """Return the provenance of what an event recovered."""
        connection, direction = event.connection, event.direction
        source, target = connection.endpoints
        if direction:
            source, target = target, source
        if isinstance(event, FPDURecovered | IFTFrameRecovered):
            return cls(
                connection.number,
                source,
                target,
                event.seq,
                event.offset,
                event.frames,
                event.located_by,
                event.crc,
                event.out_of_order,
            )
        return cls(
            connection.number, source, target, event.seq, None, event.frames, None, None, False
        )
