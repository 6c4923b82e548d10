# SPDX-License-Identifier: GPL-2.0-or-later
"""How much memory connections take, whatever they carry and whether they end."""

from __future__ import annotations

import random

import pytest

from scapy_mpa.stream.checks import Checks
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.messages import Messages
from tests.stream.feed import as_segment
from tests.stream.talk import (
    STREAM,
    Talk,
    received,
    started,
)
from tests.stream.work import traced
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


def test_memory_of_connections_in_order() -> None:
    """What an idle connection costs, whose FPDUs all came: there may be 100,000 of them."""
    talk = started()
    for direction in (0, 1):
        talk.say(direction, STREAM, size=500)
    flows = Flows()
    count = 250
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
    count = 500
    flows, takes = Flows(), consumer()
    events = []
    for number in range(count):
        events += received(flows, talk.segments, 100 * number, connection=number)
    # What all connections share is not theirs.
    for event in events[: len(events) // count]:
        consumer().take(event)
    with traced() as memory:
        for event in events:
            takes.take(event)
        held = memory()[0]
    assert held < 2 * count * most
