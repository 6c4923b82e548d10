# SPDX-License-Identifier: GPL-2.0-or-later
"""PPP, and tunnels: MPLS, PPP over Ethernet, GRE, ERSPAN, and those over UDP."""

from __future__ import annotations

from typing import Final

from scapy_mpa.capture.headers import (
    ETHER_TYPE,
    ETHERNET_HEADER,
    IPV4,
    IPV6,
    LINK,
    LLC,
    PPP,
    PROTOCOL,
    RAW_IP_HEADER,
    SCTP,
    UDP_PORT,
    Headers,
    Length,
    Reader,
    Sum,
    uint16,
)
from scapy_mpa.capture.link import LLC_SNAP, LONGEST_802_3, ether_type, next_is
from scapy_mpa.capture.link import READERS as LINK_READERS
from scapy_mpa.capture.reason import NOT_TCP, NotFollowedError

_UDP: Final = PROTOCOL | 17
_GRE: Final = PROTOCOL | 47
_MPLS: Final = ETHER_TYPE | 0x8847
_MPLS_UPSTREAM: Final = ETHER_TYPE | 0x8848
"""Labels that the upstream router assigned (RFC 5332)."""
_PPPOE: Final = ETHER_TYPE | 0x8864

_SCTP_PORT: Final = 9899
"""UDP port of SCTP (RFC 6951)."""

_GRE_CHECKSUM, _GRE_KEY, _GRE_SEQUENCE = 0x8000, 0x2000, 0x1000
"""Flags of RFC 2784 and RFC 2890 that show which fields are present."""
_GRE_OTHER: Final = 0x4007
"""Source routes (RFC 1701), and the version: 0 in RFC 2784, 1 in PPTP (RFC 2637)."""
_ERSPAN_TYPE_2: Final = 0x88BE
_ERSPAN_TYPE_3: Final = 0x22EB

_HDLC: Final = frozenset({b"\xff\x03", b"\0\x03", b"\1\x03"})
"""Address and control (RFC 1662 3.1); pppd puts a direction in place of the address.  Without them
a header begins with a protocol number, and none of these is one."""

_IN_ETHERNET: Final = frozenset({IPV4, IPV6, _MPLS, _MPLS_UPSTREAM, _PPPOE, *LINK_READERS} - {LLC})
"""EtherTypes that distinguish an Ethernet header from other octets."""


def _mpls(headers: Headers) -> int:
    """RFC 3032 2.1: labels up to the bottom of the stack.  No field names the next header."""
    headers.tunnel = "MPLS"
    is_bottom = False
    while not is_bottom:
        at = headers.take(4, "MPLS label")
        is_bottom = bool(headers.octets[at + 2] & 1)
    at = headers.at
    headers.take(4, "MPLS payload")
    octets = headers.octets
    version = octets[at] >> 4
    if version == 0 and not (_is_ethernet(octets, at) and not _is_ethernet(octets, at + 4)):
        # The control word of a pseudowire (RFC 4385 3), with a sequence number.
        return ETHERNET_HEADER
    headers.at = at
    if version == 4 and _is_ipv4(octets, at):
        return IPV4
    if version == 6 and not _is_ethernet(octets, at):
        return IPV6
    return ETHERNET_HEADER


def _is_ethernet(octets: bytes, at: int) -> bool:
    """Return whether octets may be an Ethernet header, by its EtherType, or the LLC after it."""
    key = ETHER_TYPE | uint16(octets, at + 12)
    return key in _IN_ETHERNET or (key <= LONGEST_802_3 and octets.startswith(LLC_SNAP, at + 14))


def _is_ipv4(octets: bytes, at: int) -> bool:
    """True if the IPv4 checksum is good.  The octets of a MAC address hardly ever pass."""
    length = (octets[at] & 0xF) * 4
    words = octets[at : at + length]
    return 20 <= len(words) == length and int.from_bytes(words, "big") % 0xFFFF == 0


def _pppoe(headers: Headers) -> int:
    """RFC 2516 4."""
    at = headers.take(6, "PPPoE header")
    headers.tunnel = "PPPoE"
    headers.limit(headers.at + uint16(headers.octets, at + 4))
    headers.lengths.append(Length(at + 4, headers.at))
    return _ppp(headers)


def _ppp(headers: Headers) -> int:
    """Pass over a PPP protocol number, which may be one octet (RFC 1661 6.5)."""
    at = headers.take(1, "PPP header")
    number = headers.octets[at]
    if not number & 1:
        headers.take(1, "PPP header")
        number = uint16(headers.octets, at)
    return PPP | number


def _gre(headers: Headers) -> int:
    """RFC 2784 2, RFC 2890 2."""
    at = headers.take(4, "GRE header")
    octets = headers.octets
    flags, number = uint16(octets, at), uint16(octets, at + 2)
    if flags & _GRE_OTHER:
        raise NotFollowedError(NOT_TCP)
    if flags & _GRE_CHECKSUM:
        headers.sums.append(Sum(headers.at, at))
    for flag in (_GRE_CHECKSUM, _GRE_KEY, _GRE_SEQUENCE):
        headers.take(4 if flags & flag else 0, "GRE header")
    headers.tunnel = "GRE"
    if number == _ERSPAN_TYPE_3:
        return _erspan_3(headers)
    if number == _ERSPAN_TYPE_2:
        # draft-foschiano-erspan 4.1, 4.2: type I has neither sequence number nor header.
        headers.tunnel = "ERSPAN"
        headers.take(8 if flags & _GRE_SEQUENCE else 0, "ERSPAN header")
        return ETHERNET_HEADER
    return ETHER_TYPE | number


def _ppp_framed(headers: Headers) -> int:
    """PPP, with or without the address and control octets of HDLC."""
    if headers.octets[headers.at : headers.at + 2] in _HDLC:
        headers.take(2, "PPP header")
    return _ppp(headers)


def _erspan_3(headers: Headers) -> int:
    """draft-foschiano-erspan 4.3: O announces a platform's header, FT is the type of the frame."""
    headers.tunnel = "ERSPAN"
    at = headers.take(12, "ERSPAN header")
    kind = headers.octets[at + 10] >> 2 & 0x1F
    if headers.octets[at + 11] & 1:
        headers.take(8, "ERSPAN header")
    return RAW_IP_HEADER if kind == 2 else ETHERNET_HEADER


def _udp(headers: Headers) -> int:
    """RFC 768.  The destination port identifies a tunnel; for SCTP, the source port may as well."""
    at = headers.take(8, "UDP header")
    source, target = uint16(headers.octets, at), uint16(headers.octets, at + 2)
    length = uint16(headers.octets, at + 4)
    if 0 < length < 8:
        raise headers.wrong("UDP header", "damaged")
    if length:
        headers.limit(at + length)
    headers.lengths.append(Length(at + 4, at))
    headers.sums.append(Sum(at + 6, None))
    if source == _SCTP_PORT != target:
        # Answers come from that port.
        return UDP_PORT | source
    return UDP_PORT | target


def vxlan(headers: Headers) -> int:
    """RFC 7348 5."""
    at = headers.take(8, "VXLAN header")
    if not headers.octets[at] & 0x08:
        raise NotFollowedError(NOT_TCP)
    headers.tunnel = "VXLAN"
    return ETHERNET_HEADER


def _geneve(headers: Headers) -> int:
    """RFC 8926 3.4."""
    at = headers.take(8, "GENEVE header")
    octets = headers.octets
    if octets[at] >> 6:
        raise NotFollowedError(NOT_TCP)
    headers.tunnel = "GENEVE"
    key = ether_type(headers, at + 2)
    headers.take((octets[at] & 0x3F) * 4, "GENEVE header")
    return key


READERS: Final[dict[int, Reader]] = {
    _MPLS: _mpls,
    _MPLS_UPSTREAM: _mpls,
    PROTOCOL | 137: _mpls,
    _PPPOE: _pppoe,
    LINK | 51: _pppoe,
    **dict.fromkeys((LINK | 9, LINK | 50, LINK | 166), _ppp_framed),
    PPP | 0x0021: next_is(IPV4, "PPP"),
    PPP | 0x0057: next_is(IPV6, "PPP"),
    PPP | 0x0281: _mpls,
    PPP | 0x0283: _mpls,
    _GRE: _gre,
    ETHER_TYPE | 0x6558: next_is(ETHERNET_HEADER, "GRE"),
    _UDP: _udp,
    # The port of RFC 7348, and the one that Linux had before.
    UDP_PORT | 4789: vxlan,
    UDP_PORT | 8472: vxlan,
    UDP_PORT | 6081: _geneve,
    # SCTP over UDP (RFC 6951), GRE in UDP (RFC 8086), MPLS in UDP (RFC 7510).
    UDP_PORT | _SCTP_PORT: next_is(SCTP, "UDP"),
    UDP_PORT | 4754: next_is(_GRE, "UDP"),
    UDP_PORT | 6635: next_is(_MPLS, "UDP"),
}
