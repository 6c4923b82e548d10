# SPDX-License-Identifier: GPL-2.0-or-later
"""DDP headers (RFC 5041 section 4)."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.wire.ddp import DDPHeader, build_ddp, ddp_header_length, parse_ddp, ulpdus_of
from scapy_mpa.wire.errors import RemoteProtocolError
from tests.truth import messages

FIGURES = {
    "d6 40 01020304 1112131415161718": DDPHeader(
        True, True, 0b0101, 0b10, 0x40, 0x01020304, 0x1112131415161718
    ),
    "29 43 01020304 00000002 11121314 21222324": DDPHeader(
        False, False, 0b1010, 0b01, 0x43, None, None, 0x01020304, 2, 0x11121314, 0x21222324
    ),
}
"""Octets of headers, and T, L, Rsvd, DV, RsvdULP, STag, TO, the rest of RsvdULP, QN, MSN, MO."""


@pytest.mark.parametrize("octets", FIGURES)
def test_headers_of_the_figures(octets: str) -> None:
    """Each field lies where RFC 5041 figures 4 and 5 have it."""
    header = parse_ddp(bytes.fromhex(octets))
    assert header == FIGURES[octets]
    for kind in (bytearray, memoryview):
        assert parse_ddp(kind(bytes.fromhex(octets))) == header
    assert header.length == len(bytes.fromhex(octets))
    assert build_ddp(header).hex() == octets.replace(" ", "")


@pytest.mark.parametrize("header", FIGURES.values())
def test_too_short(header: DDPHeader) -> None:
    """The error says how many octets there are and how many are needed."""
    octets = build_ddp(header)
    assert ddp_header_length(octets[:1]) == len(octets)
    for there in range(len(octets)):
        needed = f"{len(octets)} octets, {there} are" if there else "14 or 18 octets, none are"
        with pytest.raises(RemoteProtocolError, match=f"needs {needed} there"):
            parse_ddp(octets[:there])


@given(
    st.binary(max_size=600),
    st.integers(19, 300),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**64 - 600),
    st.sampled_from([bytes, bytearray, memoryview]),
)
def test_ulpdus_of_a_message(
    payload: bytes, mulpdu: int, number: int, to: int, kind: Callable[[bytes], bytes]
) -> None:
    """Segments are those of an independent generator (RFC 5041 5.2), for any kind of buffer."""
    tagged = DDPHeader(True, True, 0, 1, 0x40, number, to)
    assert ulpdus_of(tagged, kind(payload), mulpdu) == messages.write(number, to, payload, mulpdu)
    untagged = DDPHeader(False, False, 0, 1, 0x43, None, None, None, 0, number, 0)
    assert ulpdus_of(untagged, kind(payload), mulpdu) == messages.send(number, payload, mulpdu)


def test_offset_wraps() -> None:
    """A Tagged Offset beyond 2^64 begins at 0 again."""
    header = DDPHeader(True, True, 0, 1, 0x40, 1, 2**64 - 2)
    assert [parse_ddp(each).to for each in ulpdus_of(header, b"1234", 16)] == [2**64 - 2, 0]
