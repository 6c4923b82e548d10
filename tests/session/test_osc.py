# SPDX-License-Identifier: GPL-2.0-or-later
"""OSC's software iWARP as packets."""

from __future__ import annotations

from pathlib import Path

import pytest

from scapy_mpa.craft import FPDUItem, conversation_of
from scapy_mpa.layers import FPDU
from scapy_mpa.session import rdmpa


@pytest.mark.parametrize("name", ["osc", "osc-without-crcs"])
def test_packets(name: str, tmp_path: Path) -> None:
    """One for each FPDU, octet for octet what was sent; FPDUPTRs are shown as they are."""
    made = conversation_of(name)
    path = tmp_path / "osc.pcap"
    made.write(path)
    capture = rdmpa(path, check=True)
    assert not capture.errors()
    found = [packet[FPDU] for packet in capture if FPDU in packet]
    placed = [each.octets for each in made.layout() if isinstance(each.item, FPDUItem)]
    assert sorted(map(bytes, found)) == sorted(placed)
    crcs = {each.crc_verdict() for each in found}
    assert crcs == ({"good"} if made.options.has_crcs else {"unknown"})
    pointing = [marker.fpduptr for each in found for marker in each.markers or () if marker.fpduptr]
    assert pointing
    assert all((fpduptr >> 8 | (fpduptr & 0xFF) << 8) % 4 == 0 for fpduptr in pointing)
    for each in found:
        assert bytes(FPDU(bytes(each), phase=each.phase)) == bytes(each)
