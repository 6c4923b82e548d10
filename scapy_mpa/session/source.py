# SPDX-License-Identifier: GPL-2.0-or-later
"""Where ``MPASession`` gets its frames from: whatever ``sniff()`` reads.

Scapy's readers of capture files dissect each frame in full.  Most frames only carry octets of
MPA, and nobody ever sees a packet of theirs, so of these readers only the records are taken; a
packet is made when it is asked for.  All other sockets hand out packets.

Scapy takes no more than 65535 octets of a frame unless it is asked for more, and the largest IP
datagram has as many without its link header.  So it is asked.  A frame that is passed on is then
whole, too, where Scapy alone would have cut it in silence: nobody wants less of it for having
``MPASession`` look at it, and :func:`~scapy_mpa.session.rdmpa.rdmpa` gives the same.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from scapy.config import conf
from scapy.consts import LINUX
from scapy.layers.inet import IP
from scapy.layers.inet6 import IPv6
from scapy.packet import Packet
from scapy.utils import EDecimal, PcapNgReader, PcapReader

from scapy_mpa.capture.frame import MAXIMUM_CAPTURED, SNAP_LENGTH, Frame, without_fcs
from scapy_mpa.capture.link import RAW_IP
from scapy_mpa.capture.link_types import LINK_TYPES
from scapy_mpa.capture.pcap import link_type_and_fcs
from scapy_mpa.session.form import put
from scapy_mpa.session.lower import LowerLayers
from scapy_mpa.stream.segment import SECOND

if LINUX:
    from scapy.arch.linux import L2Socket
if TYPE_CHECKING:
    from scapy.supersocket import SuperSocket


_RAW_IP: Final = 101
"""LINKTYPE_RAW: of the values for raw IP the one that Scapy knows on all systems."""


class Source(Protocol):
    """Reads frame after frame."""

    def read(self, number: int) -> Frame | None:
        """Return the next frame, None if there is none as yet.

        :param number: which the frame is to have.
        :raises EOFError: there will be no more.
        """

    def packet(self) -> Packet:
        """Return the packet of the last frame."""

    in_a_row: int = 1
    """How many frames are read before ``sniff()`` is asked again whether to go on."""


def source_of(sock: SuperSocket, supersession: Any) -> Source:
    """Return what reads from a socket.

    :param supersession: a session that is to see each packet first, or None.
    """
    if getattr(sock, "LLcls", None) is conf.raw_layer and isinstance(sock, PcapReader):
        # It takes all 32 bits for the link type, and knows fewer of these than are followed.
        sock.LLcls = _layer_of(link_type_and_fcs(sock.linktype)[0])
    if not supersession and not conf.debug_dissector:
        if type(sock) is PcapReader:
            return _PcapRecords(sock)
        if type(sock) is PcapNgReader:
            return _PcapNgRecords(sock)
    return _Packets(sock, supersession)


class _Packets(Source):
    """Takes what a socket dissects."""

    def __init__(self, sock: SuperSocket, supersession: Any) -> None:
        self._recv = _whole(sock)
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
            # A session may have changed what it was given.
            octets = _octets_of(packet) or octets
        return Frame(
            number,
            int(packet.time * SECOND),
            _link_type(type(packet)),
            octets,
            max(packet.wirelen or 0, len(octets)),
            None,
        )

    def packet(self) -> Packet:
        assert self._packet is not None
        return self._packet


def _octets_of(packet: Packet) -> bytes:
    """Return the octets of a packet that was not dissected, none if it cannot be built."""
    try:
        return bytes(packet)
    except Exception:
        # What is wrong with it is for those to say who want to send it; here it is passed on.
        return b""


def _whole(sock: SuperSocket) -> Callable[[], Packet | None]:
    """Return what receives the next packet of a socket, with all octets that it can give.

    Where nothing tells that a number would be taken for one of octets, none is given.
    """
    if type(sock).recv in _RECV_OF_FILES:
        return partial(sock.recv, MAXIMUM_CAPTURED)
    if LINUX and isinstance(sock, L2Socket):
        return partial(_receive_whole, sock)
    return sock.recv


def _receive_whole(sock: L2Socket) -> Packet | None:
    """Receive a frame with room for what it has, and no more.

    Frames of the loopback interface, and those merged by offload, are longer than Scapy's 65535
    octets.  To receive, Python takes room for as many octets as are asked for, and gives back what
    the frame does not need.  Small objects that are kept then take a part of that room, and the
    next frame does not find as much in one piece.  So memory would grow by several times what is
    kept, and the kernel is asked for the length first.
    """
    length = sock.ins.recv_into(bytearray(1), 1, socket.MSG_PEEK | socket.MSG_TRUNC)
    return sock.recv(min(length, SNAP_LENGTH))


_RECV_OF_FILES: Final = frozenset({PcapReader.recv, PcapNgReader.recv})

# What follows does by itself what read_packet() of Scapy's readers does around _read_packet().


class _PcapRecords(Source):
    """Takes the records of a pcap file."""

    def __init__(self, reader: PcapReader) -> None:
        # To be asked after each frame takes longer; on a pipe the next frame may be a while away.
        self.in_a_row = 64 if getattr(reader.f, "seekable", bool)() else 1
        self._read = reader._read_packet
        link_type, self._fcs = link_type_and_fcs(reader.linktype)
        self._link_type = _followed(link_type, reader.LLcls)
        self._unit = 1 if reader.nano else 1000
        self._power = Decimal(10) ** Decimal(-9 if reader.nano else -6)
        layer = reader.LLcls
        self._layers = LowerLayers(lambda frame: _packet_of(layer, frame.octets), whole=True)
        self._frame: Frame | None = None
        self._metadata: Any = None

    def read(self, number: int) -> Frame:
        octets, self._metadata = self._read(MAXIMUM_CAPTURED)
        seconds, fraction, length, _ = self._metadata
        captured = len(octets)
        if length < captured:
            length = captured
        if self._fcs:
            octets, length = without_fcs(octets, length, self._fcs)
        time_ns = seconds * SECOND + fraction * self._unit
        # What the class itself would do, without the call of its __new__ in Python.
        self._frame = tuple.__new__(Frame, (number, time_ns, self._link_type, octets, length, None))
        return self._frame

    def packet(self) -> Packet:
        assert self._frame is not None
        packet, _ = self._layers.of(self._frame)
        seconds, fraction, wirelen, _ = self._metadata
        put(packet, "time", EDecimal(seconds + self._power * fraction))
        put(packet, "wirelen", self._frame.original_length if self._fcs else wirelen)
        return packet


class _PcapNgRecords(Source):
    """Takes the packet blocks of a pcapng file.

    Scapy does not tell which frames end with a Frame Check Sequence.  That is no part of a segment
    but where IP gives no length.
    """

    def __init__(self, reader: PcapNgReader) -> None:
        self._read = reader._read_packet
        self._layers = LowerLayers(self._dissect, whole=True)
        self._frame: Frame | None = None
        self._time: Any = None
        self._metadata: Any = None

    def read(self, number: int) -> Frame | None:
        octets, self._metadata = self._read(MAXIMUM_CAPTURED)
        link_type, resolution, high, low, wirelen, *_ = self._metadata
        # A packet that is given no time has that of its making.
        self._time = time.time() if high is None else EDecimal((high << 32) + low) / resolution
        link_type = _followed(link_type, _layer_of(link_type))
        length = max(wirelen, len(octets))
        self._frame = Frame(number, int(self._time * SECOND), link_type, octets, length, None)
        return self._frame

    def packet(self) -> Packet:
        assert self._frame is not None
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

    def _dissect(self, frame: Frame) -> Packet:
        return _packet_of(_layer_of(self._metadata[0]), frame.octets)


def dissect(frame: Frame) -> Packet:
    """Return the packet that Scapy makes of a frame."""
    packet = _packet_of(_layer_of(frame.link_type), frame.octets)
    packet.time = frame.time_ns / SECOND
    packet.wirelen = frame.original_length
    return packet


def _packet_of(layer: type[Packet], octets: bytes) -> Packet:
    try:
        return layer(octets)
    except Exception:
        if conf.debug_dissector:
            raise
        # As Scapy itself does with what it cannot dissect.
        return conf.raw_layer(octets)


def _layer_of(link_type: int) -> type[Packet]:
    """Return the layer that frames of a link type begin with, that of raw octets if there is none.

    :param link_type: LINKTYPE_ value.
    """
    layers = conf.l2types.num2layer
    if link_type not in layers and link_type in RAW_IP:
        link_type = _RAW_IP
    layer: type[Packet] = layers.get(link_type, conf.raw_layer)
    return layer


def _followed(link_type: int, layer: type[Packet]) -> int:
    """Return the LINKTYPE_ value by which frames of a file are read.

    It is that of the file, unless only Scapy knows what such frames begin with: people bind layers
    to link types of their own.

    :param layer: which that is.
    """
    if link_type not in LINK_TYPES:
        known = _link_type(layer)
        if known in LINK_TYPES:
            return known
    return link_type


def _link_type(layer: type[Packet]) -> int:
    """Return the LINKTYPE_ value of frames that begin with a layer, -1 if there is none."""
    if issubclass(layer, (IP, IPv6)):
        return _RAW_IP
    return int(conf.l2types.layer2num.get(layer, -1))
