# SPDX-License-Identifier: GPL-2.0-or-later
"""What a decoder remembers of heads: as if it read each frame anew, and seldom read again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.capture import Decoder, Frame, decoder
from scapy_mpa.capture.decoder import segment_of
from scapy_mpa.capture.headers import FRAGMENT
from scapy_mpa.capture.layers import read_headers
from scapy_mpa.capture.reason import NotFollowedError
from tests.capture import links
from tests.capture.build import ipv4, tcp
from tests.capture.links import SNAP4, V4, wifi
from tests.capture.test_link import FOLLOWED, NOT_FOLLOWED, frame_of

FRAMES = [each[:2] for each in (*FOLLOWED.values(), *NOT_FOLLOWED.values())]


def check(remembering: Decoder, frame: Frame) -> None:
    """A decoder says of a frame what is said of it alone.  Of a fragment it may say more."""
    expected: tuple[Any, dict[str, int]]
    try:
        if read_headers(*frame[2:5])[0] == FRAGMENT:
            return
        expected = segment_of(frame), {}
    except NotFollowedError as error:
        expected = None, {error.reason: 1}
    remembering.not_followed.clear()
    assert (remembering.segment(frame), remembering.not_followed) == expected


@pytest.mark.parametrize("name", FOLLOWED)
def test_each_bit(name: str) -> None:
    """A frame that differs in one bit from one that was remembered."""
    link_type, octets, _ = FOLLOWED[name]
    remembering = Decoder()
    for at in range(octets.index(b"\x9c\x40") - 8):
        for bit in range(8):
            changed = bytearray(octets)
            changed[at] ^= 1 << bit
            check(remembering, frame_of(link_type, octets))
            check(remembering, frame_of(link_type, bytes(changed) + bytes(9)))


@st.composite
def alike(draw: st.DrawFn) -> list[Frame]:
    """Frames of few link types that differ in a few octets, and in where they were cut."""
    bases = draw(st.lists(st.sampled_from(FRAMES), min_size=1, max_size=3))
    frames = []
    for link_type, octets in draw(st.lists(st.sampled_from(bases), min_size=2, max_size=20)):
        changed = bytearray(octets)
        for at in draw(st.lists(st.integers(0, min(len(octets), 90) - 1), max_size=3)):
            changed[at] = draw(st.sampled_from([0, 1, 4, 0x10, 0x80, 0xFF]) | st.integers(0, 255))
        captured = bytes(changed)[: draw(st.sampled_from([None, None, None, -2, -5]))]
        frames.append(frame_of(link_type, captured, draw(st.sampled_from([len(octets), 200]))))
    return frames


@given(frames=alike())
def test_any_frames(frames: list[Frame]) -> None:
    """Frame after frame."""
    remembering = Decoder()
    for frame in frames:
        check(remembering, frame)


DIFFERENT: dict[str, Callable[[int], tuple[int, bytes]]] = {
    "PPP": lambda number: (204, bytes([number]) + b"\0\x21" + V4),
    "802.11": lambda number: (105, wifi(SNAP4, duration=number, sequence=number << 8)),
    "radiotap": lambda number: (127, links.radiotap(wifi(SNAP4), bytes([number] * 8), 1)),
    "AVS": lambda number: (
        163,
        links.avs(wifi(SNAP4)).replace(bytes(range(9)), bytes([number] * 9)),
    ),
    "NFLOG": lambda number: (239, links.nflog(V4, first=links.nflog_first(second=number))),
    "NFLOG, length": lambda number: (239, links.nflog(ipv4(tcp(bytes(number))))),
    "ERF": lambda number: (197, links.erf(22, V4 + bytes(number), time=number)),
    "PKTAP": lambda number: (258, links.pktap(12, V4, process=number)),
    "InfiniBand": lambda number: (242, links.ip_over_infiniband(V4, head=bytes([number] * 40))),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_read_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What differs from frame to frame makes no frame a new one."""
    read = []

    def reading(*arguments: Any) -> Any:
        read.append(arguments)
        return read_headers(*arguments)

    monkeypatch.setattr(decoder, "read_headers", reading)
    remembering = Decoder()
    for number in range(1, 40):
        assert remembering.segment(frame_of(*DIFFERENT[name](number))) is not None
    assert len(read) == 1
