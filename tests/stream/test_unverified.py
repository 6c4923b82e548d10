# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs that are not verified: which are reported, and which octets are no FPDU (RFC 5044 8)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

import pytest

from scapy_mpa.stream.events import Event
from tests.stream.cut import stream
from tests.stream.feed import fpdus
from tests.stream.talk import started
from tests.truth.mpastream import TrueFPDU

Found = tuple[int, int, str]
"""Offset, ULPDU_Length and verdict."""


def in_order(events: list[Event]) -> list[Found]:
    """The FPDUs found, in stream order."""
    return sorted((each.offset or 0, each.ulpdu_length, each.crc) for each in fpdus(events, 0))


def true(truth: Sequence[TrueFPDU]) -> list[Found]:
    """The reports of good FPDUs."""
    return [(each.seq_offset, each.ulpdu_length, "good") for each in truth]


def good(all_found: Sequence[Found]) -> list[Found]:
    """The good ones of all that were found."""
    return [each for each in all_found if each[2] == "good"]


def found(octets: bytes, *, markers: bool = False, size: int = 1460) -> list[Found]:
    """The FPDUs found in a connection that carries these octets."""
    talk = started(markers=markers)
    talk.say(0, octets, size=size)
    return in_order(talk.closed())


def garble(octets: bytearray, begin: int, end: int, rng: random.Random, *, markers: bool) -> None:
    """Change each octet from ``begin`` to ``end``, except those of Markers."""
    for at in range(begin, end):
        if not markers or at % 512 >= 4:
            octets[at] ^= rng.randrange(1, 256)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("several", [2, 3])
@pytest.mark.parametrize("markers", [False, True])
def test_good_fpdus_in_a_row_between_garbled_ones(seed: int, several: int, markers: bool) -> None:
    """No FPDU with a certain start spans them, and no payload holds them."""
    rng = random.Random(seed)
    octets, truth = stream([200] * 15, markers=markers)
    garbled = {3, 4, 5 + several, 6 + several}
    wrong = bytearray(octets)
    for index in garbled:
        garble(wrong, truth[index].seq_offset, truth[index].end, rng, markers=markers)
    reports = found(bytes(wrong), markers=markers, size=rng.choice((97, 500, 1460)))
    assert good(reports) == true([each for at, each in enumerate(truth) if at not in garbled])
    # A garbled FPDU is reported if its length leads to an FPDU with a certain start.
    starts = {truth[index].seq_offset for index in garbled}
    assert {each[0] for each in reports if each[2] == "bad"} <= starts


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("markers", [False, True])
def test_many_garbled_headers_hide_no_good_fpdus(seed: int, markers: bool) -> None:
    """Only the octets after an FPDU with garbled length and header show where it ends.  To search
    all that it may reach costs too much for many of them."""
    rng = random.Random(seed)
    octets, truth = stream([rng.randrange(60, 400) for _ in range(2000)], markers=markers)
    garbled: set[int] = set()
    while max(garbled, default=0) + 40 < len(truth):
        garbled.add(max(garbled, default=0) + rng.randrange(3, 40))
    wrong = bytearray(octets)
    for index in garbled:
        begin = truth[index].seq_offset
        garble(wrong, begin, begin + rng.randrange(6, 40), rng, markers=markers)
    reports = found(bytes(wrong), markers=markers)
    assert good(reports) == true([each for at, each in enumerate(truth) if at not in garbled])


@pytest.mark.parametrize("order", [(1, 2, 0), (2, 1, 0), (0, 2, 1)])
def test_an_island_without_fpdu_hides_none(order: tuple[int, int, int]) -> None:
    """The start of an island is not the start of an FPDU."""
    octets, truth = stream([600] * 39, markers=False)
    talk = started()
    first = talk.next[0]
    # Three pieces of one FPDU, each captured late, the last one with later octets.
    begin = truth[3].start
    edges = [0, *(begin + at for at in (100, 200, 300, 400, 500, 520)), truth[20].end]
    pieces = list(pairwise(edges))
    for index, (start, end) in enumerate(pieces):
        talk.say(0, octets[start:end], size=700, captured=index % 2 == 0)
    talk.say(1)
    talk.say(0, octets[truth[20].end : truth[30].end], size=700)
    for _ in range(80):
        talk.say(1)
    talk.say(0, octets[truth[30].end :], size=700)
    for index in order:
        start, end = pieces[2 * index + 1]
        talk.copy(0, first + start, octets[start:end])
    assert in_order(talk.closed()) == true(truth)
