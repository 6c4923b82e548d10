# SPDX-License-Identifier: GPL-2.0-or-later
"""Connections with the same addresses and ports in different networks.

VLANs, virtual networks and tunnels may use the same addresses.  A router, or the end of a tunnel,
shows one connection in two of them.  One rule tells which it is:

The network in which addresses and ports are first seen has them.  A segment of another network
belongs to the same connection if its numbers fit: its sequence number lies near the octets that
were captured of its direction, and its acknowledgement near those of the other.  If they do not,
the other network has a connection of its own.  The first segment decides, and each SYN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from scapy_mpa.stream.segment import ACK, SYN, Segment, reverse_flow
from scapy_mpa.stream.sequence import SEQUENCE_SPACE
from scapy_mpa.wire.crc import crc32c

_NEAR: Final = 1 << 24
"""Octets: what is captured on one side of a router before the same is captured on the other, in a
few milliseconds at 100 Gbit/s.  Numbers of two connections are as near in 1 of 16,384 cases, those
of a SYN, which has no acknowledgement, in 1 of 128."""
_MOST: Final = 1 << 16
"""Flows that are remembered.  One that was forgotten is decided anew."""


class Networks:
    """Tells which connection a segment belongs to.

    :param reach: returns the sequence number after the octets that were captured of a flow, None
        if there are none; raises KeyError if there is no connection of that flow.
    """

    __slots__ = ("_own", "_reach", "owners")

    def __init__(self, reach: Callable[[bytes], int | None]) -> None:
        self._reach = reach
        self.owners: dict[bytes, bytes] = {}
        """By flow, the network that has its addresses and ports, if others were seen than the
        usual one."""
        self._own: dict[tuple[bytes, bytes], bytes] = {}
        """By flow and network, the flow of the connection in other networks than the owner."""

    def place(self, segment: Segment) -> Segment:
        """Return the segment, with the flow of the connection that it belongs to.

        It is the same segment if its network is the owner of its flow.
        """
        flow, network = segment.flow, segment.network
        owner = self.owners.get(flow)
        if owner is None:
            if not network:
                return segment
            try:
                self._reach(flow)
            except KeyError:
                owner = network
            else:
                # Of the usual network, which is not taken note of.
                owner = b""
            _keep(self.owners, {each: owner for each in (flow, reverse_flow(flow))})
        if owner == network:
            return segment
        key = flow, network
        placed = self._own.get(key)
        if placed is None or segment.flags & SYN:
            placed = flow if self._fits(segment) else crc32c(network).to_bytes(4, "big") + flow
            reverse = reverse_flow(flow), network
            _keep(self._own, {key: placed, reverse: reverse_flow(placed)})
        if placed == flow:
            return segment
        # The flow says it from now on.
        return segment._replace(flow=placed, network=b"")

    def _fits(self, segment: Segment) -> bool:
        """Tell whether a segment may be of the connection that its addresses and ports have."""
        pairs = [(segment.flow, segment.seq)]
        if segment.flags & ACK:
            pairs.append((reverse_flow(segment.flow), segment.ack))
        try:
            return all(_is_near(number, self._reach(flow)) for flow, number in pairs)
        except KeyError:
            return False


def _is_near(number: int, other: int | None) -> bool:
    return other is None or (number - other + _NEAR) % SEQUENCE_SPACE <= 2 * _NEAR


_Key = TypeVar("_Key")


def _keep(kept: dict[_Key, bytes], more: dict[_Key, bytes]) -> None:
    """Add to what is remembered; forget the older half when it is too much."""
    kept.update(more)
    if len(kept) > _MOST:
        later = list(kept.items())[len(kept) // 2 :]
        kept.clear()
        kept.update(later)
