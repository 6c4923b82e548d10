# SPDX-License-Identifier: GPL-2.0-or-later
"""Octets captured twice: the first copy counts, and differences are reported (RFC 5044 A.3)."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.stream.events import Event, OverlapDiffers
from tests.stream.feed import expected, feed_truth, fpdus, halves, reported
from tests.stream.talk import REPLY, REQUEST, STREAM, TRUTH, Talk, started
from tests.truth import impair


def overlaps(events: list[Event]) -> list[tuple[int, int, int]]:
    """Direction, sequence number and length of each difference."""
    return [
        (each.direction, each.seq, each.length)
        for each in events
        if isinstance(each, OverlapDiffers)
    ]


def changed(octets: bytes, *places: int) -> bytes:
    """The same octets, changed at these places."""
    return bytes(octet ^ 0xFF if at in places else octet for at, octet in enumerate(octets))


def check_all_found(events: list[Event]) -> None:
    """Check that every FPDU is reported once, as first captured."""
    assert [each.ulpdu for each in fpdus(events, 0)] == [each.ulpdu for each in TRUTH]


@pytest.mark.parametrize(
    ("captured", "copy", "differ"),
    [
        # The FPDU was reported long before: the difference is still reported, with its place.
        (len(STREAM), (500, 1000, [499]), (999, 1)),
        # A copy of one octet that is not the newest is no keep-alive probe, so it must be equal.
        (len(STREAM), (40, 41, [0]), (40, 1)),
        # Across the end of the Request, one difference is reported, although the Request was
        # reported before.
        (100, (-2, 10, [0, 2]), (-2, 3)),
    ],
)
def test_copies(captured: int, copy: tuple[int, int, list[int]], differ: tuple[int, int]) -> None:
    """A difference is reported from its first octet to its last.  FPDUs stay as first captured."""
    talk = started()
    seq = talk.say(0, STREAM[:captured], size=500)
    begin, end, places = copy
    copied = (REQUEST + STREAM)[len(REQUEST) + begin : len(REQUEST) + end]
    talk.copy(0, seq + begin, changed(copied, *places))
    talk.say(0, STREAM[captured:], size=500)
    talk.close()
    events = talk.fed()
    assert overlaps(events) == [(0, seq + differ[0], differ[1])]
    assert {each.crc for each in fpdus(events, 0)} == {"good"}
    check_all_found(events)


def test_startup_octets_are_compared_as_well() -> None:
    """Another Request in the same place is a difference, not a second Request."""
    talk = Talk()
    seq = talk.say(0, REQUEST)
    talk.copy(0, seq, changed(REQUEST, 16))
    talk.say(1, REPLY)
    talk.copy(0, seq, changed(REQUEST, 17))
    talk.say(0, STREAM)
    talk.close()
    events = talk.fed()
    assert overlaps(events) == [(0, seq + 16, 1), (0, seq + 17, 1)]
    check_all_found(events)


@pytest.mark.parametrize("garbage", [False, True])
def test_a_keepalive_probe_is_no_overlap(garbage: bool) -> None:
    """A probe may carry one octet of garbage, in the newest octet's place (RFC 1122 4.2.3.6)."""
    talk = started()
    for at in range(0, len(STREAM), 500):
        seq = talk.say(0, STREAM[at : at + 500])
        newest = talk.next[0] - 1
        assert newest >= seq
        octet = STREAM[min(at + 500, len(STREAM)) - 1]
        talk.copy(0, newest, bytes([octet ^ 0x55 * garbage]))
    talk.close()
    events = talk.fed()
    assert overlaps(events) == []
    check_all_found(events)


@given(
    seed=st.integers(0, 2**32),
    markers=st.booleans(),
    rate=st.sampled_from((0.1, 0.5)),
    differing=st.booleans(),
)
def test_differences_are_reported_at_their_places(
    seed: int, markers: bool, rate: float, differing: bool
) -> None:
    """Retransmissions with other boundaries: each differing octet is reported, and no equal one.

    The report of a stretch runs from its first differing octet to its last.
    """
    rng = random.Random(seed)
    pair = halves(rng, markers=(markers, False), crc=True, count=8, mulpdu=600)
    sendings = impair.reorder(impair.cut_mss(pair[0].octets, 700), rng, 0.2)
    sendings = impair.overlap(sendings, pair[0].octets, rng, rate, differing=differing)
    segments = impair.conversation(pair, (sendings, []), rng, close=None)
    differ: list[set[int]] = []
    first: dict[int, int] = {}
    for segment in segments:
        if segment.direction == 0 and not segment.flags & impair.SYN:
            at = (segment.seq - pair[0].isn) % 2**32
            places = {
                place
                for place, octet in enumerate(segment.payload, at)
                if first.setdefault(place, octet) != octet
            }
            # One octet in the place of the newest octet may be a keep-alive probe.
            newest = len(segment.payload) == 1 and at == max(first)
            differ.append(set() if newest else places)
    events = feed_truth(segments)
    differences = [((seq - pair[0].isn) % 2**32, length) for _, seq, length in overlaps(events)]
    wanted = set().union(*differ)
    covered = {place for start, length in differences for place in range(start, start + length)}
    assert wanted <= covered
    assert all({start, start + length - 1} <= wanted for start, length in differences)
    found = [reported(each) for each in fpdus(events, 0)]
    assert sorted(found, key=lambda each: each.offset) == [
        expected(pair[0], fpdu) for fpdu in impair.capturable(segments, pair[0], 0)
    ]
