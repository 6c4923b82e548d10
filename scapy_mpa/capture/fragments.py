# SPDX-License-Identifier: GPL-2.0-or-later
"""IP packets put together from their fragments (RFC 791 3.2, RFC 8200 4.5)."""

from __future__ import annotations

from typing import Final

from scapy_mpa.capture.frame import Frame
from scapy_mpa.capture.headers import Headers
from scapy_mpa.stream.segment import SECOND

FRAGMENT_OF: Final = "fragment of an IP packet that is not whole"

_LARGEST: Final = 0xFFFF
"""Octets of a packet (RFC 791 3.1)."""
_MOST_PACKETS: Final = 256
_MOST_OCTETS: Final = 4 << 20
"""Packets and octets that may wait for other fragments.  A working network has fewer."""
_MOST_AGE: Final = 60 * SECOND
"""How long a receiver waits for other fragments (RFC 8200 4.5)."""


class _Pieces:
    """The fragments of one packet that were captured so far."""

    def __init__(self, begin: int) -> None:
        self.begin = begin
        """When the first fragment was captured, in nanoseconds."""
        self.pieces: dict[int, tuple[Frame, Headers]] = {}
        """Fragments by offset."""
        self.frames = 0
        """Frames that had these fragments, or equal copies of them."""
        self.octets = 0
        self.total: int | None = None
        """Octets of the packet; known from its last fragment."""


class Fragments:
    """Takes fragments, returns packets.

    Overlapping fragments make no packet (RFC 5722 4).  Of fragments with the same offset, the first
    counts.
    """

    def __init__(self) -> None:
        self._packets: dict[bytes, _Pieces] = {}
        self._octets = 0

    def take(self, frame: Frame, headers: Headers) -> tuple[Frame, int] | None:
        """Take the fragment of a frame.

        :return: a frame with the whole packet, and the number of frames that had its fragments.
            None: fragments are still missing.
        :raises NotFollowedError: the fragment is cut or damaged.
        """
        fragment = headers.fragment
        assert fragment is not None
        size, offset = headers.end - headers.at, fragment.offset
        end = offset + size
        if headers.captured_end < headers.end:
            raise headers.wrong("IP fragment", "cut")
        if end > _LARGEST or (fragment.has_more and (size % 8 or not size)):
            raise headers.wrong("IP fragment", "damaged")
        key = fragment.identity
        packet = self._packet(key, frame.time_ns)
        packet.frames += 1
        if offset in packet.pieces:
            return None
        packet.pieces[offset] = frame, headers
        packet.octets += size
        self._octets += size
        if not fragment.has_more:
            packet.total = end
        if packet.octets != packet.total:
            return None
        self._remove(key)
        found = _whole(packet, frame)
        return None if found is None else (found, packet.frames)

    def _packet(self, key: bytes, time_ns: int) -> _Pieces:
        """Return the fragments of a packet; drop expired packets, and the oldest for room."""
        packets = self._packets
        while packets:
            oldest = next(iter(packets))
            age = time_ns - packets[oldest].begin
            if age < _MOST_AGE and len(packets) < _MOST_PACKETS and self._octets < _MOST_OCTETS:
                break
            self._remove(oldest)
        return packets.setdefault(key, _Pieces(time_ns))

    def _remove(self, key: bytes) -> None:
        self._octets -= self._packets.pop(key).octets


def _whole(packet: _Pieces, last: Frame) -> Frame | None:
    """Return a frame with a complete packet, and with the headers of the first fragment.

    None: fragments overlap, so octets are missing.
    """
    offsets = sorted(packet.pieces)
    first, headers = packet.pieces[offsets[0]]
    assert headers.fragment is not None
    octets = bytearray(first.octets[: headers.at])
    for offset in offsets:
        if len(octets) != headers.at + offset:
            return None
        piece, found = packet.pieces[offset]
        octets += piece.octets[found.at : found.captured_end]
    control = headers.fragment.control
    octets[control : control + 2] = bytes(2)
    headers.refit(octets)
    return last._replace(octets=bytes(octets), original_length=len(octets))
