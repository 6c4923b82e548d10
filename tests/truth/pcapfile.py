# SPDX-License-Identifier: GPL-2.0-or-later
"""Ethernet frames of TCP segments, and classic pcap files of frames.

Checksums are zero, as on a machine that offloads them.
"""

from __future__ import annotations

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
    four octets, at most 40. Padded with zeros to 60 octets. Raises ValueError for a segment too
    large for its datagram.
    """
    source, sink = segment.direction, 1 - segment.direction
    if len(tcp_options) % 4 or len(tcp_options) > 40:
        raise ValueError("TCP options are 0 to 40 octets, a multiple of 4")
    size = (20 + len(tcp_options)) // 4
    tcp = struct.pack(
        ">HHIIBBHHH",
        ports[source],
        ports[sink],
        segment.seq,
        segment.ack,
        size << 4,
        segment.flags,
        65535,
        0,
        0,
    )
    tcp += tcp_options + segment.payload
    addresses = [_packed(host) for host in hosts]
    if len(addresses[source]) == 4:
        ethertype, head = 0x0800, 20
    else:
        ethertype, head = 0x86DD, 0
    if head + len(tcp) > 65535:
        raise ValueError(f"{len(segment.payload)} octets do not fit one datagram")
    if head:
        ip = struct.pack(">BBHHHBBH", 0x45, 0, head + len(tcp), 0, 0x4000, 64, 6, 0)
    else:
        ip = struct.pack(">IHBB", 6 << 28, len(tcp), 6, 64)
    macs = [b"\x02\0\0\0\0\1", b"\x02\0\0\0\0\2"]
    ethernet = macs[sink] + macs[source]
    if vlan is not None:
        ethernet += struct.pack(">HH", 0x8100, vlan)
    ethernet += struct.pack(">H", ethertype)
    octets = ethernet + ip + addresses[source] + addresses[sink] + tcp
    return octets.ljust(60, b"\0")


def frames(segments: Sequence[Segment], **options: Any) -> list[bytes]:
    """A frame for each segment of one connection, with the options of frame."""
    return [frame(segment, **options) for segment in segments]


def pcap(
    octets: Iterable[bytes],
    *,
    snaplen: int = 262144,
    step: int = 1_000_000,
    order: str = "<",
    nanoseconds: bool = False,
) -> bytes:
    """A classic pcap file of link type Ethernet.

    snaplen: most octets of a frame. step: nanoseconds from one frame to the next. order:
    struct's "<" or ">".
    """
    times = itertools.count(1_700_000_000_000_000_000, step)
    cut = (
        (time, whole, max(0, len(whole) - snaplen))
        for time, whole in zip(times, octets, strict=False)
    )
    return stamped(cut, snaplen=snaplen, order=order, unit=1 if nanoseconds else 1000)


def stamped(
    captured: Iterable[tuple[int, bytes, int]],
    *,
    snaplen: int = 262144,
    order: str = "<",
    unit: int = 1,
) -> bytes:
    """The same with given times.

    captured: the time of each frame, the frame, and how many of its last octets were cut off.
    unit: nanoseconds, 1 or 1000.
    """
    magic = 0xA1B23C4D if unit == 1 else 0xA1B2C3D4
    file = bytearray(struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snaplen, 1))
    for time, octets, lacks in captured:
        left = octets[: len(octets) - lacks]
        seconds, fraction = divmod(time, 1_000_000_000)
        file += (
            struct.pack(order + "IIII", seconds, fraction // unit, len(left), len(octets)) + left
        )
    return bytes(file)


def write(path: pathlib.Path, segments: Sequence[Segment]) -> None:
    """Write the segments of one connection to a capture file."""
    path.write_bytes(pcap(frames(segments)))
