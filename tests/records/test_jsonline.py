# SPDX-License-Identifier: GPL-2.0-or-later
"""The line of JSON is the record, to the letter."""

import json
import random
from datetime import datetime, timedelta
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.records import RecordedEvent, json_line, record_of, type_of
from scapy_mpa.records.record import when
from scapy_mpa.stream.clock import Clock
from scapy_mpa.stream.messages import Messages
from scapy_mpa.stream.segment import SECOND
from tests.records import made
from tests.records.made import CLOCK
from tests.stream.feed import feed_truth, halves
from tests.truth import impair


def assert_agree(event: RecordedEvent, payload: bool) -> None:
    """The line and the dictionary say the same in the same order."""
    line = json_line(event, CLOCK, payload=payload)
    assert line.isascii()
    assert line.isprintable()
    pairs = json.loads(line, object_pairs_hook=list)
    assert [key for key, _ in pairs] == list(record_of(event, CLOCK, payload=payload))
    assert json.loads(line) == record_of(event, CLOCK, payload=payload)


@given(made.events, st.booleans())
def test_line_is_the_record(event: RecordedEvent, payload: bool) -> None:
    """``json.loads`` of the line gives the record, whatever the event says."""
    assert_agree(event, payload)


@given(made.fpdus, made.fpdus, st.booleans())
def test_connections_are_not_mixed_up(
    one: RecordedEvent, other: RecordedEvent, twice: bool
) -> None:
    """What is kept of one connection is not said of another one with the same number."""
    for event in (one, other, one) if twice else (one, other):
        assert_agree(event, False)


def test_line_is_the_record_of_what_is_recovered() -> None:
    """The same for the events of a connection with losses, its messages included."""
    rng = random.Random(7)
    pair = halves(rng, markers=(True, False), crc=True, count=30)
    sendings = []
    for half in pair:
        sent = impair.miss(impair.reorder(impair.cut_mss(half.octets, 700), rng, 0.1), rng, 0.1)
        sendings.append(impair.overlap(sent, half.octets, rng, 0.1, differing=True))
    events = feed_truth(impair.conversation(pair, (sendings[0], sendings[1]), rng))
    messages = Messages()
    kinds = {type_of(event) for event in events}
    assert kinds >= {"startup", "fpdu", "gap", "overlap", "connection"}
    for event in events:
        for each in (event, *messages.take(event)):
            assert_agree(each, True)
            assert_agree(each, False)


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
