# SPDX-License-Identifier: GPL-2.0-or-later
"""Link headers, tags and tunnels: where the IP packet of a frame begins.

https://www.tcpdump.org/linktypes.html describes link headers. Independent code builds the frames.
"""

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.capture import Decoder, Frame
from scapy_mpa.capture.reframe import Reframer
from scapy_mpa.stream.segment import Segment
from tests.capture import build
from tests.capture.build import ethernet, ipv4, ipv6, linux_cooked_1, linux_cooked_2, tcp
from tests.capture.reading import check, decoded, segment_of, shown
from tests.capture.stacks import ALONE, NOT_IN_TSHARK, PACKETS, PAYLOAD, stacks

V4 = ipv4(tcp(b"four"))
V6 = ipv6(tcp(b"six"))
SNAP4 = bytes.fromhex("aaaa03000000 0800") + V4


def tlv(kind: int, value: bytes, order: str = "<") -> bytes:
    """A TLV of NFLOG."""
    octets = struct.pack(order + "HH", 4 + len(value), kind) + value
    return octets + bytes(-len(value) % 4)


def nflog(packet: bytes, order: str = "<", family: int = 2, first: bytes = b"") -> bytes:
    """NFLOG: ``first`` is the TLVs before the one with the packet."""
    return struct.pack(">BBH", family, 0, 5) + first + tlv(9, packet, order)


def nflog_first(order: str = "<") -> bytes:
    """Packet header, interface, prefix, time."""
    time = struct.pack(">QQ", 7, 9)
    tlvs = (1, b"\x08\0\x03\0"), (4, b"\0\0\0\2"), (10, b"five\0"), (3, time)
    return b"".join(tlv(kind, value, order) for kind, value in tlvs)


def erf(kind: int, frame: bytes, extensions: bytes = b"") -> bytes:
    """ERF: ``frame`` includes what precedes it in the record."""
    head = struct.pack("<QBB", 1 << 40, kind, 4) + struct.pack(
        ">HHH", 16 + len(extensions) + len(frame), 0, len(frame)
    )
    return head + extensions + frame


def ip_over_infiniband(packet: bytes, ether_type: int = 0x0800, head: bytes = bytes(40)) -> bytes:
    """RFC 4391 6, after a Global Route Header or what replaces it."""
    return head + struct.pack(">HH", ether_type, 0) + packet


GRH = struct.pack(">IHBB", 6 << 28, 64, 0x1B, 1) + bytes(range(32))
EXTENSION = b"\x83" + bytes(7) + b"\x03" + bytes(7)

LENGTH = 1200  # no EtherType, but an IEEE 802.3 length

FOLLOWED = {
    "Ethernet": (1, ethernet(V4), 4),
    "Ethernet, IPv6": (1, ethernet(V6, 0x86DD), 6),
    "802.3 with SNAP": (1, ethernet(SNAP4, LENGTH), 4),
    "Linux cooked": (113, linux_cooked_1(V4), 4),
    "Linux cooked, IPv6": (113, linux_cooked_1(V6, 0x86DD), 6),
    "Linux cooked, 802.1Q": (113, linux_cooked_1(b"\0\5\x08\0" + V4, 0x8100), 4),
    "Linux cooked, SNAP": (113, linux_cooked_1(SNAP4, 4), 4),
    "Linux cooked 2": (276, linux_cooked_2(V4), 4),
    "Linux cooked 2, IPv6": (276, linux_cooked_2(V6, 0x86DD), 6),
    "Linux cooked 2, 802.1Q": (276, linux_cooked_2(b"\0\5\x86\xdd" + V6, 0x8100), 6),
    "BSD loopback, little-endian": (0, struct.pack("<I", 2) + V4, 4),
    "BSD loopback, big-endian": (0, struct.pack(">I", 2) + V4, 4),
    "NetBSD loopback, IPv6": (0, struct.pack("<I", 24) + V6, 6),
    "FreeBSD loopback, IPv6": (0, struct.pack("<I", 28) + V6, 6),
    "Darwin loopback, IPv6": (0, struct.pack("<I", 30) + V6, 6),
    "Darwin loopback, IPv6, big-endian": (0, struct.pack(">I", 30) + V6, 6),
    "OpenBSD loopback": (108, struct.pack(">I", 2) + V4, 4),
    "OpenBSD loopback, IPv6": (108, struct.pack(">I", 24) + V6, 6),
    "raw IP": (101, V4, 4),
    "raw IP, IPv6": (101, V6, 6),
    "raw IP 12": (12, V4, 4),
    "raw IP 12, IPv6": (12, V6, 6),
    "raw IP 14": (14, V4, 4),
    "raw IPv4": (228, V4, 4),
    "raw IPv6": (229, V6, 6),
    "PPP": (9, b"\0\x21" + V4, 4),
    "PPP, compressed": (9, b"\x21" + V4, 4),
    "PPP, IPv6": (9, b"\0\x57" + V6, 6),
    "PPP in HDLC framing": (9, b"\xff\x03\0\x21" + V4, 4),
    "PPP in HDLC framing 50": (50, b"\xff\x03\0\x57" + V6, 6),
    "PPP of pppd": (166, b"\1\x03\0\x21" + V4, 4),
    "NFLOG": (239, nflog(V4), 4),
    "NFLOG, big-endian": (239, nflog(V4, ">"), 4),
    "NFLOG, IPv6": (239, nflog(V6, family=10, first=nflog_first()), 6),
    "NFLOG, big-endian, TLVs": (239, nflog(V4, ">", first=nflog_first(">")), 4),
    "ERF, Ethernet": (197, erf(2, b"\0\0" + ethernet(V4) + b"FCS."), 4),
    "ERF, extensions": (197, erf(0x82, b"\0\0" + ethernet(V6, 0x86DD) + b"FCS.", EXTENSION), 6),
    "ERF, coloured Ethernet": (197, erf(11, b"\0\0" + ethernet(V4) + b"FCS."), 4),
    "ERF, PPP": (197, erf(1, b"\xff\x03\0\x21" + V4), 4),
    "ERF, channel": (197, erf(5, b"\0\0\0\1\xff\x03\0\x21" + V4), 4),
    "ERF, IPv4": (197, erf(22, V4), 4),
    "ERF, IPv6": (197, erf(23, V6), 6),
    "IP over InfiniBand": (242, ip_over_infiniband(V4), 4),
    "IP over InfiniBand, GRH": (242, ip_over_infiniband(V6, 0x86DD, GRH), 6),
}

NOT_FOLLOWED = {
    "ARP": (1, ethernet(bytes(28), 0x0806), "not IP"),
    "802.3 without SNAP": (1, ethernet(b"\x42\x42\x03" + V4, LENGTH), "not IP"),
    "too many tags": (1, ethernet(V4, tags=[0x8100] * 64), "too many headers"),
    "Linux cooked, ARP": (113, linux_cooked_1(bytes(28), 0x0806), "not IP"),
    "BSD loopback, unknown family": (0, struct.pack("<I", 99) + V4, "not IP"),
    "OpenBSD loopback, wrong byte order": (108, struct.pack("<I", 2) + V4, "not IP"),
    "raw, neither 4 nor 6": (101, b"\x50" + V4[1:], "not IP"),
    "USB": (220, V4, "link type 220"),
    "raw IPv4 that is IPv6": (228, V6, "IPv4 header damaged"),
    "raw IPv6 that is IPv4": (229, V4, "IPv6 header damaged"),
    "PPP, LCP": (9, b"\xff\x03\xc0\x21\1\1\0\4", "not IP"),
    "NFLOG, bridge": (239, nflog(V4, family=7), "not IP"),
    "NFLOG, TLV too short": (239, nflog(V4, first=b"\3\0\1\0"), "link header damaged"),
    "NFLOG, no packet": (239, nflog(V4)[:4] + nflog_first(), "link header damaged"),
    "NFLOG, many TLVs": (239, nflog(V4, first=tlv(2, b"") * 64), "link header damaged"),
    "ERF, ATM": (197, erf(3, bytes(52)), "not IP"),
    "ERF, many extensions": (197, erf(0x82, bytes(60), EXTENSION[:8] * 17), "too many headers"),
}

UNKNOWN_TO_TSHARK = {"raw IP 14", "PPP of pppd"}


def frame_of(link_type: int, octets: bytes, original: int | None = None) -> Frame:
    """A frame with number 7 at 8 ns."""
    return Frame(7, 8, link_type, octets, len(octets) if original is None else original, None)


@pytest.mark.parametrize("name", FOLLOWED)
@pytest.mark.parametrize("padding", [b"", bytes(6)], ids=["", "padded"])
def test_followed(name: str, padding: bytes) -> None:
    """Every link type gives its segment, with and without octets after the packet."""
    link_type, octets, version = FOLLOWED[name]
    flow, payload = (build.FLOW4, b"four") if version == 4 else (build.FLOW6, b"six")
    expected = Segment(flow, build.SEQ, build.ACK, build.FLAGS, payload, len(payload), 7, 8)
    segment, reasons = decoded(frame_of(link_type, octets + padding))
    assert segment is not None
    assert (segment, reasons) == (expected, {})


@pytest.mark.parametrize("name", NOT_FOLLOWED)
def test_not_followed(name: str) -> None:
    """All other frames are counted with a reason."""
    link_type, octets, reason = NOT_FOLLOWED[name]
    assert decoded(frame_of(link_type, octets)) == (None, {reason: 1})


@pytest.mark.parametrize("name", FOLLOWED)
def test_cut_anywhere(name: str) -> None:
    """Any snap length gives a cut header as the reason, or the captured payload.

    Reasons follow the order of headers. A frame that was so short on the wire is damaged up to the
    end of its IP header. After that IP shows that it was cut before the capture.
    """
    link_type, octets, version = FOLLOWED[name]
    ip = octets.rindex(V4 if version == 4 else V6)
    tcp_at = ip + (20 if version == 4 else 40)
    payload = octets[tcp_at + 20 :][: 4 if version == 4 else 3]
    for captured in range(len(octets)):
        for length in (len(octets), captured):
            segment, reasons = decoded(frame_of(link_type, octets[:captured], length))
            if captured >= tcp_at + 20:
                assert segment is not None
                assert segment.length == len(payload)
                assert segment.payload == payload[: captured - tcp_at - 20]
                continue
            assert segment is None
            (reason,) = reasons
            header, _, what = reason.partition(" in ")[0].rpartition(" ")
            # A length before it shows the cut, too.
            may_be_damaged = length == captured < tcp_at
            assert what == "cut" or (what == "damaged" and may_be_damaged) or reason == "not IP"
            if captured >= tcp_at:
                assert header == "TCP header"
            elif captured > ip:
                assert header == f"IPv{version} header"
            elif captured == ip:
                assert header in ("link header", f"IPv{version} header")
            else:
                # A cut LLC header looks like any other LLC.
                assert header in ("link header", "PPP header", "not")


@pytest.mark.parametrize("name", FOLLOWED)
def test_each_bit(name: str) -> None:
    """A frame may differ in one bit from an ordinary one."""
    link_type, octets, _ = FOLLOWED[name]
    for at in range(octets.index(b"\x9c\x40") - 8):
        for bit in range(8):
            changed = bytearray(octets)
            changed[at] ^= 1 << bit
            check(frame_of(link_type, bytes(changed) + bytes(9)))


def test_given_link_type() -> None:
    """An Ethernet frame is none if the user names another link type."""
    octets = ethernet(ipv4(tcp()))
    assert Decoder(link_types={1: 101}).segment(frame_of(1, octets)) is None


FLOWS = (build.FLOW4, build.FLOW6)
SEGMENTS = [
    Segment(flow, build.SEQ, build.ACK, build.FLAGS, PAYLOAD, len(PAYLOAD), 7, 8) for flow in FLOWS
]


@pytest.mark.parametrize("name", ALONE)
def test_alone(name: str) -> None:
    """Tags and tunnels are passed over. A frame that is cut gives a cut segment, or a reason.

    It makes no difference whether a snap length or the sender cut it.
    """
    for which, packet in enumerate(PACKETS):
        octets = ALONE[name](packet)
        for at in range(len(octets)):
            cut(octets, which, at)


@given(st.lists(stacks(), min_size=1, max_size=4))
def test_stacked(frames: list[tuple[bytes, int]]) -> None:
    """Tags and tunnels in any order."""
    decoder = Decoder()
    for octets, which in frames:
        assert decoder.segment(frame_of(1, octets)) == SEGMENTS[which]
    assert not decoder.not_followed


def cut(octets: bytes, which: int, at: int) -> None:
    """Read a frame, and then a part of it. The result is that of reading header by header."""
    assert decoded(frame_of(1, octets)) == (SEGMENTS[which], {})
    for length in (len(octets), at):
        segment = check(frame_of(1, octets[:at], length))
        if segment is not None:
            assert PAYLOAD.startswith(segment.payload)
            assert segment.length == len(PAYLOAD)


@given(stacks(), st.data())
def test_changed(stack: tuple[bytes, int], data: st.DataObject) -> None:
    """With any octets changed, the frame has another segment, or is damaged."""
    octets = bytearray(stack[0])
    for at in data.draw(st.lists(st.integers(0, len(octets) - 1), max_size=3)):
        octets[at] = data.draw(st.integers(0, 255))
    frame = frame_of(1, bytes(octets))
    if check(frame) is None:
        # A fragment alone gives no segment either.
        assert decoded(frame)[0] is None


@given(stacks(), st.binary(max_size=200))
def test_other_segments(stack: tuple[bytes, int], payload: bytes) -> None:
    """Frames with the same headers and other segments are read again, in both directions."""
    octets, which = stack
    reframer = Reframer(frame_of(1, octets), FLOWS[which])
    for each in (reframer, reframer.reversed()):
        segment = segment_of(each.frame(2, 3, 4, 5, 16, payload))
        assert segment[1:8] == (4, 5, 16, payload, len(payload), 2, 3)


def test_same_as_tshark(tmp_path: Path, tshark: str) -> None:
    """Wireshark finds the same segments, so the frames of this file are right.

    Length fields are also right if other segments follow the same headers.
    """
    rows = {name: row[:2] for name, row in FOLLOWED.items() if name not in UNKNOWN_TO_TSHARK}
    for name in ALONE.keys() - NOT_IN_TSHARK:
        rows |= {f"{name} {at}": (1, ALONE[name](packet)) for at, packet in enumerate(PACKETS)}
    frames = {name: frame_of(*row) for name, row in rows.items()}
    check_with_tshark(tmp_path / "links.pcapng", tshark, frames)
    for length in (0, 1000):
        others = {}
        for name, frame in frames.items():
            flow = segment_of(frame).flow
            others[name] = Reframer(frame, flow).frame(7, 8, 9, 10, 0x10, bytes(length))
            segment = segment_of(others[name])
            assert segment == Segment(flow, 9, 10, 0x10, bytes(length), length, 7, 8)
        check_with_tshark(tmp_path / "links.pcapng", tshark, others)


def check_with_tshark(path: Path, tshark: str, frames: dict[str, Frame]) -> None:
    """Check the segment of each frame. tshark takes the file's byte order for that of a host."""
    file = b""
    for name, frame in frames.items():
        order = ">" if "big-endian" in name else "<"
        file += build.section(order) + build.interface(order, link=frame.link_type)
        file += build.enhanced(frame.octets, order)
    path.write_bytes(file)
    fields = ("tcp.srcport", "tcp.dstport", "tcp.seq_raw", "tcp.flags", "tcp.len")
    for name, line in zip(frames, shown(tshark, path, *fields), strict=True):
        segment = segment_of(frames[name])
        wanted = f"40000\t4000\t{segment.seq}\t0x{segment.flags:04x}\t{segment.length}"
        assert line == wanted, name
