# SPDX-License-Identifier: GPL-2.0-or-later
"""Binds DDP to Scapy's SCTP by Payload Protocol Identifier (RFC 5043 5.2).

A separate module, because importing Scapy's SCTP takes as long as importing all layers of this
package together.
"""

from scapy.layers.sctp import SCTPChunkData
from scapy.packet import bind_bottom_up

from scapy_mpa.layers.sctp import DDPSegmentChunk, DDPStreamSessionControl
from scapy_mpa.wire.sctp_ddp import SEGMENT_PPID, SESSION_CONTROL_PPID


def bind_sctp() -> None:
    """Have Scapy dissect the user data of ``SCTPChunkData`` with PPID 16 and 17 (RFC 5043 5.2).

    A second call has no effect.
    """
    for layer, ppid in (
        (DDPSegmentChunk, SEGMENT_PPID),
        (DDPStreamSessionControl, SESSION_CONTROL_PPID),
    ):
        # Scapy uses the same bindings for the user data and for the octets after the chunk, which
        # are another chunk.  ``data`` is None only the first time.
        fields = {"proto_id": ppid, "data": None}
        if (fields, layer) not in SCTPChunkData.payload_guess:
            bind_bottom_up(SCTPChunkData, layer, **fields)
