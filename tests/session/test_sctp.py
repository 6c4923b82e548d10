# SPDX-License-Identifier: GPL-2.0-or-later
"""``MPASession`` and ``rdmpa()`` on DDP over SCTP: a packet for each message (RFC 5043 5.2)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.layers.sctp import SCTP, SCTPChunkData
from scapy.packet import Packet
from scapy.sendrecv import sniff
from scapy.utils import wrpcap

from scapy_mpa.layers import DDPSegmentChunk, DDPStreamSessionControl
from scapy_mpa.session import MPASession, rdmpa
from tests.capture.stacks import ALONE
from tests.captures import PCAPS
from tests.dialects.sctp_feed import OPENING, Talk, closing, frames_of
from tests.truth import pcapfile, sctpwalker
from tests.truth import sctpstream as sctp
from tests.truth.walker import read_pcap


def shown(packet: Packet) -> list[object]:
    """The values of a packet in the form of the walker.

    The packet must be whole, with a right length and a right checksum.
    """
    again = IP(bytes(packet[IP]))
    assert again.len == len(bytes(again))
    octets = bytes(again[SCTP])
    checksum = sctp.crc32c(octets[:8] + bytes(4) + octets[12:])
    assert octets[8:12] == checksum.to_bytes(4, "little")
    chunk = packet[SCTPChunkData]
    ppid = 16 if isinstance(chunk.data, DDPSegmentChunk) else 17
    assert chunk.proto_id == ppid
    provenance = chunk.data.provenance
    assert (provenance.seq, provenance.crc) == (chunk.tsn, "good" if ppid == 16 else None)
    row = sctpwalker.row(ppid, bytes(chunk.data))
    return [packet[SCTP].sport, chunk.tsn, chunk.stream_id, *row]


@pytest.mark.parametrize("name", ["sctp_enhanced", "sctp_fragments", "sctp_reject"])
def test_one_packet_for_each_message(name: str) -> None:
    """``rdmpa()`` and ``sniff()`` give the messages of the walker: fragments joined, no copies."""
    path = PCAPS / "crafted" / f"{name}.pcap"
    expected = sctpwalker.walk(path)["messages"]
    packets = rdmpa(str(path))
    assert sorted(map(shown, packets)) == expected
    are_many = any(len(each.data.provenance.frames) > 1 for each in packets)
    assert are_many == (name == "sctp_fragments")
    sniffed = sniff(offline=str(path), session=MPASession(others=False))
    assert [bytes(each) for each in sniffed] == [bytes(each) for each in packets]
    (connection,) = packets.connections()
    assert (connection["dialect"], connection["ended"]) == ("rfc5043", "closed")
    assert not packets.errors() and not packets.gaps()


def in_udp(octets: bytes) -> bytes:
    """A frame with the SCTP packet of an IP packet in UDP (RFC 6951)."""
    ip = IP(octets)
    udp = UDP(sport=9899, dport=9899) / bytes(ip.payload)
    return bytes(Ether() / IP(src=ip.src, dst=ip.dst) / udp)


@pytest.mark.parametrize("wrap", [in_udp, ALONE["ERSPAN III"]])
def test_sctp_in_headers_unknown_to_scapy(wrap: Callable[[bytes], bytes], tmp_path: Path) -> None:
    """Packets have SCTP and lower layers, and can be written and read again."""
    plain, path, written = PCAPS / "crafted/sctp_enhanced.pcap", tmp_path / "a", tmp_path / "b"
    path.write_bytes(pcapfile.pcap([wrap(octets[14:]) for octets in read_pcap(plain)]))
    packets = rdmpa(path)
    wrpcap(str(written), packets)
    chunks, *others = (
        [(each.time, bytes(each[SCTP].payload)) for each in found]
        for found in (packets, rdmpa(written))
    )
    assert others == [chunks]
    assert [octets for _, octets in chunks] == [bytes(each[SCTP].payload) for each in rdmpa(plain)]


def test_other_sctp_passes(tmp_path: Path) -> None:
    """SCTP without DDP is counted as not followed, and passes unchanged."""
    made = Talk()
    made.say(0, 46, b"diameter")
    path = tmp_path / "diameter.pcap"
    path.write_bytes(pcapfile.pcap(frames_of(made.units)))
    session = MPASession()
    assert len(sniff(offline=str(path), session=session, quiet=True)) == 1
    assert session.not_followed == rdmpa(path).not_followed() == {"SCTP without DDP": 1}
    assert len(rdmpa(path)) == 0
    (packet,) = rdmpa(path, others=True)
    assert packet[SCTPChunkData].proto_id == 46


def test_other_frames(tmp_path: Path) -> None:
    """Frames with DATA chunks of DDP are replaced, others pass; gaps and errors are reported."""
    talk = Talk()
    talk.begin_session()
    talk.send(0, b"lost")
    talk.send(0, b"there")
    talk.control(0, 99)
    talk.end_session()
    units = [unit for unit in talk.units if unit.ddp_ssn != 1 or unit.side]
    path = tmp_path / "sctp.pcap"
    path.write_bytes(pcapfile.pcap([*OPENING, *frames_of(units), *closing(talk)]))
    everything = rdmpa(str(path), others=True)
    others = [each for each in everything if not each.haslayer(SCTPChunkData)]
    assert len(others) == len(OPENING) + len(closing(talk))
    assert len(everything) - len(others) == len(units)
    (gap,) = everything.gaps()
    assert (gap["seq"], gap["ddp_ssn"], gap["length"]) == (None, 1, 1)
    texts = [str(each["text"]) for each in everything.errors()]
    assert texts and "RFC 5043 5.2.3" in texts[0]
    first = next(each for each in everything if each.haslayer(SCTPChunkData))
    assert isinstance(first[SCTPChunkData].data, DDPStreamSessionControl)
