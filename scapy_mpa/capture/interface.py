# SPDX-License-Identifier: GPL-2.0-or-later
"""pcapng Interface Description Blocks, and options (draft-ietf-opsawg-pcapng 3.5, 4.2)."""

from __future__ import annotations

from struct import unpack, unpack_from
from typing import Final, NamedTuple

from scapy_mpa.capture.damage import DamagedError
from scapy_mpa.stream.segment import SECOND

Lengths = dict[int, tuple[str, int]]
"""Of options by their codes: the name, and the octets of the value."""

_END_OF_OPTIONS: Final = 0
_NAME: Final = 2
_TIMESTAMP_RESOLUTION: Final = 9
_FCS_LENGTH: Final = 13
_TIMESTAMP_OFFSET: Final = 14
_LENGTHS: Final[Lengths] = {
    _TIMESTAMP_RESOLUTION: ("if_tsresol", 1),
    _FCS_LENGTH: ("if_fcslen", 1),
    _TIMESTAMP_OFFSET: ("if_tsoffset", 8),
}

_POWER_OF_TWO: Final = 0x80
_MICROSECONDS: Final = b"\x06"
"""The resolution of an interface that names none."""
_NANOSECONDS: Final = 9

_LONGEST_NAME: Final = 255
"""Octets kept of a name. The longest known, those of Windows, have about 60; hostile ones, up to
65535 octets in each of many interfaces, would fill memory."""

_DESCRIPTION_LENGTH: Final = 8
_OPTION_LENGTH: Final = 4
"""Octets of an interface's link type and snap length, and of an option's code and length."""


class Interface(NamedTuple):
    """What the frames of an interface have in common."""

    link_type: int
    snap_length: int
    """Captured octets at most; 0 is no limit."""
    name: str | None
    numerator: int
    """Nanoseconds in ``denominator`` units of a timestamp."""
    denominator: int
    offset_ns: int
    """Added to every timestamp."""
    fcs: int
    """Octets of the Frame Check Sequence at the end of each frame."""
    fault: str | None = None
    """What is wrong with its options; those that are wrong count as not given."""


def parse_interface(octets: bytes, order: str, where: int) -> Interface:
    """Return the interface that the body of an Interface Description Block describes.

    :param octets: the block without type and lengths.
    :param order: ``<`` or ``>``, as for struct.
    :param where: octet of the file to name if the block is damaged.
    :raises DamagedError: it is too short. Wrong options are no reason to give up the frames.
    """
    if len(octets) < _DESCRIPTION_LENGTH:
        raise DamagedError("an interface description is too short", where)
    link_type, snap_length = unpack_from(order + "H2xI", octets)
    found, fault = sound_options(octets[_DESCRIPTION_LENGTH:], order, _LENGTHS)
    numerator, denominator = _resolution(found.get(_TIMESTAMP_RESOLUTION, _MICROSECONDS)[0])
    (seconds,) = unpack(order + "q", found.get(_TIMESTAMP_OFFSET, bytes(8)))
    name = found.get(_NAME, b"").rstrip(b"\0")[:_LONGEST_NAME].decode(errors="replace")
    return Interface(
        link_type,
        snap_length,
        name or None,
        numerator,
        denominator,
        seconds * SECOND,
        _fcs(found.get(_FCS_LENGTH, b"\0")[0]),
        fault,
    )


def sound_options(
    octets: bytes, order: str, lengths: Lengths
) -> tuple[dict[int, bytes], str | None]:
    """Return the options that can be true, by code, and what is wrong with the first that cannot.

    :param octets: up to the end of options, or of the block.
    :param order: ``<`` or ``>``, as for struct.
    :param lengths: those that values must have.
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
            # Where the next option would begin is not known.
            return found, fault or "an option is longer than its block"
        name, right = lengths.get(code, ("", length))
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


def _fcs(value: int) -> int:
    """Return the octets that an ``if_fcslen`` stands for.

    The draft counts bits, Wireshark up to 4.0 octets, and the draft's own example is 4. No Frame
    Check Sequence is shorter than 8 bits, and none as long as 8 octets.
    """
    return value if value < 8 else value // 8
