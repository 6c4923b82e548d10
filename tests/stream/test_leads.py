# SPDX-License-Identifier: GPL-2.0-or-later
"""Places to which Markers point, in an island that grows on both sides (RFC 5044 4.3)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.stream.octets.leads import Leads

PLACES = st.integers(0, 300)


@given(
    places=st.lists(st.tuples(PLACES, st.integers(1, 200)), unique_by=lambda each: each[0]),
    growth=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=12),
)
def test_each_place_is_due_once_when_its_octets_are_there(
    places: list[tuple[int, int]], growth: list[tuple[int, int]]
) -> None:
    """Not before, and not again, however often a Marker points there."""
    ends = {start: start + length for start, length in places}
    begin = end = 150
    leads = Leads(begin)
    tried = []
    for left, right in growth:
        begin, end = begin - left, end + right
        for start in ends:
            leads.add(start)
        for start in leads.due(begin, end):
            assert start >= begin
            if ends[start] > end:
                leads.wait(start, ends[start])
            else:
                tried.append(start)
    whole = [start for start in ends if begin <= start and ends[start] <= end]
    assert sorted(tried) == sorted(whole if growth else [])


def test_places_come_in_order() -> None:
    """So that the first of several FPDUs is found first."""
    leads = Leads(0)
    for start in (40, 8, 24):
        leads.add(start)
    leads.wait(4, 60)
    assert leads.due(0, 50) == [8, 24, 40]
    assert leads.due(0, 60) == [4]
