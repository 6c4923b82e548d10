# SPDX-License-Identifier: GPL-2.0-or-later
"""The octets of segments, as they are held.

A segment of one octet takes 150 times what it carries.  Where that is too much, such segments are
*merged*: what is still known of each then is the frame that brought it.
"""

from array import array
from bisect import bisect_left, bisect_right
from typing import Final, NamedTuple, cast

__all__ = ["CHUNK_OVERHEAD", "Chunk", "Frames", "merge", "weight_of"]

CHUNK_OVERHEAD: Final = 150
"""Octets of memory that a chunk takes beside those that it carries."""

_MERGED_OVERHEAD: Final = 16
"""Octets of memory that are taken for each octet of merged segments: a position and a frame."""
_TINY: Final = 4
"""Octets up to which a segment is merged with its neighbours: where it begins tells nothing."""
_LONGEST: Final = 4096
"""Octets up to which they are: what is released is whole chunks."""


class Frames:
    """The frames that brought octets which were merged.

    :param chunks: those of segments, ascending.
    """

    __slots__ = ("_frames", "_starts")

    def __init__(self, chunks: "list[Chunk]") -> None:
        self._starts = array("Q", [chunk.position for chunk in chunks])
        self._frames = array("Q", [cast("int", chunk.frame) for chunk in chunks])

    def between(self, start: int, end: int) -> "array[int]":
        """Return the frames that brought the octets from ``start`` up to ``end``."""
        first = max(0, bisect_right(self._starts, start) - 1)
        return self._frames[first : bisect_left(self._starts, end)]


class Chunk(NamedTuple):
    """Octets of one segment that no earlier segment had brought; or of several, merged."""

    position: int
    octets: bytes
    frame: int | Frames

    @property
    def end(self) -> int:
        """Position behind the last octet."""
        return self.position + len(self.octets)

    def behind(self, start: int) -> "Chunk":
        """Return what of it lies at ``start`` or behind."""
        if start <= self.position:
            return self
        return Chunk(start, self.octets[start - self.position :], self.frame)


def weight_of(chunk: Chunk) -> int:
    """Return how many octets of memory a chunk takes."""
    octets = len(chunk.octets)
    if isinstance(chunk.frame, int):
        return octets + CHUNK_OVERHEAD
    # As if each segment had been one octet, so that a part of it weighs its part.
    return octets * (1 + _MERGED_OVERHEAD) + CHUNK_OVERHEAD


def merge(chunks: list[Chunk]) -> list[Chunk]:
    """Return chunks with the tiny ones among them merged that lie back to back."""
    merged: list[Chunk] = []
    begin = octets = end = 0
    for index, chunk in enumerate(chunks):
        is_tiny = len(chunk.octets) <= _TINY and isinstance(chunk.frame, int)
        # What lies between was released, if they do not.
        if is_tiny and octets < _LONGEST and (chunk.position == end or not octets):
            octets += len(chunk.octets)
            end = chunk.end
            continue
        merged += _merged(chunks[begin:index])
        begin, octets, end = index, len(chunk.octets), chunk.end
        if not is_tiny:
            merged.append(chunk)
            begin, octets = index + 1, 0
    return merged + _merged(chunks[begin:])


def _merged(chunks: list[Chunk]) -> list[Chunk]:
    """Return chunks as one, if they are several."""
    if len(chunks) < 2:
        return chunks
    octets = b"".join([chunk.octets for chunk in chunks])
    return [Chunk(chunks[0].position, octets, Frames(chunks))]
