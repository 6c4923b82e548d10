# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames that are copied: octet for octet, with the same times, in their order.

Those are frames without iWARP, and frames that other tools can read. Rewritten frames keep the
headers of a captured one. All frames that are not of selected connections are left out.
"""

import random
import re
import struct
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from scapy_mpa.capture import Frame
from scapy_mpa.clean import Cleaner, Written
from tests.capture import build
from tests.captures import PCAPS
from tests.clean.cleaning import clean, frames_of, recovered, renumbered
from tests.dialects.test_sctp_associations import words
from tests.recovery.test_other_traffic import exchange
from tests.stream.talk import STREAM, TRUTH, started
from tests.truth import impair, mpastream, pcapfile, sctpstream
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


READABLE = (
    "ulp_nfs4_rdma_crcoff.pcap",
    "ulp_nvme_rdma_crcoff.pcap.gz",
    "trygso_bigfpdu_offloads_on_crcon.pcap.gz",
    "rping_ipv6_mpa2_crcon.pcap",
    "vlan5_mix_crcon.pcap",
    "reject_pdata.pcap",
    "term_readoob.pcap",
    "close_midmsg_clientkill.pcap.gz",
)
"""Captures in which Wireshark finds all FPDUs: each is whole in a segment, or has several segments
to itself."""

A, B, C = (STREAM[first.end : second.end] for first, second in pairwise(TRUTH[:4]))


@pytest.mark.parametrize("name", READABLE)
def test_readable_frames_are_copied(name: str) -> None:
    """All frames are the same, acknowledgements included."""
    frames = frames_of(PCAPS / name)
    cleaned = clean(frames)
    assert cleaned.frames == frames
    assert cleaned.comments == []


SHAPES = {
    "an FPDU in each segment": ((A, B, C), (0, 1, 2), 0),
    "all FPDUs in one segment": ((A + B + C,), (0,), 0),
    "several segments for one FPDU": ((A, B[:8], B[8:100], B[100:], C), (0, 1, 2, 3, 4), 0),
    "several for one FPDU, in disorder": ((A, B[:8], B[8:100], B[100:], C), (0, 2, 1, 3, 4), 3),
    "a segment captured twice": ((A, B[:8], B[8:], C), (0, 1, 2, 1, 3), 0),
    "the first of several is too short": ((A, B[:7], B[7:], C), (0, 1, 2, 3), 2),
    "the next FPDU begins in the first segment": ((A + B[:100], B[100:], C), (0, 1, 2), 2),
    "the FPDU ends in the segment of the next": ((A, B[:100], B[100:] + C), (0, 1, 2), 2),
}
"""The octets of segments, their order of capture, and the number of segments that change."""


@pytest.mark.parametrize("shape", SHAPES)
def test_which_segments_can_be_read(shape: str, tshark: str, tmp_path: Path) -> None:
    """Segments with whole FPDUs only, and segments of one FPDU only.  tshark finds all FPDUs."""
    pieces, order, changed = SHAPES[shape]
    talk = started()
    for piece in pieces:
        talk.say(0, piece)
    before, parts = talk.segments[: -len(pieces)], talk.segments[-len(pieces) :]
    captured = [*before, *(parts[at] for at in order)]
    frames = frames_of(pcapfile.pcap(pcapfile.frames(captured)))
    cleaned = clean(frames)
    octets = [each.octets for each in cleaned.frames]
    assert sum(each.octets not in octets for each in frames) == changed
    assert cleaned.report.replaced == changed + len(order) - len(pieces)
    assert cleaned.shown_fpdus(tshark, tmp_path / "a.pcapng") == 3


@pytest.mark.parametrize(("number", "replaced"), [(64, 0), (65, 1), (300, 1)])
def test_the_most_fpdus_of_a_frame(number: int, replaced: int, tshark: str, tmp_path: Path) -> None:
    """tshark reads 500 headers of a frame, so it finds all FPDUs of a cleaned capture."""
    talk = started()
    octets, _ = mpastream.build_stream([b"\x41\x43" + bytes(16)] * number)
    talk.say(0, octets)
    cleaned = clean(frames_of(pcapfile.pcap(pcapfile.frames(talk.segments))))
    assert cleaned.report.replaced == replaced
    assert cleaned.shown_fpdus(tshark, tmp_path / "a.pcapng") == number


def test_late_acknowledgements_of_one_fpdu_each() -> None:
    """They are copied unchanged, even with 300 FPDUs under way."""
    talk = started()
    octets, truth = mpastream.build_stream([b"\x41\x43" + bytes(16)] * 300)
    begin = talk.next[0]
    talk.say(0, octets, size=truth[0].end)
    for each in truth:
        talk.say(1)
        talk.segments[-1] = talk.segments[-1]._replace(ack=begin + each.end)
    frames = frames_of(pcapfile.pcap(pcapfile.frames(talk.segments)))
    assert clean(frames).frames == frames


def test_segments_of_an_fpdu_wait_for_its_end() -> None:
    """No other frames wait; then all are written in their places."""
    talk = started()
    talk.say(0, A)
    talk.say(0, B[:100])
    talk.say(1)
    talk.say(0, B[100:])
    cleaner, counts = Cleaner(), []
    for frame in frames_of(pcapfile.pcap(pcapfile.frames(talk.segments))):
        counts.append(len(cleaner.receive(frame)))
    assert sum(counts[:5]) == 5 and counts[5:] == [1, 0, 0, 3]


def _kept_fields(octets: bytes) -> Sequence[bytes]:
    """DSCP, identification, time to live, window and timestamps of a frame of Linux."""
    assert octets[12:14] == b"\x08\x00"
    assert octets[54:58] == b"\x01\x01\x08\x0a"
    return octets[15:16], octets[18:20], octets[22:23], octets[48:50], octets[58:66]


def _frames_in_comment(written: Written) -> set[int]:
    """The captured frames that the comment of a frame names; the frame itself if it was copied."""
    if written.comment is None:
        return {written.frame.number}
    runs = re.findall(r"(\d+)(?:-(\d+))?", written.comment.split("of frame")[1])
    return {each for first, last in runs for each in range(int(first), int(last or first) + 1)}


@pytest.mark.parametrize(
    "name", ["netem_reorder25_at_client_A.pcap.gz", "netem_loss15_heavy_crcoff_at_server_B.pcap.gz"]
)
def test_a_rewritten_frame_keeps_fields(name: str) -> None:
    """The frame that completed the FPDU gives the fields; the comment names all frames of it."""
    frames = frames_of(PCAPS / name)
    brought = {(each.direction, each.seq): set(each.frames) for each in recovered(frames)}
    cleaned = clean(frames)
    assert len(cleaned.comments) > 10
    for each in recovered(cleaned.frames):
        named = [_frames_in_comment(cleaned.written[number - 1]) for number in each.frames]
        assert set.union(*named) == brought[each.direction, each.seq]
        octets = cleaned.written[each.frame - 1].frame.octets
        assert _kept_fields(octets) == _kept_fields(frames[max(named[-1]) - 1].octets)
