# SPDX-License-Identifier: GPL-2.0-or-later
"""DDP headers, and the RDMAP message above them (RFC 5041 4, RFC 5040 4, RFC 7306 5 and 6)."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.packet import Packet, Raw, bind_layers, split_layers

from scapy_mpa import layers
from scapy_mpa.layers import (
    FPDU,
    DDPTagged,
    DDPUntagged,
    RDMAPAtomicRequest,
    RDMAPAtomicResponse,
    RDMAPImmediateData,
    RDMAPImmediateDataWithSE,
    RDMAPReadRequest,
    RDMAPReadResponse,
    RDMAPSend,
    RDMAPSendWithInvalidate,
    RDMAPSendWithSE,
    RDMAPSendWithSEAndInvalidate,
    RDMAPWrite,
)
from scapy_mpa.wire import rdmap
from scapy_mpa.wire.ddp import parse_ddp
from tests.truth import mpastream
from tests.wire.test_rdmap import FIGURES

LAYERS = {
    getattr(layers, name)().name: getattr(layers, name)
    for name in layers.__all__
    if name.startswith("RDMAP")
}
MESSAGES = {LAYERS[name]: figure for *figure, name in FIGURES}
"""Opcode, T and QN of each (RFC 5040 figure 4, RFC 7306 figure 2)."""


@pytest.mark.parametrize("message", MESSAGES, ids=lambda layer: layer.__name__)
def test_header_below_a_message(message: type[Packet]) -> None:
    """Opcode and QN come from the message above unless they are given, right or wrong; the opcode
    chooses the message, also one without a single octet."""
    opcode, tagged, qn = MESSAGES[message]
    header = DDPTagged if tagged else DDPUntagged
    octets = bytes(header() / message())
    assert octets[:2] == bytes([0xC1 if tagged else 0x41, 0x40 | opcode])
    assert qn is None or int.from_bytes(octets[6:10], "big") == qn
    segment = header(octets)
    assert segment.layers() == [header, message]
    assert bytes(segment) == octets
    text = segment.show(dump=True)
    assert f"opcode    = {message().name}\n" in text and f"###[ {message().name} ]###" in text
    if message.shortest:
        assert header(octets[: header.shortest + message.shortest - 1]).layers() == [header, Raw]
    wrong = DDPUntagged if tagged else DDPTagged
    assert bytes(wrong() / message())[:2] == bytes([0x41 if tagged else 0xC1, 0x40 | opcode])
    below = header(opcode=15) if qn is None else header(opcode=15, qn=9)
    given = bytes(below / message())
    assert given[1] == 0x4F
    assert qn is None or given[6:10] == bytes([0, 0, 0, 9])


SHOWN: dict[str, Packet] = {
    "RDMA Write 4 octets": DDPTagged(stag=1, to=2) / RDMAPWrite() / b"data",
    "RDMA Read Request size=3 src_stag=0x4 src_to=0x5 sink_stag=0x1 sink_to=0x2": (
        DDPUntagged(msn=5)
        / RDMAPReadRequest(sink_stag=1, sink_to=2, rdma_read_size=3, src_stag=4, src_to=5)
    ),
    "DDP Tagged stag=0x1 to=0x2 / RDMA Read Response 1 octet": (
        DDPTagged(last=0, stag=1, to=2) / RDMAPReadResponse() / b"d"
    ),
    "Send 4 octets": DDPUntagged() / RDMAPSend() / b"data",
    "Send with Invalidate 4 octets, STag 0xa1a2a3a4": (
        DDPUntagged(invalidate_stag=0xA1A2A3A4) / RDMAPSendWithInvalidate() / b"data"
    ),
    "Send with SE 4 octets": DDPUntagged() / RDMAPSendWithSE() / b"data",
    "Send with SE and Invalidate 4 octets, STag 0xa1a2a3a4": (
        DDPUntagged(invalidate_stag=0xA1A2A3A4) / RDMAPSendWithSEAndInvalidate() / b"data"
    ),
    "DDP Untagged qn=1 msn=2 mo=3 L / Immediate Data 3132333435363738": (
        DDPUntagged(qn=1, msn=2, mo=3) / RDMAPImmediateData(immediate_data=b"12345678")
    ),
    "Immediate Data with SE 3132333435363738": (
        DDPUntagged() / RDMAPImmediateDataWithSE(immediate_data=b"12345678")
    ),
    "Atomic Request CmpSwap stag=0x2 to=0x3 id=0x1": (
        DDPUntagged()
        / RDMAPAtomicRequest(
            atomic_operation_code=2, request_identifier=1, remote_stag=2, remote_to=3
        )
    ),
    "Atomic Response id=0x1 value=0x2": (
        DDPUntagged()
        / RDMAPAtomicResponse(original_request_identifier=1, original_remote_data_value=2)
    ),
}
"""One of each by its part of a summary: the name in the RFC, with what matters of it, and of the
header where the payload belongs, and whether the message is complete with it."""


@pytest.mark.parametrize("summary", SHOWN)
def test_message(summary: str) -> None:
    """In an FPDU it is read layer by layer and field by field; what follows a header that is a
    whole message is not lost."""
    packet = SHOWN[summary]
    # As the tests' own maker of streams frames it.
    framed = mpastream.build_stream([bytes(packet)])[0]
    assert bytes(FPDU() / packet) == framed
    fpdu = FPDU(framed)
    assert fpdu.layers() == [FPDU, *packet.layers()]
    assert packet.getlayer(1).fields.items() <= fpdu.getlayer(2).fields.items()
    assert bytes(fpdu.payload) == bytes(packet)
    assert bytes(fpdu) == framed
    assert f" / {summary}" in f" / {fpdu.summary().removesuffix(' / Raw')}"
    more = type(packet)(bytes(packet) + b"more")
    assert more.lastlayer().load.endswith(b"more")
    assert bytes(more) == bytes(packet) + b"more"


class ULP(Packet):
    """An upper layer protocol of the tests."""

    name = "ULP"
    fields_desc = RDMAPImmediateData.fields_desc


def test_upper_layer_is_bound_for_all_sends() -> None:
    """Binding RDMAPSend is enough, as the four carry the same. It begins in the first segment."""
    bind_layers(RDMAPSend, ULP)
    try:
        for opcode in (3, 4, 5, 6):
            octets = bytes(DDPUntagged(opcode=opcode) / bytes(8))
            assert DDPUntagged(octets).layers()[2] is ULP
            later = bytes(DDPUntagged(opcode=opcode, mo=8) / bytes(8))
            assert DDPUntagged(later).layers()[2] is Raw
    finally:
        split_layers(RDMAPSend, ULP)


@given(st.binary(min_size=18, max_size=80))
def test_ddp_and_codec(octets: bytes) -> None:
    """The header, and RDMAP's control octet in it; built anew, it is the same octets."""
    header = parse_ddp(octets)
    segment = (DDPTagged if header.tagged else DDPUntagged)(octets)
    control = rdmap.parse_control(header.rsvdulp)
    assert (bool(segment.tagged), bool(segment.last)) == (header.tagged, header.last)
    assert (segment.reserved, segment.ddp_version) == (header.reserved, header.ddp_version)
    assert (segment.rdmap_version, segment.rdmap_reserved, segment.opcode) == control
    if header.tagged:
        assert (segment.stag, segment.to) == (header.stag, header.to)
    else:
        assert segment.invalidate_stag == header.rsvdulp_word
        assert (segment.qn, segment.msn, segment.mo) == (header.qn, header.msn, header.mo)
    # A reserved opcode, or one that does not go with this T bit, means no message.
    if [segment.opcode, header.tagged] not in [figure[:2] for figure in MESSAGES.values()]:
        assert segment.layers()[1:] == [Raw] * (len(octets) > header.length)
    assert bytes(segment) == octets
    segment.clear_cache()
    assert bytes(segment) == octets


PARSERS = [
    (RDMAPReadRequest, rdmap.parse_read_request),
    (RDMAPAtomicRequest, rdmap.parse_atomic_request),
    (RDMAPAtomicResponse, rdmap.parse_atomic_response),
    (RDMAPImmediateData, rdmap.parse_immediate_data),
]


@pytest.mark.parametrize(("layer", "parse"), PARSERS)
@given(data=st.data())
def test_rdmap_header(
    layer: type[Packet], parse: Callable[[bytes], Any], data: st.DataObject
) -> None:
    """The same names with the same values, and the same length."""
    octets = data.draw(st.binary(min_size=layer.shortest, max_size=layer.shortest))
    assert layer(octets).fields == parse(octets)._asdict()
    assert len(bytes(layer())) == layer.shortest
