# SPDX-License-Identifier: GPL-2.0-or-later
"""Packets of SoftUiWARP, of OSC and of iWARP Framing for TCP."""

from __future__ import annotations

from pathlib import Path

import pytest
from scapy.layers.inet import TCP
from scapy.sendrecv import sniff

from scapy_mpa.craft import FPDUItem, conversation_of
from scapy_mpa.layers import FPDU, DDPTagged, DDPUntagged, IFTAdaptionIndication, IFTFrame
from scapy_mpa.session import MPASession, rdmpa
from tests.captures import PCAPS
from tests.cli.command import records

CAPTURE = PCAPS / "crafted" / "softuiwarp.pcap"


@pytest.mark.parametrize("dialect", [None, "softuiwarp"])
def test_softuiwarp(dialect: str | None) -> None:
    """FPDUs have the dialect from the first one whose pad shows it; if it is given, all have it."""
    of_side: dict[str, list[FPDU]] = {}
    for each in rdmpa(str(CAPTURE), dialect=dialect):
        if FPDU in each:
            of_side.setdefault(each[FPDU].provenance.src, []).append(each[FPDU])
    assert len(of_side) == 2
    for fpdus in of_side.values():
        dialects = [each.dialect for each in fpdus]
        begin = dialects.index("softuiwarp")
        assert dialects == [None] * begin + ["softuiwarp"] * (len(fpdus) - begin)
        assert begin == 0 if dialect else fpdus[begin - 1].ulpdu_length % 2
        assert all(each.ulpdu_length % 2 == 0 for each in fpdus[: max(0, begin - 1)])
        for each in fpdus[begin:]:
            assert len(each.pad) == (each.ulpdu_length + 2) % 4 and each.crc == 0
            assert "softuiwarp, CRC off" in each.summary()


@pytest.mark.parametrize("name", ["osc", "osc-without-crcs"])
def test_osc(name: str, tmp_path: Path) -> None:
    """There is a packet for each FPDU with the same octets.  FPDUPTRs are shown as captured."""
    made = conversation_of(name)
    path = tmp_path / "osc.pcap"
    made.write(path)
    capture = rdmpa(path, check=True)
    assert not capture.errors()
    found = [packet[FPDU] for packet in capture if FPDU in packet]
    placed = [each.octets for each in made.layout() if isinstance(each.item, FPDUItem)]
    assert sorted(map(bytes, found)) == sorted(placed)
    crcs = {each.crc_verdict() for each in found}
    assert crcs == ({"good"} if made.options.has_crcs else {"unknown"})
    pointing = [marker.fpduptr for each in found for marker in each.markers or () if marker.fpduptr]
    assert pointing
    assert all((fpduptr >> 8 | (fpduptr & 0xFF) << 8) % 4 == 0 for fpduptr in pointing)
    for each in found:
        assert bytes(FPDU(bytes(each), phase=each.phase)) == bytes(each)


PATH = PCAPS / "crafted" / "ift_speculative.pcap"


def test_packets_have_the_values_of_records() -> None:
    """A packet has lower layers and one indication or frame, in the order of the records.

    ``sniff()`` yields the same packets.
    """
    packets = rdmpa(str(PATH))
    rows = [each for each in records(PATH) if each["type"] in ("adaption_indication", "ift_frame")]
    assert len(packets) == len(rows)
    for packet, record in zip(packets, rows, strict=True):
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
        else:
            assert layer.provenance.crc == record["crc"]
    sniffed = sniff(offline=str(PATH), session=MPASession(others=False))
    assert [bytes(each) for each in sniffed] == [bytes(each) for each in packets]
    assert [each["dialect"] for each in packets.connections()] == ["draft-williams-iwarp-ift-01"]
