# SPDX-License-Identifier: GPL-2.0-or-later
"""The input of the stream core: one TCP segment as it was captured."""

from ipaddress import IPv6Address
from struct import Struct
from typing import Final, NamedTuple

FIN: Final = 0x01
SYN: Final = 0x02
RST: Final = 0x04
PSH: Final = 0x08
ACK: Final = 0x10

TURNS: Final = SYN | FIN | RST
"""Flags of the segments that begin or end a connection."""

HANDSHAKE: Final = TURNS | ACK
"""Flags that distinguish a SYN from a SYN,ACK, and both from other segments."""

NOT_PSH: Final = 0xFF & ~PSH
"""All flags but PSH, which means nothing for FPDUs."""

SECOND: Final = 1_000_000_000
"""A second in nanoseconds, the unit of all times."""

BEFORE_ALL_NS: Final = -1 << 63
"""A time before that of any frame."""

_IPV4_FLOW: Final = Struct(">4B4BHH")


class Segment(NamedTuple):
    """One TCP segment of one captured frame."""

    flow: bytes
    """Source address, destination address, source port, destination port, as in the headers:
    12 octets for IPv4, 36 for IPv6.  If another network has a connection with the same ones, 4
    octets before them name the network (:mod:`~scapy_mpa.stream.networks`)."""
    seq: int
    """32-bit sequence number."""
    ack: int
    """32-bit acknowledgement number; valid only with the ACK flag."""
    flags: int
    payload: bytes
    """The payload octets that were captured."""
    length: int
    """Payload octets of the segment; more than in ``payload`` if the snap length cut it."""
    frame: int
    """Number of the captured frame, from 1."""
    time_ns: int
    """When it was captured, in nanoseconds since the epoch."""
    network: bytes = b""
    """Distinguishes networks that may use the same addresses: VLANs, virtual networks, ends of
    tunnels."""


def reverse_flow(flow: bytes) -> bytes:
    """Return the flow of the other direction."""
    begin = _addresses_at(flow)
    half = (begin + len(flow) - 4) // 2
    return flow[:begin] + flow[half:-4] + flow[begin:half] + flow[-2:] + flow[-4:-2]


def flow_addresses(flow: bytes) -> bytes:
    """Return the source and the destination address of a flow."""
    return flow[_addresses_at(flow) : -4]


def _addresses_at(flow: bytes) -> int:
    """Return how many octets name the network: 4 or 0.  Ports take 4, addresses 8 or 32."""
    return (len(flow) + 4) % 8


def flow_endpoints(flow: bytes) -> tuple[str, str]:
    """Return source and destination as text: ``10.0.0.1:4000``, ``[fd00::1]:4000``."""
    flow = flow[_addresses_at(flow) :]
    if len(flow) == _IPV4_FLOW.size:
        a, b, c, d, e, f, g, h, source_port, target_port = _IPV4_FLOW.unpack(flow)
        return f"{a}.{b}.{c}.{d}:{source_port}", f"{e}.{f}.{g}.{h}:{target_port}"
    source = f"[{IPv6Address(flow[:16])}]"
    target = f"[{IPv6Address(flow[16:32])}]"
    source_port = int.from_bytes(flow[-4:-2], "big")
    target_port = int.from_bytes(flow[-2:], "big")
    return f"{source}:{source_port}", f"{target}:{target_port}"
