# SPDX-License-Identifier: GPL-2.0-or-later
"""What a Scapy user may do with any packet: copy, stack, fuzz, print, compare."""

import copy
import doctest
import importlib
import json
import pkgutil
import random
import re
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP
from scapy.packet import Packet, Raw, fuzz
from scapy.sendrecv import sniff
from scapy.sessions import TCPSession
from scapy.supersocket import StreamSocket

from scapy_mpa import layers
from scapy_mpa.craft import Conversation
from scapy_mpa.layers.ddp import DDPTagged, DDPUntagged
from scapy_mpa.layers.fpdu import FPDU, MPAMarker
from scapy_mpa.layers.ift import IFTAdaptionIndication, IFTFrame
from scapy_mpa.layers.mpa import MPA, MPAReply, MPARequest, MPARtr
from scapy_mpa.layers.rdmap import (
    RDMAPAtomicRequest,
    RDMAPAtomicResponse,
    RDMAPReadRequest,
    RDMAPReadResponse,
    RDMAPSend,
    RDMAPSendWithSE,
    RDMAPWrite,
)
from scapy_mpa.layers.sctp import DDPSegmentChunk, DDPStreamSessionControl
from scapy_mpa.layers.terminate import RDMAPTerminate
from scapy_mpa.wire.errors import LocalProtocolError, RemoteProtocolError
from tests.layers.strategies import evaluated
from tests.layers.test_fpdu import SHOWN
from tests.truth import messages, mpastream

MESSAGES = [
    *(FPDU() / packet for packet in SHOWN.values()),
    FPDU() / DDPUntagged() / RDMAPSendWithSE(),
    FPDU() / DDPUntagged() / RDMAPTerminate(layer=1, etype=2, error_code=1),
    FPDU() / DDPUntagged() / RDMAPTerminate(layer=1, mirrored=True, ddp_header=DDPTagged()),
    FPDU(phase=0) / DDPUntagged() / RDMAPSend() / bytes(1000),
    FPDU(phase=508, markers=[MPAMarker(reserved=1)], crc=0) / DDPTagged() / RDMAPWrite(),
    FPDU(ulpdu_length=9, pad=b"ab", crc=b"c") / b"short",
    FPDU(dialect="softuiwarp") / DDPUntagged() / RDMAPSend() / b"odd",
    MPARequest(private_data=b"hello"),
    MPAReply(revision=2, s=1, a=1, ird=3, ord=4, private_data=b"hello"),
    IFTAdaptionIndication(vtag=7),
    IFTFrame(crcs="h") / DDPTagged() / RDMAPWrite() / b"x",
    DDPSegmentChunk(ddp_ssn=3) / DDPUntagged() / RDMAPSend() / b"hello",
    DDPStreamSessionControl(function_code=6, ird=4, ord=2, private_data=b"hello"),
]


@dataclass(frozen=True, slots=True)
class Found:
    """Stands for the provenance that a reader of captures gives."""

    connection: int
    frames: tuple[int, ...]
    crc: str = "good"


FOUND = Found(7, (1, 2))


def read_again(packet: Packet, octets: Any = None) -> Packet:
    """The packet, dissected from its octets, or from given ones."""
    given = {name: getattr(packet, name) for name in getattr(packet, "reads_with", ())}
    read: Packet = type(packet)(bytes(packet) if octets is None else octets, **given)
    return read


# Each packet


def is_rebuilt(packet: Packet) -> None:
    """Dissected octets of any kind are built again, and kept when those given are changed."""
    assert bytes(read_again(packet)) == bytes(packet)
    for kind in (bytearray, memoryview):
        octets = bytearray(bytes(packet))
        read = read_again(packet, kind(octets))
        assert read == read_again(packet)
        octets[:] = bytes(len(octets))
        assert bytes(read) == bytes(packet)


def is_copied(packet: Packet) -> None:
    """A copy builds the same, crafted or dissected, and is a packet of its own."""
    for original in (packet, read_again(packet)):
        assert bytes(original.copy()) == bytes(packet)
        assert bytes(copy.deepcopy(original)) == bytes(packet)
        assert original.copy() == original


def is_stacked(packet: Packet) -> None:
    """On TCP the same octets, counted and summed as payload."""
    stack = IP() / TCP() / packet
    assert bytes(stack)[40:] == bytes(packet)
    assert IP(bytes(stack)).len == 40 + len(bytes(packet))
    assert bytes(IP() / TCP() / read_again(packet)) == bytes(stack)


def is_typed_in(packet: Packet) -> None:
    """Its command gives the same octets, crafted or dissected."""
    assert bytes(evaluated(packet)) == bytes(packet)
    assert bytes(evaluated(read_again(packet))) == bytes(packet)


def is_several(packet: Packet) -> None:
    """Scapy's lists of values make several packets."""
    base = packet.copy()
    name = next(each for each in ("revision", "vtag", "ddp_ssn", "crc") if hasattr(packet, each))
    setattr(base, name, [1, 2, 3])
    assert [getattr(one, name) for one in base] == [1, 2, 3]
    assert len({bytes(one) for one in base}) == 3


def is_shown(packet: Packet) -> None:
    """``show()`` of what was read is ``show2()`` of what was crafted; JSON has the fields."""
    assert packet.show2(dump=True) == read_again(packet).show(dump=True)
    assert repr(packet).startswith(f"<{type(packet).__name__} ")
    for one in (packet, read_again(packet)):
        fields = json.loads(one.json())
        assert packet.fields_desc[0].name in fields
        assert "provenance" not in fields


def is_fuzzed(packet: Packet) -> None:
    """Buildable, printable, and what is computed stays right, as Keys do."""
    for seed in range(5):
        random.seed(seed)
        fuzzed = fuzz(packet)
        octets = bytes(fuzzed)
        fuzzed.show(dump=True)
        fuzzed.summary()
        repr(fuzzed)
        if isinstance(packet, (MPARequest, MPAReply)):
            assert octets[:16] == packet.key
        elif isinstance(packet, FPDU) and packet.crc is None and packet.dialect is None:
            assert FPDU(octets, phase=packet.phase).crc_verdict() == "good"


@pytest.mark.parametrize("packet", MESSAGES, ids=lambda packet: packet.summary())
def test_each_packet(packet: Packet) -> None:
    """All that is done with a packet."""
    for check in (
        *(is_rebuilt, is_copied, is_stacked, is_typed_in),
        *(is_several, is_shown, is_fuzzed),
    ):
        check(packet)


def test_copy_is_independent() -> None:
    """Its Markers and copied headers, too."""
    fpdu = read_again(FPDU(phase=0) / b"x")
    octets = bytes(fpdu)
    fpdu.copy().markers[0].reserved = 9
    assert bytes(fpdu) == octets
    message = RDMAPTerminate(ddp_header=DDPTagged())
    octets = bytes(message)
    message.copy().ddp_header.stag = 9
    assert bytes(message) == octets


SHORTEST = {
    name: int(said[1])
    for name in layers.__all__
    if (said := re.search(r"read from fewer than (\d+) octets", getattr(layers, name).__doc__))
}
"""What the documentation of layers says that they must be read from."""


@pytest.mark.parametrize("name", SHORTEST)
def test_too_few_octets(name: str) -> None:
    """They are an error of ours, which says how many there must be."""
    layer, octets = getattr(layers, name), bytes(SHORTEST[name] - 1)
    with pytest.raises(RemoteProtocolError, match=f"{SHORTEST[name]} octets, {len(octets)} are"):
        layer(octets)


# In a line


WRITE = mpastream.build_stream(messages.write(0xDEADBEEF, 0x1000, b"hello"))[0]
FRAME = bytes(IFTFrame(crcs="h") / DDPTagged() / RDMAPWrite() / b"x")
SUMMARIES: dict[str, Packet] = {
    # Length, CRC verdict, the place of the data, and the message as the RFC calls it.
    "MPA FPDU 19 octets, CRC good / DDP Tagged stag=0xdeadbeef to=0x1000 L"
    " / RDMA Write 5 octets / Raw": FPDU(WRITE),
    "MPA FPDU 0 octets, CRC unknown": FPDU(bytes(7)),
    # An FPDU alone cannot know that CRCs are off.
    "MPA FPDU 1 octet, CRC bad / Raw": FPDU(bytes(FPDU(crc=0) / b"x")),
    "MPA FPDU 1 octet, CRC off / Raw": (
        FPDU(bytes(FPDU(crc=0) / b"x"), provenance=Found(1, (2,), "off"))
    ),
    # A pad of another length than that of the dialect is not passed over.
    "MPA FPDU 21 octets, 3 octets of pad, CRC bad / Raw": FPDU(pad=bytes(3), crc=0) / bytes(21),
    "MPA FPDU 21 octets, CRC bad / Raw": FPDU(pad=bytes(1), crc=0) / bytes(21),
    "MPA FPDU 21 octets, softuiwarp / Raw": FPDU(pad=bytes(3), dialect="softuiwarp") / bytes(21),
    "MPA FPDU 21 octets, softuiwarp, 0 octets of pad / Raw": (
        FPDU(pad=b"", dialect="softuiwarp") / bytes(21)
    ),
    # What the two sides agree on.
    "MPA Request rev=1 M=0 C=1 R=0 S=0, 1 octet of Private Data": MPARequest(private_data=b"x"),
    "MPA Reply rev=2 M=1 C=1 R=1 S=1 ird=4 ord=8, 0 octets of Private Data": (
        MPAReply(revision=2, s=1, markers=1, rejected=1, ird=4, ord=8)
    ),
    # Other carriers.
    "IFT Adaption Indication phase 0 R HC PC VTag 0x0007": IFTAdaptionIndication(vtag=7),
    "IFT Frame 14 and 1 octets, VTag 0x0000, header CRC good, payload CRC off"
    " / DDP Tagged stag=0x0 to=0x0 L / RDMA Write 1 octet / Raw": IFTFrame(FRAME, crcs="h"),
    "DDP Stream Session Control Enhanced Accept ddp_ssn=0 ird=4 ord=2, 0 octets of Private Data": (
        DDPStreamSessionControl(function_code=6, ird=4, ord=2)
    ),
    "DDP Segment Chunk ddp_ssn=3 / DDP Untagged qn=0 msn=2 mo=0 L / Send 5 octets / Raw": (
        DDPSegmentChunk(ddp_ssn=3) / DDPUntagged(msn=2) / RDMAPSend() / b"hello"
    ),
}


@pytest.mark.parametrize("text", SUMMARIES)
def test_summaries(text: str) -> None:
    """What each has to say."""
    assert SUMMARIES[text].summary() == text


# Given


def request(**fields: Any) -> bytes:
    """A Request that asks for CRCs."""
    return mpastream.startup_frame(mpastream.REQUEST_KEY, crc=1, **fields)


def changed(packet: Packet, **fields: Any) -> Packet:
    """A packet that was read, with other values of some fields."""
    for name, value in fields.items():
        packet.setfieldval(name, value)
    return packet


READ_REQUEST = messages.read_request(3, 1, 2, 3, 4, 5)[0]
ENHANCED = mpastream.enhanced_data(1, 2)
PADDED = b"\x00\x07abc\xee"
GIVEN: list[tuple[Packet, bytes | str]] = [
    # The CRC of an FPDU covers what was given.  It is a number, or octets.
    (FPDU(ulpdu_length=7, pad=b"\xee") / b"abc", PADDED + mpastream.crc_field(PADDED)),
    (FPDU(ulpdu_length=7, pad=b"\xee", crc=0) / b"abc", PADDED + bytes(4)),
    (FPDU(crc=0x83992352), "0000 0000 52239983"),
    (FPDU(crc=bytes.fromhex("52239983")), "0000 0000 52239983"),
    (FPDU(dialect="erdma") / b"odd", bytes(FPDU() / b"odd")),
    # Enhanced data are left out, or put in, against the rule.
    (
        MPARequest(revision=2, s=1, enhanced=False, private_data=b"hi"),
        request(revision=2, enhanced=1, private_data=b"hi"),
    ),
    *(
        (MPARequest(**fields, ird=1, ord=2), request(**sent, private_data=ENHANCED))
        for fields, sent in (
            # A given number is sent.  S says so, unless it is given, too.
            ({"revision": 2}, {"revision": 2, "enhanced": 1}),
            ({"revision": 2, "s": 0}, {"revision": 2}),
        )
    ),
    # Unless ``enhanced`` says that there are none.
    (MPARequest(enhanced=False, ird=1, ord=2), request()),
    (
        changed(
            MPARequest(request(revision=2, enhanced=1, private_data=ENHANCED)),
            **{"enhanced": False, "s": 0, "pd_length": None},
        ),
        request(revision=2),
    ),
    (MPARequest(extension=b"12345678"), request()[:20] + b"12345678"),
    (DDPStreamSessionControl(function_code=5, enhanced=False), "0000 0005"),
    (DDPStreamSessionControl(function_code=1, enhanced=True, ird=1), "0000 0001 0001 0000"),
    # PD_Length stays as it was until it is cleared.
    *(
        (changed(MPARequest(request(private_data=b"hello")), private_data=b"hi", **fields), octets)
        for fields, octets in (
            ({}, request(pd_length=5, private_data=b"hi")),
            ({"pd_length": None}, request(private_data=b"hi")),
        )
    ),
    # Nothing is cut.
    (MPARequest(pd_length=7, private_data=b"hi"), request(pd_length=7, private_data=b"hi")),
    (MPARequest(private_data=bytes(65535)), request(private_data=bytes(65535))),
    (
        IFTFrame(payload_size=9, header_crc=1, crcs="h") / DDPUntagged() / RDMAPSend() / b"x",
        f"0012 0009 0000 4143 {'00' * 11} 01 {'00' * 4} 01000000 78",
    ),
    # Headers that a Terminate copies may be octets.  D needs the segment's length, which is that of
    # the copied headers (RFC 5040 figure 7).
    (RDMAPTerminate(ddp_header=b"abc"), "0000 c000 0003 616263"),
    (RDMAPTerminate(m=1, d=1, r=1), "0000 e000"),
    (RDMAPTerminate(ddp_segment_length=5, m=0), "0000 0000 0005"),
    (
        RDMAPTerminate(
            ddp_header=DDPUntagged(READ_REQUEST[:18]),
            rdmap_header=RDMAPReadRequest(READ_REQUEST[18:]),
        ),
        f"0000 e000 002e {READ_REQUEST.hex()}",
    ),
]


@pytest.mark.parametrize("at", range(len(GIVEN)), ids=lambda at: repr(GIVEN[at][0])[:60])
def test_given_values_are_sent_as_they_are(at: int) -> None:
    """Right or wrong."""
    packet, octets = GIVEN[at]
    assert bytes(packet) == (bytes.fromhex(octets) if isinstance(octets, str) else octets)


REFUSED: list[tuple[Callable[[], Packet], str]] = [
    (lambda: FPDU(crc=2**32), "crc"),
    (lambda: FPDU() / Raw(bytes(65536)), "65536 octets"),
    # Nobody knows where they belong.
    (lambda: FPDU(markers=[MPAMarker()]), "phase"),
    (lambda: FPDU(dialect="nobody"), "no dialect 'nobody'"),
    (lambda: MPARequest(private_data=bytes(65536)), "65536 octets"),
    (lambda: MPARequest(ird=70000), "ird 70000 does not fit its 14 bits"),
    (lambda: MPAReply(a=-1), "a -1 does not fit its 1 bits"),
    (lambda: DDPTagged(opcode=16), "opcode 16 does not fit its 4 bits"),
    (lambda: IFTFrame(crcs="x"), "crcs is 'x'"),
    (lambda: RDMAPTerminate(layer=16), "layer 16"),
    *(
        (lambda size=size: layers.RPCRDMAPrivateData(send_size=size), f"send_size {size}")
        for size in (0, 1, 1023, 1025, 257 * 1024)
    ),
]


@pytest.mark.parametrize(("make", "text"), REFUSED, ids=[text for _, text in REFUSED])
def test_values_that_do_not_fit(make: Callable[[], Packet], text: str) -> None:
    """They are an error when the packet is built, not when it is shown."""
    with pytest.raises((LocalProtocolError, ValueError), match=text):
        bytes(make())


# Fuzzed


@pytest.mark.parametrize("name", sorted({*layers.__all__} - {"MPA"}))
def test_every_layer_is_shown_when_fuzzed(name: str) -> None:
    """Values that are drawn anew each time have neither a format nor a hash."""
    fuzzed = fuzz(getattr(layers, name)())
    for text in (fuzzed.show(dump=True), fuzzed.summary(), repr(fuzzed)):
        assert text


# Provenance


CARRIERS = [
    *((FPDU, each) for each in (FOUND, (1, 3), [1, 2], "text", {"a": 1}, Raw(b"x"), range(3))),
    *((layer, FOUND) for layer in (MPARequest, MPAReply)),
]


@pytest.mark.parametrize(("layer", "found"), CARRIERS)
def test_provenance(layer: type[Packet], found: object) -> None:
    """It survives copying and stacking, and is found from below, whatever it is; it is shown in a
    line, and neither compared nor built, nor part of what made the packet."""
    packet, other = layer(bytes(layer())), layer(bytes(layer()))
    assert "provenance" not in packet.show(dump=True)
    packet.provenance = found
    stack = IP() / TCP() / packet
    for each in (packet, packet.copy(), stack[layer], stack.copy(), next(iter(stack)), *packet):
        assert each.provenance is found
    if found is FOUND:
        lines = [line for line in packet.show(dump=True).splitlines() if "provenance" in line]
        assert lines == ["  provenance= Found(connection=7, frames=(1, 2), crc='good')"]
    assert packet == other
    assert (packet != other) is False
    assert bytes(packet) == bytes(other)
    assert packet.command() == other.command()
    assert packet.json() == other.json()
    assert fuzz(other).provenance is None


def test_comparison_still_compares() -> None:
    """Fields, payloads and classes."""
    assert FPDU(crc=1) != FPDU(crc=2)
    assert FPDU() / b"a" != FPDU() / b"b"
    assert MPARequest() != MPAReply()
    assert MPARequest() != 5
    assert FPDU(phase=0, markers=[MPAMarker()]) == FPDU(phase=0, markers=[MPAMarker()])
    assert FPDU(dialect="softuiwarp") != FPDU()


# Imported


def test_import_is_cheap() -> None:
    """Neither all of Scapy nor one of its protocols is imported."""
    code = (
        "import sys, scapy_mpa.layers\n"
        "print([name for name in sys.modules"
        " if name == 'scapy.all' or name.startswith('scapy.layers.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def read_response(stag: int, to: int, size: int) -> Packet:
    """A segment of an RDMA Read Response."""
    return FPDU() / DDPTagged(stag=stag, to=to) / RDMAPReadResponse() / bytes(size)


def untagged(message: Packet) -> Packet:
    """An FPDU with an Untagged message."""
    return FPDU() / DDPUntagged() / message


READ = untagged(RDMAPReadRequest(sink_stag=5, sink_to=1000, rdma_read_size=300))
ATOMIC = untagged(RDMAPAtomicRequest(request_identifier=7))


ANSWERS = [
    (read_response(5, 1000, 300), READ, True),
    (read_response(5, 1200, 100), READ, True),
    (read_response(5, 1000, 0), READ, True),
    (read_response(5, 1200, 101), READ, False),
    (read_response(5, 999, 1), READ, False),
    (read_response(6, 1000, 300), READ, False),
    (read_response(5, 1000, 300), ATOMIC, False),
    (FPDU() / DDPTagged(stag=5, to=1000) / RDMAPWrite() / b"data", READ, False),
    (READ, READ, False),
    (untagged(RDMAPAtomicResponse(original_request_identifier=7)), ATOMIC, True),
    (untagged(RDMAPAtomicResponse(original_request_identifier=8)), ATOMIC, False),
    (untagged(RDMAPAtomicResponse(original_request_identifier=7)), READ, False),
    (untagged(RDMAPTerminate()), untagged(RDMAPTerminate()), False),
    (untagged(RDMAPSendWithSE() / b"pong"), untagged(RDMAPSend() / b"ping"), True),
    (untagged(RDMAPSend() / b"pong"), READ, False),
    *((MPAReply(), MPARequest(), True), (MPARtr(), MPAReply(), True)),
    *((each, MPARequest(), False) for each in (MPARequest(), MPARtr())),
    *((MPAReply(), each, False) for each in (MPAReply(), READ)),
]


@pytest.mark.parametrize("is_dissected", [False, True])
@pytest.mark.parametrize(("other", "request_", "wanted"), ANSWERS)
def test_answers(other: Packet, request_: Packet, wanted: bool, is_dissected: bool) -> None:
    """Responses answer their Requests, and what answers has the same hash."""
    if is_dissected:
        other, request_ = type(other)(bytes(other)), type(request_)(bytes(request_))
    assert other.answers(request_) == wanted
    assert not wanted or other.hashret() == request_.hashret()


MODULES = [f"{layers.__name__}.{module.name}" for module in pkgutil.iter_modules(layers.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    """They print what they say."""
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert not failed


# Streams without Markers, put together by Scapy's own means


SEND = bytes(FPDU() / DDPUntagged() / RDMAPSend() / b"one")
LONG = bytes(FPDU() / DDPTagged() / RDMAPWrite() / bytes(3000))


@pytest.mark.parametrize("mss", [7, 100, 1460, 9000])
def test_tcp_session(mss: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In pieces, or several in a segment: startup frames and FPDUs are there, each once."""
    ports = [({port: 4000}, MPA) for port in ("sport", "dport")]
    monkeypatch.setattr(TCP, "payload_guess", [*ports, *TCP.payload_guess])
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
        theirs.sendall(SEND + LONG[:9])
        target = DDPTagged(stag=request.sink_stag, to=request.sink_to)
        theirs.sendall(LONG[9:] + bytes(FPDU() / target / RDMAPReadResponse() / b"x"))

    peer = threading.Thread(target=answer)
    peer.start()
    with ours, theirs:
        read = RDMAPReadRequest(sink_stag=5, sink_to=9, rdma_read_size=1)
        response = StreamSocket(ours, MPA).sr1(
            FPDU() / DDPUntagged() / read, timeout=30, verbose=False
        )
        peer.join()
    assert response[RDMAPReadResponse].load == b"x"
