# SPDX-License-Identifier: GPL-2.0-or-later
"""IP packets put together from their fragments (RFC 791 3.2, RFC 8200 4.5)."""

from __future__ import annotations

from bisect import bisect, insort
from typing import Final

from scapy_mpa.capture.frame import Frame
from scapy_mpa.capture.headers import Headers
from scapy_mpa.capture.reason import NotFollowedError
from scapy_mpa.stream.segment import SECOND

FRAGMENT_OF: Final = "fragment of an IP packet that is not whole"
OVERLAPPING: Final = "overlapping IP fragment"

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
        self.offsets: list[int] = []
        """Offsets in ascending order."""
        self.frames = 0
        """Frames that had these fragments, or equal copies of them."""
        self.octets = 0
        self.total: int | None = None
        """Octets of the packet; known from its last fragment."""
        self.is_refused = False

    def overlaps(self, offset: int, end: int, *, is_last: bool) -> bool:
        """Whether a fragment shares octets with another, or one of the two goes beyond the end of
        the packet.

        :param is_last: the packet ends with it.
        """
        if self.total is not None and end > self.total:
            return True
        if is_last and self.offsets and self._end(self.offsets[-1]) > end:
            return True
        at = bisect(self.offsets, offset)
        if at and self._end(self.offsets[at - 1]) > offset:
            return True
        return at < len(self.offsets) and self.offsets[at] < end

    def _end(self, offset: int) -> int:
        _, headers = self.pieces[offset]
        return offset + headers.captured_end - headers.at


class Fragments:
    """Takes fragments, returns packets.

    Overlapping fragments make a receiver drop the packet (RFC 5722 4), and so they do here.  An
    equal copy of a fragment does not.
    """

    def __init__(self) -> None:
        self._packets: dict[bytes, _Pieces] = {}
        self._octets = 0

    def take(self, frame: Frame, headers: Headers) -> tuple[Frame, int] | None:
        """Take the fragment of a frame.

        :return: a frame with the whole packet, and the number of frames that had its fragments.
            None: fragments are still missing.
        :raises NotFollowedError: the fragment is cut or damaged, or overlaps another one.
        """
        fragment = headers.fragment
        assert fragment is not None
        size, offset = headers.end - headers.at, fragment.offset
        end = offset + size
        if headers.captured_end < headers.end:
            raise headers.wrong("IP fragment", "cut")
        if end > _LARGEST or (fragment.has_more and (size % 8 or not size)):
            raise headers.wrong("IP fragment", "damaged")
        key = headers.network + fragment.identity
        packet = self._packet(key, frame.time_ns)
        known = packet.pieces.get(offset)
        packet.frames += 1
        if known is not None and _octets_of(known) == _octets_of((frame, headers)):
            return None
        if packet.is_refused or packet.overlaps(offset, end, is_last=not fragment.has_more):
            packet.is_refused = True
            self._octets -= packet.octets
            packet.octets = 0
            packet.pieces.clear()
            packet.offsets.clear()
            raise NotFollowedError(OVERLAPPING)
        packet.pieces[offset] = frame, headers
        insort(packet.offsets, offset)
        packet.octets += size
        self._octets += size
        if not fragment.has_more:
            packet.total = end
        if packet.octets == packet.total:
            self._remove(key)
            return _whole(packet, frame), packet.frames
        return None

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


def _octets_of(piece: tuple[Frame, Headers]) -> bytes:
    frame, headers = piece
    return frame.octets[headers.at : headers.captured_end]


def _whole(packet: _Pieces, last: Frame) -> Frame:
    """Return a frame with a complete packet, and with the headers of the first fragment."""
    first, headers = packet.pieces[0]
    assert headers.fragment is not None
    octets = bytearray(first.octets[: headers.at])
    for offset in packet.offsets:
        octets += _octets_of(packet.pieces[offset])
    control = headers.fragment.control
    octets[control : control + 2] = bytes(2)
    headers.refit(octets)
    return last._replace(octets=bytes(octets), original_length=len(octets))
