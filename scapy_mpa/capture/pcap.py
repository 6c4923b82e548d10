# SPDX-License-Identifier: GPL-2.0-or-later
"""Classic pcap files (draft-ietf-opsawg-pcap), both byte orders, micro- and nanoseconds.

Time zone, accuracy and snap length of the file header are not used: writers do not agree on them.
"""

from collections.abc import Callable, Iterator
from struct import Struct
from typing import Final, NamedTuple

from scapy_mpa.capture.damage import CONVERT, UNFINISHED, DamagedError
from scapy_mpa.capture.frame import MAXIMUM_CAPTURED, Frame
from scapy_mpa.capture.source import Source
from scapy_mpa.stream.segment import SECOND

PCAP_MAGICS: Final = {
    Struct(order + "I").pack(magic): (Struct(order + "4xHH12xI"), Struct(order + "IIII"), unit)
    for order in "<>"
    for magic, unit in ((0xA1B2C3D4, 1000), (0xA1B23C4D, 1))
}
"""By the first four octets of the file: struct of versions and link type; struct of a record's
seconds, fraction, captured and original octets; nanoseconds in one unit of the fraction."""

_HEADER_LENGTH: Final = 24
_VERSION: Final = (2, 4)
"""All writers use it since 1998."""

LINK_TYPE_BITS: Final = 0xFFFF
"""The LINKTYPE_ value in the last field of a file header.  The other bits are not used: they may
give the length of the Frame Check Sequence."""


class PcapHeader(NamedTuple):
    """The contents of the file header."""

    record: Struct
    """Seconds, fraction, captured octets, original octets of each record."""
    unit: int
    """Nanoseconds in one unit of the fraction."""
    link_type: int


def pcap_header(source: Source) -> PcapHeader:
    """Read the file header.

    :raises DamagedError: the header is cut, or of another version.
    """
    header, record, unit = PCAP_MAGICS[source.window[:4]]
    window, _ = source.forward(0, _HEADER_LENGTH)
    if len(window) < _HEADER_LENGTH:
        raise DamagedError("the file ends inside its header", len(window))
    major, minor, link = header.unpack_from(window)
    if (major, minor) != _VERSION:
        raise DamagedError(f"pcap version {major}.{minor} is not supported", advice=CONVERT)
    return PcapHeader(record, unit, link & LINK_TYPE_BITS)


def pcap_windows(
    source: Source, header: PcapHeader, take: Callable[[bytes, int], tuple[int, int]]
) -> Iterator[None]:
    """Pass all records after the file header to ``take``, a window at a time.

    :param take: is called with a window and a place in it.  It reads all records after that place
        that are whole in the window.  It returns where the next record begins, and how many octets
        of that record it needs to go on.
    :raises DamagedError: the file ends inside a record, or a length cannot be true.
    """
    size = header.record.size
    at = _HEADER_LENGTH
    while True:
        at, wanted = take(source.window, at)
        yield
        if wanted > MAXIMUM_CAPTURED + size:
            raise DamagedError(
                f"a frame claims {wanted - size} captured octets, which no capture has",
                source.base + at,
            )
        window, at = source.forward(at, wanted)
        if len(window) < at + wanted:
            if len(window) > at:
                raise DamagedError("the file ends inside a frame", source.base + at, UNFINISHED)
            return
        # It may be large, and the next one is made before this name is bound again.
        del window


def pcap_frames(source: Source, header: PcapHeader) -> Iterator[Frame]:
    """Yield the frames after the file header.

    :raises DamagedError: as :func:`pcap_windows`.
    """
    record, unit, link_type = header
    size, unpack = record.size, record.unpack_from
    frames: list[Frame] = []
    number = 0

    def take(window: bytes, at: int) -> tuple[int, int]:
        nonlocal number
        while (start := at + size) <= len(window):
            seconds, fraction, captured, original = unpack(window, at)
            end = start + captured
            if end > len(window):
                return at, size + captured
            octets = window[start:end]
            if original < captured:
                original = captured
            number += 1
            time_ns = seconds * SECOND + fraction * unit
            frames.append(Frame(number, time_ns, link_type, octets, original, None))
            at = end
        return at, size

    for _ in pcap_windows(source, header, take):
        yield from frames
        frames.clear()
