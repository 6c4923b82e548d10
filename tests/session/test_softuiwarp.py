# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs of SoftUiWARP as ``rdmpa()`` gives them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.craft import Conversation
from scapy_mpa.craft.script import FPDUItem
from scapy_mpa.layers import FPDU
from scapy_mpa.session import rdmpa
from tests.captures import PCAPS
from tests.cli.command import run
from tests.layers.test_softuiwarp import stated

CAPTURE = PCAPS / "crafted" / "softuiwarp.pcap"


@given(st.lists(st.integers(0, 500), max_size=6), st.sampled_from(("aligned", "stream")))
def test_every_octet_is_rebuilt(lengths: list[int], packing: Any) -> None:
    """Each FPDU is built again as it was sent, pads and all, also when recomputed."""
    made = Conversation(dialect="softuiwarp", crc=False, packing=packing)
    for length in lengths:
        made.initiator.send(bytes(length))
        made.responder.write(bytes(length), stag=1, to=2)
    made.close()
    sent = [stated(each.ulpdu) for each in made.script if isinstance(each, FPDUItem)]
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "it.pcap"
        made.write(path)
        found = [each[FPDU] for each in rdmpa(str(path), dialect="softuiwarp") if FPDU in each]
    assert sorted(map(bytes, found)) == sorted(sent)
    assert {each.dialect for each in found} <= {"softuiwarp"}
    for each in found:
        each.recompute()
    assert sorted(map(bytes, found)) == sorted(sent)


@pytest.mark.parametrize("dialect", [None, "softuiwarp"])
def test_recognised(dialect: str | None) -> None:
    """What was read so says so, from the FPDU on where the pads part; before it nothing differs."""
    of_side: dict[str, list[FPDU]] = {}
    for each in rdmpa(str(CAPTURE), dialect=dialect):
        if FPDU in each:
            of_side.setdefault(each[FPDU].provenance.src, []).append(each[FPDU])
    assert len(of_side) == 2
    for fpdus in of_side.values():
        said = [each.dialect for each in fpdus]
        begin = said.index("softuiwarp")
        assert said == [None] * begin + ["softuiwarp"] * (len(said) - begin)
        assert begin == 0 if dialect else fpdus[begin - 1].ulpdu_length % 2
        assert all(each.ulpdu_length % 2 == 0 for each in fpdus[: max(0, begin - 1)])
        for each in fpdus[begin:]:
            assert len(each.pad) == (each.ulpdu_length + 2) % 4 and each.crc == 0
            assert "softuiwarp, CRC off" in each.summary()


def test_layers_that_dissect_prints() -> None:
    """``dissect -V`` shows the dialect where the pads are SoftUiWARP's."""
    text = run("dissect", "-V", "--dialect", "softuiwarp", CAPTURE).stdout
    assert text.count("dialect   = 'softuiwarp'") == text.count("###[ MPA FPDU ]###") == 11
