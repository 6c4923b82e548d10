# SPDX-License-Identifier: GPL-2.0-or-later
"""Recovered packets can be pickled, and sent to other processes."""

from __future__ import annotations

import multiprocessing
import pickle

import pytest
from scapy.layers.inet import TCP
from scapy.packet import Packet
from scapy.sendrecv import sniff

from scapy_mpa.layers import FPDU
from scapy_mpa.session import MPASession, rdmpa
from tests.captures import PCAPS
from tests.session.plain import layers


def facts(packet: Packet) -> list[object]:
    """All that a user can see of a packet."""
    shown = packet.show(dump=True), packet.command(), bytes(packet), packet.summary()
    kept = [(each.name, each.time, each.wirelen, each.sniffed_on) for each in layers(packet)]
    return [*shown, kept]


def returned(packet: Packet) -> Packet:
    """The packet itself; another process runs this."""
    return packet


PICKLED = (
    *("vlan5_mix_crcon", "rping_ipv6_mpa2_crcon", "term_writebad", "crafted/markers"),
    *("crafted/softuiwarp", "crafted/sctp_fragments", "crafted/ift_speculative"),
)


@pytest.mark.parametrize("name", PICKLED)
def test_packets(name: str) -> None:
    """A packet, or a layer of it, keeps all layers and notes, and fields without a value yet."""
    packets = sniff(offline=str(PCAPS / f"{name}.pcap"), session=MPASession, quiet=True)
    for packet in packets:
        again = pickle.loads(pickle.dumps(packet))
        assert facts(again) == facts(packet)
        assert facts(again.copy()) == facts(packet)
        if TCP in packet:
            assert repr(pickle.loads(pickle.dumps(packet[TCP]))) == repr(packet[TCP])


def test_other_processes() -> None:
    """A list and its records come back equal from a process that made no packet itself."""
    packets = rdmpa(PCAPS / "crafted" / "markers.pcap")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        (back,) = pool.map(returned, [packets])
    assert type(back) is type(packets)
    assert list(map(facts, back)) == list(map(facts, packets))
    assert sum(FPDU in each for each in back) > 0
    assert back.connections() == packets.connections()
    assert back.not_followed() == packets.not_followed()
