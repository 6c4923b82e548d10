# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames in, TCP segments and SCTP packets out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from struct import Struct
from typing import TYPE_CHECKING, Final

from scapy_mpa.capture.fragments import FRAGMENT_OF, Fragments
from scapy_mpa.capture.frame import ETHERNET, Frame
from scapy_mpa.capture.headers import FRAGMENT, TCP, UDP_PORT, Headers
from scapy_mpa.capture.layers import READERS, read_headers
from scapy_mpa.capture.link_types import NAMES
from scapy_mpa.capture.reason import NOT_TCP, TOO_MANY_HEADERS, NotFollowedError
from scapy_mpa.capture.tcp import tcp_segment
from scapy_mpa.capture.tunnel import vxlan
from scapy_mpa.stream.segment import Segment

if TYPE_CHECKING:
    from scapy_mpa.dialects.sctp.packet import SctpPacket


ordinary: Final = Struct(">12xIHxxIxx12sIIH").unpack_from
"""Headers of an ordinary frame: Ethernet, IPv4 without options, and TCP.

EtherType with IP version, header length and service; total length; fragment, time to live and
protocol; the flow: addresses and ports; sequence number, acknowledgement number; data offset with
flags."""
ORDINARY_LENGTH: Final = 54
"""Octets of these headers without TCP options."""
IPV4_AT: Final = 14
TCP_AT: Final = 34
SERVICE: Final = 0xFFFFFF00
"""Mask of the first number, without the octet of the service."""
ETHERNET_IPV4: Final = 0x08004500
"""The rest of that number in an ordinary frame."""
FRAGMENT_AND_PROTOCOL: Final = 0x3FFF00FF
"""Mask of the third number: fragment offset, More Fragments, and protocol."""
WHOLE_TCP: Final = 6
"""The rest of that number in an ordinary frame."""

_SHIFTS: Final = {ETHERNET: 0, NAMES["linux-sll"]: 2}
"""By link type, how many octets its EtherType is after that of Ethernet."""
_VLAN: Final = b"\x81\x00"
_VLAN_LENGTH: Final = 4
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
        self._fragments = Fragments()
        self.whole: Frame | None = None
        """A frame with the whole IP packet, if the last segment came in fragments."""
        self.not_followed: Counter[str] = Counter()
        """Frames without a segment, by reason: "not TCP", "TCP header cut", ...

        Copies of fragments whose packet is whole do not count."""

    def segment(self, frame: Frame) -> Segment | None:
        """Return the TCP segment of ``frame``, or count why there is none.

        An SCTP packet goes to ``take_sctp``.
        """
        self.whole = None
        number, time_ns, link_type, octets, length, _ = frame
        captured = len(octets)
        shift = _SHIFTS.get(link_type, captured)
        if not shift and octets[12:14] == _VLAN:
            shift = _VLAN_LENGTH
        least = ORDINARY_LENGTH + shift
        if captured >= least and link_type not in self.link_types:
            link_and_ip, total, fragment, flow, seq, ack, control = ordinary(octets, shift)
            at = shift + TCP_AT + (control >> 12) * 4
            end = shift + IPV4_AT + total
            if (
                link_and_ip & SERVICE == ETHERNET_IPV4
                and fragment & FRAGMENT_AND_PROTOCOL == WHOLE_TCP
                and least <= at <= end <= length
                and at <= captured
            ):
                payload = octets[at:end]
                return Segment(flow, seq, ack, control & 0xFF, payload, end - at, number, time_ns)
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
                    return tcp_segment(frame, headers)
                if key != FRAGMENT:
                    self._sctp(frame, headers)
                    return None
                whole = self._fragments.take(frame, headers)
                if whole is None:
                    return None
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
