# SPDX-License-Identifier: GPL-2.0-or-later
"""Startup frames: Request and Reply (RFC 5044 7.1.1, RFC 6581 6 and 9)."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scapy.packet import Packet

from scapy_mpa.layers import FPDU, MPA, MPAReply, MPARequest, MPARtr
from scapy_mpa.wire.startup import parse_startup
from tests.layers.test_scapy import evaluated
from tests.truth import mpastream

FRAMES = {
    MPARequest: mpastream.REQUEST_KEY,
    MPAReply: mpastream.REPLY_KEY,
    MPARtr: mpastream.RTR_KEY,
}


def test_pd_length() -> None:
    """It stays as it was until it is cleared."""
    read = MPARequest(bytes(MPARequest(private_data=b"hello")))
    read.private_data = b"hi"
    assert bytes(read)[18:] == b"\x00\x05hi"
    del read.pd_length
    assert bytes(read)[18:] == b"\x00\x02hi"


@pytest.mark.parametrize(
    ("octets", "layer"),
    [
        *((mpastream.startup_frame(key, crc=1), layer) for layer, key in FRAMES.items()),
        (b"MPA ID RtR Frame" + bytes(MPARtr())[16:], MPARtr),
        (bytes(FPDU()), FPDU),
        (b"", FPDU),
    ],
)
def test_mpa_tells_what_octets_are(octets: bytes, layer: type[Packet]) -> None:
    """By the Key.  Defaults are revision 1, CRCs, no Markers and no Private Data."""
    packet = MPA(octets)
    assert type(packet) is layer
    assert bytes(packet) == (octets or bytes(layer()))
    assert octets[:16] not in FRAMES.values() or bytes(layer()) == octets


# PD_Length counts enhanced data and Private Data.  Octets after them are payload.
@example(MPAReply, 0x50, 2, 6, mpastream.enhanced_data(3, 0) + b"himore")
@given(
    st.sampled_from(list(FRAMES)),
    st.integers(0, 255),
    st.sampled_from([0, 1, 2, 3, 129]),
    st.integers(0, 20),
    st.binary(max_size=20),
)
def test_startup_and_codec(
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
    assert bytes(frame.payload) == octets[found.length :]
    assert bytes(frame) == octets
    frame.clear_cache()
    assert bytes(frame) == bytes(evaluated(frame)) == octets
