# SPDX-License-Identifier: GPL-2.0-or-later
"""Adaption indications and frames of iWARP Framing for TCP (draft-williams-iwarp-ift-01 4, 5)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from scapy.packet import Padding, Raw

from scapy_mpa.layers import DDPUntagged, IFTAdaptionIndication, IFTFrame, RDMAPSend
from scapy_mpa.wire.ift_frame import build_frame
from scapy_mpa.wire.ift_indication import FLAGS, build_indication, parse_indication
from tests.layers.strategies import ulpdus

CRCS = st.sampled_from(["", "h", "p", "hp"])
VTAGS = st.integers(0, 0xFFFF)


@given(st.binary(min_size=64, max_size=64))
def test_indication_and_codec_agree(octets: bytes) -> None:
    """Fields and codec read the same from any 64 octets, and both build them again."""
    packet, told = IFTAdaptionIndication(octets), parse_indication(octets)
    assert bytes(packet) == octets == build_indication(told)
    assert [bool(getattr(packet, name)) for name in FLAGS] == [
        getattr(told, name) for name in FLAGS
    ]
    for name in ("magic", "version", "bc_version", "reserved_flags", "vtag", "marker_interval"):
        assert getattr(packet, name) == getattr(told, name)
    assert (packet.reserved, packet.crc) == (told.reserved, told.crc)
    assert (packet.crc_verdict() == "good") == told.crc_is_good()


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
