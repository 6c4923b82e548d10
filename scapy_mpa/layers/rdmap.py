# SPDX-License-Identifier: GPL-2.0-or-later
"""RDMAP messages (RFC 5040 4, RFC 7306 5 and 6); the Terminate has its own module.

RDMAP's control octet is in the DDP header, so a Write, a Read Response or a Send has no field: its
layer only names the message.  ``bind_layers(RDMAPSend, ...)`` applies to all four Sends.
"""

from __future__ import annotations

from scapy.config import conf
from scapy.fields import IntField, XIntField, XLongField, XStrFixedLenField
from scapy.packet import Packet

from scapy_mpa.layers.base import _Layer
from scapy_mpa.layers.ddp import DDPUntagged
from scapy_mpa.layers.fields import BitEnumField, BitField
from scapy_mpa.wire.rdmap import (
    ATOMIC_REQUEST_LENGTH,
    ATOMIC_RESPONSE_LENGTH,
    IMMEDIATE_DATA_LENGTH,
    READ_REQUEST_LENGTH,
)
from scapy_mpa.wire.rdmap_names import ATOMIC_OPERATIONS, MESSAGE_NAMES, Opcode
from scapy_mpa.wire.shown import counted


def _hash_of(number: int) -> bytes:
    """Return the value by which Scapy groups a Request and its Response, before it matches them."""
    return int(number).to_bytes(4, "big")


class _DataMessage(_Layer):
    """A message without an RDMAP header."""

    def describe(self) -> str:
        return f"{self.name} {counted(len(self.payload.do_build()), 'octet')}"


class RDMAPWrite(_DataMessage):
    """RDMA Write (RFC 5040 4.3): no octets but the payload."""

    name = MESSAGE_NAMES[Opcode.WRITE]


class RDMAPReadRequest(_Layer):
    """RDMA Read Request (RFC 5040 4.4), 28 octets.

    ==============  =====================================
    sink_stag       32 bits
    sink_to         64 bits
    rdma_read_size  RDMARDSZ: octets to be read, 32 bits
    src_stag        32 bits
    src_to          64 bits
    ==============  =====================================

    :raises RemoteProtocolError: read from fewer than 28 octets.
    """

    name = MESSAGE_NAMES[Opcode.READ_REQUEST]
    shortest = READ_REQUEST_LENGTH
    identity = (
        "size=%rdma_read_size% src_stag=%src_stag% src_to=%src_to% sink_stag=%sink_stag% "
        "sink_to=%sink_to%"
    )
    fields_desc = [
        XIntField("sink_stag", 0),
        XLongField("sink_to", 0),
        IntField("rdma_read_size", 0),
        XIntField("src_stag", 0),
        XLongField("src_to", 0),
    ]

    def hashret(self) -> bytes:
        return _hash_of(self.sink_stag)


class RDMAPReadResponse(_DataMessage):
    """RDMA Read Response (RFC 5040 4.5): no octets but the payload.

    Each of its segments answers the Read Request that names the segment's Data Sink.
    """

    name = MESSAGE_NAMES[Opcode.READ_RESPONSE]

    def hashret(self) -> bytes:
        return _hash_of(self.underlayer.stag) if self.underlayer else b""

    def answers(self, other: Packet) -> bool:
        segment = self.underlayer
        if segment is None or not isinstance(other, RDMAPReadRequest):
            return False
        at = segment.to - other.sink_to
        fits = 0 <= at <= other.rdma_read_size - len(self.payload)
        return fits and bool(segment.stag == other.sink_stag)


class RDMAPSend(_DataMessage):
    """Send (RFC 5040 4.6): no octets but the payload.

    A Send answers another Send if its payload answers the other's.  A layer bound to it is read
    only from the first segment of a Send: the octets of the others stay ``Raw``.
    """

    name = MESSAGE_NAMES[Opcode.SEND]

    def guess_payload_class(self, payload: bytes) -> type[Packet]:
        segment = self.underlayer
        if isinstance(segment, DDPUntagged) and segment.mo:
            # These octets continue a message that began in another segment.
            raw: type[Packet] = conf.raw_layer
            return raw
        chosen: type[Packet] = super().guess_payload_class(payload)
        return chosen

    def answers(self, other: Packet) -> bool:
        return isinstance(other, RDMAPSend) and bool(self.payload.answers(other.payload))


class _Invalidating(RDMAPSend):
    """The base class of the two Sends with Invalidate."""

    def describe(self) -> str:
        text = super().describe()
        if isinstance(self.underlayer, DDPUntagged):
            text += self.underlayer.sprintf(", STag %invalidate_stag%")
        return text


class RDMAPSendWithInvalidate(_Invalidating):
    """Send with Invalidate (RFC 5040 4.7); the STag is ``invalidate_stag`` of DDPUntagged."""

    name = MESSAGE_NAMES[Opcode.SEND_WITH_INVALIDATE]


class RDMAPSendWithSE(RDMAPSend):
    """Send with Solicited Event (RFC 5040 4.6)."""

    name = MESSAGE_NAMES[Opcode.SEND_WITH_SE]


class RDMAPSendWithSEAndInvalidate(_Invalidating):
    """Send with Solicited Event and Invalidate (RFC 5040 4.7); see RDMAPSendWithInvalidate."""

    name = MESSAGE_NAMES[Opcode.SEND_WITH_SE_AND_INVALIDATE]


class RDMAPImmediateData(_Layer):
    """Immediate Data (RFC 7306 6.2), 8 octets that only the ULP can interpret.

    :raises RemoteProtocolError: read from fewer than 8 octets.
    """

    name = MESSAGE_NAMES[Opcode.IMMEDIATE_DATA]
    shortest = IMMEDIATE_DATA_LENGTH
    identity = "%immediate_data%"
    fields_desc = [
        XStrFixedLenField("immediate_data", bytes(IMMEDIATE_DATA_LENGTH), IMMEDIATE_DATA_LENGTH)
    ]


class RDMAPImmediateDataWithSE(RDMAPImmediateData):
    """Immediate Data with Solicited Event (RFC 7306 6.2)."""

    name = MESSAGE_NAMES[Opcode.IMMEDIATE_DATA_WITH_SE]


class RDMAPAtomicRequest(_Layer):
    """Atomic Request (RFC 7306 5.2.1), 52 octets.

    =====================  ====================================
    reserved               28 bits
    atomic_operation_code  AOpCode, 4 bits: FetchAdd, CmpSwap
    request_identifier     32 bits, reflected by the Response
    remote_stag            32 bits
    remote_to              Remote Tagged Offset, 64 bits
    add_or_swap_data       64 bits
    add_or_swap_mask       64 bits
    compare_data           64 bits
    compare_mask           64 bits
    =====================  ====================================

    :raises RemoteProtocolError: read from fewer than 52 octets.
    """

    name = MESSAGE_NAMES[Opcode.ATOMIC_REQUEST]
    shortest = ATOMIC_REQUEST_LENGTH
    identity = "%atomic_operation_code% stag=%remote_stag% to=%remote_to% id=%request_identifier%"
    fields_desc = [
        BitField("reserved", 0, 28),
        BitEnumField(
            "atomic_operation_code",
            0,
            4,
            {int(code): name for code, name in ATOMIC_OPERATIONS.items()},
        ),
        XIntField("request_identifier", 0),
        XIntField("remote_stag", 0),
        XLongField("remote_to", 0),
        XLongField("add_or_swap_data", 0),
        XLongField("add_or_swap_mask", 0),
        XLongField("compare_data", 0),
        XLongField("compare_mask", 0xFFFFFFFFFFFFFFFF),
    ]

    def hashret(self) -> bytes:
        return _hash_of(self.request_identifier)


class RDMAPAtomicResponse(_Layer):
    """Atomic Response (RFC 7306 5.2.2), 12 octets.

    ===========================  ================================
    original_request_identifier  32 bits, that of the Request
    original_remote_data_value   64 bits, from before the operation
    ===========================  ================================

    :raises RemoteProtocolError: read from fewer than 12 octets.
    """

    name = MESSAGE_NAMES[Opcode.ATOMIC_RESPONSE]
    shortest = ATOMIC_RESPONSE_LENGTH
    identity = "id=%original_request_identifier% value=%original_remote_data_value%"
    fields_desc = [
        XIntField("original_request_identifier", 0),
        XLongField("original_remote_data_value", 0),
    ]

    def hashret(self) -> bytes:
        return _hash_of(self.original_request_identifier)

    def answers(self, other: Packet) -> bool:
        return isinstance(other, RDMAPAtomicRequest) and bool(
            self.original_request_identifier == other.request_identifier
        )
