# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs that are not verified: which are told, and what is not taken for one (RFC 5044 8)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

import pytest

from scapy_mpa.stream.events import Event
from tests.stream.feed import fpdus
from tests.stream.talk import started
from tests.truth import messages
from tests.truth.mpastream import Damage, TrueFPDU, build_stream

HEADER_WORDS = b"\x00\x20\x41\x43\x00\x40\xc1\x40"

Told = tuple[int, int, str]
"""Offset, ULPDU_Length and verdict."""


def sends(count: int, size: int, seed: int = 1) -> list[bytes]:
    """ULPDUs of Sends whose octets say nothing."""
    rng = random.Random(seed)
    return [messages.send(msn, rng.randbytes(size))[0] for msn in range(1, count + 1)]


def told(events: list[Event]) -> list[Told]:
    """What was found, in the order of the stream."""
    return sorted((each.offset or 0, each.ulpdu_length, each.crc) for each in fpdus(events, 0))


def true(truth: Sequence[TrueFPDU]) -> list[Told]:
    """What must be said."""
    said = []
    for each in truth:
        lie = each.damage.ulpdu_length if each.damage else None
        length = each.ulpdu_length if lie is None else lie
        said.append((each.seq_offset, length, "good" if each.crc_ok else "bad"))
    return said


def good(said: Sequence[Told]) -> list[Told]:
    """Of these, the good ones."""
    return [each for each in said if each[2] == "good"]


def found(octets: bytes, *, markers: bool = False, size: int = 1460) -> list[Told]:
    """What is told of a connection that carries these octets."""
    talk = started(markers=markers)
    talk.say(0, octets, size=size)
    return told(talk.closed())


def check(
    ulpdus: Sequence[bytes],
    damage: dict[int, Damage],
    *,
    markers: bool = False,
    size: int = 1460,
) -> None:
    """Each FPDU is told, as good or as bad as it is, and no other."""
    octets, truth = build_stream(ulpdus, markers=markers, damage=damage)
    assert found(octets, markers=markers, size=size) == true(truth)


@pytest.mark.parametrize("lie", [3000, 65535])
def test_a_liar_is_told_when_what_it_swallowed_was_found_before(lie: int) -> None:
    """Markers lead to the FPDUs behind a hole; when it is filled, the liar stands there."""
    octets, truth = build_stream(
        sends(11, 400, lie), markers=True, damage={3: Damage(ulpdu_length=lie)}
    )
    talk = started(markers=True)
    hole = talk.say_with_hole(0, octets, 1300, 1400, size=300)
    talk.copy(0, hole, octets[1300:1400])
    assert told(talk.closed()) == true(truth)


def test_lengths_may_lead_from_garbled_headers_over_rows_that_break() -> None:
    """All good ones are found, however many of those that were skipped are damaged."""
    ulpdus = sends(1199, 6)
    _, plain = build_stream(ulpdus)
    claim = plain[1000].start - plain[11].start - 6
    damage = {
        10: Damage(crc_xor=1),
        11: Damage(ulpdu_length=claim, flip=(2, 0x30)),
        500: Damage(ulpdu_length=0xFFFF, flip=(13, 1)),
        700: Damage(crc_xor=1),
    }
    octets, truth = build_stream(ulpdus, damage=damage)
    assert good(found(octets)) == good(true(truth))


def test_a_liar_may_lead_to_an_fpdu_in_the_payload_of_the_next() -> None:
    """The next one is good and holds that: no payload reaches beyond its own FPDU.

    That is seen if all of it is there.
    """
    inner, _ = build_stream([messages.write(9, at, bytes([at]) * 44)[0] for at in range(20)])
    ulpdus = sends(7, 300)
    ulpdus[3] = messages.write(7, 2000, inner)[0]
    octets, plain = build_stream(ulpdus)
    claim = plain[3].start + 16 - plain[2].start - 6
    check(ulpdus, {2: Damage(ulpdu_length=claim, flip=(13, 1))}, size=len(octets))


def garble(octets: bytearray, begin: int, end: int, rng: random.Random, *, markers: bool) -> None:
    """Change each octet from ``begin`` to ``end``, but those of Markers."""
    for at in range(begin, end):
        if not markers or at % 512 >= 4:
            octets[at] ^= rng.randrange(1, 256)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("several", [2, 3])
@pytest.mark.parametrize("markers", [False, True])
def test_good_ones_in_a_row_between_others_that_were_garbled(
    seed: int, several: int, markers: bool
) -> None:
    """No FPDU reaches over them from where one begins for certain, and no payload holds them."""
    rng = random.Random(seed)
    octets, truth = build_stream(sends(15, 200, seed), markers=markers)
    garbled = {3, 4, 5 + several, 6 + several}
    wrong = bytearray(octets)
    for index in garbled:
        garble(wrong, truth[index].seq_offset, truth[index].end, rng, markers=markers)
    said = found(bytes(wrong), markers=markers, size=rng.choice((97, 500, 1460)))
    assert good(said) == true([each for at, each in enumerate(truth) if at not in garbled])
    # A garbled one is told if its length leads on, and one begins for certain where it does.
    starts = {truth[index].seq_offset for index in garbled}
    assert {each[0] for each in said if each[2] == "bad"} <= starts


def fpdus_and_a_part(rng: random.Random, count: int, part: int) -> bytes:
    """Octets of so many FPDUs, and the beginning of another one."""
    inner, others = build_stream(
        [messages.send(msn, rng.randbytes(rng.randrange(20, 60)))[0] for msn in range(1, count + 2)]
    )
    return inner[: others[count].start + part]


@pytest.mark.parametrize("ends_in_it", [False, True])
@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("size", [97, 400])
def test_fpdus_in_the_payload_of_one_that_a_hole_cuts_off(
    ends_in_it: bool, markers: bool, size: int
) -> None:
    """It begins for certain, and ends in the hole or where a good one begins behind it: so it is no
    liar, and they are its payload."""
    ulpdus = sends(39, 300, size)
    ulpdus[5] = messages.send(6, fpdus_and_a_part(random.Random(5), 12, 20))[0]
    octets, truth = build_stream(ulpdus, markers=markers)
    begin = truth[5].start + 300
    end = truth[5].end + 40 if ends_in_it else begin + 100
    talk = started(markers=markers)
    talk.say_with_hole(0, octets, begin, end, size=size)
    assert told(talk.closed()) == true([*truth[:5], *truth[7 if ends_in_it else 6 :]])


@pytest.mark.parametrize("left", [4, 20, 36])
@pytest.mark.parametrize("lie", [0, 60, 700, 65535])
@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("sender", [False, True])
@pytest.mark.parametrize("size", [97, 1460])
def test_fpdus_in_the_payload_of_a_liar_and_a_part_of_one(
    left: int, lie: int, markers: bool, sender: bool, size: int
) -> None:
    """Lengths lead from FPDU to FPDU, and on to what looks like one: but only where the liar ends
    does its CRC fit."""
    payload = fpdus_and_a_part(random.Random(left), 4, left)
    ulpdus = sends(99, 900, left)
    for carrier in (3, 20, 21, 60):
        ulpdus[carrier] = messages.send(carrier + 1, payload)[0]
    liar = Damage(ulpdu_length=lie, sender=sender)
    check(ulpdus, {3: liar, 20: liar, 60: liar}, markers=markers, size=size)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("markers", [False, True])
def test_many_liars_hide_no_good_ones(seed: int, markers: bool) -> None:
    """Some claim 64 KiB, and wherever others stop in these one may truly end: to ask that of all
    leaves enough for the search behind the next."""
    rng = random.Random(seed)
    ulpdus = [
        messages.send(msn, rng.randbytes(rng.choice((30, 200, 1400))))[0] for msn in range(1, 180)
    ]
    damage = {
        index: Damage(ulpdu_length=rng.randrange(1 << 16), sender=True)
        if rng.random() < 0.6
        else Damage(crc_xor=1)
        for index in range(3, 178)
        if rng.random() < 0.2
    }
    octets, truth = build_stream(ulpdus, markers=markers, damage=damage)
    said = found(octets, markers=markers)
    assert good(said) == good(true(truth))
    assert set(said) <= set(true(truth))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("markers", [False, True])
def test_many_garbled_beginnings_hide_no_good_ones(seed: int, markers: bool) -> None:
    """Where one with a garbled length and header ends nothing tells but what follows it; to look
    for that in all that it may reach takes, of many, more than searches may cost."""
    rng = random.Random(seed)
    ulpdus = [messages.send(msn, rng.randbytes(rng.randrange(60, 400)))[0] for msn in range(2000)]
    octets, truth = build_stream(ulpdus, markers=markers)
    garbled: set[int] = set()
    while max(garbled, default=0) + 40 < len(truth):
        garbled.add(max(garbled, default=0) + rng.randrange(3, 40))
    wrong = bytearray(octets)
    for index in garbled:
        begin = truth[index].seq_offset
        garble(wrong, begin, begin + rng.randrange(6, 40), rng, markers=markers)
    said = found(bytes(wrong), markers=markers)
    assert good(said) == true([each for at, each in enumerate(truth) if at not in garbled])


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("words", [2_250, 5_000])
@pytest.mark.parametrize("lie", [18, 20_000, 65_535])
@pytest.mark.parametrize(("holed", "at"), [(1, 100), (2, 100), (3, 4_000)])
def test_a_long_liar_full_of_headers_hides_no_good_ones(
    markers: bool, words: int, lie: int, holed: int, at: int
) -> None:
    """Each word of such a payload may be where another FPDU begins, so that thousands are asked;
    and a hole leaves nothing behind it but more of them."""
    payload = (HEADER_WORDS * (words // 2))[:-4]
    ulpdus = [messages.send(msn, payload, mulpdu=65_000)[0] for msn in range(1, 6)]
    octets, truth = build_stream(ulpdus, markers=markers, damage={0: Damage(ulpdu_length=lie)})
    hole = truth[holed].start + at
    talk = started(markers=markers)
    talk.say_with_hole(0, octets, hole, hole + 100, size=1460)
    assert told(talk.closed()) == true([*truth[:holed], *truth[holed + 1 :]])


@pytest.mark.parametrize("order", [(1, 2, 0), (2, 1, 0), (0, 2, 1)])
def test_an_island_without_fpdu_that_joins_others_hides_none(order: tuple[int, int, int]) -> None:
    """Where an island began is no place where an FPDU begins."""
    octets, truth = build_stream(sends(39, 600, 3))
    talk = started()
    first = talk.next[0]
    # Three pieces of one FPDU, each captured late, the last of them with what follows.
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
    assert told(talk.closed()) == true(truth)


def test_a_liar_that_comes_late_and_claims_fpdus_that_were_there() -> None:
    """They were placed by their Markers, and are found however long it says that it is."""
    ulpdus = [messages.send(msn, bytes(1480))[0] for msn in range(1, 40)]
    octets, truth = build_stream(ulpdus, markers=True, damage={20: Damage(ulpdu_length=4500)})
    talk = started(markers=True)
    base = talk.next[0]
    order = [*range(20), 21, 22, 20, *range(23, 39)]
    for at in order:
        each = truth[at]
        talk.copy(0, base + each.start, octets[each.start : each.end])
    talk.next[0] = base + len(octets)
    assert told(talk.closed()) == true(truth)
