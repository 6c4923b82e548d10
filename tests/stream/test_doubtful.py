# SPDX-License-Identifier: GPL-2.0-or-later
"""Errors that wait for the end of a connection: few are kept, and never too many are told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.stream.doubtful import DOUBTFUL, Doubt, Doubtful
from scapy_mpa.stream.events import ConnectionId, ErrorFound
from scapy_mpa.wire.rules import Violation

CONNECTION = ConnectionId(0, bytes(12))


def doubt(number: int) -> Doubt:
    """The error that the frame with this number shows."""
    return Doubt(0, number, number * 1000, number * 100, f"error {number}")


def told(doubtful: Doubtful) -> list[ErrorFound]:
    """What is told in the end; of those that are counted, how many there are."""
    return doubtful.errors(CONNECTION, lambda count: Violation(f"{count} more", "RFC 0"))


def number_of(errors: list[ErrorFound]) -> int:
    """How many errors are told of, those that are counted included."""
    more = [int(each.text.split()[0]) - 1 for each in errors if "more" in each.text]
    assert len(more) <= 1
    return len(errors) + sum(more)


@pytest.mark.parametrize("count", [0, 1, DOUBTFUL, DOUBTFUL + 1, DOUBTFUL + 2, 1000])
@pytest.mark.parametrize("only_counted", [False, True])
def test_of_all_of_them_it_is_told(count: int, only_counted: bool) -> None:
    """The first few by themselves, one more as well, and else how many more there are, and where
    the first of those is."""
    doubtful = Doubtful()
    for number in range(count):
        doubtful.add(number, doubt(number))
    assert len(doubtful) == min(count, DOUBTFUL)
    if only_counted:
        doubtful.only_count()
        assert not len(doubtful)
    errors = told(doubtful)
    assert number_of(errors) == count
    kept = 0 if only_counted else DOUBTFUL
    for number, each in enumerate(errors):
        text = f"{count - kept} more (RFC 0)" if number == kept < count - 1 else f"error {number}"
        expected = ErrorFound(CONNECTION, 0, number, number * 1000, None, number * 100, text)
        assert each == expected


@given(st.lists(st.tuples(st.sampled_from(["add", "withdraw", "only_count"]), st.integers(0, 60))))
def test_never_more_than_there_are(deeds: list[tuple[str, int]]) -> None:
    """Whatever is withdrawn: no more errors are told than are left, and none that was withdrawn."""
    doubtful = Doubtful()
    left: set[int] = set()
    every = iter(range(1000))
    frames: dict[int, int] = {}
    for deed, key in deeds:
        if deed == "only_count":
            doubtful.only_count()
        elif deed == "withdraw":
            doubtful.withdraw(key)
            left.discard(key)
        elif key not in left:
            frames[key] = next(every)
            doubtful.add(key, doubt(frames[key]))
            left.add(key)
        assert len(doubtful) <= DOUBTFUL
    errors = told(doubtful)
    assert number_of(errors) <= len(left)
    alone = {each.frame for each in errors if "more" not in each.text}
    assert alone <= {frames[key] for key in left}
