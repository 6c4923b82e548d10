# SPDX-License-Identifier: GPL-2.0-or-later
"""Link types that few captures have, apart from the others so that a command starts soon.

PPP; what a capture program or card puts in front of a frame: NFLOG, ERF; and the link header of IP
over InfiniBand, which lacks all before it.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from scapy_mpa.capture.headers import (
    ETHERNET_HEADER,
    IPV4,
    IPV6,
    LINK,
    NO_IP,
    Headers,
    Length,
    Reader,
)
from scapy_mpa.capture.link import LINK_HEADER, ether_type_at
from scapy_mpa.capture.reason import TOO_MANY_HEADERS, NotFollowedError
from scapy_mpa.capture.tunnel import ppp_framed

__all__ = ["SELDOM"]

_PPP: Final = LINK | 9
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
    **dict.fromkeys((1, 10, 15, 19), (0, _PPP)),
    **dict.fromkeys((5, 17), (4, _PPP)),
    **dict.fromkeys((2, 11, 16, 20), (2, ETHERNET_HEADER)),
    22: (0, IPV4),
    23: (0, IPV6),
}
"""By type of record, plain or coloured, the octets before the frame, and what that begins with."""


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
        rest = length - 4 + -length % 4
        headers.vary((headers.take(rest, LINK_HEADER), rest))
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


SELDOM: Final[dict[int, Reader]] = {
    **dict.fromkeys((_PPP, LINK | 50, LINK | 166), ppp_framed),
    LINK | 197: _erf,
    LINK | 239: _nflog,
    # RFC 4391 6, after a Global Route Header, or zeros and a destination in place of it.
    LINK | 242: ether_type_at(40, 44, varying=40),
}
"""Which function reads what kind of header, beside those of :mod:`~scapy_mpa.capture.layers`."""
