# SPDX-License-Identifier: GPL-2.0-or-later
"""The input of the stream core: one TCP segment as it was captured."""

from ipaddress import IPv6Address
from struct import Struct
from typing import Final, NamedTuple

SECOND: Final = 1_000_000_000
"""A second in nanoseconds, the unit of all times."""

BEFORE_ALL_NS: Final = -1 << 63
"""A time before that of any frame."""

_IPV4_FLOW: Final = Struct(">4B4BHH").unpack
_IPV4, _IPV6 = 4, 16
"""Octets of an address of IPv4, and of IPv6."""
_PARTS: Final = {
    2 * address + 4: Struct(f"{address}s{address}s2s2s").unpack for address in (_IPV4, _IPV6)
}
"""By the length of a flow in octets, the function that splits it: source and target address, source
and target port."""


class Segment(NamedTuple):
    """One TCP segment of one captured frame."""

    flow: bytes
    """Source address, destination address, source port, destination port, as in the headers:
    12 octets for IPv4, 36 for IPv6."""
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


def reverse_flow(flow: bytes) -> bytes:
    """Return the flow of the other direction."""
    source, target, source_port, target_port = _PARTS[len(flow)](flow)
    return b"".join((target, source, target_port, source_port))


def flow_endpoints(flow: bytes) -> tuple[str, str]:
    """Return source and destination as text: ``10.0.0.1:4000``, ``[fd00::1]:4000``."""
    source, target, *ports = _PARTS[len(flow)](flow)
    if len(source) == _IPV4:
        a, b, c, d, e, f, g, h, source_port, target_port = _IPV4_FLOW(flow)
        return f"{a}.{b}.{c}.{d}:{source_port}", f"{e}.{f}.{g}.{h}:{target_port}"
    source_port, target_port = [int.from_bytes(port, "big") for port in ports]
    return f"[{IPv6Address(source)}]:{source_port}", f"[{IPv6Address(target)}]:{target_port}"
