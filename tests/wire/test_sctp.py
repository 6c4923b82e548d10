# SPDX-License-Identifier: GPL-2.0-or-later
"""SCTP packets and chunks (RFC 4960 3), and DDP in them (RFC 5043 5)."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.wire.errors import LocalProtocolError, RemoteProtocolError
from scapy_mpa.wire.sctp_chunks import (
    DataChunk,
    InitChunk,
    build_data,
    build_init,
    build_parameter,
    build_sack,
    parse_cumulative_ack,
    parse_data,
    parse_init,
)
from scapy_mpa.wire.sctp_ddp import (
    SessionControl,
    build_segment,
    build_session_control,
    function_name,
    parse_segment,
    parse_session_control,
)
from scapy_mpa.wire.sctp_packet import (
    Chunk,
    ChunkType,
    SctpHeader,
    build_chunk,
    build_packet,
    parse_chunks,
    parse_header,
)
from tests.truth import sctpstream

words = st.integers(0, 0xFFFF)
longs = st.integers(0, 0xFFFFFFFF)


# -- RFC 4960 ------------------------------------------------------------------------------------


def chunks_of(octets: bytes) -> list[Chunk]:
    """The chunks after a common header."""
    return parse_chunks(bytes(12) + octets)


@given(words, words, longs, longs)
def test_rfc4960_3_1_common_header(source: int, target: int, tag: int, checksum: int) -> None:
    """What is written is read again."""
    made = build_packet(source, target, tag, [], checksum=checksum)
    assert parse_header(made) == SctpHeader(source, target, tag, checksum)


@given(st.lists(st.tuples(st.integers(0, 255), st.integers(0, 255), st.binary(max_size=20))))
def test_rfc4960_3_2_chunks_are_padded(chunks: list[tuple[int, int, bytes]]) -> None:
    """Chunks begin at multiples of 4 octets, and their lengths do not count the pad."""
    made = build_packet(1, 2, 3, [build_chunk(*each) for each in chunks])
    assert len(made) % 4 == 0
    found = [(each.type, each.flags, each.value) for each in parse_chunks(made)]
    assert found == chunks


@given(st.binary(max_size=100))
def test_any_octets_are_some_chunks(octets: bytes) -> None:
    """Nothing is raised, and reading ends."""
    assert len(parse_chunks(octets)) <= len(octets) // 4


@pytest.mark.parametrize("size", range(16))
def test_rfc4960_3_3_1_no_room_for_a_header(size: int) -> None:
    """A chunk is the last one if its length does not even count its own header."""
    short = bytes([0, 7, 0, size]) + bytes(max(0, size - 4 + 3 & ~3))
    first, *others = chunks_of(short + sctpstream.data(5, 16, b"hello"))
    assert (first.length, first.value) == (size - 4, bytes(max(0, size - 4)))
    assert len(others) == (size >= 4)


@given(longs, longs, words, words, longs, st.none() | longs, st.binary(max_size=9))
def test_rfc4960_3_3_2_init(
    tag: int, window: int, out: int, into: int, tsn: int, adaptation: int | None, cookie: bytes
) -> None:
    """The adaptation indication is found after other parameters (RFC 5061 4.2.6)."""
    init = InitChunk(tag, window, out, into, tsn, adaptation)
    made = build_init(init, ChunkType.INIT_ACK, build_parameter(7, cookie))
    (read,) = chunks_of(made)
    assert read.type == ChunkType.INIT_ACK
    assert parse_init(read.value) == init


def test_rfc5043_5_1_adaptation_indication() -> None:
    """Parameter 0xC006 with value 1, in an INIT written by hand."""
    init = InitChunk(sctpstream.TAGS[1], 65535, 4, 4, 9, 1)
    assert build_init(init) == sctpstream.init(0, 9)
    assert b"\xc0\x06\0\x08\0\0\0\x01" in build_init(init)


@pytest.mark.parametrize(
    ("parse", "octets"),
    [
        (parse_header, bytes(11)),
        (parse_init, bytes(15)),
        (lambda octets: parse_data(0, octets, len(octets)), bytes(11)),
        (parse_cumulative_ack, bytes(3)),
        (parse_session_control, bytes(3)),
        (parse_segment, bytes(1)),
    ],
)
def test_too_few_octets(parse: Callable[[bytes], object], octets: bytes) -> None:
    """They raise RemoteProtocolError."""
    with pytest.raises(RemoteProtocolError):
        parse(octets)


@pytest.mark.parametrize(
    "build",
    [
        lambda: build_packet(65536, 0, 0, []),
        lambda: build_chunk(256, 0),
        lambda: build_data(DataChunk(1 << 32, 0, 0, 0, b"", 0)),
        lambda: build_init(InitChunk(0, 0, 65536, 0, 0)),
        lambda: build_init(InitChunk(0, 0, 0, 0, 0, 1 << 32)),
        lambda: build_parameter(65536, b""),
        lambda: build_sack(-1),
        lambda: build_segment(65536, b""),
        lambda: build_session_control(SessionControl(0, 65536)),
    ],
)
def test_numbers_that_do_not_fit(build: Callable[[], bytes]) -> None:
    """They raise LocalProtocolError."""
    with pytest.raises(LocalProtocolError):
        build()


# -- RFC 5043 5.2, RFC 6581 7 --------------------------------------------------------------------


@pytest.mark.parametrize("code", [5, 6, 7])
def test_rfc6581_7_enhanced_data(code: int) -> None:
    """The 4 octets of enhanced data come first, with the same meaning as in MPA."""
    data = sctpstream.enhanced(8, 0x3FFF, a=1, c=1) + b"hi"
    control = SessionControl(0, code, data)
    assert control.enhanced
    startup = control.startup
    assert (startup.ird, startup.ord, startup.control_flags) == (8, 0x3FFF, "AC")
    assert startup.private_data == b"hi"


@pytest.mark.parametrize("control", [SessionControl(0, 1, b"abcd"), SessionControl(0, 5, b"abc")])
def test_no_enhanced_data(control: SessionControl) -> None:
    """The other function codes have none, and 3 octets are too few."""
    startup = control.startup
    assert (control.enhanced, startup.ird, startup.ord, startup.control_flags) == (
        False,
        None,
        None,
        None,
    )
    assert startup.private_data == control.data


def test_function_names() -> None:
    """RFC 5043 5.2.3 and RFC 6581 7, and a function code without a name."""
    assert [function_name(code) for code in range(1, 9)] == [
        "Initiate",
        "Accept",
        "Reject",
        "Terminate",
        "Enhanced Initiate",
        "Enhanced Accept",
        "Enhanced Reject",
        "function code 8",
    ]
