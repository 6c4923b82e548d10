# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures with tags and tunnels, cleaned with or without them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from scapy.layers.inet import IP, fragment
from scapy.layers.l2 import Ether

from scapy_mpa.capture import Frame
from scapy_mpa.craft import Conversation
from tests.capture.stacks import ALONE, ETHERNET
from tests.capture.test_stacks import NOT_IN_TSHARK
from tests.clean.cleaning import Cleaned, clean, fpdus, renumbered


def conversation() -> Conversation:
    """One with Markers, FPDUs across segments, and one that is retransmitted."""
    made = Conversation(markers=True, packing="stream")
    for number in range(12):
        made.initiator.send(bytes([number]) * 700)
        made.responder.write(bytes([number]) * 900, stag=7, to=900 * number)
    return made


PLAIN = conversation().frames()


def inside(name: str) -> list[Frame]:
    """The frames, each IP packet in a tag or tunnel."""
    octets = [ALONE[name](frame.octets[14:]) for frame in PLAIN]
    return [
        frame._replace(octets=each, original_length=len(each))
        for frame, each in zip(PLAIN, octets, strict=True)
    ]


def count(cleaned: Cleaned, tshark: str, path: Path) -> int:
    """How many FPDUs Wireshark finds."""
    path.write_bytes(cleaned.file)
    command = [tshark, "-n", "-o", "tcp.try_heuristic_first:TRUE", "-r", path]
    command += ["-Y", "iwarp_mpa.fpdu", "-T", "fields", "-e", "iwarp_mpa.ulpdulength"]
    return len(subprocess.run(command, capture_output=True, check=True).stdout.split())


@pytest.mark.examples
@pytest.mark.parametrize("name", ALONE)
def test_kept(name: str, tmp_path: Path, tshark: str) -> None:
    """The same FPDUs, in the same tags and tunnels, for any tool that looks into them; or as if
    none had been there, Ethernet addresses being those next to the IP packet."""
    frames = inside(name)
    cleaned = clean(frames)
    assert fpdus(cleaned.frames) == fpdus(frames) == fpdus(PLAIN)
    assert clean(cleaned.frames).frames == cleaned.frames
    if name not in NOT_IN_TSHARK:
        assert count(cleaned, tshark, tmp_path / "kept.pcapng") == fpdus(PLAIN).total()
    wanted = [each.octets[14:] for each in clean(PLAIN).frames]
    left_out = clean(frames, decapsulate=True).frames
    assert [each.octets[14:] for each in left_out] == wanted
    assert {(each.link_type, each.octets[12:14]) for each in left_out} == {(1, b"\x08\x00")}


@pytest.mark.parametrize("decapsulate", [False, True])
def test_fragments(decapsulate: bool) -> None:
    """FPDUs of packets in fragments are found once."""
    octets = [
        bytes(Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / each)
        for number, frame in enumerate(PLAIN)
        for each in fragment(IP(ETHERNET(frame.octets[14:])[14:], id=number), 400)
    ]
    frames = [Frame(0, 10**9, 1, each, len(each), None) for each in octets]
    assert len(frames) > len(PLAIN)
    cleaned = clean(renumbered(frames), decapsulate=decapsulate)
    assert fpdus(cleaned.frames) == fpdus(PLAIN)
