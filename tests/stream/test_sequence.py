# SPDX-License-Identifier: GPL-2.0-or-later
"""Sequence numbers are positions modulo 2^32 (RFC 9293 3.4; RFC 5044 4.3: "SeqNum can wrap")."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.stream.sequence import first_position, sequence_number, unwrap

SPACE = 2**32
HALF = 2**31


@given(seq=st.integers(0, SPACE - 1))
def test_first_position_keeps_the_sequence_number(seq: int) -> None:
    """The low 32 bits of a position are the sequence number, also of the first one."""
    assert sequence_number(first_position(seq)) == seq


@given(seq=st.integers(0, SPACE - 1), back=st.integers(0, HALF))
def test_octets_before_the_first_ones_have_positions_above_zero(seq: int, back: int) -> None:
    """A late segment before the first captured one has a position, too."""
    position = unwrap((seq - back) % SPACE, first_position(seq))
    assert position > 0


@given(near=st.integers(SPACE, 2**63), seq=st.integers(0, SPACE - 1))
def test_unwrap_names_the_same_octet(near: int, seq: int) -> None:
    """The position has that sequence number, and no closer one has it."""
    position = unwrap(seq, near)
    assert position % SPACE == seq
    assert -HALF <= position - near < HALF
