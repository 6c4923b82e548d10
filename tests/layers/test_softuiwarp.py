# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs of SoftUiWARP: pads of (ULPDU_Length + 2) mod 4 octets, CRC fields of zeros."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.packet import Padding

from scapy_mpa.layers import FPDU
from scapy_mpa.wire.errors import LocalProtocolError
from tests.layers.strategies import ulpdus


def stated(ulpdu: bytes) -> bytes:
    """An FPDU by the words of the facts."""
    return len(ulpdu).to_bytes(2, "big") + ulpdu + bytes((len(ulpdu) + 2) % 4) + bytes(4)


@given(ulpdus(), st.binary(max_size=9))
def test_dissected(ulpdu: bytes, behind: bytes) -> None:
    """Every field is what it says, what lies behind is padding, and all is rebuilt as it came."""
    octets = stated(ulpdu)
    packet = FPDU(octets + behind, dialect="softuiwarp")
    assert (packet.ulpdu_length, packet.crc) == (len(ulpdu), 0)
    assert packet.pad == bytes((len(ulpdu) + 2) % 4)
    assert bytes(packet.payload) == ulpdu + behind
    assert (packet[Padding].load if behind else b"") == behind
    assert packet.crc_verdict() == "off"
    assert bytes(packet) == octets + behind
    packet.recompute()
    assert bytes(packet) == octets + behind


@pytest.mark.parametrize(
    ("packet", "text"),
    [
        (FPDU(pad=bytes(3), crc=0) / bytes(21), "MPA FPDU 21 octets, 3 octets of pad, CRC bad"),
        (FPDU(pad=bytes(1), crc=0) / bytes(21), "MPA FPDU 21 octets, CRC bad"),
        (FPDU(pad=bytes(3), dialect="softuiwarp") / bytes(21), "MPA FPDU 21 octets, softuiwarp"),
        (
            FPDU(pad=b"", dialect="softuiwarp") / bytes(21),
            "MPA FPDU 21 octets, softuiwarp, 0 octets of pad",
        ),
    ],
)
def test_summary_tells_a_pad_that_is_none(packet: FPDU, text: str) -> None:
    """A pad of another length than that of the dialect is not passed over."""
    assert packet.summary() == f"{text} / Raw"


def test_other_dialects() -> None:
    """What pads as RFC 5044 has it does so; a name that there is not is refused."""
    assert bytes(FPDU(dialect="erdma") / b"odd") == bytes(FPDU() / b"odd")
    with pytest.raises(LocalProtocolError, match="no dialect 'nobody'"):
        FPDU(dialect="nobody")
