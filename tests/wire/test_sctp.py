# SPDX-License-Identifier: GPL-2.0-or-later
"""SCTP packets and chunks (RFC 4960 3), and DDP in them (RFC 5043 5)."""

import pytest

from scapy_mpa.wire.sctp_chunks import InitChunk, build_init, build_parameter, parse_init
from scapy_mpa.wire.sctp_ddp import function_name
from scapy_mpa.wire.sctp_packet import (
    Chunk,
    ChunkType,
    SctpHeader,
    build_packet,
    parse_chunks,
    parse_header,
)
from tests.truth import sctpstream


def chunks_of(octets: bytes) -> list[Chunk]:
    """The chunks after a common header."""
    return parse_chunks(bytes(12) + octets)


def test_a_wrong_checksum_is_written_as_given() -> None:
    """All numbers of the common header are written as given (RFC 4960 3.1)."""
    assert parse_header(build_packet(1, 2, 3, [], checksum=4)) == SctpHeader(1, 2, 3, 4)


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
        (read,) = chunks_of(build_init(other, ChunkType.INIT_ACK, build_parameter(7, b"four")))
        assert parse_init(read.value) == other


def test_function_names() -> None:
    """RFC 5043 5.2.3 and RFC 6581 7, and a function code without a name."""
    assert ", ".join(map(function_name, range(1, 9))) == (
        "Initiate, Accept, Reject, Terminate, "
        "Enhanced Initiate, Enhanced Accept, Enhanced Reject, function code 8"
    )
