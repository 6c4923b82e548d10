# SPDX-License-Identifier: GPL-2.0-or-later
"""Other segments after the headers of a captured frame."""

from __future__ import annotations

import pytest

from scapy_mpa.capture import Frame
from scapy_mpa.capture.headers import checksum
from scapy_mpa.capture.reframe import Reframer
from tests.capture.build import FLOW4, FLOW6, ipv4, ipv6, tcp
from tests.capture.reading import segment_of

MACS = bytes(range(12))


def reframer(octets: bytes, flow: bytes = FLOW4, link_type: int = 1) -> Reframer:
    """The reframer of a frame."""
    return Reframer(Frame(1, 0, link_type, octets, len(octets), None), flow)


def test_options_and_extensions_stay() -> None:
    """IPv4 options and IPv6 extension headers precede every segment.

    In the other direction the Ethernet addresses change places.
    """
    options = b"\x94\x04\0\0"
    octets = MACS + b"\x08\x00" + ipv4(tcp(), options=options)
    made = reframer(octets)
    assert made.reversed().frame(1, 0, 1, 2, 16).octets[:14] == MACS[6:] + MACS[:6] + b"\x08\x00"
    frame = made.frame(1, 0, 1, 2, 16, b"x")
    assert frame.octets[34:38] == options
    assert checksum(frame.octets[14:38]) == 0
    destination = b"\x06\0\1\4\0\0\0\0"
    octets = MACS + b"\x86\xdd" + ipv6(destination + tcp(), next_header=60)
    frame = reframer(octets, FLOW6).frame(1, 0, 1, 2, 16, b"x")
    assert frame.octets[54:62] == destination
    assert segment_of(frame).payload == b"x"


TIMESTAMPS = b"\x08\x0aTIMESTMP"


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        (b"", b""),
        (b"\1\1" + TIMESTAMPS, b"\1\1" + TIMESTAMPS),
        (b"\x05\x0aSACK....\4\2" + TIMESTAMPS + b"\0\0", b"\1\1" + TIMESTAMPS),
        (b"\0\1" + TIMESTAMPS, b""),
        (b"\5\0\1\1", b""),
        (b"\1\1\x08\x0a", b""),
    ],
)
def test_window_and_timestamps_stay(options: bytes, kept: bytes) -> None:
    """Window and timestamps stay, at any place among other options, whole or damaged.

    The checksum is right.
    """
    header = bytearray(tcp(options=options))
    header[14:16] = b"\x12\x34"
    octets = MACS + b"\x08\x00" + ipv4(bytes(header))
    frame = reframer(octets).frame(1, 0, 1, 2, 16, b"x")
    pseudo_header = frame.octets[26:34] + b"\0\x06" + (len(frame.octets) - 34).to_bytes(2, "big")
    assert checksum(pseudo_header + frame.octets[34:]) == 0
    assert frame.octets[48:50] == b"\x12\x34"
    assert frame.octets[54:] == kept + b"x"
    assert segment_of(frame).payload == b"x"


@pytest.mark.parametrize(("size", "field"), [(1, 49), (1452, 1500), (1453, 0x8870)])
def test_length_of_802_3(size: int, field: int) -> None:
    """The length is that of the new segment. If too long, it becomes the EtherType of long LLC."""
    packet = ipv4(tcp())
    snap = b"\xaa\xaa\x03\0\0\0\x08\x00"
    octets = MACS + (len(snap) + len(packet)).to_bytes(2, "big") + snap + packet
    frame = reframer(octets).frame(1, 0, 1, 2, 16, bytes(size))
    assert frame.octets[:14] == MACS + field.to_bytes(2, "big")
    assert segment_of(frame).payload == bytes(size)


@pytest.mark.parametrize(
    ("made", "largest"),
    [
        (reframer(MACS + b"\x08\x00" + ipv4(tcp())), 65495),
        (reframer(ipv6(tcp()), FLOW6, 101), 65515),
    ],
    ids=["Ethernet", "raw IP"],
)
def test_largest(made: Reframer, largest: int) -> None:
    """A segment may fill a datagram. Octets that a snap length cut off are counted, but missing.

    A segment that is longer, before the interface card cuts it, has no IP length, like the captured
    one.
    """
    assert made.largest == largest
    assert segment_of(made.frame(1, 0, 1, 2, 16, bytes(largest))).length == largest
    for length in (1000, largest, largest + 1, largest + 100_000):
        frame = made.frame(1, 0, 1, 2, 16, b"seen", length=length)
        segment = segment_of(frame)
        assert (segment.payload, segment.length) == (b"seen", length)
        assert frame.original_length - len(frame.octets) == length - 4
