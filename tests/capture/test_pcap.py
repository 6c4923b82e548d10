# SPDX-License-Identifier: GPL-2.0-or-later
"""Classic pcap files, as draft-ietf-opsawg-pcap describes them."""

from __future__ import annotations

import io
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.capture import Frame, open_capture
from scapy_mpa.wire.errors import CaptureError
from tests.capture import build
from tests.capture.reading import read
from tests.cli.command import PCAPS, run

ORDERS = ("<", ">")

record = st.tuples(
    st.integers(0, 0xFFFFFFFF),
    st.integers(0, 999_999),
    st.binary(max_size=64),
    st.integers(0, 0xFFFFFFFF),
)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    ("magic", "unit", "extra"),
    [(0xA1B2C3D4, 1000, b""), (0xA1B23C4D, 1, b""), (0xA1B2CD34, 1000, b"12345678")],
)
@given(records=st.lists(record, max_size=5))
def test_every_variant(
    order: str, magic: int, unit: int, extra: bytes, records: list[build.Record]
) -> None:
    """Either byte order, micro- or nanoseconds, Kuznetzov's records: the same frames."""
    file = build.pcap(records, order=order, magic=magic, link=276, extra=extra)
    assert read(file) == [
        Frame(
            number,
            seconds * 10**9 + fraction * unit,
            276,
            octets,
            max(original, len(octets)),
            None,
        )
        for number, (seconds, fraction, octets, original) in enumerate(records, 1)
    ]


def test_header_only() -> None:
    """A capture in which nothing was captured is no error."""
    assert read(build.pcap()) == []


def test_fraction_of_a_second_or_more() -> None:
    """Some writers let the microseconds run over; the time is their sum."""
    (frame,) = read(build.pcap([(5, 1_500_000, b"x", 1)]))
    assert frame.time_ns == 6_500_000_000


def test_original_length_less_than_captured() -> None:
    """A frame had at least as many octets as were captured of it."""
    (frame,) = read(build.pcap([(0, 0, b"abc", 0)]))
    assert frame.original_length == 3


def swapped(records: list[build.Record], order: str, minor: int) -> bytes:
    """A file of an early version whose records have the original length first."""
    file = build.pcap(order=order, version=(2, minor))
    for seconds, fraction, octets, original in records:
        lengths = (max(original, len(octets)), len(octets))
        file += struct.pack(order + "IIII", seconds, fraction, *lengths) + octets
    return file


@pytest.mark.parametrize("order", ORDERS)
@given(records=st.lists(record, max_size=5))
def test_early_versions(order: str, records: list[build.Record]) -> None:
    """Before 2.3 the original length comes first; in 2.3 it may, and is the larger one."""
    whole = [(*each[:3], max(each[3], len(each[2]))) for each in records]
    expected = read(build.pcap(whole, order=order))
    assert read(build.pcap(whole, order=order, version=(2, 3))) == expected
    for minor in range(4):
        assert read(swapped(whole, order, minor)) == expected


def test_early_versions_beside_tshark(tshark: str, tmp_path: Path) -> None:
    """It takes the same octets for captured."""
    records = [(1, 2, b"abc" * 30, 1500), (3, 4, b"defg" * 20, 80)]
    for minor in range(5):
        path = tmp_path / f"{minor}.pcap"
        file = swapped(records, "<", minor) if minor < 4 else build.pcap(records)
        path.write_bytes(file)
        command = [tshark, "-r", str(path), "-Tfields", "-eframe.cap_len", "-eframe.len"]
        told = subprocess.run(command, capture_output=True, check=True).stdout.split()
        lengths = [(len(frame.octets), frame.original_length) for frame in read(file)]
        assert list(map(int, told)) == [each for pair in lengths for each in pair]


def test_early_version_of_a_connection(tmp_path: Path) -> None:
    """What reads the ordinary pcap file fast is not misled by its lengths."""
    records = [
        (*divmod(frame.time_ns // 1000, 10**6), frame.octets, len(frame.octets) + 9)
        for frame in read((PCAPS / "mix_mpa1_crcon.pcap").read_bytes())
    ]
    told = []
    for file in (build.pcap(records), swapped(records, "<", 2)):
        path = tmp_path / "x.pcap"
        path.write_bytes(file)
        told.append(run("dissect", "--json", path).stdout)
    assert told[0].count("fpdu") > 30
    assert told[0] == told[1]


@pytest.mark.parametrize("version", [(2, 5), (1, 4), (3, 0), (543, 0)])
def test_other_versions(version: tuple[int, int]) -> None:
    """Versions whose records may differ are refused at once."""
    with pytest.raises(CaptureError, match=r"pcap version \d+\.\d is not supported; convert it"):
        open_capture(io.BytesIO(build.pcap(version=version)))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("captured", "left"), [(10, 6), (9, 6), (7, 6), (6, 6), (3, 3)])
def test_fcs_length_in_link_type(order: str, captured: int, left: int) -> None:
    """The file header may say how long the FCS is, in 16-bit units; it is no part of a frame."""
    link = 0x24000000 | 1
    file = build.pcap([(0, 0, b"abcdefWXYZ"[:captured], 10)], order=order, link=link)
    (frame,) = read(file)
    assert frame.link_type == 1
    assert frame.octets == b"abcdef"[:left]
    assert frame.original_length == 6


def test_fcs_length_without_its_flag() -> None:
    """Without the flag the length means nothing."""
    (frame,) = read(build.pcap([(0, 0, b"abcdef", 6)], link=0x20000001))
    assert frame.octets == b"abcdef"


def test_fcs_longer_than_the_frame() -> None:
    """A runt that would be all FCS is an empty frame."""
    (frame,) = read(build.pcap([(0, 0, b"ab", 2)], link=0x24000001))
    assert (frame.octets, frame.original_length) == (b"", 0)


@pytest.mark.parametrize("captured", [(1 << 24) + 1, 0x7FFFFFFF, 0xFFFFFFFF])
def test_lying_length(captured: int) -> None:
    """A length no capture has ends the reading there, says where, and costs no memory."""
    good = build.pcap([(0, 0, b"abcd", 4)])
    lie = struct.pack("<IIII", 0, 0, captured, captured)
    capture = open_capture(io.BytesIO(good + lie + b"rest"))
    assert [frame.octets for frame in capture] == [b"abcd"]
    assert str(capture.problem) == (
        f"capture: at octet 44, after frame 1: a frame claims {captured} captured octets, which no "
        "capture has; the file is damaged: capture or copy it again"
    )


def test_largest_frame() -> None:
    """Super-segments and odd interfaces pass, however much larger than a snap length."""
    octets = bytes(1 << 24)
    (frame,) = read(build.pcap([(0, 0, octets, len(octets))]))
    assert frame.octets == octets
