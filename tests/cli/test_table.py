# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables and dumps in text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.cli.below import hex_dump
from scapy_mpa.cli.table import Column, table


def test_columns_are_as_wide_as_they_must_be() -> None:
    """Text to the left, numbers to the right, nothing behind the last cell."""
    columns = (Column("Name"), Column("N", right=True), Column("End"))
    assert list(table(columns, [["a", "100", "x"], ["longer", "7", ""]])) == [
        "Name      N  End",
        "a       100  x",
        "longer    7",
    ]


def test_dump() -> None:
    """Offset, octets, characters."""
    assert hex_dump(bytes(range(0x1E, 0x30))) == [
        "        0000  1e 1f 20 21 22 23 24 25 26 27 28 29 2a 2b 2c 2d  .. !\"#$%&'()*+,-",
        "        0010  2e 2f                                            ./",
    ]
    assert hex_dump(b"") == []


@given(st.binary(max_size=100))
def test_dump_holds_every_octet(octets: bytes) -> None:
    """The octets can be read back."""
    rows = hex_dump(octets)
    assert b"".join(bytes.fromhex(row[14:61]) for row in rows) == octets
    assert all(row[14 + 48 :].isprintable() for row in rows)
