# SPDX-License-Identifier: GPL-2.0-or-later
"""Classic pcap files, as draft-ietf-opsawg-pcap describes them."""

from __future__ import annotations

import io
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.capture import Frame, open_capture
from scapy_mpa.wire.errors import CaptureError
from tests.capture import build
from tests.capture.reading import frames_of

ORDERS = ("<", ">")

record = st.tuples(
    st.integers(0, 0xFFFFFFFF),
    # Some writers let the microseconds exceed a second. The time is the sum.
    st.integers(0, 1_999_999),
    st.binary(max_size=64),
    st.integers(0, 0xFFFFFFFF),
)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("magic", "unit"), [(0xA1B2C3D4, 1000), (0xA1B23C4D, 1)])
@given(records=st.lists(record, max_size=5))
def test_every_variant(order: str, magic: int, unit: int, records: list[build.Record]) -> None:
    """Either byte order, micro- or nanoseconds: the same frames."""
    file = build.pcap(records, order=order, magic=magic, link=276)
    assert frames_of(file) == [
        Frame(
            number, seconds * 10**9 + fraction * unit, 276, octets, max(original, len(octets)), None
        )
        for number, (seconds, fraction, octets, original) in enumerate(records, 1)
    ]


@pytest.mark.parametrize("version", [(2, 5), (2, 3), (1, 4), (3, 0), (543, 0)])
def test_other_versions(version: tuple[int, int]) -> None:
    """Versions whose records may differ are refused at once."""
    with pytest.raises(CaptureError, match=r"pcap version \d+\.\d is not supported; convert it"):
        open_capture(io.BytesIO(build.pcap(version=version)))


@pytest.mark.parametrize("captured", [(1 << 24) + 1, 0x7FFFFFFF, 0xFFFFFFFF])
def test_impossible_length(captured: int) -> None:
    """An impossible length ends the reading there, with a message, and takes no memory.

    Super-segments and odd interfaces have frames larger than any snap length, which are read.
    """
    largest = bytes(1 << 24)
    (frame,) = frames_of(build.pcap([(0, 0, largest, len(largest))]))
    assert frame.octets == largest
    good = build.pcap([(0, 0, b"abcd", 4)])
    damaged = struct.pack("<IIII", 0, 0, captured, captured)
    capture = open_capture(io.BytesIO(good + damaged + b"rest"))
    assert [frame.octets for frame in capture] == [b"abcd"]
    assert str(capture.problem) == (
        f"capture: at octet 44, after frame 1: a frame claims {captured} captured octets, which no "
        "capture has; the file is damaged: capture or copy it again"
    )
