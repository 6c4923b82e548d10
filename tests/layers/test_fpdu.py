# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDU without Markers: what is computed, what is kept, what is cut short (RFC 5044 4.1, 4.4)."""

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st
from scapy.packet import Padding, Raw

from scapy_mpa.layers import FPDU, DDPTagged, DDPUntagged, RDMAPSend, RDMAPWrite
from scapy_mpa.wire.errors import LocalProtocolError
from tests.layers.strategies import ulpdus
from tests.truth import messages, mpastream

WRITE = messages.write(0xDEADBEEF, 0x1000, b"hello")[0]


def plain(ulpdu: bytes) -> bytes:
    """The octets of an FPDU, made by the tests' own maker of streams."""
    return mpastream.build_stream([ulpdu])[0]


# Computed


@pytest.mark.parametrize(("length", "pad"), [(0, 2), (1, 1), (2, 0), (3, 3), (4, 2)])
def test_length_pad_and_crc_are_computed(length: int, pad: int) -> None:
    """The pad makes the FPDU a multiple of four; the CRC's least significant octet is first."""
    octets = bytes(FPDU() / Raw(b"\xaa" * length))
    body = length.to_bytes(2, "big") + b"\xaa" * length + bytes(pad)
    assert octets == body + crc32c(body).to_bytes(4, "little")


def test_what_a_user_types() -> None:
    """Opcode, T, length, pad and CRC follow from the stack of layers."""
    packet = FPDU() / DDPTagged(stag=0xDEADBEEF, to=0x1000) / RDMAPWrite() / b"hello"
    assert bytes(packet) == plain(WRITE)


def test_largest_ulpdu() -> None:
    """65535 octets fit the field, one more does not."""
    assert bytes(FPDU() / Raw(bytes(65535)))[:2] == b"\xff\xff"
    with pytest.raises(LocalProtocolError, match="65536 octets"):
        bytes(FPDU() / Raw(bytes(65536)))


# Kept


def test_given_values_are_sent_as_they_are() -> None:
    """Right or wrong; the CRC covers them."""
    packet = FPDU(ulpdu_length=7, pad=b"\xee") / b"abc"
    body = b"\x00\x07abc\xee"
    assert bytes(packet) == body + crc32c(body).to_bytes(4, "little")
    packet.crc = 0
    assert bytes(packet) == body + bytes(4)


@pytest.mark.parametrize("crc", [0x83992352, bytes.fromhex("52239983")])
def test_crc_is_given_as_number_or_octets(crc: int | bytes) -> None:
    """The number is the usual CRC32c value; its octets on the wire mean the same."""
    fpdu = FPDU(crc=crc)
    assert fpdu.crc == 0x83992352
    assert bytes(fpdu)[-4:].hex() == "52239983"


def test_too_large_a_crc_is_refused() -> None:
    """A number that does not fit is an error when built, not when shown."""
    fpdu = FPDU(crc=2**32)
    assert "0x100000000" in fpdu.show(dump=True)
    with pytest.raises(ValueError, match="crc"):
        bytes(fpdu)


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


def test_recompute_after_another_payload() -> None:
    """Length and pad of the old payload go, too."""
    fpdu = FPDU(plain(WRITE))
    fpdu[Raw].load = b"something longer"
    fpdu.recompute()
    assert bytes(fpdu) == plain(messages.write(0xDEADBEEF, 0x1000, b"something longer")[0])


# Dissected


def test_fields_of_a_dissected_fpdu() -> None:
    """ULPDU_Length, pad and CRC as they are in the octets."""
    fpdu = FPDU(plain(WRITE))
    assert fpdu.ulpdu_length == 19
    assert fpdu.pad == bytes(3)
    assert fpdu.crc_verdict() == "good"
    assert fpdu.layers() == [FPDU, DDPTagged, RDMAPWrite, Raw]
    assert (fpdu.phase, fpdu.markers, fpdu.provenance) == (None, None, None)


def test_crc_verdict() -> None:
    """Bad for any other octets, unknown if the CRC is not there."""
    octets = plain(WRITE)
    assert FPDU(octets).crc_verdict() == "good"
    assert FPDU(octets[:-4] + bytes(4)).crc_verdict() == "bad"
    assert FPDU(octets[:-1]).crc_verdict() == "unknown"
    assert FPDU().crc_verdict() == "good"
    assert FPDU(crc=0).crc_verdict() == "bad"


@given(ulpdus(), st.binary(min_size=4, max_size=4), st.binary(max_size=3))
def test_any_fpdu_is_rebuilt(ulpdu: bytes, crc: bytes, pad: bytes) -> None:
    """Whatever its ULPDU, pad and CRC are."""
    octets = bytearray(plain(ulpdu)[:-4] + crc)
    start = 2 + len(ulpdu)
    end = len(octets) - 4
    octets[start:end] = pad.ljust(3)[: end - start]
    assert bytes(FPDU(bytes(octets))) == octets


@pytest.mark.parametrize("ulpdu", [WRITE, messages.read_request(1, 2, 3, 4, 5, 6)[0], b""])
def test_cut_short_anywhere(ulpdu: bytes) -> None:
    """What a snap length has left is read and rebuilt, whatever field it cut."""
    octets = plain(ulpdu)
    for length in range(1, len(octets)):
        fpdu = FPDU(octets[:length])
        assert bytes(fpdu) == octets[:length]
        assert fpdu.crc_verdict() == "unknown"
        assert bytes(fpdu.copy()) == octets[:length]


def test_cut_short_is_visible() -> None:
    """A field that is cut holds the octets that are left of it."""
    octets = plain(WRITE)
    assert FPDU(octets[:1]).ulpdu_length == b"\x00"
    assert FPDU(octets[:-2]).crc == octets[-4:-2]
    assert FPDU(octets[:-4]).crc == b""
    assert FPDU(octets[:-6]).pad == bytes(1)
    assert FPDU(octets[:18])[Raw].load == b"he"


def test_next_fpdu_is_padding() -> None:
    """A stream is not one packet: what follows the CRC is kept apart, and can be read on."""
    one, two = plain(WRITE), plain(messages.send(1, b"world")[0])
    first = FPDU(one + two)
    assert first[Padding].load == two
    assert bytes(first) == one + two
    assert first.crc_verdict() == "good"
    assert FPDU(first[Padding].load).layers() == [FPDU, DDPUntagged, RDMAPSend, Raw]


def test_zero_length_ulpdu() -> None:
    """An FPDU without a ULPDU, one of the RTRs of RFC 6581 9.2."""
    fpdu = FPDU(plain(b""))
    assert fpdu.ulpdu_length == 0
    assert fpdu.layers() == [FPDU]


# What the payload is


@pytest.mark.parametrize(
    ("ulpdu", "layer"),
    [
        (bytes(18), DDPUntagged),
        (bytes(17), Raw),
        (b"\x80" + bytes(13), DDPTagged),
        (b"\x80" + bytes(12), Raw),
    ],
)
def test_t_bit_chooses_the_ddp_header(ulpdu: bytes, layer: type) -> None:
    """Tagged or untagged; what is too short for a header is Raw."""
    fpdu = FPDU(plain(ulpdu))
    assert type(fpdu.payload) is layer
    assert bytes(fpdu) == plain(ulpdu)


# Shown


def test_show() -> None:
    """The CRC both ways: the number and the octets of RFC 5044 figure 5."""
    assert FPDU(ulpdu_length=2, pad=b"\0", crc=0x83992352).show(dump=True).splitlines() == [
        "###[ MPA FPDU ]###",
        "  ulpdu_length= 2",
        "  pad       = 00",
        "  crc       = 0x83992352 (52 23 99 83)",
    ]


@pytest.mark.parametrize(
    ("octets", "text"),
    [
        (
            plain(WRITE),
            "MPA FPDU 19 octets, CRC good / DDP Tagged stag=0xdeadbeef to=0x1000 L"
            " / RDMA Write 5 octets / Raw",
        ),
        (
            plain(WRITE)[:-1] + b"\0",
            "MPA FPDU 19 octets, CRC bad / DDP Tagged stag=0xdeadbeef to=0x1000 L"
            " / RDMA Write 5 octets / Raw",
        ),
        (plain(b"")[:7], "MPA FPDU 0 octets, CRC unknown"),
    ],
)
def test_summary(octets: bytes, text: str) -> None:
    """Length, CRC verdict, the place of the data, and the message as the RFC calls it."""
    assert FPDU(octets).summary() == text


def test_summary_of_a_crafted_one() -> None:
    """What is still to be computed is not judged."""
    assert (FPDU() / b"abc").summary() == "MPA FPDU 3 octets / Raw"
