# SPDX-License-Identifier: GPL-2.0-or-later
"""What lines and records say of RDMAP headers: operands, results and values."""

from __future__ import annotations

from pathlib import Path

import pytest

from scapy_mpa.craft import Conversation
from scapy_mpa.wire.rdmap_names import AtomicOperation
from tests.cli.command import records, run


@pytest.fixture(params=[True, False], ids=["CRC on", "CRC off"])
def capture(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """One of each message that is an RDMAP header."""
    talk = Conversation(crc=request.param)
    talk.initiator.immediate(bytes.fromhex("0102030405060708"))
    talk.initiator.atomic(stag=0x10, to=0x20, original=41, add_or_swap_data=5)
    talk.initiator.atomic(
        *(AtomicOperation.CMP_SWAP, 0x11, 0x21), add_or_swap_data=8, compare_data=7, original=7
    )
    talk.initiator.read(b"four", 1, 2, 3, 4)
    path = tmp_path / "headers.pcap"
    talk.write(path)
    return path


def test_lines(capture: Path) -> None:
    """After the numbers of every DDP header."""
    lines = run("dissect", "--type", "fpdu", capture).stdout
    for said in (
        "Immediate Data qn 0 msn 1 mo 0 8 octets L 0x0102030405060708,",
        "52 octets L FetchAdd 0x5 at stag 0x00000010 to 0x20,",
        "12 octets L was 0x29,",
        "52 octets L CmpSwap 0x8 if 0x7 at stag 0x00000011 to 0x21,",
        "28 octets L reads 4 of stag 0x00000003,",
    ):
        assert said in lines


def test_records(capture: Path) -> None:
    """By the names of the standards; messages of another kind have none."""
    found = [each["header"] for each in records("--type", "fpdu", capture)]
    immediate, fetch_add, was, compare_swap, _, read, response = found
    assert immediate == {"immediate_data": "0102030405060708"}
    assert (fetch_add["operation"], fetch_add["add_or_swap_data"]) == ("FetchAdd", "0x5")
    assert (fetch_add["remote_stag"], fetch_add["remote_to"]) == ("0x00000010", "0x20")
    assert was == {"original_request_identifier": "0x1", "original_remote_data_value": "0x29"}
    assert (compare_swap["operation"], compare_swap["compare_data"]) == ("CmpSwap", "0x7")
    assert read == {
        "sink_stag": "0x00000001",
        "sink_to": "0x2",
        "rdma_read_size": 4,
        "src_stag": "0x00000003",
        "src_to": "0x4",
    }
    assert response is None
