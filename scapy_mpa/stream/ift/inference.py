# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames of iWARP Framing for TCP where no adaption indication was captured, proven by CRCs.

Only looked for where the user says that this dialect is spoken.  VTag and CRCs are what the
indications announce (draft-williams-iwarp-ift-01 4.2), so here two CRCs must agree on them: header
and payload CRC of one frame, or those of a frame and of the one right behind it.  Where frames
have no CRCs nothing is claimed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from scapy_mpa.stream.octets.island import Island
from scapy_mpa.wire.crc import CRC_LENGTH, crc_is_good
from scapy_mpa.wire.ift_frame import (
    FRAME_HEADER_LENGTH,
    FrameHeader,
    frame_pattern,
    parse_frame_header,
)

__all__ = ["Inferred", "infer_frames"]

_HEAD: Final = frame_pattern()

_ALLOWANCE: Final = 1 << 20
_ALLOWED_BY_OCTET: Final = 16
"""Octets of payload of which CRCs may be checked, in all and for each octet that is there."""


class Inferred(NamedTuple):
    """What the frames of a direction have in common."""

    header_crc: bool
    payload_crc: bool
    vtag: int


class _Head(NamedTuple):
    """What may be the head of a frame."""

    start: int
    header: FrameHeader

    @property
    def end(self) -> int:
        """Where the DDP header ends."""
        return self.start + FRAME_HEADER_LENGTH + self.header.header_size


def infer_frames(island: Island) -> Inferred | None:
    """Return what CRCs prove of the frames in an island, None if they prove nothing."""
    octets = island.read(island.held, island.end)
    allowance = _ALLOWANCE + _ALLOWED_BY_OCTET * len(octets)
    for head in _heads(octets):
        if _is_good(octets, head.start, head.end):
            payload = head.end + CRC_LENGTH
            end = payload + head.header.payload_size
            if _proves(octets, payload, end) or _follows(
                octets, end + CRC_LENGTH, head, header_crc=True
            ):
                return Inferred(True, True, head.header.vtag)
            if _follows(octets, end, head, header_crc=True):
                return Inferred(True, False, head.header.vtag)
        elif allowance > 0:
            allowance -= head.header.payload_size
            end = head.end + head.header.payload_size
            if _proves(octets, head.end, end) and _follows(
                octets, end + CRC_LENGTH, head, header_crc=False
            ):
                return Inferred(False, True, head.header.vtag)
    return None


def _heads(octets: bytes) -> Iterator[_Head]:
    """Yield what may be the head of a frame."""
    match = _HEAD.search(octets)
    while match is not None:
        yield _Head(match.start(), parse_frame_header(match[0][:FRAME_HEADER_LENGTH]))
        match = _HEAD.search(octets, match.start() + 1)


def _is_good(octets: bytes, start: int, end: int) -> bool:
    """Tell whether a CRC stands behind a stretch of octets, and matches it."""
    covered = octets[start : end + CRC_LENGTH]
    return len(covered) == end + CRC_LENGTH - start and crc_is_good(covered)


def _proves(octets: bytes, payload: int, end: int) -> bool:
    """Tell whether the CRC behind a payload proves it; that of no octets is zero everywhere."""
    return payload < end and _is_good(octets, payload, end)


def _follows(octets: bytes, start: int, before: _Head, *, header_crc: bool) -> bool:
    """Tell whether another frame with the same VTag begins at a place, by its own CRC."""
    match = _HEAD.match(octets, start)
    if match is None:
        return False
    head = _Head(start, parse_frame_header(match[0][:FRAME_HEADER_LENGTH]))
    if head.header.vtag != before.header.vtag:
        return False
    if header_crc:
        return _is_good(octets, start, head.end)
    return _proves(octets, head.end, head.end + head.header.payload_size)
