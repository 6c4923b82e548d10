# SPDX-License-Identifier: GPL-2.0-or-later
"""Packets of what was recovered from SCTP: one for each user message (RFC 5043 5.2)."""

from __future__ import annotations

from scapy.layers.sctp import SCTP, SCTPChunkData
from scapy.packet import Packet

from scapy_mpa.layers import DDPSegmentChunk, DDPStreamSessionControl
from scapy_mpa.layers.enhanced import fields_of_dialect
from scapy_mpa.session.provenance import Provenance
from scapy_mpa.stream.events import DDPSegmentRecovered, SessionControlSeen
from scapy_mpa.wire.sctp_ddp import SEGMENT_PPID, SESSION_CONTROL_PPID

__all__ = ["chunk_of", "sctp_layer"]


def sctp_layer(packet: Packet) -> Packet | None:
    """Return the SCTP layer of a packet, None if it has none."""
    return packet.getlayer(SCTP)


def chunk_of(event: DDPSegmentRecovered | SessionControlSeen) -> SCTPChunkData:
    """Return a user message in a DATA chunk of its own, whatever it was sent in.

    Its length is to be computed; a message that was sent in fragments has the TSN of the first.
    """
    if isinstance(event, DDPSegmentRecovered):
        ppid, layer = SEGMENT_PPID, DDPSegmentChunk(event.octets)
    else:
        ppid = SESSION_CONTROL_PPID
        layer = DDPStreamSessionControl(event.octets, **fields_of_dialect(event.dialect))
    layer.provenance = Provenance.of(event)
    return SCTPChunkData(
        reserved=0,
        unordered=int(event.unordered),
        beginning=1,
        ending=1,
        tsn=event.seq,
        stream_id=event.stream,
        stream_seq=0,
        proto_id=ppid,
        data=layer,
    )
