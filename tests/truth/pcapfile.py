# SPDX-License-Identifier: GPL-2.0-or-later
"""Ethernet frames of TCP segments, and classic pcap files of frames.

Checksums are zero, as on a machine that offloads them.
"""

import functools
import ipaddress
import itertools
import pathlib
import struct
from collections.abc import Iterable, Sequence
from typing import Any

from .impair import Segment


@functools.cache
def _packed(host: str) -> bytes:
    """The octets of an address."""
    return ipaddress.ip_address(host).packed


def frame(
    segment: Segment,
    *,
    hosts: tuple[str, str] = ("10.0.0.1", "10.0.0.2"),
    ports: tuple[int, int] = (40000, 4000),
    vlan: int | None = None,
    tcp_options: bytes = b"",
) -> bytes:
    """An Ethernet frame with the segment.  hosts and ports are in the order of directions.

    The hosts decide between IPv4 and IPv6; vlan adds an 802.1Q tag; tcp_options are a multiple of
    four octets, at most 40. Padded with zeros to 60 octets. Raises struct.error for a segment too
    large for its datagram.
    """
    source, sink = segment.direction, 1 - segment.direction
    size = (20 + len(tcp_options)) // 4
    flags = size << 4, segment.flags, 65535, 0, 0
    numbers = ports[source], ports[sink], segment.seq, segment.ack
    tcp = struct.pack(">HHIIBBHHH", *numbers, *flags) + tcp_options + segment.payload
    return datagram(hosts, source, 6, tcp, vlan).ljust(60, b"\0")


def datagram(
    hosts: tuple[str, str], source: int, protocol: int, octets: bytes, vlan: int | None = None
) -> bytes:
    """An Ethernet frame with an IP packet from one of two hosts to the other."""
    macs = [b"\x02\0\0\0\0\1", b"\x02\0\0\0\0\2"]
    addresses = _packed(hosts[source]) + _packed(hosts[1 - source])
    if len(addresses) == 8:
        ether_type, size = 0x0800, 20 + len(octets)
        ip = struct.pack(">BBHHHBBH", 0x45, 0, size, 0, 0x4000, 64, protocol, 0)
    else:
        ether_type, ip = 0x86DD, struct.pack(">IHBB", 6 << 28, len(octets), protocol, 64)
    tag = b"" if vlan is None else struct.pack(">HH", 0x8100, vlan)
    ethernet = macs[1 - source] + macs[source] + tag + struct.pack(">H", ether_type)
    return ethernet + ip + addresses + octets


def frames(segments: Sequence[Segment], **options: Any) -> list[bytes]:
    """A frame for each segment of one connection, with the options of frame."""
    return [frame(segment, **options) for segment in segments]


def pcap(octets: Iterable[bytes], *, snaplen: int = 262144, step: int = 1_000_000) -> bytes:
    """A classic pcap file of link type Ethernet.

    snaplen: most octets of a frame. step: nanoseconds from one frame to the next.
    """
    timed = zip(itertools.count(1_700_000_000_000_000_000, step), octets, strict=False)
    cut = [(time, whole, max(0, len(whole) - snaplen)) for time, whole in timed]
    return stamped(cut, snaplen=snaplen, unit=1000)


def stamped(
    captured: Iterable[tuple[int, bytes, int]],
    *,
    snaplen: int = 262144,
    order: str = "<",
    unit: int = 1,
) -> bytes:
    """The same with given times.

    captured: the time of each frame, the frame, and how many of its last octets were cut off.
    order: struct's "<" or ">". unit: nanoseconds, 1 or 1000.
    """
    magic = 0xA1B23C4D if unit == 1 else 0xA1B2C3D4
    file = bytearray(struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snaplen, 1))
    for time, octets, lacks in captured:
        left = octets[: len(octets) - lacks]
        seconds, fraction = divmod(time, 1_000_000_000)
        file += struct.pack(order + "IIII", seconds, fraction // unit, len(left), len(octets))
        file += left
    return bytes(file)


def write(path: pathlib.Path, segments: Sequence[Segment]) -> None:
    """Write the segments of one connection to a capture file."""
    path.write_bytes(pcap(frames(segments)))
