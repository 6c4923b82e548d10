# SPDX-License-Identifier: GPL-2.0-or-later
"""Work and memory of hostile captures are bounded by factors of clean ones of the same size.

Work is counted, not timed: function calls, and octets read out of islands or run through CRCs.
``python -m benchmarks.bounds`` prints times. The factors stand in ``docs/measured.md``, too.
"""

import functools
from typing import NamedTuple

import pytest

from scapy_mpa.stream.limits import Limits
from tests.recovery.work import longest_of, peak_of, read_messages, read_plainly, work_of
from tests.straight.ways import recovery_alone
from tests.truth import pcapfile
from tests.truth.hostile import ALONE, HOSTILE, Pair

SCALE, ALONE_SCALE = 150, 60
"""Segments of a capture.  ``ALONE_SCALE``: if each is alone in its connection, and searched."""
SKIPPING = 20
LARGER = 3
"""How many times more segments the larger of two captures has."""


class Factors(NamedTuple):
    """Multiples of the work of reading the clean capture by recovery alone."""

    calls: float
    octets: float


# A hole, or very many flows.
ORDINARY = Factors(calls=4, octets=4)
# Octets that take a long search.
SEARCHED = Factors(calls=28, octets=49)
# Places that can only be tried one by one.
TRIED = Factors(calls=50, octets=30)
UNKNOWN = Factors(calls=50, octets=4)
# Connections of one segment, compared with as many connections that hold FPDUs.
ONE_SEGMENT = Factors(calls=4, octets=14)
STARTUPS = Factors(calls=24, octets=40)
BOUNDS = {
    **dict.fromkeys(HOSTILE, ORDINARY),
    "a hole at the start of every flow": ORDINARY._replace(octets=9),
    "Markers that point nowhere": SEARCHED,
    "lengths just beyond the island": SEARCHED,
    "lengths just beyond what is there, in order": SEARCHED,
    "lengths that lead within the island": TRIED,
    "lengths that lead within what is there, in order": TRIED,
    "good FPDUs in longer and longer ones": SEARCHED,
    "zero lengths that lead nowhere": TRIED,
    "every other segment missing": ORDINARY._replace(calls=5),
    "headers in unknown traffic": UNKNOWN,
    "half headers in unknown traffic": UNKNOWN,
    "sound headers in unknown traffic": UNKNOWN,
    "startup frames after startup frames, in order": STARTUPS,
    "startup frames after startup frames, both ways": STARTUPS,
    "startup frames after startup frames, mid-connection": STARTUPS,
    "rejected startups": ORDINARY._replace(calls=5),
    "Replies both ways in blocks": STARTUPS,
    "MSNs skipped after damage": ORDINARY._replace(calls=7),
    **dict.fromkeys(ALONE, ONE_SEGMENT),
}

ALONE_AT_MOST = 60
"""Multiple of the calls per segment that reading may take where each segment is alone in its
connection.  The clean capture has one connection."""
SKIPPED = 12
"""Multiple of the calls of the clean capture that messages with skipped MSNs may take."""
LOW = Limits(octets_per_half=1 << 18, octets_in_total=1 << 18)
"""Limits so low that captures reach them."""
LIMITED_ALONE = 3.5
"""Multiple of the work that reading may take with these limits where each segment is alone.
Without limits, all connections are searched at the end, and the purse is soon empty.  With limits
they are given up one by one, and new octets fill the purse in between."""
MOST_CALLS = 20_000
"""Calls for one segment; they take some 5 ms."""
GROWTH = 1.4
"""Multiple of the work per segment that a larger capture may take."""
MOST_MEMORY = 16 << 20
"""Octets of memory, in addition to what each flow takes."""
MEMORY_OF_A_FLOW = 8 << 10
MOST_MEMORY_OF_A_SEARCH = 24 << 20
"""Octets of memory, however long one search goes on."""


@functools.cache
def pair_of(name: str, scale: int) -> Pair:
    """A hostile capture and its clean counterpart."""
    return HOSTILE[name](scale)


def read_by_recovery(octets: bytes) -> None:
    """Read a capture by recovery alone, without the straight path."""
    with recovery_alone():
        read_plainly(octets)


def test_each_bound_has_a_capture() -> None:
    """No bound has a name that no capture has."""
    assert BOUNDS.keys() == HOSTILE.keys()


@pytest.mark.examples
@pytest.mark.parametrize("name", HOSTILE)
def test_work(name: str) -> None:
    """Calls and octets per segment are within factors of a clean capture.

    They do not grow with the capture.  Limits do not raise them: what must be given up is found
    without a search through all held octets.
    """
    scale = ALONE_SCALE if name in ALONE else SCALE
    hostile, clean = pair_of(name, scale)
    work, least = work_of(read_plainly, hostile), work_of(read_by_recovery, clean)
    calls = BOUNDS[name].calls * least.calls
    octets = BOUNDS[name].octets * max(least.octets, 100)
    assert work.calls <= calls
    assert work.octets <= octets

    larger = pair_of(name, LARGER * scale).hostile
    large = work_of(read_plainly, larger)
    assert large.calls <= GROWTH * work.calls
    assert large.octets <= GROWTH * max(work.octets, 100)

    limited = work_of(functools.partial(read_plainly, limits=LOW), larger)
    factor = LIMITED_ALONE if name in ALONE else 1
    assert limited.calls <= factor * calls
    assert limited.octets <= factor * octets


@pytest.mark.examples
@pytest.mark.parametrize("name", HOSTILE)
def test_no_segment_takes_long(name: str) -> None:
    """A search that takes long goes on with the next segment."""
    frames = pair_of(name, LARGER * SCALE).hostile
    assert longest_of(read_plainly, frames) <= MOST_CALLS


@pytest.mark.parametrize("name", ALONE)
@pytest.mark.parametrize("scale", [6, 150])
def test_new_connections_bring_no_new_budget(name: str, scale: int) -> None:
    """The cost per segment is bounded, in very many connections as in a few."""
    hostile, clean = pair_of(name, scale).hostile, pair_of("one octet a segment", scale).clean
    for frames in (clean, hostile):
        # Layouts are computed once per process.
        read_by_recovery(pcapfile.pcap(frames))
    ordinary = work_of(read_by_recovery, clean).calls
    assert work_of(read_plainly, hostile).calls <= ALONE_AT_MOST * ordinary


@pytest.mark.slow
def test_skipped_messages_cost_little() -> None:
    """One segment may skip very many messages, and each skipped Request is remembered."""
    name = "MSNs skipped after damage"
    # Each of these segments skips some 14,000 messages.
    work, least = (work_of(read_messages, frames) for frames in pair_of(name, SKIPPING))
    more = work_of(read_messages, pair_of(name, LARGER * SKIPPING).hostile)
    assert work.calls <= SKIPPED * least.calls
    assert more.calls <= GROWTH * work.calls


@pytest.mark.examples
@pytest.mark.parametrize("name", [name for name in HOSTILE if name not in ALONE])
def test_memory_is_within_a_limit(name: str) -> None:
    """One limit for every capture, plus a share for each flow."""
    frames = pair_of(name, LARGER * SCALE).hostile
    flows = len({frame[26:38] for frame in frames})
    assert peak_of(read_plainly, frames) <= MOST_MEMORY + MEMORY_OF_A_FLOW * flows


@pytest.mark.slow
def test_memory_of_a_search_does_not_grow_with_it() -> None:
    """Results about octets that the search has passed are forgotten."""
    name = "lengths that lead within what is there, in order"
    assert peak_of(read_plainly, pair_of(name, 1_200).hostile) <= MOST_MEMORY_OF_A_SEARCH


@pytest.mark.slow
def test_twenty_thousand_half_open_flows() -> None:
    """Each flow costs the same, however many there are."""
    frames = HOSTILE["nothing but SYNs"](20_000).hostile
    work, more = work_of(read_plainly, frames[:500]), work_of(read_plainly, frames[:5_000])
    assert more.calls <= GROWTH * work.calls
    assert peak_of(read_plainly, frames) <= MOST_MEMORY + MEMORY_OF_A_FLOW * 20_000
