# SPDX-License-Identifier: GPL-2.0-or-later
"""Classic pcap files, as draft-ietf-opsawg-pcap describes them."""

from __future__ import annotations

import io
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.capture import Frame, open_capture
from scapy_mpa.craft import Conversation
from scapy_mpa.wire.errors import CaptureError
from tests.capture import build
from tests.capture.reading import read
from tests.straight.ways import straight

ORDERS = ("<", ">")

record = st.tuples(
    st.integers(0, 0xFFFFFFFF),
    # Some writers let the microseconds exceed a second. The time is the sum.
    st.integers(0, 1_999_999),
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
    """Before 2.3 the original length comes first. In 2.3 it may, and is the larger one."""
    whole = [(*each[:3], max(each[3], len(each[2]))) for each in records]
    expected = read(build.pcap(whole, order=order))
    assert read(build.pcap(whole, order=order, version=(2, 3))) == expected
    for minor in range(4):
        assert read(swapped(whole, order, minor)) == expected


def test_cut_frames_of_early_versions() -> None:
    """Their segments are found as in a file of today."""
    conversation = Conversation()
    for _ in range(5):
        conversation.initiator.send(bytes(600))
    frames = [each.octets for each in conversation.frames()]
    records = [(number, 0, octets[:300], len(octets)) for number, octets in enumerate(frames)]
    expected = straight(build.pcap(records))
    assert sum('"crc":"good"' in each for each in expected) == 0
    for minor in range(4):
        assert straight(swapped(records, "<", minor)) == expected


@pytest.mark.parametrize("version", [(2, 5), (1, 4), (3, 0), (543, 0)])
def test_other_versions(version: tuple[int, int]) -> None:
    """Versions whose records may differ are refused at once."""
    with pytest.raises(CaptureError, match=r"pcap version \d+\.\d is not supported; convert it"):
        open_capture(io.BytesIO(build.pcap(version=version)))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("captured", "left"), [(10, 6), (9, 6), (7, 6), (6, 6), (3, 3)])
def test_fcs_length_in_link_type(order: str, captured: int, left: int) -> None:
    """The file header may give the length of the FCS in 16-bit units. The FCS is removed.

    A frame shorter than its FCS is empty. Without the flag the length means nothing.
    """
    octets = b"abcdefWXYZ"[:captured]
    for link, whole, wanted in (
        (0x24000001, (octets, 10), (b"abcdef"[:left], 6)),
        (0x20000001, (octets, 10), (octets, 10)),
        (0x24000001, (b"ab", 2), (b"", 0)),
    ):
        (frame,) = read(build.pcap([(0, 0, *whole)], order=order, link=link))
        assert frame.link_type == 1
        assert (frame.octets, frame.original_length) == wanted


@pytest.mark.parametrize("captured", [(1 << 24) + 1, 0x7FFFFFFF, 0xFFFFFFFF])
def test_impossible_length(captured: int) -> None:
    """An impossible length ends the reading there, with a message, and takes no memory.

    Super-segments and odd interfaces have frames larger than any snap length, which are read.
    """
    largest = bytes(1 << 24)
    (frame,) = read(build.pcap([(0, 0, largest, len(largest))]))
    assert frame.octets == largest
    good = build.pcap([(0, 0, b"abcd", 4)])
    damaged = struct.pack("<IIII", 0, 0, captured, captured)
    capture = open_capture(io.BytesIO(good + damaged + b"rest"))
    assert [frame.octets for frame in capture] == [b"abcd"]
    assert str(capture.problem) == (
        f"capture: at octet 44, after frame 1: a frame claims {captured} captured octets, which no "
        "capture has; the file is damaged: capture or copy it again"
    )
