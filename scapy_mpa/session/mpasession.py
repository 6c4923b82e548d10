# SPDX-License-Identifier: GPL-2.0-or-later
"""``sniff(session=MPASession)``: one packet for each startup frame and each FPDU.

A :class:`Source` reads frames from the socket that ``sniff()`` uses.  :class:`Recovery` hands them
to the stream core, and :mod:`~scapy_mpa.session.packets` makes packets of its events.

Scapy's readers of capture files dissect each frame in full.  But the packets of most frames, which
carry octets of MPA, are never shown.  So only the records of such a reader are taken, and a packet
is made on request.  All other sockets hand out packets.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cache, partial
from typing import Any, Protocol

from scapy.config import conf
from scapy.packet import Packet
from scapy.sessions import DefaultSession
from scapy.supersocket import SuperSocket
from scapy.utils import EDecimal, PcapNgReader, PcapReader

from scapy_mpa.capture.followed import Followed
from scapy_mpa.capture.frame import MAXIMUM_CAPTURED, Frame
from scapy_mpa.capture.pcap import LINK_TYPE_BITS
from scapy_mpa.session.dissect import (
    dissect,
    followed_type,
    layer_of_type,
    link_type_of,
    octets_of,
    packet_of,
)
from scapy_mpa.session.form import put
from scapy_mpa.session.lower import LowerLayers
from scapy_mpa.session.packets import Packets
from scapy_mpa.session.sockets import receiver, set_first_layer
from scapy_mpa.stream.clock import REMEMBERED, Clock
from scapy_mpa.stream.events import Event
from scapy_mpa.stream.limits import Limits, limits_of
from scapy_mpa.stream.segment import SECOND
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.forced import dialect_named
from scapy_mpa.wire.tcp import ACK, NOT_PSH


class MPASession(DefaultSession):
    """Recovers MPA startup frames and FPDUs from TCP streams while Scapy sniffs.

    Yields one packet for each, as ``Ether/IP/TCP/FPDU/DDPTagged/RDMAPWrite/...``, in order of
    recovery.  Its lower layers are those of the frame that completed it, changed to a segment of
    its own.  The sequence number is that of its first octet; lengths, checksums and ``wirelen``
    are to be computed.  So any tool can read the file that ``wrpcap()`` writes.
    ``packet[FPDU].provenance`` shows its origin
    (:class:`~scapy_mpa.session.provenance.Provenance`).  Frames whose TCP payload belongs to MPA
    are replaced by these packets; all others pass unchanged.

    >>> sniff(offline="capture.pcap", session=MPASession)              # doctest: +SKIP
    >>> sniff(offline="capture.pcap", session=MPASession(others=False))  # doctest: +SKIP

    Frames of DDP over SCTP pass unchanged.  Its events are reported.

    The streams of each capture file and each interface are separate.  Several files are read in
    turn, some dozen frames at a time.  An object serves one ``sniff()`` call; after it
    :attr:`not_followed` counts the frames that were not followed.

    :param others: whether frames that carry no MPA octets pass, too.
    :param on_event: called with every event of the stream core
        (:mod:`scapy_mpa.stream.events`): gaps, overlaps, errors and ends of connections are
        reported nowhere else.
    :param supersession: a session that sees each frame first, and may change it, such as Scapy's
        ``IPSession``.
    :param limits: limits of memory, for each capture and each interface.
    :param dialect: the dialect, by its name, where the octets do not show it.
    :param check: also call ``on_event`` for DDP segments and RDMAP messages that a receiver must
        not accept (:mod:`scapy_mpa.stream.checks`).
    :raises scapy_mpa.wire.errors.LocalProtocolError: there is no such dialect.
    :raises TypeError: ``limits`` is no :class:`Limits`.
    """

    def __init__(
        self,
        *,
        others: bool = True,
        on_event: Callable[[Event], None] | None = None,
        supersession: Any = None,
        limits: Limits | None = None,
        dialect: str | Dialect | None = None,
        check: bool = False,
    ) -> None:
        super().__init__(supersession)
        self._others = others
        named = dialect_named(dialect)
        self._recovery = partial(Recovery, on_event, limits_of(limits), named, check=check)
        self._captures: dict[SuperSocket, tuple[Source, Recovery]] = {}
        self._not_followed: Counter[str] = Counter()
        """Counts of captures that were read to their end."""

    @property
    def not_followed(self) -> dict[str, int]:
        """The numbers of frames that were not followed, by reason ("not TCP", "IP fragment", ...).

        They cover all captures and interfaces so far, and are final when ``sniff()`` has returned.
        Packets of a layer without a link type count as "link type -1".
        """
        counts = self._not_followed.copy()
        for _, recovery in self._captures.values():
            counts += recovery.not_followed
        return dict(counts)

    def recv(self, sock: SuperSocket) -> Iterator[Packet]:
        """Yield the packets that the next frame of ``sock`` completes; of a file, the next few."""
        capture = self._captures.get(sock)
        if capture is None:
            capture = _source_of(sock, self.supersession), self._recovery()
            self._captures[sock] = capture
        source, recovery = capture
        for _ in range(source.in_a_row):
            try:
                frame = source.read(recovery.clock.newest + 1)
            except Exception:
                # The capture has ended, or the interface has gone down.
                del self._captures[sock]
                packets = recovery.finish()
                self._not_followed += recovery.not_followed
                yield from packets
                raise
            if frame is None:
                return
            packets, is_other = recovery.receive(frame)
            yield from packets
            if is_other and self._others:
                yield source.packet()


class Recovery:
    """The streams of one capture, and the packets recovered from them.

    :param on_event: called with every event of the stream core.
    :param limits: limits of memory.
    :param dialect: the dialect that the user named, if any.
    :param check: also report DDP segments and RDMAP messages that a receiver must not accept.
    """

    def __init__(
        self,
        on_event: Callable[[Event], None] | None = None,
        limits: Limits | None = None,
        dialect: Dialect | None = None,
        *,
        check: bool = False,
    ) -> None:
        self._followed = Followed(lambda _, events: self.packets.of(events), limits, dialect)
        self._decoder, self._flows = self._followed.decoder, self._followed.flows
        self.clock = Clock()
        self.packets = Packets(self._decoder, self._flows, on_event, check=check)

    @property
    def not_followed(self) -> Counter[str]:
        """The numbers of frames that were not followed, by reason; final after :meth:`finish`."""
        return self._followed.not_followed

    def receive(self, frame: Frame) -> tuple[list[Packet], bool]:
        """Take a frame.

        Return the packets that it completed, and True if the frame itself may be shown as well.
        False: its TCP payload belongs to MPA, and is or will be part of such packets.
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
            return [], True
        flows = self._flows
        flow, seq, ack, flags, octets, length, number, time_ns = segment
        direction = flows.directions.get(flow)
        is_plain = flags & NOT_PSH == ACK and len(octets) == length
        try:
            if not (
                direction and is_plain and direction.receive(seq, ack, octets, number, time_ns)
            ):
                flows.take(segment)
        except Exception as error:
            # A fault of this program costs its connection and no other.
            flows.recovery.fail(segment, error)
        frame = self._decoder.whole or frame
        if length:
            self.packets.keep(frame, segment)
        packets = self.packets.of(flows.events(), frame) if flows.shared.rows else []
        if packets or not length:
            return packets, not packets
        carries_mpa = flows.carries_mpa(flow)
        if carries_mpa is None:
            # The octets belong to a connection that has ended.
            self.packets.last.pop(flow, None)
        return packets, not carries_mpa

    def finish(self) -> list[Packet]:
        """Return the packets that are certain only at the end of the capture."""
        packets = self.packets.of(self._flows.finish())
        for events in self._followed.sctp_ends():
            self.packets.of(events)
        return packets


class Source(Protocol):
    """Reads frame after frame."""

    def read(self, number: int) -> Frame | None:
        """Return the next frame, None if there is none yet.

        :param number: the number of the frame.
        :raises EOFError: the capture has ended.
        """

    def packet(self) -> Packet:
        """Return the packet of the last frame."""

    in_a_row: int = 1
    """Frames to read before ``sniff()`` is asked again whether to go on."""


def _source_of(sock: SuperSocket, supersession: Any) -> Source:
    """Return the source that reads from a socket.

    :param supersession: a session that sees each packet first, or None.
    """
    set_first_layer(sock)
    if not supersession and not conf.debug_dissector:
        if type(sock) is PcapReader:
            return _PcapRecords(sock)
        if type(sock) is PcapNgReader:
            return _PcapNgRecords(sock)
    return _Packets(sock, supersession)


class _Packets(Source):
    """Takes the packets that a socket dissects."""

    def __init__(self, sock: SuperSocket, supersession: Any) -> None:
        self._recv = receiver(sock)
        self._link_type: Any = cache(link_type_of)
        self._supersession = supersession
        self._packet: Packet | None = None

    def read(self, number: int) -> Frame | None:
        packet = self._recv()
        if packet is not None and self._supersession:
            packet = self._supersession.process(packet)
        self._packet = packet
        if packet is None:
            return None
        octets: bytes = packet.original
        if self._supersession or not octets:
            # The session may have changed the packet.
            octets = octets_of(packet) or octets
        return Frame(
            number,
            int(packet.time * SECOND),
            self._link_type(type(packet)),
            octets,
            max(packet.wirelen or 0, len(octets)),
            None,
        )

    def packet(self) -> Packet:
        assert self._packet is not None
        return self._packet


# These two classes replace read_packet() of Scapy's readers, and call _read_packet().


class _PcapRecords(Source):
    """Takes the records of a pcap file."""

    def __init__(self, reader: PcapReader) -> None:
        # To ask sniff() after each frame takes longer.  On a pipe the next frame may come late.
        self.in_a_row = 64 if getattr(reader.f, "seekable", bool)() else 1
        self._read = reader._read_packet
        self._link_type = followed_type(reader.linktype & LINK_TYPE_BITS, reader.LLcls)
        self._unit = 1 if reader.nano else 1000
        self._power = Decimal(10) ** Decimal(-9 if reader.nano else -6)
        layer = reader.LLcls
        self._layers = LowerLayers(lambda frame: packet_of(layer, frame.octets), whole=True)
        self._frame: Any = None
        self._metadata: Any = None

    def read(self, number: int) -> Frame:
        octets, metadata = self._read(MAXIMUM_CAPTURED)
        self._metadata = metadata
        length = max(metadata.wirelen, len(octets))
        time_ns = metadata.sec * SECOND + metadata.usec * self._unit
        self._frame = frame = Frame(number, time_ns, self._link_type, octets, length, None)
        return frame

    def packet(self) -> Packet:
        packet, _ = self._layers.of(self._frame)
        metadata = self._metadata
        put(packet, "time", EDecimal(metadata.sec + self._power * metadata.usec))
        put(packet, "wirelen", metadata.wirelen)
        return packet


class _PcapNgRecords(Source):
    """Takes the packet blocks of a pcapng file."""

    def __init__(self, reader: PcapNgReader) -> None:
        self._read = reader._read_packet
        self._layers = LowerLayers(dissect, whole=True)
        self._link_type = cache(lambda kind: followed_type(kind, layer_of_type(kind)))
        self._frame: Any = None
        self._time: Any = None
        self._metadata: Any = None

    def read(self, number: int) -> Frame | None:
        octets, metadata = self._read(MAXIMUM_CAPTURED)
        self._metadata = metadata
        if metadata.tshigh is None:
            # Scapy gives a packet without a time the current one.
            self._time = time.time()
        else:
            self._time = EDecimal((metadata.tshigh << 32) + metadata.tslow) / metadata.tsresol
        time_ns = int(self._time * SECOND)
        length, link_type = max(metadata.wirelen, len(octets)), self._link_type(metadata.linktype)
        self._frame = frame = Frame(number, time_ns, link_type, octets, length, None)
        return frame

    def packet(self) -> Packet:
        packet, _ = self._layers.of(self._frame)
        metadata = self._metadata
        packet.time = self._time
        packet.wirelen = metadata.wirelen
        packet.comments = metadata.comments
        packet.direction = metadata.direction
        packet.process_information = metadata.process_information.copy()
        if metadata.ifname is not None:
            packet.sniffed_on = metadata.ifname.decode("utf-8", "backslashreplace")
        return packet
