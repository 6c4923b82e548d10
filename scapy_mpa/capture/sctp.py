# SPDX-License-Identifier: GPL-2.0-or-later
"""SCTP packets: the header and the chunks at a known place of a frame (RFC 4960 3).

Unlike TCP's, the Checksum is verified.  A receiver discards a packet with a wrong one (RFC 4960
6.8), and nothing else in the capture shows that.
"""

from __future__ import annotations

from typing import Literal

from scapy_mpa.capture.frame import Frame
from scapy_mpa.capture.headers import Headers
from scapy_mpa.dialects.sctp.packet import SctpPacket
from scapy_mpa.wire.sctp_packet import (
    COMMON_HEADER_LENGTH,
    checksum_is_good,
    parse_chunks,
    parse_header,
)

_PORTS = 4


def sctp_packet(frame: Frame, headers: Headers) -> SctpPacket:
    """Return the packet of a frame whose headers before SCTP were read.

    :raises NotFollowedError: the common header is not whole.
    """
    at = headers.take(COMMON_HEADER_LENGTH, "SCTP header")
    octets = headers.octets[at : headers.captured_end]
    header = parse_header(octets)
    crc: Literal["good", "bad", "unknown"] = "unknown"
    if headers.captured_end == headers.end:
        if checksum_is_good(octets):
            crc = "good"
        elif header.checksum:
            crc = "bad"
    return SctpPacket(
        headers.packets[-1].addresses + octets[:_PORTS],
        header.verification_tag,
        parse_chunks(octets),
        crc,
        frame.number,
        frame.time_ns,
    )
