# SPDX-License-Identifier: GPL-2.0-or-later
"""The octets of messages, assembled from the payload of their DDP segments."""

from __future__ import annotations

from scapy_mpa.stream.delivery.held import HELD_BY_PIECE, HELD_IN_TOTAL
from scapy_mpa.stream.events import Carrier, ConnectionId, MessageRecovered
from scapy_mpa.wire.ddp import ddp_header_length

_Key = tuple[ConnectionId, int, int]
"""Connection, direction and sequence number."""


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
        """Return a message with its payload, and forget the payload of its segments.

        It begins with the first captured octet, and missing octets are zeros.  It is None if the
        message does not list all parts, if that of a part is not kept, or if more octets are
        missing than were captured.
        """
        parts = message.parts
        keys = [(message.connection, message.direction, part.seq) for part in parts]
        kept = [self._kept[key] for key in keys if key in self._kept]
        for key in keys:
            self._forget(key)
        begin = min([message.to or 0, *[part.offset for part in parts]])
        end = max([part.offset + part.length for part in parts], default=begin)
        captured = sum(map(len, kept))
        # Offsets of a faulty sender may have any value.  Zeros must not take much more memory than
        # what is kept.
        if not parts or len(kept) != message.fpdus or end - begin > 2 * captured:
            return message
        whole = bytearray(end - begin)
        # If several segments have an octet, the first one counts.
        for part, octets in zip(reversed(parts), reversed(kept), strict=True):
            at = part.offset - begin
            whole[at : at + len(octets)] = octets
        return message._replace(payload=bytes(whole))

    def _forget(self, key: _Key) -> None:
        octets = self._kept.pop(key, None)
        if octets is not None:
            self._held -= len(octets) + HELD_BY_PIECE
