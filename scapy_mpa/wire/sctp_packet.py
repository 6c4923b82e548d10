# SPDX-License-Identifier: GPL-2.0-or-later
"""SCTP packets: the common header and the chunks after it (RFC 4960 section 3).

::

    source port, destination port     2 octets each
    Verification Tag                  4 octets
    Checksum                          4 octets: CRC32c, least significant octet first
    chunks, each                      type, flags, 2 octets of length, value, pad to 4 octets

The length of a chunk counts its 4 octets of header, but not its pad.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import Final, NamedTuple

from scapy_mpa.wire.crc import crc32c
from scapy_mpa.wire.fields import packed, unpacked

COMMON_HEADER_LENGTH: Final = 12
CHUNK_HEADER_LENGTH: Final = 4

_HEADER: Final = Struct(">HHI")
_CHECKSUM: Final = Struct("<I")
_CHUNK: Final = Struct(">BBH")
_CHECKSUM_AT: Final = _HEADER.size
_NO_CHECKSUM: Final = bytes(_CHECKSUM.size)


class ChunkType:
    """The chunk types that are read (RFC 4960 3.2)."""

    DATA: Final = 0
    INIT: Final = 1
    INIT_ACK: Final = 2
    SACK: Final = 3
    ABORT: Final = 6
    SHUTDOWN: Final = 7
    SHUTDOWN_ACK: Final = 8
    COOKIE_ECHO: Final = 10
    COOKIE_ACK: Final = 11
    SHUTDOWN_COMPLETE: Final = 14


class SctpHeader(NamedTuple):
    """The common header of an SCTP packet (RFC 4960 3.1)."""

    source_port: int
    destination_port: int
    verification_tag: int
    """32 bits, chosen by the receiver; 0 in a packet with an INIT."""
    checksum: int
    """The usual CRC32c value; on the wire its least significant octet is first."""


class Chunk(NamedTuple):
    """One chunk; its end may not have been captured."""

    type: int
    flags: int
    value: bytes
    """The octets after the 4 octets of its header, without pad."""
    length: int
    """Octets of the value by its length field.  More than ``value`` has if it was cut; less than 0
    if the field does not even count the header."""


def parse_header(octets: bytes) -> SctpHeader:
    """Read the common header at the beginning of ``octets`` (RFC 4960 3.1).

    :raises RemoteProtocolError: fewer than 12 octets.
    """
    (checksum,) = unpacked(_CHECKSUM, "the Checksum of an SCTP header", octets[_CHECKSUM_AT:])
    return SctpHeader._make((*_HEADER.unpack_from(octets), checksum))


def parse_chunks(octets: bytes) -> list[Chunk]:
    """Return the chunks of a packet, in order (RFC 4960 3.2).

    The last one may be cut.  Never raises: a chunk whose length is less than 4 is the last one, and
    has no value, since the next place is not known.
    """
    chunks = []
    at = COMMON_HEADER_LENGTH
    end = len(octets)
    while at + CHUNK_HEADER_LENGTH <= end:
        kind, flags, length = _CHUNK.unpack_from(octets, at)
        value = octets[at + CHUNK_HEADER_LENGTH : at + length]
        chunks.append(Chunk(kind, flags, value, length - CHUNK_HEADER_LENGTH))
        if length < CHUNK_HEADER_LENGTH:
            break
        at += length + 3 & ~3
    return chunks


def build_chunk(kind: int, flags: int, value: bytes = b"", *, length: int | None = None) -> bytes:
    """Return the octets of a chunk with its pad (RFC 4960 3.2).

    :param kind: 8 bits.
    :param flags: 8 bits.
    :param length: value of the length field, 16 bits; None: the right value.
    :raises LocalProtocolError: a number does not fit its field.
    """
    size = CHUNK_HEADER_LENGTH + len(value)
    field = size if length is None else length
    head = packed(_CHUNK, "RFC 4960 3.2", chunk_type=kind, flags=flags, length=field)
    return head + value + bytes(-size & 3)


def sctp_checksum(packet: bytes) -> int:
    """Return the CRC32c of a packet, with zeros in the place of its Checksum (RFC 4960 6.8)."""
    value = crc32c(_NO_CHECKSUM, crc32c(packet[:_CHECKSUM_AT]))
    return crc32c(packet[COMMON_HEADER_LENGTH:], value)


def checksum_is_good(packet: bytes) -> bool:
    """Return whether the Checksum of a whole packet is right (RFC 4960 6.8).

    :raises RemoteProtocolError: fewer than 12 octets.
    """
    return parse_header(packet).checksum == sctp_checksum(packet)


def build_packet(
    source_port: int,
    destination_port: int,
    verification_tag: int,
    chunks: Iterable[bytes],
    *,
    checksum: int | None = None,
) -> bytes:
    """Return the octets of a packet (RFC 4960 3.1).

    :param source_port: 16 bits.
    :param destination_port: 16 bits.
    :param verification_tag: 32 bits.
    :param chunks: octets of chunks, as :func:`build_chunk` returns them.
    :param checksum: 32 bits; None: computed.
    :raises LocalProtocolError: a number does not fit its field.
    """
    body = b"".join(chunks)
    fields = {
        "source_port": source_port,
        "destination_port": destination_port,
        "verification_tag": verification_tag,
    }
    head = packed(_HEADER, "RFC 4960 3.1", **fields)
    if checksum is None:
        checksum = sctp_checksum(head + _NO_CHECKSUM + body)
    return head + packed(_CHECKSUM, "RFC 4960 3.1", checksum=checksum) + body
