# SPDX-License-Identifier: GPL-2.0-or-later
"""How much memory connections take, whatever they carry and whether they end."""

from __future__ import annotations

import random

import pytest

from scapy_mpa.stream import messages as stream_messages
from scapy_mpa.stream.checks import Checks
from scapy_mpa.stream.events import ConnectionId, FPDURecovered, GapFound
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.limits import Limits
from scapy_mpa.stream.messages import Messages
from tests.stream.feed import as_segment
from tests.stream.talk import (
    STREAM,
    Talk,
    flow_of,
    received,
    started,
)
from tests.stream.work import traced
from tests.truth import messages, mpastream
from tests.truth.impair import ACK


@pytest.mark.parametrize("hole", [False, True])
def test_memory_of_ordinary_traffic_is_bounded(hole: bool) -> None:
    """16 MiB that are not iWARP leave next to nothing behind, with a hole or without."""
    flows = Flows()
    payload = random.Random(1).randbytes(65_000)
    talk = Talk()
    received(flows, talk.segments)
    first = as_segment(0, talk.segments[0])
    with traced() as memory:
        for number in range(250):
            seq = (talk.next[0] + 65_000 * number + 10 * hole) % 2**32
            octets = bytes(bytearray(payload))
            flows.receive(first._replace(seq=seq, flags=ACK, payload=octets, length=65_000))
        held, peak = memory()
    assert held < 6 << 20 and peak < 12 << 20


@pytest.mark.slow
def test_memory_of_small_segments_is_bounded() -> None:
    """Segments of one octet beyond a hole: what they cost in memory is what counts."""
    flows = Flows()
    talk = started()
    received(flows, talk.segments)
    first = as_segment(0, talk.segments[0])._replace(flags=ACK, length=1)
    with traced() as memory:
        for number in range(80_000):
            octet = bytes([number & 0xFF])
            seq = (talk.next[0] + 1000 + number) % 2**32
            flows.receive(first._replace(seq=seq, payload=octet))
        held = memory()[0]
    assert held < 1.3 * Limits().octets_per_half


def test_memory_of_connections_in_order() -> None:
    """What an idle connection costs, whose FPDUs all came: there may be 100,000 of them."""
    talk = started()
    for direction in (0, 1):
        talk.say(direction, STREAM, size=500)
    flows = Flows()
    count = 1000
    with traced() as memory:
        for number in range(count):
            received(flows, talk.segments, 100 * number, connection=number, later=17 * 10**17)
        held = memory()[0]
    # But for the octets kept for comparison, which all share.
    assert held - (256 << 10) < 2 * count * 1300


@pytest.mark.parametrize(("consumer", "most"), [(Messages, 2000), (Checks, 1000)])
def test_memory_of_what_is_known_of_messages(
    consumer: type[Messages] | type[Checks], most: int
) -> None:
    """What an idle connection costs whoever follows its messages: octets for each direction."""
    talk = started()
    for direction in (0, 1):
        talk.say(direction, STREAM, size=500)
    count = 1000
    flows, takes = Flows(), consumer()
    events = []
    for number in range(count):
        events += received(flows, talk.segments, 100 * number, connection=number)
    with traced() as memory:
        for event in events:
            takes.take(event)
        held = memory()[0]
    assert held < 2 * count * most


@pytest.mark.slow
@pytest.mark.parametrize("lost", [False, True])
def test_memory_of_skipped_msns_is_bounded(lost: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections that skip MSNs on each queue all the time, beside holes or without any."""
    most = 500_000
    monkeypatch.setattr(stream_messages, "HELD_IN_TOTAL", most)
    talk = started()
    for direction in (0, 1):
        headers = [
            messages.untagged_header(messages.SEND, queue, 3 * number, 0, True)
            for number in range(1, 66)
            for queue in range(4)
        ]
        octets, truth = mpastream.build_stream(headers)
        for at, fpdu in enumerate(truth):
            talk.say(direction, octets[fpdu.start : fpdu.end], captured=not lost or at % 20 > 3)
    # Without the end of the connection.
    events = [each for each in talk.fed() if isinstance(each, FPDURecovered | GapFound)]
    takes = Messages()
    held = []
    with traced() as memory:
        for number in range(40):
            for event in events:
                connection = ConnectionId(number, event.connection.flow)
                # Each has times of its own in a capture.
                time_ns = event.time_ns + number * 10**9
                takes.take(event._replace(connection=connection, time_ns=time_ns))
            if number in (19, 39):
                held.append(memory()[0])
    assert held[1] < 3 * most and held[1] - held[0] < 20 * 12_000


@pytest.mark.slow
def test_memory_of_connections_that_never_end_is_bounded() -> None:
    """A scan of ports leaves many a SYN and no end; not all of them are kept for ever."""
    flows = Flows()
    first = as_segment(0, Talk().segments[0])
    held = []
    with traced() as memory:
        for number in range(12_000):
            flow = flow_of(number, 0)
            # One in ten seconds: nobody answers for days.
            flows.receive(first._replace(flow=flow, time_ns=number * 10**10))
            if number in (6_000, 11_999):
                held.append(memory()[0])
    assert held[1] < 1.2 * held[0]
