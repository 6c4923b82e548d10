# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames in, TCP segments and SCTP packets out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from struct import Struct
from typing import TYPE_CHECKING, Final

from scapy_mpa.capture.frame import Frame
from scapy_mpa.capture.ip import TCP, Datagram, ipv4_datagram, ipv6_datagram
from scapy_mpa.capture.link import ETHERNET, IPV4, network_packet
from scapy_mpa.capture.reason import NOT_TCP, NotFollowedError
from scapy_mpa.capture.tcp import tcp_segment
from scapy_mpa.stream.segment import Segment

if TYPE_CHECKING:
    from scapy_mpa.dialects.sctp.packet import SctpPacket

__all__ = ["Decoder", "segment_of"]

_ORDINARY: Final = Struct(">12x3sxHxxHxB2x12sIIBB")
"""Ethernet, IPv4 without options and TCP in one go: EtherType with IP version and header length,
total length, flags and fragment offset, protocol, addresses and ports, sequence and
acknowledgement number, data offset, flags."""
_ORDINARY_START: Final = b"\x08\x00\x45"
_ORDINARY_LENGTH: Final = 54
_IPV4_AT: Final = 14
_TCP_AT: Final = 34


class Decoder:
    """Takes the TCP segments out of frames, and counts the frames that it cannot follow.

    Link, IP and TCP headers are read as :mod:`~scapy_mpa.capture.link`,
    :mod:`~scapy_mpa.capture.ip` and :mod:`~scapy_mpa.capture.tcp` say. No checksum is verified but
    that of SCTP.

    :param take_sctp: is given the SCTP packets, which come aside of the segments so that these cost
        nothing more; None: they are "not TCP".
    """

    __slots__ = ("_take_sctp", "not_followed")

    def __init__(self, take_sctp: Callable[[SctpPacket], None] | None = None) -> None:
        self._take_sctp = take_sctp
        self.not_followed: Counter[str] = Counter()
        """Frames without a segment, by reason: "not TCP", "IP fragment", "TCP header cut", ..."""

    def segment(self, frame: Frame) -> Segment | None:
        """Return the TCP segment of ``frame``, or count why there is none.

        An SCTP packet goes to who takes them.
        """
        number, time_ns, link_type, octets, length, _ = frame
        captured = len(octets)
        if link_type == ETHERNET and captured >= _ORDINARY_LENGTH:
            start, total, fragment, protocol, flow, seq, ack, data_offset, flags = _unpack(octets)
            if start == _ORDINARY_START and protocol == TCP and not fragment & 0x3FFF:
                at = _TCP_AT + (data_offset >> 4) * 4
                end = _IPV4_AT + total
                if data_offset >= 0x50 and captured >= at <= end <= length:
                    # What the class itself would do, without the call of its __new__ in Python.
                    return tuple.__new__(
                        Segment,
                        (flow, seq, ack, flags, octets[at:end], end - at, number, time_ns),
                    )
        try:
            datagram = _datagram_of(frame)
            if datagram.protocol == TCP:
                return tcp_segment(frame, datagram)
            if self._take_sctp is None:
                raise NotFollowedError(NOT_TCP)
            # Hardly any capture has some, and a command is to start soon.
            from scapy_mpa.capture.sctp import sctp_packet

            packet = sctp_packet(frame, datagram)
        except NotFollowedError as error:
            self.not_followed[error.reason] += 1
            return None
        self._take_sctp(packet)
        return None


_unpack: Final = _ORDINARY.unpack_from


def segment_of(frame: Frame) -> Segment:
    """Return the TCP segment of ``frame``: the way for all frames, ordinary ones included.

    :raises NotFollowedError: there is none that could be followed.
    """
    datagram = _datagram_of(frame)
    if datagram.protocol != TCP:
        raise NotFollowedError(NOT_TCP)
    return tcp_segment(frame, datagram)


def _datagram_of(frame: Frame) -> Datagram:
    """Return where the TCP or SCTP header of ``frame`` lies.

    :raises NotFollowedError: it has none that could be followed.
    """
    octets = frame.octets
    length = frame.original_length
    ether_type, at = network_packet(frame.link_type, octets, length)
    datagram = ipv4_datagram if ether_type == IPV4 else ipv6_datagram
    return datagram(octets, at, length)
