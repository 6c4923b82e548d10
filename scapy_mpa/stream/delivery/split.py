# SPDX-License-Identifier: GPL-2.0-or-later
"""RDMAP headers that came in several DDP segments, put together (RFC 5041 5.2).

The longest one has 52 octets, and MULPDU is 128 at least (RFC 5044 4.5), so a conforming sender
never cuts one up.  Others may, and their receivers put together what they get.
"""

from __future__ import annotations

from typing import Final

from scapy_mpa.wire.rdmap import ATOMIC_REQUEST_LENGTH, LARGEST_TERMINATE_LENGTH

__all__ = ["LONGEST_HEADER", "SplitHeader"]

LONGEST_HEADER: Final = max(ATOMIC_REQUEST_LENGTH, LARGEST_TERMINATE_LENGTH)
"""Octets of the longest RDMAP header: more are not kept of any message."""


class SplitHeader:
    """The octets with which a message begins, as far as its segments have brought them."""

    __slots__ = ("_octets", "_there", "length")

    def __init__(self) -> None:
        self._octets = bytearray()
        self._there = 0
        # A bit for each of the octets that is there.
        self.length: int | None = None
        """Octets of the whole message, once its Last segment is there."""

    def put(self, at: int, octets: bytes, length: int, *, last: bool) -> None:
        """Take a segment; of octets that come twice the first ones count.

        :param at: its Message Offset.
        :param octets: those of it that were captured, from the first one on.
        :param length: how many it has.
        :param last: whether it is the message's last one.
        """
        if last and self.length is None:
            self.length = at + length
        known = self._octets
        for index, octet in enumerate(octets[: max(0, LONGEST_HEADER - at)], at):
            if index >= len(known):
                known.extend(bytes(index + 1 - len(known)))
            if not self._there >> index & 1:
                known[index] = octet
                self._there |= 1 << index

    @property
    def octets(self) -> bytes | None:
        """The octets of the message, the first :data:`LONGEST_HEADER` if it has more; None if any
        of them, or its end, is not there."""
        if self.length is None:
            return None
        wanted = min(self.length, LONGEST_HEADER)
        mask = (1 << wanted) - 1
        return bytes(self._octets[:wanted]) if self._there & mask == mask else None
