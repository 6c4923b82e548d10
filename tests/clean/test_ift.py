# SPDX-License-Identifier: GPL-2.0-or-later
"""Connections of iWARP Framing for TCP are copied as they are."""

from __future__ import annotations

from pathlib import Path

from scapy_mpa.capture import open_capture
from tests.cli.command import PCAPS, run


def test_every_frame_is_copied(tmp_path: Path) -> None:
    """There is nothing in them that other tools could read if it were written otherwise."""
    source, target = PCAPS / "crafted" / "ift_speculative.pcap", tmp_path / "clean.pcap"
    assert run("clean", source, "-o", target).exit_code == 0
    with open_capture(str(source)) as before, open_capture(str(target)) as after:
        assert [each.octets for each in after] == [each.octets for each in before]
