# SPDX-License-Identifier: GPL-2.0-or-later
"""``Flows.standing`` reports on open connections at any time, and changes nothing."""

from collections import Counter
from pathlib import Path

import pytest

from scapy_mpa.capture import open_capture
from scapy_mpa.dialects import other_framings
from scapy_mpa.stream.events import CARRIERS, ConnectionEnded
from scapy_mpa.stream.flows import Flows
from tests.captures import OVER_TCP, capture_name
from tests.stream.feed import decoded

STEP = 3
"""Segments between two reports, enough for the straight path to take connections again."""


@pytest.mark.examples
@pytest.mark.parametrize("path", OVER_TCP, ids=capture_name)
def test_captures(path: Path) -> None:
    """The events are the same as without reports.  Reports count the FPDUs of each direction."""
    asked, plain = (Flows(others=other_framings()) for _ in range(2))
    fpdus: Counter[tuple[int, int]] = Counter()
    begun: set[int] = set()
    with open_capture(path) as capture:
        for count, segment in enumerate(decoded(capture)):
            events = asked.receive(segment)
            assert events == plain.receive(segment)
            for event in events:
                number = event.connection.number
                if isinstance(event, ConnectionEnded):
                    begun.discard(number)
                    continue
                begun.add(number)
                if isinstance(event, CARRIERS):
                    fpdus[number, event.direction] += 1
            if count % STEP:
                continue
            standing = list(asked.standing())
            assert begun <= {each.connection.number for each in standing}
            for each in standing:
                for direction, half in enumerate(each.halves):
                    assert half.fpdus == fpdus[each.connection.number, direction]
    ends = plain.finish()
    assert asked.finish() == ends
    assert any(isinstance(event, ConnectionEnded) for event in ends)
