# SPDX-License-Identifier: GPL-2.0-or-later
"""The origin of a recovered packet: connection, sequence number, captured frames."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from scapy_mpa.stream.events import (
    AdaptionIndicationSeen,
    Carrier,
    CrcVerdict,
    LocatedBy,
    SessionControlSeen,
    StartupSeen,
)

Recovered: TypeAlias = Carrier | StartupSeen | AdaptionIndicationSeen | SessionControlSeen
"""Events that hold the octets of a layer."""


class Provenance(NamedTuple):
    """The ``provenance`` of a startup frame, a frame of another framing, or an FPDU.

    The names are those of the records.

    (A named tuple, because that is fast: each FPDU has one.)
    """

    connection: int
    """Number of the connection: 0, 1, ... in order of appearance."""
    src: str
    dst: str
    seq: int
    """TCP sequence number of an FPDU's ULPDU_Length field, else of the first octet."""
    offset: int | None
    """Offset of an FPDU's ULPDU_Length field in the Full Operation Phase.  Of a frame of iWARP
    Framing for TCP, its offset after the adaption indication; else None."""
    frames: tuple[int, ...]
    """Numbers, from 1, of the captured frames that brought its octets."""
    located_by: LocatedBy | None
    crc: CrcVerdict | None
    out_of_order: bool
    """Whether it was found before all earlier octets of its direction were captured."""

    @classmethod
    def of(cls, event: Recovered) -> Provenance:
        """Return the provenance of an event."""
        connection, direction = event.connection, event.direction
        source, target = connection.endpoints
        if direction:
            source, target = target, source
        # Only FPDUs and frames of other framings have all of these.
        return cls(
            connection.number,
            source,
            target,
            event.seq,
            getattr(event, "offset", None),
            event.frames,
            getattr(event, "located_by", None),
            getattr(event, "crc", None),
            getattr(event, "out_of_order", False),
        )
