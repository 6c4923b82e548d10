# SPDX-License-Identifier: GPL-2.0-or-later
"""Packets that were recovered may be pickled, and sent to other processes."""

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
    """All that may be seen of a packet."""
    shown = packet.show(dump=True), packet.command(), bytes(packet), packet.summary()
    kept = [(each.name, each.time, each.wirelen, each.sniffed_on) for each in layers(packet)]
    return [*shown, kept]


def returned(packet: Packet) -> Packet:
    """For another process."""
    return packet


PICKLED = (
    *("vlan5_mix_crcon", "rping_ipv6_mpa2_crcon", "term_writebad", "crafted/markers"),
    *("crafted/softuiwarp", "crafted/sctp_fragments", "crafted/ift_speculative"),
)


@pytest.mark.parametrize("name", PICKLED)
def test_packets(name: str) -> None:
    """Whole, or a layer of them: with all layers and notes, and what is to be computed yet."""
    packets = sniff(offline=str(PCAPS / f"{name}.pcap"), session=MPASession, quiet=True)
    for packet in packets:
        again = pickle.loads(pickle.dumps(packet))
        assert facts(again) == facts(packet)
        assert facts(again.copy()) == facts(packet)
        if TCP in packet:
            assert repr(pickle.loads(pickle.dumps(packet[TCP]))) == repr(packet[TCP])


def test_other_processes() -> None:
    """There and back, with the records of a list: the other process has made none of its own."""
    packets = rdmpa(PCAPS / "crafted" / "markers.pcap")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        (back,) = pool.map(returned, [packets])
    assert type(back) is type(packets)
    assert list(map(facts, back)) == list(map(facts, packets))
    assert sum(FPDU in each for each in back) > 0
    assert back.connections() == packets.connections()
    assert back.not_followed() == packets.not_followed()
