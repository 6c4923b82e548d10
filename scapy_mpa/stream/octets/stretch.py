# SPDX-License-Identifier: GPL-2.0-or-later
"""A copy of octets of an island, read once."""

from scapy_mpa.stream.octets.island import Island


class Stretch:
    """Octets of an island between two positions.  It has the island's methods for reading.

    :param begin: position of the first octet, which the island must hold.
    :param end: position after the last octet.
    """

    __slots__ = ("absent", "begin", "end", "island", "octets")

    def __init__(self, island: Island, begin: int, end: int) -> None:
        self.island = island
        self.begin = begin
        self.end = end
        self.octets = island.read(begin, end) if begin < end else b""
        self.absent = island.absent
        """Stretches that the snap length of the capture cut off; they read as zeros."""

    def read(self, start: int, end: int) -> bytes:
        """Return the octets from ``start`` up to ``end``, fewer if the stretch ends before."""
        return self.octets[start - self.begin : end - self.begin]

    def number(self, start: int, end: int) -> int:
        """Return the octets from ``start`` up to ``end`` as a number."""
        return int.from_bytes(self.octets[start - self.begin : end - self.begin], "big")

    def captured_until(self, start: int, end: int) -> int:
        """Return the position of the first cut octet from ``start`` up to ``end``, else ``end``."""
        return self.island.captured_until(start, end) if self.absent and start < end else end

    def is_captured(self, start: int, end: int) -> bool:
        """True if the stretch contains all octets up to ``end``, and none of them was cut off."""
        return end <= self.end and (not self.absent or self.island.is_captured(start, end))
