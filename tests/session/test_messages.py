# SPDX-License-Identifier: GPL-2.0-or-later
"""``rdmpa(...).messages()``: messages with their octets and packets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scapy_mpa.session import rdmpa
from tests.captures import CRAFTED, REAL, capture_name
from tests.cli.command import records


@pytest.mark.parametrize("path", REAL + CRAFTED, ids=capture_name)
def test_messages(path: Path) -> None:
    """Each has its record, its octets, and the packets that brought them."""
    capture = rdmpa(str(path))
    found = capture.messages()
    told = [{**each.record, "payload": each.payload and each.payload.hex()} for each in found]
    expected: list[dict[str, Any]] = records("--type", "message", "--payload", path)
    # Of a message without octets, too.
    assert [{**each, "payload": each["payload"] or None} for each in told] == [
        {**each, "payload": each["payload"] or None} for each in expected
    ]
    for each in found:
        frames = [part["frames"] for part in each.record["parts"]]
        brought = [
            getattr(packet, "provenance", None) or packet.data.provenance for packet in each.packets
        ]
        assert [list(one.frames) for one in brought] == frames
    numbers = {each.record["connection"] for each in found}
    for number in sorted(numbers)[:3]:
        own = [each.record for each in capture.connection(number).messages()]
        assert own == [each.record for each in found if each.record["connection"] == number]


def test_lists_that_are_joined() -> None:
    """Both have their messages in one list."""
    one = rdmpa(str(REAL[0]), count=3)
    assert len((one + one).messages()) == 2 * len(one.messages()) > 0
