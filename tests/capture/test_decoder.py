# SPDX-License-Identifier: GPL-2.0-or-later
"""TCP headers, and ordinary frames: the result is that of reading header by header."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from scapy_mpa.capture import Decoder
from scapy_mpa.stream.segment import Segment
from tests.capture import build
from tests.capture.build import ethernet, ipv4, ipv6, tcp
from tests.capture.reading import check
from tests.capture.test_ip import SEGMENT4, decode
from tests.capture.test_link import FOLLOWED, frame_of

FAST = (1, ethernet, 0x0800, ipv4)
TAGGED = (1, partial(ethernet, tags=[0x8100]), 0x0800, ipv4)
PLAIN = (101, lambda packet, _: packet, 0x0800, ipv4)
PLAIN6 = (1, ethernet, 0x86DD, ipv6)
ROUTES = ("fast", "tagged", "plain", "IPv6")


EMPTY = SEGMENT4._replace(payload=b"", length=0)
HEADERS: dict[str, tuple[bytes, int, Any]] = {
    # A segment, the number of its octets that were not captured, and the result.
    **{f"{words} words": (tcp(options=b"\x01" * 4 * words), 0, SEGMENT4) for words in range(11)},
    "no payload": (tcp(b""), 0, EMPTY),
    **{
        f"data offset {at}": (tcp(data_offset=at), 0, "TCP header damaged")
        for at in (0, 1, 4, 7, 15)
    },
    **{f"{n} octets": (tcp()[:n] + bytes(60), 0, "TCP header damaged") for n in range(1, 20)},
    # The snap length cut a part of the header, options included.
    **{f"{n} cut": (tcp(options=b"\x01" * 12), n, "TCP header cut") for n in range(8, 40)},
    "payload cut": (tcp(options=b"\x01" * 12), 7, SEGMENT4._replace(payload=b"")),
}


@pytest.mark.parametrize("route", [FAST, TAGGED, PLAIN, PLAIN6], ids=ROUTES)
def test_tcp(route: Any) -> None:
    """RFC 9293 3.1, on each route. Padding after the packet changes nothing."""
    link_type, link, ether_type, ip = route
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


@pytest.mark.parametrize("name", FOLLOWED)
def test_each_bit(name: str) -> None:
    """A frame may differ in one bit from an ordinary one."""
    link_type, octets, _ = FOLLOWED[name]
    for at in range(octets.index(b"\x9c\x40") - 8):
        for bit in range(8):
            changed = bytearray(octets)
            changed[at] ^= 1 << bit
            check(frame_of(link_type, bytes(changed) + bytes(9)))


def test_given_link_type() -> None:
    """An Ethernet frame is none if the user names another link type."""
    octets = ethernet(ipv4(tcp()))
    assert Decoder(link_types={1: 101}).segment(frame_of(1, octets)) is None
