# SPDX-License-Identifier: GPL-2.0-or-later
"""``sniff(session=MPASession)`` and ``rdmpa()`` on real captures and constructed ones."""

from __future__ import annotations

import gzip
import pathlib
import random
import shutil
from collections.abc import Iterable
from typing import Any

import pytest
from scapy.config import conf
from scapy.consts import LINUX
from scapy.data import MTU
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from scapy.sendrecv import sniff
from scapy.sessions import IPSession
from scapy.utils import rdpcap, wrpcap

from scapy_mpa.capture import open_capture
from scapy_mpa.capture.frame import Frame
from scapy_mpa.capture.write import write_frames
from scapy_mpa.craft import Conversation
from scapy_mpa.layers import (
    FPDU,
    DDPUntagged,
    MPAReply,
    MPARequest,
    RDMAPSend,
    RDMAPTerminate,
    RDMAPWrite,
)
from scapy_mpa.session import MPASession, Provenance, rdmpa
from scapy_mpa.stream.events import ConnectionEnded, Event, GapFound
from scapy_mpa.wire.errors import CaptureError, LocalProtocolError
from tests.capture import build
from tests.captures import PCAPS
from tests.session.plain import Interface, layers
from tests.stream.feed import halves
from tests.truth import impair, pcapfile

RPING = str(PCAPS / "rping_mpa2_crcon.pcap")


def test_provenance_survives_copies() -> None:
    """Copies and stacking keep it, and it is no part of what a packet is."""
    packet = next(each for each in rdmpa(RPING) if FPDU in each)
    provenance = packet[FPDU].provenance
    assert provenance.connection == 0
    assert provenance.located_by == "start"
    assert packet.copy()[FPDU].provenance == provenance
    assert (Ether() / packet[FPDU])[FPDU].provenance == provenance
    assert packet[FPDU] == FPDU(bytes(packet[FPDU]))
    assert "provenance" not in packet.command()
    assert "provenance" in packet.show(dump=True)


def test_other_packets_pass_or_not() -> None:
    """Frames without MPA octets pass unchanged, unless they are not wanted."""
    everything = sniff(offline=RPING, session=MPASession, quiet=True)
    only = sniff(offline=RPING, session=MPASession(others=False), quiet=True)
    others = [each for each in everything if not (FPDU in each or each.haslayer(MPARequest))]
    others = [each for each in others if MPAReply not in each]
    assert len(everything) == len(only) + len(others)
    raw = {bytes(each) for each in rdpcap(RPING)}
    assert others
    assert all(bytes(each) in raw and not each[TCP].payload.haslayer("Raw") for each in others)
    assert len(rdmpa(RPING, others=True)) == len(everything)


@pytest.fixture
def long_frames() -> list[Frame]:
    """Frames of which each holds the largest IPv4 datagram there is."""
    conversation = Conversation(mss=65495, packing="stream", mulpdu=30000)
    for number in range(7):
        conversation.initiator.write(bytes([number]) * 29000, stag=7, to=29000 * number)
    frames = conversation.frames()
    assert sum(len(each.octets) == 65549 for each in frames) == 3
    return frames


def crcs(packets: Iterable[Packet]) -> list[str]:
    """The verdicts on the CRCs of FPDUs."""
    return [each[FPDU].provenance.crc for each in packets if FPDU in each]


@pytest.mark.parametrize("name", ["long.pcap", "long.pcapng"])
@pytest.mark.parametrize("supersession", [None, IPSession])
def test_frames_longer_than_scapys_mtu(
    tmp_path: pathlib.Path, long_frames: list[Frame], name: str, supersession: Any
) -> None:
    """The largest IP datagram lies behind a link header, and is taken whole."""
    other = Ether() / IP(src="10.9.9.9", dst="10.9.9.8") / UDP() / Raw(bytes(65507))
    octets = bytes(other)
    last = long_frames[-1]
    number = last.number + 1
    frames = [*long_frames, Frame(number, last.time_ns, 1, octets, len(octets), None)]
    path = tmp_path / name
    write_frames(path, frames)
    session = MPASession(supersession=supersession)
    found = sniff(offline=str(path), session=session, quiet=True)
    assert crcs(found) == crcs(rdmpa(path)) == ["good"] * 7
    # A frame that passes is none the shorter for having been looked at.
    assert bytes(found[-1]) == bytes(rdmpa(path, others=True)[-1]) == octets


@pytest.mark.skipif(not LINUX, reason="about packet sockets of Linux")
def test_long_frames_of_an_interface(long_frames: list[Frame]) -> None:
    """The loopback interface of Linux brings datagrams of any length, and so does offload."""
    from scapy.arch.linux import L2ListenSocket

    frames = iter(long_frames)

    class Listening(L2ListenSocket):
        def __init__(self) -> None:
            self.ins = self.outs = None

        def recv_raw(self, x: int = MTU) -> tuple[type[Packet], bytes, float]:
            frame = next(frames, None)
            if frame is None:
                raise EOFError
            return Ether, frame.octets[:x], frame.time_ns / 10**9

    found: list[Packet] = []
    session, sock = MPASession(others=False), Listening()
    with pytest.raises(EOFError):
        while True:
            found += session.recv(sock)
    assert crcs(found) == ["good"] * 7


def unwrapped(octets: bytes) -> bytes:
    """The IP packet in an Ethernet frame."""
    return octets[14:]


def with_fcs(octets: bytes) -> bytes:
    """An Ethernet frame, its Frame Check Sequence, and an IP packet whose length IP does not say.

    So it ends where the Frame Check Sequence begins.
    """
    return octets[:16] + bytes(2) + octets[18:] + b"\x18FCS"


@pytest.mark.parametrize(
    ("field", "wrap", "lowest"),
    [
        (14, unwrapped, IP),
        (0x24000001, with_fcs, Ether),
        (0x0400000E, unwrapped, IP),
        (0x02240065, unwrapped, IP),
    ],
    ids=["raw IP of OpenBSD", "with FCS", "FCS of no octets", "raw IP of NetBSD"],
)
@pytest.mark.parametrize("supersession", [None, IPSession])
def test_link_types_that_scapy_does_not_know(
    tmp_path: pathlib.Path, field: int, wrap: Any, lowest: type[Packet], supersession: Any
) -> None:
    """Scapy takes all 32 bits of the header's field for a link type, and lacks one of raw IP."""
    conversation = Conversation()
    for size in range(5):
        conversation.initiator.send(bytes(size))
    frames = [wrap(each.octets) for each in conversation.frames()]
    path = tmp_path / "made.pcap"
    path.write_bytes(
        build.pcap([(n, 0, each, len(each)) for n, each in enumerate(frames)], link=field)
    )
    session = MPASession(supersession=supersession)
    found = sniff(offline=str(path), session=session, quiet=True)
    listed = rdmpa(path, others=True)
    assert {type(each) for each in found} == {type(each) for each in listed} == {lowest}
    assert crcs(listed) == ["good"] * 5
    if supersession is None:
        wanted = [(bytes(each), each.wirelen) for each in listed]
        assert [(bytes(each), each.wirelen) for each in found] == wanted
    elif wrap is unwrapped:
        assert crcs(found) == ["good"] * 5


def test_raw_ip_of_openbsd_in_pcapng(tmp_path: pathlib.Path) -> None:
    """The link type is one of 16 bits there, and Scapy lacks it as well."""
    conversation = Conversation()
    conversation.initiator.send(b"payload")
    path = tmp_path / "made.pcapng"
    write_frames(
        path,
        [each._replace(link_type=14, octets=each.octets[14:]) for each in conversation.frames()],
    )
    found = sniff(offline=str(path), session=MPASession, quiet=True)
    assert list(map(bytes, found)) == list(map(bytes, rdmpa(path, others=True)))
    assert {type(each) for each in found} == {IP}
    assert crcs(found) == ["good"]


@pytest.mark.parametrize("name", ["made.pcap", "made.pcapng"])
def test_link_types_that_only_scapy_knows(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """What people have bound to a link type of their own is what its frames begin with."""
    conversation = Conversation()
    conversation.initiator.send(b"payload")
    frames = [each._replace(link_type=147) for each in conversation.frames()]
    path = tmp_path / name
    write_frames(path, frames)
    session = MPASession(others=False)
    assert crcs(sniff(offline=str(path), session=session, quiet=True)) == []
    monkeypatch.setitem(conf.l2types.num2layer, 147, Ether)
    session = MPASession(others=False)
    assert crcs(sniff(offline=str(path), session=session, quiet=True)) == ["good"]


def test_captures_do_not_mix(tmp_path: pathlib.Path) -> None:
    """Two captures of the same connection, read in one call, are two connections."""
    copy = tmp_path / "again.pcap"
    shutil.copy(RPING, copy)
    once = [bytes(each) for each in rdmpa(RPING)]
    twice = sniff(
        offline=[RPING, str(copy)], session=MPASession(others=False), quiet=True, store=True
    )
    assert sorted(bytes(each) for each in twice) == sorted(once * 2)


def test_packets_made_by_hand() -> None:
    """A list of packets will do as well as a file."""
    client = Ether() / IP(src="10.0.0.1", dst="10.0.0.2") / TCP(sport=1, dport=2, flags="PA")
    server = Ether() / IP(src="10.0.0.2", dst="10.0.0.1") / TCP(sport=2, dport=1, flags="PA")
    request, reply = MPARequest(markers=1), MPAReply(markers=1)
    first = FPDU(phase=0) / DDPUntagged() / RDMAPSend() / b"hello"
    packets = [
        client.copy() / request,
        server.copy() / reply,
        client.copy() / first,
    ]
    packets[0][TCP].seq = 100
    packets[2][TCP].seq = 100 + len(bytes(request))
    packets[1][TCP].seq = 500
    found = sniff(offline=packets, session=MPASession(others=False), quiet=True)
    assert [type(each[TCP].payload) for each in found] == [MPARequest, MPAReply, FPDU]
    assert found[2][FPDU].phase == 0
    assert bytes(found[2][FPDU]) == bytes(first)
    assert found[2][FPDU].provenance.crc == "good"


@pytest.mark.parametrize("error", [EOFError(), OSError(100, "Network is down")], ids=repr)
def test_an_interface_that_goes_down(error: Exception) -> None:
    """What waits for octets that will not come is told then."""
    conversation = Conversation()
    for _ in range(20):
        conversation.initiator.send(bytes(1000))
    packets = [Ether(bytes(each)) for each in conversation.packets()]
    del packets[6]
    events: list[Event] = []
    session = MPASession(on_event=events.append, others=False)
    found = sniff(opened_socket=Interface(packets, error), session=session, quiet=True)
    assert sum(FPDU in each for each in found) == 19
    assert sum(isinstance(each, GapFound) for each in events) == 1
    assert isinstance(events[-1], ConnectionEnded)


def test_a_packet_that_cannot_be_built() -> None:
    """It is no concern of the others, and passes as it is."""
    conversation = Conversation()
    conversation.initiator.send(b"hello")
    packets: list[Packet] = [Ether(bytes(each)) for each in conversation.packets()]
    odd = Ether() / IP() / TCP() / Raw(bytes(70_000))
    packets.insert(5, odd)
    session = MPASession()
    found = sniff(opened_socket=Interface(packets), session=session, quiet=True)
    assert sum(FPDU in each for each in found) == 1
    assert sum(each is odd for each in found) == 1
    assert sum(session.not_followed.values()) == 1


@pytest.mark.parametrize("begins_late", [False, True])
def test_what_comes_to_light_late(tmp_path: pathlib.Path, begins_late: bool) -> None:
    """FPDUs behind holes that stay, or of a connection joined late, have their sender's layers.

    They may be known as such only at the end of the capture, behind acknowledgements without
    octets, and behind frames of the other direction.
    """
    path = tmp_path / "late.pcap"
    found = 0
    for seed in range(20):
        rng = random.Random(seed)
        pair = halves(rng, markers=(False, False), crc=True, count=8)
        sendings = [impair.cut_mss(half.octets, 700) for half in pair]
        if not begins_late:
            sendings = [impair.miss(each, rng, 0.2) for each in sendings]
        segments = impair.conversation(pair, (sendings[0], sendings[1]), rng)
        pcapfile.write(path, segments[8:] if begins_late else segments)
        ways = rdmpa(path), sniff(offline=str(path), session=MPASession(others=False), quiet=True)
        for packets in ways:
            for packet in packets:
                if FPDU in packet:
                    found += 1
                    source = f"{packet[IP].src}:{packet[TCP].sport}"
                    assert packet[FPDU].provenance.src == source
        assert [bytes(each) for each in ways[0]] == [bytes(each) for each in ways[1]]
    assert found > 300


def test_what_else_there_is_to_say() -> None:
    """Connections, gaps and errors as records."""
    packets = rdmpa(str(PCAPS / "live_siw_probe_guest_eth0.pcap.gz"))
    assert len(packets.connections()) == 127
    assert [each["connection"] for each in packets.errors() if each["code"] == 2] == [53, 107, 107]
    assert packets.gaps() == packets.overlaps() == []
    assert sum(RDMAPTerminate in each for each in packets) == 45
    assert sum(RDMAPWrite in each for each in packets) > 0
    assert len(rdmpa(RPING, count=3)) == 3


@pytest.mark.parametrize("name", ["live_siw_probe_guest_eth0.pcap.gz", "crafted/sctp_reject.pcap"])
def test_one_connection(name: str) -> None:
    """The packets and the records of one; there is an error if there is no such connection."""
    everything = rdmpa(PCAPS / name, others=True)
    count = len(everything.connections())
    for number in range(count):
        one = everything.connection(number)
        assert {each["connection"] for each in one.connections()} == {number}
        assert one.errors() == [e for e in everything.errors() if e["connection"] == number]
        assert len(one) == sum(place.connection == number for place in provenances(everything))
    with pytest.raises(LocalProtocolError, match=f"no connection {count} in"):
        everything.connection(count)


def provenances(packets: Iterable[Packet]) -> list[Provenance]:
    """Where packets were found, but for those that were not recovered."""
    parts = [part for packet in packets for part in [*layers(packet), getattr(packet, "data", 0)]]
    return [each.provenance for each in parts if "provenance" in getattr(each, "fields", ())]


def test_what_was_not_followed(tmp_path: pathlib.Path) -> None:
    """Frames by reason, of one capture and of several."""
    live = str(PCAPS / "live_siw_probe_guest_eth0.pcap.gz")
    counts = {"not TCP": 6, "not IP": 2}
    listed = rdmpa(live)
    assert listed.not_followed() == counts
    assert rdmpa(RPING).not_followed() == {}
    assert (listed + rdmpa(RPING) + listed).not_followed() == {"not TCP": 12, "not IP": 4}

    # A late copy, of a connection that was ended.
    frames = rdpcap(RPING)
    late = frames[8].copy()
    late.time += 100
    path = tmp_path / "late.pcap"
    wrpcap(str(path), [*frames, late])
    assert rdmpa(path).not_followed() == {"late copy": 1}

    session = MPASession(others=False)
    assert session.not_followed == {}
    sniff(offline=[live, str(path), live], session=session, quiet=True, store=False)
    assert session.not_followed == {"not TCP": 12, "not IP": 4, "late copy": 1}


def test_what_was_not_followed_so_far() -> None:
    """Of a capture that is not read to its end, too."""
    live = str(PCAPS / "live_siw_probe_guest_eth0.pcap.gz")
    session = MPASession()
    found = sniff(offline=live, session=session, quiet=True, count=20)
    missed = [each for each in found if TCP not in each]
    assert sum(session.not_followed.values()) == len(missed) > 0


def test_unreadable_files(tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    """What is no capture is our own error; what ends badly gives what was readable."""
    with pytest.raises(FileNotFoundError, match=r"missing\.pcap"):
        rdmpa(tmp_path / "missing.pcap")
    text = tmp_path / "notes.txt"
    text.write_text("not a capture")
    with pytest.raises(CaptureError, match=r"notes\.txt"):
        rdmpa(text)
    octets = pathlib.Path(RPING).read_bytes()
    cut = tmp_path / "cut.pcap.gz"
    cut.write_bytes(gzip.compress(octets[:-10]))
    packets = rdmpa(cut)
    assert len(packets) == len(rdmpa(RPING))
    assert "cut.pcap.gz" in caplog.text


def test_interface_described_wrongly(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Wrong options of a pcapng interface cost no packet, and a warning is logged."""
    odd = tmp_path / "odd.pcapng"
    # The length of if_tsoffset is eight octets.
    described = build.interface(options=build.option(14, bytes(4)))
    with open_capture(RPING) as capture:
        frames = b"".join(build.enhanced(frame.octets) for frame in capture)
    odd.write_bytes(build.section() + described + frames)
    expected = [bytes(packet) for packet in rdmpa(RPING)]
    assert [bytes(packet) for packet in rdmpa(odd)] == expected
    assert "its if_tsoffset is 4 octets long, not 8" in caplog.text
    found = sniff(offline=str(odd), session=MPASession(others=False), quiet=True)
    assert [bytes(packet) for packet in found] == expected


def test_packets_are_no_capture() -> None:
    """Who gives ``rdmpa()`` packets is told what reads them, and that does."""
    packets = rdpcap(str(RPING))
    with pytest.raises(TypeError, match=r"not PacketList; packets are for sniff\(offline=packets"):
        rdmpa(packets)
    found = sniff(offline=packets, session=MPASession(others=False))
    assert list(map(bytes, found)) == list(map(bytes, rdmpa(RPING)))
