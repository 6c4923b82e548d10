# SPDX-License-Identifier: GPL-2.0-or-later
"""The TCP segment of a packet that Scapy dissected."""

from __future__ import annotations

from socket import AF_INET, AF_INET6
from struct import Struct
from typing import Final

from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.packet import Packet
from scapy.pton_ntop import inet_pton

from scapy_mpa.capture.frame import Frame
from scapy_mpa.stream.segment import Segment

__all__ = ["segment_in"]

_ports: Final = Struct(">HH").pack


def segment_in(packet: Packet, frame: Frame) -> Segment | None:
    """Return the segment in the packet of a frame, None if it has no whole TCP header."""
    tcp = packet.getlayer(TCP)
    network = None if tcp is None else tcp.underlayer
    if not isinstance(network, (IP, IPv6)) or tcp.dataofs is None:
        return None
    family = AF_INET if isinstance(network, IP) else AF_INET6
    header = tcp.dataofs * 4
    octets = tcp.original
    if not 20 <= header <= len(octets):
        return None
    addresses = inet_pton(family, network.src) + inet_pton(family, network.dst)
    # What the capture cut off, IP counts.
    length = len(octets) - header
    if isinstance(network, IP) and network.len and network.ihl:
        length = max(length, network.len - network.ihl * 4 - header)
    return Segment(
        addresses + _ports(tcp.sport, tcp.dport),
        tcp.seq,
        tcp.ack,
        int(tcp.flags) & 0xFF,
        octets[header:],
        length,
        frame.number,
        frame.time_ns,
    )
