# SPDX-License-Identifier: GPL-2.0-or-later
"""One captured SCTP packet, the input of this package."""

from __future__ import annotations

from typing import Literal, NamedTuple

from scapy_mpa.wire.sctp_packet import Chunk


class SctpPacket(NamedTuple):
    """One SCTP packet of one captured frame."""

    flow: bytes
    """Source address, destination address, source port, destination port, as in the headers:
    12 octets for IPv4, 36 for IPv6."""
    verification_tag: int
    chunks: list[Chunk]
    """The captured chunks.  The last one may be cut."""
    crc: Literal["good", "bad", "unknown"]
    """The verdict on its Checksum; unknown if octets were cut off, or if the Checksum is zero.
    Senders write zero if the network card computes it, or if their peer needs none (RFC 9653 5.2).
    Partial checksums as in TCP do not exist, because a CRC has no pseudo-header."""
    frame: int
    """Number of the captured frame, from 1."""
    time_ns: int
    """When it was captured, in nanoseconds since the epoch."""
