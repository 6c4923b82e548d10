# SPDX-License-Identifier: GPL-2.0-or-later
"""Classic pcap files (draft-ietf-opsawg-pcap), both byte orders, micro- and nanoseconds.

Also those of Alexey Kuznetzov's patched libpcap, whose records carry eight octets more, and those
of before 1998 (2.0 to 2.3), which have the lengths of a record in another order.  Time zone,
accuracy and snap length of the file header are not used: writers do not agree on them.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from scapy_mpa.capture.damage import DamagedError
from scapy_mpa.capture.frame import ETHERNET, MAXIMUM_CAPTURED, Frame, without_fcs
from scapy_mpa.capture.source import Source
from scapy_mpa.stream.segment import SECOND

__all__ = [
    "PCAP_MAGICS",
    "PcapHeader",
    "cut_record",
    "link_type_and_fcs",
    "lying_length",
    "pcap_frames",
    "pcap_header",
]


PCAP_MAGICS: Final = {
    Struct(order + "I").pack(magic): (Struct(order + "4xHH12xI"), Struct(order + record), unit)
    for order in "<>"
    for magic, record, unit in (
        (0xA1B2C3D4, "IIII", 1000),
        (0xA1B23C4D, "IIII", 1),
        (0xA1B2CD34, "IIII8x", 1000),
    )
}
"""By the first four octets of the file: what reads version and link type; what reads seconds,
fraction, captured and original octets of a record; nanoseconds in one unit of the fraction."""

_MAJOR_VERSION: Final = 2
_MINOR_VERSION: Final = 4
"""Written by all since 1998."""
_SWAPPED_BEFORE: Final = 3
"""The original octets come first in records of versions before that one, and may do so in it."""

_FCS_LENGTH_PRESENT: Final = 0x04000000
_FCS_LENGTH_SHIFT: Final = 28
_FCS_LENGTH_UNIT: Final = 2


class PcapHeader(NamedTuple):
    """What the file header says."""

    record: Struct
    """Seconds, fraction, captured octets, original octets of each record."""
    unit: int
    """Nanoseconds in one unit of the fraction."""
    link_type: int
    fcs: int
    """Octets of frame check sequence at the end of each frame."""
    length: int
    """Octets of the header itself."""
    minor: int
    """Minor version, at most 4."""

    @property
    def is_usual(self) -> bool:
        """Whether records hold Ethernet frames without FCS, and the captured octets come first."""
        return (self.minor, self.link_type, self.fcs) == (_MINOR_VERSION, ETHERNET, 0)


def pcap_header(source: Source) -> PcapHeader:
    """Read the file header.

    :raises DamagedError: it is cut or of another version.
    """
    header, record, unit = PCAP_MAGICS[source.window[:4]]
    size = header.size
    window = source.advance(0, size)
    if len(window) < size:
        raise DamagedError("the file ends inside its header", len(window))
    major, minor, link = header.unpack_from(window)
    if major != _MAJOR_VERSION or minor > _MINOR_VERSION:
        raise DamagedError(
            f"pcap version {major}.{minor} is not supported",
            advice="convert it with `editcap OLD NEW` of Wireshark",
        )
    link_type, fcs = link_type_and_fcs(link)
    return PcapHeader(record, unit, link_type, fcs, size, minor)


def link_type_and_fcs(field: int) -> tuple[int, int]:
    """Return what the last field of a file header says.

    :param field: 32 bits.
    :return: LINKTYPE_ value, 16 bits, and octets of the Frame Check Sequence at the end of each
        frame, 0 if they have none, or the file does not say.
    """
    fcs = 0
    if field & _FCS_LENGTH_PRESENT:
        fcs = (field >> _FCS_LENGTH_SHIFT) * _FCS_LENGTH_UNIT
    return field & 0xFFFF, fcs


def pcap_frames(source: Source, header: PcapHeader) -> Iterator[Frame]:
    """Yield the frames after the file header.

    :raises DamagedError: the file ends inside a record, or a length cannot be true.
    """
    unpack = header.record.unpack_from
    size = header.record.size
    _, unit, link_type, fcs, at, minor = header
    make = tuple.__new__
    window = source.window
    number = 0
    while True:
        start = at + size
        if start > len(window):
            window, at = source.forward(at, size)
            start = at + size
            if len(window) < start:
                if len(window) > at:
                    raise cut_record(source, at)
                return
        seconds, fraction, captured, original = unpack(window, at)
        if minor < _SWAPPED_BEFORE or (captured > original and minor == _SWAPPED_BEFORE):
            captured, original = original, captured
        if captured > MAXIMUM_CAPTURED:
            raise lying_length(source, at, captured)
        end = start + captured
        if end > len(window):
            window, at = source.forward(at, size + captured)
            start = at + size
            end = start + captured
            if len(window) < end:
                raise cut_record(source, at)
        octets = window[start:end]
        if original < captured:
            original = captured
        if fcs:
            octets, original = without_fcs(octets, original, fcs)
        number += 1
        # What the class itself would do, without the call of its __new__ in Python.
        yield make(
            Frame,
            (number, seconds * SECOND + fraction * unit, link_type, octets, original, None),
        )
        at = end


def lying_length(source: Source, at: int, captured: int) -> DamagedError:
    """Return the error for a record at ``at`` of the window that claims too much.

    :param captured: how many octets it claims.
    """
    return DamagedError(
        f"a frame claims {captured} captured octets, which no capture has", source.base + at
    )


def cut_record(source: Source, at: int) -> DamagedError:
    """Return the error for a file that ends inside the record at ``at`` of the window."""
    return DamagedError(
        "the file ends inside a frame",
        source.base + at,
        "it is still being written, or was copied in part: read it when it is whole",
    )
