# SPDX-License-Identifier: GPL-2.0-or-later
"""TCP segments as Ethernet frames, and frames as a classic pcap file.

Checksums are zero, as a capture has them where the network card computes them.
"""

from __future__ import annotations

from struct import Struct
from typing import BinaryIO, Final, NamedTuple

__all__ = ["ACK", "FIN", "PSH", "SMALLEST_RECORD", "SYN", "CaptureFile", "Endpoint", "Sender"]

FIN: Final = 0x01
SYN: Final = 0x02
PSH: Final = 0x08
ACK: Final = 0x10

_FILE_HEADER: Final = Struct("<IHHiIII")
_RECORD_HEADER: Final = Struct("<IIII")
_MICROSECOND_MAGIC: Final = 0xA1B2C3D4
_ETHERNET: Final = 1
_SNAP_LENGTH: Final = 262144

_HEADERS: Final = Struct(">16sH20sIIHH4x")
"""Ethernet and the first two octets of IPv4; total length; the rest of IPv4 and the ports; sequence
and acknowledgement number; data offset with flags; window; checksum and urgent pointer."""
_IP_AND_TCP_LENGTH: Final = 40
SMALLEST_RECORD: Final = _RECORD_HEADER.size + _HEADERS.size
"""Octets that a segment without payload takes in the file."""
_DATA_OFFSET: Final = 5 << 12
_WINDOW: Final = 0xFFFF

_FIRST_MICROSECOND: Final = 1_700_000_000_000_000
_OCTETS_PER_MICROSECOND: Final = 1250
"""10 Gbit/s."""
_WRITTEN_AT_ONCE: Final = 1 << 20


class Endpoint(NamedTuple):
    """One end of a TCP connection."""

    mac: bytes
    address: bytes
    """IPv4 address, 4 octets."""
    port: int


class Sender:
    """What one end of a TCP connection sends.

    :param isn: initial sequence number.
    """

    __slots__ = ("_link", "_network", "next")

    def __init__(self, source: Endpoint, target: Endpoint, isn: int) -> None:
        self._link = target.mac + source.mac + b"\x08\x00\x45\x00"
        self._network = (
            bytes.fromhex("0000 4000 4006 0000")
            + source.address
            + target.address
            + source.port.to_bytes(2, "big")
            + target.port.to_bytes(2, "big")
        )
        self.next = isn
        """The position of the next octet: a sequence number that does not wrap."""

    def send(self, payload: bytes, ack: int, flags: int = ACK) -> bytes:
        """Return the frame of a new segment, and go on after it."""
        frame = self.frame(self.next, payload, ack, flags)
        self.next += len(payload) + bool(flags & (SYN | FIN))
        return frame

    def frame(self, position: int, payload: bytes, ack: int, flags: int = ACK) -> bytes:
        """Return the frame of a segment that begins at ``position``.

        :param payload: at most 65495 octets, which is what an IPv4 total length can say.
        """
        return (
            _HEADERS.pack(
                self._link,
                _IP_AND_TCP_LENGTH + len(payload),
                self._network,
                position & 0xFFFFFFFF,
                ack & 0xFFFFFFFF,
                _DATA_OFFSET | flags,
                _WINDOW,
            )
            + payload
        )


class CaptureFile:
    """A classic pcap file, little-endian, with microseconds, being written.

    :param file: is written in large pieces; :meth:`flush` writes the last one.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        header = _FILE_HEADER.pack(_MICROSECOND_MAGIC, 2, 4, 0, 0, _SNAP_LENGTH, _ETHERNET)
        self._pieces = [header]
        self._written_at = _WRITTEN_AT_ONCE
        self._microseconds = _FIRST_MICROSECOND
        self.octets = len(header)
        """Octets of the file so far."""
        self.frames = 0

    def add(self, frame: bytes) -> None:
        """Append a frame, captured when the one before it had passed."""
        length = len(frame)
        seconds, microseconds = divmod(self._microseconds, 1_000_000)
        self._pieces.append(_RECORD_HEADER.pack(seconds, microseconds, length, length))
        self._pieces.append(frame)
        self._microseconds += 1 + length // _OCTETS_PER_MICROSECOND
        self.octets += _RECORD_HEADER.size + length
        self.frames += 1
        if self.octets >= self._written_at:
            self.flush()
            self._written_at = self.octets + _WRITTEN_AT_ONCE

    def flush(self) -> None:
        """Write what was not written yet."""
        self._file.write(b"".join(self._pieces))
        self._pieces.clear()
