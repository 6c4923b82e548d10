# SPDX-License-Identifier: GPL-2.0-or-later
"""Packets of FPDUs inside tags and tunnels."""

from __future__ import annotations

from pathlib import Path

import pytest
from scapy.layers.inet import TCP

from scapy_mpa.layers import FPDU
from scapy_mpa.session import rdmpa
from tests.capture.stacks import ALONE, inside
from tests.captures import PCAPS
from tests.session.plain import sniffed

CAPTURE = PCAPS / "rping_mpa2_crcon.pcap"
PLAIN = [bytes(each[FPDU]) for each in rdmpa(CAPTURE) if FPDU in each]


@pytest.mark.examples
@pytest.mark.parametrize("name", ALONE)
def test_fpdus_inside(name: str, tmp_path: Path) -> None:
    """FPDUs are the same, each above a TCP layer, without headers that Scapy cannot dissect."""
    path = tmp_path / "inside.pcap"
    path.write_bytes(inside(ALONE[name], CAPTURE))
    for packets in (rdmpa(path), sniffed(path)):
        found = [each for each in packets if FPDU in each]
        assert [bytes(each[FPDU]) for each in found] == PLAIN
        for each in found:
            assert each[FPDU].underlayer is each[TCP]
            # All layers have the lengths and checksums of their own payload.
            assert bytes(each).endswith(bytes(each[FPDU]))
