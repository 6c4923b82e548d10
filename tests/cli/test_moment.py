# SPDX-License-Identifier: GPL-2.0-or-later
"""Times on the command line."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.cli.selection import Span, spans
from scapy_mpa.stream.segment import SECOND

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
MICROSECOND = timedelta(microseconds=1)

zones = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


def span(begin: str, end: str) -> Span:
    """The time between two moments."""
    return spans([(begin, end)])[0]


@given(st.datetimes(timezones=zones), st.integers(0, 999), st.sampled_from("T "))
def test_dates(date: datetime, more: int, between: str) -> None:
    """Dates as Python writes them, with nanoseconds, in any zone. The default is UTC."""
    time_ns = (date - EPOCH) // MICROSECOND * 1000 + more
    text = date.isoformat(between, "microseconds")
    clock, zone = text[:26], text[26:]
    for written in (f"{clock}{more:03d}{zone}", f"{clock}{more:03d}{zone.replace(':', '')}"):
        found = span(written, written)
        assert found.holds(time_ns, 5) and not found.holds(time_ns + 1, 5)
        assert not found.holds(time_ns - 1, 5)
    whole = date.replace(microsecond=0, tzinfo=timezone.utc)
    seconds = (whole - EPOCH) // MICROSECOND * 1000
    for written in (f"{clock[:19]}Z", clock[:19]):
        assert span(written, written).begin.earliest == seconds
    day = (whole.replace(hour=0, minute=0, second=0) - EPOCH) // MICROSECOND * 1000
    assert span(clock[:10], clock[:16]).begin.earliest == day


@given(st.integers(1 - 10**12, 10**12 - 1), st.integers(0, 9), st.integers(-(2**63), 2**63))
def test_seconds(number: int, digits: int, first: int) -> None:
    """Seconds since the first frame. With six digits or fewer, all times shown so are included."""
    seconds = Decimal(number).scaleb(-digits)
    time_ns = first + int(seconds * SECOND)
    found = span(f"{seconds:f}", f"{seconds:f}")
    slack = 500 if digits <= 6 else 0
    for ahead in (-501, -500, -1, 0, 1, 500, 501):
        assert found.holds(time_ns + ahead, first) == (abs(ahead) <= slack)
