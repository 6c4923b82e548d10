# SPDX-License-Identifier: GPL-2.0-or-later
"""Codecs and rules of other carriers of DDP than MPA.

iWARP Framing for TCP (draft-williams-iwarp-ift-01 4, 5), and SCTP packets and chunks (RFC 4960 3)
with DDP in them (RFC 5043 5).
"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.wire import ift_indication as ift
from scapy_mpa.wire import sctp_packet
from scapy_mpa.wire.ift_frame import build_frame, mulpdu
from scapy_mpa.wire.ift_negotiation import negotiate
from scapy_mpa.wire.sctp_chunks import InitChunk, build_init, build_parameter, parse_init
from scapy_mpa.wire.sctp_ddp import function_name
from tests.truth import sctpstream

ONE = ift.AdaptionIndication(ph=False, vtag=0x1111)
OTHER = ift.AdaptionIndication(ph=True, vtag=0x2222)


VERSIONS = [
    ({}, []),
    ({"version": 2}, []),
    ({"version": 9, "bc_version": 1}, []),
    ({"version": 0}, [("4.2", "version 0 is not 1")]),
    ({"version": 2, "bc_version": 2}, [("4.2", "BC version 2 is above 1")]),
    ({"bc_version": 0}, [("4.2", "BC version 0 is not 1")]),
    ({"reserved_flags": 1, "reserved": b"\1" * 44}, []),
    ({"crc": 1}, [("4.2", "the CRC of the adaption indication does not match")]),
    ({"magic": 1}, [("4.1", "the magic number is 0x00000001")]),
]


@pytest.mark.parametrize(("fields", "texts"), VERSIONS)
def test_4_2_versions_and_reserved_bits(
    fields: dict[str, Any], texts: list[tuple[str, str]]
) -> None:
    """Values that a receiver must reject, and values that it must ignore."""
    found = ift.parse_indication(ift.build_indication(ONE._replace(**fields)))
    assert found.problems() == [
        f"{text} (draft-williams-iwarp-ift-01 {clause})" for clause, text in texts
    ]


# -- 4.2: negotiation ------------------------------------------------------------------------------


@given(st.lists(st.booleans(), min_size=18, max_size=18))
def test_4_2_each_direction_by_itself(flags: list[bool]) -> None:
    """The sender decides on CRCs and SP.  The receiver decides whether CRCs are checked, and on the
    VTag.  Markers need both."""
    one, other = (
        base._replace(**dict(zip(ift.FLAGS, part, strict=True)))
        for base, part in ((ONE, flags[:9]), (OTHER, flags[9:]))
    )
    agreement = negotiate(one, other)
    for direction, sender, receiver in zip(
        agreement.directions, (one, other), (other, one), strict=True
    ):
        assert direction.header_crc == sender.hc
        assert direction.payload_crc == sender.pc
        assert ("h" in direction.ignored) == (sender.hc and receiver.ih)
        assert ("p" in direction.ignored) == (sender.pc and receiver.ip)
        assert direction.vtag == receiver.vtag
        assert direction.speculative == sender.sp
        assert direction.markers == (sender.sm and receiver.rm)
    failed = any(each.endswith(" 9)") for each in agreement.failures)
    assert failed == any(each.markers for each in agreement.directions)


# -- 5.1: frames -----------------------------------------------------------------------------------


def test_5_1_anything_can_be_written() -> None:
    """Wrong sizes are written as given."""
    octets = build_frame(
        b"ddp", b"x", 1, header_crc=False, payload_crc=False, header_size=7, payload_size=9
    )
    assert octets == bytes.fromhex("0007 0009 0001") + b"ddpx"


@given(st.integers(60, 9000), st.booleans(), st.booleans())
def test_5_1_the_largest_segment_that_fits(emss: int, hc: bool, pc: bool) -> None:
    """A frame of the largest size is as long as the TCP segment."""
    size = mulpdu(emss, header_crc=hc, payload_crc=pc)
    assert len(build_frame(bytes(14), bytes(size - 14), 0, header_crc=hc, payload_crc=pc)) == emss


def chunks_of(octets: bytes) -> list[sctp_packet.Chunk]:
    """The chunks after a common header."""
    return sctp_packet.parse_chunks(bytes(12) + octets)


def test_a_wrong_checksum_is_written_as_given() -> None:
    """All numbers of the common header are written as given (RFC 4960 3.1)."""
    assert sctp_packet.parse_header(
        sctp_packet.build_packet(1, 2, 3, [], checksum=4)
    ) == sctp_packet.SctpHeader(1, 2, 3, 4)


@pytest.mark.parametrize("size", range(16))
def test_rfc4960_3_3_1_no_room_for_a_header(size: int) -> None:
    """A chunk is the last one if its length does not even count its own header."""
    short = bytes([0, 7, 0, size]) + bytes(max(0, size - 4 + 3 & ~3))
    first, *others = chunks_of(short + sctpstream.data(5, 16, b"hello"))
    assert (first.length, first.value) == (size - 4, bytes(max(0, size - 4)))
    assert len(others) == (size >= 4)


def test_rfc5043_5_1_adaptation_indication() -> None:
    """Parameter 0xC006 with value 1, in an INIT written by hand.  It is found among others."""
    init = InitChunk(sctpstream.TAGS[1], 65535, 4, 4, 9, 1)
    assert build_init(init) == sctpstream.init(0, 9)
    assert b"\xc0\x06\0\x08\0\0\0\x01" in build_init(init)
    for indication in (1, None):
        other = init._replace(adaptation=indication)
        (read,) = chunks_of(
            build_init(other, sctp_packet.ChunkType.INIT_ACK, build_parameter(7, b"four"))
        )
        assert parse_init(read.value) == other


def test_function_names() -> None:
    """RFC 5043 5.2.3 and RFC 6581 7, and a function code without a name."""
    assert ", ".join(map(function_name, range(1, 9))) == (
        "Initiate, Accept, Reject, Terminate, "
        "Enhanced Initiate, Enhanced Accept, Enhanced Reject, function code 8"
    )
