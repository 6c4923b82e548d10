# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes packets of events: the recovered layers, on the lower layers of a captured frame."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Final, TypeAlias

from scapy.config import conf
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.packet import NoPayload, Packet

from scapy_mpa.capture.build_frame import LARGEST_DATAGRAM
from scapy_mpa.capture.followed import Followed
from scapy_mpa.capture.frame import Frame
from scapy_mpa.capture.headers import IPV4
from scapy_mpa.capture.layers import read_headers
from scapy_mpa.capture.reason import NotFollowedError
from scapy_mpa.capture.reframe import Reframer
from scapy_mpa.session.dissect import dissect, packet_of, set_time
from scapy_mpa.session.form import stack
from scapy_mpa.session.lower import LowerLayers
from scapy_mpa.session.upper import UpperLayers, dissected
from scapy_mpa.stream.checks import Checks
from scapy_mpa.stream.events import (
    AdaptionIndicationSeen,
    ConnectionEnded,
    Event,
    FPDURecovered,
    IFTFrameRecovered,
    StartupSeen,
)
from scapy_mpa.stream.segment import Segment, reverse_flow
from scapy_mpa.stream.sequence import sequence_number
from scapy_mpa.wire.fpdu import LARGEST_MULPDU
from scapy_mpa.wire.tcp import FIN, TURNS

OnTcp: TypeAlias = FPDURecovered | StartupSeen | AdaptionIndicationSeen | IFTFrameRecovered
"""Events that become a packet."""

_LENGTHS_AND_CHECKSUMS = frozenset({"len", "plen", "length", "chksum"})
"""Fields of lower layers that Scapy computes from the layers above."""

_HEADERS: Final = 512
"""Octets that are kept of a frame, at most: room for link, network and TCP headers and a tunnel."""


class Packets:
    """Makes the packets of one capture.

    :param followed: its connections.
    :param on_event: called with every event.
    :param check: also report DDP segments and RDMAP messages that a receiver must not accept.
    """

    def __init__(
        self, followed: Followed, on_event: Callable[[Event], None] | None, *, check: bool
    ) -> None:
        self._decoder, self._flows = followed.decoder, followed.flows
        self._on_event = on_event
        self._checks = Checks() if check else None
        self._lower = LowerLayers(_lower_layers, whole=False)
        self._upper = UpperLayers()
        self.last: dict[bytes, Frame] = {}
        """The beginning of the last frame with octets of each flow.

        The next packet gets its lower layers, perhaps much later."""
        self._is_cut = False
        """Whether a snap length cut off octets of TCP payload."""

    def keep(self, frame: Frame, segment: Segment) -> None:
        """Keep the headers of a segment with octets, for the packets that these will give."""
        self.last[segment.flow] = frame._replace(octets=frame.octets[:_HEADERS])
        self._is_cut |= segment.length > len(segment.payload)

    def of(self, events: list[Event], frame: Frame | None = None) -> list[Packet]:
        """Report events, and return their packets.

        :param frame: the frame that brought the events, for flows that have no frame in
            :attr:`last`.
        """
        if self._checks is not None:
            events = list(chain.from_iterable(map(self._checks.take, events)))
        packets = []
        for event in events:
            if self._on_event is not None:
                self._on_event(event)
            if isinstance(event, OnTcp):
                flow = event.connection.flow
                below = self.last.get(reverse_flow(flow) if event.direction else flow, frame)
                assert below is not None
                packets.append(self._on_tcp(event, below))
            elif (
                isinstance(event, ConnectionEnded)
                # Another connection may use its ports already.
                and event.ending != "reused"
                and self._flows.carries_mpa(event.connection.flow) is None
            ):
                for flow in event.connection.flows:
                    self.last.pop(flow, None)
        return packets

    def _on_tcp(self, event: OnTcp, frame: Frame) -> Packet:
        """Return the packet of an event: a segment of its own, on the lower layers of a frame."""
        layer = self._upper.of(event) if isinstance(event, FPDURecovered) else dissected(event)
        packet, tcp = self._lower.of(frame)
        if tcp is None:
            return layer
        seq, sent = _extent(event)
        length = sent if self._is_cut else len(event.octets)
        tcp.fields["seq"] = seq
        flags = int(tcp.fields["flags"])
        if flags & TURNS:
            # A SYN or RST belongs to no FPDU, a FIN to the last FPDU of its segment.
            tcp.flags = flags & ~TURNS | FIN * self._is_fin_at(seq + length, frame)
        if length > len(event.octets) or (
            length > LARGEST_MULPDU and length + len(packet) > LARGEST_DATAGRAM
        ):
            packet, tcp = self._fitted(event, length, frame, tcp) or (packet, tcp)
        set_time(packet, frame)
        stack(tcp, layer)
        return packet

    def _is_fin_at(self, seq: int, frame: Frame) -> bool:
        """Return whether a frame has a FIN at this sequence number."""
        segment = self._decoder.segment(frame)
        return (
            segment is not None
            and bool(segment.flags & FIN)
            and not sequence_number(segment.seq + segment.length - seq)
        )

    def _fitted(
        self, event: OnTcp, length: int, frame: Frame, tcp: Packet
    ) -> tuple[Packet, Packet] | None:
        """Return lower layers with lengths that Scapy cannot compute, and their TCP layer.

        A snap length cut off some octets, or there are more than fit the length field of IP.
        """
        try:
            reframer = Reframer(frame, event.connection.flows[event.direction])
        except NotFollowedError:
            return None
        flags = int(tcp.flags) & 0xFF
        packet = _packet_with(
            reframer.frame(
                *(frame.number, frame.time_ns, tcp.seq, tcp.ack, flags, event.octets), length=length
            )
        )
        tcp = packet[TCP]
        tcp.remove_payload()
        return packet, tcp


def _lower_layers(frame: Frame) -> Packet:
    """Return the layers of a frame below MPA, without lengths and checksums."""
    packet = _packet_with(frame)
    tcp = packet.getlayer(TCP)
    if tcp is not None:
        _strip(tcp)
        # Scapy does not build all options as they were.
        del tcp.dataofs
    return packet


def _packet_with(frame: Frame) -> Packet:
    """Return the packet of a frame that has a segment.

    If Scapy finds none, the headers around the innermost IP packet are left out.
    """
    packet = dissect(frame)
    if packet.haslayer(TCP):
        return packet
    try:
        _, headers = read_headers(*frame[2:5])
    except NotFollowedError:
        return conf.raw_layer(frame.octets)
    kind, at, _ = headers.packets[-1]
    packet = packet_of(IP if kind == IPV4 else IPv6, frame.octets[at : headers.at])
    packet.lastlayer().add_payload(packet_of(TCP, frame.octets[headers.at : headers.captured_end]))
    return packet


def _strip(transport: Packet) -> None:
    """Remove the payload of TCP, and all lengths and checksums that cover it."""
    transport.remove_payload()
    del transport.chksum
    below = transport.underlayer
    while below is not None and not isinstance(below, NoPayload):
        for field in below.fields_desc:
            if field.name in _LENGTHS_AND_CHECKSUMS and field.default is None:
                below.delfieldval(field.name)
        below.wirelen = None
        below = below.underlayer


def _extent(event: OnTcp) -> tuple[int, int]:
    """Return the sequence number of the first octet, and how many octets were sent.

    An FPDU with a bad CRC was captured whole, though its ULPDU_Length may claim more.
    """
    if isinstance(event, StartupSeen):
        return event.seq, event.startup.length
    if isinstance(event, AdaptionIndicationSeen):
        return event.seq, len(event.octets)
    seq, _, before, claimed = event.place
    length = len(event.octets) if event.crc == "bad" else claimed
    return sequence_number(seq - before), length
