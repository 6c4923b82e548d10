# SPDX-License-Identifier: GPL-2.0-or-later
"""PPP frames, and headers that capture programs add.

They are built field by field, as libpcap and the programs' authors describe them.
"""

import struct

from tests.capture.build import ethernet, ipv4, ipv6, tcp

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


def nflog_first(order: str = "<", second: int = 7) -> bytes:
    """Packet header, interface, prefix, time."""
    time = struct.pack(">QQ", second, 9)
    tlvs = (1, b"\x08\0\x03\0"), (4, b"\0\0\0\2"), (10, b"five\0"), (3, time)
    return b"".join(tlv(kind, value, order) for kind, value in tlvs)


def erf(kind: int, frame: bytes, extensions: bytes = b"", time: int = 1 << 40) -> bytes:
    """ERF: ``frame`` includes what precedes it in the record."""
    head = struct.pack("<QBB", time, kind, 4) + struct.pack(
        ">HHH", 16 + len(extensions) + len(frame), 0, len(frame)
    )
    return head + extensions + frame


def ip_over_infiniband(packet: bytes, ether_type: int = 0x0800, head: bytes = bytes(40)) -> bytes:
    """RFC 4391 6, after a Global Route Header or what replaces it."""
    return head + struct.pack(">HH", ether_type, 0) + packet


GRH = struct.pack(">IHBB", 6 << 28, 64, 0x1B, 1) + bytes(range(32))
EXTENSION = b"\x83" + bytes(7) + b"\x03" + bytes(7)

FOLLOWED = {
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
    "PPP, LCP": (9, b"\xff\x03\xc0\x21\1\1\0\4", "not IP"),
    "NFLOG, bridge": (239, nflog(V4, family=7), "not IP"),
    "NFLOG, TLV too short": (239, nflog(V4, first=b"\3\0\1\0"), "link header damaged"),
    "NFLOG, no packet": (239, nflog(V4)[:4] + nflog_first(), "link header damaged"),
    "NFLOG, many TLVs": (239, nflog(V4, first=tlv(2, b"") * 64), "link header damaged"),
    "ERF, ATM": (197, erf(3, bytes(52)), "not IP"),
    "ERF, many extensions": (197, erf(0x82, bytes(60), EXTENSION[:8] * 17), "too many headers"),
}
