# SPDX-License-Identifier: GPL-2.0-or-later
"""What an RDMA application sends: FPDUs, and the TCP segments that carry them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from struct import Struct
from typing import Final

from scapy_mpa.wire.fpdu import MARKER_INTERVAL, build_fpdu
from scapy_mpa.wire.startup import KEYS, StartupKind

__all__ = [
    "EMSS",
    "FPDUSource",
    "Payloads",
    "Segments",
    "aligned",
    "mixed",
    "mulpdu",
    "packed",
    "repacked",
    "startup_frame",
]

EMSS: Final = 1460
"""Octets of a full TCP segment on Ethernet without TCP options."""

_STARTUP: Final = Struct(">16sBBH")
_M, _C = 0x80, 0x40

_TAGGED: Final = Struct(">BBIQ")
_UNTAGGED: Final = Struct(">BBIIII")
_T, _L, _DV1 = 0x80, 0x40, 0x01
_RV1: Final = 0x40
_WRITE, _SEND = 0x0, 0x3

_MESSAGE_FPDUS: Final = 64
"""FPDUs of a long RDMA Write."""
_SMALL_PAYLOAD: Final = 64
_LONGEST_SMALL: Final = len(build_fpdu(bytes(_UNTAGGED.size + _SMALL_PAYLOAD), 0))
"""Octets of a small FPDU at most: a Send with a Marker."""
_MIXED_PAYLOADS: Final = (64, 256, 512)

_BUFFER: Final = 1 << 30
"""Octets of the data sink buffer; Writes begin at its start again when they reach its end."""

_POOL: Final = 1 << 17
_POOL_STEP: Final = 8191

_OTHER_MSS: Final = 1448
"""Octets of the segments that a receiver with timestamps merges."""
_FEWEST_MERGED, _MOST_MERGED = 8, 45
"""45 of them are about what an IPv4 datagram has room for."""


def startup_frame(kind: StartupKind, *, markers: bool) -> bytes:
    """Return a Request or Reply of revision 1 with C set (RFC 5044 7.1.1).

    :param markers: M, the sender wants Markers in what it receives.
    """
    return _STARTUP.pack(KEYS[kind], _C | _M * markers, 1, 0)


def mulpdu(emss: int, *, markers: bool) -> int:
    """Return the octets of the longest ULPDU whose FPDU fits a segment (RFC 5044 4.5)."""
    overhead = 6 + emss % 4
    if markers:
        overhead += 4 * -(-emss // MARKER_INTERVAL)
    return emss - overhead


class Payloads:
    """Octets to send: cuts from one pool of random octets, since making them anew costs most."""

    __slots__ = ("_at", "_pool")

    def __init__(self, rng: random.Random) -> None:
        self._pool = rng.randbytes(_POOL)
        self._at = 0

    def take(self, length: int) -> bytes:
        """Return ``length`` octets, 0 to 65536."""
        at = self._at = (self._at + _POOL_STEP) & _POOL // 2 - 1
        return self._pool[at : at + length]


class FPDUSource:
    """The FPDUs of one direction, in the order of its stream.

    :param markers: whether the direction has Markers.
    :param stag: of its RDMA Writes.
    """

    __slots__ = ("_in_message", "_msn", "_offset", "_payloads", "_stag", "_to", "fpdus", "longest")

    def __init__(self, payloads: Payloads, *, markers: bool, stag: int) -> None:
        self._payloads = payloads
        self._offset = 0 if markers else None
        self._stag = stag
        self._to = 0
        self._in_message = 0
        self._msn = 0
        self.longest = mulpdu(EMSS, markers=markers) - _TAGGED.size
        """Octets of payload of a full-size RDMA Write FPDU."""
        self.fpdus = 0
        """How many were made."""

    def write(self, length: int, *, last: bool = True) -> bytes:
        """Return an FPDU of an RDMA Write with ``length`` octets of payload."""
        control = _T | _L | _DV1 if last else _T | _DV1
        header = _TAGGED.pack(control, _RV1 | _WRITE, self._stag, self._to)
        self._to += length
        if last and self._to > _BUFFER:
            self._to = 0
        return self._fpdu(header + self._payloads.take(length))

    def write_on(self) -> bytes:
        """Return the next full-size FPDU of a long RDMA Write."""
        self._in_message = (self._in_message + 1) % _MESSAGE_FPDUS
        return self.write(self.longest, last=self._in_message == 0)

    def send(self, length: int) -> bytes:
        """Return the FPDU of a Send with ``length`` octets of payload."""
        self._msn += 1
        header = _UNTAGGED.pack(_L | _DV1, _RV1 | _SEND, 0, 0, self._msn, 0)
        return self._fpdu(header + self._payloads.take(length))

    def _fpdu(self, ulpdu: bytes) -> bytes:
        self.fpdus += 1
        offset = self._offset
        if offset is None:
            return build_fpdu(ulpdu)
        octets = build_fpdu(ulpdu, offset % MARKER_INTERVAL)
        self._offset = offset + len(octets)
        return octets


Segments = Callable[[FPDUSource, random.Random, Callable[[], bool]], Iterator[bytes]]
"""Makes the payloads of segments from a source, at least one, until the callback says that they are
enough.  The last one ends with an FPDU."""


def aligned(source: FPDUSource, rng: random.Random, enough: Callable[[], bool]) -> Iterator[bytes]:
    """Yield segments of one full-size FPDU each."""
    yield source.write_on()
    while not enough():
        yield source.write_on()


def packed(source: FPDUSource, rng: random.Random, enough: Callable[[], bool]) -> Iterator[bytes]:
    """Yield segments of as many small Sends and Writes as fit."""
    more = True
    while more:
        fpdus: list[bytes] = []
        length = 0
        while length + _LONGEST_SMALL <= EMSS:
            make = source.send if rng.random() < 0.5 else source.write
            fpdu = make(_SMALL_PAYLOAD)
            fpdus.append(fpdu)
            length += len(fpdu)
        yield b"".join(fpdus)
        more = not enough()


def mixed(source: FPDUSource, rng: random.Random, enough: Callable[[], bool]) -> Iterator[bytes]:
    """Yield segments of one FPDU each, a Send or a Write of some hundred octets."""
    more = True
    while more:
        make = source.send if rng.random() < 0.5 else source.write
        yield make(rng.choice(_MIXED_PAYLOADS))
        more = not enough()


def repacked(source: FPDUSource, rng: random.Random, enough: Callable[[], bool]) -> Iterator[bytes]:
    """Yield segments as a receiver merges them from shorter ones than the FPDUs were made for.

    FPDUs have the full size.  Nearly every segment begins and ends inside an FPDU.
    """
    fpdus: list[bytes] = []
    length = 0
    more = True
    while more:
        wanted = _OTHER_MSS * rng.randint(_FEWEST_MERGED, _MOST_MERGED)
        while length < wanted:
            fpdu = source.write_on()
            fpdus.append(fpdu)
            length += len(fpdu)
        octets = b"".join(fpdus)
        yield octets[:wanted]
        fpdus = [octets[wanted:]]
        length -= wanted
        more = not enough()
    if length:
        yield fpdus[0]
