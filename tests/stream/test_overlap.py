# SPDX-License-Identifier: GPL-2.0-or-later
"""Octets captured twice: the first copy counts, and differences are reported (RFC 5044 A.3)."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.stream.events import Event, OverlapDiffers
from tests.stream.feed import cut_to, feed, feed_truth, fpdus, halves, of
from tests.stream.startup import found
from tests.stream.talk import REPLY, REQUEST, STREAM, ULPDUS, Talk, started
from tests.truth import impair
from tests.truth.impair import ACK


def overlaps(events: list[Event]) -> list[tuple[int, int, int]]:
    """Direction, sequence number and length of each difference."""
    return [(each.direction, each.seq, each.length) for each in of(OverlapDiffers, events)]


def changed(octets: bytes, *places: int) -> bytes:
    """The same octets, changed at these places."""
    return bytes(octet ^ 0xFF if at in places else octet for at, octet in enumerate(octets))


def test_startup_frames_are_compared_as_well() -> None:
    """Another Request in the same place is a difference, not a second Request.

    A difference is reported from its first octet to its last, across the end of the Request, too.
    """
    talk = Talk()
    seq = talk.say(0, REQUEST)
    talk.copy(0, seq, changed(REQUEST, 16))
    talk.say(1, REPLY)
    talk.copy(0, seq, changed(REQUEST, 17))
    talk.say(0, STREAM[:100])
    talk.copy(0, seq + 18, changed((REQUEST + STREAM)[18:30], 0, 2))
    talk.say(0, STREAM[100:], size=500)
    # One octet that is not the newest is no keep-alive probe.
    talk.copy(0, seq + 60, changed(STREAM[40:41], 0))
    events = talk.closed()
    differ = [(16, 1), (17, 1), (18, 3), (60, 1)]
    assert overlaps(events) == [(0, seq + at, length) for at, length in differ]
    assert {each.crc for each in fpdus(events, 0)} == {"good"}
    assert found(events, 0) == ULPDUS


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
            # One octet in the place of the newest octet may be a keep-alive probe, which may carry
            # any octet (RFC 1122 4.2.3.6).
            newest = len(segment.payload) == 1 and at == max(first)
            differ.append(set() if newest else places)
    events = feed_truth(segments)
    differences = [((seq - pair[0].isn) % 2**32, length) for _, seq, length in overlaps(events)]
    wanted = set().union(*differ)
    covered = {place for start, length in differences for place in range(start, start + length)}
    assert wanted <= covered
    assert all({start, start + length - 1} <= wanted for start, length in differences)
    assert sorted((each.offset, each.ulpdu) for each in fpdus(events, 0)) == [
        (fpdu.seq_offset, fpdu.ulpdu) for fpdu in impair.capturable(segments, pair[0], 0)
    ]


@pytest.mark.parametrize("captured", [150, 151])
def test_only_captured_octets_are_compared(captured: int) -> None:
    """A difference is reported where both copies have the octet.  Cut-off octets do not differ."""
    talk = started()
    seq = talk.say(0, STREAM, size=300)
    talk.say(1, flags=ACK)
    first, last = 5, len(talk.segments)
    talk.copy(0, seq + 100, changed(STREAM[100:300], 50))
    talk.copy(0, seq + 300, changed(STREAM[300:600], 150))
    cuts = {first: captured, last: 100, last + 1: captured}
    assert overlaps(feed(cut_to(talk.captured(), cuts))) == [
        (0, (seq + at) % 2**32, 1) for at in (150, 450) if captured == 151
    ]
