# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames in, TCP segments and SCTP packets out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from struct import Struct
from typing import TYPE_CHECKING, Final

from scapy_mpa.capture.fragments import FRAGMENT_OF, Fragments
from scapy_mpa.capture.frame import Frame
from scapy_mpa.capture.headers import FRAGMENT, IPV4, TCP, TCP_PROTOCOL, UDP_PORT, Headers
from scapy_mpa.capture.layers import READERS, read_headers
from scapy_mpa.capture.reason import NOT_TCP, TOO_MANY_HEADERS, NotFollowedError
from scapy_mpa.capture.tcp import tcp_segment
from scapy_mpa.capture.tunnel import vxlan
from scapy_mpa.stream.segment import Segment

if TYPE_CHECKING:
    from scapy_mpa.dialects.sctp.packet import SctpPacket


_ordinary: Final = Struct(">BxHxxHxB2x12sIIBB").unpack_from
"""IPv4 without options and TCP: version with header length, total length, flags with fragment
offset, protocol, addresses and ports, sequence and acknowledgement number, data offset, flags."""
_ORDINARY_LENGTH: Final = 34
_ORDINARY_START: Final = 0x45
_FRAGMENT: Final = 0x3FFF
_TCP_AT: Final = 20

_MOST_SHAPES: Final = 8
_MOST_HEADS: Final = 1024
"""Heads are remembered up to these limits.  A real network has fewer; a hostile capture may not."""
_ADDRESSES: Final = 12
"""Octets of addresses at the beginning of an Ethernet header."""
_MOST_NESTED: Final = 8
"""Levels of packets in fragments of other packets, at most."""


class Decoder:
    """Takes the TCP segments out of frames, and counts the frames that it cannot follow.

    :mod:`~scapy_mpa.capture.layers` reads the headers.  IP packets are put together from their
    fragments.  Only the checksum of SCTP is verified.

    :param take_sctp: called with each SCTP packet.  A separate way, so that segments cost nothing
        more.  None: SCTP packets are "not TCP".
    :param vxlan_ports: UDP ports of VXLAN, besides the usual ones.
    :param link_types: by LINKTYPE_ value of the file, the value to use in its place.
    """

    def __init__(
        self,
        take_sctp: Callable[[SctpPacket], None] | None = None,
        vxlan_ports: Iterable[int] = (),
        link_types: Mapping[int, int] | None = None,
    ) -> None:
        self._take_sctp = take_sctp
        self.link_types = link_types or {}
        self.readers = {**READERS, **{UDP_PORT | port: vxlan for port in vxlan_ports}}
        """The reader of each kind of header."""
        self._heads: dict[tuple[int, int, int], set[bytes]] = {}
        """The octets between two places of frames of one link type.

        They begin where octets matter, and end where the IPv4 header begins."""
        self._fragments = Fragments()
        self.whole: Frame | None = None
        """A frame with the whole IP packet, if the last segment came in fragments."""
        self.not_followed: Counter[str] = Counter()
        """Frames without a segment, by reason: "not TCP", "TCP header cut", ..."""

    def segment(self, frame: Frame) -> Segment | None:
        """Return the TCP segment of ``frame``, or count why there is none.

        An SCTP packet goes to ``take_sctp``.
        """
        self.whole = None
        number, time_ns, link_type, octets, length, _ = frame
        captured = len(octets)
        for (known_link_type, begin, ip_at), heads in self._heads.items():
            if (
                link_type != known_link_type
                or captured < ip_at + _ORDINARY_LENGTH
                or octets[begin:ip_at] not in heads
            ):
                continue
            start, total, fragment, protocol, flow, seq, ack, data_offset, flags = _ordinary(
                octets, ip_at
            )
            at = ip_at + _TCP_AT + (data_offset >> 4) * 4
            end = ip_at + total
            if (
                start != _ORDINARY_START
                or protocol != TCP_PROTOCOL
                or fragment & _FRAGMENT
                or data_offset < 0x50
                or not captured >= at <= end <= length
            ):
                continue
            return Segment(flow, seq, ack, flags, octets[at:end], end - at, number, time_ns)
        return self._read(frame)

    def _read(self, frame: Frame) -> Segment | None:
        """Read ``frame`` header by header; return its segment, or count why there is none."""
        frames = 1
        try:
            for _ in range(_MOST_NESTED):
                _, _, given, octets, length, _ = frame
                link_type = self.link_types.get(given, given)
                key, headers = read_headers(link_type, octets, length, self.readers)
                if key == TCP:
                    segment = tcp_segment(frame, headers)
                    self._remember(frame.link_type, headers)
                    return segment
                if key != FRAGMENT:
                    self._sctp(frame, headers)
                    return None
                whole = self._fragments.take(frame, headers)
                if whole is None:
                    raise NotFollowedError(FRAGMENT_OF)
                frame, pieces = whole
                self.whole = frame
                frames += pieces - 1
                self.not_followed[FRAGMENT_OF] -= pieces - 1
            raise NotFollowedError(TOO_MANY_HEADERS)
        except NotFollowedError as error:
            self.not_followed[str(error)] += frames
            return None

    def _sctp(self, frame: Frame, headers: Headers) -> None:
        if self._take_sctp is None:
            raise NotFollowedError(NOT_TCP)
        # Imported late: few captures have SCTP, and a command must start soon.
        from scapy_mpa.capture.sctp import sctp_packet

        self._take_sctp(sctp_packet(frame, headers))

    def _remember(self, link_type: int, headers: Headers) -> None:
        """Remember the headers before an IPv4 header, for frames that begin in the same way.

        Not those of a tunnel: its headers have numbers that change from frame to frame.
        """
        key, at, _ = headers.packets[-1]
        if (
            key != IPV4
            or headers.tunnel
            or any(each.limits for each in headers.lengths if each.at < at)
        ):
            return
        begin = _ADDRESSES if 0 in headers.macs else 0
        shape = link_type, begin, at
        if shape not in self._heads and len(self._heads) >= _MOST_SHAPES:
            self._heads.clear()
        heads = self._heads.setdefault(shape, set())
        if len(heads) >= _MOST_HEADS:
            heads.clear()
        heads.add(headers.octets[begin:at])
