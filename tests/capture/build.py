# SPDX-License-Identifier: GPL-2.0-or-later
"""Octets of headers and capture files, built field by field from their standards.

Nothing here imports the code under test.
"""

import io
import struct
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import cycle
from types import SimpleNamespace
from typing import Any

PORTS = struct.pack(">HH", 40000, 4000)
SOURCE4 = bytes([10, 0, 0, 1])
TARGET4 = bytes([10, 0, 0, 2])
SOURCE6 = bytes.fromhex("fd00" + "00" * 13 + "01")
TARGET6 = bytes.fromhex("fd00" + "00" * 13 + "02")
FLOW4 = SOURCE4 + TARGET4 + PORTS
FLOW6 = SOURCE6 + TARGET6 + PORTS

SEQ, ACK, FLAGS = 0x01020304, 0xF0E0D0C0, 0x18


def tcp(
    payload: bytes = b"payload", *, options: bytes = b"", data_offset: int | None = None
) -> bytes:
    """A TCP segment (RFC 9293 3.1) with the constants above."""
    words = 5 + len(options) // 4 if data_offset is None else data_offset
    head = struct.pack(">IIBBHHH", SEQ, ACK, words << 4, FLAGS, 65535, 0xBAD, 0)
    return PORTS + head + options + payload


def ipv4(
    payload: bytes,
    *,
    protocol: int = 6,
    total: int | None = None,
    fragment: int = 0x4000,
    options: bytes = b"",
    version: int = 4,
    words: int | None = None,
) -> bytes:
    """An IPv4 packet (RFC 791 3.1); ``fragment`` holds flags and offset, ``words`` is the IHL."""
    words = 5 + len(options) // 4 if words is None else words
    total = 20 + len(options) + len(payload) if total is None else total
    first = version << 4 | words
    head = struct.pack(">BBHHHBBH", first, 0, total, 7, fragment, 64, protocol, 0xBAD)
    return head + SOURCE4 + TARGET4 + options + payload


def ipv6(
    payload: bytes, *, next_header: int = 6, length: int | None = None, version: int = 6
) -> bytes:
    """An IPv6 packet (RFC 8200 3)."""
    length = len(payload) if length is None else length
    head = struct.pack(">IHBB", version << 28, length, next_header, 64)
    return head + SOURCE6 + TARGET6 + payload


def ethernet(payload: bytes, ether_type: int = 0x0800, tags: Sequence[int] = ()) -> bytes:
    """An Ethernet frame; ``tags`` are the tag protocol identifiers, outermost first."""
    stacked = b"".join(struct.pack(">HH", tag, 0xE005) for tag in tags)
    return bytes(range(12)) + stacked + struct.pack(">H", ether_type) + payload


def linux_cooked_1(payload: bytes, protocol: int = 0x0800) -> bytes:
    """LINKTYPE_LINUX_SLL: packet type, ARPHRD_, address length, address, protocol."""
    return struct.pack(">HHH8sH", 4, 1, 6, bytes(range(8)), protocol) + payload


def linux_cooked_2(payload: bytes, protocol: int = 0x0800) -> bytes:
    """LINKTYPE_LINUX_SLL2: protocol, reserved, interface, ARPHRD_, packet type, address."""
    return struct.pack(">HHIHBB8s", protocol, 0, 3, 1, 4, 6, bytes(range(8))) + payload


Record = tuple[int, int, bytes, int]
"""Seconds, fraction, captured octets, original length."""


def pcap(
    records: Iterable[Record] = (),
    *,
    order: str = "<",
    magic: int = 0xA1B2C3D4,
    version: tuple[int, int] = (2, 4),
    link: int = 1,
) -> bytes:
    """A pcap file."""
    file = struct.pack(order + "IHHiIII", magic, *version, 0, 0, 65535, link)
    for seconds, fraction, octets, original in records:
        file += struct.pack(order + "IIII", seconds, fraction, len(octets), original)
        file += octets
    return file


def padded(octets: bytes) -> bytes:
    """Fill up to a multiple of 4 with octets other than zero, which are noticed if taken."""
    return octets + b"\xee" * (-len(octets) % 4)


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    """A pcapng block of any type."""
    length = struct.pack(order + "I", 12 + len(padded(body)))
    return struct.pack(order + "I", kind) + length + padded(body) + length


def option(code: int, value: bytes, order: str = "<") -> bytes:
    """A pcapng option."""
    return struct.pack(order + "HH", code, len(value)) + padded(value)


def section(order: str = "<", version: tuple[int, int] = (1, 0), options: bytes = b"") -> bytes:
    """A Section Header Block without a section length."""
    body = struct.pack(order + "IHHq", 0x1A2B3C4D, *version, -1) + options
    return block(0x0A0D0D0A, body, order)


def interface(order: str = "<", link: int = 1, snap_length: int = 0, options: bytes = b"") -> bytes:
    """An Interface Description Block."""
    return block(1, struct.pack(order + "HHI", link, 0, snap_length) + options, order)


def enhanced(
    octets: bytes,
    order: str = "<",
    *,
    index: int = 0,
    ticks: int = 0,
    original: int | None = None,
    options: bytes = b"",
    obsolete: bool = False,
) -> bytes:
    """An Enhanced Packet Block, or an obsolete Packet Block whose drop count is not zero."""
    original = len(octets) if original is None else original
    head = struct.pack(order + "HH", index, 9) if obsolete else struct.pack(order + "I", index)
    body = head + struct.pack(order + "IIII", *divmod(ticks, 1 << 32), len(octets), original)
    return block(2 if obsolete else 6, body + padded(octets) + options, order)


packet = partial(enhanced, obsolete=True)


def simple(octets: bytes, original: int, order: str = "<") -> bytes:
    """A Simple Packet Block."""
    return block(3, struct.pack(order + "I", original) + octets, order)


def short_reads(octets: bytes, sizes: Sequence[int]) -> Any:
    """A file that cannot seek. Each read gives as many octets as the next of ``sizes``."""
    file, turns = io.BytesIO(octets), cycle(sizes)
    return SimpleNamespace(read=lambda size: file.read(min(size, next(turns))))
