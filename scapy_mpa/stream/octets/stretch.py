# SPDX-License-Identifier: GPL-2.0-or-later
"""Octets of an island from one place to another, read once."""

from scapy_mpa.stream.octets.island import Island


class Stretch:
    """Reads as the island does.

    :param begin: position of the first of the octets, which is held.
    :param end: position after the last.
    """

    __slots__ = ("absent", "begin", "end", "island", "octets")

    def __init__(self, island: Island, begin: int, end: int) -> None:
        self.island = island
        self.begin = begin
        self.end = end
        self.octets = island.read(begin, end) if begin < end else b""
        self.absent = island.absent
        """Stretches that the capture's snap length cut off; they read as zeros."""

    def read(self, start: int, end: int) -> bytes:
        """Return the octets from ``start`` up to ``end``, as far as they are there."""
        return self.octets[start - self.begin : end - self.begin]

    def number(self, start: int, end: int) -> int:
        """Return what octets say."""
        return int.from_bytes(self.octets[start - self.begin : end - self.begin], "big")

    def captured_until(self, start: int, end: int) -> int:
        """Return where, from ``start`` up to ``end``, the first octet was cut off, else ``end``."""
        return self.island.captured_until(start, end) if self.absent and start < end else end

    def is_captured(self, start: int, end: int) -> bool:
        """Tell whether all octets from ``start`` up to ``end`` are there and were captured."""
        return end <= self.end and (not self.absent or self.island.is_captured(start, end))
