# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs of SoftUiWARP: pads of (ULPDU_Length + 2) mod 4 octets, CRC fields of zeros."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from scapy.packet import Padding

from scapy_mpa.layers import FPDU
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
