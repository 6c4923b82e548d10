# SPDX-License-Identifier: GPL-2.0-or-later
"""Connections with the same addresses and ports in two networks."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pytest

from scapy_mpa.capture import Decoder, Frame
from scapy_mpa.craft import Conversation, Endpoint
from scapy_mpa.dialects import other_framings
from scapy_mpa.stream import networks
from scapy_mpa.stream.events import ConnectionEnded, FPDURecovered
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.networks import Networks
from scapy_mpa.stream.segment import ACK, SYN, Segment
from tests.stream.work import peak


def frames_of(isns: tuple[int, int], text: bytes) -> list[bytes]:
    """The frames of a conversation."""
    ends = (Endpoint("10.0.0.1", 40000, isn=isns[0]), Endpoint("10.0.0.2", 4420, isn=isns[1]))
    conversation = Conversation(*ends)
    for number in range(20):
        conversation.initiator.send(text + bytes([number]))
        conversation.responder.send(text + bytes([number]))
    conversation.close()
    return [frame.octets for frame in conversation.frames()]


ONE = frames_of((1000, 2000), b"one")
OTHER = frames_of((3_000_000_000, 1_500_000_000), b"other")
NONE, VLAN_5, VLAN_6 = b"", b"\x81\0\0\5", b"\x81\0\0\6"


def tagged(frames: list[bytes], tag: bytes) -> list[bytes]:
    """Frames in a VLAN."""
    return [octets[:12] + tag + octets[12:] for octets in frames]


def found(frames: list[bytes]) -> list[Any]:
    """The texts of the FPDUs found, by connection."""
    decoder, flows = Decoder(), Flows(others=other_framings())
    events = []
    for number, octets in enumerate(frames, 1):
        segment = decoder.segment(Frame(number, number, 1, octets, len(octets), None))
        assert segment is not None
        events += flows.receive(segment)
    events += flows.finish()
    return [
        [
            each.ulpdu[18:-1]
            for each in events
            if isinstance(each, FPDURecovered) and each.connection == ended.connection
        ]
        for ended in events
        if isinstance(ended, ConnectionEnded)
    ]


def mixed(*frames: list[bytes]) -> list[bytes]:
    """Frames of several capture points, by turns."""
    return list(chain(*zip(*frames, strict=True)))


@pytest.mark.parametrize("begin", [0, 3, 12], ids=["SYN", "startup", "FPDUs"])
@pytest.mark.parametrize("tags", [(NONE, VLAN_5), (VLAN_5, NONE), (VLAN_5, VLAN_6)])
def test_two_networks(tags: tuple[bytes, bytes], begin: int) -> None:
    """Sequence numbers that do not fit show two connections, not one that was captured twice."""
    one, other = (
        tagged(frames[begin:], tag) for frames, tag in zip((ONE, OTHER), tags, strict=True)
    )
    assert sorted(found(mixed(one, other))) == sorted(found(one) + found(other))
    copy = tagged(ONE[begin:], tags[1])
    assert found(mixed(one, copy)) == found(one)
    # The same holds if the second connection follows the first: its first numbers do not fit.
    assert sorted(found(one + other)) == sorted(found(one) + found(other))


def test_each_direction_in_a_vlan_of_its_own() -> None:
    """It is one connection, as with private VLANs."""
    frames = [
        octets[:12] + (VLAN_5 if octets[26:30] == ONE[0][26:30] else VLAN_6) + octets[12:]
        for octets in ONE
    ]
    assert found(frames) == found(ONE)


def test_interfaces() -> None:
    """Interfaces count as networks."""
    decoder = Decoder()
    networks = set()
    for number, name in enumerate(("eth0", "eth0", "eth1", None, "eth1"), 1):
        octets = ONE[0]
        segment = decoder.segment(Frame(number, 0, 1, octets, len(octets), name))
        assert segment is not None
        networks.add(segment.network)
    assert networks == {b"", b"\0eth1"}


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory for networks and connections is bounded."""
    monkeypatch.setattr(networks, "_MAX_FLOWS", 1 << 9)

    def reach(flow: bytes) -> int:
        return 0

    def place(count: int) -> None:
        known = Networks(reach)
        for number in range(count):
            flow = number.to_bytes(12, "big")
            known.place(Segment(flow, 1 << 31, 0, SYN | ACK, b"", 0, 1, 0, b"network"))

    assert peak(lambda: place(8_000)) < 1.2 * peak(lambda: place(2_000))
