# SPDX-License-Identifier: GPL-2.0-or-later
"""Packets that were recovered may be pickled, and sent to other processes."""

from __future__ import annotations

import multiprocessing
import pickle

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from scapy.packet import Packet
from scapy.sendrecv import sniff

from scapy_mpa.layers import FPDU
from scapy_mpa.session import MPASession, rdmpa
from tests.captures import PCAPS
from tests.session.plain import layers


def facts(packet: Packet) -> list[object]:
    """All that may be seen of a packet."""
    shown = packet.show(dump=True), packet.command(), bytes(packet), packet.summary()
    kept = [(each.name, each.time, each.wirelen, each.sniffed_on) for each in layers(packet)]
    return [*shown, kept]


def returned(packet: Packet) -> Packet:
    """For another process."""
    return packet


@pytest.mark.parametrize(
    "name",
    [
        "vlan5_mix_crcon",
        "rping_ipv6_mpa2_crcon",
        "term_writebad",
        "crafted/markers",
        "crafted/softuiwarp",
        "crafted/sctp_fragments",
        "crafted/ift_speculative",
    ],
)
def test_packets(name: str) -> None:
    """Whole, or a layer of them: with all layers and notes, and what is to be computed yet."""
    packets = sniff(offline=str(PCAPS / f"{name}.pcap"), session=MPASession, quiet=True)
    for packet in packets:
        again = pickle.loads(pickle.dumps(packet))
        assert facts(again) == facts(packet)
        assert facts(again.copy()) == facts(packet)
        if TCP in packet:
            assert repr(pickle.loads(pickle.dumps(packet[TCP]))) == repr(packet[TCP])


def test_other_packets() -> None:
    """Those without our layers are pickled as Scapy does it, which computes all fields."""
    packet = Ether(dst="02:00:00:00:00:01") / IP() / TCP()
    assert packet[IP].len is None
    assert pickle.loads(pickle.dumps(packet))[IP].len == 40


def test_other_processes() -> None:
    """There and back: the other process has made none of its own."""
    packets = rdmpa(PCAPS / "crafted" / "markers.pcap")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        back = pool.map(returned, list(packets))
    assert list(map(facts, back)) == list(map(facts, packets))
    assert sum(FPDU in each for each in back) > 0


def test_lists() -> None:
    """With the records that they have."""
    packets = rdmpa(PCAPS / "live_siw_probe_guest_eth0.pcap.gz", count=5)
    again = pickle.loads(pickle.dumps(packets))
    assert type(again) is type(packets)
    assert list(map(facts, again)) == list(map(facts, packets))
    assert again.connections() == packets.connections()
    assert again.not_followed() == packets.not_followed()
