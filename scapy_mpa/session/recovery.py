# SPDX-License-Identifier: GPL-2.0-or-later
"""From frames to the packets recovered from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import chain
from typing import get_args

from scapy.config import conf
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.layers.sctp import SCTP
from scapy.packet import NoPayload, Packet

from scapy_mpa.capture.build_frame import LARGEST_DATAGRAM
from scapy_mpa.capture.decoder import Decoder
from scapy_mpa.capture.frame import Frame
from scapy_mpa.capture.headers import IPV4, LINK, RAW_IP_HEADER
from scapy_mpa.capture.headers import TCP as TCP_HEADER
from scapy_mpa.capture.layers import read_headers
from scapy_mpa.capture.reason import NotFollowedError
from scapy_mpa.capture.reframe import Reframer
from scapy_mpa.capture.tcp import tcp_segment
from scapy_mpa.capture.unfollowed import unfollowed
from scapy_mpa.dialects import other_framings
from scapy_mpa.dialects.sctp.associations import Associations
from scapy_mpa.dialects.sctp.packet import SctpPacket
from scapy_mpa.layers.pickled import pickle_whole
from scapy_mpa.session.form import put, stack
from scapy_mpa.session.last_frames import LastFrames
from scapy_mpa.session.lower import LowerLayers
from scapy_mpa.session.recovered import OnSctp, OnTcp, chunk_of, extent, layer_of
from scapy_mpa.session.upper import UpperLayers
from scapy_mpa.stream.checks import Checks
from scapy_mpa.stream.clock import REMEMBERED, Clock
from scapy_mpa.stream.events import ConnectionEnded, Event, FPDURecovered
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.limits import Limits
from scapy_mpa.stream.segment import FIN, SECOND, TURNS, Segment, reverse_flow
from scapy_mpa.stream.sequence import sequence_number
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.fpdu import LARGEST_MULPDU
from scapy_mpa.wire.sctp_packet import ChunkType

_ON_TCP = get_args(OnTcp)
_ON_SCTP = get_args(OnSctp)
_OF_PAYLOAD = frozenset({"len", "plen", "length", "chksum"})
"""Fields of the layers below that Scapy fills in by what lies above."""
PACKETS = (*_ON_TCP, *_ON_SCTP)
"""Events of which there is a packet."""


class Recovery:
    """The streams of one capture, and the packets recovered from them.

    :param dissect: makes a packet of a frame, with all lower layers.
    :param on_event: called with every event of the stream core.
    :param limits: what may be held in memory.
    :param dialect: what the user says is spoken.
    :param check: report what DDP and RDMAP must not accept, too.
    """

    def __init__(
        self,
        dissect: Callable[[Frame], Packet],
        on_event: Callable[[Event], None] | None = None,
        limits: Limits | None = None,
        dialect: Dialect | None = None,
        *,
        check: bool = False,
    ) -> None:
        self._dissect = dissect
        self._lower = LowerLayers(self._below, whole=False)
        self._upper = UpperLayers()
        self._on_event = on_event
        self._checks = Checks() if check else None
        self._flows = Flows(limits=limits, dialect=dialect, others=other_framings())
        self._associations = Associations(self._flows.take_number, limits, dialect)
        self._sctp: list[SctpPacket] = []
        """What the decoder has found in place of a segment, one at most."""
        self._decoder = Decoder(self._sctp.append, dissect=self._segment)
        self.clock = Clock()
        self._last = LastFrames()
        self._is_cut = False
        """Whether a snap length has cut off octets of TCP payload."""

    @property
    def not_followed(self) -> Counter[str]:
        """The numbers of frames that were not followed, by reason; final when it has finished."""
        return unfollowed(self._decoder, self._flows, self._associations)

    def receive(self, frame: Frame) -> tuple[list[Packet], bool]:
        """Take a frame.

        Return the packets that it brought to light, and whether the frame itself is another matter:
        it is not if its TCP payload belongs to MPA and is, or will be, part of such packets.
        """
        clock, number = self.clock, frame.number
        if not clock.newest:
            clock.begin_ns = frame.time_ns
        if number >= clock.room:
            clock.make_room(number)
        clock.times[number % REMEMBERED] = frame.time_ns
        clock.newest = number
        segment = self._decoder.segment(frame)
        if segment is None:
            return self._receive_packet(self._sctp.pop(), frame) if self._sctp else ([], True)
        segment = self._flows.take(segment)
        frame = self._decoder.whole or frame
        flow = segment.flow
        if segment.length:
            last = self._last
            last[flow] = frame
            last.room -= segment.length
            if last.room < 0:
                last.let_go(flow)
            self._is_cut |= segment.length > len(segment.payload)
        events = self._flows.events() if self._flows.shared.rows else None
        packets = self._packets(events, frame) if events else []
        if packets or not segment.length:
            return packets, not packets
        carries_mpa = self._flows.carries_mpa(flow)
        if carries_mpa is None:
            # Octets of a connection that was ended.
            self._last.pop(flow, None)
        return packets, not carries_mpa

    def _below(self, frame: Frame) -> Packet:
        """Return the layers of a frame below MPA, without what is true only with it."""
        packet = self._with_tcp(frame)
        tcp = packet.getlayer(TCP)
        if tcp is not None:
            _strip(tcp)
        return packet

    def _with_tcp(self, frame: Frame) -> Packet:
        packet = self._dissect(frame)
        return packet if packet.haslayer(TCP) else _innermost(frame)

    def _segment(self, frame: Frame) -> Segment | None:
        """Return the segment of a frame of whose headers only Scapy knows some, if it has one."""
        tcp = self._dissect(frame).getlayer(TCP)
        if tcp is None or not isinstance(tcp.underlayer, (IP, IPv6)):
            return None
        octets = tcp.underlayer.original
        try:
            key, headers = read_headers(RAW_IP_HEADER - LINK, octets, len(octets))
            return tcp_segment(frame, headers) if key == TCP_HEADER else None
        except NotFollowedError:
            return None

    def _receive_packet(self, packet: SctpPacket, frame: Frame) -> tuple[list[Packet], bool]:
        """Receive an SCTP packet, as :meth:`receive` does a frame."""
        packets = self._packets(self._associations.receive(packet), frame)
        has_data = any(chunk.type == ChunkType.DATA for chunk in packet.chunks)
        return packets, not (packets or (has_data and self._associations.carries_ddp(packet.flow)))

    def finish(self) -> list[Packet]:
        """Return the packets that the end of the capture brings to light."""
        packets = self._packets(self._flows.finish())
        for events in self._associations.ends():
            packets += self._packets(events)
        return packets

    def _packets(self, events: list[Event], frame: Frame | None = None) -> list[Packet]:
        """Report events, and return their packets.

        :param frame: brought the events; over TCP the one that brought octets last comes first.
        """
        if self._checks is not None:
            events = list(chain.from_iterable(map(self._checks.take, events)))
        packets = []
        for event in events:
            if self._on_event is not None:
                self._on_event(event)
            if isinstance(event, _ON_TCP):
                flow = event.connection.flow
                below = self._last.get(reverse_flow(flow) if event.direction else flow, frame)
                assert below is not None
                packets.append(self._on_tcp(event, below))
            elif isinstance(event, _ON_SCTP):
                assert frame is not None
                packets.append(self._on_sctp(event, frame))
            elif (
                isinstance(event, ConnectionEnded)
                # Another connection may have its ports by now.
                and self._flows.carries_mpa(event.connection.flow) is None
            ):
                for flow in event.connection.flows:
                    self._last.pop(flow, None)
        return packets

    def _on_tcp(self, event: OnTcp, frame: Frame) -> Packet:
        """Put what was recovered on the lower layers of a frame, as a segment of its own."""
        layer = self._upper.of(event) if isinstance(event, FPDURecovered) else layer_of(event)
        packet, tcp = self._lower.of(frame)
        if tcp is None:
            return layer
        seq, sent = extent(event)
        length = sent if self._is_cut else len(event.octets)
        tcp.fields["seq"] = seq
        flags = int(tcp.fields["flags"])
        if flags & TURNS:
            # A SYN and a RST belong to no FPDU, and a FIN to the last one of its segment.
            tcp.flags = flags & ~TURNS | FIN * self._is_fin_at(seq + length, frame)
        if length > len(event.octets) or (
            length > LARGEST_MULPDU and length + len(packet) > LARGEST_DATAGRAM
        ):
            packet, tcp = self._fitted(event, length, frame, tcp) or (packet, tcp)
        put(packet, "time", frame.time_ns / SECOND)
        stack(tcp, layer)
        return packet

    def _is_fin_at(self, seq: int, frame: Frame) -> bool:
        """Tell whether a frame has a FIN, and at this sequence number."""
        segment = self._decoder.segment(frame)
        return (
            segment is not None
            and bool(segment.flags & FIN)
            and not sequence_number(segment.seq + segment.length - seq)
        )

    def _fitted(
        self, event: OnTcp, length: int, frame: Frame, tcp: Packet
    ) -> tuple[Packet, Packet] | None:
        """Return lower layers with lengths that Scapy cannot compute, and TCP without options.

        Some octets were cut off, or there are more than IP can count.
        """
        try:
            reframer = Reframer(frame, event.connection.flows[event.direction])
        except NotFollowedError:
            return None
        flags = int(tcp.flags) & 0xFF
        packet = self._with_tcp(
            reframer.frame(
                *(frame.number, frame.time_ns, tcp.seq, tcp.ack, flags, event.octets), length=length
            )
        )
        tcp = packet[TCP]
        tcp.remove_payload()
        return packet, tcp

    def _on_sctp(self, event: OnSctp, frame: Frame) -> Packet:
        """Put a user message on the lower layers of the frame that completed it."""
        chunk = chunk_of(event)
        packet = self._dissect(frame)
        sctp = packet.getlayer(SCTP)
        if sctp is None:
            return chunk
        _strip(sctp)
        sctp.add_payload(chunk)
        return packet


def _innermost(frame: Frame) -> Packet:
    """Return the IP packet of a frame in which Scapy finds none, without the headers around it."""
    try:
        _, headers = read_headers(*frame[2:5])
    except NotFollowedError:
        return conf.raw_layer(frame.octets)
    kind, at, _ = headers.packets[-1]
    return (IP if kind == IPV4 else IPv6)(frame.octets[at : headers.stop])


def _strip(transport: Packet) -> None:
    """Take away what lies above TCP or SCTP, lengths, and checksums that cover it."""
    transport.remove_payload()
    del transport.chksum
    pickle_whole(type(transport))
    below = transport.underlayer
    while below is not None and not isinstance(below, NoPayload):
        pickle_whole(type(below))
        for field in below.fields_desc:
            if field.name in _OF_PAYLOAD and field.default is None:
                below.delfieldval(field.name)
        below.wirelen = None
        below = below.underlayer
