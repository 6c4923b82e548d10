# SPDX-License-Identifier: GPL-2.0-or-later
"""Scapy packets for MPA (RFC 5044), DDP (RFC 5041) and RDMAP (RFC 5040, RFC 7306), and for iWARP
Framing for TCP (draft-williams-iwarp-ift-01).

::

    FPDU() / DDPTagged(stag=1, to=0) / RDMAPWrite() / b"x"

A field that is None is computed when a packet is built: lengths, pad, Markers, CRC.  A given value
is sent unchanged, right or wrong.  ``opcode`` and ``qn`` follow from the payload.  A dissected
packet is rebuilt octet for octet.  Changing one field does not change others: for a new CRC, write
``del packet[FPDU].crc``.

No TCP port is bound, since iWARP has none; see :mod:`scapy_mpa.layers.mpa`.  Over SCTP, DDP has
Payload Protocol Identifiers, which ``scapy_mpa.all`` binds; see :mod:`scapy_mpa.layers.sctp`.
"""

from scapy.config import conf
from scapy.packet import Packet, bind_bottom_up, bind_top_down

from scapy_mpa.layers.ddp import DDPTagged, DDPUntagged
from scapy_mpa.layers.fpdu import FPDU, MPAMarker
from scapy_mpa.layers.ift import IFTAdaptionIndication, IFTFrame
from scapy_mpa.layers.mpa import MPA, MPAReply, MPARequest, MPARtr
from scapy_mpa.layers.nvme_rdma import NVMeRDMAAccept, NVMeRDMAReject, NVMeRDMARequest
from scapy_mpa.layers.rdmap import (
    RDMAPAtomicRequest,
    RDMAPAtomicResponse,
    RDMAPImmediateData,
    RDMAPImmediateDataWithSE,
    RDMAPReadRequest,
    RDMAPReadResponse,
    RDMAPSend,
    RDMAPSendWithInvalidate,
    RDMAPSendWithSE,
    RDMAPSendWithSEAndInvalidate,
    RDMAPWrite,
)
from scapy_mpa.layers.rpcrdma import RPCRDMAPrivateData
from scapy_mpa.layers.sctp import DDPSegmentChunk, DDPStreamSessionControl
from scapy_mpa.layers.smb_direct import SMBDirectPrivateData
from scapy_mpa.layers.terminate import RDMAPTerminate
from scapy_mpa.wire.rdmap_names import QUEUE_NUMBERS, TAGGED_OPCODES, Opcode

__all__ = [
    "FPDU",
    "MPA",
    "DDPSegmentChunk",
    "DDPStreamSessionControl",
    "DDPTagged",
    "DDPUntagged",
    "IFTAdaptionIndication",
    "IFTFrame",
    "MPAMarker",
    "MPAReply",
    "MPARequest",
    "MPARtr",
    "NVMeRDMAAccept",
    "NVMeRDMAReject",
    "NVMeRDMARequest",
    "RDMAPAtomicRequest",
    "RDMAPAtomicResponse",
    "RDMAPImmediateData",
    "RDMAPImmediateDataWithSE",
    "RDMAPReadRequest",
    "RDMAPReadResponse",
    "RDMAPSend",
    "RDMAPSendWithInvalidate",
    "RDMAPSendWithSE",
    "RDMAPSendWithSEAndInvalidate",
    "RDMAPTerminate",
    "RDMAPWrite",
    "RPCRDMAPrivateData",
    "SMBDirectPrivateData",
]

_MESSAGES: dict[Opcode, type[Packet]] = {
    Opcode.WRITE: RDMAPWrite,
    Opcode.READ_REQUEST: RDMAPReadRequest,
    Opcode.READ_RESPONSE: RDMAPReadResponse,
    Opcode.SEND: RDMAPSend,
    Opcode.SEND_WITH_INVALIDATE: RDMAPSendWithInvalidate,
    Opcode.SEND_WITH_SE: RDMAPSendWithSE,
    Opcode.SEND_WITH_SE_AND_INVALIDATE: RDMAPSendWithSEAndInvalidate,
    Opcode.TERMINATE: RDMAPTerminate,
    Opcode.IMMEDIATE_DATA: RDMAPImmediateData,
    Opcode.IMMEDIATE_DATA_WITH_SE: RDMAPImmediateDataWithSE,
    Opcode.ATOMIC_REQUEST: RDMAPAtomicRequest,
    Opcode.ATOMIC_RESPONSE: RDMAPAtomicResponse,
}

for _opcode, _message in _MESSAGES.items():
    # Dissection uses the opcode alone, so that a wrong QN is shown.
    _header = DDPTagged if _opcode in TAGGED_OPCODES else DDPUntagged
    bind_bottom_up(_header, _message, opcode=int(_opcode))
    # Below a message, the wrong header has its opcode, too.
    bind_top_down(DDPTagged, _message, opcode=int(_opcode))
    _queue = {} if _header is DDPTagged else {"qn": int(QUEUE_NUMBERS[_opcode])}
    bind_top_down(DDPUntagged, _message, opcode=int(_opcode), **_queue)

# Scapy's explore() accepts only names of Scapy's own modules, and fails with others.  So these
# packets are listed under the name that load_contrib() gives them.
_EXPLORED = "scapy.contrib.mpa"
for _module in [name for name in conf.layers.ldict if name.startswith(f"{__name__}.")]:
    conf.layers.ldict.setdefault(_EXPLORED, []).extend(conf.layers.ldict.pop(_module))
