# SPDX-License-Identifier: GPL-2.0-or-later
"""The octets of a segment, as they are held."""

from typing import Final, NamedTuple

CHUNK_OVERHEAD: Final = 150
"""Octets of memory that a chunk takes beside those that it carries."""


class Chunk(NamedTuple):
    """Octets of one segment that no earlier segment had brought."""

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
