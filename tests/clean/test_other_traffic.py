# SPDX-License-Identifier: GPL-2.0-or-later
"""Traffic without iWARP is copied frame by frame, octet for octet, in its order.

All frames that are not of selected connections are left out.
"""

import random
import struct
from collections.abc import Callable, Sequence

import pytest

from scapy_mpa.capture import Frame
from tests.capture import build
from tests.captures import PCAPS
from tests.clean.cleaning import clean, frames_of, renumbered
from tests.dialects.test_sctp_associations import words
from tests.recovery.test_other_traffic import exchange
from tests.truth import impair, pcapfile, sctpstream
from tests.truth.impair import ACK, RST, Segment, Sending
from tests.truth.othertraffic import TRAFFIC

SIZE = 20_000
"""The most octets of each side."""

KINDS = [kind for kind in TRAFFIC if kind != "a capture of iWARP"]

Impair = Callable[[bytes, Sequence[Sending], random.Random], list[Sending]]


def mixed(octets: bytes, sendings: Sequence[Sending], rng: random.Random) -> list[Sending]:
    """Lost before and after the point of capture, overtaken, copied, split otherwise, probed."""
    for seen in (False, True):
        sendings = impair.lose_and_retransmit(sendings, rng, 0.1, seen=seen)
    sendings = impair.duplicate(impair.reorder(sendings, rng, 0.1), rng, 0.1)
    sendings = impair.overlap(sendings, octets, rng, 0.1)
    return impair.keepalive(sendings, rng, 0.05)


IMPAIRED: dict[str, Impair] = {
    "in order": lambda octets, sendings, rng: list(sendings),
    "lost, overtaken, copied": mixed,
    "with holes": lambda octets, sendings, rng: impair.miss(mixed(octets, sendings, rng), rng, 0.1),
}


def connection(kind: str, how: str, rng: random.Random, close: str | None) -> list[Segment]:
    """A connection in segments of random sizes."""
    one, other = (impair.Half(b"", each[:SIZE], [], rng.getrandbits(32)) for each in exchange(kind))
    sendings = [
        IMPAIRED[how](half.octets, impair.cut_random(half.octets, rng, 20, 3000), rng)
        for half in (one, other)
    ]
    return impair.conversation((one, other), (sendings[0], sendings[1]), rng, close=close)


def check(capture: bytes) -> None:
    """Both captures have the same frames: octets, times, lengths and order."""
    frames = frames_of(capture)
    cleaned = clean(frames)
    assert cleaned.report.fpdus == 0
    copied = f"{len(frames)} frames copied unchanged"
    assert list(cleaned.report.lines()) == [f"no MPA found, {copied}"]
    assert [each.comment for each in cleaned.written] == [None] * len(frames)
    assert [each.frame for each in cleaned.written] == frames


@pytest.mark.parametrize("how", IMPAIRED)
@pytest.mark.parametrize("kind", KINDS)
def test_connections(kind: str, how: str) -> None:
    """Connections from the SYN or from the middle, that end with FINs, a RST or neither.

    All use the same ports, over IPv4 or IPv6.  A snap length cuts frames the second time.
    """
    rng = random.Random(f"{kind} {how}")
    first, second, third = (connection(kind, how, rng, each) for each in ("fin", "rst", None))
    astray = Segment(0, rng.getrandbits(32), rng.getrandbits(32), RST | ACK, b"")
    third.insert(rng.randrange(len(third)), astray)
    again = first[len(first) // 3 :] + second + third + second[-3:]
    hosts = rng.choice((("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")))
    octets = pcapfile.frames(again, hosts=hosts, vlan=rng.choice((None, 5)))
    check(pcapfile.pcap(octets, step=rng.choice((1000, 10**8)), snaplen=262144))
    check(pcapfile.pcap(octets[: len(octets) // 2], snaplen=200))


def test_traffic_without_tcp() -> None:
    """UDP, fragments, SCTP without DDP, ARP, extension headers, and frames cut anywhere."""
    rng = random.Random(5)
    udp = struct.pack(">HHHH", 5000, 53, 308, 0) + rng.randbytes(300)
    hello = sctpstream.data(7, 46, b"hello")
    sctp = [
        sctpstream.packet(0, sctpstream.init(0, 7, adaptation=None), tag=0),
        sctpstream.packet(1, sctpstream.init(1, 9, adaptation=None)),
        *(sctpstream.packet(side, hello) for side in (0, 1, 0)),
    ]
    octets = [
        build.ethernet(build.ipv4(udp, protocol=17)),
        build.ethernet(build.ipv4(build.tcp(rng.randbytes(600))[:512], fragment=0x2000)),
        build.ethernet(build.ipv4(rng.randbytes(108), fragment=64)),
        build.ethernet(build.ipv6(udp, next_header=17), 0x86DD),
        build.ethernet(build.ipv6(b"\x06\0\0\x01\0\0\0\x01" + rng.randbytes(80), next_header=44)),
        *(sctpstream.frame(side, each) for side, each in enumerate(sctp[:2])),
        *(sctpstream.frame(0, each) for each in sctp[2:]),
        build.ethernet(bytes(28), 0x0806),
        build.ethernet(build.ipv4(build.tcp())),
    ]
    octets += [each[: rng.randrange(len(each))] for each in octets]
    rng.shuffle(octets)
    check(pcapfile.pcap(octets))


OVER_TCP = frames_of(PCAPS / "rping_mpa2_crcon.pcap")
OVER_SCTP = frames_of(PCAPS / "crafted" / "sctp_enhanced.pcap")
NO_DDP = frames_of(pcapfile.pcap(words(16, b"no DDP", b"no DDP")))


@pytest.mark.parametrize(
    ("over_sctp", "dialect"), [(OVER_SCTP, None), (OVER_SCTP, "rfc5043"), (NO_DDP, "rfc5043")]
)
def test_numbers_are_those_of_a_listing(over_sctp: list[Frame], dialect: str | None) -> None:
    """Connections over SCTP have numbers, too, but are left out."""
    frames = renumbered([*over_sctp, *OVER_TCP])
    cleaned = clean(frames, dialect=dialect, selects=lambda identity: identity.number == 1)
    assert cleaned.frames == clean(OVER_TCP).frames
    assert f"{len(over_sctp)} frames left out: not selected" in cleaned.report.lines()
    cleaned = clean(frames, dialect=dialect, selects=lambda identity: identity.number == 0)
    assert cleaned.frames == []
    assert "no MPA found in selected frames, 0 frames copied unchanged" in cleaned.report.lines()
