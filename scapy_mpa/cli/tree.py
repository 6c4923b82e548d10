# SPDX-License-Identifier: GPL-2.0-or-later
"""The layers of a packet below its line, as Scapy shows them."""

from __future__ import annotations

from typing import Final

from scapy_mpa.records import RecordedEvent
from scapy_mpa.stream.events import (
    AdaptionIndicationSeen,
    DDPSegmentRecovered,
    FPDURecovered,
    IFTFrameRecovered,
    SessionControlSeen,
    StartupSeen,
)

__all__ = ["layer_tree"]

_INDENT: Final = " " * 8


def layer_tree(event: RecordedEvent) -> list[str]:
    """Return the lines of the layers that ``event`` brought, none if it brought no packet."""
    # Scapy takes most of a second to import, which only those wait for who ask for layers.
    from scapy_mpa.layers import (
        FPDU,
        MPA,
        DDPSegmentChunk,
        DDPStreamSessionControl,
        IFTAdaptionIndication,
        IFTFrame,
    )
    from scapy_mpa.layers.enhanced import fields_of_dialect

    if isinstance(event, FPDURecovered):
        packet = FPDU(event.octets, phase=event.phase, dialect=event.dialect)
    elif isinstance(event, StartupSeen):
        packet = MPA(event.octets, **fields_of_dialect(event.dialect))
    elif isinstance(event, IFTFrameRecovered):
        packet = IFTFrame(event.octets, crcs=event.crcs)
    elif isinstance(event, AdaptionIndicationSeen):
        packet = IFTAdaptionIndication(event.octets)
    elif isinstance(event, DDPSegmentRecovered):
        packet = DDPSegmentChunk(event.octets)
    elif isinstance(event, SessionControlSeen):
        packet = DDPStreamSessionControl(event.octets, **fields_of_dialect(event.dialect))
    else:
        return []
    return [f"{_INDENT}{line}".rstrip() for line in packet.show(dump=True).splitlines()]
