# SPDX-License-Identifier: GPL-2.0-or-later
"""The memory that connections take."""

from __future__ import annotations

import random

import pytest

from scapy_mpa.stream.checks import Checks
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.messages import Messages
from tests.stream.feed import as_segment
from tests.stream.talk import STREAM, Talk, received, started
from tests.stream.work import traced
from tests.truth.impair import ACK


@pytest.mark.parametrize("hole", [False, True])
def test_memory_of_ordinary_traffic_is_bounded(hole: bool) -> None:
    """16 MiB of other traffic leave almost nothing in memory, with a hole or without."""
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


def test_memory_of_connections_in_order() -> None:
    """An idle connection without missing FPDUs costs little: there may be 100,000 of them."""
    talk = started()
    for direction in (0, 1):
        talk.say(direction, STREAM, size=500)
    flows = Flows()
    count = 250
    with traced() as memory:
        for number in range(count):
            received(flows, talk.segments, 100 * number, connection=number, later=17 * 10**17)
        held = memory()[0]
    # All connections share the octets that are kept for comparison.  These do not count.
    assert held - (256 << 10) < 2 * count * 1300


@pytest.mark.parametrize(("consumer", "most"), [(Messages, 2000), (Checks, 1000)])
def test_memory_of_messages_and_checks(consumer: type[Messages] | type[Checks], most: int) -> None:
    """The cost of an idle connection for messages and for checks, in octets a direction."""
    talk = started()
    for direction in (0, 1):
        talk.say(direction, STREAM, size=500)
    count = 500
    flows, takes = Flows(), consumer()
    events = []
    for number in range(count):
        events += received(flows, talk.segments, 100 * number, connection=number)
    # What all connections share does not count.
    for event in events[: len(events) // count]:
        consumer().take(event)
    with traced() as memory:
        for event in events:
            takes.take(event)
        held = memory()[0]
    assert held < 2 * count * most
