# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs whose DDP or RDMAP header makes no sense, where only their CRC speaks for them.

MPA does not look at what it carries (RFC 5044 4): who breaks a rule above it, or has another ULP on
DDP, is to be seen behind holes as well.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.stream.events import FPDURecovered
from tests.stream.feed import feed_truth, fpdus
from tests.stream.scene import begun, say_without
from tests.stream.startup import reply, request
from tests.truth import impair, mpastream
from tests.truth.messages import send, tagged_header, untagged_header

SENSELESS = {
    "DDP version 2": untagged_header(3, 0, 3, 0, True, ddp_version=2) + b"x" * 50,
    "RDMAP version 3": untagged_header(3, 0, 3, 0, True, rdmap_version=3) + b"x" * 50,
    "tagged, DDP version 2": tagged_header(0, 7, 8, True, ddp_version=2) + b"x" * 50,
    "opcode 12": untagged_header(12, 0, 3, 0, True) + b"x" * 50,
    "tagged, opcode 12": tagged_header(12, 7, 8, True) + b"x" * 50,
    "queue 4": untagged_header(3, 4, 3, 0, True) + b"x" * 50,
    "a tagged Send": tagged_header(3, 7, 8, True) + b"x" * 50,
    "an untagged Write": untagged_header(0, 0, 3, 0, True) + b"x" * 50,
    "a short Read Request": untagged_header(1, 1, 1, 0, True) + b"x" * 20,
    "a Terminate of nothing": untagged_header(7, 2, 1, 0, True),
    "one octet": b"A",
    "thirteen octets": tagged_header(0, 7, 8, True)[:13],
    "9000 octets": b"\xff" * 9000,
}


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("is_amid", [False, True])
@pytest.mark.parametrize("name", SENSELESS)
def test_between_two_holes(name: str, is_amid: bool, count: int, markers: bool) -> None:
    """Behind a part of another FPDU and before the next, or with segments of their own."""
    ulpdus = [send(1, bytes(100))[0]] * 2 + [SENSELESS[name]] * count + [send(4, bytes(100))[0]] * 4
    octets, truth = mpastream.build_stream(ulpdus, markers=markers)
    start, end = truth[2].start, truth[1 + count].end
    if is_amid:
        start, end = start - 30, end + 40
    last = truth[3 + count].start - 20
    talk = begun(markers=markers)
    say_without(talk, octets, [(truth[1].start, start), (end, last)], size=60_000)
    found = {each.offset: each for each in fpdus(talk.fed(), 0)}
    for each in truth[2 : 2 + count]:
        assert found[each.seq_offset].crc == "good"
        assert found[each.seq_offset].ulpdu == each.ulpdu
    whole = [each for each in truth if each.end <= truth[0].end or each.start >= last]
    assert set(found) == {each.seq_offset for each in (*whole, *truth[2 : 2 + count])}


@given(
    seed=st.integers(0, 2**32),
    markers=st.booleans(),
    mss=st.sampled_from((5, 60, 536, 1448)),
    lost=st.sampled_from((0.02, 0.1, 0.3)),
    short=st.booleans(),
)
def test_any_ulpdus(seed: int, markers: bool, mss: int, lost: float, short: bool) -> None:
    """A direction of nothing else, behind capture loss: what is whole is found, and no more."""
    rng = random.Random(seed)
    lengths = (1, 2, 3) if short else (1, 2, 3, 13, 14, 15, 17, 18, 19, rng.randrange(1, 1100))
    ulpdus = [rng.randbytes(rng.choice(lengths)) for _ in range(60)]
    octets, truth = mpastream.build_stream(ulpdus, markers=markers)
    other = mpastream.build_stream([send(msn, bytes(20))[0] for msn in range(1, 9)])
    pair = (
        impair.Half(request(), octets, truth, rng.getrandbits(32)),
        impair.Half(reply(markers=int(markers)), *other, rng.getrandbits(32)),
    )
    sendings = impair.miss(impair.cut_mss(octets, mss), rng, lost)
    segments = impair.conversation(
        pair, (sendings, impair.cut_mss(other[0], 1448)), rng, close=None
    )
    captured = set[int]()
    for each in segments:
        if each.direction == 0:
            at = (each.seq - pair[0].base) % 2**32
            captured |= set(range(at, at + len(each.payload)))
    whole = {each.seq_offset for each in truth if captured >= set(range(each.start, each.end))}
    found = [each for each in feed_truth(segments) if isinstance(each, FPDURecovered)]
    places = [(each.seq - pair[0].base) % 2**32 for each in found if each.direction == 0]
    assert sorted(places) == sorted(whole)
