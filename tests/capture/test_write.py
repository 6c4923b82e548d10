# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames that are built and written follow the standards. Our reader and tshark read them.

Some are other segments after the headers of a captured frame.
"""

import io
from collections.abc import Callable, Iterable
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.utils import checksum as scapy_checksum

from scapy_mpa.capture import Frame
from scapy_mpa.capture.build_frame import FrameBuilder
from scapy_mpa.capture.headers import checksum
from scapy_mpa.capture.reframe import Reframer
from scapy_mpa.capture.write import PcapWriter, write_frames
from scapy_mpa.capture.write_pcapng import PcapngWriter
from scapy_mpa.wire.errors import LocalProtocolError
from tests.capture.build import FLOW4, FLOW6, SOURCE4, SOURCE6, TARGET4, TARGET6, ipv4, ipv6, tcp
from tests.capture.reading import frames_of, segment_of, shown

ADDRESSES = bytes(range(12))
MACS = ADDRESSES[:6], ADDRESSES[6:]
PORTS = 40000, 4000
BUILDERS = {
    (addresses, vlan): FrameBuilder(MACS, addresses, PORTS, vlan)
    for addresses in ((SOURCE4, TARGET4), (SOURCE6, TARGET6))
    for vlan in (None, 7)
}
FRAMES = st.lists(
    st.builds(
        lambda time, link, octets, cut, name: Frame(0, time, link, octets, len(octets) + cut, name),
        st.integers(0, (1 << 32) * 10**9 - 1),
        st.sampled_from((1, 101)),
        st.binary(max_size=80),
        st.integers(0, 9),
        st.sampled_from((None, "eth0", "lo")),
    ),
    max_size=8,
).map(lambda frames: [each._replace(number=n) for n, each in enumerate(frames, 1)])


@given(st.binary(max_size=100))
def test_checksum(octets: bytes) -> None:
    """The checksum is Scapy's (RFC 1071 1), except that zero may be written in two ways."""
    assert checksum(octets) == scapy_checksum(octets) % 0xFFFF
    assert 0 <= checksum(octets) < 0xFFFF


BUILDER4, BUILDER6 = (BUILDERS[each, None] for each in ((SOURCE4, TARGET4), (SOURCE6, TARGET6)))
UNFIT: list[Callable[[], object]] = [
    # A segment longer than a datagram, and too many options, or no whole words of them.
    lambda: BUILDER4.build(0, 0, 0, bytes(65496)),
    lambda: BUILDER6.build(0, 0, 0, bytes(65516)),
    lambda: BUILDER4.build(0, 0, 0, b"", options=b"123"),
    lambda: BUILDER4.build(0, 0, 0, b"", options=bytes(44)),
    # Numbers of a TCP header.
    lambda: BUILDER4.build(1 << 32, 0, 0, b""),
    lambda: BUILDER4.build(-1, 0, 0, b""),
    lambda: BUILDER4.build(0, 1 << 32, 0, b""),
    lambda: BUILDER4.build(0, 0, 256, b""),
    # Addresses.
    lambda: FrameBuilder(MACS, (SOURCE4, TARGET6), PORTS, None),
]


@pytest.mark.parametrize("build", UNFIT)
def test_values_that_do_not_fit(build: Callable[[], object]) -> None:
    """They are refused, not cut to fit a field of the header."""
    with pytest.raises(LocalProtocolError):
        build()
    assert BUILDER4.build(0, 0, 0, bytes(65495)) and BUILDER6.build(0, 0, 0, bytes(65515))


def pcapng(frames: Iterable[Frame], comment: str | None = None) -> bytes:
    """A file of frames, with a comment for itself and for each frame."""
    file = io.BytesIO()
    writer = PcapngWriter(file, comment=comment, application="test")
    for frame in frames:
        writer.write(frame, comment)
    return file.getvalue()


@given(FRAMES, st.text(max_size=20))
def test_pcapng_is_read_back(frames: list[Frame], comment: str) -> None:
    """Times, link types, interfaces and lengths are read as they were written."""
    assert frames_of(pcapng(frames, comment)) == frames


@given(FRAMES)
def test_pcap_is_read_back(frames: list[Frame]) -> None:
    """Frames of one link type are read as they were written, except what pcap cannot hold."""
    file = io.BytesIO()
    writer = PcapWriter(file, 1)
    wanted = [each._replace(link_type=1, interface=None) for each in frames]
    for each in wanted:
        writer.write(each)
    assert frames_of(file.getvalue()) == [
        each._replace(time_ns=each.time_ns // 1000 * 1000) for each in wanted
    ]


def test_limits_of_pcapng() -> None:
    """It cannot have a comment longer than an option, times of other centuries, or interfaces
    without end."""
    writer = PcapngWriter(io.BytesIO())
    with pytest.raises(LocalProtocolError, match="70000"):
        writer.write(Frame(1, 0, 1, b"", 0, None), "x" * 70000)
    for time in (-1, 1 << 64):
        with pytest.raises(LocalProtocolError, match="1970 to 2554"):
            writer.write(Frame(1, time, 1, b"", 0, None))
    with pytest.raises(LocalProtocolError, match="65536 interfaces"):
        for number in range((1 << 16) + 1):
            writer.write(Frame(1, 0, 1, b"", 0, str(number)))


def test_format_by_name(tmp_path: Path) -> None:
    """The name of a file gives its format. pcap has no comments. Files without frames are
    written, too."""
    frame = Frame(1, 5000, 1, b"octets", 6, None)
    for name, magic in (("a.pcapng", "0a0d0d0a"), ("a.pcap", "d4c3b2a1"), ("a", "d4c3b2a1")):
        for frames in ([], [frame]):
            write_frames(tmp_path / name, frames)
            octets = (tmp_path / name).read_bytes()
            assert octets[:4].hex() == magic
            assert frames_of(octets) == frames
    with pytest.raises(LocalProtocolError, match="pcapng"):
        write_frames(tmp_path / "a.pcap", [frame], comments={1: "no place"})
    with pytest.raises(LocalProtocolError, match="there is no frame 2 to comment on"):
        write_frames(tmp_path / "b.pcapng", [frame], comments={1: "there", 2: "not there"})
    assert not (tmp_path / "b.pcapng").exists()


def test_tshark_reads_comments_and_checksums(tmp_path: Path, tshark: str) -> None:
    """Wireshark shows the comments, right checksums, and the times."""
    path = tmp_path / "a.pcapng"
    times = (0, 1, 10**18 + 1, 18 * 10**18)
    built = [builder.build(1, 2, 24, b"payload") for builder in BUILDERS.values()]
    frames = [
        Frame(number, time, 1, octets, len(octets), None)
        for number, (time, octets) in enumerate(zip(times, built, strict=True), 1)
    ]
    write_frames(path, frames, comments={2: "the second"}, comment="of all")
    fields = ("tcp.checksum.status", "frame.comment", "frame.time_epoch")
    checked = shown(tshark, path, *fields, options=("-o", "tcp.check_checksum:TRUE"))
    lines = [line.split("\t") for line in checked]
    assert [line[0] for line in lines] == ["1"] * 4
    assert [line[1] for line in lines] == ["", "the second", "", ""]
    assert [Decimal(line[2]) * 10**9 for line in lines] == list(times)


def reframer(octets: bytes, flow: bytes = FLOW4, link_type: int = 1) -> Reframer:
    """The reframer of a frame."""
    return Reframer(Frame(1, 0, link_type, octets, len(octets), None), flow)


def test_options_and_extensions_stay() -> None:
    """IPv4 options and IPv6 extension headers precede every segment.

    In the other direction the Ethernet addresses change places.
    """
    options = b"\x94\x04\0\0"
    octets = ADDRESSES + b"\x08\x00" + ipv4(tcp(), options=options)
    made = reframer(octets)
    assert (
        made.reversed().frame(1, 0, 1, 2, 16).octets[:14]
        == ADDRESSES[6:] + ADDRESSES[:6] + b"\x08\x00"
    )
    frame = made.frame(1, 0, 1, 2, 16, b"x")
    assert frame.octets[34:38] == options
    assert checksum(frame.octets[14:38]) == 0
    destination = b"\x06\0\1\4\0\0\0\0"
    octets = ADDRESSES + b"\x86\xdd" + ipv6(destination + tcp(), next_header=60)
    frame = reframer(octets, FLOW6).frame(1, 0, 1, 2, 16, b"x")
    assert frame.octets[54:62] == destination
    assert segment_of(frame).payload == b"x"


TIMESTAMPS = b"\x08\x0aTIMESTMP"


OPTIONS = [
    (b"", b""),
    (b"\1\1" + TIMESTAMPS, b"\1\1" + TIMESTAMPS),
    (b"\x05\x0aSACK....\4\2" + TIMESTAMPS + b"\0\0", b"\1\1" + TIMESTAMPS),
    (b"\0\1" + TIMESTAMPS, b""),
    (b"\5\0\1\1", b""),
    (b"\1\1\x08\x0a", b""),
]


@pytest.mark.parametrize(("options", "kept"), OPTIONS)
def test_window_and_timestamps_stay(options: bytes, kept: bytes) -> None:
    """Window and timestamps stay, at any place among other options, whole or damaged.

    The checksum is right.
    """
    header = bytearray(tcp(options=options))
    header[14:16] = b"\x12\x34"
    octets = ADDRESSES + b"\x08\x00" + ipv4(bytes(header))
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
    octets = ADDRESSES + (len(snap) + len(packet)).to_bytes(2, "big") + snap + packet
    frame = reframer(octets).frame(1, 0, 1, 2, 16, bytes(size))
    assert frame.octets[:14] == ADDRESSES + field.to_bytes(2, "big")
    assert segment_of(frame).payload == bytes(size)


LARGEST = [
    (reframer(ADDRESSES + b"\x08\x00" + ipv4(tcp())), 65495),
    (reframer(ipv6(tcp()), FLOW6, 101), 65515),
]


@pytest.mark.parametrize(("made", "largest"), LARGEST, ids=["Ethernet", "raw IP"])
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
