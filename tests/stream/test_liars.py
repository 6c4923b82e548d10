# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs that are not verified: which are told, and what is not taken for one (RFC 5044 8)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
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


def check_but_one(
    ulpdus: Sequence[bytes], damage: dict[int, Damage], which: int, *, size: int = 1460
) -> None:
    """The same, but that this one need not be told."""
    octets, truth = build_stream(ulpdus, damage=damage)
    said, wanted = found(octets, size=size), true(truth)
    assert said in (wanted, wanted[:which] + wanted[which + 1 :])


@pytest.mark.parametrize("filler", [bytes(8), HEADER_WORDS, b"\xff" * 8])
@pytest.mark.parametrize("payload", [64, 480])
@pytest.mark.parametrize("lie", [0, 18, 32, 48, 64, 136, 700, 1000, 65_535])
@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("sender", [False, True])
@pytest.mark.parametrize("size", [97, 1460])
def test_payload_behind_a_lying_length_is_no_row_of_fpdus(
    filler: bytes, payload: int, lie: int, markers: bool, sender: bool, size: int
) -> None:
    """What only looks like headers, or not even that, is not reported up to the next good one."""
    ulpdus = [messages.send(msn, (filler * 60)[:payload])[0] for msn in range(1, 9)]
    check(ulpdus, {2: Damage(ulpdu_length=lie, sender=sender)}, markers=markers, size=size)


@pytest.mark.parametrize(
    ("lie", "sender"),
    # About the pad alone a sender does not lie: its CRC covers it, and all fits.
    [(696, False), (696, True), (699, False), (701, False), (704, False), (704, True)],
)
@pytest.mark.parametrize("which", [0, 4, 10])
@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("size", [708, 65_000])
def test_a_length_that_is_a_little_wrong(
    lie: int, sender: bool, which: int, markers: bool, size: int
) -> None:
    """It costs that FPDU only (RFC 5044 6)."""
    harm = {which: Damage(ulpdu_length=lie, sender=sender)}
    check(sends(12, 682), harm, markers=markers, size=size)


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


@pytest.mark.parametrize("markers", [False, True])
def test_a_lying_fpdu_may_be_the_shortest_there_is(markers: bool) -> None:
    """A Write of no octets takes 20 (RFC 5040 5.1), and may claim 64 KiB."""
    writes = [messages.write(7, 100, b"")[0], messages.write(7, 200, bytes(90))[0]] * 4
    check(writes, {4: Damage(ulpdu_length=57_596)}, markers=markers, size=77)


SENT, DAMAGED = Damage(sender=True), Damage()
FLIPPED, BAD = Damage(flip=(30, 1)), Damage(crc_xor=1)


@pytest.mark.parametrize(
    ("payload", "end", "damage", "others"),
    [
        # It swallows good ones, and the CRC of the second fits once its length is set right.
        (700, 5, DAMAGED, {}),
        (700, 5, SENT, {}),
        # It is damaged otherwise, too, and swallows one that is damaged, or another liar.
        (300, 20, FLIPPED, {9: BAD}),
        (300, 20, FLIPPED, {9: Damage(ulpdu_length=20_000)}),
        (40, 11, SENT, {7: Damage(ulpdu_length=30_000)}),
        # Some in a row between others lead to where it says that it ends.
        *(
            (
                40,
                13,
                DAMAGED,
                {4: replace(how, ulpdu_length=34), 9: replace(how, ulpdu_length=65_535)},
            )
            for how in (DAMAGED, SENT)
        ),
        # Good ones that end there, too, are none of its payload, which would end with a CRC.
        (40, 7, FLIPPED, {7: BAD}),
    ],
)
@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("size", [500, 1460])
def test_a_liar_that_claims_to_end_where_an_fpdu_begins(
    payload: int, end: int, damage: Damage, others: dict[int, Damage], markers: bool, size: int
) -> None:
    """It leads right to an FPDU, and hides none of those before."""
    ulpdus = sends(30, payload)
    _, plain = build_stream(ulpdus, markers=markers)
    within = sum(each.markers for each in plain[3:end])
    claim = plain[end].start - plain[3].start - 6 - 4 * within
    damage = replace(damage, ulpdu_length=claim)
    check(ulpdus, {3: damage, **others}, markers=markers, size=size)


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


@pytest.mark.parametrize("sender", [False, True])
@pytest.mark.parametrize(("every", "lies"), [(10, "near"), (5, "near"), (10, "any"), (3, "any")])
@pytest.mark.parametrize("markers", [False, True])
def test_many_short_fpdus_of_which_many_lie(
    markers: bool, every: int, lies: str, sender: bool
) -> None:
    """A thousand of the shortest kind, far from the end of what is there: it costs little to tell
    where a liar ends that ends near."""
    rng = random.Random(every)
    writes = [messages.write(7, 8 * at, rng.randbytes(8))[0] for at in range(1000)]
    choices = [14, 18, 26, 30, 62] if lies == "near" else range(100, 1 << 16)
    damage = {
        at: Damage(ulpdu_length=rng.choice(choices), sender=sender)
        for at in range(every, 990, every)
    }
    check(writes, damage, markers=markers, size=1400)


@pytest.mark.parametrize("damaged", [Damage(crc_xor=1), Damage(ulpdu_length=700)])
@pytest.mark.parametrize("sender", [False, True])
def test_a_liar_may_end_where_an_fpdu_begins_and_hold_some(damaged: Damage, sender: bool) -> None:
    """FPDUs in its payload, where some may begin, are none: its CRC fits its true length."""
    held, _ = build_stream(sends(3, 30))
    ulpdus = sends(11, 40)
    ulpdus[2] = messages.send(3, bytes(4) + held + bytes(50))[0]
    _, plain = build_stream(ulpdus)
    lie = Damage(ulpdu_length=plain[6].start - plain[2].start - 6, sender=sender)
    check_but_one(ulpdus, {2: lie, 3: damaged}, 3, size=300)


def test_damaged_headers_behind_a_liar_cost_no_other() -> None:
    """A good FPDU between a liar and others that make no sense is found."""
    damage = {
        3: Damage(ulpdu_length=31_206, sender=True),
        5: Damage(flip=(0, 123)),
        6: Damage(flip=(1, 45)),
    }
    # Of several in a row only those with a header that makes sense are more than a guess.
    check_but_one(sends(11, 300, 2), damage, 6)


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


@pytest.mark.parametrize("sender", [False, True])
@pytest.mark.parametrize("lie", [0, 700, 65535])
@pytest.mark.parametrize("size", [97, 1460])
def test_fpdus_in_the_payload_of_a_liar(sender: bool, lie: int, size: int) -> None:
    """A capture of iWARP, say: its segments hold FPDUs in a row, with something else between."""
    inner, others = build_stream(sends(8, 90, lie))
    record = bytes([0x99]) * 58
    payload = b"".join(
        record + inner[others[first].start : others[first + 1].end] for first in (0, 2, 4, 6)
    )
    ulpdus = sends(8, 300, lie)
    ulpdus[3] = messages.send(4, payload + record)[0]
    check(ulpdus, {3: Damage(ulpdu_length=lie, sender=sender)}, size=size)


def test_fpdus_that_fill_the_payload_of_a_liar() -> None:
    """One FPDU a segment says which are the connection's (RFC 5044 A.1).

    None of the inner ones leads to where a segment begins.
    """
    inner, _ = build_stream(sends(2, 82))
    ulpdus = [messages.send(msn, inner * 3)[0] for msn in range(1, 9)]
    size = build_stream(ulpdus)[1][0].end
    check(ulpdus, {3: Damage(ulpdu_length=60_000, sender=True)}, size=size)


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


@pytest.mark.parametrize("left", range(4, 48, 4))
@pytest.mark.parametrize("carrier", [3, 4])
@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("size", [97, 1460])
def test_fpdus_in_the_payload_of_one_of_several_damaged(
    left: int, carrier: int, markers: bool, size: int
) -> None:
    """Lengths lead over the damaged ones to a good one, whatever else may begin in a payload, and
    wherever the last one of that, of which a part is there, may seem to end."""
    inner, others = build_stream(sends(6, 20, left))
    assert others[5].end - others[5].start == 44 < others[5].start
    ulpdus = sends(11, 30, left)
    ulpdus[carrier] = messages.send(carrier + 1, inner[: others[5].start + left])[0]
    damage = {3: Damage(flip=(19, 1)), 4: Damage(crc_xor=1), 8: Damage(crc_xor=1)}
    check(ulpdus, damage, markers=markers, size=size)


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
