# SPDX-License-Identifier: GPL-2.0-or-later
"""RDMAP messages, each written down by hand from its figure (RFC 5040 4, RFC 7306 5 and 6)."""

import pytest
from scapy.packet import Packet, bind_layers, split_layers

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
from tests.truth import mpastream

MESSAGES: list[tuple[Packet, str]] = [
    (DDPTagged(stag=1, to=2) / RDMAPWrite() / b"data", "RDMA Write 4 octets"),
    (
        DDPUntagged(msn=5)
        / RDMAPReadRequest(sink_stag=1, sink_to=2, rdma_read_size=3, src_stag=4, src_to=5),
        "RDMA Read Request size=3 src_stag=0x4 src_to=0x5 sink_stag=0x1 sink_to=0x2",
    ),
    (DDPTagged(last=0) / RDMAPReadResponse() / b"d", "RDMA Read Response 1 octet"),
    (DDPUntagged() / RDMAPSend() / b"data", "Send 4 octets"),
    (
        DDPUntagged(invalidate_stag=0xA1A2A3A4) / RDMAPSendWithInvalidate() / b"data",
        "Send with Invalidate 4 octets, STag 0xa1a2a3a4",
    ),
    (DDPUntagged() / RDMAPSendWithSE() / b"data", "Send with SE 4 octets"),
    (
        DDPUntagged(invalidate_stag=0xA1A2A3A4) / RDMAPSendWithSEAndInvalidate() / b"data",
        "Send with SE and Invalidate 4 octets, STag 0xa1a2a3a4",
    ),
    (
        DDPUntagged() / RDMAPImmediateData(immediate_data=b"12345678"),
        "Immediate Data 3132333435363738",
    ),
    (
        DDPUntagged() / RDMAPImmediateDataWithSE(immediate_data=b"12345678"),
        "Immediate Data with SE 3132333435363738",
    ),
    (
        DDPUntagged()
        / RDMAPAtomicRequest(
            atomic_operation_code=2, request_identifier=1, remote_stag=2, remote_to=3
        ),
        "Atomic Request CmpSwap stag=0x2 to=0x3 id=0x1",
    ),
    (
        DDPUntagged()
        / RDMAPAtomicResponse(original_request_identifier=1, original_remote_data_value=2),
        "Atomic Response id=0x1 value=0x2",
    ),
]
"""One of each, and its part of a summary: the name in the RFC, with what matters of it."""


@pytest.mark.parametrize(("packet", "summary"), MESSAGES, ids=[each[1] for each in MESSAGES])
def test_message(packet: Packet, summary: str) -> None:
    """In an FPDU it is read layer by layer and field by field; what follows a header that is a
    whole message is not lost."""
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


def test_atomic_operations_by_name() -> None:
    """The name is shown, and may be given."""
    message = RDMAPAtomicRequest(atomic_operation_code="CmpSwap")
    assert message.atomic_operation_code == 2
    assert "atomic_operation_code= CmpSwap\n" in message.show(dump=True)
    assert "atomic_operation_code= FetchAdd\n" in RDMAPAtomicRequest().show(dump=True)
    assert "atomic_operation_code= 1\n" in RDMAPAtomicRequest(atomic_operation_code=1).show(
        dump=True
    )


def test_show_names_the_opcode() -> None:
    """``show()`` has the RFC's name both for the field and for the layer."""
    text = (DDPUntagged() / RDMAPSendWithSE()).show(dump=True)
    assert "opcode    = Send with SE\n" in text
    assert "###[ Send with SE ]###" in text


class ULP(Packet):
    """An upper layer protocol of the tests."""

    name = "ULP"
    fields_desc = RDMAPImmediateData.fields_desc


def test_upper_layer_is_bound_for_all_sends() -> None:
    """Binding RDMAPSend is enough, as the four carry the same."""
    bind_layers(RDMAPSend, ULP)
    try:
        for opcode in (3, 4, 5, 6):
            octets = bytes(DDPUntagged(opcode=opcode) / bytes(8))
            assert DDPUntagged(octets).layers()[2] is ULP
    finally:
        split_layers(RDMAPSend, ULP)
