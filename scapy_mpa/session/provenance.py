# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a packet that was recovered from a stream came from."""

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
"""Events that bring octets of a layer."""


class Provenance(NamedTuple):
    """The ``provenance`` of a startup frame, an FPDU or the like, or a user message of SCTP.

    The names are those of the records.

    (A named tuple: one is made for each FPDU.)
    """

    connection: int
    """Number of the connection: 0, 1, ... in order of appearance."""
    src: str
    dst: str
    seq: int
    """TCP sequence number of an FPDU's ULPDU_Length field, else of the first octet; over SCTP the
    TSN."""
    offset: int | None
    """Offset of the ULPDU_Length field in the Full Operation Phase; of a frame of iWARP Framing for
    TCP after the adaption indication; None for all else."""
    frames: tuple[int, ...]
    """Numbers, from 1, of the captured frames that brought its octets."""
    located_by: LocatedBy | None
    crc: CrcVerdict | None
    out_of_order: bool
    """Found before all earlier octets of its direction were captured."""

    @classmethod
    def of(cls, event: Recovered) -> Provenance:
        """Return the provenance of what an event recovered."""
        connection, direction = event.connection, event.direction
        source, target = connection.endpoints
        if direction:
            source, target = target, source
        # Startup frames and the like have neither place, nor CRC, nor order of recovery.
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
