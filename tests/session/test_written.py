# SPDX-License-Identifier: GPL-2.0-or-later
"""Recovered packets are the same after ``wrpcap`` has written them and they are read again."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scapy.packet import Packet
from scapy.plist import PacketList
from scapy.utils import wrpcap

from scapy_mpa.craft.scenario import parse_scenario
from scapy_mpa.layers import FPDU
from scapy_mpa.session import rdmpa
from tests.captures import CRAFTED, REAL, capture_name
from tests.session.plain import recovered_layers, sniffed
from tests.truth.situations import SITUATIONS, case_of

Found = dict[tuple[str, str], list[tuple[type[Packet], int, bytes, str | None]]]


def found_in(packets: PacketList) -> Found:
    """The recovered layers of each direction, in order."""
    found: Found = {}
    for packet in packets:
        for layer in recovered_layers(packet):
            place = layer.provenance
            facts = type(layer), place.seq, bytes(layer), place.crc
            found.setdefault((place.src, place.dst), []).append(facts)
    return found


def fpdus(found: Found) -> list[Any]:
    """The FPDUs alone."""
    return [(way, *each) for way, all_ in found.items() for each in all_ if each[0] is FPDU]


def ways(path: Path, **options: Any) -> list[PacketList]:
    """The recovered packets of a capture, without other frames and with them."""
    return [rdmpa(path, **options), sniffed(path, **options)]


def read_again(packets: PacketList, folder: Path, **options: Any) -> Found:
    """The recovered layers of the file that ``wrpcap`` writes."""
    path = folder / "written.pcap"
    wrpcap(str(path), packets)
    return found_in(rdmpa(path, **options))


@pytest.mark.examples
@pytest.mark.parametrize("path", REAL + CRAFTED, ids=capture_name)
def test_captures(path: Path, tmp_path: Path) -> None:
    """No packet is lost, doubled or in another order.

    Without other frames only FPDUs are compared: the SYN, which is then missing, shows some invalid
    startup frames.
    """
    # Until SoftUiWARP is recognised, the pad of its FPDUs is taken for that of RFC 5044.
    options = {"dialect": "softuiwarp"} if path.name.startswith("softuiwarp") else {}
    alone, amid_others = ways(path, **options)
    assert read_again(amid_others, tmp_path, **options) == found_in(amid_others)
    assert fpdus(read_again(alone, tmp_path, **options)) == fpdus(found_in(alone))


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("markers", ["neither", "both"])
def test_situations(situation: str, markers: str, tmp_path: Path) -> None:
    """With holes, copies, damage and cut frames FPDUs are the same, perhaps in another order."""
    path = tmp_path / "captured.pcap"
    path.write_bytes(case_of(situation, 1, markers=markers).pcap())
    for packets in ways(path):
        assert sorted(fpdus(read_again(packets, tmp_path))) == sorted(fpdus(found_in(packets)))


TIMESTAMPS = b"\1\1\x08\x0a" + bytes(range(8))


def ways_with(path: Path, first: bytes, later: bytes) -> list[PacketList]:
    """The packets of segments with these TCP options, found in two ways."""
    conversation = parse_scenario("repeat 3 initiator send 1")
    segments = conversation.segments()
    half = len(segments) // 2
    options = [first] * half + [later] * (len(segments) - half)
    with_options = [replace(each, options=own) for each, own in zip(segments, options, strict=True)]
    conversation.write(path, with_options)
    return ways(path)


DROPPED = [
    pytest.param(bytes(8), bytes(8), id="octets after the end"),
    pytest.param(TIMESTAMPS, bytes(12), id="timestamps first"),
    pytest.param(bytes(12), TIMESTAMPS, id="timestamps later"),
]


@pytest.mark.parametrize(("first", "later"), DROPPED)
def test_tcp_options_that_scapy_drops(tmp_path: Path, first: bytes, later: bytes) -> None:
    """Without these options, the packets still have the same FPDUs when they are read again."""
    for packets in ways_with(tmp_path / "captured.pcapng", first, later):
        assert len(fpdus(found_in(packets))) == 3
        assert fpdus(read_again(packets, tmp_path)) == fpdus(found_in(packets))


def test_tcp_options_that_scapy_cannot_build(tmp_path: Path) -> None:
    """A SACK option of 6 octets costs no packet."""
    sack = b"\1\5\6\6\5\x66\x95\xf4"
    for packets in ways_with(tmp_path / "captured.pcapng", sack, sack):
        assert len(fpdus(found_in(packets))) == 3
