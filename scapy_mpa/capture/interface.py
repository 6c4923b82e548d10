# SPDX-License-Identifier: GPL-2.0-or-later
"""pcapng Interface Description Blocks, and options (draft-ietf-opsawg-pcapng 3.5, 4.2)."""

from __future__ import annotations

from struct import unpack, unpack_from
from typing import Final, NamedTuple

from scapy_mpa.capture.damage import DamagedError
from scapy_mpa.stream.segment import SECOND

IF_NAME: Final = 2
IF_TSRESOL: Final = 9
IF_TSOFFSET: Final = 14
"""Codes of the options for an interface's name, time resolution and time offset."""
_END_OF_OPTIONS: Final = 0
_LENGTHS: Final = {IF_TSRESOL: ("if_tsresol", 1), IF_TSOFFSET: ("if_tsoffset", 8)}
"""By option code: the name of the option, and the octets of its value."""

_POWER_OF_TWO: Final = 0x80
_MICROSECONDS: Final = b"\x06"
"""The resolution of an interface without that option."""
_NANOSECONDS: Final = 9

_LONGEST_NAME: Final = 255
"""Octets kept of a name. The longest known names, those of Windows, have about 60. A hostile file
may have 65535 octets in each of many interfaces, which would fill memory."""

_DESCRIPTION_LENGTH: Final = 8
_OPTION_LENGTH: Final = 4
"""Octets of an interface's link type and snap length, and of an option's code and length."""


class Interface(NamedTuple):
    """Properties that the frames of an interface share."""

    link_type: int
    snap_length: int
    """Captured octets at most; 0 is no limit."""
    name: str | None
    numerator: int
    """Nanoseconds in ``denominator`` units of a timestamp."""
    denominator: int
    offset_ns: int
    """Added to every timestamp."""
    fault: str | None = None
    """The first fault of its options; wrong options are not used."""


def parse_interface(octets: bytes, order: str, where: int) -> Interface:
    """Return the interface that the body of an Interface Description Block describes.

    :param octets: the block without type and lengths.
    :param order: ``<`` or ``>``, as for struct.
    :param where: position in the file, for the error.
    :raises DamagedError: the block is too short. Wrong options are no error, so frames are kept.
    """
    if len(octets) < _DESCRIPTION_LENGTH:
        raise DamagedError("an interface description is too short", where)
    link_type, snap_length = unpack_from(order + "H2xI", octets)
    found, fault = _good_options(octets[_DESCRIPTION_LENGTH:], order)
    numerator, denominator = _resolution(found.get(IF_TSRESOL, _MICROSECONDS)[0])
    (seconds,) = unpack(order + "q", found.get(IF_TSOFFSET, bytes(8)))
    name = found.get(IF_NAME, b"").rstrip(b"\0")[:_LONGEST_NAME].decode(errors="replace")
    return Interface(
        link_type, snap_length, name or None, numerator, denominator, seconds * SECOND, fault
    )


def _good_options(octets: bytes, order: str) -> tuple[dict[int, bytes], str | None]:
    """Return the good options, by code, and the fault of the first wrong one.

    :param octets: the options, up to their end mark or the end of the block.
    :param order: ``<`` or ``>``, as for struct.
    """
    found: dict[int, bytes] = {}
    fault = None
    at = 0
    while at < len(octets):
        start = at + _OPTION_LENGTH
        # Blocks are aligned: there is always a whole header.
        code, length = unpack_from(order + "HH", octets, at)
        if code == _END_OF_OPTIONS:
            break
        end = start + length
        if end > len(octets):
            # The place of the next option is not known.
            return found, fault or "an option is longer than its block"
        name, right = _LENGTHS.get(code, ("", length))
        if length == right:
            found[code] = octets[start:end]
        else:
            fault = fault or f"its {name} is {length} octets long, not {right}"
        at = end + 3 & ~3
    return found, fault


def _resolution(value: int) -> tuple[int, int]:
    """Return a timestamp unit in nanoseconds, as a fraction."""
    exponent = value & ~_POWER_OF_TWO
    if value & _POWER_OF_TWO:
        return SECOND, 1 << exponent
    if exponent <= _NANOSECONDS:
        return 10 ** (_NANOSECONDS - exponent), 1
    return 1, 10 ** (exponent - _NANOSECONDS)
