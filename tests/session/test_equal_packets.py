# SPDX-License-Identifier: GPL-2.0-or-later
"""Packets made without dissecting are equal to those that Scapy dissects."""

import struct
import time
from collections.abc import Iterable, Sequence
from itertools import compress, zip_longest
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.fields import ByteField
from scapy.layers.inet import IP, TCP
from scapy.packet import Packet, Raw, bind_layers, split_layers
from scapy.sendrecv import sniff
from scapy.utils import PcapNgReader, PcapReader, rdpcap

from scapy_mpa.capture.frame import Frame
from scapy_mpa.layers import FPDU, DDPUntagged, RDMAPSend
from scapy_mpa.session import MPASession, Provenance, lower, packets, rdmpa, upper
from scapy_mpa.session.form import Form
from scapy_mpa.session.lower import LowerLayers
from scapy_mpa.session.upper import UpperLayers
from scapy_mpa.stream.events import ConnectionId, FPDURecovered
from scapy_mpa.wire.fpdu import build_fpdu
from tests.capture import build
from tests.captures import OF_OSC, OVER_TCP, PCAPS, capture_name
from tests.session.plain import dissected, layers, sniffed, state, without_payload, yielded

RPING = PCAPS / "rping_mpa2_crcon.pcap"
CONNECTION = ConnectionId(0, bytes(12))


def assert_equal_packets(found: Iterable[Packet], wanted: Iterable[Packet]) -> None:
    """Check that both have equal packets in the same order."""
    for number, (packet, expected) in enumerate(zip_longest(found, wanted)):
        assert packet is not None and expected is not None, number
        assert state(packet) == state(expected), number


def from_pcap(path: Path) -> list[Packet]:
    """The packets that the session must yield for a pcap file."""
    with PcapReader(str(path)) as reader:
        return list(yielded(reader))


def received(sock: Any, session: MPASession) -> list[Packet]:
    """The packets that a session yields for a socket, without changes by ``sniff()``."""
    packets: list[Packet] = []
    while True:
        try:
            packets.extend(session.recv(sock))
        except EOFError:
            return packets


# -- whole captures ------------------------------------------------------------------------------


@pytest.mark.examples
@pytest.mark.parametrize("path", OVER_TCP + OF_OSC, ids=capture_name)
def test_captures(path: Path) -> None:
    """All packets of real captures are equal, from ``sniff()`` and from ``rdmpa()``."""
    wanted = from_pcap(path)
    assert_equal_packets(sniffed(path), wanted)
    is_recovered = [any("provenance" in each.fields for each in layers(one)) for one in wanted]
    assert_equal_packets(rdmpa(path), compress(wanted, is_recovered))


VARIED = [
    *("rping_ipv6_mpa2_crcon", "vlan5_mix_crcon"),
    *("osc_no_crc_field", "crafted/softuiwarp", "crafted/ift_speculative"),
]


@pytest.mark.parametrize("name", VARIED)
def test_methods_of_packets(name: str) -> None:
    """Showing, copying, stacking, building and ``command()`` give the same as for Scapy's packets.

    A change of one packet does not change others.
    """
    path = PCAPS / f"{name}.pcap"
    found = sniffed(path)
    for packet, expected in zip(found, from_pcap(path), strict=True):
        assert bytes(packet) == bytes(expected)
        assert packet.show(dump=True) == expected.show(dump=True)
        assert packet.show2(dump=True) == expected.show2(dump=True)
        assert packet.command() == expected.command()
        assert repr(packet) == repr(expected)
        assert state(packet.copy()) == state(expected.copy())
        assert bytes(packet / b"more") == bytes(expected / b"more")
        if TCP in packet:
            packet[TCP].flags.P = expected[TCP].flags.P = True
            packet[TCP].options.append(("NOP", None))
            expected[TCP].options.append(("NOP", None))
            packet[TCP].dport = expected[TCP].dport = 7
            assert bytes(packet) == bytes(expected)
        for layer in layers(packet):
            layer.post_transforms.append(bytes)
            layer.fields["extra"] = 1


@pytest.mark.parametrize("order", ["<", ">"])
def test_files(order: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files with many interfaces, resolutions, link types, comments, directions and block types.

    pcap files have both byte orders and cut frames.  Scapy does not know one link type.
    """
    frames = [bytes(each) for each in rdpcap(str(RPING))]
    nanoseconds, fractions = build.option(9, b"\x09"), build.option(9, b"\x8a")
    file = build.section() + build.interface(options=build.option(2, b"eth\xff0") + nanoseconds)
    file += build.interface(link=101, options=fractions)
    file += build.interface(link=147)
    comments = build.option(1, b"one") + build.option(1, b"two")
    for number, octets in enumerate(frames):
        ticks = 1_700_000_000_123_456_789 + number
        flags = build.option(2, struct.pack("<I", 2))
        file += (
            build.enhanced(octets[14:], index=1, ticks=ticks // 10**6),
            build.enhanced(octets, ticks=ticks, options=comments + flags),
            build.packet(octets, ticks=ticks),
            build.enhanced(octets, index=2, ticks=ticks),
            build.enhanced(octets, ticks=ticks, original=len(octets) + 9),
            *[build.simple(build.padded(octets), len(octets))] * 2,
        )[number % 6 if number != 24 else 6]
    (tmp_path / "made.pcapng").write_bytes(file)
    records = [(n, 987_654_321, each[:90], len(each)) for n, each in enumerate(frames)]
    records.append((1, 1, b"", 0))
    (tmp_path / "made.pcap").write_bytes(build.pcap(records, order=order, magic=0xA1B23C4D))

    class Derived(PcapReader):
        """A reader that the session does not know, so it takes packets from it."""

    # Packets of Simple Packet Blocks get the time of day.
    monkeypatch.setattr(time, "time", lambda: 1.5)
    for kind, name in (
        (PcapNgReader, "made.pcapng"),
        (PcapReader, "made.pcap"),
        (Derived, "made.pcap"),
    ):
        with kind(str(tmp_path / name)) as reader:
            found = received(reader, MPASession())
        with kind(str(tmp_path / name)) as reader:
            wanted = list(yielded(reader))
        assert len(wanted) > 20
        assert_equal_packets(found, wanted)
        assert [each.sniffed_on for each in found] == [each.sniffed_on for each in wanted]


# -- frames that Scapy must dissect ----------------------------------------------------------------


@pytest.mark.parametrize("module", [lower, upper])
def test_layers_without_a_form(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """All frames are dissected if layers have no form."""

    def form(sample: Packet, *arguments: Any, **options: Any) -> Form:
        if sample.payload:
            raise ValueError
        return Form(sample, *arguments, **options)

    monkeypatch.setattr(module, "Form", form)
    found = sniffed(RPING)
    assert_equal_packets(found, from_pcap(RPING))


# -- lower layers ----------------------------------------------------------------------------------

_options = st.one_of(
    st.sampled_from([b"", b"\x1d\x03\0\0", b"\x1d\2\x1d\2", b"\2\4\5\xb4", b"\0\0\0\0"]),
    st.binary(min_size=8, max_size=8).map(lambda stamps: b"\1\1\x08\x0a" + stamps),
    st.integers(1, 10).flatmap(lambda n: st.binary(min_size=4 * n, max_size=4 * n)),
)
LINKS: list[tuple[int, Any]] = [
    # Link type, and a function that adds the link header before an EtherType.
    (1, build.ethernet),
    (1, lambda octets, kind: build.ethernet(octets, kind, [0x8100])),
    (1, lambda octets, kind: build.ethernet(octets, kind, [0x88A8, 0x8100])),
    (113, build.linux_cooked_1),
    (276, build.linux_cooked_2),
    (101, lambda octets, _: octets),
    (0, lambda octets, kind: (2 if kind == 0x0800 else 24).to_bytes(4, "little") + octets),
    # Scapy finds no IP packet after these.
    (1, lambda octets, _: build.ethernet(octets, 0x0700)),
    (147, lambda octets, _: octets),
]
_changes = st.lists(st.tuples(st.integers(0, 59), st.integers(0, 255)), max_size=5)


@st.composite
def _frames(draw: st.DrawFn) -> Frame:
    """Ordinary frames.  Some have a few other octets in their headers."""
    tcp = build.tcp(
        draw(st.sampled_from([b"", b"", b"payload", bytes(1460)])),
        options=draw(_options),
        data_offset=draw(st.sampled_from([None, None, None, 4, 6, 15])),
    )
    length = len(tcp) + draw(st.sampled_from([0, 0, 0, 0, 3, -1, -len(tcp)]))
    if draw(st.booleans()):
        fragment = draw(st.sampled_from([0x4000, 0, 0x8000, 0x2000, 0x4001]))
        ether_type, packet = 0x0800, build.ipv4(tcp, total=20 + length, fragment=fragment)
    else:
        ether_type, packet = 0x86DD, build.ipv6(tcp, length=length)
    changed = bytearray(packet)
    for at, octet in draw(_changes):
        changed[min(at, len(packet) - 1)] = octet
    octets = bytes(changed) + draw(st.sampled_from([b"", b"", bytes(6)]))
    link, wrap = draw(st.sampled_from([LINKS[0], *LINKS]))
    whole = wrap(octets, ether_type)
    captured = whole[: draw(st.sampled_from([1 << 16, 1 << 16, 70, 50, 30, 12, 0]))]
    return Frame(1, 0, link, captured, len(whole), None)


def untimed(packet: Packet) -> Packet:
    """A packet without time and length on the wire, which the caller fills in."""
    packet.time = packet.wirelen = None
    return packet


@given(st.lists(_frames(), max_size=6))
def test_lower_layers(frames: Sequence[Frame]) -> None:
    """Layers are equal for frames of the same shape and of others, up to TCP and with payload."""
    bare = LowerLayers(lambda frame: untimed(without_payload(frame)[0]), whole=False)
    whole = LowerLayers(lambda frame: untimed(dissected(frame)), whole=True)
    for frame in [*frames, *frames]:
        packet, tcp = bare.of(frame)
        assert tcp is packet.getlayer(TCP)
        assert state(packet) == state(untimed(without_payload(frame)[0]))
        packet, tcp = whole.of(frame)
        assert tcp is packet.getlayer(TCP)
        assert state(packet) == state(untimed(dissected(frame)))


IPV6_ROWS = [(*each, 0x86DD, build.ipv6) for each in LINKS[:6]]
SHAPES = [*((*each, 0x0800, build.ipv4) for each in LINKS[:7]), *IPV6_ROWS]


@pytest.mark.parametrize(("link", "wrap", "ether_type", "ip"), SHAPES)
def test_a_shape_is_dissected_once(link: int, wrap: Any, ether_type: int, ip: Any) -> None:
    """Only the first of several frames with the same shape is dissected."""
    calls = []

    def counted(frame: Frame) -> Packet:
        calls.append(frame)
        return packets._lower_layers(frame)

    made = LowerLayers(counted, whole=False)
    for number in range(5):
        tcp = build.tcp(bytes(number), options=b"\1\1\x08\x0a" + bytes([number] * 8))
        octets = wrap(ip(tcp), ether_type)
        frame = Frame(number, 0, link, octets, len(octets), None)
        assert state(untimed(made.of(frame)[0])) == state(untimed(without_payload(frame)[0]))
    assert len(calls) == 1


def test_layers_chosen_by_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each frame is dissected if a number of the IP header chooses the next layer."""

    class OddTCP(TCP):
        pass

    # The first binding that matches counts.
    monkeypatch.setattr(IP, "payload_guess", [({"id": 8}, OddTCP), *IP.payload_guess])
    made = LowerLayers(lambda frame: without_payload(frame)[0], whole=False)
    for number in (7, 8, 7):
        octets = bytearray(build.ethernet(build.ipv4(build.tcp())))
        octets[19] = number
        frame = Frame(1, 0, 1, bytes(octets), len(octets), None)
        assert type(made.of(frame)[0][IP].payload) is (OddTCP if number == 8 else TCP)


# -- upper layers ----------------------------------------------------------------------------------


def event_of(octets: bytes, phase: int | None = None) -> FPDURecovered:
    """The event of an FPDU."""
    start = 4 if phase == 0 else 0
    length = int.from_bytes(octets[start : start + 2], "big")
    return FPDURecovered(
        CONNECTION, 1, 1, 0, 7, None, length, octets, phase, 0, "good", "length", False, (1, 2)
    )


def are_as_dissected(made: UpperLayers, events: Iterable[FPDURecovered]) -> None:
    """The packets of FPDUs equal those that Scapy dissects."""
    for event in events:
        wanted = FPDU(event.octets, phase=event.phase)
        wanted.provenance = Provenance.of(event)
        fpdu = made.of(event)
        fpdu.time = wanted.time
        assert state(fpdu) == state(wanted)


@st.composite
def _fpdus(draw: st.DrawFn) -> FPDURecovered:
    control = draw(st.sampled_from([0xC1, 0x81, 0x41, 0x01, 0xC0, 0x7D]))
    rdmap = 0x40 | draw(st.integers(0, 15))
    numbers = draw(st.binary(min_size=16, max_size=16))[: 12 if control & 0x80 else 16]
    payload = draw(st.one_of(st.binary(max_size=70), st.sampled_from([b"", bytes(1400)])))
    ulpdu = bytes([control, rdmap]) + numbers + payload
    phase = draw(st.one_of(st.none(), st.sampled_from([0, 4, 256, 500, 508])))
    octets = build_fpdu(ulpdu[: draw(st.sampled_from([1 << 16, 1 << 16, 15, 1, 0]))], phase)
    damage = draw(st.sampled_from([0, 0, 0, 1, 4, 9]))
    if damage == 1:
        octets = octets[:-1] + b"\x55"
    elif damage:
        octets = octets[:-damage]
    return event_of(octets, phase)


@given(st.lists(_fpdus(), max_size=6))
def test_upper_layers(events: Sequence[FPDURecovered]) -> None:
    """All messages, with and without Markers, good, damaged or cut."""
    are_as_dissected(UpperLayers(), [*events, *events])


@pytest.mark.parametrize("phase", [None, 0, 300])
def test_a_kind_of_fpdu_is_dissected_once(
    phase: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the first of several Writes, Read Responses or Sends is dissected."""
    calls = 0
    plain = upper.dissected

    def counted(*arguments: Any) -> FPDU:
        nonlocal calls
        calls += 1
        return plain(*arguments)

    monkeypatch.setattr(upper, "dissected", counted)
    made = UpperLayers()
    kinds = [(0xC1, 0x40), (0xC1, 0x42), (0x41, 0x43), (0x41, 0x46)]
    for number in range(5):
        for control, rdmap in kinds:
            ulpdu = bytes([control, rdmap, *[number] * 16]) + bytes(900 + number)
            made.of(event_of(build_fpdu(ulpdu, phase), phase))
    assert calls == len(kinds)


class Above(Packet):
    """A protocol above RDMAP."""

    fields_desc = [ByteField("value", 0)]  # noqa: RUF012


@pytest.mark.parametrize(
    ("below", "values"),
    [(RDMAPSend, {}), (DDPUntagged, {"qn": 3}), (DDPUntagged, {"opcode": 3}), (FPDU, {})],
)
def test_bound_protocols_are_found(
    below: type[Packet], values: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Layers that users bind are found, also if they bind them while FPDUs are recovered."""
    made = UpperLayers()
    events = [
        event_of(build_fpdu(struct.pack(">BBIIII", 0x41, 0x43, 0, qn, 1, 0) + b"data"))
        for qn in (0, 3, 0, 3)
    ]

    are_as_dissected(made, events)
    with monkeypatch.context() as patch:
        # The first binding that matches counts.
        patch.setattr(below, "payload_guess", [(values, Above), *below.payload_guess])
        assert any(Above in made.of(event) for event in events)
        are_as_dissected(made, events)
    assert not any(Above in made.of(event) for event in events)
    are_as_dissected(made, events)
    bind_layers(RDMAPSend, Above)
    assert all(Above in made.of(event) for event in events)
    split_layers(RDMAPSend, Above)
    assert all(Raw in made.of(event) for event in events)


@pytest.mark.parametrize("count", [2, 65])
def test_reading_continues_after_sniff_stops(count: int) -> None:
    """After ``sniff()`` stops, the reader gives the frames after the last one that was used."""
    path = str(PCAPS / "ulp_nfs4_rdma_crcoff.pcap")
    with PcapReader(path) as reader:
        *_, last = sniff(opened_socket=reader, session=MPASession(), count=count, quiet=True)
        left = [bytes(each) for each in reader]
    frames = [bytes(each) for each in rdpcap(path)]
    taken = last[FPDU].provenance.frames[-1] if FPDU in last else frames.index(bytes(last)) + 1
    assert left == frames[taken:]
