# SPDX-License-Identifier: GPL-2.0-or-later
"""Link headers (https://www.tcpdump.org/linktypes.html).

Ethernet and IEEE 802.3 with LLC, with any stack of tags; Linux cooked captures 1 and 2; BSD
loopback; raw IP; NFLOG and ERF, which capture programs and cards put before a frame; IP over
InfiniBand.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, Literal

from scapy_mpa.capture.headers import (
    ETHER_TYPE,
    ETHERNET_HEADER,
    IPV4,
    IPV6,
    LINK,
    LLC,
    NO_IP,
    Headers,
    Length,
    Reader,
    uint16,
)
from scapy_mpa.capture.reason import TOO_MANY_HEADERS, NotFollowedError

LINK_HEADER: Final = "link header"

RAW_IP: Final = frozenset({12, 14, 101})
"""LINKTYPE_ values: DLT_RAW of other systems and of OpenBSD, whose numbers differ, and
LINKTYPE_RAW."""

_TAGS: Final = (0x8100, 0x88A8, 0x9100, 0x9200, 0x9300)
"""EtherTypes of IEEE 802.1Q and 802.1ad tags, and of QinQ tags before 802.1ad."""

_SMALLEST_ETHER_TYPE: Final = 0x0600
"""A smaller value is an IEEE 802.3 length, or means in a Linux cooked header that LLC follows."""
LONGEST_802_3: Final = ETHER_TYPE | 1500
_LONG_LLC: Final = 0x8870
"""EtherType of LLC that is too long for an IEEE 802.3 length."""

LLC_SNAP: Final = b"\xaa\xaa\x03"
_SNAP: Final = frozenset({LLC_SNAP + b"\0\0\0", LLC_SNAP + b"\0\0\xf8"})
"""LLC and the organization codes of SNAP before an EtherType (RFC 1042, IEEE 802.1H)."""
_LLC_IP: Final = b"\x06\x06\x03"

_BSD_FAMILIES: Final = {2: IPV4, 10: IPV6, 23: IPV6, 24: IPV6, 28: IPV6, 30: IPV6}
"""Address families. IPv6 has five: of Linux, Windows, NetBSD and OpenBSD, FreeBSD, Darwin."""

_IP_VERSIONS: Final = {4: IPV4, 6: IPV6}

_NFLOG_FAMILIES: Final = {2: IPV4, 10: IPV6}
_NFLOG_PAYLOAD: Final = 9
_TLV: Final = Struct("<HH"), Struct(">HH")
_TLV_LENGTH: Final = Struct("<H"), Struct(">H")
_TLV_TYPE: Final = 0x3FFF
"""The bits of the field that are the TLV's type (NLA_TYPE_MASK of Linux)."""
_MOST_TLVS: Final = 64

_PPP_FRAME: Final = LINK | 9
_ERF_MORE: Final = 0x80
"""An extension header follows."""
_MOST_EXTENSIONS: Final = 16
_ERF: Final = {
    **dict.fromkeys((1, 10, 15, 19), (0, _PPP_FRAME)),
    **dict.fromkeys((5, 17), (4, _PPP_FRAME)),
    **dict.fromkeys((2, 11, 16, 20), (2, ETHERNET_HEADER)),
    22: (0, IPV4),
    23: (0, IPV6),
}
"""By type of record, plain or coloured: octets before the frame, and the key of its header."""


def ether_type(headers: Headers, at: int) -> int:
    """Return the key of the next header, by the EtherType or length at ``at``."""
    value = uint16(headers.octets, at)
    if value < _SMALLEST_ETHER_TYPE:
        return LLC
    return ETHER_TYPE | value


def _ether_type_at(place: int, length: int, *, sized: bool = False) -> Reader:
    """Return a reader of a header with an EtherType; its other fields are not used.

    :param place: place of the EtherType in the header.
    :param length: octets of the header.
    :param sized: whether a small number in its place is an IEEE 802.3 length.
    """

    def read(headers: Headers) -> int:
        at = headers.take(length, LINK_HEADER) + place
        key = ether_type(headers, at)
        if sized and key == LLC:
            most = LONGEST_802_3 & 0xFFFF
            headers.lengths.append(Length(at, headers.at, most, _LONG_LLC, limits=False))
        return key

    return read


_ETHER_TYPE: Final = _ether_type_at(12, 14, sized=True)


def _ethernet(headers: Headers) -> int:
    headers.macs.append(headers.at)
    return _ETHER_TYPE(headers)


def _llc(headers: Headers) -> int:
    octets = headers.octets
    if octets.startswith(_LLC_IP, headers.at):
        headers.take(len(_LLC_IP), LINK_HEADER)
        return IPV4
    at = headers.take(8, LINK_HEADER)
    return ether_type(headers, at + 6) if octets[at : at + 6] in _SNAP else NO_IP


def _linux_cooked_2(headers: Headers) -> int:
    at = headers.take(20, LINK_HEADER)
    if uint16(headers.octets, at + 12) in _TAGS:
        # libpcap 1.10.5 puts a tag before the address.  No sender's address begins like that: it
        # would be a group address.
        headers.take(4, LINK_HEADER)
    return ether_type(headers, at)


def _loopback(*orders: Literal["little", "big"]) -> Reader:
    """Return a reader of an address family in one of these byte orders.

    LINKTYPE_NULL has the order of the capturing machine, LINKTYPE_LOOP network order.
    """

    def read(headers: Headers) -> int:
        at = headers.take(4, LINK_HEADER)
        for order in orders:
            family = int.from_bytes(headers.octets[at : at + 4], order)
            if family in _BSD_FAMILIES:
                return _BSD_FAMILIES[family]
        return NO_IP

    return read


def _raw_ip(headers: Headers) -> int:
    """The version field distinguishes IPv4 and IPv6."""
    at = headers.take(1, LINK_HEADER)
    headers.at = at
    return _IP_VERSIONS.get(headers.octets[at] >> 4, NO_IP)


def _nflog(headers: Headers) -> int:
    """An address family, then TLVs in host byte order, which shows since types are below 256."""
    octets = headers.octets
    at = headers.take(4, LINK_HEADER)
    family = octets[at]
    if family not in _NFLOG_FAMILIES:
        return NO_IP
    is_big = octets[at + 6 : at + 7] == b"\0"
    for _ in range(_MOST_TLVS):
        at = headers.take(4, LINK_HEADER)
        length, kind = _TLV[is_big].unpack_from(octets, at)
        if length < 4:
            break
        if kind & _TLV_TYPE == _NFLOG_PAYLOAD:
            headers.limit(at + length)
            headers.lengths.append(Length(at, at, field=_TLV_LENGTH[is_big]))
            return _NFLOG_FAMILIES[family]
        rest = length - 4 + -length % 4
        headers.take(rest, LINK_HEADER)
    raise headers.wrong(LINK_HEADER, "damaged")


def _erf(headers: Headers) -> int:
    """Endace's Extensible Record Format."""
    octets = headers.octets
    at = headers.take(16, LINK_HEADER)
    kind = more = octets[at + 8]
    for _ in range(_MOST_EXTENSIONS):
        if not more & _ERF_MORE:
            break
        extension = headers.take(8, LINK_HEADER)
        more = octets[extension]
    else:
        raise NotFollowedError(TOO_MANY_HEADERS)
    before, key = _ERF.get(kind & ~_ERF_MORE, (0, NO_IP))
    headers.take(before, LINK_HEADER)
    # The lengths of the record and of the frame.  They count padding, an FCS, and perhaps octets
    # that were cut off.
    for field, begin in ((at + 10, at), (at + 14, headers.at)):
        headers.lengths.append(Length(field, begin, instead=0xFFFF, limits=False))
    return key


def next_is(key: int, tunnel: str = "") -> Reader:
    """Return a reader that reads no octets.

    :param key: key of the header that follows at once.
    :param tunnel: name of the tunnel that begins here, if any.
    """

    def read(headers: Headers) -> int:
        if tunnel:
            headers.tunnel = tunnel
        return key

    return read


READERS: Final[dict[int, Reader]] = {
    ETHERNET_HEADER: _ethernet,
    LINK | 0: _loopback("little", "big"),
    LINK | 108: _loopback("big"),
    **{LINK | number: _raw_ip for number in RAW_IP},
    LINK | 113: _ether_type_at(14, 16),
    LINK | 197: _erf,
    LINK | 228: next_is(IPV4),
    LINK | 229: next_is(IPV6),
    LINK | 239: _nflog,
    # RFC 4391 6, after a Global Route Header, or after zeros and a destination in its place.
    LINK | 242: _ether_type_at(40, 44),
    LINK | 276: _linux_cooked_2,
    **dict.fromkeys((ETHER_TYPE | number for number in _TAGS), _ether_type_at(2, 4, sized=True)),
    LLC: _llc,
    ETHER_TYPE | _LONG_LLC: _llc,
    # VN-Tag; E-TAG of IEEE 802.1BR.
    ETHER_TYPE | 0x8926: _ether_type_at(4, 6, sized=True),
    ETHER_TYPE | 0x893F: _ether_type_at(6, 8, sized=True),
}
