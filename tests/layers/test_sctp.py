# SPDX-License-Identifier: GPL-2.0-or-later
"""DDP Segment Chunks and session control messages in Scapy's SCTP chunks (RFC 5043 5.2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.l2 import Ether
from scapy.layers.sctp import SCTPChunkData, SCTPChunkSACK
from scapy.packet import Packet, Raw

from scapy_mpa.layers import DDPSegmentChunk, DDPStreamSessionControl, DDPTagged, RDMAPWrite
from scapy_mpa.layers.sctp_bindings import bind_sctp
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
