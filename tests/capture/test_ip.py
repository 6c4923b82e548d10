# SPDX-License-Identifier: GPL-2.0-or-later
"""IPv4 and IPv6, and TCP above them.

Lengths, options, extension headers, fragments, and other protocols than TCP.  Packets are put
together from fragments of Scapy (RFC 791 3.2, RFC 8200 4.5).
"""

import random
import struct
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers import inet
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment, fragment6

from scapy_mpa.capture import Decoder, Frame
from scapy_mpa.capture.fragments import FRAGMENT_OF
from scapy_mpa.stream.segment import SECOND, Segment
from tests.capture import build
from tests.capture.build import ethernet, ipv4, ipv6, tcp
from tests.capture.reading import decoded
from tests.capture.stacks import ALONE, ETHER
from tests.stream.work import peak

RAW = 101
PAYLOAD = b"payload"
SEGMENT4 = Segment(build.FLOW4, build.SEQ, build.ACK, build.FLAGS, PAYLOAD, len(PAYLOAD), 1, 0)
SEGMENT6 = SEGMENT4._replace(flow=build.FLOW6)

HOP_BY_HOP, ROUTING, FRAGMENT, ESP, AH, NONE, DESTINATION = 0, 43, 44, 50, 51, 59, 60
TCP, UDP, ICMP, ICMP6 = 6, 17, 1, 58


def decode(
    octets: bytes, original: int | None = None, link_type: int = RAW
) -> Segment | dict[str, int]:
    """The segment of a packet, or the reason why there is none."""
    length = len(octets) if original is None else original
    segment, reasons = decoded(Frame(1, 0, link_type, octets, length, None))
    assert (segment is None) == bool(reasons)
    return reasons if segment is None else segment


def extension(kind: int, following: int, units: int = 0, fragment: int = 0) -> bytes:
    """An extension header (RFC 8200 4, RFC 4302 2), ``units`` longer than the shortest."""
    if kind == FRAGMENT:
        return struct.pack(">BBHI", following, 0xEE, fragment, 0xDEADBEEF)
    if kind == AH:
        return struct.pack(">BB", following, 1 + units) + bytes(10) + b"\xaa" * 4 * units
    return struct.pack(">BB", following, units) + b"\x01\x04" + bytes(4 + 8 * units)


def chain(kinds: list[tuple[int, int]], last: int = TCP) -> tuple[int, bytes]:
    """The first next header, and extension headers (kind, units) in this order."""
    following = [*[kind for kind, _ in kinds], last][1:]
    octets = b"".join(
        extension(kind, after, units) for (kind, units), after in zip(kinds, following, strict=True)
    )
    return (kinds[0][0] if kinds else last), octets


VERSIONS = {
    # The function that builds a packet, its length field, the segment, and the octets of headers.
    "IPv4": (ipv4, "total", SEGMENT4, 40),
    "IPv6": (ipv6, "length", SEGMENT6, 60),
}


@pytest.mark.parametrize("version", VERSIONS)
class TestBoth:
    """RFC 791 and RFC 8200."""

    @pytest.mark.parametrize("octets", [7, 1460, 65475, 65476, 65515, 65516, 200_000])
    def test_zero_length(self, version: str, octets: int) -> None:
        """In a super-segment captured before its length was known, the frame's length counts,
        whatever the snap length."""
        build_packet, length, segment, headers = VERSIONS[version]
        packet = build_packet(tcp(bytes(octets)), **{length: 0})
        expected = segment._replace(payload=bytes(octets), length=octets)
        assert decode(packet) == expected
        cut = decode(packet[: headers + 6], len(packet))
        assert cut == expected._replace(payload=bytes(6))

    @pytest.mark.parametrize("claimed", [(1 << 20) + 1, 1 << 24, (1 << 32) - 1])
    def test_zero_length_of_no_packet(self, version: str, claimed: int) -> None:
        """A frame that claims more than any packet has is damaged, and takes no memory."""
        build_packet, length, segment, headers = VERSIONS[version]
        packet = build_packet(tcp(), **{length: 0})
        assert decode(packet, 1 << 20) == segment._replace(length=(1 << 20) - headers)
        assert decode(packet, claimed) == {f"{version} header damaged": 1}


V4_DAMAGED, V6_DAMAGED = "IPv4 header damaged", "IPv6 header damaged"
OTHER, HIDDEN = "not TCP", "encrypted (ESP)"
FRAGMENTED = "fragment of an IP packet that is not whole"

EVEN = tcp(bytes(12))
"""Its length is a multiple of 8, as fragments other than the last need."""

NOT_FOLLOWED_4 = [
    # Neither a first fragment nor a later one; other protocols are not TCP.
    *((ipv4(EVEN, fragment=at), FRAGMENTED) for at in (0x2000, 0x0001, 0x1FF0, 0x2010, 0x6000)),
    (ipv4(EVEN, protocol=UDP, fragment=0x2000), FRAGMENTED),
    # A fragment that does not end at a multiple of 8 octets, and one that ends after the largest
    # packet.
    *((ipv4(tcp(), fragment=at), "IP fragment damaged") for at in (0x2000, 0x1FFF)),
    *((ipv4(tcp(), protocol=protocol), OTHER) for protocol in (UDP, ICMP, 42)),
    (ipv4(tcp(), protocol=ESP), HIDDEN),
    # In IPv4 these numbers are no headers before TCP.
    *(
        (ipv4(extension(protocol, TCP) + tcp(), protocol=protocol), OTHER)
        for protocol in (HOP_BY_HOP, ROUTING, FRAGMENT, DESTINATION, NONE)
    ),
    # A TCP header quoted by an ICMP error is no segment.
    (ipv4(b"\3\1\0\0\0\0\0\0" + ipv4(tcp(b"")), protocol=ICMP), OTHER),
    # Impossible headers and lengths.
    (ipv4(tcp(), version=5), V4_DAMAGED),
    *((ipv4(tcp(), words=words), V4_DAMAGED) for words in (4, 0, 15)),
    *((ipv4(tcp(), total=total), V4_DAMAGED) for total in (19, 1)),
    (ipv4(tcp(), options=bytes(8), total=27), V4_DAMAGED),
    (ipv4(extension(AH, TCP, 200)[:12] + tcp(), protocol=AH), "authentication header damaged"),
]
NOT_FOLLOWED_6 = [
    *(
        (ipv6(extension(FRAGMENT, kind, fragment=at) + EVEN, next_header=FRAGMENT), reason)
        for at in (0x0001, 0x0008, 0xFF00, 0x0009)
        for kind, reason in ((TCP, FRAGMENTED), (DESTINATION, FRAGMENTED), (NONE, FRAGMENTED))
    ),
    # At once, or after an extension header.
    *(
        (ipv6(octets + tcp(), next_header=first), reason)
        for last, reason in (*((kind, OTHER) for kind in (UDP, ICMP6, NONE, 42)), (ESP, HIDDEN))
        for first, octets in (chain([], last), chain([(HOP_BY_HOP, 0)], last))
    ),
    (ipv6(b"\1\4\0\0\0\0\0\0" + ipv6(tcp(b"")), next_header=ICMP6), OTHER),
    *((ipv6(tcp(), version=version), V6_DAMAGED) for version in (4, 7)),
    (
        ipv6(extension(HOP_BY_HOP, TCP, 200)[:8] + tcp(), next_header=HOP_BY_HOP),
        "extension header damaged",
    ),
    (ipv6(extension(AH, TCP, 200)[:12] + tcp(), next_header=AH), "authentication header damaged"),
    (ipv6(bytes(7), next_header=FRAGMENT), "fragment header damaged"),
]


NOT_FOLLOWED = [
    *((*each, 228, 0x0800) for each in NOT_FOLLOWED_4),
    *((*each, 229, 0x86DD) for each in NOT_FOLLOWED_6),
]


@pytest.mark.parametrize(("packet", "reason", "raw", "ether_type"), NOT_FOLLOWED)
def test_not_followed(packet: bytes, reason: str, raw: int, ether_type: int) -> None:
    """A packet without a whole TCP segment is counted with its reason, over any link."""
    assert decode(packet, link_type=raw) == {reason: 1}
    assert decode(ethernet(packet, ether_type), link_type=1) == {reason: 1}


def test_ipv4_options_cut() -> None:
    """Only after its options is the header whole."""
    packet = ipv4(tcp(), options=bytes(40))
    for captured in range(60):
        assert decode(packet[:captured], len(packet), 228) == {"IPv4 header cut": 1}
    assert decode(packet[:60], len(packet), 228) == {"TCP header cut": 1}


@pytest.mark.parametrize("fragment", [0x0000, 0x4000, 0x8000], ids=hex)
def test_ipv4_not_a_fragment(fragment: int) -> None:
    """Don't Fragment and the reserved bit do not make a fragment."""
    assert decode(ipv4(tcp(), fragment=fragment)) == SEGMENT4


@pytest.mark.parametrize("units", [0, 3, 10])
def test_authentication_header(units: int) -> None:
    """AH does not hide what follows it (RFC 4302)."""
    assert decode(ipv4(extension(AH, TCP, units) + tcp(), protocol=AH)) == SEGMENT4


def test_jumbogram() -> None:
    """The jumbo payload option of RFC 2675 has the same effect. Linux's BIG TCP uses it."""
    payload = bytes(100_000)
    segment = tcp(payload)
    jumbo = struct.pack(">BBBBI", TCP, 0, 0xC2, 4, 8 + len(segment))
    packet = ipv6(jumbo + segment, next_header=HOP_BY_HOP, length=0)
    assert decode(packet) == SEGMENT6._replace(payload=payload, length=len(payload))


@given(
    kinds=st.lists(
        st.tuples(
            st.sampled_from([HOP_BY_HOP, ROUTING, FRAGMENT, AH, DESTINATION, 135, 139, 140]),
            st.integers(0, 9),
        ),
        max_size=8,
    )
)
def test_extension_headers(kinds: list[tuple[int, int]]) -> None:
    """Extension headers in any order, each in its own units. Atomic fragments are whole
    packets."""
    first, headers = chain(kinds)
    packet = ipv6(headers + tcp(), next_header=first)
    assert decode(packet) == SEGMENT6
    decoder = Decoder()
    for captured in range(40, 40 + len(headers)):
        frame = Frame(1, 0, RAW, packet[:captured], len(packet), None)
        assert decoder.segment(frame) is None
    assert decoder.not_followed.total() == len(headers)
    assert all(reason.endswith("header cut") for reason in decoder.not_followed)


ROUTES: dict[str, Any] = {
    "fast": (1, ethernet, 0x0800, ipv4),
    "tagged": (1, partial(ethernet, tags=[0x8100]), 0x0800, ipv4),
    "plain": (101, lambda packet, _: packet, 0x0800, ipv4),
    "IPv6": (1, ethernet, 0x86DD, ipv6),
}
EMPTY = SEGMENT4._replace(payload=b"", length=0)
HEADERS: dict[str, tuple[bytes, int, Any]] = {
    # A segment, the number of its octets that were not captured, and the result.
    **{f"{words} words": (tcp(options=b"\x01" * 4 * words), 0, SEGMENT4) for words in range(11)},
    "no payload": (tcp(b""), 0, EMPTY),
    **{f"offset {at}": (tcp(data_offset=at), 0, "TCP header damaged") for at in (0, 1, 4, 7, 15)},
    **{f"{n} octets": (tcp()[:n] + bytes(60), 0, "TCP header damaged") for n in range(1, 20)},
    # The snap length cut a part of the header, options included.
    **{f"{n} cut": (tcp(options=b"\x01" * 12), n, "TCP header cut") for n in range(8, 40)},
    "payload cut": (tcp(options=b"\x01" * 12), 7, SEGMENT4._replace(payload=b"")),
}


@pytest.mark.parametrize("route", ROUTES)
def test_tcp(route: str) -> None:
    """RFC 9293 3.1, on each route. Padding after the packet changes nothing."""
    link_type, link, ether_type, ip = ROUTES[route]
    for name, (segment, cut, expected) in HEADERS.items():
        tcp_octets = segment[: int(name.split()[0])] if name.endswith(" octets") else segment
        octets = link(ip(tcp_octets), ether_type)
        wanted = {expected: 1} if isinstance(expected, str) else expected
        for padding in (b"",) if cut else (b"", bytes(60)):
            whole = octets + padding
            found = decode(whole[: len(whole) - cut], len(whole), link_type)
            if isinstance(found, Segment):
                found = found._replace(flow=build.FLOW4)
            assert found == wanted, name


MUCH = random.Random(3).randbytes(3000)
SEGMENT = inet.TCP(sport=1, dport=2, seq=3, ack=4, flags="A")


def frames_of(version: int, size: int = 600, payload: bytes = MUCH, number: int = 7) -> list[bytes]:
    """The fragments of a packet with a TCP segment, each in Ethernet."""
    packets = (
        inet.fragment(inet.IP(src="10.0.0.1", dst="10.0.0.2", id=number) / SEGMENT / payload, size)
        if version == 4
        else fragment6(
            IPv6(src="fd00::1", dst="fd00::2") / IPv6ExtHdrFragment(id=number) / SEGMENT / payload,
            size,
        )
    )
    return [bytes(ETHER / each) for each in packets]


def read(
    frames: list[bytes], *, step: int = 1, lacks: int = 0
) -> tuple[list[bytes], dict[str, int]]:
    """The payloads of segments in frames, and how many frames were not followed, by reason.

    :param frames: no octets stand for a pause.
    :param step: nanoseconds from one frame to the next.
    :param lacks: octets that the capture cut off the first frame.
    """
    decoder, payloads = Decoder(), []
    for number, octets in enumerate(frames, 1):
        if not octets:
            continue
        captured = octets[: len(octets) - lacks * (number == 1)]
        segment = decoder.segment(Frame(number, number * step, 1, captured, len(octets), None))
        if segment is not None:
            payloads.append(segment.payload)
            assert (segment.frame, segment.length) == (number, len(segment.payload))
            assert decoder.whole is not None and decoder.whole.number == number
    return payloads, dict(+decoder.not_followed)


both = pytest.mark.parametrize("version", [4, 6])


@both
@given(size=st.integers(100, 1500), order=st.randoms(use_true_random=False))
def test_any_order(version: int, size: int, order: random.Random) -> None:
    """Fragments in any order, with copies, give one segment with the last. No frame stays
    counted."""
    frames = frames_of(version, size)
    order.shuffle(frames)
    assert read(frames) == ([MUCH], {})
    twice = [each for frame in frames for each in (frame, frame)] + frames
    assert read(twice) == ([MUCH], {})


@both
def test_two_packets_at_once(version: int) -> None:
    """Identification distinguishes them."""
    one, two = frames_of(version), frames_of(version, payload=MUCH[::-1], number=8)
    mixed = [each for pair in zip(one, two, strict=True) for each in pair]
    assert read(mixed) == ([MUCH, MUCH[::-1]], {})


@both
def test_identification_comes_again(version: int) -> None:
    """Neither copies of fragments nor lost ones harm the next packet with an Identification."""
    one, two = frames_of(version), frames_of(version, payload=MUCH[::-1])
    long = frames_of(version, payload=MUCH * 2)
    both = [MUCH, MUCH[::-1]]
    late = b"x" + MUCH[1:]
    like = frames_of(version, payload=late)
    assert like[1:] == one[1:]
    for frames, lost, wanted in (
        ([*one, one[-1], b"", *two, two[-1]], 0, both),
        ([*one, *like[::-1]], 0, [MUCH, late]),
        ([*one, one[1], *like[::-1]], 0, [MUCH, late]),
        ([*one, *one, *two, *two], 0, both),
        ([*one, two[-1], *two], 0, both),
        ([*one[:-1], *two], len(one) - 1, both[1:]),
        ([*one, *long[-3:], *long[:-3]], 0, [MUCH, MUCH * 2]),
    ):
        assert read(frames) == (wanted, {FRAGMENT_OF: lost} if lost else {})


@both
@pytest.mark.parametrize("name", ALONE)
def test_in_tunnels(version: int, name: str) -> None:
    """Fragments inside of tags and tunnels, and tunnels whose packets are in fragments."""
    inner = [ALONE[name](each[14:]) for each in frames_of(version)]
    assert read(inner) == ([MUCH], {})
    whole = ALONE[name](frames_of(version, 60_000)[0][14:])
    if whole[12:14] != b"\x08\x00":
        return
    outer = [bytes(ETHER / each) for each in inet.fragment(inet.IP(whole[14:]), 800)]
    assert len(outer) > 3
    assert read(outer) == ([MUCH], {})


@both
def test_no_packet(version: int) -> None:
    """Fragments that make no whole packet are counted, each of them."""
    long, short = frames_of(version), frames_of(version, payload=MUCH[:600])
    several = {
        **{f"without {at}": long[:at] + long[at + 1 :] for at in range(len(long))},
        # RFC 5722 4.
        "overlapping": [long[0], frames_of(version, 400)[1], *long[1:]],
        # The octets of both would fill the packet.
        "the end of a shorter packet": [long[2], short[-1]],
    }
    for what, frames in several.items():
        assert read(frames) == ([], {FRAGMENT_OF: len(frames)}), what


def test_other_packets() -> None:
    """All fragments of a packet that carries something else are counted as such."""
    packet = inet.IP(src="10.0.0.1", dst="10.0.0.2", id=7) / inet.UDP(sport=1, dport=2) / MUCH
    frames = [bytes(ETHER / each) for each in inet.fragment(packet, 600)]
    assert read(frames) == ([], {"not TCP": len(frames)})


@both
def test_cut(version: int) -> None:
    """A fragment that the capture cut is counted as such."""
    frames = frames_of(version)
    assert read(frames, lacks=1) == ([], {"IP fragment cut": 1, FRAGMENT_OF: len(frames) - 1})


def test_whole_packets_make_room() -> None:
    """They are dropped before a packet that waits for a fragment."""
    *early, last = frames_of(4)
    others = [each for number in range(100, 400) for each in frames_of(4, number=number)]
    assert read([*early, *others, last]) == ([MUCH] * 301, {})


@both
def test_too_late(version: int) -> None:
    """A decoder waits for fragments no longer than a receiver."""
    frames = frames_of(version)
    assert read(frames, step=10 * SECOND)[0]
    assert not read(frames, step=20 * SECOND)[0]


def flood(count: int) -> list[bytes]:
    """First fragments of packets."""
    first = frames_of(4)[0]
    return [first[:18] + struct.pack(">H", n) + first[20:] for n in range(count)]


def crumbs(count: int, size: int, after: int) -> list[bytes]:
    """Fragments with ``size`` octets, and ``after`` octets of no packet after them."""
    packets = [
        ipv4(bytes(size), fragment=(0x2000 if size else 0) + n % 8000 + 1) for n in range(count)
    ]
    return [
        ethernet(each[:4] + struct.pack(">H", n // 8000) + each[6:] + bytes(after))
        for n, each in enumerate(packets)
    ]


FLOODS = {
    "packets": lambda: flood(10_000),
    "small fragments": lambda: crumbs(45_000, 8, 0),
    "empty fragments": lambda: crumbs(15_000, 0, 0),
    "octets after the packet": lambda: crumbs(15_000, 8, 1000),
}


@pytest.mark.parametrize("what", FLOODS)
def test_memory_is_bounded(what: str) -> None:
    """Any number of fragments takes bounded memory. A packet among them may be lost."""
    frames = FLOODS[what]()
    assert peak(lambda: read(frames)) < 4 << 20
