# SPDX-License-Identifier: GPL-2.0-or-later
"""Startup frames: Request and Reply (RFC 5044 7.1.1, RFC 6581 6 and 9)."""

import pytest
from scapy.packet import Packet

from scapy_mpa.layers import FPDU, MPA, MPAReply, MPARequest, MPARtr
from tests.truth import mpastream

FRAMES = {
    MPARequest: mpastream.REQUEST_KEY,
    MPAReply: mpastream.REPLY_KEY,
    MPARtr: mpastream.RTR_KEY,
}
each_frame = pytest.mark.parametrize("frame", FRAMES, ids=lambda layer: layer.__name__)


@each_frame
def test_default_frame(frame: type[Packet]) -> None:
    """Revision 1, CRC on, no Markers, no Private Data."""
    assert bytes(frame()) == mpastream.startup_frame(FRAMES[frame], crc=1)


def test_what_follows_is_payload() -> None:
    """PD_Length counts enhanced data and Private Data.  Octets after them are payload."""
    read = MPAReply(bytes(MPAReply(revision=2, s=1, ird=3, private_data=b"hi")) + b"more")
    assert (read.ird, read.private_data, bytes(read.payload)) == (3, b"hi", b"more")


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
        (bytes(MPARequest()), MPARequest),
        (bytes(MPAReply()), MPAReply),
        (bytes(MPARtr()), MPARtr),
        (b"MPA ID RtR Frame" + bytes(MPARtr())[16:], MPARtr),
        (bytes(FPDU()), FPDU),
        (b"", FPDU),
    ],
)
def test_mpa_tells_what_octets_are(octets: bytes, layer: type[Packet]) -> None:
    """By the Key."""
    packet = MPA(octets)
    assert type(packet) is layer
    assert bytes(packet) == (octets or bytes(layer()))
