# SPDX-License-Identifier: GPL-2.0-or-later
"""Tags and tunnels around a packet, built by Scapy, or octet by octet if it has no layer."""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from scapy.contrib.geneve import GENEVE
from scapy.contrib.mpls import MPLS
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrHopByHop
from scapy.layers.l2 import GRE, LLC, SNAP, Dot1AD, Dot1Q, Ether
from scapy.layers.ppp import PPP, PPPoE
from scapy.layers.vxlan import VXLAN

from tests.capture import build
from tests.truth import pcapfile
from tests.truth.walker import read_pcap

SOURCE, TARGET = "02:00:00:00:00:01", "02:00:00:00:00:02"
ETHER = Ether(src=SOURCE, dst=TARGET)
IP4 = IP(src="192.0.2.1", dst="192.0.2.2")
IP6 = IPv6(src="2001:db8::1", dst="2001:db8::2")

Wrap = Callable[[bytes], bytes]


def type_of(packet: bytes) -> int:
    """The EtherType of an IP packet."""
    return 0x0800 if packet[0] >> 4 == 4 else 0x86DD


def number_of(packet: bytes) -> int:
    """The protocol number of an IP packet."""
    return 4 if packet[0] >> 4 == 4 else 41


def octets(packet: Any) -> bytes:
    """A packet of Scapy as it is sent."""
    return bytes(packet)


def udp(port: int, head: bytes | Any, *, below: Any = IP4) -> Wrap:
    """A tunnel over UDP."""
    return lambda inner: octets(below / UDP(sport=50000, dport=port) / head / inner)


def gre(kind: int, *, head: bytes = b"", **fields: Any) -> Wrap:
    """GRE over IPv4, with the named options."""
    return lambda inner: octets(IP4 / GRE(proto=kind, **fields) / head / inner)


def tagged(tag: bytes) -> Wrap:
    """Ethernet with octets in front of the EtherType."""
    return lambda inner: octets(ETHER)[:12] + tag + struct.pack(">H", type_of(inner)) + inner


def mpls(head: bytes = b"", labels: int = 1) -> Wrap:
    """MPLS over Ethernet."""

    def wrap(inner: bytes) -> bytes:
        packet: Any = ETHER
        for n in range(labels):
            packet = packet / MPLS(label=16 + n, s=int(n == labels - 1), ttl=9)
        return octets(packet / head / inner)

    return wrap


def llc(length: int, inner: bytes) -> bytes:
    """LLC and SNAP over Ethernet, with a length or the EtherType in its place."""
    ether = Ether(src=SOURCE, dst=TARGET, type=length)
    return octets(ether / LLC(dsap=0xAA, ssap=0xAA, ctrl=3) / SNAP(code=type_of(inner)) / inner)


def upstream(inner: bytes) -> bytes:
    """MPLS over Ethernet, with a label that the upstream router has assigned (RFC 5332)."""
    return octets(ETHER)[:12] + bytes.fromhex("8848 00010109") + inner


PACKET_IN_FRAME: dict[str, Wrap] = {
    "Ethernet": lambda inner: octets(Ether(src=SOURCE, dst=TARGET, type=type_of(inner)) / inner),
    "802.1Q": lambda inner: octets(ETHER / Dot1Q(vlan=5, type=type_of(inner)) / inner),
    "802.1ad": lambda ip: octets(ETHER / Dot1AD(vlan=7) / Dot1Q(vlan=5, type=type_of(ip)) / ip),
    "TPID 9100": tagged(bytes.fromhex("91000005 8100000a")),
    "TPID 9200": tagged(bytes.fromhex("92000005")),
    "TPID 9300": tagged(bytes.fromhex("93000005")),
    "VN-Tag": tagged(bytes.fromhex("8926 80010002")),
    "802.1BR": tagged(bytes.fromhex("893f 000000010000")),
    "LLC": lambda inner: llc(min(8 + len(inner), 1500), inner),
    "long LLC": lambda inner: llc(0x8870, inner),
    "MPLS": mpls(),
    "MPLS, three labels": mpls(labels=3),
    "MPLS from upstream": upstream,
    "MPLS from upstream in a pseudowire": lambda inner: mpls()(upstream(inner)),
    "PPPoE": lambda inner: octets(
        ETHER / PPPoE(sessionid=9) / PPP(proto=0x21 if inner[0] >> 4 == 4 else 0x57) / inner
    ),
}
FRAME_IN_FRAME: dict[str, Wrap] = {
    "pseudowire with a control word": mpls(bytes.fromhex("00000007")),
    "pseudowire": mpls(),
}
ERSPAN_2 = bytes.fromhex("1005 0064 00000000")
ERSPAN_3 = bytes.fromhex("2005 0064 00000001 0000")
FRAME_IN_PACKET: dict[str, Wrap] = {
    "VXLAN": udp(4789, VXLAN(vni=5, flags="Instance")),
    "VXLAN on 8472": udp(8472, VXLAN(vni=5, flags="Instance")),
    "VXLAN over IPv6": udp(4789, VXLAN(vni=5, flags="Instance"), below=IP6),
    "GENEVE": udp(6081, GENEVE(vni=5, proto=0x6558)),
    "GENEVE, options": udp(6081, bytes.fromhex("0300 6558 00000500 0101 8001 deadbeef 00000000")),
    "GRE, TEB": gre(0x6558),
    "NVGRE": gre(0x6558, key_present=1, key=0x500),
    "ERSPAN I": gre(0x88BE),
    "ERSPAN II": gre(0x88BE, seqnum_present=1, seqence_number=7, head=ERSPAN_2),
    "ERSPAN III": gre(0x22EB, seqnum_present=1, seqence_number=7, head=ERSPAN_3 + bytes(2)),
    "ERSPAN III, platform": gre(
        0x22EB, seqnum_present=1, seqence_number=7, head=ERSPAN_3 + bytes.fromhex("0001") + bytes(8)
    ),
}
PACKET_IN_PACKET: dict[str, Wrap] = {
    "in IPv4": lambda ip: octets(IP(src=IP4.src, dst=IP4.dst, proto=number_of(ip)) / ip),
    "in IPv6": lambda ip: octets(IPv6(src=IP6.src, dst=IP6.dst, nh=number_of(ip)) / ip),
    "in IPv6 with options": lambda ip: octets(IP6 / IPv6ExtHdrHopByHop(nh=number_of(ip)) / ip),
    "GRE": lambda inner: gre(type_of(inner))(inner),
    "GRE, all options": lambda inner: gre(
        type_of(inner), chksum_present=1, key_present=1, key=5, seqnum_present=1, seqence_number=7
    )(inner),
    "MPLS in UDP": udp(6635, bytes.fromhex("00010109")),
    "GRE in UDP": lambda inner: udp(4754, struct.pack(">HH", 0, type_of(inner)))(inner),
}


ETHERNET = PACKET_IN_FRAME["Ethernet"]


def _alone() -> dict[str, Wrap]:
    """Each tag and tunnel around one packet, in Ethernet."""

    def then(outer: Wrap, inner: Wrap) -> Wrap:
        return lambda packet: outer(inner(packet))

    alone = dict(PACKET_IN_FRAME)
    alone |= {name: then(wrap, ETHERNET) for name, wrap in FRAME_IN_FRAME.items()}
    alone |= {name: then(ETHERNET, wrap) for name, wrap in PACKET_IN_PACKET.items()}
    alone |= {name: then(ETHERNET, then(wrap, ETHERNET)) for name, wrap in FRAME_IN_PACKET.items()}
    return alone


ALONE = _alone()
NOT_IN_TSHARK = frozenset(
    # tshark dissects these only with other settings.
    {"TPID 9200", "TPID 9300", "VXLAN on 8472"} | {name for name in ALONE if "pseudowire" in name}
)


def inside(wrap: Wrap, capture: Path) -> bytes:
    """A capture with each IP packet in a tag or tunnel."""
    return pcapfile.pcap([wrap(octets[14:]) for octets in read_pcap(capture)])


PAYLOAD = bytes(range(100))
PACKETS = (
    # MPLS distinguishes an IPv4 packet from an Ethernet header by its checksum.
    octets(IP(src="10.0.0.1", dst="10.0.0.2", proto=6) / build.tcp(PAYLOAD)),
    build.ipv6(build.tcp(PAYLOAD)),
)
MOST = 8


@st.composite
def stacks(draw: st.DrawFn) -> tuple[bytes, int]:
    """A frame with up to eight tags and tunnels, and the index of its packet."""
    which = draw(st.integers(0, 1))
    made, is_frame = PACKETS[which], False
    for _ in range(draw(st.integers(0, MOST))):
        tables = (
            (FRAME_IN_FRAME, FRAME_IN_PACKET) if is_frame else (PACKET_IN_FRAME, PACKET_IN_PACKET)
        )
        table = draw(st.sampled_from(tables))
        made = table[draw(st.sampled_from(sorted(table)))](made)
        is_frame = table in (FRAME_IN_FRAME, PACKET_IN_FRAME)
    return made if is_frame else ETHERNET(made), which
