# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a packet that was recovered from a stream came from."""

from __future__ import annotations

from dataclasses import dataclass

from scapy_mpa.stream.events import CrcVerdict, FPDURecovered, LocatedBy, StartupSeen

__all__ = ["Provenance"]


@dataclass(frozen=True, slots=True)
class Provenance:
    """The ``provenance`` of a startup frame or FPDU; the names are those of the records."""

    connection: int
    """Number of the connection: 0, 1, ... in order of appearance."""
    src: str
    dst: str
    seq: int
    """TCP sequence number of its ULPDU_Length field, of a startup frame's first octet."""
    offset: int | None
    """Offset of the ULPDU_Length field in the Full Operation Phase, None for a startup frame."""
    frames: tuple[int, ...]
    """Numbers, from 1, of the captured frames that brought its octets."""
    located_by: LocatedBy | None
    crc: CrcVerdict | None
    out_of_order: bool
    """Found before all earlier octets of its direction were captured."""

    @classmethod
    def of(cls, event: FPDURecovered | StartupSeen) -> Provenance:
        """Return the provenance of what an event recovered."""
        endpoints = event.connection.endpoints
        return cls(
            connection=event.connection.number,
            src=endpoints[event.direction],
            dst=endpoints[1 - event.direction],
            seq=event.seq,
            offset=event.offset if isinstance(event, FPDURecovered) else None,
            frames=event.frames,
            located_by=event.located_by if isinstance(event, FPDURecovered) else None,
            crc=event.crc if isinstance(event, FPDURecovered) else None,
            out_of_order=isinstance(event, FPDURecovered) and event.out_of_order,
        )
