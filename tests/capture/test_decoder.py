# SPDX-License-Identifier: GPL-2.0-or-later
"""TCP headers, and the decoder's fast route against its plain one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.capture import Decoder, Frame
from scapy_mpa.capture.decoder import segment_of
from scapy_mpa.capture.reason import NotFollowedError
from scapy_mpa.stream.segment import Segment
from tests.capture import build
from tests.capture.build import ethernet, ipv4, ipv6, tcp
from tests.capture.test_link import FOLLOWED, NOT_FOLLOWED

PAYLOAD = b"payload"
SEGMENT = Segment(build.FLOW4, build.SEQ, build.ACK, build.FLAGS, PAYLOAD, len(PAYLOAD), 1, 0)

FAST = (1, ethernet, 0x0800, ipv4)
PLAIN = (101, lambda packet, _: packet, 0x0800, ipv4)
PLAIN6 = (1, ethernet, 0x86DD, ipv6)


def decode(link_type: int, octets: bytes, original: int | None = None) -> Segment | dict[str, int]:
    """The segment of a frame, or why there is none."""
    decoder = Decoder()
    length = len(octets) if original is None else original
    segment = decoder.segment(Frame(1, 0, link_type, octets, length, None))
    return dict(decoder.not_followed) if segment is None else segment._replace(flow=build.FLOW4)


@pytest.mark.parametrize("route", [FAST, PLAIN, PLAIN6], ids=["fast", "plain", "IPv6"])
class TestTCP:
    """RFC 9293 3.1, on either route."""

    def test_options(self, route: Any) -> None:
        """Options are passed over, up to 40 octets."""
        link_type, link, ether_type, ip = route
        for words in range(11):
            segment = tcp(options=b"\x01" * 4 * words)
            assert decode(link_type, link(ip(segment), ether_type)) == SEGMENT

    def test_no_payload(self, route: Any) -> None:
        """A bare ACK is a segment, too."""
        link_type, link, ether_type, ip = route
        expected = SEGMENT._replace(payload=b"", length=0)
        assert decode(link_type, link(ip(tcp(b"")), ether_type)) == expected

    @pytest.mark.parametrize("data_offset", [0, 1, 4, 7, 15])
    def test_data_offset(self, route: Any, data_offset: int) -> None:
        """A data offset inside the header or behind the segment is damage."""
        link_type, link, ether_type, ip = route
        octets = link(ip(tcp(data_offset=data_offset)), ether_type)
        assert decode(link_type, octets) == {"TCP header damaged": 1}
        assert decode(link_type, octets + bytes(60)) == {"TCP header damaged": 1}

    def test_too_short(self, route: Any) -> None:
        """A segment that has no room for a header is damaged, padding or not."""
        link_type, link, ether_type, ip = route
        for length in range(20):
            octets = link(ip(tcp()[:length]) + bytes(60), ether_type)
            if length or ip is ipv4:
                assert decode(link_type, octets) == {"TCP header damaged": 1}

    def test_cut(self, route: Any) -> None:
        """A header of which the snap length cut anything, options included, is counted."""
        link_type, link, ether_type, ip = route
        octets = link(ip(tcp(options=b"\x01" * 12)), ether_type)
        for cut in range(8, 8 + 32):
            assert decode(link_type, octets[:-cut], len(octets)) == {"TCP header cut": 1}
        expected = SEGMENT._replace(payload=b"")
        assert decode(link_type, octets[:-7], len(octets)) == expected


ORDINARY = ethernet(ipv4(tcp(options=b"\x01" * 12)))


@st.composite
def frames(draw: st.DrawFn) -> Frame:
    """Frames that are ordinary, or nearly so, or anything at all."""
    link_type, octets = draw(
        st.sampled_from(
            [(link, octets) for link, octets, _ in [*FOLLOWED.values(), *NOT_FOLLOWED.values()]]
            + [(1, ORDINARY)] * 20
            + [(link, ORDINARY) for link in (0, 9, 101, 113, 276)]
            + [(1, b"")]
        )
    )
    changed = bytearray(octets)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, 80))
        changed[at : at + 1] = draw(st.binary(min_size=1, max_size=1))
    octets = bytes(changed) + draw(st.binary(max_size=10))
    cut = draw(st.one_of(st.none(), st.integers(0, len(octets))))
    captured = octets[:cut]
    original = draw(st.sampled_from([len(octets), len(captured), len(captured) + 70_000]))
    return Frame(3, 4, link_type, captured, original, None)


@given(frame=frames())
def test_fast_and_plain_route_agree(frame: Frame) -> None:
    """The decoder's answer is that of the plain route, segment or reason."""
    decoder = Decoder()
    segment = decoder.segment(frame)
    try:
        expected = segment_of(frame)
    except NotFollowedError as error:
        assert segment is None
        assert decoder.not_followed == {error.reason: 1}
    else:
        assert segment == expected
        assert type(segment) is Segment
        assert not decoder.not_followed


@given(frame=frames())
def test_what_holds_for_every_segment(frame: Frame) -> None:
    """A segment is made of octets of its frame, all that there are up to its length."""
    segment = Decoder().segment(frame)
    if segment is None:
        return
    assert len(segment.flow) in (12, 36)
    assert segment.flow[:-4] in frame.octets
    assert segment.payload in frame.octets
    assert len(segment.payload) <= segment.length
    if len(segment.payload) < segment.length:
        # By a snap length, or before it was captured: nothing that was captured follows.
        assert frame.octets.endswith(segment.payload)
    assert (segment.frame, segment.time_ns) == (3, 4)


@given(link_type=st.sampled_from([0, 1, 101, 108, 113, 228, 229, 276, 9]), octets=st.binary())
def test_any_octets(link_type: int, octets: bytes) -> None:
    """Whatever the octets: a segment, or a reason that is counted."""
    decoder = Decoder()
    segment = decoder.segment(Frame(1, 0, link_type, octets, len(octets), None))
    assert (segment is None) == (decoder.not_followed.total() == 1)
