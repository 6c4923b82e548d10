# SPDX-License-Identifier: GPL-2.0-or-later
"""Connections of iWARP Framing for TCP as packets: ``sniff()`` and ``rdmpa()``."""

from __future__ import annotations

from scapy.layers.inet import TCP
from scapy.sendrecv import sniff

from scapy_mpa.layers import DDPTagged, DDPUntagged, IFTAdaptionIndication, IFTFrame
from scapy_mpa.session import MPASession, rdmpa
from tests.cli.command import PCAPS, records

PATH = PCAPS / "crafted" / "ift_speculative.pcap"


def test_packets_are_what_the_records_say() -> None:
    """An indication or a frame each, on the lower layers, in the order of the records."""
    packets = rdmpa(str(PATH))
    told = [each for each in records(PATH) if each["type"] in ("adaption_indication", "ift_frame")]
    assert len(packets) == len(told)
    for packet, record in zip(packets, told, strict=True):
        is_frame = record["type"] == "ift_frame"
        layer = packet[IFTFrame if is_frame else IFTAdaptionIndication]
        assert TCP in packet
        assert layer.provenance.seq == record["seq"]
        assert list(layer.provenance.frames) == record.get("frames", [record["frame"]])
        assert layer.vtag == record["vtag"]
        if is_frame:
            assert layer.crc_verdicts() == (record["header_crc"], record["payload_crc"])
            assert (DDPTagged if record["tagged"] else DDPUntagged) in layer
            assert layer.provenance.offset == record["offset"]


def test_sniff_yields_the_same() -> None:
    """As packets of a session."""
    sniffed = sniff(offline=str(PATH), session=MPASession(others=False))
    assert [bytes(each) for each in sniffed] == [bytes(each) for each in rdmpa(str(PATH))]


def test_records_of_the_rest() -> None:
    """The list tells of connections as the command line does."""
    (ended,) = rdmpa(str(PATH)).connections()
    assert ended["dialect"] == "draft-williams-iwarp-ift-01"
