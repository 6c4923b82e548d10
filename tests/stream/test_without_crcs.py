# SPDX-License-Identifier: GPL-2.0-or-later
"""What lengths, Markers and headers establish where no CRC does (RFC 5044 6), and nothing else."""

from __future__ import annotations

import itertools
import random
import struct
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from scapy_mpa.stream.events import ErrorFound, Event
from tests.stream.feed import fpdus
from tests.stream.scene import begun, say_without
from tests.truth import messages, mpastream
from tests.truth.impair import ACK
from tests.truth.mpastream import TrueFPDU

BASE = 1021
"""Sequence number of offset 0 of direction 0 below."""

LOOKS_LIKE_HEADERS = b"\x00\x20\x41\x43\x00\x40\xc1\x40"
"""ULPDU_Length and control octets of a Send, and of a Write: each fourth word is a header."""


def sends(sizes: list[int], filler: bytes | None = None, *, first: int = 1) -> list[bytes]:
    """Sends of these many octets of payload: of random ones, or filled."""
    return [
        messages.send(
            msn,
            random.Random(msn).randbytes(size)
            if filler is None
            else (filler * (size // len(filler) + 1))[:size],
            size + 18,
        )[0]
        for msn, size in enumerate(sizes, first)
    ]


def row(ulpdus: Sequence[bytes], **options: Any) -> tuple[bytes, list[TrueFPDU]]:
    """FPDUs without CRCs."""
    return mpastream.build_stream(ulpdus, crc=False, **options)


def captured(
    octets: bytes, holes: Sequence[tuple[int, int]], *, markers: bool = False, size: int = 1460
) -> list[Event]:
    """The events of a capture that lacks the octets from the one place to the other of each hole.

    The octets are sent in segments of ``size``; what a hole leaves of one was a segment of its own.
    """
    talk = begun(markers=markers, crc=False)
    say_without(talk, octets, holes, size=size)
    return talk.fed()


def found(events: list[Event]) -> list[int]:
    """Offsets of the FPDUs of direction 0, ascending."""
    return sorted(each.offset or 0 for each in fpdus(events, 0))


def whole(truth: list[TrueFPDU], holes: Sequence[tuple[int, int]]) -> list[TrueFPDU]:
    """The FPDUs that no hole touches."""
    return [
        each for each in truth if not any(at < each.end and each.start < end for at, end in holes)
    ]


def offsets(truth: Iterable[TrueFPDU]) -> list[int]:
    """Where FPDUs begin."""
    return [each.seq_offset for each in truth]


def check(
    octets: bytes,
    truth: list[TrueFPDU],
    holes: Sequence[tuple[int, int]] = (),
    *,
    markers: bool = False,
    size: int = 1460,
) -> None:
    """All FPDUs that no hole touches are found, no other, and nothing is wrong."""
    events = captured(octets, holes, markers=markers, size=size)
    assert found(events) == offsets(whole(truth, holes))
    assert not [each for each in events if isinstance(each, ErrorFound)]


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("size", [1, 40, 1460])
@pytest.mark.parametrize("which", [range(12), range(3, 7), range(11, 12)], ids=str)
def test_stags_that_are_none(markers: bool, size: int, which: range) -> None:
    """A receiver ignores what stands where a Send has no Invalidate STag (RFC 5040 4.1)."""
    ulpdus = sends([*range(40, 52)])
    for at in which:
        ulpdus[at] = ulpdus[at][:2] + b"\x46\x8d\xc0\0" + ulpdus[at][6:]
    check(*row(ulpdus, markers=markers), markers=markers, size=size)


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("size", [1, 100, 1460])
@pytest.mark.parametrize("kind", ["send", "write"])
@pytest.mark.parametrize("which", [[0], [1], [5], [4, 8], [10], [11]], ids=str)
def test_a_header_that_makes_no_sense(
    which: list[int], kind: str, size: int, markers: bool
) -> None:
    """It is told, since its length leads to where others begin, or to the FIN."""
    ulpdus = sends([40] * 12)
    if kind == "write":
        ulpdus = messages.write(5, 1 << 40, random.Random(5).randbytes(720), mulpdu=74)
    for at in which:
        # A version of DDP that there is not.
        ulpdus[at] = bytes([ulpdus[at][0] | 2]) + ulpdus[at][1:]
    octets, truth = row(ulpdus, markers=markers)
    assert len(truth) == 12
    check(octets, truth, markers=markers, size=size)


def test_a_short_length_in_zeros() -> None:
    """Zeros behind it lead to the next FPDU as a header might, but are too short for one."""
    ulpdus = sends([80] * 12, b"\0")
    harm = {5: mpastream.Damage(ulpdu_length=len(ulpdus[5]) - 8)}
    octets, truth = row(ulpdus, damage=harm)
    assert found(captured(octets, [])) == offsets(truth)


@pytest.mark.parametrize("before", [1, 2, 3, 6])
def test_lengths_that_lead_to_where_a_marker_points(before: int) -> None:
    """Between a hole and the first FPDU that holds a Marker there are some that hold none."""
    octets, truth = row(sends([700, *[30] * 100]), markers=True)
    pointed = next(at for at, each in enumerate(truth) if each.start > 1600 and each.markers)
    assert not any(each.markers for each in truth[pointed - before : pointed])
    check(octets, truth, [(900, truth[pointed - before].start - 8)], markers=True)


@pytest.mark.parametrize("size", [400, 1400, 3000, 9000])
@pytest.mark.parametrize("shift", range(0, 72, 8))
def test_payloads_that_look_like_headers(size: int, shift: int) -> None:
    """Behind a hole, and before one, nothing is believed that the next Marker contradicts."""
    octets, truth = row(sends([size] * (40_000 // size), LOOKS_LIKE_HEADERS), markers=True)
    holes = [(9000 + shift, 13_000 + shift), (21_000, 24_000), (30_000, 30_004)]
    events = captured(octets, holes, markers=True)
    there = {each.seq_offset for each in whole(truth, holes)}
    assert set(found(events)) <= there
    # Those that hold a Marker are located by it.
    assert set(found(events)) >= {each.seq_offset for each in whole(truth, holes) if each.markers}


def test_a_word_that_a_payload_repeats_and_a_header_that_it_does_not() -> None:
    """Of an untagged header there is more than the word that its payload holds, too."""
    ulpdus = [
        *sends([700]),
        *sends([14], LOOKS_LIKE_HEADERS, first=2),
        *sends([30] * 20, first=3),
    ]
    octets, truth = row(ulpdus, markers=True)
    assert octets.count(LOOKS_LIKE_HEADERS[:4], truth[1].start, truth[1].end) > 1
    assert not any(each.markers for each in truth[1:5])
    check(octets, truth, [(100, 600)], markers=True)


@pytest.mark.parametrize("size", [30_000, 65_000])
@pytest.mark.parametrize("at", [0, 20_000])
def test_long_fpdus_behind_a_hole(size: int, at: int) -> None:
    """However many octets three in a row take."""
    check(*row(sends([size] * 5)), [(at, at + 1460)])


@pytest.mark.parametrize("size", range(1400, 1472, 4))
def test_what_repeats_itself_in_front_of_a_marker(size: int) -> None:
    """Headers in a payload, of FPDUs that lead exactly to the end of the one that carries them."""
    octets, truth = row(
        [*sends([size], LOOKS_LIKE_HEADERS), *sends([600] * 20, first=2)], markers=True
    )
    end = truth[0].end
    for begin in range(end - 400, end - 144, 16):
        check(octets, truth, [(0, begin)], markers=True)


@pytest.mark.parametrize("begin", [56, 64, 72, 80, 136, 144])
@pytest.mark.parametrize("there", [4, 20, 60])
def test_what_repeats_itself_before_a_marker_behind_which_little_is_there(
    begin: int, there: int
) -> None:
    """Its FPDU leads exactly to the place to which the Marker points, and no further."""
    (write,) = messages.write(1, 2**40 + 5, LOOKS_LIKE_HEADERS * 60 + bytes(6), mulpdu=500)
    octets, truth = row([write] * 4, markers=True)
    assert [each.end for each in truth] == [512, 1024, 1536, 2048]
    assert octets[1024 - 72 :].startswith(b"\x00\x40\xc1\x40")
    events = captured(octets, [(100, 1024 - begin), (1024 + there, 1536)], markers=True)
    assert found(events) == [truth[3].seq_offset]


def test_payloads_that_look_like_headers_between_many_holes() -> None:
    """From the end of one payload lengths lead into the next, and to where a true FPDU begins.

    What holds a Marker is found; little is found of what is not there, where no Marker tells.
    """
    fillers = (LOOKS_LIKE_HEADERS, b"\x00\x40\xc1\x40", b"\x00\x20\x41\x43")
    amiss = count = 0
    for size, filler, seed in itertools.product((30, 64, 100, 200, 400), fillers, range(4)):
        rng = random.Random(seed)
        ulpdus = []
        for msn in range(1, 6000 // size):
            payload = (filler * size)[: size + rng.choice((0, 0, 1, 4, 8, 12))]
            sent = (messages.send(msn, payload), messages.write(msn << 8, 77, payload))
            ulpdus += rng.choice(sent)
        idle = rng.choice((bytes(4), b"\xde\xad\xbe\xef"))
        octets, truth = row(ulpdus, markers=True, idle_crc_field=idle)
        holes = []
        at = rng.randrange(100)
        while at < len(octets) - 800:
            holes.append((at, at + rng.choice((1, 4, 20, 100, 400))))
            after = rng.choice((20, 60, 100, 200, 300, 400, 700, 2000))
            at = holes[-1][1] + after + rng.randrange(40)
        events = set(found(captured(octets, holes, markers=True)))
        there = whole(truth, holes)
        assert events >= {each.seq_offset for each in there if each.markers}
        amiss += len(events - {each.seq_offset for each in there})
        count += len(events)
    assert amiss <= count / 40


@pytest.mark.parametrize("inner", [3, 7])
@pytest.mark.parametrize("before", [1000, 1004, 1100])
def test_fpdus_in_a_payload_that_a_marker_claims(before: int, inner: int) -> None:
    """A capture of iWARP may travel over iWARP: a row of headers is nothing beside a Marker."""
    within, _ = row(sends([8] * inner))
    payload = bytes(before) + within
    payload += bytes(2000 - len(payload))
    made = [*sends([500]), *messages.send(2, payload, 60_000), *sends([30] * 20, first=3)]
    octets, truth = row(made, markers=True)
    begin = octets.index(within[:40])
    assert begin % 512 + len(within) < 512
    assert begin + 512 < truth[1].end
    check(octets, truth, [(100, begin)], markers=True)


def test_two_ways_that_lead_to_the_same_place() -> None:
    """FPDUs in a row, and a payload that claims them: the row says more."""
    ulpdus = sends([900, 6, 4, 600, 30, 30, 600])
    ulpdus[0] = ulpdus[0][:-8] + b"\x00\x40\xc1\x40" + bytes(4)
    octets, truth = row(ulpdus, markers=True)
    at = truth[0].end - 12
    assert octets[at : at + 4] == b"\x00\x40\xc1\x40"
    assert at + 72 == truth[2].end == truth[3].start
    check(octets, truth, [(100, at)], markers=True)


def check_between_markers(first: bytes, begin: int, count: int) -> None:
    """So many FPDUs are whole between two holes that hide all Markers, and all are found.

    first: the ULPDU of the first of them; begin: octets that are there of the one before it.
    """
    lead = sends([796])
    lead[0] = lead[0][:-8] + b"\x00\x26\xc1\x40" + bytes(4)
    ulpdus = [*lead, first, *sends([6, 4, 2] * 20, first=2)]
    octets, truth = row(ulpdus, markers=True)
    holes = [(100, truth[0].end - begin), (1020, len(octets) - 8)]
    assert len(whole(truth, holes)) == count
    check(octets, truth, holes, markers=True)


def test_an_untagged_header_says_more_than_a_tagged_one() -> None:
    """What looks like a Write at the end of a payload leads to where a Send ends, too."""
    check_between_markers(sends([6])[0], 12, 6)


def header_of_send(ulpdu_length: int, msn: int) -> bytes:
    """ULPDU_Length and header of a Send."""
    return ulpdu_length.to_bytes(2, "big") + messages.send(msn, b"")[0]


def test_an_msn_that_does_not_go_on_is_part_of_a_payload() -> None:
    """What looks like a Send at the end of a payload leads to where another ends."""
    ulpdus = sends([800, *[6] * 20])
    # Its octets are 20 of that payload, 4 of the CRC field, and all of the next FPDU.
    ulpdus[0] = ulpdus[0][:-20] + header_of_send(50, 77)
    octets, truth = row(ulpdus)
    check(octets, truth, [(100, truth[0].end - 24)])


def test_an_msn_that_goes_on_is_of_an_fpdu() -> None:
    """What looks like a Send at the end of its payload leads to where it ends."""
    ulpdus = sends([400] * 20)
    # With the CRC field 60 octets.
    ulpdus[2] = ulpdus[2][:-56] + header_of_send(54, 77) + bytes(36)
    octets, truth = row(ulpdus)
    check(octets, truth, [(100, truth[2].start)])


def test_a_payload_that_repeats_itself_contests_nothing() -> None:
    """One of its headers leads to where the Write ends that carries it."""
    payload = LOOKS_LIKE_HEADERS * 12
    (write,) = messages.write(1, 2**40 + 5, payload, mulpdu=1000)
    check_between_markers(write, 8, 3)


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("there", range(1, 32))
def test_a_hole_in_a_header(there: int, markers: bool) -> None:
    """As much of it as was captured speaks against nothing, whatever the hole leaves of it."""
    octets, truth = row(sends([100] * 40), markers=markers)
    # With Markers: some fall in the headers.
    for fpdu in truth[4:20]:
        hole = (fpdu.start + there, fpdu.start + there + 40)
        check(octets, truth, [hole], markers=markers)


def lied(
    lie: int, *, markers: bool, filler: bytes | None, at: int = 5
) -> tuple[bytes, list[TrueFPDU]]:
    """Sends, the one at an index with a ULPDU_Length that is not so."""
    harm = {at: mpastream.Damage(ulpdu_length=lie)}
    made = sends([600 + 4 * number for number in range(40)], filler)
    return row(made, markers=markers, damage=harm)


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("filler", [None, b"\0", b"The quick brown fox. "])
@pytest.mark.parametrize("lie", [18, 40, 300, 580, 634, 1340, 6000, 30_000, 65_535])
def test_a_lying_length(lie: int, filler: bytes | None, markers: bool) -> None:
    """It is reported as what it says, nothing false is, and what it does not claim is found."""
    octets, truth = lied(lie, markers=markers, filler=filler)
    events = captured(octets, [], markers=markers)
    told = found(events)
    assert len(set(told)) == len(told)
    assert set(told) <= set(offsets(truth))
    (liar,) = [each for each in fpdus(events, 0) if each.offset == truth[5].seq_offset]
    assert (liar.ulpdu_length, liar.crc) == (lie, "off")
    claimed = truth[5].start + lie if not markers else 0
    assert set(told) >= set(offsets(each for each in truth if each.start >= claimed))


@pytest.mark.parametrize("filler", [None, b"\0"])
def test_a_length_that_claims_all_there_is(filler: bytes | None) -> None:
    """Headers in a row outweigh it, where no Marker does."""
    check(*lied(65_535, markers=False, filler=filler))


def test_a_row_between_two_lies() -> None:
    """Three in a row behind the octets of one that lies, and the next one lies, too."""
    harm = {at: mpastream.Damage(ulpdu_length=18) for at in (5, 9)}
    made = sends([900, 900, 900, 30, 30, 70, 6, 7, 8, 50, 900, 900, 900])
    for markers in (False, True):
        octets, truth = row(made, markers=markers, damage=harm)
        assert found(captured(octets, [], markers=markers)) == offsets(truth)


def test_a_long_row_before_a_lie_costs_none_behind_it() -> None:
    """From each FPDU of a row the lengths lead to the same lie: once is enough to see that."""
    made = sends([1400] * 100)
    harm = {at: mpastream.Damage(ulpdu_length=5000) for at in (3, 64)}
    octets, truth = row(made, damage=harm)
    talk = begun(crc=False)
    talk.say(0, octets, size=1460)
    # All of it is there before any of it can be read.
    talk.segments.append(talk.segments.pop(-len(octets) // 1460))
    seen = set(found(talk.fed()))
    claimed = {at + by for at in harm for by in (1, 2, 3)}
    assert seen >= {each.seq_offset for at, each in enumerate(truth) if at not in claimed}
    assert seen <= {each.seq_offset for each in truth}


@pytest.mark.parametrize("fpduptr", [4, 500, 0xFFFC])
def test_a_forged_fpduptr(fpduptr: int) -> None:
    """Lengths lead on, and the other Markers agree with them: no FPDU is missed."""
    harm = {at: mpastream.Damage(fpduptr={0: fpduptr}) for at in (3, 12)}
    octets, truth = row(sends([600] * 20), markers=True, damage=harm)
    assert truth[3].markers and truth[12].markers
    assert found(captured(octets, [], markers=True)) == offsets(truth)


def test_a_zero_length_fpdu() -> None:
    """What RFC 6581 9.2 has an Initiator send first makes sense only where it stands."""
    octets, truth = row([b"", *sends([600] * 5)])
    talk = begun(crc=False)
    talk.say(0, octets[:8])
    talk.say(0, octets[8:], size=624)
    talk.close()
    assert found(talk.fed()) == offsets(truth)


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("size", range(400, 912, 4))
def test_what_a_terminate_copies_alone_in_its_segment(size: int, markers: bool) -> None:
    """It begins like an FPDU and ends where the Terminate does, which says what it copies."""
    request = messages.read_request(1, 5, 0, 100, 6, 0)[0]
    ulpdus = [*sends([size]), *messages.terminate(1, 2, 1, request)]
    octets, truth = row(ulpdus, markers=markers)
    copied = octets.index(struct.pack(">H", len(request)) + request[:2], truth[1].start)
    talk = begun(markers=markers, crc=False)
    talk.miss(0, octets[:200])
    talk.say(0, octets[200:copied])
    talk.say(0, octets[copied:])
    talk.say(1, flags=ACK)
    talk.close()
    # The 43 bits of its own header are enough for that, and no place leads on from what it copies.
    assert found(talk.fed()) == [truth[1].seq_offset]
