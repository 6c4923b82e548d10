# SPDX-License-Identifier: GPL-2.0-or-later
"""How TCP carries a conversation: segments, acknowledgements, start and end (RFC 9293)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.craft import Conversation, Endpoint, Interleaved, Segment
from scapy_mpa.wire.fpdu import fpdu_length, mulpdu
from scapy_mpa.wire.tcp import ACK, FIN
from tests.craft.strategies import conversations


def data(segments: list[Segment], side: int = 0) -> list[int]:
    """The sizes of a side's segments with payload, without its startup frame."""
    sizes = [len(each.octets) for each in segments if each.octets and each.side == side]
    return sizes[1:]


def bulk(size: int = 10_000, **options: Any) -> Conversation:
    """A conversation of one RDMA Write."""
    conversation = Conversation(**options)
    conversation.initiator.write(bytes(size))
    return conversation


@pytest.mark.parametrize("every", [0, 1, 2, 3])
def test_acknowledgements(every: int) -> None:
    """An acknowledgement follows every ``every`` data segments, and the last one; 0 means none."""
    conversation = bulk(1440 * 8 + 1, ack_every=every)
    reply = conversation.isns[0] + 1 + 20
    pure = [e for e in conversation.segments() if e.side == 1 and e.ack > reply]
    assert len(pure) == (0 if not every else -(-9 // every))
    assert all(not each.octets for each in pure)
    if pure:
        last = conversation.layout()[-1]
        assert pure[-1].ack == conversation.isns[0] + 1 + last.end


@pytest.mark.parametrize(
    ("options", "sizes", "segments"),
    [
        # One FPDU in each segment, even if more would fit.
        ({}, [100, 200, 1000], [124, 224, 1024]),
        # As many whole FPDUs as fit (RFC 5044 5.1).
        ({"packing": "packed"}, [100, 200, 1000, 300, 50], [124 + 224 + 1024, 324 + 76]),
        # Full segments, except for the last of a turn.  None continues across a flush.
        ({"packing": "stream"}, [1000, 1000], [1460, 588]),
        ({"packing": "stream"}, [3, None, 3], [28, 28]),
        # TCP splits an FPDU that is larger than a segment.
        ({"mulpdu": 2000, "mss": 1000}, [1982], [1000, 1000, 8]),
    ],
)
def test_packing(options: dict[str, Any], sizes: list[int | None], segments: list[int]) -> None:
    """How segments carry Sends of these sizes. None: a flush."""
    conversation = Conversation(**options)
    for size in sizes:
        if size is None:
            conversation.initiator.flush()
        else:
            conversation.initiator.send(bytes(size))
    assert data(conversation.segments()) == segments


def test_times() -> None:
    """Time begins at the given time. Half a round trip passes when the speaker changes."""
    conversation = Conversation(start_time=7, rtt=0.5)
    conversation.startup()
    conversation.pause(10)
    conversation.initiator.send()
    times = [each.time_ns / 10**9 for each in conversation.segments()]
    assert times[:3] == [7, 7.25, 7.5]
    assert times[4] == pytest.approx(7.75, abs=1e-4)
    assert times[6] - times[5] == pytest.approx(10, abs=1e-4)
    merged = Interleaved([(conversation, conversation.segments())])
    for packets in (conversation.packets(), merged.packets()):
        assert [(each.time, each.wirelen) for each in packets] == [
            (time, len(bytes(each))) for time, each in zip(times, packets, strict=True)
        ]


@given(conversations())
def test_both_streams_are_whole(conversation: Conversation) -> None:
    """Segments carry both streams completely, at most MSS octets each, with growing times.

    No side acknowledges what was not sent.
    """
    placed = conversation.layout()
    streams = [b"", b""]
    for each in placed:
        item: Any = each.item
        if each.octets:
            streams[item.side] += each.octets
    segments = conversation.segments()
    carried = [b"", b""]
    seen = [0, 0]
    times = [each.time_ns for each in segments]
    assert times == sorted(times)
    for each in segments:
        isn, peers = conversation.isns[each.side], conversation.isns[1 - each.side]
        assert len(each.octets) <= conversation.options.mss
        if each.octets:
            assert (each.seq - isn - 1) % (1 << 32) == len(carried[each.side])
            carried[each.side] += each.octets
        if each.flags & ACK:
            acked = (each.ack - peers - 1) % (1 << 32)
            fin = seen[1 - each.side]
            assert acked <= len(carried[1 - each.side]) + fin
        seen[each.side] += bool(each.flags & FIN)
    assert carried == streams


@pytest.mark.parametrize(
    ("emss", "markers", "wanted"),
    [
        (1460, False, 1454),
        (1460, True, 1442),
        (513, True, 498),
        (100, False, 128),
        (65535, False, 64768),
        (536, True, 522),
    ],
)
def test_mulpdu(emss: int, markers: bool, wanted: int) -> None:
    """MULPDU follows from EMSS, in 128 to 64768 octets (RFC 5044 3, 4.5).

    draft-ietf-rddp-mpa-01 3.1.1 takes EMSS as 1460 and 536 where TCP does not report it.
    """
    assert mulpdu(emss, markers=markers) == wanted


@given(st.integers(140, 65000), st.integers(0, 127))
def test_mulpdu_fits(emss: int, word: int) -> None:
    """An FPDU around the largest ULPDU fits a segment, wherever it begins (RFC 5044 4.5)."""
    assert fpdu_length(mulpdu(emss, markers=False)) <= emss
    assert fpdu_length(mulpdu(emss, markers=True), 4 * word) <= emss


def test_ethernet_address() -> None:
    """It may have dashes."""
    macs = "02-00-00-00-00-99", "02:00:00:00:00:99"
    one, two = (Conversation(Endpoint("10.0.0.1", 1, mac=mac)) for mac in macs)
    assert one.frames() == two.frames()
