# SPDX-License-Identifier: GPL-2.0-or-later
"""The headers of one frame, read one after the other.

Each kind of header has a reader, a function that takes a :class:`Headers`.  It passes over its
header, notes in :class:`Headers` what later code needs, and returns the key of the next header.
:mod:`~scapy_mpa.capture.layers` has the table of all readers.
"""

from collections.abc import Callable
from struct import Struct
from typing import Final, NamedTuple, TypeAlias

from scapy_mpa.capture.frame import ETHERNET
from scapy_mpa.capture.reason import NotFollowedError

# Keys of headers: a space of numbers, and the number in it.
LINK: Final = 1 << 32
"""LINKTYPE_ values (https://www.tcpdump.org/linktypes.html)."""
ETHER_TYPE: Final = 2 << 32
PROTOCOL: Final = 3 << 32
"""Protocol numbers of IPv4 and IPv6."""
UDP_PORT: Final = 4 << 32
PPP: Final = 5 << 32
"""PPP protocol numbers (RFC 1661 2)."""

ETHERNET_HEADER: Final = LINK | ETHERNET
RAW_IP_HEADER: Final = LINK | 101
IPV4: Final = ETHER_TYPE | 0x0800
IPV6: Final = ETHER_TYPE | 0x86DD
LLC: Final = ETHER_TYPE
"""IEEE 802.2.  A length, or a number in its place, is before it: EtherTypes begin at 0x0600."""
TCP_PROTOCOL: Final = 6
SCTP_PROTOCOL: Final = 132
TCP: Final = PROTOCOL | TCP_PROTOCOL
SCTP: Final = PROTOCOL | SCTP_PROTOCOL
NO_IP: Final = ETHER_TYPE | 1
"""Octets that are not IP, and in which there is none."""
FRAGMENT: Final = 6 << 32
"""Not a header: a fragment of an IP packet, which must be put together first."""


def uint16(octets: bytes, at: int) -> int:
    """Return the number in two octets, or in one or none where the octets end."""
    return int.from_bytes(octets[at : at + 2], "big")


def checksum(octets: bytes, begin: int = 0) -> int:
    """Return the Internet checksum of ``octets`` (RFC 1071).

    The one's complement sum of 16-bit words is the number that all octets make, modulo 65535.

    :param begin: a sum to add.
    """
    number = int.from_bytes(octets, "big")
    if len(octets) & 1:
        number <<= 8
    return -(number + begin) % 0xFFFF


class Length(NamedTuple):
    """A length field, which counts octets up to the end of the frame."""

    at: int
    """Where the field is."""
    begin: int
    """Where the octets begin that it counts."""
    most: int = 0xFFFF
    instead: int = 0
    """The value of the field if there are more than ``most`` octets."""
    field: Struct = Struct(">H")
    limits: bool = True
    """Whether the packet after it ends where the field says."""


class Sum(NamedTuple):
    """An Internet checksum (RFC 1071)."""

    at: int
    begin: int | None
    """Where the octets begin that it covers; None: it is optional, and becomes 0."""
    end: int | None = None
    """Where they end; None: at the end of the frame."""


class Packet(NamedTuple):
    """An IP header of a frame."""

    key: int
    """:data:`IPV4` or :data:`IPV6`."""
    at: int
    addresses: bytes
    """Source and destination address."""


class Fragment(NamedTuple):
    """A fragment of an IP packet (RFC 791 3.2, RFC 8200 4.5)."""

    identity: bytes
    """Identifies the packet as long as its fragments may be in the network."""
    offset: int
    """In octets."""
    has_more: bool
    control: int
    """Where the field with flags and offset is; it is 0 in a whole packet."""


class Headers:
    """The headers of a frame that were read so far.

    :param octets: the captured octets of the frame.
    :param length: octets of the frame on the wire.
    """

    def __init__(self, octets: bytes, length: int) -> None:
        self.octets = octets
        self.at = 0
        """Where the next header begins."""
        self.end = length
        """Where the next header and its payload end on the wire."""
        self.captured_end = len(octets)
        """Where the captured octets of that header and payload end."""
        self.packets: list[Packet] = []
        """The IP headers, the innermost last."""
        self.tunnel = ""
        """The name of the innermost tunnel."""
        self.macs: list[int] = []
        """Where Ethernet headers begin."""
        self.lengths: list[Length] = []
        self.sums: list[Sum] = []
        self.fragment: Fragment | None = None

    def take(self, count: int, name: str) -> int:
        """Pass over ``count`` octets of a header; return where they begin.

        :param name: name of the header.
        :raises NotFollowedError: the header is "cut" in the capture, or "damaged": it was not whole
            on the wire.
        """
        at = self.at
        self.at = upto = at + count
        if upto > self.captured_end:
            raise self.wrong(name, "damaged" if upto > self.end else "cut")
        return at

    def wrong(self, name: str, what: str) -> NotFollowedError:
        """Return the error that says what is wrong with a header."""
        return NotFollowedError(f"{name} {what}{self.tunnel and f' in {self.tunnel}'}")

    def limit(self, end: int) -> None:
        """Note where the payload of a header ends, as the header says.

        If that is beyond the outer header's end, a packet broker cut the frame before the capture.
        """
        self.end = end
        self.captured_end = min(self.captured_end, end)

    def refit(self, octets: bytearray, missing: int = 0) -> None:
        """Set the length fields and checksums of a frame that has these headers.

        The checksum of UDP, which is optional, becomes 0.

        :param octets: the frame, with each header at the same place.
        :param missing: octets that a snap length cut off the end of the frame.
        """
        end = len(octets) + missing
        for at, begin, most, instead, field, _ in self.lengths:
            count = end - begin
            field.pack_into(octets, at, count if count <= most else instead)
        # The innermost first, because the outer checksums cover it.
        for at, start, stop in reversed(self.sums):
            octets[at : at + 2] = bytes(2)
            if start is not None:
                octets[at : at + 2] = checksum(bytes(octets[start:stop])).to_bytes(2, "big")


Reader: TypeAlias = Callable[[Headers], int]
"""Passes over a header; returns the key of the next one.  Raises NotFollowedError if the header is
not whole, or if no packet in it can be followed."""
