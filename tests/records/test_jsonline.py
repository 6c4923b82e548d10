# SPDX-License-Identifier: GPL-2.0-or-later
"""The line of JSON is the record, to the letter."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.records import RecordedEvent, json_line, record_of, type_of
from scapy_mpa.stream.messages import Messages
from tests.records import made
from tests.stream.feed import feed_truth, halves
from tests.truth import impair


def assert_agree(event: RecordedEvent, payload: bool) -> None:
    """The line and the dictionary say the same in the same order."""
    line = json_line(event, payload=payload)
    assert line.isascii()
    assert line.isprintable()
    pairs = json.loads(line, object_pairs_hook=list)
    assert [key for key, _ in pairs] == list(record_of(event, payload=payload))
    assert json.loads(line) == record_of(event, payload=payload)


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


def _impaired(half: impair.Half, rng: random.Random) -> list[impair.Sending]:
    """The octets of a direction, some late, some missing, some coming again and not the same."""
    sendings = impair.reorder(impair.cut_mss(half.octets, 700), rng, 0.1)
    return impair.overlap(impair.miss(sendings, rng, 0.1), half.octets, rng, 0.1, differing=True)


@pytest.mark.parametrize("markers", [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("crc", [True, False])
def test_line_is_the_record_of_what_is_recovered(markers: tuple[bool, bool], crc: bool) -> None:
    """The same for the events of a connection with losses, its messages included."""
    rng = random.Random(7)
    pair = halves(rng, markers=markers, crc=crc, count=60)
    sendings = [_impaired(half, rng) for half in pair]
    events = feed_truth(impair.conversation(pair, (sendings[0], sendings[1]), rng))
    messages = Messages()
    kinds = {type_of(event) for event in events}
    assert kinds >= {"startup", "fpdu", "gap", "overlap", "connection"}
    for event in events:
        for each in (event, *messages.take(event)):
            assert_agree(each, True)
            assert_agree(each, False)


@given(made.events)
def test_time_is_an_exact_decimal(event: RecordedEvent) -> None:
    """``time`` has nine digits behind the point, and no binary fraction rounds them."""
    line = json_line(event)
    text = line.split('"time":')[1].split(",")[0]
    assert len(text.partition(".")[2]) == 9
    assert int(text.replace(".", "")) == event.time_ns
