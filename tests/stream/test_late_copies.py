# SPDX-License-Identifier: GPL-2.0-or-later
"""Copies of octets long after the end of their connection (RFC 9293 3.4.2, 3.6.1)."""

from __future__ import annotations

import pytest

from scapy_mpa.stream import lingering
from scapy_mpa.stream.events import Event
from scapy_mpa.stream.flows import LINGER_NS, Flows
from scapy_mpa.stream.octets import past as past_connections
from scapy_mpa.stream.octets.past import PAST_SECONDS, PastConnections
from scapy_mpa.stream.segment import SECOND
from scapy_mpa.stream.segment import Segment as Captured
from tests.stream.feed import INITIATOR_FLOW, RESPONDER_FLOW, as_segment, fpdus
from tests.stream.talk import (
    STREAM,
    check_whole,
    ends,
    received,
    whole,
)
from tests.truth.impair import ACK, FIN, PSH, SYN, Segment

ISN = (1000, 0xFFFFF000)
BEGIN = ISN[0] + 1
END = whole(ISN).next[0] - 1
"""The sequence number of the FIN of direction 0."""


LINGERING = 64
"""Connections that linger in these tests.  Others are released."""


@pytest.fixture(autouse=True)
def _few_linger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lingering, "LINGERING_CONNECTIONS", LINGERING)


def ended(flows: Flows) -> list[Event]:
    """The events of a connection from SYN to FIN, and of others until the first is released."""
    events = received(flows, whole(ISN).segments)
    brief = [Segment(0, 1, 0, FIN | SYN, b""), Segment(1, 1, 2, FIN | SYN | ACK, b"")]
    for number in range(LINGERING):
        events += received(flows, brief, 1000 + number, connection=number)
    assert [each.connection.number for each in ends(events)] == [0]
    return events


def late(seq: int, octets: bytes, flags: int = PSH | ACK, *, after: int = 3 * SECOND) -> Captured:
    """A segment of direction 0."""
    captured = as_segment(5000, Segment(0, seq % 2**32, 0, flags, octets))
    return captured._replace(time_ns=captured.time_ns + after)


def opened(flows: Flows) -> int:
    """The number of connections that :func:`ended` did not open."""
    return sum(each.connection.number > LINGERING for each in ends(flows.finish()))


@pytest.mark.parametrize(
    ("segment", "is_copy"),
    [
        # Octets of the connection, whole segments or parts of them.
        (late(BEGIN, STREAM[:300]), True),
        (late(END - 20, bytes(20), FIN | PSH | ACK), True),
        (late(END - 1, b"\0", ACK), True),
        # Direction 1, too, where sequence numbers wrap.
        (late(ISN[1] + 1, STREAM[:100])._replace(flow=RESPONDER_FLOW), True),
        # Octets after the last one, even a part of a segment, are new.
        (late(END, b"ab"), False),
        (late(END - 1, b"ab"), False),
        # Segments do not live longer than four minutes.
        (late(BEGIN, STREAM[:300], after=(PAST_SECONDS - 10) * SECOND), True),
        (late(BEGIN, STREAM[:300], after=(PAST_SECONDS + 10) * SECOND), False),
        # The clock was set back, so the copy seems to come before the end of its connection.
        (late(BEGIN, STREAM[:300], after=-20 * SECOND), True),
    ],
)
def test_one_segment(segment: Captured, is_copy: bool) -> None:
    """A copy is counted and opens no connection.  Any other segment opens one."""
    flows = Flows()
    check_whole(ended(flows))
    events = flows.receive(segment)
    assert flows.late_copies == is_copy
    # After so long, the other connections are released and reported.
    assert events == [] or not is_copy or segment.time_ns > LINGER_NS
    assert opened(flows) == (not is_copy)


def test_the_same_ports_and_numbers_again() -> None:
    """A copy of all segments, even of the SYN, opens no connection soon after the end.

    A capture that was appended to another has earlier times.
    """
    for after in (0, -100_000 * SECOND):
        flows = Flows()
        ended(flows)
        segments = whole(ISN).segments
        assert not fpdus(received(flows, segments, 5000, later=after))
        assert flows.late_copies == sum(bool(each.payload or each.flags & SYN) for each in segments)
        assert opened(flows) == 0


def test_remembered_connections_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """The latest connections are remembered, the first connections are forgotten."""
    most = 1 << 10
    monkeypatch.setattr(past_connections, "PAST_CONNECTIONS", most)
    past = PastConnections()
    flows = [number.to_bytes(12, "big") for number in range(most + 1)]
    for flow in flows:
        past.add(flow, 0, ((100, 200), (300, 400)))
    copies = [late(100, bytes(100), after=0)._replace(flow=flow) for flow in flows]
    known = [past.spans(copy, 0) for copy in copies]
    assert not known[0]
    assert all(known[-(most // 2) :])


def test_the_last_octets_are_remembered() -> None:
    """They are known even if the direction had more octets than 32 bits count."""
    past = PastConnections()
    past.add(INITIATOR_FLOW, 0, ((0, 2**40), (5, 5)))
    copy = late(-1000, bytes(1000), after=0)
    assert past.spans(copy, 0)
    assert not past.spans(copy._replace(seq=2**31), 0)
