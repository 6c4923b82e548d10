# SPDX-License-Identifier: GPL-2.0-or-later
"""Link types that few captures have, apart from the others so that a command starts soon.

Serial lines: PPP, Cisco HDLC, frame relay.  What a capture program or card puts in front of a
frame: NFLOG, ERF, PKTAP; and the link header of IP over InfiniBand, which lacks all before it.
IEEE 802.11, and what is in front of its frames: radiotap, Prism, AVS.
"""

from __future__ import annotations

from operator import and_
from struct import Struct
from typing import Final

from scapy_mpa.capture.headers import (
    ETHERNET_HEADER,
    IPV4,
    IPV6,
    LINK,
    LLC,
    NO_IP,
    Headers,
    Length,
    Reader,
)
from scapy_mpa.capture.link import LINK_HEADER, ether_type, ether_type_at
from scapy_mpa.capture.reason import ENCRYPTED, TOO_MANY_HEADERS, NotFollowedError
from scapy_mpa.capture.tunnel import ppp

__all__ = ["SELDOM"]

# -- serial lines ----------------------------------------------------------------------------------

HDLC: Final = LINK | 50
"""PPP or Cisco HDLC, which the first two octets tell."""

_PPP_IN_HDLC: Final = frozenset({b"\xff\x03", b"\0\x03", b"\1\x03"})
"""Address and control of RFC 1662 3.1; pppd has a direction in place of the address.  Without them
a protocol number is first, which none of these is."""
_CISCO_HDLC: Final = frozenset({b"\x0f\0", b"\x8f\0"})
"""Unicast and broadcast (RFC 1547 4.3.1)."""

_UNNUMBERED: Final = 0x03
_NLPID_SNAP: Final = 0x80
_NLPIDS: Final = {0xCC: IPV4, 0x8E: IPV6, 0xCF: HDLC}
"""RFC 2427 4; PPP in frame relay (RFC 1973 3)."""
_BRIDGED: Final = frozenset({b"\0\x80\xc2\0\x01", b"\0\x80\xc2\0\x07"})
"""SNAP before an Ethernet frame, with its FCS and without (RFC 2427 appendix A)."""
_CIRCUIT: Final = b"\xfc\xf0\xfe\xfe"
"""The bits of a Q.922 address that tell a circuit, the same in both directions."""


_cisco_hdlc: Final = ether_type_at(2, 4)


def _hdlc(headers: Headers) -> int:
    start = headers.octets[headers.at : headers.at + 2]
    if start in _CISCO_HDLC:
        return _cisco_hdlc(headers)
    if start in _PPP_IN_HDLC:
        headers.take(2, LINK_HEADER)
    return ppp(headers)


def _after_direction(key: int) -> Reader:
    """An octet says who sent the frame."""

    def read(headers: Headers) -> int:
        headers.vary((headers.take(1, LINK_HEADER), 1))
        return key

    return read


def _frame_relay(headers: Headers) -> int:
    """RFC 2427 3, or Cisco's: an EtherType after the address."""
    octets = headers.octets
    at = headers.take(2, LINK_HEADER)
    while not octets[headers.at - 1] & 1:
        if headers.at - at == len(_CIRCUIT):
            raise headers.wrong(LINK_HEADER, "damaged")
        headers.take(1, LINK_HEADER)
    headers.enter("frame relay", bytes(map(and_, octets[at : headers.at], _CIRCUIT)))
    at = headers.take(2, LINK_HEADER)
    if octets[at] != _UNNUMBERED:
        return ether_type(headers, at)
    nlpid = octets[at + 1] or octets[headers.take(1, LINK_HEADER)]
    if nlpid == _NLPID_SNAP:
        at = headers.take(5, LINK_HEADER)
        if octets[at : at + 5] in _BRIDGED:
            return ETHERNET_HEADER
        if not any(octets[at : at + 3]):
            return ether_type(headers, at + 3)
    return _NLPIDS.get(nlpid, NO_IP)


# -- put in front by who captures ------------------------------------------------------------------

_FAMILIES: Final = {2: IPV4, 10: IPV6}
"""Address families of Linux."""
_PAYLOAD: Final = 9
_TLV_TYPE: Final = 0x3FFF
"""The bits of a TLV's type that tell it (NLA_TYPE_MASK of Linux)."""
_ORDERS: Final = Struct("<HH"), Struct(">HH")
_LENGTHS: Final = Struct("<H"), Struct(">H")
_MOST_TLVS: Final = 64

_MORE: Final = 0x80
"""Of ERF: an extension header follows."""
_MOST_EXTENSIONS: Final = 16
_ERF: Final = {
    **dict.fromkeys((1, 10, 15, 19), (0, HDLC)),
    **dict.fromkeys((5, 17), (4, HDLC)),
    **dict.fromkeys((2, 11, 16, 20), (2, ETHERNET_HEADER)),
    22: (0, IPV4),
    23: (0, IPV6),
}
"""By type of record, plain or coloured, the octets before the frame, and what that begins with."""


def _pass_rest(headers: Headers, at: int, length: int) -> None:
    """Pass over the rest of a header, on which nothing depends.

    :param at: where the header begins.
    :param length: its octets.
    :raises NotFollowedError: it is not whole, or has more than so many already.
    """
    rest = headers.at
    count = at + length - rest
    if count < 0:
        raise headers.wrong(LINK_HEADER, "damaged")
    headers.take(count, LINK_HEADER)
    headers.vary((rest, count))


def _nflog(headers: Headers) -> int:
    """A family, and TLVs in the byte order of a host; types are small numbers."""
    octets = headers.octets
    at = headers.take(4, LINK_HEADER)
    family = octets[at]
    if family not in _FAMILIES:
        return NO_IP
    is_big: bool | None = None
    for _ in range(_MOST_TLVS):
        at = headers.take(4, LINK_HEADER)
        if is_big is None:
            is_big = not octets[at + 2]
        length, kind = _ORDERS[is_big].unpack_from(octets, at)
        if length < 4:
            break
        if kind & _TLV_TYPE == _PAYLOAD:
            headers.limit(at + length)
            headers.lengths.append(Length(at, at, field=_LENGTHS[is_big]))
            headers.vary((at, 2))
            return _FAMILIES[family]
        _pass_rest(headers, at, length + -length % 4)
    raise headers.wrong(LINK_HEADER, "damaged")


def _erf(headers: Headers) -> int:
    """Endace's Extensible Record Format."""
    octets = headers.octets
    at = headers.take(16, LINK_HEADER)
    headers.vary((at, 8), (at + 9, 7))
    kind = more = octets[at + 8]
    for _ in range(_MOST_EXTENSIONS):
        if not more & _MORE:
            break
        extension = headers.take(8, LINK_HEADER)
        headers.vary((extension + 1, 7))
        more = octets[extension]
    else:
        raise NotFollowedError(TOO_MANY_HEADERS)
    before, key = _ERF.get(kind & ~_MORE, (0, NO_IP))
    headers.take(before, LINK_HEADER)
    # Of the record, and of the frame.  They count padding, an FCS, and what was cut off or not.
    for field, begin in ((at + 10, at), (at + 14, headers.at)):
        headers.lengths.append(Length(field, begin, instead=0xFFFF, limits=False))
    return key


def _pktap(headers: Headers) -> int:
    """Apple's: length, type of record, and DLT_ value, in the byte order of a host."""
    at = headers.take(12, LINK_HEADER)
    # No header has 64 KiB.
    order: Final = "little" if not any(headers.octets[at + 2 : at + 4]) else "big"
    length, kind, link_type = (
        int.from_bytes(headers.octets[begin : begin + 4], order) for begin in (at, at + 4, at + 8)
    )
    if kind != 1:
        return NO_IP
    _pass_rest(headers, at, length)
    return LINK | link_type


# -- wireless --------------------------------------------------------------------------------------

# Frame control (IEEE 802.11 9.2.4.1), first octet: version and type of data, no data, QoS.
_TYPE, _DATA, _NO_DATA, _QOS = 0x0F, 0x08, 0x40, 0x80
# Second octet.
_FOUR_ADDRESSES, _MORE_FRAGMENTS, _PROTECTED, _HT_CONTROL = 0x03, 0x04, 0x40, 0x80
_FRAGMENT: Final = 0x0F
"""Of sequence control."""
_A_MSDU: Final = 0x80
"""Of QoS control."""

# Radiotap: fields that are there, of the first octet; a word more that says so; flags.
_TIME, _FLAGS = 0x01, 0x02
_MORE_WORDS: Final = 0x80
_FCS, _PADDED, _BAD_FCS = 0x10, 0x20, 0x40
_OCTET: Final = Struct("B")

_AVS: Final = (b"\x80\x21\x10\x01", b"\x80\x21\x10\x02")
"""Versions, which DLT_PRISM_HEADER may begin with, too."""


def _ieee80211(headers: Headers, unit: int = 1) -> int:
    """IEEE 802.11 9.3.2.1.

    :param unit: the header is filled up to a multiple of so many octets.
    """
    octets = headers.octets
    begin = headers.take(2, LINK_HEADER)
    kind, flags = octets[begin], octets[begin + 1]
    if kind & _TYPE != _DATA or kind & _NO_DATA:
        return NO_IP
    at = headers.take(22, LINK_HEADER)
    headers.vary((at, 20), (at + 21, 1))
    if flags & _MORE_FRAGMENTS or octets[at + 20] & _FRAGMENT:
        raise NotFollowedError("fragment of an 802.11 frame")
    if flags & _PROTECTED:
        raise NotFollowedError(ENCRYPTED.format("802.11"))
    if flags & _FOUR_ADDRESSES == _FOUR_ADDRESSES:
        headers.vary((headers.take(6, LINK_HEADER), 6))
    if kind & _QOS:
        at = headers.take(2, LINK_HEADER)
        headers.vary((at + 1, 1))
        if octets[at] & _A_MSDU:
            raise NotFollowedError("802.11 A-MSDU")
        if flags & _HT_CONTROL:
            headers.vary((headers.take(4, LINK_HEADER), 4))
    headers.take((begin - headers.at) % unit, LINK_HEADER)
    return LLC


def _radiotap(headers: Headers) -> int:
    """radiotap.org: words that say which fields are there; each field is aligned."""
    octets = headers.octets
    at = headers.take(8, LINK_HEADER)
    length = int.from_bytes(octets[at + 2 : at + 4], "little")
    headers.take(max(length - 8, 0), LINK_HEADER)
    there = octets[at + 4]
    words = 8
    while words <= length and octets[at + words - 1] & _MORE_WORDS:
        words += 4
    flags_at = words
    if there & _TIME:
        flags_at += -words % 8 + 8
    after = flags_at + bool(there & _FLAGS)
    if after > length:
        raise headers.wrong(LINK_HEADER, "damaged")
    headers.vary((at + words, flags_at - words), (at + after, length - after))
    flags = octets[at + flags_at] if there & _FLAGS else 0
    if flags & _FCS:
        # Frames with other payload have none: the field is always written, without the flag.
        headers.lengths.append(Length(at + flags_at, at, -1, flags & ~_FCS, _OCTET, limits=False))
    if flags & _BAD_FCS:
        raise NotFollowedError("802.11 FCS bad")
    return _ieee80211(headers, 4 if flags & _PADDED else 1)


def _prism(headers: Headers) -> int:
    """Linux wlan-ng: a code, a length, a name, and values, in the byte order of a host."""
    at = headers.at
    if headers.octets.startswith(_AVS, at):
        return _avs(headers)
    headers.take(24, LINK_HEADER)
    order: Final = "little" if headers.octets[at] else "big"
    _pass_rest(headers, at, int.from_bytes(headers.octets[at + 4 : at + 8], order))
    return _ieee80211(headers)


def _avs(headers: Headers) -> int:
    """AbsoluteValue Systems' capture header: version, length, values."""
    at = headers.take(8, LINK_HEADER)
    _pass_rest(headers, at, int.from_bytes(headers.octets[at + 4 : at + 8], "big"))
    return _ieee80211(headers)


SELDOM: Final[dict[int, Reader]] = {
    LINK | 9: _hdlc,
    HDLC: _hdlc,
    LINK | 166: _hdlc,
    LINK | 104: _cisco_hdlc,
    LINK | 107: _frame_relay,
    LINK | 204: _after_direction(HDLC),
    LINK | 205: _after_direction(LINK | 104),
    LINK | 206: _after_direction(LINK | 107),
    LINK | 197: _erf,
    LINK | 239: _nflog,
    # RFC 4391 6, after a Global Route Header, or zeros and a destination in place of it.
    LINK | 242: ether_type_at(40, 44, varying=40),
    LINK | 258: _pktap,
    LINK | 105: _ieee80211,
    LINK | 119: _prism,
    LINK | 127: _radiotap,
    LINK | 163: _avs,
}
"""Which function reads what kind of header, beside those of :mod:`~scapy_mpa.capture.layers`."""
