# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs, and what they carry: DDP headers, and the RDMAP message above them.

FPDUs have Markers or none, and may be cut short (RFC 5044 4). Headers are those of RFC 5041 4, RFC
5040 4, and RFC 7306 5 and 6. A Terminate is as RFC 5040 4.8 has it, and as Linux' siw writes it.
"""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scapy.packet import Packet, Padding, Raw, bind_layers, split_layers

from scapy_mpa import layers
from scapy_mpa.capture import open_capture
from scapy_mpa.cli.reading import Reading
from scapy_mpa.layers.ddp import DDPTagged, DDPUntagged
from scapy_mpa.layers.fpdu import FPDU, MPAMarker
from scapy_mpa.layers.rdmap import (
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
from scapy_mpa.layers.recovered import layer_of
from scapy_mpa.layers.terminate import RDMAPTerminate
from scapy_mpa.records.record import record_of
from scapy_mpa.wire import rdmap
from scapy_mpa.wire.ddp import parse_ddp
from scapy_mpa.wire.fpdu import build_fpdu, fpdu_layout
from scapy_mpa.wire.terminate import parse_terminate
from tests.captures import PCAPS
from tests.layers.strategies import evaluated, ulpdus
from tests.truth import messages, mpastream
from tests.wire.placed import placed
from tests.wire.test_rdmap import FIGURES
from tests.wire.test_terminate import READ_REQUEST, TAGGED, UNTAGGED

WRITE = messages.write(0xDEADBEEF, 0x1000, b"hello")[0]


def plain(ulpdu: bytes) -> bytes:
    """The octets of an FPDU, made by the tests' own maker of streams."""
    return mpastream.build_stream([ulpdu])[0]


def test_crc_stays_after_a_change_until_cleared() -> None:
    """As with any Scapy checksum: a dissected one is kept, ``del`` has it computed."""
    fpdu = FPDU(plain(WRITE))
    before = fpdu.crc
    fpdu[DDPTagged].stag = 1
    assert bytes(fpdu)[-4:] == before.to_bytes(4, "little")
    assert fpdu.crc_verdict() == "bad"
    changed = plain(messages.write(1, 0x1000, b"hello")[0])
    del fpdu.crc
    assert bytes(fpdu) == changed
    fpdu[FPDU].crc = 5
    fpdu[FPDU].crc = None
    assert bytes(fpdu) == changed


# No FPDU follows another one at phase 4: a CRC that ends there would lie where a Marker must.
PHASES = st.integers(0, 127).map(lambda word: word * 4).filter(lambda phase: phase != 4)


@given(st.binary(min_size=1, max_size=1300), ulpdus(), st.binary(max_size=3), st.none() | PHASES)
def test_any_octets_are_rebuilt(octets: bytes, ulpdu: bytes, pad: bytes, phase: int | None) -> None:
    """Any octets are built again as they were read, with Markers, without, and as SoftUiWARP.

    Lengths, Markers, pads and CRCs may be wrong.
    """
    damaged = placed(ulpdu, phase)[0][: -4 - len(pad)] + pad + octets[:4].ljust(4)
    for each in (octets, damaged):
        assert bytes(FPDU(each, phase=phase)) == each
        assert bytes(FPDU(each, dialect="softuiwarp")) == each


@pytest.mark.examples
@pytest.mark.parametrize("phase", [None, 0, 8, 488, 492, 496, 500, 504, 508])
def test_cut_short_anywhere(phase: int | None) -> None:
    """Before, in, and after a Marker, and in any other field."""
    octets, _ = placed(messages.read_request(1, 2, 3, 4, 5, 6)[0] + bytes(range(256)) * 3, phase)
    for length in range(1, len(octets)):
        fpdu = FPDU(octets[:length], phase=phase)
        assert bytes(fpdu) == octets[:length]
        assert fpdu.crc_verdict() == "unknown"
        assert bytes(fpdu.copy()) == octets[:length]


def test_given_markers_replace_computed_ones() -> None:
    """From the first on; those left are computed, and the CRC covers what was given."""
    given = [MPAMarker(reserved=7), MPAMarker(fpduptr=3)]
    fpdu = FPDU(bytes(FPDU(phase=0, markers=given) / Raw(bytes(1400))), phase=0)
    found = [(marker.reserved, marker.fpduptr) for marker in fpdu.markers]
    assert found == [(7, 0), (0, 3), (0, 1020)]
    assert fpdu.crc_verdict() == "good"
    assert len(bytes(fpdu)) == len(placed(bytes(1400), 0)[0])


def test_markers_that_find_no_place_are_left_out() -> None:
    """A payload that has become shorter needs fewer of them."""
    fpdu = FPDU(bytes(FPDU(phase=0) / Raw(bytes(1400))), phase=0)
    fpdu.payload = Raw(b"short")
    del fpdu.ulpdu_length, fpdu.pad, fpdu.crc
    assert bytes(fpdu) == placed(b"short", 0)[0]


def test_show() -> None:
    """Phase and Markers are shown where there are some, and the CRC as number and octets."""
    fpdu = FPDU(bytes(FPDU(phase=0) / DDPUntagged() / RDMAPSend() / bytes(24)), phase=0)
    text = fpdu.show(dump=True)
    for line in ("phase     = 0", "|###[ MPA Marker ]###", "crc       = 0x83992352 (52 23 99 83)"):
        assert f"{line}\n" in text
    assert fpdu.summary().startswith("MPA FPDU 42 octets, 1 Marker, CRC good / DDP Untagged ")


# FPDUPTR cannot span the largest one.
@example(bytes(65535), 508, 0)
@given(ulpdus(), st.none() | PHASES, st.integers(0, 0xFFFF))
def test_fpdu_and_codec(ulpdu: bytes, phase: int | None, reserved: int) -> None:
    """Both build the same octets, and know the same Markers and pad, as another maker of streams
    has them, whatever the reserved half of Markers holds.  Computed anew, they are the same."""
    built = build_fpdu(ulpdu, phase)
    assert bytes(FPDU(phase=phase) / Raw(ulpdu)) == built
    layout = fpdu_layout(len(ulpdu), phase)
    octets, _ = placed(ulpdu, phase, marker_reserved=reserved)
    read = FPDU(octets, phase=phase)
    assert len(read.pad) == layout.pad
    assert tuple(marker.fpduptr for marker in read.markers or ()) == layout.fpduptrs
    assert all(marker.reserved == reserved for marker in read.markers or ())
    assert bytes(read.payload) == ulpdu
    assert bytes(read) == octets
    assert read.crc_verdict() == "good"
    assert FPDU(octets + b"next", phase=phase)[Padding].load == b"next"
    read.ulpdu_length, read.pad = 0, b"?"
    read.recompute()
    assert bytes(read) == built


@given(ulpdus(), st.binary(max_size=9))
def test_softuiwarp(ulpdu: bytes, rest: bytes) -> None:
    """Pads of (ULPDU_Length + 2) mod 4 octets, and CRC fields of zeros.

    Every field is what it says, what follows is padding, and all is rebuilt as it came.
    """
    pad = bytes((len(ulpdu) + 2) % 4)
    octets = len(ulpdu).to_bytes(2, "big") + ulpdu + pad + bytes(4)
    packet = FPDU(octets + rest, dialect="softuiwarp")
    assert (packet.ulpdu_length, packet.pad, packet.crc) == (len(ulpdu), pad, 0)
    assert bytes(packet.payload) == ulpdu + rest
    assert (packet[Padding].load if rest else b"") == rest
    assert packet.crc_verdict() == "off"
    assert bytes(packet) == octets + rest
    packet.recompute()
    assert bytes(packet) == octets + rest


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
    framed = plain(bytes(packet))
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


# What is copied, by RFC 5040: Invalid STag of a Write, no buffer for a Send, a bad Read Request.
RFC = {
    "nothing copied": bytes.fromhex("12 01 0000"),
    "tagged": bytes.fromhex("11 00 c000 0064") + TAGGED,
    "untagged": bytes.fromhex("12 02 c000 0064") + UNTAGGED,
    "Read Request": bytes.fromhex("01 01 e000 002e") + READ_REQUEST,
}
# The same four, as siw writes them.
SIW = {
    "nothing copied": bytes.fromhex("21 01 0000"),
    "tagged": bytes.fromhex("11 00 0300 0064") + TAGGED,
    "untagged": bytes.fromhex("21 02 0300 0064") + UNTAGGED,
    "Read Request": bytes.fromhex("10 01 0700 002e") + READ_REQUEST,
}
EXAMPLES = st.sampled_from([*RFC.values(), *SIW.values(), RFC["tagged"] + b"more"])


@given(EXAMPLES | st.binary(min_size=4, max_size=70), st.none() | st.booleans())
def test_read_and_rebuilt(octets: bytes, mirrored: bool | None) -> None:
    """Whatever the octets are, and in which layout: the reading is the codec's, and from it the
    same octets are built."""
    found, message = parse_terminate(octets, mirrored), RDMAPTerminate(octets, mirrored=mirrored)
    fields = found._asdict()
    del fields["ambiguous"]
    assert bytes(message.payload) == fields.pop("trailing")
    for name in ("ddp_header", "rdmap_header"):
        header = getattr(message, name)
        assert (None if header is None else bytes(header)) == fields.pop(name)
    assert {name: getattr(message, name) for name in fields} == fields
    for made in (message, message.copy(), evaluated(message)):
        assert bytes(made) == octets
    message.show(dump=True)
    message.summary()


def test_terminate_is_made() -> None:
    """M, D and R follow from what is given, in either layout."""
    for examples, mirrored in ((RFC, None), (SIW, True)):
        made = RDMAPTerminate(layer=1, etype=2, error_code=1, mirrored=mirrored)
        assert bytes(made) == examples["nothing copied"]
        headers = {
            "ddp_header": DDPUntagged(opcode=1, qn=1, msn=3),
            "rdmap_header": RDMAPReadRequest(READ_REQUEST[18:]),
        }
        made = RDMAPTerminate(layer=0, etype=1, error_code=1, mirrored=mirrored, **headers)
        assert bytes(made) == examples["Read Request"]
        read = RDMAPTerminate(bytes(made), mirrored=mirrored)
        assert read.ddp_header.layers() == [DDPUntagged]
        assert (read.rdmap_header.sink_stag, read[RDMAPReadRequest].src_to) == (1, 5)


def test_errors_by_name() -> None:
    """Each field takes the name that it shows (RFC 5040 figure 9, RFC 5041 7.2)."""
    made = RDMAPTerminate(layer="DDP", etype="Untagged Buffer Error", error_code="Invalid MO")
    assert (made.layer, made.etype, made.error_code) == (1, 2, 4)
    lines = made.show(dump=True).splitlines()
    assert lines[1:4] == [
        "  layer     = DDP",
        "  etype     = Untagged Buffer Error",
        "  error_code= Invalid MO",
    ]


def test_changed_fields_are_built() -> None:
    """Nothing of the old octets is left."""
    message = RDMAPTerminate(SIW["untagged"])
    message.error_code = 4
    message.ddp_header.msn = 8
    message.mirrored = False
    expected = bytes.fromhex("12 04 c000 0064") + messages.send(8, b"")[0]
    assert bytes(message) == expected


def test_show2_keeps_the_layout() -> None:
    """Assembled and read again in the layout that was asked for, also against the evidence."""
    message = RDMAPTerminate(layer=1, etype=2, error_code=1, reserved=9, mirrored=True)
    shown = message.show2(dump=True)
    assert "  layer     = DDP\n" in shown
    assert "  mirrored  = True\n" in shown


def test_layers_and_records_agree() -> None:
    """Who sent a Terminate decides, if its octets fit both layouts."""
    found = []
    with open_capture(PCAPS / "live_siw_probe_guest_eth0.pcap.gz") as capture:
        reading = Reading(capture)
        for event in (each for batch in reading.batches() for each in batch):
            layer = layer_of(event)
            if layer is not None and RDMAPTerminate in layer:
                terminate = record_of(event, reading.clock)["terminate"]
                assert terminate["mirrored"] == layer[RDMAPTerminate].mirrored
                assert bytes(layer) == event.octets
                found.append("or not" in terminate["text"])
    assert {*found} == {True, False}
