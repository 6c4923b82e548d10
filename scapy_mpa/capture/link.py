# SPDX-License-Identifier: GPL-2.0-or-later
"""Link headers: from a captured frame to the EtherType and the place of its packet.

Ethernet, also IEEE 802.3 with SNAP, with VLAN tags however stacked; Linux cooked captures 1 and
2; BSD loopback; raw IP (https://www.tcpdump.org/linktypes.html).
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from scapy_mpa.capture.reason import LINK_HEADER, NOT_IP, NotFollowedError, demand

__all__ = ["ETHERNET", "IPV4", "IPV6", "LINK_TYPES", "RAW_IP", "SNAP", "network_packet"]

ETHERNET: Final = 1
"""LINKTYPE_ value."""

RAW_IP: Final = frozenset({12, 14, 101})
"""LINKTYPE_ values: DLT_RAW of OpenBSD and of others, whose numbers differ from LINKTYPE_RAW's, and
that."""

IPV4: Final = 0x0800
IPV6: Final = 0x86DD

_TAGS: Final = frozenset({0x8100, 0x88A8, 0x9100})
"""EtherTypes of IEEE 802.1Q and 802.1ad tags, and the one used for QinQ before 802.1ad."""

_MOST_TAGS: Final = 8
"""Networks stack two or three; the limit keeps a frame full of tags from taking time."""

_TAG_LENGTH: Final = 4

_SMALLEST_ETHERTYPE: Final = 0x0600
"""Below, the field is an IEEE 802.3 length, or says in a Linux cooked header that LLC follows."""

SNAP: Final = b"\xaa\xaa\x03\0\0\0"
"""The LLC and SNAP octets in front of an EtherType (RFC 1042)."""

_BSD_FAMILIES: Final = {2: IPV4, 10: IPV6, 23: IPV6, 24: IPV6, 28: IPV6, 30: IPV6}
"""Address families. That of IPv6 differs: Linux, Windows, NetBSD and OpenBSD, FreeBSD, Darwin."""

_FAMILY_LENGTH: Final = 4

_IP_VERSIONS: Final = {4: IPV4, 6: IPV6}

_uint16: Final = Struct(">H").unpack_from


def network_packet(link_type: int, octets: bytes, length: int) -> tuple[int, int]:
    """Return the EtherType of the IP packet in a frame and where it begins.

    :param link_type: LINKTYPE_ value.
    :param octets: what was captured of the frame.
    :param length: octets of the frame on the wire.
    :raises NotFollowedError: the header is not whole, the link type is not known, or this is not
        IP.
    """
    read = _LINK_TYPES.get(link_type)
    if read is None:
        raise NotFollowedError(f"link type {link_type}")
    ether_type, at = read(octets, length)
    if ether_type not in (IPV4, IPV6):
        raise NotFollowedError(NOT_IP)
    return ether_type, at


def _past_tags(octets: bytes, length: int, field: int, at: int) -> tuple[int, int]:
    """Return EtherType and place of what lies after a header and the tags that follow it.

    :param field: where the header has its EtherType.
    :param at: where it ends.
    """
    demand(octets, at, length, LINK_HEADER)
    (ether_type,) = _uint16(octets, field)
    for _ in range(_MOST_TAGS):
        if ether_type not in _TAGS:
            break
        at += _TAG_LENGTH
        demand(octets, at, length, LINK_HEADER)
        (ether_type,) = _uint16(octets, at - 2)
    if ether_type < _SMALLEST_ETHERTYPE and octets.startswith(SNAP, at):
        at += len(SNAP) + 2
        demand(octets, at, length, LINK_HEADER)
        (ether_type,) = _uint16(octets, at - 2)
    return ether_type, at


def _ethernet(octets: bytes, length: int) -> tuple[int, int]:
    return _past_tags(octets, length, 12, 14)


def _linux_cooked_1(octets: bytes, length: int) -> tuple[int, int]:
    return _past_tags(octets, length, 14, 16)


def _linux_cooked_2(octets: bytes, length: int) -> tuple[int, int]:
    return _past_tags(octets, length, 0, 20)


def _null(octets: bytes, length: int) -> tuple[int, int]:
    """The family is in the byte order of the machine that captured."""
    demand(octets, _FAMILY_LENGTH, length, LINK_HEADER)
    little = int.from_bytes(octets[:_FAMILY_LENGTH], "little")
    if little in _BSD_FAMILIES:
        return _BSD_FAMILIES[little], _FAMILY_LENGTH
    return _loop(octets, length)


def _loop(octets: bytes, length: int) -> tuple[int, int]:
    demand(octets, _FAMILY_LENGTH, length, LINK_HEADER)
    family = int.from_bytes(octets[:_FAMILY_LENGTH], "big")
    return _BSD_FAMILIES.get(family, 0), _FAMILY_LENGTH


def _raw(octets: bytes, length: int) -> tuple[int, int]:
    demand(octets, 1, length, LINK_HEADER)
    return _IP_VERSIONS.get(octets[0] >> 4, 0), 0


def _ipv4(octets: bytes, length: int) -> tuple[int, int]:
    return IPV4, 0


def _ipv6(octets: bytes, length: int) -> tuple[int, int]:
    return IPV6, 0


_LINK_TYPES: Final[dict[int, Callable[[bytes, int], tuple[int, int]]]] = {
    0: _null,
    ETHERNET: _ethernet,
    **dict.fromkeys(RAW_IP, _raw),
    108: _loop,
    113: _linux_cooked_1,
    228: _ipv4,
    229: _ipv6,
    276: _linux_cooked_2,
}

LINK_TYPES: Final = frozenset(_LINK_TYPES)
"""LINKTYPE_ values that are followed."""
