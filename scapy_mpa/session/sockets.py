# SPDX-License-Identifier: GPL-2.0-or-later
"""Has Scapy's sockets and file readers return whole frames, with the right first layer.

By default Scapy takes no more than 65535 octets of a frame.  The largest IP datagram has as many
without its link header, so more are asked for.  Frames that are passed on are whole then, too, as
with :func:`~scapy_mpa.session.rdmpa.rdmpa`; Scapy alone would cut them.
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
from scapy_mpa.capture.pcap import LINK_TYPE_BITS
from scapy_mpa.session.dissect import layer_of_type

if LINUX:
    from scapy.arch.linux import L2Socket

_RECV_OF_FILES: Final = frozenset({PcapReader.recv, PcapNgReader.recv})


def set_first_layer(sock: SuperSocket) -> None:
    """Set the first layer of frames in a reader of a pcap file, if Scapy does not know it.

    Scapy takes all 32 bits of the field for the link type, and knows fewer link types.
    """
    if getattr(sock, "LLcls", None) is conf.raw_layer and isinstance(sock, PcapReader):
        sock.LLcls = layer_of_type(sock.linktype & LINK_TYPE_BITS)


def receiver(sock: SuperSocket) -> Callable[[], Packet | None]:
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
