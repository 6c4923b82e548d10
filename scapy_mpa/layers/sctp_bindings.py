# SPDX-License-Identifier: GPL-2.0-or-later
"""DDP bound to Scapy's SCTP by Payload Protocol Identifier (RFC 5043 5.2).

A module of its own because it imports Scapy's SCTP, which takes as long as all the other layers of
this package together.
"""

from scapy.layers.sctp import SCTPChunkData
from scapy.packet import bind_bottom_up

from scapy_mpa.layers.sctp import DDPSegmentChunk, DDPStreamSessionControl
from scapy_mpa.wire.sctp_ddp import SEGMENT_PPID, SESSION_CONTROL_PPID


def bind_sctp() -> None:
    """Have Scapy dissect the user data of ``SCTPChunkData`` with PPID 16 and 17 (RFC 5043 5.2).

    Once is enough, and more do no harm.
    """
    for layer, ppid in (
        (DDPSegmentChunk, SEGMENT_PPID),
        (DDPStreamSessionControl, SESSION_CONTROL_PPID),
    ):
        # Scapy asks the same bindings twice: what the user data are, and what follows the chunk.
        # The second time the field is there, and what follows is another chunk.
        fields = {"proto_id": ppid, "data": None}
        if (fields, layer) not in SCTPChunkData.payload_guess:
            bind_bottom_up(SCTPChunkData, layer, **fields)
