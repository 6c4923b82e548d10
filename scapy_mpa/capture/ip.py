# SPDX-License-Identifier: GPL-2.0-or-later
"""Headers of IPv4 and IPv6, with the extensions of both.

The IP header gives the length of a packet.  The frame may hold Ethernet padding as well, or lack
octets that were cut off.  Where the IP header has a length of 0, the frame's length counts, unless
no packet is so long.  That is so in a large segment captured before the interface card split it,
and in an IPv6 jumbogram (RFC 2675).  Header checksums are not verified: they may not have been
computed yet.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from scapy_mpa.capture.headers import (
    FRAGMENT,
    IPV4,
    IPV6,
    PROTOCOL,
    Fragment,
    Headers,
    Length,
    Packet,
    Reader,
    Sum,
    uint16,
)
from scapy_mpa.capture.link import next_is
from scapy_mpa.capture.reason import ENCRYPTED, NOT_TCP, NotFollowedError

_IPV4: Final = Struct(">BxHxxHxB")
"""Version and header length, total length, flags and fragment offset, protocol."""
_IPV4_LENGTH: Final = 20
_OFFSET: Final = 0x1FFF
_MORE: Final = 0x2000
"""Fragment Offset in units of 8 octets, More Fragments (RFC 791 3.1)."""

_IPV6: Final = Struct(">B3xHB")
"""Version and more, payload length, next header."""
_IPV6_LENGTH: Final = 40

_LARGEST_PACKET: Final = 1 << 20
"""Octets of a packet at most, where the IP length is 0; a longer frame is damaged. Offload makes
packets of 512 KiB at most (BIG TCP). A frame may claim 4 GiB, and claimed octets that were not
captured take memory, too."""


def _ipv4(headers: Headers) -> int:
    """RFC 791 3.1."""
    at = headers.take(_IPV4_LENGTH, "IPv4 header")
    octets = headers.octets
    protocol: int
    version, total, control, protocol = _IPV4.unpack_from(octets, at)
    length = (version & 0xF) * 4
    if version >> 4 != 4 or length < _IPV4_LENGTH or 0 < total < length:
        raise headers.wrong("IPv4 header", "damaged")
    _limit(headers, at, total, "IPv4 header")
    headers.take(length - _IPV4_LENGTH, "IPv4 header")
    headers.packets.append(Packet(IPV4, at, octets[at + 12 : at + 20]))
    headers.lengths.append(Length(at + 2, at))
    headers.sums.append(Sum(at + 10, at, at + length))
    if control & (_MORE | _OFFSET):
        headers.fragment = Fragment(
            octets[at + 4 : at + 6] + octets[at + 9 : at + 10] + octets[at + 12 : at + 20],
            (control & _OFFSET) * 8,
            bool(control & _MORE),
            at + 6,
        )
        return FRAGMENT
    return PROTOCOL | protocol


def _ipv6(headers: Headers) -> int:
    """RFC 8200 3."""
    at = headers.take(_IPV6_LENGTH, "IPv6 header")
    octets = headers.octets
    protocol: int
    version, payload, protocol = _IPV6.unpack_from(octets, at)
    if version >> 4 != 6:
        raise headers.wrong("IPv6 header", "damaged")
    _limit(headers, at, payload and payload + _IPV6_LENGTH, "IPv6 header")
    headers.packets.append(Packet(IPV6, at, octets[at + 8 : at + _IPV6_LENGTH]))
    headers.lengths.append(Length(at + 4, headers.at))
    return PROTOCOL | protocol


def _limit(headers: Headers, at: int, total: int, name: str) -> None:
    """Note where a packet ends.

    :param total: its length; 0: the header does not give it.
    """
    if total:
        headers.limit(at + total)
    elif headers.end - at > _LARGEST_PACKET:
        raise headers.wrong(name, "damaged")


def _demand_ipv6(headers: Headers) -> None:
    """Raise NotFollowedError in IPv4, where these protocol numbers mean no headers."""
    if headers.packets[-1].key != IPV6:
        raise NotFollowedError(NOT_TCP)


def _extension(headers: Headers) -> int:
    """RFC 8200 4.2, and other headers of that layout."""
    _demand_ipv6(headers)
    at = headers.take(8, "extension header")
    headers.take(headers.octets[at + 1] * 8, "extension header")
    return PROTOCOL | headers.octets[at]


def _authentication(headers: Headers) -> int:
    """RFC 4302 2.2: its length is in units of 4 octets, less 2."""
    at = headers.take(8, "authentication header")
    headers.take(headers.octets[at + 1] * 4, "authentication header")
    return PROTOCOL | headers.octets[at]


def _fragment(headers: Headers) -> int:
    """RFC 8200 4.5; a fragment with offset 0 and without M is a whole packet (RFC 6946)."""
    _demand_ipv6(headers)
    at = headers.take(8, "fragment header")
    octets = headers.octets
    following, control = octets[at], uint16(octets, at + 2)
    if not control & 0xFFF9:
        return PROTOCOL | following
    headers.fragment = Fragment(
        headers.packets[-1].addresses + octets[at + 4 : at + 8],
        control & 0xFFF8,
        bool(control & 1),
        at + 2,
    )
    return FRAGMENT


def _encrypted(headers: Headers) -> int:
    raise NotFollowedError(ENCRYPTED.format("ESP"))


READERS: Final[dict[int, Reader]] = {
    IPV4: _ipv4,
    IPV6: _ipv6,
    # Hop-by-hop options, routing, destination options, mobility, HIP, shim6.
    **{PROTOCOL | number: _extension for number in (0, 43, 60, 135, 139, 140)},
    PROTOCOL | 44: _fragment,
    PROTOCOL | 50: _encrypted,
    PROTOCOL | 51: _authentication,
    PROTOCOL | 4: next_is(IPV4, "IP"),
    PROTOCOL | 41: next_is(IPV6, "IP"),
}
