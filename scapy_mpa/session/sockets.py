# SPDX-License-Identifier: GPL-2.0-or-later
"""What Scapy reads frames from, made to give them whole and to name what they begin with.

Scapy takes no more than 65535 octets of a frame unless it is asked for more, and the largest IP
datagram has as many without its link header.  So it is asked.  A frame that is passed on is whole
then, too, where Scapy alone would have cut it.  :func:`~scapy_mpa.session.rdmpa.rdmpa` does the
same.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from functools import partial
from typing import Final

from scapy.config import conf
from scapy.consts import LINUX
from scapy.packet import Packet
from scapy.supersocket import SuperSocket
from scapy.utils import PcapNgReader, PcapReader

from scapy_mpa.capture.frame import MAXIMUM_CAPTURED, SNAP_LENGTH
from scapy_mpa.capture.pcap import link_type_and_fcs
from scapy_mpa.session.dissect import layer_of_type

if LINUX:
    from scapy.arch.linux import L2Socket

_RECV_OF_FILES: Final = frozenset({PcapReader.recv, PcapNgReader.recv})


def name_layer(sock: SuperSocket) -> None:
    """Have a reader of a pcap file name the layer that frames begin with, if only we know it.

    It takes all 32 bits for the link type, and knows fewer of these than are followed.
    """
    if getattr(sock, "LLcls", None) is conf.raw_layer and isinstance(sock, PcapReader):
        sock.LLcls = layer_of_type(link_type_and_fcs(sock.linktype)[0])


def whole(sock: SuperSocket) -> Callable[[], Packet | None]:
    """Return what receives the next packet of a socket, with all octets that it can give.

    A number of octets is given only to sockets that are known to take one.
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
