# SPDX-License-Identifier: GPL-2.0-or-later
"""``sniff(session=MPASession)``: one packet for each startup frame and each FPDU.

Frames are read from the socket that ``sniff()`` uses.  :class:`Recovery` hands them to the stream
core, and :mod:`~scapy_mpa.session.packets` makes packets of its events.

Scapy's readers of capture files dissect each frame in full.  But the packets of most frames, which
carry octets of MPA, are never shown.  So only the records of such a reader are taken, and a packet
is made on request.  All other sockets hand out packets.

By default Scapy takes no more than 65535 octets of a frame.  The largest IP datagram has as many
without its link header, so more are asked for.  Frames that are passed on are whole then, too, as
with :func:`~scapy_mpa.session.rdmpa.rdmpa`; Scapy alone would cut them.
"""

from __future__ import annotations

import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import chain
from typing import Any, Final, TypeAlias

from scapy.config import conf
from scapy.consts import LINUX
from scapy.packet import Packet
from scapy.plist import PacketList
from scapy.sessions import DefaultSession
from scapy.supersocket import SuperSocket
from scapy.utils import EDecimal, PcapNgReader, PcapReader

from scapy_mpa.capture.followed import Followed
from scapy_mpa.capture.frame import MAXIMUM_CAPTURED, SNAP_LENGTH, Frame
from scapy_mpa.capture.pcap import LINK_TYPE_BITS
from scapy_mpa.session.dissect import (
    dissect,
    followed_type,
    layer_of_type,
    link_type_of,
    octets_of,
    packet_of,
    set_time,
)
from scapy_mpa.session.form import put
from scapy_mpa.session.lower import LowerLayers
from scapy_mpa.session.packets import Packets
from scapy_mpa.stream.clock import REMEMBERED, Clock
from scapy_mpa.stream.events import Event
from scapy_mpa.stream.limits import Limits, limits_of
from scapy_mpa.stream.segment import SECOND
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.forced import dialect_named
from scapy_mpa.wire.tcp import ACK, NOT_PSH

if LINUX:
    from scapy.arch.linux import L2Socket

_RECV_OF_FILES: Final = frozenset({PcapReader.recv, PcapNgReader.recv})


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

    Call :meth:`finish` if ``sniff()`` stops before the end, because of ``timeout``, ``count``,
    ``stop_filter``, ``AsyncSniffer.stop()`` or Ctrl-C: a session does not notice.

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
        self._captures: dict[SuperSocket, tuple[_Read, int, Recovery]] = {}
        self._waiting: dict[SuperSocket, Iterator[Packet]] = {}
        """Packets that ``sniff()`` has not taken yet."""
        self._not_followed: Counter[str] = Counter()
        """Counts of captures that have ended."""

    @property
    def not_followed(self) -> dict[str, int]:
        """The numbers of frames that were not followed, by reason ("not TCP", "IP fragment", ...).

        They cover all captures and interfaces so far, and are final when these have ended.
        Packets of a layer without a link type count as "link type -1".
        """
        counts = self._not_followed.copy()
        for *_, recovery in self._captures.values():
            counts += recovery.not_followed
        return dict(counts)

    def recv(self, sock: SuperSocket) -> Iterator[Packet]:
        """Yield the packets that the next frame of ``sock`` completes; of a file, the next few."""
        yield from self._waiting.get(sock, ())
        capture = self._captures.get(sock)
        if capture is None:
            capture = *_reading(sock, self.supersession), self._recovery()
            self._captures[sock] = capture
        read, in_a_row, recovery = capture
        for _ in range(in_a_row):
            try:
                found = read(recovery.clock.newest + 1)
            except Exception:
                # The capture has ended, or the interface has gone down.
                yield from self._end(sock)
                del self._waiting[sock]
                raise
            if found is None:
                return
            frame, packet = found
            packets, is_other = recovery.receive(frame)
            if is_other and self._others:
                packets.append(packet())
            if packets:
                waiting = self._waiting[sock] = iter(packets)
                yield from waiting

    def finish(self) -> PacketList:
        """End all captures that are still open, and return the packets that remain.

        ``on_event`` is called for the rest: FPDUs after holes, gaps, ends of connections.  Call it
        when ``sniff()`` has returned, or the thread of ``AsyncSniffer`` has ended.  If nothing
        remains, as when captures ended by themselves or after another call, the list is empty.
        """
        for sock in [*self._captures]:
            self._end(sock)
        packets = PacketList([*chain.from_iterable(self._waiting.values())], "Remaining")
        self._waiting.clear()
        return packets

    def _end(self, sock: SuperSocket) -> Iterator[Packet]:
        """End a capture, and return the packets of it that remain."""
        *_, recovery = self._captures.pop(sock)
        self._waiting[sock] = chain(self._waiting.get(sock, ()), recovery.finish())
        self._not_followed += recovery.not_followed
        return self._waiting[sock]


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
        self.packets = Packets(self._followed, on_event, check=check)

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


_Read: TypeAlias = Callable[[int], tuple[Frame, Callable[[], Packet]] | None]
"""Reads the next frame, given its number; returns it with a function that makes its packet.

None: there is no frame yet.  Raises EOFError if the capture has ended."""


def _reading(sock: SuperSocket, supersession: Any) -> tuple[_Read, int]:
    """Return a function that reads from a socket, and how many frames to read in a row.

    After these, ``sniff()`` is asked whether to go on.  To ask it after each frame takes longer; on
    a pipe the next frame may come late.

    :param supersession: a session that sees each packet first, or None.
    """
    _set_first_layer(sock)
    if not supersession and not conf.debug_dissector:
        if type(sock) is PcapReader:
            is_file = getattr(sock.f, "seekable", bool)()
            return _pcap_records(sock), 64 if is_file else 1
        if type(sock) is PcapNgReader:
            return _pcapng_records(sock), 1
    return _packets(sock, supersession), 1


def _set_first_layer(sock: SuperSocket) -> None:
    """Set the first layer of frames in a reader of a pcap file, if Scapy does not know it.

    Scapy takes all 32 bits of the field for the link type, and knows fewer link types.
    """
    if getattr(sock, "LLcls", None) is conf.raw_layer and isinstance(sock, PcapReader):
        sock.LLcls = layer_of_type(sock.linktype & LINK_TYPE_BITS)


def _packets(sock: SuperSocket, supersession: Any) -> _Read:
    """Take the packets that a socket dissects."""
    receive = _receiver(sock)
    link_type: Any = cache(link_type_of)

    def read(number: int) -> tuple[Frame, Callable[[], Packet]] | None:
        packet = receive()
        if packet is not None and supersession:
            packet = supersession.process(packet)
        if packet is None:
            return None
        octets: bytes = packet.original
        if supersession or not octets:
            # The session may have changed the packet.
            octets = octets_of(packet) or octets
        time_ns, length = int(packet.time * SECOND), max(packet.wirelen or 0, len(octets))
        frame = Frame(number, time_ns, link_type(type(packet)), octets, length, None)
        return frame, lambda: packet

    return read


def _receiver(sock: SuperSocket) -> Callable[[], Packet | None]:
    """Return the function that receives the next packet of a socket, whole if possible.

    Only sockets that are known to accept a number of octets are given one.
    """
    if type(sock).recv in _RECV_OF_FILES:
        return partial(sock.recv, MAXIMUM_CAPTURED)
    if LINUX and isinstance(sock, L2Socket):
        return partial(_receive_whole, sock)
    return sock.recv


def _receive_whole(sock: L2Socket) -> Packet | None:
    """Receive a frame into a buffer of its size.

    Frames of the loopback interface, and those merged by offload, are longer than Scapy's 65535
    octets.  Python takes a buffer of the requested size, and frees the part that the frame does not
    need.  Small objects then occupy some of that memory, and the next buffer does not fit in one
    piece.  Memory would grow to several times what is kept.  So the kernel is asked for the length
    first.
    """
    length = sock.ins.recv_into(bytearray(1), 1, socket.MSG_PEEK | socket.MSG_TRUNC)
    return sock.recv(min(length, SNAP_LENGTH))


# These two functions replace read_packet() of Scapy's readers, and call _read_packet().


def _pcap_records(reader: PcapReader) -> _Read:
    """Take the records of a pcap file."""
    layer = reader.LLcls
    link_type = followed_type(reader.linktype & LINK_TYPE_BITS, layer)
    unit = 1 if reader.nano else 1000
    layers = LowerLayers(lambda frame: packet_of(layer, frame.octets), whole=True)

    def read(number: int) -> tuple[Frame, Callable[[], Packet]]:
        octets, metadata = reader._read_packet(MAXIMUM_CAPTURED)
        time_ns = metadata.sec * SECOND + metadata.usec * unit
        length = max(metadata.wirelen, len(octets))
        frame = Frame(number, time_ns, link_type, octets, length, None)
        return frame, partial(packet, frame, metadata.wirelen)

    def packet(frame: Frame, wirelen: int) -> Packet:
        made, _ = layers.of(frame)
        set_time(made, frame)
        put(made, "wirelen", wirelen)
        return made

    return read


def _pcapng_records(reader: PcapNgReader) -> _Read:
    """Take the packet blocks of a pcapng file."""
    layers = LowerLayers(dissect, whole=True)
    link_type: Any = cache(lambda kind: followed_type(kind, layer_of_type(kind)))

    def read(number: int) -> tuple[Frame, Callable[[], Packet]]:
        octets, metadata = reader._read_packet(MAXIMUM_CAPTURED)
        if metadata.tshigh is None:
            # Scapy gives a packet without a time the current one.
            seconds: Any = time.time()
        else:
            seconds = EDecimal((metadata.tshigh << 32) + metadata.tslow) / metadata.tsresol
        time_ns, length = int(seconds * SECOND), max(metadata.wirelen, len(octets))
        frame = Frame(number, time_ns, link_type(metadata.linktype), octets, length, None)
        return frame, partial(packet, frame, seconds, metadata)

    def packet(frame: Frame, seconds: Any, metadata: Any) -> Packet:
        made, _ = layers.of(frame)
        made.time = seconds
        made.wirelen = metadata.wirelen
        made.comments = metadata.comments
        made.direction = metadata.direction
        made.process_information = metadata.process_information.copy()
        if metadata.ifname is not None:
            made.sniffed_on = metadata.ifname.decode("utf-8", "backslashreplace")
        return made

    return read
