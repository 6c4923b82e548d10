# SPDX-License-Identifier: GPL-2.0-or-later
"""Connections with the same addresses and ports in different networks.

VLANs, virtual networks and tunnels may use the same addresses for different connections.  But at a
router, or at the end of a tunnel, one connection appears in two networks.  One rule decides:

The network in which addresses and ports are first seen owns them.  A segment of another network
belongs to the same connection if its numbers fit.  Its sequence number must be near the captured
octets of its direction, its acknowledgement number near those of the opposite direction.  If they
do not fit, the other network has a separate connection.  The first segment decides, and each SYN
decides again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from scapy_mpa.stream.segment import ACK, SYN, Segment, reverse_flow
from scapy_mpa.stream.sequence import NEAR_OCTETS, SEQUENCE_SPACE
from scapy_mpa.wire.crc import crc32c

_MAX_FLOWS: Final = 1 << 16
"""Flows that are remembered.  A forgotten flow is decided anew."""


class Networks:
    """Decides which connection a segment belongs to.

    :param reach: returns the sequence number after the captured octets of a flow, None if there
        are none; raises KeyError if there is no connection of that flow.
    """

    __slots__ = ("_placed", "_reach", "owners")

    def __init__(self, reach: Callable[[bytes], int | None]) -> None:
        self._reach = reach
        self.owners: dict[bytes, bytes] = {}
        """By flow, the network that owns its addresses and ports.  Only for flows seen in a network
        other than the usual one."""
        self._placed: dict[tuple[bytes, bytes], bytes] = {}
        """By flow and network, the flow of the connection, for networks other than the owner."""

    def place(self, segment: Segment) -> Segment:
        """Return the segment with the flow of the connection to which it belongs.

        Return the same object if the flow stays as it is.
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
                # The connection is of the usual network, which is never noted here.
                owner = b""
            _keep(self.owners, {flow: owner, reverse_flow(flow): owner})
        if owner == network:
            return segment
        key = flow, network
        placed = self._placed.get(key)
        if placed is None or segment.flags & SYN:
            placed = flow if self._fits(segment) else crc32c(network).to_bytes(4, "big") + flow
            reverse = reverse_flow(flow), network
            _keep(self._placed, {key: placed, reverse: reverse_flow(placed)})
        if placed == flow:
            return segment
        # From now on the flow identifies the network.
        return segment._replace(flow=placed, network=b"")

    def _fits(self, segment: Segment) -> bool:
        """True if the numbers of a segment fit the connection that has its addresses and ports."""
        pairs = [(segment.flow, segment.seq)]
        if segment.flags & ACK:
            pairs.append((reverse_flow(segment.flow), segment.ack))
        try:
            return all(_is_near(number, self._reach(flow)) for flow, number in pairs)
        except KeyError:
            return False


def _is_near(number: int, reached: int | None) -> bool:
    return reached is None or (number - reached + NEAR_OCTETS) % SEQUENCE_SPACE <= 2 * NEAR_OCTETS


_Key = TypeVar("_Key")


def _keep(kept: dict[_Key, bytes], more: dict[_Key, bytes]) -> None:
    """Add entries, and drop the older half of all if there are too many."""
    kept.update(more)
    if len(kept) > _MAX_FLOWS:
        later = list(kept.items())[len(kept) // 2 :]
        kept.clear()
        kept.update(later)
