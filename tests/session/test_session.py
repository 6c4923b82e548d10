# SPDX-License-Identifier: GPL-2.0-or-later
"""``sniff(session=MPASession)`` and ``rdmpa()`` on real captures and constructed ones."""

from __future__ import annotations

import gzip
import pathlib
import pickle
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from scapy.config import conf
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from scapy.sendrecv import sniff
from scapy.sessions import DefaultSession, IPSession
from scapy.utils import rdpcap, wrpcap

from scapy_mpa.capture import open_capture
from scapy_mpa.capture.frame import Frame
from scapy_mpa.capture.write import write_frames
from scapy_mpa.craft import Conversation
from scapy_mpa.craft.mutations import find
from scapy_mpa.layers import FPDU, DDPUntagged, MPAReply, MPARequest, RDMAPSend, RDMAPTerminate
from scapy_mpa.records.record import record_of
from scapy_mpa.session import MPASession, Provenance, rdmpa
from scapy_mpa.stream.clock import Clock
from scapy_mpa.stream.events import ConnectionEnded, ErrorFound, Event, GapFound
from scapy_mpa.wire.errors import CaptureError, LocalProtocolError
from tests.capture import build
from tests.captures import CRAFTED, PCAPS, REAL, capture_name
from tests.cli.command import records
from tests.session.plain import Interface, layers
from tests.stream.feed import halves
from tests.truth import impair, pcapfile

RPING = str(PCAPS / "rping_mpa2_crcon.pcap")


def crcs(packets: Iterable[Packet]) -> list[str]:
    """The verdicts on the CRCs of FPDUs."""
    return [each[FPDU].provenance.crc for each in packets if FPDU in each]


@pytest.mark.parametrize("name", ["long.pcap", "long.pcapng"])
@pytest.mark.parametrize("supersession", [None, IPSession])
def test_frames_longer_than_scapys_mtu(
    tmp_path: pathlib.Path, name: str, supersession: Any
) -> None:
    """The largest IP datagram lies behind a link header, and is taken whole."""
    conversation = Conversation(mss=65495, packing="stream", mulpdu=30000)
    for index in range(7):
        conversation.initiator.write(bytes([index]) * 29000, stag=7, to=29000 * index)
    frames = conversation.frames()
    assert sum(len(each.octets) == 65549 for each in frames) == 3
    other = Ether() / IP(src="10.9.9.9", dst="10.9.9.8") / UDP() / Raw(bytes(65507))
    octets = bytes(other)
    last = frames[-1]
    frames.append(Frame(last.number + 1, last.time_ns, 1, octets, len(octets), None))
    path = tmp_path / name
    write_frames(path, frames)
    session = MPASession(supersession=supersession)
    found = sniff(offline=str(path), session=session, quiet=True)
    assert crcs(found) == crcs(rdmpa(path)) == ["good"] * 7
    # A frame that passes is none the shorter for having been looked at.
    assert bytes(found[-1]) == bytes(rdmpa(path, others=True)[-1]) == octets


def unwrapped(octets: bytes) -> bytes:
    """The IP packet in an Ethernet frame."""
    return octets[14:]


def with_fcs(octets: bytes) -> bytes:
    """An Ethernet frame, its Frame Check Sequence, and an IP packet whose length IP does not say.

    So it ends where the Frame Check Sequence begins.
    """
    return octets[:16] + bytes(2) + octets[18:] + b"\x18FCS"


LINK_TYPES: dict[str, tuple[int, Any, type[Packet]]] = {
    # The field of the file's header, what is made of an Ethernet frame, and its lowest layer.
    "raw IP of OpenBSD": (14, unwrapped, IP),
    "with FCS": (0x24000001, with_fcs, Ether),
    "FCS of no octets": (0x0400000E, unwrapped, IP),
    "raw IP of NetBSD": (0x02240065, unwrapped, IP),
    "a link type of one's own": (147, bytes, Ether),
}


@pytest.mark.parametrize("name", LINK_TYPES)
def test_link_types_that_scapy_does_not_know(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Scapy takes all 32 bits of the header's field for a link type, and lacks one of raw IP; what
    people have bound to one of their own is what its frames begin with."""
    field, wrap, lowest = LINK_TYPES[name]
    monkeypatch.setitem(conf.l2types.num2layer, 147, Ether)
    conversation = Conversation()
    for size in range(5):
        conversation.initiator.send(bytes(size))
    frames = [wrap(each.octets) for each in conversation.frames()]
    path = tmp_path / "made.pcap"
    path.write_bytes(
        build.pcap([(n, 0, each, len(each)) for n, each in enumerate(frames)], link=field)
    )
    found, split = (
        sniff(offline=str(path), session=MPASession(supersession=each), quiet=True)
        for each in (None, IPSession)
    )
    if field == 147:
        assert crcs(found) == crcs(split) == ["good"] * 5
        return
    listed = rdmpa(path, others=True)
    assert {type(each) for each in found} == {type(each) for each in listed} == {lowest}
    assert {type(each) for each in split} == {lowest}
    assert crcs(listed) == ["good"] * 5
    wanted = [(bytes(each), each.wirelen) for each in listed]
    assert [(bytes(each), each.wirelen) for each in found] == wanted
    if wrap is unwrapped:
        assert crcs(split) == ["good"] * 5


class Unmasking(DefaultSession):
    """Changes the packets that it is given: takes a mask from what TCP carries."""

    def process(self, pkt: Packet) -> Packet:
        if Raw in pkt:
            pkt[Raw].load = bytes(octet ^ 0x55 for octet in pkt[Raw].load)
        return pkt


def test_what_a_session_has_changed(tmp_path: pathlib.Path) -> None:
    """What is read is what the session before this one makes of a frame."""
    path = tmp_path / "masked.pcap"
    wrpcap(str(path), [Unmasking().process(packet) for packet in rdpcap(RPING)])
    session = MPASession(others=False, supersession=Unmasking)
    found = sniff(offline=str(path), session=session, quiet=True)
    assert [bytes(each) for each in found] == [bytes(each) for each in rdmpa(RPING)]
    assert not rdmpa(path)


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


@pytest.mark.parametrize("begins_late", [False, True])
def test_what_comes_to_light_late(tmp_path: pathlib.Path, begins_late: bool) -> None:
    """FPDUs behind holes that stay, or of a connection joined late, have their sender's layers.

    They may be known as such only at the end of the capture, behind acknowledgements without
    octets, and behind frames of the other direction.
    """
    path = tmp_path / "late.pcap"
    found = 0
    for seed in range(6):
        rng = random.Random(seed)
        pair = halves(rng, markers=(False, False), crc=True, count=8)
        sendings = [impair.cut_mss(half.octets, 700) for half in pair]
        if not begins_late:
            sendings = [impair.miss(each, rng, 0.2) for each in sendings]
        segments = impair.conversation(pair, (sendings[0], sendings[1]), rng)
        pcapfile.write(path, segments[8:] if begins_late else segments)
        ways = rdmpa(path), sniff(offline=str(path), session=MPASession(others=False), quiet=True)
        for packet in (each for packets in ways for each in packets if FPDU in each):
            found += 1
            assert packet[FPDU].provenance.src == f"{packet[IP].src}:{packet[TCP].sport}"
        assert [bytes(each) for each in ways[0]] == [bytes(each) for each in ways[1]]
    assert found > 80


@pytest.mark.parametrize("name", ["2vm_perf_write_bw_q4_crcon.pcap.gz", "crafted/sctp_reject.pcap"])
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
    """Frames by reason, of one capture and of several; what cannot be built passes as it is."""
    live = str(PCAPS / "live_siw_probe_guest_eth0.pcap.gz")
    counts = {"not TCP": 6, "not IP": 2}
    listed = rdmpa(live)
    assert listed.not_followed() == counts
    assert len(listed.connections()) == 127
    assert [each["connection"] for each in listed.errors() if each["code"] == 2] == [53, 107, 107]
    assert listed.gaps() == listed.overlaps() == []
    assert (listed + rdmpa(RPING) + listed).not_followed() == {"not TCP": 12, "not IP": 4}

    # A late copy, of a connection that was ended.
    frames = rdpcap(RPING)
    late = frames[8].copy()
    late.time += 100
    path = tmp_path / "late.pcap"
    wrpcap(str(path), [*frames, late])
    assert rdmpa(path).not_followed() == {"late copy": 1}

    assert len(rdmpa(RPING, count=3)) == 3
    session = MPASession(others=False)
    assert session.not_followed == {}
    sniff(offline=[live, str(path), live], session=session, quiet=True, store=False)
    assert session.not_followed == {"not TCP": 12, "not IP": 4, "late copy": 1}

    # Of a capture that is not read to its end, too.
    session = MPASession()
    found = sniff(offline=live, session=session, quiet=True, count=20)
    assert sum(session.not_followed.values()) == sum(TCP not in each for each in found) > 0

    odd, session = Ether() / IP() / TCP() / Raw(bytes(70_000)), MPASession()
    found = sniff(opened_socket=Interface([odd, frames[0]]), session=session, quiet=True)
    assert any(each is odd for each in found) and sum(session.not_followed.values()) == 1


def test_unreadable_files(tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    """What is no capture is our own error; what ends badly gives what was readable; of wrong
    options of an interface a warning is logged."""
    with pytest.raises(FileNotFoundError, match=r"missing\.pcap"):
        rdmpa(tmp_path / "missing.pcap")
    text = tmp_path / "notes.txt"
    text.write_text("not a capture")
    with pytest.raises(CaptureError, match=r"notes\.txt"):
        rdmpa(text)
    with pytest.raises(TypeError, match=r"not PacketList; packets are for sniff\(offline=packets"):
        rdmpa(rdpcap(RPING))
    octets, expected = pathlib.Path(RPING).read_bytes(), list(map(bytes, rdmpa(RPING)))
    cut, odd = tmp_path / "cut.pcap.gz", tmp_path / "odd.pcapng"
    cut.write_bytes(gzip.compress(octets[:-10]))
    # The length of if_tsoffset is eight octets.
    described = build.interface(options=build.option(14, bytes(4)))
    with open_capture(RPING) as capture:
        frames = b"".join(build.enhanced(frame.octets) for frame in capture)
    odd.write_bytes(build.section() + described + frames)
    for path, said in ((cut, "cut.pcap.gz"), (odd, "its if_tsoffset is 4 octets long, not 8")):
        assert list(map(bytes, rdmpa(path))) == expected
        found = sniff(offline=str(path), session=MPASession(others=False), quiet=True)
        assert list(map(bytes, found)) == expected
        assert said in caplog.text


BROKEN = {
    "rfc5041/4.3/qn-unknown": "(RFC 5041 4.3)",
    "rfc5040/4.1/opcode-reserved-tagged": "0/2/0x06",
    "rfc6581/9.1/ird-exceeded": "(RFC 6581 9.1)",
    "rfc5044/4.4/crc-wrong": "CRC",
}
"""A mutation of each standard, and what an error says of it."""


@pytest.mark.parametrize("name", BROKEN)
def test_what_a_receiver_must_not_accept(name: str, tmp_path: pathlib.Path) -> None:
    """Both report it, of MPA always, of what is above if asked; the packets are the same."""
    path = tmp_path / "broken.pcapng"
    conversation = find(name).case(1).conversation
    conversation.write(path)
    checked, plain = rdmpa(str(path), check=True), rdmpa(str(path))
    (error,) = checked.errors()
    assert BROKEN[name] in str(error["text"])
    assert plain.errors() == ([error] if error["code"] == 2 else [])
    assert [bytes(each) for each in checked] == [bytes(each) for each in plain]
    assert [end["errors"] for end in checked.connections()] == [1]
    events: list[Event] = []
    session = MPASession(others=False, on_event=events.append, check=True)
    packets = sniff(offline=str(path), session=session, quiet=True)
    assert [bytes(each) for each in packets] == [bytes(each) for each in checked]
    clock = Clock(conversation.frames()[0].time_ns)
    found = [record_of(event, clock) for event in events if isinstance(event, ErrorFound)]
    assert found == [error]
    assert [event.errors for event in events if isinstance(event, ConnectionEnded)] == [1]


@pytest.mark.examples
@pytest.mark.parametrize("path", REAL + CRAFTED, ids=capture_name)
def test_messages(path: Path) -> None:
    """Each has its record, its octets, and the packets that brought them; lists that are joined
    have the messages of both."""
    capture = rdmpa(str(path))
    found = capture.messages()
    told = [{**each.record, "payload": each.payload and each.payload.hex()} for each in found]
    expected: list[dict[str, Any]] = records("--type", "message", "--payload", path)
    # Of a message without octets, too.
    assert [{**each, "payload": each["payload"] or None} for each in told] == [
        {**each, "payload": each["payload"] or None} for each in expected
    ]
    for each in found:
        frames = [part["frames"] for part in each.record["parts"]]
        brought = [
            getattr(packet, "provenance", None) or packet.data.provenance for packet in each.packets
        ]
        assert [list(one.frames) for one in brought] == frames
    number = min((each.record["connection"] for each in found), default=0)
    own = [each.record for each in capture.connection(number).messages()]
    assert own == [each.record for each in found if each.record["connection"] == number]
    assert len((capture + capture).messages()) == 2 * len(found)


def test_packets_picked_out() -> None:
    """What there is to say about the capture stays with them; messages have those in the list."""
    capture = rdmpa(PCAPS / "term_writebad.pcap")
    for chosen in (capture[:3], capture[RDMAPTerminate], capture.filter(lambda p: FPDU in p)):
        assert 0 < len(chosen) < len(capture)
        assert chosen.connections() == capture.connections()
        assert chosen.not_followed() == capture.not_followed()
        messages = chosen.messages()
        assert [each.record for each in messages] == [each.record for each in capture.messages()]
        brought = [packet for each in messages for packet in each.packets]
        assert brought == [packet for packet in chosen if FPDU in packet]


def test_messages_of_joined_captures() -> None:
    """Both ends of a connection number its octets alike; messages keep the packets of theirs."""
    one, other = rdmpa(RPING), rdmpa(RPING)
    joined = pickle.loads(pickle.dumps(one + other))
    brought = [packet for each in joined.messages() for packet in each.packets]
    assert len(brought) == sum(FPDU in packet for packet in joined)
    assert len(set(map(id, brought))) == len(brought)
