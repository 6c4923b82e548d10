# SPDX-License-Identifier: GPL-2.0-or-later
"""Other segments behind the headers of a captured frame."""

from __future__ import annotations

import pytest

from scapy_mpa.capture import Frame
from scapy_mpa.capture.headers import checksum
from scapy_mpa.capture.reframe import Reframer
from tests.capture.build import FLOW4, FLOW6, ipv4, ipv6, tcp
from tests.capture.reading import segment_of

MACS = bytes(range(12))
TAG = b"\x81\x00\x00\x07"

HEADERS = {
    "Ethernet": (1, MACS + b"\x08\x00", ipv4),
    "VLAN": (1, MACS + TAG + b"\x08\x00", ipv4),
    "raw IP": (101, b"", ipv6),
}


def captured(name: str) -> tuple[Frame, bytes]:
    """A frame, and the flow of its segment."""
    link_type, link, network = HEADERS[name]
    octets = link + network(tcp())
    return Frame(1, 0, link_type, octets, len(octets), "eth0"), FLOW4 if network is ipv4 else FLOW6


def test_options_and_extensions_stay() -> None:
    """IPv4 options, and IPv6 extension headers, stand before every segment."""
    options = b"\x94\x04\0\0"
    octets = MACS + b"\x08\x00" + ipv4(tcp(), options=options)
    frame = Reframer(Frame(1, 0, 1, octets, len(octets), None), FLOW4).frame(1, 0, 1, 2, 16, b"x")
    assert frame.octets[34:38] == options
    assert checksum(frame.octets[14:38]) == 0
    destination = b"\x06\0\1\4\0\0\0\0"
    octets = MACS + b"\x86\xdd" + ipv6(destination + tcp(), next_header=60)
    frame = Reframer(Frame(1, 0, 1, octets, len(octets), None), FLOW6).frame(1, 0, 1, 2, 16, b"x")
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
def test_what_stays_of_tcp(options: bytes, kept: bytes) -> None:
    """The window and the timestamps, wherever they are among other options, whole or damaged."""
    header = bytearray(tcp(options=options))
    header[14:16] = b"\x12\x34"
    octets = MACS + b"\x08\x00" + ipv4(bytes(header))
    frame = Reframer(Frame(1, 0, 1, octets, len(octets), None), FLOW4).frame(1, 0, 1, 2, 16, b"x")
    assert frame.octets[48:50] == b"\x12\x34"
    assert frame.octets[54:] == kept + b"x"
    assert segment_of(frame).payload == b"x"


@pytest.mark.parametrize(("size", "field"), [(1, 49), (1452, 1500), (1453, 0x8870)])
def test_length_of_802_3(size: int, field: int) -> None:
    """It is that of the new segment; one that is too long becomes the EtherType of long LLC."""
    packet = ipv4(tcp())
    snap = b"\xaa\xaa\x03\0\0\0\x08\x00"
    octets = MACS + (len(snap) + len(packet)).to_bytes(2, "big") + snap + packet
    reframer = Reframer(Frame(1, 0, 1, octets, len(octets), None), FLOW4)
    frame = reframer.frame(1, 0, 1, 2, 16, bytes(size))
    assert frame.octets[:14] == MACS + field.to_bytes(2, "big")
    assert segment_of(frame).payload == bytes(size)


@pytest.mark.parametrize(("name", "largest"), [("Ethernet", 65495), ("raw IP", 65515)])
def test_largest(name: str, largest: int) -> None:
    """What a datagram can carry, it does."""
    reframer = Reframer(*captured(name))
    assert reframer.largest == largest
    assert segment_of(reframer.frame(1, 0, 1, 2, 16, bytes(largest))).length == largest


def test_cut_payload() -> None:
    """What a snap length has cut off is counted, and not there."""
    frame = Reframer(*captured("VLAN")).frame(1, 0, 1, 2, 16, b"abc", length=1000)
    segment = segment_of(frame)
    assert (segment.payload, segment.length) == (b"abc", 1000)
    assert frame.original_length - len(frame.octets) == 997


@pytest.mark.parametrize("name", ["Ethernet", "raw IP"])
@pytest.mark.parametrize("beyond", [0, 1, 100_000])
def test_cut_payload_of_no_datagram(name: str, beyond: int) -> None:
    """Of a segment before the interface card cut it, IP gives no length, as of the captured one."""
    reframer = Reframer(*captured(name))
    length = reframer.largest + beyond
    segment = segment_of(reframer.frame(1, 0, 1, 2, 16, b"seen", length=length))
    assert (segment.payload, segment.length) == (b"seen", length)
