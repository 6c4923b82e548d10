# SPDX-License-Identifier: GPL-2.0-or-later
"""The packets and the codecs describe the same headers."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.packet import Packet, Padding, Raw

from scapy_mpa.layers import (
    FPDU,
    DDPTagged,
    DDPUntagged,
    RDMAPAtomicRequest,
    RDMAPAtomicResponse,
    RDMAPImmediateData,
    RDMAPReadRequest,
)
from scapy_mpa.wire import rdmap
from scapy_mpa.wire.ddp import parse_ddp
from scapy_mpa.wire.fpdu import build_fpdu, fpdu_layout
from scapy_mpa.wire.startup import parse_startup
from tests.layers.strategies import ulpdus
from tests.layers.test_fpdu import PHASES
from tests.layers.test_scapy import evaluated
from tests.layers.test_startup import FRAMES
from tests.wire.placed import placed


@given(ulpdus(), st.none() | PHASES, st.integers(0, 0xFFFF))
def test_fpdu(ulpdu: bytes, phase: int | None, reserved: int) -> None:
    """Both build the same octets, and know the same Markers and pad, as another maker of streams
    has them, whatever the reserved half of Markers holds.  Computed anew, they are the same."""
    plain = build_fpdu(ulpdu, phase)
    assert bytes(FPDU(phase=phase) / Raw(ulpdu)) == plain
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
    assert bytes(read) == plain


@given(st.binary(min_size=18, max_size=80))
def test_ddp(octets: bytes) -> None:
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
    assert bytes(segment) == octets
    segment.clear_cache()
    assert bytes(segment) == octets


@pytest.mark.parametrize(
    ("layer", "parse"),
    [
        (RDMAPReadRequest, rdmap.parse_read_request),
        (RDMAPAtomicRequest, rdmap.parse_atomic_request),
        (RDMAPAtomicResponse, rdmap.parse_atomic_response),
        (RDMAPImmediateData, rdmap.parse_immediate_data),
    ],
)
@given(data=st.data())
def test_rdmap_header(
    layer: type[Packet], parse: Callable[[bytes], Any], data: st.DataObject
) -> None:
    """The same names with the same values, and the same length."""
    octets = data.draw(st.binary(min_size=layer.shortest, max_size=layer.shortest))
    assert layer(octets).fields == parse(octets)._asdict()
    assert len(bytes(layer())) == layer.shortest


@given(
    st.sampled_from(list(FRAMES)),
    st.integers(0, 255),
    st.sampled_from([0, 1, 2, 3, 129]),
    st.integers(0, 20),
    st.binary(max_size=20),
)
def test_startup(
    layer: type[Packet], flags: int, revision: int, pd_length: int, data: bytes
) -> None:
    """The same frame, cut short or followed by something.  Built anew, it is the same octets."""
    octets = FRAMES[layer] + bytes([flags, revision]) + pd_length.to_bytes(2, "big") + data
    frame, found = layer(octets), parse_startup(octets)
    assert (bool(frame.markers), bool(frame.crc)) == (found.markers, found.crc)
    assert (bool(frame.rejected), bool(frame.s)) == (found.rejected, found.s_bit)
    assert (frame.reserved, frame.revision) == (found.reserved, found.revision)
    assert frame.pd_length == found.pd_length
    assert (frame.ird, frame.ord) == (found.ird, found.ord)
    if found.control_flags is not None:
        flags_set = {letter for letter in "ABCD" if getattr(frame, letter.lower())}
        assert flags_set == set(found.control_flags)
    assert frame.private_data == found.private_data
    assert bytes(frame) == octets
    frame.clear_cache()
    assert bytes(frame) == bytes(evaluated(frame)) == octets
