# SPDX-License-Identifier: GPL-2.0-or-later
"""The octets of messages, assembled from the payload of their DDP segments."""

from __future__ import annotations

from collections.abc import Callable

from scapy_mpa.stream.delivery.held import HELD_BY_PIECE, HELD_IN_TOTAL
from scapy_mpa.stream.events import Carrier, ConnectionId, MessageRecovered
from scapy_mpa.wire.ddp import ddp_header_length

_Key = tuple[ConnectionId, int, int]
"""Connection, direction and sequence number."""


def put_together(
    message: MessageRecovered, octets_at: Callable[[int], bytes | None]
) -> bytes | None:
    """Return the octets of a message from its beginning, or from the first captured octet.

    Missing octets are zeros; ``missing`` lists them.  None if the message does not list all parts,
    if the payload of a part is not kept, or if the offsets are too far apart.

    :param octets_at: returns the payload of the segment with a sequence number.
    """
    parts = message.parts
    if not parts or len(parts) != message.fpdus:
        return None
    begin = message.to or 0
    end = max(part.offset + part.length for part in parts)
    if end - begin > HELD_IN_TOTAL:
        # Offsets of a faulty sender may have any value.
        return None
    whole = bytearray(end - begin)
    # If several segments have an octet, the first one counts.
    for part in reversed(parts):
        octets = octets_at(part.seq)
        if octets is None:
            return None
        at = part.offset - begin
        whole[at : at + len(octets)] = octets
    return bytes(whole)


class Payloads:
    """Keeps the payload of segments until their messages are reported.  The oldest goes first if
    there is too much."""

    __slots__ = ("_held", "_kept")

    def __init__(self) -> None:
        self._kept: dict[_Key, bytes] = {}
        self._held = 0

    def keep(self, carrier: Carrier) -> None:
        """Keep the payload of a DDP segment."""
        ulpdu, key = carrier.ulpdu, (carrier.connection, carrier.direction, carrier.seq)
        octets = ulpdu[ddp_header_length(ulpdu) :]
        self._forget(key)
        self._kept[key] = octets
        # Segments without payload count, too: some never belong to a message.
        self._held += len(octets) + HELD_BY_PIECE
        while self._held > HELD_IN_TOTAL:
            self._forget(next(iter(self._kept)))

    def fill(self, message: MessageRecovered) -> MessageRecovered:
        """Return a message with its payload, and forget the payload of its segments."""
        connection, direction = message.connection, message.direction

        def octets_at(seq: int) -> bytes | None:
            return self._kept.get((connection, direction, seq))

        filled = message._replace(payload=put_together(message, octets_at))
        for part in message.parts:
            self._forget((connection, direction, part.seq))
        return filled

    def _forget(self, key: _Key) -> None:
        octets = self._kept.pop(key, None)
        if octets is not None:
            self._held -= len(octets) + HELD_BY_PIECE
