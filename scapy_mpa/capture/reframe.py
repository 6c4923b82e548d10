# SPDX-License-Identifier: GPL-2.0-or-later
"""Puts other TCP segments after the headers of a captured frame; takes off its tags and tunnels.

The counterpart of :mod:`~scapy_mpa.capture.build_frame` where a frame of the direction was
captured. All headers before TCP stay as captured, but for lengths and checksums: addresses, tags,
tunnels, IP options and extension headers, on any link type that can be read. Of the TCP header, the
window and the timestamps stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Final

from scapy_mpa.capture.build_frame import LARGEST_DATAGRAM
from scapy_mpa.capture.frame import ETHERNET, Frame
from scapy_mpa.capture.headers import ETHER_TYPE, FRAGMENT, IPV4, TCP, Reader, uint16
from scapy_mpa.capture.layers import READERS, read_headers
from scapy_mpa.capture.reason import NOT_TCP, NotFollowedError
from scapy_mpa.capture.tcp import TCP_LENGTH, tcp_header
from scapy_mpa.stream.segment import reverse_flow

_DATA_OFFSET_AT: Final = 12
_WINDOW_AT: Final = 14

_END, _NO_OPERATION, _TIMESTAMPS = 0, 1, 8
"""Kinds of TCP options (RFC 9293 3.2, RFC 7323 3.2)."""
_TIMESTAMPS_LENGTH: Final = 10

_ADDRESSES_AT: Final = {True: 12, False: 8}
"""Place of the addresses in a header, by whether it is IPv4, else IPv6."""
_MAC: Final = 6
"""Octets of an Ethernet address."""
_MOST_TCP: Final = 60
"""Octets of a TCP header at most."""


class Reframer:
    """Makes frames with the headers of a captured frame, and with other TCP segments.

    :param frame: a frame whose headers up to TCP were captured.
    :param flow: flow of its segment (:class:`~scapy_mpa.stream.segment.Segment`).
    :param readers: the readers that found the segment.
    :raises NotFollowedError: the frame carries no TCP segment that can be followed.
    """

    def __init__(self, frame: Frame, flow: bytes, readers: Mapping[int, Reader] = READERS) -> None:
        key, headers = read_headers(*frame[2:5], readers)
        if key != TCP:
            raise NotFollowedError(NOT_TCP)
        self._flow = flow
        self._link_type = frame.link_type
        self._headers = headers
        self._head = bytes(headers.octets[: headers.at])
        tcp = headers.octets[headers.at : headers.at + _MOST_TCP]
        self._window = uint16(tcp, _WINDOW_AT)
        self._options = _timestamps(tcp)
        # The frame may be long, so its other octets are not kept.
        headers.octets = b""
        self.interface = frame.interface
        """The name of the interface, if the file has it."""
        begin = min(each.begin for each in headers.lengths if each.limits)
        self.largest = LARGEST_DATAGRAM - (headers.at - begin) - TCP_LENGTH - len(self._options)
        """Octets of TCP payload in a frame, at most."""

    def reversed(self) -> Reframer:
        """Return a Reframer for the other direction."""
        other = copy(self)
        other._flow = reverse_flow(self._flow)
        # The timestamps of the other sender are not known.
        other._options = b""
        head = bytearray(self._head)
        pairs = [(at, _MAC) for at in self._headers.macs]
        for key, at, addresses in self._headers.packets:
            pairs.append((at + _ADDRESSES_AT[key == IPV4], len(addresses) // 2))
        for at, size in pairs:
            middle, end = at + size, at + 2 * size
            head[at:end] = head[middle:end] + head[at:middle]
        other._head = bytes(head)
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
        """Return a frame with a TCP segment (RFC 9293 3.1).

        :param number: frame number.
        :param time_ns: when it was captured, in nanoseconds since the epoch.
        :param seq: sequence number, 32 bits.
        :param ack: acknowledgement number, 32 bits.
        :param flags: 8 bits, see :mod:`~scapy_mpa.stream.segment`.
        :param payload: at most :attr:`largest` octets.
        :param length: octets of payload on the wire, if a snap length cut some off.  If they are
            more than :attr:`largest`, the length in the IP header is 0, as in the captured packet.
        """
        carried = len(payload) if length is None else length
        numbers = seq, ack, flags, self._window
        tcp = tcp_header(self._flow, numbers, self._options, payload, carried)
        octets = bytearray(self._head + tcp + payload)
        missing = carried - len(payload)
        self._headers.refit(octets, missing)
        size = len(octets) + missing
        return Frame(number, time_ns, self._link_type, bytes(octets), size, self.interface)


def headers_of(frame: Frame, readers: Mapping[int, Reader] = READERS) -> Frame:
    """Return a frame cut after its headers: a :class:`Reframer` needs no more of it.

    :param readers: the readers that found its segment.
    :raises NotFollowedError: a header before TCP is not whole.
    """
    _, headers = read_headers(*frame[2:5], readers)
    return frame._replace(octets=frame.octets[: headers.at + _MOST_TCP])


def decapsulated(frame: Frame, readers: Mapping[int, Reader] = READERS) -> Frame | None:
    """Return an Ethernet frame with the innermost IP packet of a frame.

    Its addresses are those of the Ethernet header next to the packet, or zeros.  A frame in which
    no TCP segment or SCTP packet is found is returned unchanged.  None: the frame holds a fragment,
    and only a whole packet shows what a tunnel carries.

    :param readers: readers of its headers.
    """
    try:
        last, headers = read_headers(*frame[2:5], readers)
    except NotFollowedError:
        return frame
    if last == FRAGMENT:
        return None
    key, at, _ = headers.packets[-1]
    octets = frame.octets
    addresses = bytes(2 * _MAC)
    for begin in headers.macs[-1:]:
        addresses = octets[begin : begin + 2 * _MAC]
    head = addresses + (key - ETHER_TYPE).to_bytes(2, "big")
    return frame._replace(
        link_type=ETHERNET,
        octets=head + octets[at : headers.captured_end],
        original_length=max(0, headers.end - at) + len(head),
    )


def _timestamps(tcp: bytes) -> bytes:
    """Return the timestamps option of a TCP header, as RFC 7323 appendix A lays it out, if any."""
    at, end = TCP_LENGTH, (tcp[_DATA_OFFSET_AT] >> 4) * 4
    while at + 1 < end and tcp[at] != _END:
        length = 1 if tcp[at] == _NO_OPERATION else max(2, tcp[at + 1])
        if tcp[at] == _TIMESTAMPS and length == _TIMESTAMPS_LENGTH and at + length <= end:
            return bytes((_NO_OPERATION, _NO_OPERATION)) + tcp[at : at + length]
        at += length
    return b""
