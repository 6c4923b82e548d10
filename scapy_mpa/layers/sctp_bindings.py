# SPDX-License-Identifier: GPL-2.0-or-later
"""Binds DDP to Scapy's SCTP by Payload Protocol Identifier (RFC 5043 5.2).

A module of its own because it imports Scapy's SCTP, which takes as long as all the other layers of
this package together.
"""

from scapy.layers.sctp import SCTPChunkData
from scapy.packet import bind_bottom_up

from scapy_mpa.layers.sctp import DDPSegmentChunk, DDPStreamSessionControl
from scapy_mpa.wire.sctp_ddp import SEGMENT_PPID, SESSION_CONTROL_PPID

__all__: list[str] = []

# Scapy asks the same bindings twice: what the user data are, and what follows the chunk.  The
# second time the field is there, and what follows is another chunk.
bind_bottom_up(SCTPChunkData, DDPSegmentChunk, proto_id=SEGMENT_PPID, data=None)
bind_bottom_up(SCTPChunkData, DDPStreamSessionControl, proto_id=SESSION_CONTROL_PPID, data=None)
