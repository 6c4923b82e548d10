# SPDX-License-Identifier: GPL-2.0-or-later
"""Link headers of serial lines: PPP, Cisco HDLC, frame relay."""

from __future__ import annotations

from operator import and_
from typing import Final

from scapy_mpa.capture.headers import (
    ETHERNET_HEADER,
    IPV4,
    IPV6,
    LINK,
    Headers,
    Reader,
)
from scapy_mpa.capture.link import LINK_HEADER, ether_type
from scapy_mpa.capture.reason import NOT_IP, NotFollowedError
from scapy_mpa.capture.tunnel import ppp

__all__ = ["HDLC", "READERS"]

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


def _hdlc(headers: Headers) -> int:
    start = headers.octets[headers.at : headers.at + 2]
    if start in _CISCO_HDLC:
        return _cisco_hdlc(headers)
    if start in _PPP_IN_HDLC:
        headers.take(2, LINK_HEADER)
    return ppp(headers)


def _cisco_hdlc(headers: Headers) -> int:
    at = headers.take(4, LINK_HEADER)
    return ether_type(headers, at + 2)


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
    key = _NLPIDS.get(nlpid)
    if key is None:
        raise NotFollowedError(NOT_IP)
    return key


READERS: Final[dict[int, Reader]] = {
    LINK | 9: _hdlc,
    HDLC: _hdlc,
    LINK | 166: _hdlc,
    LINK | 104: _cisco_hdlc,
    LINK | 107: _frame_relay,
    LINK | 204: _after_direction(HDLC),
    LINK | 205: _after_direction(LINK | 104),
    LINK | 206: _after_direction(LINK | 107),
}
