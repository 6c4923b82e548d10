# SPDX-License-Identifier: GPL-2.0-or-later
"""Segments inside tags and tunnels, single and nested in any order, built by independent code."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP

from scapy_mpa.capture import Decoder, Frame
from scapy_mpa.capture.reframe import Reframer
from scapy_mpa.stream.segment import Segment
from tests.capture import build
from tests.capture.reading import check, decoded, segment_of, shown
from tests.capture.stacks import (
    ALONE,
    ETHERNET,
    FRAME_IN_FRAME,
    FRAME_IN_PACKET,
    PACKET_IN_FRAME,
    PACKET_IN_PACKET,
)
from tests.truth import pcapfile

PAYLOAD = bytes(range(100))
PACKETS = (
    # MPLS distinguishes an IPv4 packet from an Ethernet header by its checksum.
    bytes(IP(src="10.0.0.1", dst="10.0.0.2", proto=6) / build.tcp(PAYLOAD)),
    build.ipv6(build.tcp(PAYLOAD)),
)
FLOWS = (build.FLOW4, build.FLOW6)
SEGMENTS = [
    Segment(flow, build.SEQ, build.ACK, build.FLAGS, PAYLOAD, len(PAYLOAD), 1, 0) for flow in FLOWS
]
MOST = 8


@st.composite
def stacks(draw: st.DrawFn) -> tuple[bytes, int]:
    """A frame with up to eight tags and tunnels, and the index of its packet."""
    which = draw(st.integers(0, 1))
    octets, is_frame = PACKETS[which], False
    for _ in range(draw(st.integers(0, MOST))):
        tables = (
            (FRAME_IN_FRAME, FRAME_IN_PACKET) if is_frame else (PACKET_IN_FRAME, PACKET_IN_PACKET)
        )
        table = draw(st.sampled_from(tables))
        octets = table[draw(st.sampled_from(sorted(table)))](octets)
        is_frame = table in (FRAME_IN_FRAME, PACKET_IN_FRAME)
    return octets if is_frame else ETHERNET(octets), which


def frame_of(octets: bytes, length: int | None = None) -> Frame:
    """A frame with number 1 at 0 ns."""
    return Frame(1, 0, 1, octets, len(octets) if length is None else length, None)


@pytest.mark.parametrize("name", ALONE)
def test_alone(name: str) -> None:
    """Tags and tunnels are passed over. A frame that is cut gives a cut segment, or a reason.

    It makes no difference whether a snap length or the sender cut it.
    """
    for which, packet in enumerate(PACKETS):
        octets = ALONE[name](packet)
        for at in range(len(octets)):
            cut(octets, which, at)


@given(st.lists(stacks(), min_size=1, max_size=4))
def test_stacked(frames: list[tuple[bytes, int]]) -> None:
    """Tags and tunnels in any order."""
    decoder = Decoder()
    for octets, which in frames:
        assert decoder.segment(frame_of(octets)) == SEGMENTS[which]
    assert not decoder.not_followed


def cut(octets: bytes, which: int, at: int) -> None:
    """Read a frame, and then a part of it. The result is that of reading header by header."""
    assert decoded(frame_of(octets)) == (SEGMENTS[which], {})
    for length in (len(octets), at):
        segment = check(frame_of(octets[:at], length))
        if segment is not None:
            assert PAYLOAD.startswith(segment.payload)
            assert segment.length == len(PAYLOAD)


@given(stacks(), st.data())
def test_changed(stack: tuple[bytes, int], data: st.DataObject) -> None:
    """With any octets changed, the frame has another segment, or is damaged."""
    octets = bytearray(stack[0])
    for at in data.draw(st.lists(st.integers(0, len(octets) - 1), max_size=3)):
        octets[at] = data.draw(st.integers(0, 255))
    frame = frame_of(bytes(octets))
    if check(frame) is None:
        # A fragment alone gives no segment either.
        assert decoded(frame)[0] is None


@given(stacks(), st.binary(max_size=200))
def test_other_segments(stack: tuple[bytes, int], payload: bytes) -> None:
    """Frames with the same headers and other segments are read again, in both directions."""
    octets, which = stack
    reframer = Reframer(frame_of(octets), FLOWS[which])
    for each in (reframer, reframer.reversed()):
        segment = segment_of(each.frame(2, 3, 4, 5, 16, payload))
        assert segment[1:8] == (4, 5, 16, payload, len(payload), 2, 3)


NOT_IN_TSHARK = frozenset(
    # tshark dissects these only with other settings.
    {"TPID 9200", "TPID 9300", "VXLAN on 8472"} | {name for name in ALONE if "pseudowire" in name}
)


def test_same_as_tshark(tmp_path: Path, tshark: str) -> None:
    """Wireshark finds the same segments, so the frames of this file are right."""
    names = [name for name in ALONE if name not in NOT_IN_TSHARK]
    frames = [ALONE[name](packet) for name in names for packet in PACKETS]
    path = tmp_path / "stacks.pcap"
    path.write_bytes(pcapfile.pcap(frames))
    lines = shown(tshark, path, "tcp.seq_raw", "tcp.len")
    expected = f"{build.SEQ}\t{len(PAYLOAD)}"
    assert not [name for at, name in enumerate(names) if lines[2 * at :][:2] != [expected] * 2]
