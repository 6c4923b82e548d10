# SPDX-License-Identifier: GPL-2.0-or-later
"""The values of the SCTP chunks that matter to DDP over SCTP (RFC 4960 3.3, RFC 5061).

DATA carries DDP.  INIT and INIT ACK have the number of streams, and show whether DDP is used.  SACK
acknowledges chunks.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from scapy_mpa.wire.fields import packed, unpacked
from scapy_mpa.wire.sctp_packet import ChunkType, build_chunk

ADAPTATION_LAYER_INDICATION: Final = 0xC006
"""Type of the parameter of INIT and INIT ACK (RFC 5061 4.2.6)."""
DDP_ADAPTATION: Final = 1
"""The value that indicates DDP (RFC 5043 5.1)."""

DATA_HEADER_LENGTH: Final = 12
"""Octets of a DATA chunk's value before the user data."""


class DataFlag:
    """Flags of a DATA chunk (RFC 4960 3.3.1, RFC 7053)."""

    ENDING: Final = 0x01
    BEGINNING: Final = 0x02
    UNORDERED: Final = 0x04
    IMMEDIATE: Final = 0x08


_DATA: Final = Struct(">IHHI")
_INIT: Final = Struct(">IIHHI")
_PARAMETER: Final = Struct(">HH")
_INDICATION: Final = Struct(">I")
_SACK: Final = Struct(">IIHH")
_TSN: Final = Struct(">I")

TAG_LENGTH: Final = 4
"""Octets of the Initiate Tag, with which the value of an INIT begins."""


class DataChunk(NamedTuple):
    """A DATA chunk (RFC 4960 3.3.1)."""

    tsn: int
    """Transmission Sequence Number, 32 bits."""
    stream: int
    """Stream Identifier, 16 bits."""
    ssn: int
    """Stream Sequence Number, 16 bits; without meaning in an unordered chunk."""
    ppid: int
    """Payload Protocol Identifier, 32 bits."""
    user_data: bytes
    """The captured octets."""
    length: int
    """Octets of user data that were sent."""
    flags: int = DataFlag.UNORDERED | DataFlag.BEGINNING | DataFlag.ENDING

    @property
    def unordered(self) -> bool:
        """U."""
        return bool(self.flags & DataFlag.UNORDERED)

    @property
    def beginning(self) -> bool:
        """B: the first fragment of a user message."""
        return bool(self.flags & DataFlag.BEGINNING)

    @property
    def ending(self) -> bool:
        """E: the last fragment of a user message."""
        return bool(self.flags & DataFlag.ENDING)


class InitChunk(NamedTuple):
    """An INIT or INIT ACK (RFC 4960 3.3.2, 3.3.3)."""

    initiate_tag: int
    """The Verification Tag of packets to its sender, 32 bits."""
    receiver_window: int
    """Advertised Receiver Window Credit, octets, 32 bits."""
    outbound_streams: int
    """16 bits."""
    inbound_streams: int
    """16 bits."""
    initial_tsn: int
    """32 bits."""
    adaptation: int | None = None
    """The Adaptation Layer Indication, 32 bits; None if there is none."""


def parse_data(flags: int, value: bytes, length: int) -> DataChunk:
    """Read the value of a DATA chunk (RFC 4960 3.3.1).

    :param flags: flags of the chunk.
    :param value: the captured octets of the value.
    :param length: octets of the whole value.
    :raises RemoteProtocolError: fewer than 12 octets.
    """
    tsn, stream, ssn, ppid = unpacked(_DATA, "a DATA chunk", value)
    user_data = value[DATA_HEADER_LENGTH:]
    return DataChunk(tsn, stream, ssn, ppid, user_data, length - DATA_HEADER_LENGTH, flags)


def build_data(chunk: DataChunk) -> bytes:
    """Return the octets of a DATA chunk with its pad; its ``length`` is not checked.

    :raises LocalProtocolError: a number does not fit its field.
    """
    fields = {"tsn": chunk.tsn, "stream": chunk.stream, "ssn": chunk.ssn, "ppid": chunk.ppid}
    value = packed(_DATA, "RFC 4960 3.3.1", **fields) + chunk.user_data
    length = 4 + DATA_HEADER_LENGTH + chunk.length
    return build_chunk(ChunkType.DATA, chunk.flags, value, length=length)


def parse_init(value: bytes) -> InitChunk:
    """Read the value of an INIT or INIT ACK; of its parameters only the adaptation indication.

    :raises RemoteProtocolError: fewer than 16 octets.
    """
    numbers = unpacked(_INIT, "an INIT", value)
    adaptation = None
    at = _INIT.size
    while at + _PARAMETER.size <= len(value):
        kind, length = _PARAMETER.unpack_from(value, at)
        if kind == ADAPTATION_LAYER_INDICATION and length == _PARAMETER.size + _INDICATION.size:
            if at + length <= len(value):
                (adaptation,) = _INDICATION.unpack_from(value, at + _PARAMETER.size)
            break
        if length < _PARAMETER.size:
            break
        at += length + 3 & ~3
    return InitChunk._make((*numbers, adaptation))


def build_parameter(kind: int, value: bytes) -> bytes:
    """Return a parameter with its pad (RFC 4960 3.2.1).

    :param kind: Parameter Type, 16 bits.
    :param value: up to 65531 octets.

    :raises LocalProtocolError: a number does not fit its field.
    """
    size = _PARAMETER.size + len(value)
    head = packed(_PARAMETER, "RFC 4960 3.2.1", parameter_type=kind, length=size)
    return head + value + bytes(-size & 3)


def build_init(init: InitChunk, kind: int = ChunkType.INIT, parameters: bytes = b"") -> bytes:
    """Return the octets of an INIT or INIT ACK (RFC 4960 3.3.2, 3.3.3).

    :param parameters: octets of parameters before the adaptation indication, if any.
    :raises LocalProtocolError: a number does not fit its field.
    """
    fields = init._asdict()
    adaptation = fields.pop("adaptation")
    value = packed(_INIT, "RFC 4960 3.3.2", **fields) + parameters
    if adaptation is not None:
        indication = packed(_INDICATION, "RFC 5061 4.2.6", adaptation=adaptation)
        value += build_parameter(ADAPTATION_LAYER_INDICATION, indication)
    return build_chunk(kind, 0, value)


def parse_cumulative_ack(value: bytes) -> int:
    """Return the Cumulative TSN Ack of a SACK or SHUTDOWN (RFC 4960 3.3.4, 3.3.8).

    :raises RemoteProtocolError: fewer than 4 octets.
    """
    tsn: int = unpacked(_TSN, "a Cumulative TSN Ack", value)[0]
    return tsn


def build_sack(cumulative_ack: int, receiver_window: int = 0xFFFF) -> bytes:
    """Return a SACK without Gap Ack Blocks and Duplicate TSNs (RFC 4960 3.3.4).

    :param cumulative_ack: Cumulative TSN Ack, 32 bits.
    :param receiver_window: Advertised Receiver Window Credit, octets, 32 bits.

    :raises LocalProtocolError: a number does not fit its field.
    """
    fields = {"cumulative_ack": cumulative_ack, "receiver_window": receiver_window}
    value = packed(_SACK, "RFC 4960 3.3.4", **fields, gap_ack_blocks=0, duplicate_tsns=0)
    return build_chunk(ChunkType.SACK, 0, value)
