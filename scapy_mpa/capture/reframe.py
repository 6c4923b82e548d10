# SPDX-License-Identifier: GPL-2.0-or-later
"""Other TCP segments after the link and IP headers of a captured frame.

The counterpart of :mod:`~scapy_mpa.capture.build_frame` for who has a frame of a direction:
whatever lies in front of its TCP header stays as it was captured (addresses, VLAN tags, IP options
and extension headers, on any link type that can be read), but for lengths, checksums, and the IPv4
identification, which is zero.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from scapy_mpa.capture.build_frame import LARGEST_DATAGRAM, checksum
from scapy_mpa.capture.frame import Frame
from scapy_mpa.capture.ip import TCP, ipv4_datagram, ipv6_datagram
from scapy_mpa.capture.link import ETHERNET, IPV4, SNAP, network_packet
from scapy_mpa.capture.reason import NOT_TCP, NotFollowedError
from scapy_mpa.stream.segment import reverse_flow

__all__ = ["Reframer"]

_uint16: Final = Struct(">H")
_TCP: Final = Struct(">4sIIBBHHH")
"""Both ports, sequence and acknowledgement number, data offset, flags, window, checksum, urgent
pointer."""
_CHECKSUM_AT: Final = 16
_NO_OPTIONS: Final = 5 << 4

_IPV4_LENGTH_AT: Final = 2
_IPV4_HOPS_AT: Final = 8
_IPV4_CHECKSUM_AT: Final = 10
_IPV4_ADDRESSES_AT: Final = 12
_DO_NOT_FRAGMENT: Final = b"\0\0\x40\0"
"""Identification and flags of a packet that is never cut up, and needs no number (RFC 6864 4.1)."""

_IPV6_LENGTH_AT: Final = 4
_IPV6_ADDRESSES_AT: Final = 8
_IPV6_LENGTH: Final = 40

_MACS: Final = 12
_SNAP_AND_TYPE: Final = len(SNAP) + 2


class Reframer:
    """Makes frames like a captured one that carry other TCP segments.

    :param frame: of which at least the headers up to that of TCP were captured.
    :param flow: of its segment (:class:`~scapy_mpa.stream.segment.Segment`).
    :raises NotFollowedError: it carries no TCP segment that could be followed.
    """

    __slots__ = ("_flow", "_head", "_is_ipv4", "_link", "_link_type", "interface", "largest")

    def __init__(self, frame: Frame, flow: bytes) -> None:
        octets, length = frame.octets, frame.original_length
        ether_type, at = network_packet(frame.link_type, octets, length)
        self._is_ipv4 = ether_type == IPV4
        datagram = (ipv4_datagram if self._is_ipv4 else ipv6_datagram)(octets, at, length)
        if datagram.protocol != TCP:
            raise NotFollowedError(NOT_TCP)
        tcp_at = datagram.at
        self._flow = flow
        self._link_type = frame.link_type
        self._link = _link_header(frame.link_type, octets[:at], ether_type)
        self._head = octets[at:tcp_at]
        self.interface = frame.interface
        """The name of the interface, if the file had it."""
        counted = tcp_at - at - (0 if self._is_ipv4 else _IPV6_LENGTH) + _TCP.size
        self.largest = LARGEST_DATAGRAM - counted
        """Octets of TCP payload that a frame carries at most."""

    def reversed(self) -> Reframer:
        """Return one for the other direction."""
        other = object.__new__(Reframer)
        for name in self.__slots__:
            setattr(other, name, getattr(self, name))
        other._flow = reverse_flow(self._flow)
        begin = _IPV4_ADDRESSES_AT if self._is_ipv4 else _IPV6_ADDRESSES_AT
        addresses = other._flow[:-4]
        head = self._head
        other._head = head[:begin] + addresses + head[begin + len(addresses) :]
        if self._link_type == ETHERNET:
            link = self._link
            other._link = link[6:_MACS] + link[:6] + link[_MACS:]
        return other

    def frame(
        self,
        number: int,
        time_ns: int,
        seq: int,
        ack: int,
        flags: int,
        payload: bytes = b"",
        *,
        length: int | None = None,
    ) -> Frame:
        """Return a frame with a TCP segment without options (RFC 9293 3.1).

        :param number: of the frame.
        :param time_ns: when it was captured, in nanoseconds since the epoch.
        :param seq: sequence number, 32 bits.
        :param ack: acknowledgement number, 32 bits.
        :param flags: 8 bits, see :mod:`~scapy_mpa.stream.segment`.
        :param payload: at most :attr:`largest` octets.
        :param length: octets of payload on the wire, if a snap length has cut some off; where they
            are more than :attr:`largest`, IP gives no length, as of the packet that was captured.
        """
        carried = len(payload) if length is None else length
        flow = self._flow
        tcp = _TCP.pack(flow[-4:], seq, ack, _NO_OPTIONS, flags, 0xFFFF, 0, 0)
        size = _TCP.size + carried
        total = checksum(flow[:-4] + tcp + payload, TCP + size)
        tcp = tcp[:_CHECKSUM_AT] + _uint16.pack(total) + tcp[_CHECKSUM_AT + 2 :]
        octets = b"".join((self._link, self._network(size), tcp, payload))
        return Frame(
            number,
            time_ns,
            self._link_type,
            octets,
            len(octets) - len(payload) + carried,
            self.interface,
        )

    def _network(self, size: int) -> bytes:
        """Return the IP header, and what follows it, in front of ``size`` octets of TCP."""
        head = self._head
        if not self._is_ipv4:
            packed = _length(len(head) - _IPV6_LENGTH + size)
            return head[:_IPV6_LENGTH_AT] + packed + head[_IPV6_LENGTH_AT + 2 :]
        packed = _length(len(head) + size)
        before = head[:_IPV4_LENGTH_AT] + packed + _DO_NOT_FRAGMENT
        before += head[_IPV4_HOPS_AT:_IPV4_CHECKSUM_AT]
        behind = head[_IPV4_CHECKSUM_AT + 2 :]
        # What follows the header proper, an authentication header, is not in its checksum.
        header = (before + bytes(2) + behind)[: (head[0] & 0xF) * 4]
        return before + _uint16.pack(checksum(header)) + behind


def _length(octets: int) -> bytes:
    """Return the length field of an IP header, which is zero if it cannot say so many octets."""
    return _uint16.pack(octets if octets <= LARGEST_DATAGRAM else 0)


def _link_header(link_type: int, octets: bytes, ether_type: int) -> bytes:
    """Return a link header as it may stand before a packet of any length."""
    (length_or_type,) = _uint16.unpack_from(octets, len(octets) - 2) if octets else (0,)
    if link_type == ETHERNET and length_or_type == ether_type:
        at = len(octets) - _SNAP_AND_TYPE - 2
        # IEEE 802.3 has a length, then SNAP and the type; Ethernet has just the type.
        if at >= _MACS and octets.startswith(SNAP, at + 2):
            return octets[:at] + octets[-2:]
    return octets
