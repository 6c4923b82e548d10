# SPDX-License-Identifier: GPL-2.0-or-later
"""Reassembly of IP packets from Scapy's fragments (RFC 791 3.2, RFC 8200 4.5)."""

import random
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP, UDP, fragment
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment, fragment6

from scapy_mpa.capture import Decoder, Frame
from scapy_mpa.capture.fragments import FRAGMENT_OF
from scapy_mpa.stream.segment import SECOND, Segment
from tests.capture.build import ethernet, ipv4
from tests.capture.stacks import ALONE, ETHER
from tests.stream.work import peak

PAYLOAD = random.Random(3).randbytes(3000)
SEGMENT = TCP(sport=1, dport=2, seq=3, ack=4, flags="A")


def frames_of(
    version: int, size: int = 600, payload: bytes = PAYLOAD, number: int = 7
) -> list[bytes]:
    """The fragments of a packet with a TCP segment, each in Ethernet."""
    packets = (
        fragment(IP(src="10.0.0.1", dst="10.0.0.2", id=number) / SEGMENT / payload, size)
        if version == 4
        else fragment6(
            IPv6(src="fd00::1", dst="fd00::2") / IPv6ExtHdrFragment(id=number) / SEGMENT / payload,
            size,
        )
    )
    return [bytes(ETHER / each) for each in packets]


def read(
    frames: list[bytes], decoder: Decoder | None = None, *, step: int = 1, first: int = 1
) -> list[Segment]:
    """The segments in frames, which follow each other after ``step`` nanoseconds."""
    decoder = decoder or Decoder()
    found = []
    for number, octets in enumerate(frames, first):
        frame = Frame(number, number * step, 1, octets, len(octets), None)
        segment = decoder.segment(frame)
        if segment is not None:
            found.append(segment)
            assert decoder.whole is not None and decoder.whole.number == number
    return found


both = pytest.mark.parametrize("version", [4, 6])


@both
@given(size=st.integers(100, 1500), order=st.randoms(use_true_random=False))
def test_any_order(version: int, size: int, order: random.Random) -> None:
    """Fragments in any order, with copies, give one segment with the last. No frame stays
    counted."""
    frames = frames_of(version, size)
    order.shuffle(frames)
    decoder = Decoder()
    (segment,) = read(frames, decoder)
    assert (segment.payload, segment.length) == (PAYLOAD, len(PAYLOAD))
    assert segment.frame == len(frames)
    assert not +decoder.not_followed
    decoder = Decoder()
    twice = [each for frame in frames for each in (frame, frame)] + frames
    assert [each.payload for each in read(twice, decoder)] == [PAYLOAD]
    assert not +decoder.not_followed


@both
def test_two_packets_at_once(version: int) -> None:
    """Identification distinguishes them."""
    one, two = frames_of(version), frames_of(version, payload=PAYLOAD[::-1], number=8)
    mixed = [each for pair in zip(one, two, strict=True) for each in pair]
    assert [each.payload for each in read(mixed)] == [PAYLOAD, PAYLOAD[::-1]]


@both
def test_identification_comes_again(version: int) -> None:
    """Neither copies of fragments nor lost ones harm the next packet with an Identification."""
    one, two = frames_of(version), frames_of(version, payload=PAYLOAD[::-1])
    long = frames_of(version, payload=PAYLOAD * 2)
    both = [PAYLOAD, PAYLOAD[::-1]]
    for frames, lost, wanted in (
        ([*one, one[-1], *two, two[-1]], 0, both),
        ([*one, *one, *two, *two], 0, both),
        ([*one, two[-1], *two], 0, both),
        ([*one[:-1], *two], len(one) - 1, both[1:]),
        ([*one, *long[-3:], *long[:-3]], 0, [PAYLOAD, PAYLOAD * 2]),
    ):
        decoder = Decoder()
        assert [each.payload for each in read(frames, decoder)] == wanted
        assert +decoder.not_followed == ({FRAGMENT_OF: lost} if lost else {})


@both
@pytest.mark.parametrize("name", ALONE)
def test_in_tunnels(version: int, name: str) -> None:
    """Fragments inside of tags and tunnels, and tunnels whose packets are in fragments."""
    inner = [ALONE[name](each[14:]) for each in frames_of(version)]
    assert [each.payload for each in read(inner)] == [PAYLOAD]
    whole = ALONE[name](frames_of(version, 60_000)[0][14:])
    if whole[12:14] != b"\x08\x00":
        return
    outer = [bytes(ETHER / each) for each in fragment(IP(whole[14:]), 800)]
    assert len(outer) > 3
    assert [each.payload for each in read(outer)] == [PAYLOAD]


@both
def test_no_packet(version: int) -> None:
    """Fragments that make no whole packet are counted, each of them."""
    long, short = frames_of(version), frames_of(version, payload=PAYLOAD[:600])
    several = {
        **{f"without {at}": long[:at] + long[at + 1 :] for at in range(len(long))},
        # RFC 5722 4.
        "overlapping": [long[0], frames_of(version, 400)[1], *long[1:]],
        # The octets of both would fill the packet.
        "the end of a shorter packet": [long[2], short[-1]],
    }
    for what, frames in several.items():
        decoder = Decoder()
        assert not read(frames, decoder), what
        assert decoder.not_followed == {FRAGMENT_OF: len(frames)}, what


def test_other_packets() -> None:
    """All fragments of a packet that carries something else are counted as such."""
    packet = IP(src="10.0.0.1", dst="10.0.0.2", id=7) / UDP(sport=1, dport=2) / PAYLOAD
    frames = [bytes(ETHER / each) for each in fragment(packet, 600)]
    decoder = Decoder()
    assert not read(frames, decoder)
    assert +decoder.not_followed == {"not TCP": len(frames)}


@both
def test_cut(version: int) -> None:
    """A fragment that the capture cut is counted as such."""
    first, *others = frames_of(version)
    decoder = Decoder()
    assert decoder.segment(Frame(1, 0, 1, first[:-1], len(first), None)) is None
    assert not read(others, decoder)
    assert decoder.not_followed == {"IP fragment cut": 1, FRAGMENT_OF: len(others)}


@both
def test_too_late(version: int) -> None:
    """A decoder waits for fragments no longer than a receiver."""
    frames = frames_of(version)
    assert read(frames, step=10 * SECOND)
    assert not read(frames, step=20 * SECOND)


def flood(count: int) -> list[bytes]:
    """First fragments of packets."""
    first = frames_of(4)[0]
    return [first[:18] + struct.pack(">H", n) + first[20:] for n in range(count)]


def crumbs(size: int, after: int) -> list[bytes]:
    """15,000 fragments with so many octets, and so many of no packet after them."""
    packets = [
        ipv4(bytes(size), fragment=(0x2000 if size else 0) + n % 8000 + 1) for n in range(15_000)
    ]
    return [
        ethernet(each[:4] + struct.pack(">H", n // 8000) + each[6:] + bytes(after))
        for n, each in enumerate(packets)
    ]


FLOODS = {
    "packets": lambda: flood(10_000),
    "small fragments": lambda: crumbs(8, 0),
    "empty fragments": lambda: crumbs(0, 0),
    "octets after the packet": lambda: crumbs(8, 1000),
}


@pytest.mark.parametrize("what", FLOODS)
def test_memory_is_bounded(what: str) -> None:
    """Any number of fragments takes bounded memory. A packet among them may be lost."""
    frames = FLOODS[what]()
    assert peak(lambda: read(frames)) < 6 << 20
