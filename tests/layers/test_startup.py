# SPDX-License-Identifier: GPL-2.0-or-later
"""Startup frames: Request and Reply (RFC 5044 7.1.1, RFC 6581 6 and 9)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.packet import Packet, Raw

from scapy_mpa.layers import FPDU, MPA, MPAReply, MPARequest, MPARtr
from scapy_mpa.wire.errors import LocalProtocolError, RemoteProtocolError
from tests.truth import mpastream

FRAMES = {
    MPARequest: mpastream.REQUEST_KEY,
    MPAReply: mpastream.REPLY_KEY,
    MPARtr: b"MPA ID Rtr Frame",
}
each_frame = pytest.mark.parametrize("frame", FRAMES, ids=lambda layer: layer.__name__)


@each_frame
def test_default_frame(frame: type[Packet]) -> None:
    """Revision 1, CRC on, no Markers, no Private Data."""
    assert bytes(frame()) == mpastream.startup_frame(FRAMES[frame], crc=1)


BITS, DEPTHS = st.integers(0, 1), st.integers(0, 0x3FFF)
FIELDS = st.fixed_dictionaries(
    {
        **dict.fromkeys(("markers", "crc", "rejected"), BITS),
        "reserved": st.integers(0, 15),
        "revision": st.sampled_from((0, 2)),
    }
)
ENHANCED = st.fixed_dictionaries({"ird": DEPTHS, "ord": DEPTHS, **dict.fromkeys("abcd", BITS)})


@each_frame
@given(fields=FIELDS, s=BITS, enhanced=ENHANCED, data=st.binary(max_size=20))
def test_fields_have_their_places(
    frame: type[Packet], fields: dict[str, int], s: int, enhanced: dict[str, int], data: bytes
) -> None:
    """Built and dissected, they lie where another maker of frames has them; with revision 2 and S,
    enhanced data come before the ULP's Private Data, and count in PD_Length."""
    values: dict[str, object] = {**fields, "s": s, "private_data": data}
    whole = data
    if s and fields["revision"] == 2:
        values |= enhanced
        whole = mpastream.enhanced_data(**enhanced) + data
    octets = mpastream.startup_frame(FRAMES[frame], **fields, enhanced=s, private_data=whole)
    assert bytes(frame(**values)) == octets
    read = frame(octets)
    assert {name: getattr(read, name) for name in values} == values
    assert read.pd_length == len(whole)
    assert bytes(read) == octets


@pytest.mark.parametrize(("revision", "s"), [(1, 1), (2, 0), (0, 0), (3, 1)])
def test_no_enhanced_data(revision: int, s: int) -> None:
    """Any other revision, or no S: there are none (RFC 6581 6)."""
    made = MPARequest(revision=revision, s=s, private_data=b"hello")
    assert made.ird is None
    assert bytes(made)[20:] == b"hello"
    assert MPARequest(bytes(made)).private_data == b"hello"


def test_enhanced_data_against_the_rule() -> None:
    """Left out, or put in, on purpose."""
    assert bytes(MPARequest(revision=2, s=1, enhanced=False, private_data=b"hi"))[18:] == (
        b"\x00\x02hi"
    )
    assert bytes(MPARequest(enhanced=True, ird=1, ord=2))[18:].hex() == "000400010002"


@pytest.mark.parametrize("pd_length", [0, 1, 3])
def test_no_room_for_enhanced_data(pd_length: int) -> None:
    """S promises them, PD_Length does not: the octets are Private Data."""
    octets = mpastream.startup_frame(
        mpastream.REQUEST_KEY, crc=1, enhanced=1, revision=2, private_data=b"abc"[:pd_length]
    )
    read = MPARequest(octets)
    assert read.enhanced is False
    assert read.private_data == b"abc"[:pd_length]
    assert bytes(read.copy()) == octets
    read.clear_cache()
    assert bytes(read) == octets


def test_pd_length_is_kept() -> None:
    """Given, it is sent, right or wrong."""
    assert bytes(MPARequest(pd_length=7, private_data=b"hi"))[18:] == b"\x00\x07hi"


def test_changed_private_data() -> None:
    """PD_Length stays as it was until it is cleared."""
    read = MPARequest(bytes(MPARequest(private_data=b"hello")))
    read.private_data = b"hi"
    assert bytes(read)[18:] == b"\x00\x05hi"
    del read.pd_length
    assert bytes(read)[18:] == b"\x00\x02hi"


def test_too_much_private_data() -> None:
    """More than PD_Length can say."""
    assert len(bytes(MPARequest(private_data=bytes(65535)))) == 65555
    with pytest.raises(LocalProtocolError, match="65536 octets"):
        bytes(MPARequest(private_data=bytes(65536)))


@each_frame
def test_octets_behind_are_payload(frame: type[Packet]) -> None:
    """What follows in the same buffer is not Private Data."""
    octets = bytes(frame(private_data=b"hi")) + b"more"
    read = frame(octets)
    assert read.private_data == b"hi"
    assert read[Raw].load == b"more"
    assert bytes(read) == octets


@given(st.binary(min_size=20, max_size=60))
def test_any_octets_are_rebuilt(octets: bytes) -> None:
    """Whatever Key, revision and length say, with and without Scapy's cache of octets."""
    read = MPARequest(octets)
    assert bytes(read) == octets
    read.clear_cache()
    assert bytes(read) == octets
    assert bytes(eval(read.command())) == octets


@given(st.integers(0, 255), st.integers(0, 4), st.integers(0, 40), st.binary(max_size=40))
def test_frames_cut_short_are_rebuilt(
    flags: int, revision: int, pd_length: int, data: bytes
) -> None:
    """Fewer octets than PD_Length says, or more."""
    header = bytes([flags, revision]) + pd_length.to_bytes(2, "big")
    octets = mpastream.REPLY_KEY + header + data
    read = MPAReply(octets)
    assert bytes(read) == octets
    read.clear_cache()
    assert bytes(read) == octets


@each_frame
def test_too_short(frame: type[Packet]) -> None:
    """A frame has 20 octets before its Private Data."""
    with pytest.raises(RemoteProtocolError, match="20 octets, 19 are there"):
        frame(bytes(frame())[:19])


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


def test_reply_answers_request() -> None:
    """So that ``sr1()`` finds it."""
    assert MPAReply().answers(MPARequest())
    assert not MPARequest().answers(MPAReply())
    assert MPARtr().answers(MPAReply())
    assert not MPARtr().answers(MPARequest())
    assert not MPAReply().answers(MPAReply())


def test_show() -> None:
    """Control flags say what they mean; without enhanced data they are not shown."""
    shown = MPAReply(revision=2, s=1, rejected=1, a=1, c=1, ird=2, ord=3).show2(dump=True)
    assert shown.splitlines() == [
        "###[ MPA Reply ]###",
        "  key       = b'MPA ID Rep Frame'",
        "  markers   = 0",
        "  crc       = 1",
        "  rejected  = 1",
        "  s         = 1",
        "  reserved  = 0",
        "  revision  = 2",
        "  pd_length = 4",
        "  a         = peer-to-peer",
        "  b         = 0",
        "  ird       = 2",
        "  c         = RTR by zero-length Write",
        "  d         = 0",
        "  ord       = 3",
        "  private_data= b''",
    ]
    assert "ird" not in MPAReply().show(dump=True)


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        (
            MPARequest(private_data=b"x"),
            "MPA Request rev=1 M=0 C=1 R=0 S=0, 1 octet of Private Data",
        ),
        (
            MPAReply(revision=2, s=1, markers=1, rejected=1, ird=4, ord=8),
            "MPA Reply rev=2 M=1 C=1 R=1 S=1 ird=4 ord=8, 0 octets of Private Data",
        ),
    ],
)
def test_summary(frame: Packet, text: str) -> None:
    """What the two sides agree on."""
    assert frame.summary() == text


@pytest.mark.parametrize("seed", range(5))
def test_fuzz_keeps_the_key(seed: int) -> None:
    """Without it, there would be nothing to test."""
    from random import seed as reseed

    from scapy.packet import fuzz

    reseed(seed)
    assert bytes(fuzz(MPARequest()))[:16] == mpastream.REQUEST_KEY
