# SPDX-License-Identifier: GPL-2.0-or-later
"""A chunk: the octets held of one segment."""

from typing import Final, NamedTuple

CHUNK_OVERHEAD: Final = 150
"""Octets of memory that a chunk takes besides its stream octets."""


class Chunk(NamedTuple):
    """Octets of one segment that no earlier segment carried."""

    position: int
    octets: bytes
    frame: int

    @property
    def end(self) -> int:
        """Position after the last octet."""
        return self.position + len(self.octets)


def weight_of(chunk: Chunk) -> int:
    """Return how many octets of memory a chunk takes."""
    return len(chunk.octets) + CHUNK_OVERHEAD
