# SPDX-License-Identifier: GPL-2.0-or-later
"""Streams without Markers, put together by Scapy's own means."""

from __future__ import annotations

import socket
import threading
from collections import Counter
from collections.abc import Iterator

import pytest
from scapy.layers.inet import TCP
from scapy.packet import Packet, bind_layers, split_layers
from scapy.sendrecv import sniff
from scapy.sessions import TCPSession
from scapy.supersocket import StreamSocket

from scapy_mpa.craft import Conversation
from scapy_mpa.layers import (
    FPDU,
    MPA,
    DDPTagged,
    DDPUntagged,
    MPAReply,
    MPARequest,
    RDMAPReadRequest,
    RDMAPReadResponse,
    RDMAPSend,
    RDMAPWrite,
)

SEND = bytes(FPDU() / DDPUntagged() / RDMAPSend() / b"one")
WRITE = bytes(FPDU() / DDPTagged() / RDMAPWrite() / bytes(3000))


@pytest.fixture
def bound() -> Iterator[None]:
    """The port of a conversation is known."""
    for port in ("sport", "dport"):
        bind_layers(TCP, MPA, **{port: 4000})
    yield
    for port in ("sport", "dport"):
        split_layers(TCP, MPA, **{port: 4000})


@pytest.mark.parametrize("mss", [7, 100, 1460, 9000])
def test_tcp_session(mss: int, bound: None) -> None:
    """In pieces, or several in a segment: startup frames and FPDUs are there, each once."""
    conversation = Conversation(mss=mss, packing="stream", mulpdu=700)
    conversation.initiator.send(b"question")
    conversation.initiator.write(bytes(2000), stag=7)
    conversation.responder.send(b"answer")
    found: Counter[type[Packet]] = Counter()
    for packet in sniff(offline=conversation.packets(), session=TCPSession, quiet=True):
        found.update(packet.layers())
        assert "CRC bad" not in packet.summary()
    wanted = {MPARequest: 1, MPAReply: 1, FPDU: 5, RDMAPSend: 2, RDMAPWrite: 3}
    assert {kind: found[kind] for kind in wanted} == wanted


def test_stream_socket() -> None:
    """``sr1()`` finds the Response among other FPDUs."""
    ours, theirs = socket.socketpair()

    def answer() -> None:
        request = FPDU(theirs.recv(1000))[RDMAPReadRequest]
        theirs.sendall(SEND + WRITE[:9])
        target = DDPTagged(stag=request.sink_stag, to=request.sink_to)
        theirs.sendall(WRITE[9:] + bytes(FPDU() / target / RDMAPReadResponse() / b"x"))

    peer = threading.Thread(target=answer)
    peer.start()
    with ours, theirs:
        read = RDMAPReadRequest(sink_stag=5, sink_to=9, rdma_read_size=1)
        response = StreamSocket(ours, MPA).sr1(
            FPDU() / DDPUntagged() / read, timeout=30, verbose=False
        )
        peer.join()
    assert response[RDMAPReadResponse].load == b"x"
