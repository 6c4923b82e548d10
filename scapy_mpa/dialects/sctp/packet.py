# SPDX-License-Identifier: GPL-2.0-or-later
"""What is taken in: one SCTP packet as it was captured."""

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
    """Those that were captured, the last one maybe cut."""
    crc: Literal["good", "bad", "unknown"]
    """Whether its Checksum is right; unknown if octets were cut off, or if it is zero.  A sender
    that leaves it to the network card writes zeros, and so does one whose peer needs none (RFC
    9653 5.2).  There is no partial checksum as in TCP, for a CRC has no pseudo-header."""
    frame: int
    """Number of the captured frame, from 1."""
    time_ns: int
    """When it was captured, in nanoseconds since the epoch."""
