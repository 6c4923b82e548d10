# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds Ethernet frames: Ethernet, IP and TCP headers before the octets of an endpoint.

The counterpart of :mod:`~scapy_mpa.capture.link`, :mod:`~scapy_mpa.capture.ip` and
:mod:`~scapy_mpa.capture.tcp`. Fields that all frames of a direction share are packed once.
Checksums are computed.
"""

from __future__ import annotations

import struct
from struct import Struct
from typing import Final

from scapy_mpa.capture.headers import ETHER_TYPE, IPV4, IPV6, TCP_PROTOCOL, checksum
from scapy_mpa.capture.tcp import TCP_LENGTH, tcp_header
from scapy_mpa.wire.errors import LocalProtocolError

LARGEST_DATAGRAM: Final = 0xFFFF
"""The largest value of the length field of an IP header.  IPv4 counts the whole packet (RFC 791
3.1), IPv6 the octets after its header (RFC 8200 3)."""

_IPV4: Final = Struct(">BBHHHBBH")
"""Version and header length, DSCP and ECN, total length, identification, flags and fragment offset,
time to live, protocol, checksum."""
_IPV4_LENGTH: Final = 20
_IPV6: Final = Struct(">IHBB")
"""Version and flow label, payload length, next header, hop limit."""
_MOST_OPTIONS: Final = 40
"""Octets of options in a TCP header, at most."""

_WINDOW: Final = 0xFFFF
_DO_NOT_FRAGMENT: Final = 0x4000
_HOPS: Final = 64
_VLAN: Final = 0x8100

_uint16: Final = Struct(">H").pack


class FrameBuilder:
    """Builds the Ethernet frames that one endpoint of a TCP connection sends to the other.

    :param macs: Ethernet addresses of source and destination, 6 octets each.
    :param addresses: IPv4 or IPv6 addresses of source and destination, 4 or 16 octets each.
    :param ports: of source and destination, 0 to 65535.
    :param vlan: tag control information of an IEEE 802.1Q tag, 0 to 65535, or None for no tag.
    :raises LocalProtocolError: the addresses differ in kind.
    """

    def __init__(
        self,
        macs: tuple[bytes, bytes],
        addresses: tuple[bytes, bytes],
        ports: tuple[int, int],
        vlan: int | None = None,
    ) -> None:
        if len(addresses[0]) != len(addresses[1]):
            raise LocalProtocolError("both addresses must be IPv4, or both IPv6")
        self._is_ipv4 = len(addresses[0]) == 4
        tag = b"" if vlan is None else _uint16(_VLAN) + _uint16(vlan)
        ether_type = (IPV4 if self._is_ipv4 else IPV6) - ETHER_TYPE
        self._link = macs[1] + macs[0] + tag + _uint16(ether_type)
        self._ip = b"".join(addresses)
        self.flow = self._ip + b"".join(map(_uint16, ports))
        """Addresses and ports, as in a :class:`~scapy_mpa.stream.segment.Segment`."""
        ip = _IPV4_LENGTH if self._is_ipv4 else _IPV6.size + len(self._ip)
        self.header_length = len(self._link) + ip + TCP_LENGTH
        """Octets of all headers of a frame without TCP options."""

    def build(
        self,
        seq: int,
        ack: int,
        flags: int,
        payload: bytes,
        *,
        options: bytes = b"",
        identification: int = 0,
    ) -> bytes:
        """Return the frame that carries a TCP segment (RFC 9293 3.1).

        :param seq: sequence number, 32 bits.
        :param ack: acknowledgement number, 32 bits.
        :param flags: 8 bits, see :mod:`~scapy_mpa.stream.segment`.
        :param payload: as many octets as fit a datagram.
        :param options: of the TCP header: 0 to 40 octets, a multiple of 4.
        :param identification: of the IPv4 header, 16 bits.
        :raises LocalProtocolError: the segment does not fit a datagram, a number does not fit its
            field, or the length of the options is wrong.
        """
        if len(options) & 3 or len(options) > _MOST_OPTIONS:
            raise LocalProtocolError(
                f"TCP options have 0 to 40 octets, a multiple of 4, not {len(options)}"
            )
        length = len(payload)
        whole = TCP_LENGTH + len(options) + length
        headers = self._headers(whole, TCP_PROTOCOL, identification)
        try:
            tcp = tcp_header(self.flow, (seq, ack, flags, _WINDOW), options, payload, length)
        except struct.error as error:
            raise LocalProtocolError(
                f"sequence number {seq}, acknowledgement number {ack}, flags {flags}: one does "
                "not fit its 32, 32 or 8 bits (RFC 9293 3.1)"
            ) from error
        return b"".join((headers, tcp, payload))

    def datagram(self, protocol: int, octets: bytes, *, identification: int = 0) -> bytes:
        """Return the frame that carries a packet of another protocol, which is not changed.

        :param protocol: protocol number of IP, 8 bits.
        :param octets: the packet: its header, with the ports, and its payload.
        :param identification: of the IPv4 header, 16 bits.
        :raises LocalProtocolError: the packet does not fit a datagram.
        """
        return self._headers(len(octets), protocol, identification) + octets

    def _headers(self, length: int, protocol: int, identification: int) -> bytes:
        """Return the link and IP headers of a packet with ``length`` octets of payload."""
        whole = length + _IPV4_LENGTH if self._is_ipv4 else length
        if whole > LARGEST_DATAGRAM:
            raise LocalProtocolError(f"{length} octets do not fit one datagram")
        if self._is_ipv4:
            fields = 0x45, 0, whole, identification, _DO_NOT_FRAGMENT, _HOPS, protocol
            ip = _IPV4.pack(*fields, checksum(_IPV4.pack(*fields, 0) + self._ip))
        else:
            ip = _IPV6.pack(6 << 28, length, protocol, _HOPS)
        return b"".join((self._link, ip, self._ip))
