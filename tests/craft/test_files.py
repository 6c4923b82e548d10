# SPDX-License-Identifier: GPL-2.0-or-later
"""Crafted conversations as Scapy reads them."""

from __future__ import annotations

from pathlib import Path

import pytest
from scapy.layers.inet import IP, TCP
from scapy.utils import rdpcap

from scapy_mpa.craft import Conversation, Endpoint


@pytest.mark.parametrize("suffix", ["pcap", "pcapng"])
@pytest.mark.parametrize("version", [4, 6])
def test_scapy_reads_it(tmp_path: Path, suffix: str, version: int) -> None:
    """Scapy finds the same frames, and builds them with the same checksums."""
    hosts = ("10.0.0.1", "10.0.0.2") if version == 4 else ("fd00::1", "fd00::2")
    conversation = Conversation(
        Endpoint(hosts[0], 1), Endpoint(hosts[1], 2, mac="02-00-00-00-00-99")
    )
    conversation.initiator.write(bytes(range(256)) * 10, 7, 1 << 40)
    conversation.responder.send(b"hello")
    conversation.close()
    path = tmp_path / f"talk.{suffix}"
    conversation.write(path)
    read = rdpcap(str(path))
    frames = conversation.frames()
    assert [bytes(packet) for packet in read] == [frame.octets for frame in frames]
    packets = conversation.packets()
    assert [bytes(packet) for packet in packets] == [frame.octets for frame in frames]
    assert [packet.time for packet in packets] == [float(packet.time) for packet in read]
    for packet in packets:
        packet[TCP].chksum = None
        if version == 4:
            packet[IP].chksum = packet[IP].len = None
    assert [bytes(packet) for packet in packets] == [frame.octets for frame in frames]
