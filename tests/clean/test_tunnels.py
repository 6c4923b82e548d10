# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures with tags and tunnels, which clean keeps or leaves out."""

from pathlib import Path

import pytest
from scapy.layers.inet import IP, fragment
from scapy.layers.l2 import Ether

from scapy_mpa.capture import Frame
from scapy_mpa.craft.scenario import parse_scenario
from tests.capture.stacks import ALONE
from tests.capture.test_stacks import NOT_IN_TSHARK
from tests.clean.cleaning import clean, fpdus, renumbered, segments, shown_fpdus

SENDS = "initiator send 700\nresponder write 900 stag 7\n" * 12
PLAIN = parse_scenario(f"markers both\npacking stream\n{SENDS}").frames()
"""A conversation with Markers, and FPDUs across segments."""


def inside(name: str) -> list[Frame]:
    """The same frames, each IP packet in a tag or tunnel."""
    octets = [ALONE[name](frame.octets[14:]) for frame in PLAIN]
    return [
        frame._replace(octets=each, original_length=len(each))
        for frame, each in zip(PLAIN, octets, strict=True)
    ]


@pytest.mark.examples
@pytest.mark.parametrize("name", ALONE)
def test_tags_and_tunnels(name: str, tmp_path: Path, tshark: str) -> None:
    """The FPDUs stay the same in the same tags and tunnels, also for tshark.

    Without tags and tunnels, the frames are as if none had been there, but for Ethernet addresses.
    """
    frames = inside(name)
    cleaned = clean(frames)
    assert fpdus(cleaned.frames) == fpdus(frames) == fpdus(PLAIN)
    assert clean(cleaned.frames).frames == cleaned.frames
    if name not in NOT_IN_TSHARK:
        assert shown_fpdus(cleaned, tshark, tmp_path / "kept.pcapng") == fpdus(PLAIN).total()
    wanted = [each.octets[14:] for each in clean(PLAIN).frames]
    left_out = clean(frames, decapsulate=True).frames
    assert [each.octets[14:] for each in left_out] == wanted
    assert {(each.link_type, each.octets[12:14]) for each in left_out} == {(1, b"\x08\x00")}


def in_fragments(frames: list[Frame], size: int = 400) -> list[Frame]:
    """The frames, each IPv4 packet in fragments of ``size`` octets."""
    fragments = [
        frame._replace(octets=octets, original_length=len(octets))
        for number, frame in enumerate(frames)
        for each in fragment(IP(frame.octets[14:], id=number), size)
        for octets in [bytes(Ether(frame.octets[:14]) / each)]
    ]
    assert len(fragments) > len(frames)
    return renumbered(fragments)


def test_the_report_on_frames_out_of_a_tunnel() -> None:
    """Frames without a tag or tunnel are copied unchanged, others are not."""
    (_, counts) = clean(PLAIN, decapsulate=True).report.lines()
    assert counts == "3 frames copied unchanged, 27 frames replaced"
    (reduced, _, counts) = clean(inside("VXLAN"), decapsulate=True).report.lines()
    assert reduced == "30 frames reduced to the innermost IP packet"
    assert counts == "3 frames copied, 27 frames replaced"


@pytest.mark.parametrize("name", ["Ethernet", "VXLAN", "ERSPAN II"])
def test_fragments(name: str) -> None:
    """FPDUs of packets in fragments are found once, also inside a tunnel.

    Without tunnels, each packet is written whole.
    """
    frames = in_fragments(inside(name))
    cleaned = clean(frames)
    assert fpdus(cleaned.frames) == fpdus(PLAIN)
    assert clean(cleaned.frames).frames == cleaned.frames
    left_out = clean(frames, decapsulate=True)
    assert segments(left_out.frames) == segments(clean(PLAIN).frames)
    assert left_out.report.copied + left_out.report.replaced == len(frames)
