# SPDX-License-Identifier: GPL-2.0-or-later
"""Other carriers of DDP than MPA.

DDP Segment Chunks and session control messages in Scapy's SCTP chunks (RFC 5043 5.2), and adaption
indications and frames of iWARP Framing for TCP (draft-williams-iwarp-ift-01 4, 5).
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.l2 import Ether
from scapy.layers.sctp import SCTPChunkData, SCTPChunkSACK
from scapy.packet import Packet, Padding, Raw

from scapy_mpa.layers.ddp import DDPTagged, DDPUntagged
from scapy_mpa.layers.ift import IFTAdaptionIndication, IFTFrame
from scapy_mpa.layers.rdmap import RDMAPSend, RDMAPWrite
from scapy_mpa.layers.sctp import DDPSegmentChunk, DDPStreamSessionControl
from scapy_mpa.layers.sctp_bindings import bind_sctp
from scapy_mpa.wire.ift_frame import build_frame
from scapy_mpa.wire.ift_indication import FLAGS, build_indication, parse_indication
from scapy_mpa.wire.sctp_ddp import parse_segment, parse_session_control
from tests.layers.strategies import ulpdus
from tests.truth import sctpstream as sctp

bind_sctp()

words = st.integers(0, 0xFFFF)


def chunk(ppid: int, data: Packet | bytes, **fields: int) -> SCTPChunkData:
    """Scapy's DATA chunk with a whole, unordered user message."""
    values = {"tsn": 1, "stream_id": 0, "stream_seq": 0, **fields}
    return SCTPChunkData(
        reserved=0, unordered=1, beginning=1, ending=1, proto_id=ppid, data=data, **values
    )


def test_rfc5043_5_2_bound_by_ppid() -> None:
    """Scapy dissects both by itself, the CRC32c of the packet included."""
    segment = sctp.segment(1, sctp.write(7, 9, b"hello"))
    control = sctp.control(0, 5, sctp.enhanced(4, 8, a=1) + b"hi")
    chunks = sctp.data(1, 16, segment), sctp.data(2, 17, control, stream=3)
    octets = sctp.frame(0, sctp.packet(0, *chunks, sctp.chunk(sctp.SACK, 0, bytes(12))))
    packet = Ether(octets)
    first, second = packet[SCTPChunkData], packet[SCTPChunkData].payload
    write = first.data
    assert isinstance(write, DDPSegmentChunk) and write.ddp_ssn == 1
    assert (write[DDPTagged].stag, write[DDPTagged].to) == (7, 9)
    assert write[RDMAPWrite].load == b"hello"
    initiate = second.data
    assert isinstance(initiate, DDPStreamSessionControl)
    assert (initiate.ddp_ssn, initiate.function_code, initiate.a) == (0, 5, 1)
    assert (initiate.ird, initiate.ord, initiate.private_data) == (4, 8, b"hi")
    # What follows is dissected as a chunk, whatever the PPID before it.
    assert second.payload.layers() == [SCTPChunkSACK]
    assert bytes(packet) == octets


@given(words, ulpdus())
def test_segment_and_codec(ddp_ssn: int, ulpdu: bytes) -> None:
    """Both read the same, and what was dissected is rebuilt."""
    octets = sctp.segment(ddp_ssn, ulpdu)
    assert bytes(DDPSegmentChunk(ddp_ssn=ddp_ssn) / Raw(ulpdu)) == octets
    read = DDPSegmentChunk(octets)
    assert (read.ddp_ssn, bytes(read.payload)) == parse_segment(octets)
    assert bytes(read) == octets


@given(words, words | st.integers(0, 8), st.binary(max_size=30))
def test_control_and_codec(ddp_ssn: int, code: int, data: bytes) -> None:
    """Both read the same, enhanced data included, and what was dissected is rebuilt."""
    octets = sctp.control(ddp_ssn, code, data)
    read, control = DDPStreamSessionControl(octets), parse_session_control(octets)
    assert (read.ddp_ssn, read.function_code) == (control.ddp_ssn, control.function_code)
    known = control.startup
    assert read.private_data == known.private_data
    if known.enhanced:
        flags = "".join(letter for letter in "ABCD" if getattr(read, letter.lower()))
        assert (read.ird, read.ord, flags) == (known.ird, known.ord, known.control_flags)
    assert bytes(read) == octets
    assert bytes(SCTPChunkData(bytes(chunk(17, octets))).data) == octets


@pytest.mark.parametrize(("ppid", "octets"), [(16, 1), (17, 3)])
def test_too_few_octets(ppid: int, octets: int) -> None:
    """In a chunk of Scapy's they stay ``Raw``."""
    assert isinstance(SCTPChunkData(bytes(chunk(ppid, bytes(octets)))).data, Raw)


CRCS = st.sampled_from(["", "h", "p", "hp"])
VTAGS = st.integers(0, 0xFFFF)


@given(st.binary(min_size=64, max_size=64))
def test_indication_and_codec_agree(octets: bytes) -> None:
    """Fields and codec read the same from any 64 octets, and both build them again."""
    packet, parsed = IFTAdaptionIndication(octets), parse_indication(octets)
    assert bytes(packet) == octets == build_indication(parsed)
    assert [bool(getattr(packet, name)) for name in FLAGS] == [
        getattr(parsed, name) for name in FLAGS
    ]
    for name in ("magic", "version", "bc_version", "reserved_flags", "vtag", "marker_interval"):
        assert getattr(packet, name) == getattr(parsed, name)
    assert (packet.reserved, packet.crc) == (parsed.reserved, parsed.crc)
    assert (packet.crc_verdict() == "good") == parsed.crc_is_good()


@given(ulpdus(), VTAGS, CRCS)
def test_frame_and_codec_agree(ulpdu: bytes, vtag: int, crcs: str) -> None:
    """Both build the same octets of a DDP segment, and the layers read them back."""
    size = min(len(ulpdu), 14 if ulpdu[:1] >= b"\x80" else 18)
    octets = build_frame(
        ulpdu[:size], ulpdu[size:], vtag, header_crc="h" in crcs, payload_crc="p" in crcs
    )
    assert bytes(IFTFrame(vtag=vtag, crcs=crcs) / Raw(ulpdu)) == octets
    read = IFTFrame(octets, crcs=crcs)
    assert bytes(read) == octets
    assert (read.header_size, read.payload_size) == (size, len(ulpdu) - size)
    assert (read.vtag, read.crcs) == (vtag, crcs)
    assert bytes(read.payload) == ulpdu
    assert IFTFrame(octets + b"next", crcs=crcs)[Padding].load == b"next"
    assert read.crc_verdicts() == tuple("good" if each in crcs else "off" for each in "hp")


@given(st.binary(min_size=6, max_size=200), st.none() | CRCS)
def test_frame_of_any_octets_is_rebuilt(octets: bytes, crcs: str | None) -> None:
    """Whatever the octets are, and however they are cut, building gives them again."""
    assert bytes(IFTFrame(octets, crcs=crcs)) == octets


def test_what_is_dissected_is_computed_anew() -> None:
    """When asked for, sizes and CRCs become right."""
    frame = IFTFrame(payload_size=9, header_crc=1, crcs="h") / DDPUntagged() / RDMAPSend() / b"x"
    read = IFTFrame(bytes(frame), crcs="h")
    assert read.crc_verdicts() == ("bad", "off")
    read.recompute()
    assert bytes(read)[2:4] == b"\x00\x01"
    assert IFTFrame(bytes(read), crcs="h").crc_verdicts() == ("good", "off")
