# SPDX-License-Identifier: GPL-2.0-or-later
"""IP headers: from the place of an IPv4 or IPv6 packet to the place and end of what it carries,
which is a TCP segment or an SCTP packet.

What IP says of a packet's length is trusted over the length of the frame, which may hold Ethernet
padding. Where IP says zero (a large segment captured before the interface card cut it, or an IPv6
jumbogram, RFC 2675), the frame's length counts, unless no packet is so long. Header checksums are
not verified: they may not have been computed yet either.
"""

from struct import Struct
from typing import Final, NamedTuple

from scapy_mpa.capture.reason import (
    ENCRYPTED,
    FRAGMENT,
    NOT_TCP,
    TOO_MANY_HEADERS,
    NotFollowedError,
    demand,
)

__all__ = ["SCTP", "TCP", "Datagram", "ipv4_datagram", "ipv6_datagram"]

TCP: Final = 6
SCTP: Final = 132
"""IP protocol numbers."""
_FOLLOWED: Final = frozenset({TCP, SCTP})

_ROUTING: Final = 43
_FRAGMENT: Final = 44
_ESP: Final = 50
_AH: Final = 51
_EXTENSIONS: Final = frozenset({0, _ROUTING, _FRAGMENT, _AH, 60, 135, 139, 140})
"""Hop-by-hop options, routing, fragment, authentication, destination options, mobility, HIP, shim6
(https://www.iana.org/assignments/ipv6-parameters), without ESP."""

_MOST_EXTENSIONS: Final = 16
"""RFC 8200 4.1 lets each occur once, destination options twice; the limit bounds the time."""

_IPV4: Final = Struct(">BxHxxHxB")
"""Version and header length, total length, flags and fragment offset, protocol."""
_IPV4_LENGTH: Final = 20
_IPV4_FRAGMENT: Final = 0x3FFF
"""More Fragments and Fragment Offset (RFC 791 3.1)."""

_IPV6: Final = Struct(">B3xHB")
"""Version and more, payload length, next header."""
_IPV6_LENGTH: Final = 40
_IPV6_FRAGMENT: Final = 0xFFF9
"""Fragment Offset and M of a fragment header (RFC 8200 4.5)."""

_LARGEST_PACKET: Final = 1 << 20
"""Octets beyond which the length of a frame is taken for a lie where IP says zero. Offload makes
packets of 512 KiB at most (BIG TCP); a frame may claim 4 GiB, and what it claims beyond what was
captured takes as much memory."""

_EXTENSION: Final = Struct(">BBH")
"""Next header, length, and in a fragment header offset and M."""
_SHORTEST_EXTENSION: Final = 8


class Datagram(NamedTuple):
    """Where in a frame the segment of an IP packet lies."""

    addresses: bytes
    """Source and destination address, as in the header."""
    at: int
    """Where the TCP or SCTP header begins."""
    end: int
    """Where the segment ends, which may be after what was captured."""
    protocol: int = TCP
    """TCP or SCTP."""


def ipv4_datagram(octets: bytes, at: int, length: int) -> Datagram:
    """Return where the TCP or SCTP header of the IPv4 packet at ``at`` lies (RFC 791 3.1).

    :param octets: what was captured of the frame.
    :param length: octets of the frame on the wire.
    :raises NotFollowedError: it is neither, a fragment, or the header is not whole.
    """
    demand(octets, at + _IPV4_LENGTH, length, "IPv4 header")
    version, total, fragment, protocol = _IPV4.unpack_from(octets, at)
    start = at + (version & 0xF) * 4
    end = at + total if total else length
    if version >> 4 != 4 or start < at + _IPV4_LENGTH or end > length or end - at > _LARGEST_PACKET:
        raise NotFollowedError("IPv4 header damaged")
    demand(octets, start, end, "IPv4 header")
    if fragment & _IPV4_FRAGMENT:
        raise NotFollowedError(FRAGMENT if protocol in (TCP, SCTP, _AH) else NOT_TCP)
    if protocol not in _FOLLOWED:
        start, protocol = _past_extensions(
            octets, start, end, protocol, frozenset({_AH}), "IPv4 header"
        )
    return Datagram(octets[at + 12 : at + 20], start, end, protocol)


def ipv6_datagram(octets: bytes, at: int, length: int) -> Datagram:
    """Return where the TCP or SCTP header of the IPv6 packet at ``at`` lies (RFC 8200 3, 4).

    :param octets: what was captured of the frame.
    :param length: octets of the frame on the wire.
    :raises NotFollowedError: it is neither, a fragment, or a header is not whole.
    """
    start = at + _IPV6_LENGTH
    demand(octets, start, length, "IPv6 header")
    version, payload, protocol = _IPV6.unpack_from(octets, at)
    end = start + payload if payload else length
    if version >> 4 != 6 or end > length or end - at > _LARGEST_PACKET:
        raise NotFollowedError("IPv6 header damaged")
    if protocol not in _FOLLOWED:
        start, protocol = _past_extensions(octets, start, end, protocol, _EXTENSIONS, "IPv6 header")
    return Datagram(octets[at + 8 : at + _IPV6_LENGTH], start, end, protocol)


def _past_extensions(
    octets: bytes, at: int, end: int, protocol: int, extensions: frozenset[int], header: str
) -> tuple[int, int]:
    """Return where the header after a chain of extension headers begins, and its protocol.

    :param at: where the first of them begins, of the kind ``protocol``.
    :param extensions: the kinds that may occur.
    :param header: what to call a header that is not whole.
    """
    for _ in range(_MOST_EXTENSIONS):
        if protocol in _FOLLOWED:
            return at, protocol
        if protocol == _ESP:
            raise NotFollowedError(ENCRYPTED)
        if protocol not in extensions:
            raise NotFollowedError(NOT_TCP)
        demand(octets, at + _SHORTEST_EXTENSION, end, header)
        following, units, fragment = _EXTENSION.unpack_from(octets, at)
        if protocol == _FRAGMENT:
            # With neither offset nor M it is a whole packet: an atomic fragment (RFC 6946).
            if fragment & _IPV6_FRAGMENT:
                follows = following in _FOLLOWED or following in extensions
                raise NotFollowedError(FRAGMENT if follows else NOT_TCP)
            at += _SHORTEST_EXTENSION
        elif protocol == _AH:
            # The one that counts units of 4 octets, less 2 (RFC 4302 2.2).
            at += (units + 2) * 4
        else:
            at += (units + 1) * 8
        if at > end:
            raise NotFollowedError(f"{header} damaged")
        protocol = following
    raise NotFollowedError(TOO_MANY_HEADERS)
