# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes pcapng files (draft-ietf-opsawg-pcapng), with comments and with times in nanoseconds.

An interface is described before its first frame.
"""

from __future__ import annotations

from struct import Struct
from typing import BinaryIO, Final

from scapy_mpa.capture.frame import Frame
from scapy_mpa.capture.interface import IF_NAME, IF_TSRESOL
from scapy_mpa.capture.pcapng import (
    BYTE_ORDER_MAGIC,
    ENHANCED_PACKET,
    INTERFACE_DESCRIPTION,
    MAXIMUM_INTERFACES,
    SECTION_HEADER,
)
from scapy_mpa.stream.segment import SECOND
from scapy_mpa.wire.errors import LocalProtocolError

LATEST_SECOND: Final = ((1 << 64) - 1) // SECOND
"""The last second since the epoch that a timestamp can hold; it is in 2554."""

_LENGTH_NOT_GIVEN: Final = -1

_COMMENT: Final = 1
_APPLICATION: Final = 4
_NANOSECONDS: Final = b"\x09"
_END_OF_OPTIONS: Final = bytes(4)
_LONGEST_OPTION: Final = 0xFFFF

_HEAD: Final = Struct("<II")
"""Block type, length."""
_TAIL: Final = Struct("<I")
"""Length again."""
_SECTION: Final = Struct("<IHHq")
"""Byte-order magic, version, length of the section."""
_INTERFACE: Final = Struct("<HHI")
"""Link type, reserved, snap length."""
_PACKET: Final = Struct("<IIIII")
"""Interface, timestamp (high, low), captured octets, original octets."""
_OPTION: Final = Struct("<HH")
"""Code, length."""


class PcapngWriter:
    """Writes frames to a pcapng file.

    :param file: open for writing; is not closed.
    :param comment: comment of the first section (``opt_comment``).
    :param application: the program that writes (``shb_userappl``).
    :raises LocalProtocolError: a text is longer than 65535 octets.
    """

    def __init__(
        self, file: BinaryIO, *, comment: str | None = None, application: str | None = None
    ) -> None:
        self._file = file
        self._interfaces: dict[tuple[int, str | None], int] = {}
        """Numbers of interfaces, by link type and name."""
        body = _SECTION.pack(BYTE_ORDER_MAGIC, 1, 0, _LENGTH_NOT_GIVEN)
        self._block(SECTION_HEADER, body, ((_COMMENT, comment), (_APPLICATION, application)))

    def write(self, frame: Frame, comment: str | None = None) -> None:
        """Append a frame; before the first frame of an interface, describe the interface.

        :param comment: comment of the frame (``opt_comment``).
        :raises LocalProtocolError: the comment is longer than 65535 octets, the frame's time is
            outside 1970 to 2554, or there are more interfaces than readers accept.
        """
        _, time_ns, link_type, octets, original, name = frame
        if not 0 <= time_ns < 1 << 64:
            raise LocalProtocolError(
                "a pcapng file has times from 1970 to 2554, and this frame has "
                f"{time_ns // SECOND} seconds since 1970"
            )
        interface = self._interfaces.get((link_type, name))
        if interface is None:
            interface = self._describe(link_type, name)
        body = _PACKET.pack(interface, time_ns >> 32, time_ns & 0xFFFFFFFF, len(octets), original)
        self._block(ENHANCED_PACKET, body + _padded(octets), ((_COMMENT, comment),))

    def _describe(self, link_type: int, name: str | None) -> int:
        """Write an Interface Description Block; return the interface's number."""
        number = len(self._interfaces)
        if number == MAXIMUM_INTERFACES:
            raise LocalProtocolError(f"a pcapng file has no more than {number} interfaces")
        options = (IF_NAME, name), (IF_TSRESOL, _NANOSECONDS)
        self._block(INTERFACE_DESCRIPTION, _INTERFACE.pack(link_type, 0, 0), options)
        self._interfaces[link_type, name] = number
        return number

    def _block(
        self, kind: int, body: bytes, options: tuple[tuple[int, str | bytes | None], ...]
    ) -> None:
        """Write a block; options that are None are left out."""
        written = b"".join(_option(code, value) for code, value in options if value is not None)
        if written:
            body += written + _END_OF_OPTIONS
        length = _HEAD.size + len(body) + _TAIL.size
        self._file.write(_HEAD.pack(kind, length) + body + _TAIL.pack(length))


def _padded(octets: bytes) -> bytes:
    """Fill up to a multiple of 4 octets."""
    return octets + bytes(-len(octets) & 3)


def _option(code: int, value: str | bytes) -> bytes:
    octets = value.encode() if isinstance(value, str) else value
    if len(octets) > _LONGEST_OPTION:
        raise LocalProtocolError(f"a text of {len(octets)} octets does not fit a pcapng option")
    return _OPTION.pack(code, len(octets)) + _padded(octets)
