# SPDX-License-Identifier: GPL-2.0-or-later
"""IP packets put together from their fragments (RFC 791 3.2, RFC 8200 4.5)."""

from __future__ import annotations

from typing import Final

from scapy_mpa.capture.frame import Frame
from scapy_mpa.capture.headers import Headers
from scapy_mpa.capture.reason import NotFollowedError
from scapy_mpa.stream.segment import SECOND

FRAGMENT_OF: Final = "fragment of an IP packet that is not whole"

_LARGEST: Final = 0xFFFF
"""Octets of a packet (RFC 791 3.1)."""
_MOST_PACKETS: Final = 256
_MOST_OCTETS: Final = 4 << 20
"""Packets and octets that may be held.  A working network has fewer that wait for fragments."""
_OVERHEAD: Final = 128
"""Octets that a fragment takes besides its own: three objects of Python."""
_MOST_AGE: Final = 60 * SECOND
"""How long a receiver waits for other fragments (RFC 8200 4.5)."""


class _Pieces:
    """The fragments of one packet that were captured so far."""

    def __init__(self, begin: int) -> None:
        self.begin = begin
        """When the first fragment was captured, in nanoseconds."""
        self.pieces: dict[int, bytes] = {}
        """Payloads of fragments by offset."""
        self.headers: Headers | None = None
        """Of the fragment with offset 0; their octets end where its payload begins."""
        self.frames = 0
        """Frames that had these fragments, or equal copies of them."""
        self.octets = 0
        self.total: int | None = None
        """Octets of the packet; known from its last fragment."""
        self.held = 0
        """Octets of memory, roughly."""

    @property
    def is_whole(self) -> bool:
        return self.octets == self.total


class Fragments:
    """Takes fragments, returns packets.

    Overlapping fragments make no packet (RFC 5722 4).  A whole packet is still held for a while:
    equal fragments are copies, as of a mirror port.  Another one begins a new packet with the same
    Identification, and so does one that differs from the fragment with its offset.
    """

    def __init__(self) -> None:
        self._packets: dict[bytes, _Pieces] = {}
        self._held = 0

    def take(self, frame: Frame, headers: Headers) -> tuple[Frame, int] | None:
        """Take the fragment of a frame.

        :return: a frame with the whole packet, and the number of frames that had its fragments.
            None: it is a copy, and the packet was returned before.
        :raises NotFollowedError: the fragment is cut or damaged, or others are still missing.
        """
        fragment = headers.fragment
        assert fragment is not None
        size, offset = headers.end - headers.at, fragment.offset
        end = offset + size
        if headers.captured_end < headers.end:
            raise headers.wrong("IP fragment", "cut")
        if end > _LARGEST or (fragment.has_more and (size % 8 or not size)):
            raise headers.wrong("IP fragment", "damaged")
        key, octets = fragment.identity, headers.octets
        payload = octets[headers.at : headers.end]
        packet = self._packet(key, frame.time_ns)
        if offset in packet.pieces or packet.is_whole:
            if packet.pieces.get(offset) != payload:
                self._remove(key)
                packet = self._packet(key, frame.time_ns)
            elif packet.is_whole:
                return None
        packet.frames += 1
        if offset not in packet.pieces:
            packet.pieces[offset] = payload
            packet.octets += size
            held = headers.end + _OVERHEAD
            packet.held += held
            self._held += held
            if not offset:
                packet.headers = headers
                headers.octets = octets[: headers.at]
            if not fragment.has_more:
                packet.total = end
        if packet.is_whole:
            if whole := _whole(packet, frame):
                return whole, packet.frames
            self._remove(key)
        raise NotFollowedError(FRAGMENT_OF)

    def _packet(self, key: bytes, time_ns: int) -> _Pieces:
        """Return the fragments of a packet; drop expired packets.

        For room, whole packets are dropped before others, and the oldest first.
        """
        packets = self._packets
        while packets:
            oldest = next(iter(packets))
            if time_ns - packets[oldest].begin < _MOST_AGE:
                if len(packets) < _MOST_PACKETS and self._held < _MOST_OCTETS:
                    break
                oldest = next((each for each in packets if packets[each].is_whole), oldest)
            self._remove(oldest)
        return packets.setdefault(key, _Pieces(time_ns))

    def _remove(self, key: bytes) -> None:
        self._held -= self._packets.pop(key).held


def _whole(packet: _Pieces, last: Frame) -> Frame | None:
    """Return a frame with a complete packet, and with the headers of the first fragment.

    None: fragments overlap, so octets are missing.
    """
    headers = packet.headers
    if headers is None:
        return None
    assert headers.fragment is not None
    octets = bytearray(headers.octets)
    for offset in sorted(packet.pieces):
        if len(octets) != headers.at + offset:
            return None
        octets += packet.pieces[offset]
    control = headers.fragment.control
    octets[control : control + 2] = bytes(2)
    headers.refit(octets)
    return last._replace(octets=bytes(octets), original_length=len(octets))
