# SPDX-License-Identifier: GPL-2.0-or-later
"""RDMAP messages, each written down by hand from its figure (RFC 5040 4, RFC 7306 5 and 6)."""

import pytest
from scapy.packet import Packet, Raw, bind_layers, split_layers

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

TAGGED = DDPTagged(stag=0x01020304, to=0x1112131415161718)

IMMEDIATE = bytes.fromhex("0102030405060708")


def untagged(control: str, qn: int, body: str, invalidate_stag: str = "00000000") -> bytes:
    """A ULPDU of an untagged message with MSN 5, from its control octets, QN and what follows."""
    return bytes.fromhex(f"{control} {invalidate_stag} {qn:08x} 00000005 00000000 {body}")


# ULPDU, layers, the message's part of the summary
CASES: dict[str, tuple[bytes, Packet, str]] = {
    "Write": (
        bytes.fromhex("c140 01020304 1112131415161718") + b"data",
        TAGGED / RDMAPWrite() / b"data",
        "RDMA Write 4 octets",
    ),
    "Read Request": (
        untagged("4141", 1, "01020304 1112131415161718 21222324 31323334 4142434445464748"),
        DDPUntagged(msn=5)
        / RDMAPReadRequest(
            sink_stag=0x01020304,
            sink_to=0x1112131415161718,
            rdma_read_size=0x21222324,
            src_stag=0x31323334,
            src_to=0x4142434445464748,
        ),
        "RDMA Read Request size=555885348 src_stag=0x31323334 src_to=0x4142434445464748"
        " sink_stag=0x1020304 sink_to=0x1112131415161718",
    ),
    "Read Response": (
        bytes.fromhex("8142 01020304 1112131415161718") + b"d",
        DDPTagged(last=0, stag=0x01020304, to=0x1112131415161718) / RDMAPReadResponse() / b"d",
        "RDMA Read Response 1 octet",
    ),
    "Send": (
        untagged("4143", 0, "64617461"),
        DDPUntagged(msn=5) / RDMAPSend() / b"data",
        "Send 4 octets",
    ),
    "Send with Invalidate": (
        untagged("4144", 0, "64617461", "a1a2a3a4"),
        DDPUntagged(msn=5, invalidate_stag=0xA1A2A3A4) / RDMAPSendWithInvalidate() / b"data",
        "Send with Invalidate 4 octets, STag 0xa1a2a3a4",
    ),
    "Send with SE": (
        untagged("4145", 0, "64617461"),
        DDPUntagged(msn=5) / RDMAPSendWithSE() / b"data",
        "Send with SE 4 octets",
    ),
    "Send with SE and Invalidate": (
        untagged("4146", 0, "64617461", "a1a2a3a4"),
        DDPUntagged(msn=5, invalidate_stag=0xA1A2A3A4) / RDMAPSendWithSEAndInvalidate() / b"data",
        "Send with SE and Invalidate 4 octets, STag 0xa1a2a3a4",
    ),
    "Immediate Data": (
        untagged("4148", 0, "0102030405060708"),
        DDPUntagged(msn=5) / RDMAPImmediateData(immediate_data=IMMEDIATE),
        "Immediate Data 0102030405060708",
    ),
    "Immediate Data with SE": (
        untagged("4149", 0, "0102030405060708"),
        DDPUntagged(msn=5) / RDMAPImmediateDataWithSE(immediate_data=IMMEDIATE),
        "Immediate Data with SE 0102030405060708",
    ),
    "Atomic Request": (
        untagged(
            "414a",
            1,
            "0abcdef2 01020304 11121314 2122232425262728 3132333435363738 4142434445464748"
            "5152535455565758 6162636465666768",
        ),
        DDPUntagged(msn=5)
        / RDMAPAtomicRequest(
            reserved=0x0ABCDEF,
            atomic_operation_code=2,
            request_identifier=0x01020304,
            remote_stag=0x11121314,
            remote_to=0x2122232425262728,
            add_or_swap_data=0x3132333435363738,
            add_or_swap_mask=0x4142434445464748,
            compare_data=0x5152535455565758,
            compare_mask=0x6162636465666768,
        ),
        "Atomic Request CmpSwap stag=0x11121314 to=0x2122232425262728 id=0x1020304",
    ),
    "Atomic Response": (
        untagged("414b", 3, "01020304 1112131415161718"),
        DDPUntagged(msn=5)
        / RDMAPAtomicResponse(
            original_request_identifier=0x01020304,
            original_remote_data_value=0x1112131415161718,
        ),
        "Atomic Response id=0x1020304 value=0x1112131415161718",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_message(name: str) -> None:
    """The octets are those of the figure; in an FPDU they are read layer by layer and field by
    field; the summary has the name in the RFC, with what matters of it."""
    octets, packet, summary = CASES[name]
    # As the tests' own maker of streams frames it.
    framed = mpastream.build_stream([octets])[0]
    assert bytes(packet) == octets
    assert bytes(FPDU() / packet) == framed
    fpdu = FPDU(framed)
    assert fpdu.layers() == [FPDU, *packet.layers()]
    assert fpdu.getlayer(2).fields == packet.getlayer(1).fields
    assert bytes(fpdu.payload) == octets
    assert bytes(fpdu) == framed
    if Raw in packet:
        assert fpdu[Raw].load == packet[Raw].load
    assert f" / {summary}" in f" / {fpdu.summary().removesuffix(' / Raw')}"


@pytest.mark.parametrize("name", ["Immediate Data", "Read Request", "Atomic Response"])
def test_octets_behind_a_header_are_raw(name: str) -> None:
    """No message may have them (RFC 5040 figure 5), but they are not lost."""
    octets = CASES[name][0] + b"more"
    segment = DDPUntagged(octets)
    assert segment.lastlayer().load == b"more"
    assert bytes(segment) == octets


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
