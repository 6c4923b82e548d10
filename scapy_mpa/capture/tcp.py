# SPDX-License-Identifier: GPL-2.0-or-later
"""TCP headers: the segment at a known place of a frame (RFC 9293 3.1).

Options are passed over. Checksums are not verified: with checksum offload, what a machine sends is
captured before its checksum is computed.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from scapy_mpa.capture.frame import Frame
from scapy_mpa.capture.ip import Datagram
from scapy_mpa.capture.reason import NotFollowedError, demand
from scapy_mpa.stream.segment import Segment

__all__ = ["tcp_segment"]

_TCP: Final = Struct(">4sIIBB")
"""Both ports, sequence number, acknowledgement number, data offset, flags."""
_TCP_LENGTH: Final = 20


def tcp_segment(frame: Frame, datagram: Datagram) -> Segment:
    """Return the segment of ``frame`` that ``datagram`` places.

    :raises NotFollowedError: the TCP header, options included, is not whole.
    """
    octets = frame.octets
    addresses, at, end, _ = datagram
    demand(octets, at + _TCP_LENGTH, end, "TCP header")
    ports, seq, ack, data_offset, flags = _TCP.unpack_from(octets, at)
    start = at + (data_offset >> 4) * 4
    if start < at + _TCP_LENGTH:
        raise NotFollowedError("TCP header damaged")
    demand(octets, start, end, "TCP header")
    return Segment(
        addresses + ports,
        seq,
        ack,
        flags,
        octets[start:end],
        end - start,
        frame.number,
        frame.time_ns,
    )
