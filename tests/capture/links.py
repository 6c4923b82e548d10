# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames of serial lines and of 802.11, and with what capture programs put in front of frames.

They are put together field by field, as libpcap and the programs' authors describe them.
"""

from __future__ import annotations

import struct

from tests.capture.build import ethernet, ipv4, ipv6, tcp

V4 = ipv4(tcp(b"four"))
V6 = ipv6(tcp(b"six"))
SNAP4 = bytes.fromhex("aaaa03000000 0800") + V4
SNAP6 = bytes.fromhex("aaaa03000000 86dd") + V6


def wifi(
    body: bytes,
    *,
    kind: int = 0x08,
    flags: int = 0x01,
    more: bytes = b"",
    duration: int = 44,
    sequence: int = 0x1230,
) -> bytes:
    """IEEE 802.11: ``more`` is the fourth address, QoS control and HT control."""
    head = struct.pack("<BBH18sH", kind, flags, duration, bytes(range(2, 20)), sequence)
    return head + more + body


def radiotap(frame: bytes, fields: bytes = b"", *words: int) -> bytes:
    """Radiotap: ``words`` say which ``fields`` there are."""
    words = words or (0,)
    present = struct.pack(f"<{len(words)}I", *words)
    return struct.pack("<BBH", 0, 0, 4 + len(present) + len(fields)) + present + fields + frame


def prism(frame: bytes, order: str = "<") -> bytes:
    """The header of wlan-ng: ten values of 12 octets."""
    values = b"".join(struct.pack(order + "IHHI", 0x1044 + at, 0, 4, at) for at in range(10))
    return struct.pack(order + "II16s", 0x44, 144, b"wlan0") + values + frame


def avs(frame: bytes) -> bytes:
    """Version 1 of AVS's capture header."""
    return struct.pack(">II", 0x80211001, 64) + bytes(range(56)) + frame


def tlv(kind: int, value: bytes, order: str = "<") -> bytes:
    """One of NFLOG."""
    octets = struct.pack(order + "HH", 4 + len(value), kind) + value
    return octets + bytes(-len(value) % 4)


def nflog(packet: bytes, order: str = "<", family: int = 2, first: bytes = b"") -> bytes:
    """NFLOG: ``first`` is the TLVs before that with the packet."""
    return struct.pack(">BBH", family, 0, 5) + first + tlv(9, packet, order)


def nflog_first(order: str = "<", second: int = 7) -> bytes:
    """Packet header, interface, prefix, time."""
    time = struct.pack(">QQ", second, 9)
    tlvs = (1, b"\x08\0\x03\0"), (4, b"\0\0\0\2"), (10, b"five\0"), (3, time)
    return b"".join(tlv(kind, value, order) for kind, value in tlvs)


def erf(kind: int, frame: bytes, extensions: bytes = b"", time: int = 1 << 40) -> bytes:
    """ERF: ``frame`` with what is in front of it in the record."""
    head = struct.pack("<QBB", time, kind, 4) + struct.pack(
        ">HHH", 16 + len(extensions) + len(frame), 0, len(frame)
    )
    return head + extensions + frame


def pktap(link_type: int, frame: bytes, order: str = "<", process: int = 77) -> bytes:
    """Apple's pktap_header."""
    head = struct.pack(order + "III24sIIIII20s", 108, 1, link_type, b"en0", 1, 2, 14, 0, 77, b"nc")
    return head + struct.pack(order + "IHHI20s", 0, 6, 0, process, b"nc") + frame


def ip_over_infiniband(packet: bytes, ether_type: int = 0x0800, head: bytes = bytes(40)) -> bytes:
    """RFC 4391 6, after a Global Route Header or what is in place of it."""
    return head + struct.pack(">HH", ether_type, 0) + packet


GRH = struct.pack(">IHBB", 6 << 28, 64, 0x1B, 1) + bytes(range(32))
CIRCUIT = b"\x18\x41"
EXTENSION = b"\x83" + bytes(7) + b"\x03" + bytes(7)
TIME_AND_FLAGS = struct.pack("<QB", 99, 0x20) + b"\xee"

FOLLOWED = {
    "PPP": (9, b"\0\x21" + V4, 4),
    "PPP, compressed": (9, b"\x21" + V4, 4),
    "PPP, IPv6": (9, b"\0\x57" + V6, 6),
    "PPP in HDLC framing": (9, b"\xff\x03\0\x21" + V4, 4),
    "PPP in HDLC framing 50": (50, b"\xff\x03\0\x57" + V6, 6),
    "PPP 50, Cisco HDLC": (50, b"\x0f\0\x08\0" + V4, 4),
    "PPP of pppd": (166, b"\1\x03\0\x21" + V4, 4),
    "PPP with direction": (204, b"\1\xff\x03\x21" + V4, 4),
    "PPP with direction, no framing": (204, b"\0\0\x57" + V6, 6),
    "Cisco HDLC": (104, b"\x0f\0\x08\0" + V4, 4),
    "Cisco HDLC, IPv6": (104, b"\x8f\0\x86\xdd" + V6, 6),
    "Cisco HDLC with direction": (205, b"\1\x0f\0\x08\0" + V4, 4),
    "frame relay": (107, CIRCUIT + b"\x03\xcc" + V4, 4),
    "frame relay, IPv6": (107, CIRCUIT + b"\x03\x8e" + V6, 6),
    "frame relay, SNAP": (107, CIRCUIT + b"\x03\0\x80\0\0\0\x08\0" + V4, 4),
    "frame relay, bridged": (107, CIRCUIT + b"\x03\0\x80\0\x80\xc2\0\x07" + ethernet(V4), 4),
    "frame relay, PPP": (107, CIRCUIT + b"\x03\xcf\0\x21" + V4, 4),
    "frame relay, Cisco": (107, CIRCUIT + b"\x86\xdd" + V6, 6),
    "frame relay, address of 3": (107, b"\x18\x40\x05\x03\xcc" + V4, 4),
    "frame relay, address of 4": (107, b"\x18\x40\x04\x05\x03\xcc" + V4, 4),
    "frame relay with direction": (206, b"\1" + CIRCUIT + b"\x03\xcc" + V4, 4),
    "802.11": (105, wifi(SNAP4), 4),
    "802.11, IPv6": (105, wifi(SNAP6, flags=2), 6),
    "802.11, four addresses": (105, wifi(SNAP4, flags=3, more=bytes(range(6))), 4),
    "802.11, QoS": (105, wifi(SNAP4, kind=0x88, flags=0x0A, more=b"\5\xff"), 4),
    "802.11, HT control": (105, wifi(SNAP6, kind=0x88, flags=0x81, more=b"\5\0wxyz"), 6),
    "802.11, all": (105, wifi(SNAP4, kind=0x98, flags=0x83, more=b"abcdef\5\0wxyz"), 4),
    "radiotap": (127, radiotap(wifi(SNAP4)), 4),
    "radiotap, padded": (
        127,
        radiotap(wifi(SNAP4, kind=0x88, more=b"\0\0\0\0"), TIME_AND_FLAGS, 0x07),
        4,
    ),
    "radiotap, two words": (
        127,
        radiotap(
            wifi(SNAP6, kind=0x88, more=b"\0\0\0\0"),
            bytes(4) + TIME_AND_FLAGS[:9] + b"\xa0\xa0",
            *(0xA000_0023, 0x20),
        ),
        6,
    ),
    "radiotap, flags alone": (127, radiotap(wifi(SNAP4) + b"FCS.", b"\x10", 0x02), 4),
    "Prism": (119, prism(wifi(SNAP4)), 4),
    "Prism, big-endian": (119, prism(wifi(SNAP6), ">"), 6),
    "Prism, AVS": (119, avs(wifi(SNAP4)), 4),
    "AVS": (163, avs(wifi(SNAP6)), 6),
    "NFLOG": (239, nflog(V4), 4),
    "NFLOG, big-endian": (239, nflog(V4, ">"), 4),
    "NFLOG, IPv6": (239, nflog(V6, family=10, first=nflog_first()), 6),
    "NFLOG, big-endian, TLVs": (239, nflog(V4, ">", first=nflog_first(">")), 4),
    "ERF, Ethernet": (197, erf(2, b"\0\0" + ethernet(V4) + b"FCS."), 4),
    "ERF, extensions": (197, erf(0x82, b"\0\0" + ethernet(V6, 0x86DD) + b"FCS.", EXTENSION), 6),
    "ERF, coloured Ethernet": (197, erf(11, b"\0\0" + ethernet(V4) + b"FCS."), 4),
    "ERF, PPP": (197, erf(1, b"\xff\x03\0\x21" + V4), 4),
    "ERF, Cisco HDLC": (197, erf(10, b"\x0f\0\x08\0" + V4), 4),
    "ERF, channel": (197, erf(5, b"\0\0\0\1\xff\x03\0\x21" + V4), 4),
    "ERF, IPv4": (197, erf(22, V4), 4),
    "ERF, IPv6": (197, erf(23, V6), 6),
    "PKTAP": (258, pktap(1, ethernet(V4)), 4),
    "PKTAP, raw": (258, pktap(12, V6), 6),
    "PKTAP, big-endian": (258, pktap(0, struct.pack(">I", 30) + V6, ">"), 6),
    "IP over InfiniBand": (242, ip_over_infiniband(V4), 4),
    "IP over InfiniBand, GRH": (242, ip_over_infiniband(V6, 0x86DD, GRH), 6),
}

NOT_FOLLOWED = {
    "PPP, LCP": (9, b"\xff\x03\xc0\x21\1\1\0\4", "not IP"),
    "Cisco HDLC, SLARP": (104, b"\x8f\0\x80\x35" + bytes(18), "not IP"),
    "frame relay, LMI": (107, b"\0\1\x03\x08" + bytes(9), "not IP"),
    "frame relay, other SNAP": (107, CIRCUIT + b"\x03\x80\0\0\x0c\x08\0" + V4, "not IP"),
    "frame relay, endless address": (107, bytes(60), "link header damaged"),
    "802.11, beacon": (105, wifi(bytes(40), kind=0x80), "not IP"),
    "802.11, ACK": (105, b"\xd4\0\0\0" + bytes(6), "not IP"),
    "802.11, no data": (105, wifi(b"", kind=0xC8, more=b"\0\0"), "not IP"),
    "802.11, protected": (105, wifi(SNAP4, flags=0x41), "encrypted (802.11)"),
    "802.11, first fragment": (105, wifi(SNAP4, flags=5), "fragment of an 802.11 frame"),
    "802.11, last fragment": (105, wifi(SNAP4, sequence=0x1231), "fragment of an 802.11 frame"),
    "802.11, A-MSDU": (105, wifi(SNAP4, kind=0x88, more=b"\x80\0"), "802.11 A-MSDU"),
    "radiotap, FCS bad": (127, radiotap(wifi(SNAP4), b"\x50", 2), "802.11 FCS bad"),
    "radiotap, short": (127, b"\0\0\7\0\0\0\0\0" + wifi(SNAP4), "link header damaged"),
    "radiotap, flags missing": (127, radiotap(wifi(SNAP4), b"", 2), "link header damaged"),
    "radiotap, time missing": (127, radiotap(wifi(SNAP4), bytes(7), 1), "link header damaged"),
    "radiotap, words missing": (
        127,
        radiotap(wifi(SNAP4), b"", 1 << 31),
        "link header damaged",
    ),
    "Prism, short": (119, b"\x44\0\0\0\x17" + bytes(19) + wifi(SNAP4), "link header damaged"),
    "NFLOG, bridge": (239, nflog(V4, family=7), "not IP"),
    "NFLOG, TLV too short": (239, nflog(V4, first=b"\3\0\1\0"), "link header damaged"),
    "NFLOG, no packet": (239, nflog(V4)[:4] + nflog_first(), "link header damaged"),
    "NFLOG, many TLVs": (239, nflog(V4, first=tlv(2, b"") * 64), "link header damaged"),
    "ERF, ATM": (197, erf(3, bytes(52)), "not IP"),
    "ERF, many extensions": (
        197,
        erf(0x82, bytes(60), b"\x83\0\0\0\0\0\0\0" * 17),
        "too many headers",
    ),
    "PKTAP, no packet": (258, pktap(1, ethernet(V4)).replace(b"\1\0\0\0", bytes(4)), "not IP"),
    "PKTAP, short": (258, b"\7" + pktap(1, ethernet(V4))[1:], "link header damaged"),
    "PKTAP, itself": (258, pktap(258, b"") * 70, "too many headers"),
    "PKTAP, unknown": (258, pktap(220, V4), "link type 220"),
}
