# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDU without Markers: what is computed, what is kept, what is cut short (RFC 5044 4.1, 4.4)."""

import pytest
from crc32c import crc32c
from scapy.packet import Raw

from scapy_mpa.layers import FPDU, DDPTagged, DDPUntagged, RDMAPWrite
from scapy_mpa.wire.errors import LocalProtocolError
from tests.truth import messages, mpastream

WRITE = messages.write(0xDEADBEEF, 0x1000, b"hello")[0]


def plain(ulpdu: bytes) -> bytes:
    """The octets of an FPDU, made by the tests' own maker of streams."""
    return mpastream.build_stream([ulpdu])[0]


# Computed


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


def test_crc_verdict() -> None:
    """Bad for any other octets, unknown if the CRC is not there."""
    octets = plain(WRITE)
    assert FPDU(octets).crc_verdict() == "good"
    assert FPDU(octets[:-4] + bytes(4)).crc_verdict() == "bad"
    assert FPDU(octets[:-1]).crc_verdict() == "unknown"
    assert FPDU().crc_verdict() == "good"
    assert FPDU(crc=0).crc_verdict() == "bad"


def test_cut_short_is_visible() -> None:
    """A field that is cut holds the octets that are left of it."""
    octets = plain(WRITE)
    assert FPDU(octets[:1]).ulpdu_length == b"\x00"
    assert FPDU(octets[:-2]).crc == octets[-4:-2]
    assert FPDU(octets[:-4]).crc == b""
    assert FPDU(octets[:-6]).pad == bytes(1)
    assert FPDU(octets[:18])[Raw].load == b"he"


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
