# SPDX-License-Identifier: GPL-2.0-or-later
"""TCP headers: the segment at a known place of a frame (RFC 9293 3.1).

Options are passed over. Checksums are not verified: with checksum offload, what a machine sends is
captured before its checksum is computed.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from scapy_mpa.capture.frame import Frame
from scapy_mpa.capture.headers import Headers
from scapy_mpa.stream.segment import Segment

_TCP: Final = Struct(">4sIIBB").unpack_from
"""Both ports, sequence number, acknowledgement number, data offset, flags."""
_TCP_LENGTH: Final = 20


def tcp_segment(frame: Frame, headers: Headers) -> Segment:
    """Return the segment of a frame whose other headers were read.

    :raises NotFollowedError: the TCP header, options included, is not whole.
    """
    at = headers.take(_TCP_LENGTH, "TCP header")
    ports, seq, ack, data_offset, flags = _TCP(headers.octets, at)
    options = (data_offset >> 4) * 4 - _TCP_LENGTH
    if options < 0:
        raise headers.wrong("TCP header", "damaged")
    headers.take(options, "TCP header")
    start = headers.at
    return Segment(
        headers.packets[-1].addresses + ports,
        seq,
        ack,
        flags,
        headers.octets[start : headers.stop],
        headers.end - start,
        frame.number,
        frame.time_ns,
        headers.network,
    )
