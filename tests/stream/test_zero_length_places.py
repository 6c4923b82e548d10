# SPDX-License-Identifier: GPL-2.0-or-later
"""Where FPDUs of zero length stand in octets of unknown content."""

from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.stream.fpdus.search import zero_length_places
from tests.truth import mpastream

PAD = st.binary(min_size=2, max_size=2)
PIECES = st.one_of(
    st.just(bytes(4) + mpastream.crc_field(bytes(4))),
    # Those that are wrong by a bit, or none at all.
    st.binary(max_size=9),
    st.integers(0, 12).map(bytes),
    st.builds(lambda pad, crc: bytes(2) + pad + crc, PAD, st.binary(min_size=4, max_size=4)),
)


@given(st.lists(PIECES, max_size=12).map(b"".join))
def test_they_are_where_length_and_crc_say_so(octets: bytes) -> None:
    """With a pad of zeros, at multiples of 4, and nowhere else (RFC 5044 4.1, 4.4)."""
    expected = [
        at
        for at in range(0, len(octets) - 7, 4)
        if octets[at : at + 4] == bytes(4)
        and octets[at + 4 : at + 8] == mpastream.crc_field(octets[at : at + 4])
    ]
    assert list(zero_length_places(octets)) == expected
