# SPDX-License-Identifier: GPL-2.0-or-later
"""Layers of what was recovered from TCP, and where each lay in its stream."""

from __future__ import annotations

from typing import TypeAlias

from scapy.packet import Packet

from scapy_mpa.layers import MPA, IFTAdaptionIndication, IFTFrame
from scapy_mpa.layers.enhanced import fields_of_dialect
from scapy_mpa.session.provenance import Provenance
from scapy_mpa.stream.events import (
    AdaptionIndicationSeen,
    FPDURecovered,
    IFTFrameRecovered,
    StartupSeen,
)
from scapy_mpa.stream.sequence import sequence_number

__all__ = ["OnTcp", "extent", "layer_of"]

OnTcp: TypeAlias = FPDURecovered | StartupSeen | AdaptionIndicationSeen | IFTFrameRecovered
"""Events of which there is a packet over TCP."""


def extent(event: OnTcp) -> tuple[int, int]:
    """Return the sequence number of the first octet, and how many octets were sent.

    An FPDU with a bad CRC was captured whole, though its ULPDU_Length may claim more.
    """
    if isinstance(event, StartupSeen):
        return event.seq, event.startup.length
    if isinstance(event, AdaptionIndicationSeen):
        return event.seq, len(event.octets)
    seq, _, before, claimed = event.place
    length = len(event.octets) if event.crc == "bad" else claimed
    return sequence_number(seq - before), length


def layer_of(event: StartupSeen | AdaptionIndicationSeen | IFTFrameRecovered) -> Packet:
    """Return the layer of what is no FPDU, with its provenance."""
    layer: Packet
    if isinstance(event, StartupSeen):
        layer = MPA(event.octets, **fields_of_dialect(event.dialect))
    elif isinstance(event, AdaptionIndicationSeen):
        layer = IFTAdaptionIndication(event.octets)
    else:
        layer = IFTFrame(event.octets, crcs=event.crcs)
    layer.provenance = Provenance.of(event)
    return layer
