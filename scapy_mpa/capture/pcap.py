# SPDX-License-Identifier: GPL-2.0-or-later
"""Classic pcap files (draft-ietf-opsawg-pcap), both byte orders, micro- and nanoseconds.

Two variants are read as well.  Alexey Kuznetzov's patched libpcap wrote records with eight octets
more.  Versions 2.0 to 2.3 (before 1998) have the two lengths of a record in the other order.  Time
zone, accuracy and snap length of the file header are not used: writers do not agree on them.
"""

from collections.abc import Callable, Iterator
from struct import Struct
from typing import Final, NamedTuple

from scapy_mpa.capture.damage import CONVERT, UNFINISHED, DamagedError
from scapy_mpa.capture.frame import ETHERNET, MAXIMUM_CAPTURED, Frame, without_fcs
from scapy_mpa.capture.source import Source
from scapy_mpa.stream.segment import SECOND

PCAP_MAGICS: Final = {
    Struct(order + "I").pack(magic): (Struct(order + "4xHH12xI"), Struct(order + record), unit)
    for order in "<>"
    for magic, record, unit in (
        (0xA1B2C3D4, "IIII", 1000),
        (0xA1B23C4D, "IIII", 1),
        (0xA1B2CD34, "IIII8x", 1000),
    )
}
"""By the first four octets of the file: struct of versions and link type; struct of a record's
seconds, fraction, captured and original octets; nanoseconds in one unit of the fraction."""

_HEADER_LENGTH: Final = 24
_MAJOR_VERSION: Final = 2
_MINOR_VERSION: Final = 4
"""All writers use it since 1998."""
_SWAPPED_BEFORE: Final = 3
"""Before this version, original octets come before captured ones; in this version they may."""

_FCS_LENGTH_PRESENT: Final = 0x04000000
_FCS_LENGTH_SHIFT: Final = 28
_FCS_LENGTH_UNIT: Final = 2


class PcapHeader(NamedTuple):
    """The contents of the file header."""

    record: Struct
    """Seconds, fraction, captured octets, original octets of each record."""
    unit: int
    """Nanoseconds in one unit of the fraction."""
    link_type: int
    fcs: int
    """Octets of frame check sequence at the end of each frame."""
    minor: int
    """Minor version, at most 4."""

    @property
    def is_usual(self) -> bool:
        """Whether records hold Ethernet frames without FCS, and the captured octets come first."""
        return (self.minor, self.link_type, self.fcs) == (_MINOR_VERSION, ETHERNET, 0)


def pcap_header(source: Source) -> PcapHeader:
    """Read the file header.

    :raises DamagedError: the header is cut, or of another version.
    """
    header, record, unit = PCAP_MAGICS[source.window[:4]]
    window, _ = source.forward(0, _HEADER_LENGTH)
    if len(window) < _HEADER_LENGTH:
        raise DamagedError("the file ends inside its header", len(window))
    major, minor, link = header.unpack_from(window)
    if major != _MAJOR_VERSION or minor > _MINOR_VERSION:
        raise DamagedError(f"pcap version {major}.{minor} is not supported", advice=CONVERT)
    link_type, fcs = link_type_and_fcs(link)
    return PcapHeader(record, unit, link_type, fcs, minor)


def link_type_and_fcs(field: int) -> tuple[int, int]:
    """Return the contents of the last field of a file header.

    :param field: 32 bits.
    :return: LINKTYPE_ value, 16 bits, and octets of the Frame Check Sequence at the end of each
        frame, 0 if there is none or it is not known.
    """
    fcs = 0
    if field & _FCS_LENGTH_PRESENT:
        fcs = (field >> _FCS_LENGTH_SHIFT) * _FCS_LENGTH_UNIT
    return field & 0xFFFF, fcs


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
    record, unit, link_type, fcs, minor = header
    size, unpack = record.size, record.unpack_from
    frames: list[Frame] = []
    number = 0

    def take(window: bytes, at: int) -> tuple[int, int]:
        nonlocal number
        while (start := at + size) <= len(window):
            seconds, fraction, captured, original = unpack(window, at)
            if minor < _SWAPPED_BEFORE or (captured > original and minor == _SWAPPED_BEFORE):
                captured, original = original, captured
            end = start + captured
            if end > len(window):
                return at, size + captured
            octets = window[start:end]
            if original < captured:
                original = captured
            if fcs:
                octets, original = without_fcs(octets, original, fcs)
            number += 1
            time_ns = seconds * SECOND + fraction * unit
            frames.append(Frame(number, time_ns, link_type, octets, original, None))
            at = end
        return at, size

    for _ in pcap_windows(source, header, take):
        yield from frames
        frames.clear()
