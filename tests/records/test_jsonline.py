# SPDX-License-Identifier: GPL-2.0-or-later
"""The line of JSON is the record, to the letter."""

import json
from datetime import datetime, timedelta
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.records import RecordedEvent, json_line, record_of
from scapy_mpa.records.record import when
from scapy_mpa.stream.clock import Clock
from scapy_mpa.stream.segment import SECOND
from tests.records import made
from tests.records.made import CLOCK


@given(made.events, st.booleans())
def test_line_is_the_record(event: RecordedEvent, payload: bool) -> None:
    """``json.loads`` of the line gives the record, whatever the event says."""
    line = json_line(event, CLOCK, payload=payload)
    assert line.isascii() and line.isprintable()
    pairs = json.loads(line, object_pairs_hook=list)
    record = record_of(event, CLOCK, payload=payload)
    assert [key for key, _ in pairs] == list(record)
    assert json.loads(line) == record


@given(st.integers(-(2**66), 2**66), st.integers(0, 2**62))
def test_times(time_ns: int, begin_ns: int) -> None:
    """``time`` is relative, and exact in a capture of 100 days; ``timestamp`` is, always."""
    found = when(1, time_ns, Clock(begin_ns))
    after = time_ns - begin_ns
    if abs(after) < 100 * 86400 * SECOND:
        assert Fraction(str(found["time"])) == Fraction(after, SECOND)
    stamp = found["timestamp"]
    if stamp is None:
        assert not -62135596800 <= time_ns // SECOND < 253402300800
    else:
        second, fraction = str(stamp).split(".")
        since = datetime.fromisoformat(second) - datetime(1970, 1, 1)
        assert (since // timedelta(seconds=1)) * SECOND + int(fraction[:-1]) == time_ns
