# SPDX-License-Identifier: GPL-2.0-or-later
"""Layers of what was recovered, and where it lay in its TCP stream.

Of SCTP there is one for each user message (RFC 5043 5.2).
"""

from __future__ import annotations

from typing import TypeAlias

from scapy.layers.sctp import SCTPChunkData
from scapy.packet import Packet

from scapy_mpa import layers
from scapy_mpa.layers.enhanced import fields_of_dialect
from scapy_mpa.session.provenance import Provenance
from scapy_mpa.stream.events import (
    AdaptionIndicationSeen,
    DDPSegmentRecovered,
    FPDURecovered,
    IFTFrameRecovered,
    SessionControlSeen,
    StartupSeen,
)
from scapy_mpa.stream.sequence import sequence_number
from scapy_mpa.wire.sctp_ddp import SEGMENT_PPID, SESSION_CONTROL_PPID

OnTcp: TypeAlias = FPDURecovered | StartupSeen | AdaptionIndicationSeen | IFTFrameRecovered
"""Events that become a packet over TCP."""
OnSctp: TypeAlias = DDPSegmentRecovered | SessionControlSeen
"""Events that become a packet over SCTP."""


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


def layer_of(event: OnTcp | OnSctp) -> Packet:
    """Return the layer of what was recovered, with its provenance."""
    layer: Packet
    if isinstance(event, FPDURecovered):
        layer = layers.FPDU(event.octets, phase=event.phase, dialect=event.dialect)
    elif isinstance(event, StartupSeen):
        layer = layers.MPA(event.octets, **fields_of_dialect(event.dialect))
    elif isinstance(event, AdaptionIndicationSeen):
        layer = layers.IFTAdaptionIndication(event.octets)
    elif isinstance(event, IFTFrameRecovered):
        layer = layers.IFTFrame(event.octets, crcs=event.crcs)
    elif isinstance(event, DDPSegmentRecovered):
        layer = layers.DDPSegmentChunk(event.octets)
    else:
        layer = layers.DDPStreamSessionControl(event.octets, **fields_of_dialect(event.dialect))
    layer.provenance = Provenance.of(event)
    return layer


def chunk_of(event: OnSctp) -> SCTPChunkData:
    """Return a user message in a DATA chunk of its own, whatever it was sent in.

    Its length is to be computed; a message that was sent in fragments has the TSN of the first.
    """
    is_segment = isinstance(event, DDPSegmentRecovered)
    return SCTPChunkData(
        reserved=0,
        unordered=int(event.unordered),
        beginning=1,
        ending=1,
        tsn=event.seq,
        stream_id=event.stream,
        stream_seq=0,
        proto_id=SEGMENT_PPID if is_segment else SESSION_CONTROL_PPID,
        data=layer_of(event),
    )
