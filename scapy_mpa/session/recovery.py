# SPDX-License-Identifier: GPL-2.0-or-later
"""From frames to the packets recovered from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.packet import NoPayload, Packet

from scapy_mpa.capture.decoder import Decoder
from scapy_mpa.capture.frame import Frame
from scapy_mpa.layers import FPDU, MPAReply, MPARequest
from scapy_mpa.session.provenance import Provenance
from scapy_mpa.stream.events import ConnectionEnded, Event, FPDURecovered, StartupSeen
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.limits import Limits
from scapy_mpa.wire.startup import StartupKind

__all__ = ["Recovery"]

Dissect = Callable[[Frame], Packet]


class Recovery:
    """The streams of one capture, and the packets recovered from them.

    :param dissect: makes a packet of a frame, with all lower layers.
    :param on_event: called with every event of the stream core.
    :param limits: what may be held in memory.
    """

    def __init__(
        self,
        dissect: Dissect,
        on_event: Callable[[Event], None] | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._dissect = dissect
        self._on_event = on_event
        self._flows = Flows(limits=limits)
        self._decoder = Decoder()
        self.frames = 0
        """Frames taken so far."""
        # For each direction the frame that brought octets last: its lower layers are those of
        # the next packet, which may come to light much later.
        self._last: dict[bytes, Frame] = {}

    def take(self, frame: Frame) -> tuple[list[Packet], bool]:
        """Take a frame.

        Return the packets that it completed, and whether the frame itself is another matter:
        it is not if its TCP payload belongs to MPA and is, or will be, part of such packets.
        """
        self.frames += 1
        segment = self._decoder.segment(frame)
        if segment is None:
            return [], True
        if segment.length:
            self._last[segment.flow] = frame
        packets = list(self._packets(self._flows.receive(segment), frame))
        is_mpa = bool(segment.length) and self._flows.carries_mpa(segment.flow)
        return packets, not (is_mpa or packets)

    def finish(self) -> list[Packet]:
        """Return the packets that the end of the capture brings to light."""
        return list(self._packets(self._flows.finish(), None))

    def _packets(self, events: list[Event], frame: Frame | None) -> Iterator[Packet]:
        for event in events:
            if self._on_event is not None:
                self._on_event(event)
            if isinstance(event, FPDURecovered):
                fpdu = FPDU(event.octets, phase=event.phase)
                yield self._stack(event, fpdu, frame)
            elif isinstance(event, StartupSeen):
                is_request = event.startup.kind is StartupKind.REQUEST
                layer = MPARequest if is_request else MPAReply
                yield self._stack(event, layer(event.octets), frame)
            elif isinstance(event, ConnectionEnded):
                for flow in event.connection.flows:
                    # But for the first frame of a connection that uses the same ports.
                    if self._last.get(flow) is not frame:
                        self._last.pop(flow, None)

    def _stack(
        self, event: FPDURecovered | StartupSeen, layer: Packet, frame: Frame | None
    ) -> Packet:
        """Put a recovered layer on the lower layers of the frame that completed it."""
        layer.provenance = Provenance.of(event)
        below = self._last.get(event.connection.flows[event.direction], frame)
        assert below is not None
        packet = self._dissect(below)
        tcp = packet.getlayer(TCP)
        if tcp is None:
            return layer
        tcp.remove_payload()
        # Lengths and checksums of the frame are not those of this packet.
        del tcp.chksum
        network = tcp.underlayer
        while network is not None and not isinstance(network, NoPayload):
            if isinstance(network, IP):
                del network.len
                del network.chksum
            elif isinstance(network, IPv6):
                del network.plen
            network = network.underlayer
        tcp.add_payload(layer)
        return packet
