# SPDX-License-Identifier: GPL-2.0-or-later
"""``sniff(session=MPASession)`` and ``rdmpa()`` on real captures and made ones.

The made ones have long frames, tunnels, SCTP, damage, broken rules and too much to hold. Recovered
packets are the same after ``wrpcap`` has written them and they are read again.
"""

import copy
import gzip
import pickle
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from scapy.config import conf
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.layers.sctp import SCTPChunkData
from scapy.packet import Packet, Raw
from scapy.plist import PacketList
from scapy.sendrecv import sniff
from scapy.sessions import DefaultSession, IPSession
from scapy.utils import rdpcap, wrpcap

from scapy_mpa.capture import open_capture
from scapy_mpa.capture.frame import Frame
from scapy_mpa.capture.write import write_frames
from scapy_mpa.clean import Cleaner
from scapy_mpa.craft import Conversation
from scapy_mpa.craft.mutations import find
from scapy_mpa.craft.scenario import parse_scenario
from scapy_mpa.layers import FPDU, RDMAPTerminate
from scapy_mpa.records.record import record_of
from scapy_mpa.session import Limits, MPAPacketList, MPASession, rdmpa
from scapy_mpa.stream.clock import Clock
from scapy_mpa.stream.events import ConnectionEnded, ErrorFound, Event, GapFound
from scapy_mpa.stream.flows import Flows
from scapy_mpa.wire.errors import CaptureError, LocalProtocolError
from tests.capture import build
from tests.capture.stacks import ALONE, inside
from tests.captures import CRAFTED, OVER_SCTP, PCAPS, REAL, capture_name
from tests.cli.command import RPING, records
from tests.dialects.sctp_feed import Talk, frames_of
from tests.session.plain import Interface, recovered_layers, sniffed
from tests.truth import pcapfile
from tests.truth.situations import SITUATIONS, case_of
from tests.truth.walker import read_pcap


def crcs(packets: Iterable[Packet]) -> list[str]:
    """The CRC verdicts of FPDUs."""
    return [each[FPDU].provenance.crc for each in packets if FPDU in each]


@pytest.mark.parametrize("name", ["long.pcap", "long.pcapng"])
@pytest.mark.parametrize("supersession", [None, IPSession])
def test_frames_longer_than_scapys_mtu(tmp_path: Path, name: str, supersession: Any) -> None:
    """The largest IP datagram is read whole, although a link header precedes it."""
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
    found = sniffed(path, supersession=supersession)
    assert crcs(found) == crcs(rdmpa(path)) == ["good"] * 7
    # A frame that passes is not cut either.
    assert bytes(found[-1]) == bytes(rdmpa(path, others=True)[-1]) == octets


def unwrapped(octets: bytes) -> bytes:
    """The IP packet in an Ethernet frame."""
    return octets[14:]


LINK_TYPES: dict[str, tuple[int, Any, type[Packet]]] = {
    # The field of the file's header, a function that changes Ethernet frames, the lowest layer.
    "raw IP of OpenBSD": (14, unwrapped, IP),
    "with FCS": (0x24000001, bytes, Ether),
    "FCS of no octets": (0x0400000E, unwrapped, IP),
    "raw IP of NetBSD": (0x02240065, unwrapped, IP),
    "a link type that a user has bound": (147, bytes, Ether),
}


@pytest.mark.parametrize("name", LINK_TYPES)
def test_link_types_that_scapy_does_not_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Scapy takes all 32 bits of the header's field for a link type, and lacks one of raw IP.

    Frames of a link type that users have bound begin with their layer.
    """
    field, wrap, lowest = LINK_TYPES[name]
    monkeypatch.setitem(conf.l2types.num2layer, 147, Ether)
    conversation = parse_scenario("".join(f"initiator send {size}\n" for size in range(5)))
    frames = [wrap(each.octets) for each in conversation.frames()]
    path = tmp_path / "made.pcap"
    path.write_bytes(
        build.pcap([(n, 0, each, len(each)) for n, each in enumerate(frames)], link=field)
    )
    found, split = (sniffed(path, supersession=each) for each in (None, IPSession))
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
    """Removes a mask from the octets that TCP carries."""

    def process(self, pkt: Packet) -> Packet:
        if Raw in pkt:
            pkt[Raw].load = bytes(octet ^ 0x55 for octet in pkt[Raw].load)
        return pkt


def test_packets_that_another_session_has_changed(tmp_path: Path) -> None:
    """``MPASession`` reads the packets that ``supersession`` returns."""
    path = tmp_path / "masked.pcap"
    wrpcap(str(path), [Unmasking().process(packet) for packet in rdpcap(str(RPING))])
    found = sniffed(path, others=False, supersession=Unmasking)
    assert [bytes(each) for each in found] == [bytes(each) for each in rdmpa(RPING)]
    assert not rdmpa(path)


@pytest.mark.parametrize("error", [EOFError(), OSError(100, "Network is down")], ids=repr)
def test_an_interface_that_goes_down(error: Exception) -> None:
    """FPDUs that wait for missing octets are then reported."""
    conversation = parse_scenario("repeat 20 initiator send 1000")
    packets = [Ether(bytes(each)) for each in conversation.packets()]
    del packets[6]
    events: list[Event] = []
    session = MPASession(on_event=events.append, others=False)
    found = sniff(opened_socket=Interface(packets, error), session=session, quiet=True)
    assert sum(FPDU in each for each in found) == 19
    assert sum(isinstance(each, GapFound) for each in events) == 1
    assert isinstance(events[-1], ConnectionEnded)


def test_one_connection() -> None:
    """``connection()`` gives packets and records of one; an unknown number is an error."""
    everything = rdmpa(PCAPS / "2vm_perf_write_bw_q4_crcon.pcap.gz", others=True)
    recovered = [each for packet in everything for each in recovered_layers(packet)]
    count = len(everything.connections())
    for number in range(count):
        one = everything.connection(number)
        assert {each["connection"] for each in one.connections()} == {number}
        assert one.errors() == [e for e in everything.errors() if e["connection"] == number]
        assert len(one) == sum(each.provenance.connection == number for each in recovered)
    with pytest.raises(LocalProtocolError, match=f"no connection {count} in"):
        everything.connection(count)


def test_frames_that_were_not_followed(tmp_path: Path) -> None:
    """They are counted by reason, for one capture or several.

    A packet that cannot be built passes unchanged.
    """
    live = str(PCAPS / "live_siw_probe_guest_eth0.pcap.gz")
    counts = {"not TCP": 6, "not IP": 2}
    listed = rdmpa(live)
    assert listed.not_followed() == counts
    assert len(listed.connections()) == 127
    assert [each["connection"] for each in listed.errors() if each["code"] == 2] == [53, 107, 107]
    assert listed.gaps() == listed.overlaps() == []
    assert (listed + rdmpa(RPING) + listed).not_followed() == {"not TCP": 12, "not IP": 4}

    # A late copy of a SYN, after the connection has ended.
    frames = rdpcap(str(RPING))
    late = frames[0].copy()
    late.time += 10
    path = tmp_path / "late.pcap"
    wrpcap(str(path), [*frames, late])
    assert rdmpa(path).not_followed() == {"late copy": 1}

    assert len(rdmpa(RPING, count=3)) == 3
    session = MPASession(others=False)
    assert session.not_followed == {}
    sniff(offline=[live, str(path), live], session=session, quiet=True, store=False)
    assert session.not_followed == {"not TCP": 12, "not IP": 4, "late copy": 1}

    # They are also counted if a capture is not read to its end.
    session = MPASession()
    found = sniff(offline=live, session=session, quiet=True, count=20)
    assert sum(session.not_followed.values()) == sum(TCP not in each for each in found) > 0

    odd, session = Ether() / IP() / TCP() / Raw(bytes(70_000)), MPASession()
    found = sniff(opened_socket=Interface([odd, frames[0]]), session=session, quiet=True)
    assert any(each is odd for each in found) and sum(session.not_followed.values()) == 1


def test_unreadable_files(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A file that is no capture gives our own error, a damaged one its readable frames.

    Wrong options of an interface are logged as a warning.
    """
    with pytest.raises(FileNotFoundError, match=r"missing\.pcap"):
        rdmpa(tmp_path / "missing.pcap")
    text = tmp_path / "notes.txt"
    text.write_text("not a capture")
    with pytest.raises(CaptureError, match=r"notes\.txt"):
        rdmpa(text)
    octets, expected = RPING.read_bytes(), list(map(bytes, rdmpa(RPING)))
    cut, odd = tmp_path / "cut.pcap.gz", tmp_path / "odd.pcapng"
    cut.write_bytes(gzip.compress(octets[:-10]))
    # if_tsoffset must have eight octets.
    described = build.interface(options=build.option(14, bytes(4)))
    with open_capture(RPING) as capture:
        frames = b"".join(build.enhanced(frame.octets) for frame in capture)
    odd.write_bytes(build.section() + described + frames)
    for path, warning in ((cut, "cut.pcap.gz"), (odd, "its if_tsoffset is 4 octets long, not 8")):
        assert list(map(bytes, rdmpa(path))) == expected
        found = sniffed(path, others=False)
        assert list(map(bytes, found)) == expected
        assert warning in caplog.text


BROKEN = {
    "rfc5041/7.1/qn-unknown": "(RFC 5041 7.1)",
    "rfc5040/4.1/opcode-reserved-tagged": "0/2/0x06",
    "rfc6581/9.1/ird-exceeded": "(RFC 6581 9.1)",
    "rfc5044/4.4/crc-wrong": "CRC",
}
"""A mutation of each standard, and words of its error."""


@pytest.mark.parametrize("name", BROKEN)
def test_errors_that_a_receiver_must_notice(name: str, tmp_path: Path) -> None:
    """Both report errors of MPA, and with ``check`` those above it; packets are the same."""
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
    packets = sniffed(path, others=False, on_event=events.append, check=True)
    assert [bytes(each) for each in packets] == [bytes(each) for each in checked]
    clock = Clock(conversation.frames()[0].time_ns)
    found = [record_of(event, clock) for event in events if isinstance(event, ErrorFound)]
    assert found == [error]
    assert [event.errors for event in events if isinstance(event, ConnectionEnded)] == [1]


@pytest.mark.examples
@pytest.mark.parametrize("path", REAL + CRAFTED, ids=capture_name)
def test_messages(path: Path) -> None:
    """A message has its record, its octets and the packets that carried it.

    Joined lists have the messages of both.
    """
    capture = rdmpa(str(path))
    found = capture.messages()
    rows = [{**each.record, "payload": each.payload and each.payload.hex()} for each in found]
    expected: list[dict[str, Any]] = records("--type", "message", "--payload", path)
    # A message without octets may have None.
    assert [{**each, "payload": each["payload"] or None} for each in rows] == [
        {**each, "payload": each["payload"] or None} for each in expected
    ]
    for each in found:
        frames = [part["frames"] for part in each.record["parts"]]
        brought = [list(packet.provenance.frames) for packet in each.packets]
        # Frames with SCTP pass as they are.
        assert brought == ([] if path in OVER_SCTP else frames)
    number = min((each.record["connection"] for each in found), default=0)
    own = [each.record for each in capture.connection(number).messages()]
    assert own == [each.record for each in found if each.record["connection"] == number]
    assert len((capture + capture).messages()) == 2 * len(found)


def test_selected_packets() -> None:
    """They keep the records of the capture.  Messages have only the packets in the list."""
    capture = rdmpa(PCAPS / "term_writebad.pcap")
    parts = capture[:3], capture[RDMAPTerminate], capture.filter(lambda p: FPDU in p)
    for chosen in (*parts, *capture.sessions().values()):
        assert 0 < len(chosen) < len(capture)
        assert chosen.connections() == capture.connections()
        assert chosen.not_followed() == capture.not_followed()
        messages = chosen.messages()
        assert [each.record for each in messages] == [each.record for each in capture.messages()]
        brought = [packet for each in messages for packet in each.packets]
        assert brought == [packet for packet in chosen if FPDU in packet]


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda given: pickle.loads(pickle.dumps(given))]
)
def test_copies_of_a_list(copied: Callable[[MPAPacketList], MPAPacketList]) -> None:
    """They keep the records, and the messages with the packets in the copy."""
    capture = rdmpa(PCAPS / "2vm_perf_write_bw_q4_crcon.pcap.gz")
    made = copied(capture)
    assert [bytes(each) for each in made] == [bytes(each) for each in capture]
    assert made.connections() == capture.connections() != []
    counts = [[(each.record, len(each.packets)) for each in x.messages()] for x in (made, capture)]
    assert counts[0] == counts[1] != []


def test_messages_of_joined_captures() -> None:
    """Captures of both ends have equal sequence numbers; messages keep the packets of their own."""
    one, other = rdmpa(RPING), rdmpa(RPING)
    joined = one + other
    brought = [packet for each in joined.messages() for packet in each.packets]
    assert len(brought) == sum(FPDU in packet for packet in joined)
    assert len(set(map(id, brought))) == len(brought)


@pytest.mark.parametrize("name", ["sctp_enhanced", "sctp_fragments", "sctp_reject"])
def test_frames_pass(name: str) -> None:
    """``sniff()`` gives the frames, and ``rdmpa()`` the records."""
    path = PCAPS / "crafted" / f"{name}.pcap"
    found = sniffed(path)
    assert [bytes(each) for each in found] == [*read_pcap(path)]
    packets = rdmpa(str(path))
    assert len(packets) == 0 and len(rdmpa(path, others=True)) == len(found)
    (connection,) = packets.connections()
    assert (connection["dialect"], connection["ended"]) == ("rfc5043", "closed")
    assert not packets.errors() and not packets.gaps()


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


PLAIN = [bytes(each[FPDU]) for each in rdmpa(RPING) if FPDU in each]


@pytest.mark.examples
@pytest.mark.parametrize("name", ALONE)
def test_fpdus_inside(name: str, tmp_path: Path) -> None:
    """FPDUs are the same, each above a TCP layer, without headers that Scapy cannot dissect."""
    path = tmp_path / "inside.pcap"
    path.write_bytes(inside(ALONE[name], RPING))
    for packets in (rdmpa(path), sniffed(path)):
        found = [each for each in packets if FPDU in each]
        assert [bytes(each[FPDU]) for each in found] == PLAIN
        for each in found:
            assert each[FPDU].underlayer is each[TCP]
            # All layers have the lengths and checksums of their own payload.
            assert bytes(each).endswith(bytes(each[FPDU]))


def test_wrong_arguments() -> None:
    """They are refused at once, and the message says what to give."""
    for limits in (3, {}, (1, 2, 3, 4)):
        given: Any = limits
        for take in (partial(rdmpa, RPING), MPASession, Cleaner):
            with pytest.raises(TypeError, match=r"limits are .*; give Limits\("):
                take(limits=given)
    for take in (partial(rdmpa, RPING), MPASession, Cleaner, Flows):
        with pytest.raises(LocalProtocolError, match="no dialect 'rfc'"):
            take(dialect="rfc")


def test_no_file_and_no_number() -> None:
    """The message says what to give, and what reads packets."""
    with open(RPING) as text:
        for wrong in (PacketList(), bytes(RPING), text):
            words = rf"in binary mode, not a {type(wrong).__name__}; .* reads packets"
            with pytest.raises(TypeError, match=words):
                rdmpa(wrong)
    for count in ("3", None, 3.0):
        with pytest.raises(TypeError, match=f"count is a number of packets, not {count!r}"):
            rdmpa(RPING, count=count)


def test_both_keep_the_limits(tmp_path: Path) -> None:
    """Both report an FPDU as a gap if too many of its octets would have to wait."""
    path = tmp_path / "cut.pcap"
    options = "mss 500\npacking stream\nmulpdu 9000\n"
    parse_scenario(f"{options}initiator send 8000\ninitiator send 100").write(path)
    limits = Limits(octets_per_half=1000)
    whole, limited = rdmpa(str(path)), rdmpa(str(path), limits=limits)
    assert not whole.gaps()
    assert {gap["reason"] for gap in limited.gaps()} == {"limit"}
    events: list[Event] = []
    packets = sniffed(path, others=False, on_event=events.append, limits=limits)
    assert [bytes(each) for each in packets] == [bytes(each) for each in limited]
    assert sum(isinstance(event, GapFound) for event in events) == len(limited.gaps())
    assert sum(FPDU in each for each in limited) < sum(FPDU in each for each in whole)


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
