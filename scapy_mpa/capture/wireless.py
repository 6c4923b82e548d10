# SPDX-License-Identifier: GPL-2.0-or-later
"""IEEE 802.11, and what is in front of its frames: radiotap, Prism, AVS."""

from __future__ import annotations

from struct import Struct
from typing import Final

from scapy_mpa.capture.headers import LINK, LLC, Headers, Length, Reader
from scapy_mpa.capture.link import LINK_HEADER
from scapy_mpa.capture.reason import ENCRYPTED, NOT_IP, NotFollowedError
from scapy_mpa.capture.recorded import pass_rest

__all__ = ["READERS"]

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
        raise NotFollowedError(NOT_IP)
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
    pass_rest(headers, at, int.from_bytes(headers.octets[at + 4 : at + 8], order))
    return _ieee80211(headers)


def _avs(headers: Headers) -> int:
    """AbsoluteValue Systems' capture header: version, length, values."""
    at = headers.take(8, LINK_HEADER)
    pass_rest(headers, at, int.from_bytes(headers.octets[at + 4 : at + 8], "big"))
    return _ieee80211(headers)


READERS: Final[dict[int, Reader]] = {
    LINK | 105: _ieee80211,
    LINK | 119: _prism,
    LINK | 127: _radiotap,
    LINK | 163: _avs,
}
