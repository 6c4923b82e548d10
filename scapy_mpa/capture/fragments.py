# SPDX-License-Identifier: GPL-2.0-or-later
"""IP packets put together from their fragments (RFC 791 3.2, RFC 8200 4.5)."""

from __future__ import annotations

from typing import Final, TypeAlias

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


class _Packet:
    """The fragments of one packet that were captured so far."""

    def __init__(self, time_ns: int) -> None:
        self.time_ns = time_ns
        """When the first fragment was captured, in nanoseconds; of a whole packet, the last one; of
        copies, the latest one."""
        self.pieces: dict[int, bytes] = {}
        """Payloads of fragments by offset."""
        self.headers: Headers | None = None
        """Of the fragment with offset 0; their octets end where its payload begins."""
        self.frames = 0
        """Frames that were counted as fragments of a packet that is not whole, and this one."""
        self.octets = 0
        self.total: int | None = None
        """Octets of the packet; known from its last fragment."""
        self.held = 0
        """Octets of memory, roughly."""

    @property
    def is_whole(self) -> bool:
        return self.octets == self.total

    def add(self, headers: Headers, payload: bytes) -> int:
        """Add a fragment, unless it is there; return the octets of memory that it takes."""
        fragment = headers.fragment
        assert fragment is not None
        if fragment.offset in self.pieces:
            return 0
        self.pieces[fragment.offset] = payload
        self.octets += len(payload)
        held = headers.end + _OVERHEAD
        self.held += held
        if not fragment.offset:
            self.headers = headers
            headers.octets = headers.octets[: headers.at]
        if not fragment.has_more:
            self.total = headers.end - headers.at + fragment.offset
        return held


_Packets: TypeAlias = dict[bytes, _Packet]
"""By what the fragments of a packet have in common; the oldest first."""


class Fragments:
    """Takes fragments, returns packets.

    Overlapping fragments make no packet (RFC 5722 4).  A fragment that differs from the one with
    its offset begins a new packet: the other fragments of the old one were not captured, and its
    Identification came again.

    A whole packet is still held for a while, to know copies, as of a mirror port.  Equal fragments
    after it may also begin a new packet with the same Identification.  They do if a differing one
    follows, unless they were captured nearer to the old packet.
    """

    def __init__(self) -> None:
        self._waiting: _Packets = {}
        """Packets that are not whole.  While the whole packet is held, equal fragments only."""
        self._whole: _Packets = {}
        self._held = 0

    def take(self, frame: Frame, headers: Headers) -> tuple[Frame, int] | None:
        """Take the fragment of a frame.

        :return: a frame with the whole packet, and the number of frames that had its fragments and
            were counted.  None: it equals a fragment of a packet that was returned before.
        :raises NotFollowedError: the fragment is cut or damaged, or others are still missing.
        """
        fragment = headers.fragment
        assert fragment is not None
        size, offset = headers.end - headers.at, fragment.offset
        if headers.captured_end < headers.end:
            raise headers.wrong("IP fragment", "cut")
        if offset + size > _LARGEST or (fragment.has_more and (size % 8 or not size)):
            raise headers.wrong("IP fragment", "damaged")
        key, time_ns = fragment.identity, frame.time_ns
        self._make_room(time_ns)
        payload = headers.octets[headers.at : headers.end]
        whole, packet = self._whole.get(key), self._waiting.get(key)
        is_copy = whole is not None and whole.pieces.get(offset) == payload
        if packet is not None:
            is_other = packet.pieces.get(offset, payload) != payload
            if whole is not None and not is_copy:
                is_other = packet.time_ns - whole.time_ns < time_ns - packet.time_ns
            if is_other:
                self._remove(self._waiting, key)
                packet = None
        if packet is None:
            packet = self._waiting[key] = _Packet(time_ns)
        self._held += packet.add(headers, payload)
        if is_copy:
            packet.time_ns = time_ns
            if packet.is_whole:
                self._remove(self._waiting, key)
            return None
        self._remove(self._whole, key)
        packet.frames += 1
        if packet.is_whole:
            del self._waiting[key]
            if made := _whole(packet, frame):
                packet.time_ns = time_ns
                self._whole[key] = packet
                return made, packet.frames
            self._held -= packet.held
        raise NotFollowedError(FRAGMENT_OF)

    def _make_room(self, time_ns: int) -> None:
        """Drop expired packets; then, for room, whole ones before others, the oldest first."""
        whole, waiting = self._whole, self._waiting
        for packets in (whole, waiting):
            while packets:
                oldest = next(iter(packets))
                is_full = len(whole) + len(waiting) >= _MOST_PACKETS or self._held >= _MOST_OCTETS
                if not is_full and time_ns - packets[oldest].time_ns < _MOST_AGE:
                    break
                self._remove(packets, oldest)
                if packets is whole:
                    # Without it, nothing shows that these are copies.
                    self._remove(waiting, oldest)

    def _remove(self, packets: _Packets, key: bytes) -> None:
        if packet := packets.pop(key, None):
            self._held -= packet.held


def _whole(packet: _Packet, last: Frame) -> Frame | None:
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
