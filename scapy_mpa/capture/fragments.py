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
"""What may wait for other fragments.  A network with more packets under way does not work."""
_MOST_AGE: Final = 60 * SECOND
"""How long a receiver waits for other fragments (RFC 8200 4.5)."""


class _Pieces:
    """What there is of one packet."""

    def __init__(self, begin: int) -> None:
        self.begin = begin
        """When the first came."""
        self.pieces: dict[int, tuple[Frame, Headers]] = {}
        """By offset."""
        self.offsets: list[int] = []
        """The same, in order."""
        self.octets = 0
        self.total: int | None = None
        """Octets of the packet, which its last fragment tells."""
        self.is_refused = False

    def overlaps(self, offset: int, end: int) -> bool:
        """Whether a fragment has octets of another, or octets after the last."""
        if self.total is not None and end > self.total:
            return True
        at = bisect(self.offsets, offset)
        if at and self._end(self.offsets[at - 1]) > offset:
            return True
        return at < len(self.offsets) and self.offsets[at] < end

    def _end(self, offset: int) -> int:
        _, headers = self.pieces[offset]
        return offset + headers.stop - headers.at


class Fragments:
    """Takes fragments, returns packets.

    One that overlaps another makes a receiver drop the packet (RFC 5722 4); so it is here.  A copy
    does not.
    """

    def __init__(self) -> None:
        self._packets: dict[bytes, _Pieces] = {}
        self._octets = 0

    def take(self, frame: Frame, headers: Headers) -> tuple[Frame, int] | None:
        """Take the fragment of a frame.

        :return: a frame with the whole packet, and the number of fragments that it is made of.
            None: others are missing.
        :raises NotFollowedError: it can be part of no packet.
        """
        fragment = headers.fragment
        assert fragment is not None
        size, offset = headers.end - headers.at, fragment.offset
        end = offset + size
        if headers.stop < headers.end:
            raise headers.wrong("IP fragment", "cut")
        if end > _LARGEST or (fragment.has_more and (size % 8 or not size)):
            raise headers.wrong("IP fragment", "damaged")
        key = headers.network + fragment.identity
        packet = self._packet(key, frame.time_ns)
        known = packet.pieces.get(offset)
        if known is not None and _octets_of(known) == _octets_of((frame, headers)):
            return None
        if packet.is_refused or packet.overlaps(offset, end):
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
            return _whole(packet, frame), len(packet.pieces)
        return None

    def _packet(self, key: bytes, time_ns: int) -> _Pieces:
        """Return what there is of a packet, once there is room for more."""
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
    return frame.octets[headers.at : headers.stop]


def _whole(packet: _Pieces, last: Frame) -> Frame:
    """Return a frame with a packet all of whose fragments are there.

    Its headers are those of the first fragment.
    """
    first, headers = packet.pieces[0]
    assert headers.fragment is not None
    octets = bytearray(first.octets[: headers.at])
    for offset in packet.offsets:
        octets += _octets_of(packet.pieces[offset])
    control = headers.fragment.control
    octets[control : control + 2] = bytes(2)
    headers.refit(octets)
    return last._replace(octets=bytes(octets), original_length=len(octets))
