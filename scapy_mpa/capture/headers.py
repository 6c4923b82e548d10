# SPDX-License-Identifier: GPL-2.0-or-later
"""The headers of one frame, as they are read one after the other.

Each kind of header has a reader, a function that is given a :class:`Headers`.  It passes over its
header, notes what others need to know of it, and returns the key of the header that follows.
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
"""IEEE 802.2 after a length or what stands for one: EtherTypes begin at 0x0600."""
TCP: Final = PROTOCOL | 6
SCTP: Final = PROTOCOL | 132
NO_IP: Final = ETHER_TYPE | 1
"""What is not IP, and leads to none."""
FRAGMENT: Final = 6 << 32
"""Not a header: a piece of an IP packet, which must be put together first."""


def uint16(octets: bytes, at: int) -> int:
    """Return the number that two octets hold, or fewer where the octets end."""
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
    """A field that says how many octets there are up to the end of the frame."""

    at: int
    begin: int
    """From where they are counted."""
    most: int = 0xFFFF
    instead: int = 0
    """What the field says if they are more."""
    field: Struct = Struct(">H")
    limits: bool = True
    """Whether what follows ends there, for whoever reads it."""


class Sum(NamedTuple):
    """An Internet checksum (RFC 1071)."""

    at: int
    begin: int
    end: int | None = None
    """Where the octets that it covers end; None: with the frame."""


class Packet(NamedTuple):
    """An IP header of a frame."""

    key: int
    """:data:`IPV4` or :data:`IPV6`."""
    at: int
    addresses: bytes
    """Source and destination address."""


class Fragment(NamedTuple):
    """A piece of an IP packet (RFC 791 3.2, RFC 8200 4.5)."""

    identity: bytes
    """The same for all pieces of a packet, and for those of no other as long as one is alive."""
    offset: int
    """In octets."""
    has_more: bool
    control: int
    """Where flags and offset are; a whole packet has 0 there."""


class Headers:
    """The headers of a frame, as far as they have been read.

    :param octets: what was captured of the frame.
    :param length: octets that were on the wire.
    """

    def __init__(self, octets: bytes, length: int) -> None:
        self.octets = octets
        self.at = 0
        """Where the next header begins."""
        self.end = length
        """Where it and what it carries end, which may be after what was captured."""
        self.stop = len(octets)
        """Where the octets of these end that were captured."""
        self.packets: list[Packet] = []
        """The IP headers, the innermost last."""
        self.network = b""
        """What tells this network from others that use the same addresses: VLANs, virtual networks,
        ends of tunnels.  The same for both directions if the network makes it so."""
        self.around = ""
        """The name of the innermost tunnel."""
        self.macs: list[int] = []
        """Where Ethernet headers begin."""
        self.lengths: list[Length] = []
        self.sums: list[Sum] = []
        self.zeros: list[int] = []
        """Where checksums of 16 bits are that need not be there."""
        self.varying: list[tuple[int, int]] = []
        """Where octets are on which nothing depends, and how many."""
        self.fragment: Fragment | None = None
        self.is_guessed = False
        """Whether octets after a header showed what they are."""

    def take(self, count: int, name: str) -> int:
        """Pass over so many octets of a header; return where they begin.

        :param name: of the header.
        :raises NotFollowedError: the capture cut the header, or it never was whole: "damaged".
        """
        at = self.at
        self.at = upto = at + count
        if upto > self.stop:
            raise self.wrong(name, "damaged" if upto > self.end else "cut")
        return at

    def wrong(self, name: str, what: str) -> NotFollowedError:
        """Return the error that says what is wrong with a header."""
        return NotFollowedError(f"{name} {what}{self.around and f' in {self.around}'}")

    def limit(self, end: int) -> None:
        """Take note of where a header says that what it carries ends.

        Beyond what is around it: the frame was cut before it was captured, as brokers do.
        """
        self.end = end
        self.stop = min(self.stop, end)

    def vary(self, *places: tuple[int, int]) -> None:
        """Take note of octets on which nothing depends: where they begin, and how many."""
        self.varying += places

    def refit(self, octets: bytearray, missing: int = 0) -> None:
        """Have length fields and checksums say what a frame holds after these headers.

        A checksum of UDP, which need not be there, is taken out.

        :param octets: the frame; the headers are where they were in their own.
        :param missing: octets that a snap length has cut off its end.
        """
        end = len(octets) + missing
        for at, begin, most, instead, field, _ in self.lengths:
            count = end - begin
            field.pack_into(octets, at, count if count <= most else instead)
        for at in self.zeros:
            octets[at : at + 2] = bytes(2)
        # The innermost first: those around it cover it.
        for at, begin, stop in reversed(self.sums):
            octets[at : at + 2] = bytes(2)
            octets[at : at + 2] = checksum(bytes(octets[begin:stop])).to_bytes(2, "big")

    def enter(self, name: str, identity: bytes = b"") -> None:
        """Take note of a tunnel.

        :param identity: tells its network from others.
        """
        self.around = name
        self.network += identity

    def add_packet(self, key: int, at: int, addresses: bytes) -> None:
        """Take note of an IP header.  Those around it are the ends of a tunnel."""
        if self.packets:
            outer = self.packets[-1].addresses
            half = len(outer) // 2
            # In either direction the same.
            self.network += b"".join(sorted((outer[:half], outer[half:])))
        self.packets.append(Packet(key, at, addresses))


Reader: TypeAlias = Callable[[Headers], int]
"""Passes over a header; returns the key of what follows.  Raises NotFollowedError: it is not whole,
or nothing can be followed in it."""
