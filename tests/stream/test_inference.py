# SPDX-License-Identifier: GPL-2.0-or-later
"""Evidence where startup frames are missing: CRCs count before headers, all FPDUs before some."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence

import pytest

from scapy_mpa.stream.events import ErrorFound, Event, FPDURecovered
from tests.stream.feed import fpdus
from tests.stream.talk import Talk
from tests.truth import messages
from tests.truth.mpastream import (
    REPLY_KEY,
    REQUEST_KEY,
    Damage,
    TrueFPDU,
    build_stream,
    startup_frame,
)

# ULPDU_Length, and the control octets of a Send and of a Write.
HEADER_WORDS = b"\x00\x20\x41\x43\x00\x40\xc1\x40"


def sends(*sizes: int) -> list[bytes]:
    """ULPDUs of Sends with so many octets of payload, one segment each."""
    rng = random.Random(len(sizes))
    return [
        messages.send(1000 + index, rng.randbytes(size), mulpdu=65000)[0]
        for index, size in enumerate(sizes)
    ]


def say_fpdus(
    talk: Talk,
    direction: int,
    octets: bytes,
    truth: Sequence[TrueFPDU],
    missing: Collection[int] = (),
) -> None:
    """Send each FPDU in two segments.  The second is not captured for the ``missing`` ones."""
    for index, fpdu in enumerate(truth):
        # No segment holds a whole FPDU, which would be strong evidence.
        middle = (fpdu.start + fpdu.end) // 2
        talk.say(direction, octets[fpdu.start : middle])
        talk.say(direction, octets[middle : fpdu.end], captured=index not in missing)


Found = tuple[bytes, int, str]
"""ULPDU, Markers and verdict of an FPDU."""


def listed(events: list[Event], direction: int) -> list[Found]:
    """The FPDUs found in a direction, in stream order."""
    found: list[FPDURecovered] = sorted(fpdus(events, direction), key=lambda each: each.seq)
    return [(each.ulpdu, each.markers, each.crc) for each in found]


def true(truth: Sequence[TrueFPDU], missing: Collection[int] = ()) -> list[Found]:
    """The FPDUs to be found, without those that are missing."""
    verdict = {True: "good", False: "bad", None: "off"}
    return [
        (each.ulpdu, each.markers, verdict[each.crc_ok])
        for index, each in enumerate(truth)
        if index not in missing
    ]


def listed_alone(octets: bytes, *, size: int | None = 700) -> list[Found]:
    """The FPDUs found in a connection of which only these octets were captured."""
    talk = Talk(syn=False)
    talk.say(0, octets, size=size)
    return listed(talk.fed(), 0)


def test_few_fpdus_without_marker_do_not_show_that_there_are_none() -> None:
    """The longest stretch holds no Marker by chance.  Shorter ones hold some (RFC 5044 4.3)."""
    octets, truth = build_stream(sends(*[38] * 60), markers=True)
    held = [each.markers for each in truth]
    longest = next(at for at in range(20, 60) if held[at : at + 5] == [0] * 5)
    missing = set(range(0, 60, 3)) - set(range(longest, longest + 5))
    missing |= {longest - 1, longest + 5}
    talk = Talk(syn=False)
    say_fpdus(talk, 0, octets, truth, missing)
    talk.say(0, b"\0\x12\x41\x43 what is this?")
    assert listed(talk.fed(), 0) == true(truth, missing)


@pytest.mark.parametrize("damaged", [0, 1])
def test_one_startup_frame_and_a_damaged_fpdu_after_it(damaged: int) -> None:
    """Only the Request was captured.  A bad FPDU without a Marker does not show where they are."""
    octets, truth = build_stream(
        sends(300, 100, 200, 3000, 2000, 1500),
        markers=True,
        damage={damaged: Damage(crc_xor=1)},
    )
    talk = Talk()
    talk.say(0, startup_frame(REQUEST_KEY, crc=1))
    talk.miss(1, startup_frame(REPLY_KEY, markers=1, crc=1))
    talk.say(0, octets, size=700)
    events = talk.fed()
    # The start of the phase is certain, so damaged FPDUs are reported.
    assert listed(events, 0) == true(truth)
    assert len([each for each in events if isinstance(each, ErrorFound)]) == 1


@pytest.mark.parametrize("size", [7, 40, 200])
@pytest.mark.parametrize("markers", [False, True])
def test_fpdus_alone_between_holes(markers: bool, size: int) -> None:
    """Each whole FPDU is found in a direction with no other evidence, if all other octets may be
    parts of FPDUs."""
    octets, truth = build_stream(sends(*[150] * 9), markers=markers)
    talk = Talk(syn=False)
    for index, fpdu in enumerate(truth):
        middle = fpdu.start + (index % 3 + 1) * (fpdu.end - fpdu.start) // 4
        talk.say(0, octets[fpdu.start : middle], size=size)
        talk.say(0, octets[middle : fpdu.end], size=size, captured=index % 3 == 1)
    assert listed(talk.fed(), 0) == true(truth[1::3])


HTTP = b"GET / HTTP/1.1\r\nHost: example\r\n"


@pytest.mark.parametrize("tails", [[HTTP], [b"", HTTP], [HTTP, b""]])
def test_fpdus_alone_between_other_octets(tails: list[bytes]) -> None:
    """No FPDU is believed if octets after one of them belong to no FPDU."""
    talk = Talk(syn=False)
    for octets in tails:
        talk.miss(0, b"what is not known")
        talk.say(0, build_stream(sends(200))[0] + octets, size=40)
    assert listed(talk.fed(), 0) == []


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("size", [900, 1460, 9000])
def test_crcs_outweigh_a_payload_of_headers(size: int, both: bool) -> None:
    """A row of headers in a payload is not read as FPDUs without CRCs (RFC 5044 4.4)."""
    write = messages.write(7, 4096, HEADER_WORDS * 5000, mulpdu=50_000)
    octets, truth = build_stream([*write, *sends(80, 90, 100), *write, *sends(5, 700)])
    talk = Talk(syn=False)
    for direction in (0, 1) if both else (0,):
        talk.say(direction, octets[5_000:], size=size)
    events = talk.fed()
    assert listed(events, 0) == true(truth[1:])
    assert listed(events, 1) == (true(truth[1:]) if both else [])


def test_a_long_payload_of_headers_with_markers() -> None:
    """Octets that repeat from one Marker to the next cost little to search."""
    octets, truth = build_stream(
        messages.write(7, 4096, HEADER_WORDS * 32_000, mulpdu=64_000), markers=True
    )
    assert listed_alone(octets[78_000:], size=3_000) == true(truth[2:])


@pytest.mark.parametrize("shift", range(4))
def test_an_stag_that_reads_as_the_header_of_a_long_fpdu(shift: int) -> None:
    """The STag comes in each FPDU of a message, off the grid of FPDUs, and hides none."""
    rng = random.Random(shift)
    # With the first octet of TO: ULPDU_Length 40000, the control octets of a Write of Rev 0.
    write = messages.write(0x019C40C0, 0, rng.randbytes(60_000), mulpdu=128)
    octets, truth = build_stream(write)
    talk = Talk()
    talk.miss(0, startup_frame(REQUEST_KEY, crc=1) + octets[: 20 + shift])
    # Segments begin in the alignment of the false header, or in another one.
    talk.say(0, octets[20 + shift :], size=400)
    assert listed(talk.fed(), 0) == true(truth[1:])


def test_payload_of_headers_in_one_direction_and_crcs_in_the_other() -> None:
    """One direction shows for both that CRCs are on (RFC 5044 7.1.1)."""
    (write,) = messages.write(7, 4096, HEADER_WORDS * 5000, mulpdu=50_000)
    payload, _ = build_stream([write])
    octets, truth = build_stream(sends(*[200] * 4))
    talk = Talk(syn=False)
    talk.say(0, payload[5_000:30_000], size=1000)
    say_fpdus(talk, 1, octets, truth)
    events = talk.fed()
    assert listed(events, 0) == []
    assert listed(events, 1) == true(truth)


@pytest.mark.parametrize("crc", [False, True])
@pytest.mark.parametrize("filler", [HEADER_WORDS, HEADER_WORDS * 3 + b"\x00\x40\xc1\x40" * 2])
@pytest.mark.parametrize("begin", [5000, 5001, 5006])
def test_payload_of_headers_and_nothing_else(begin: int, filler: bytes, crc: bool) -> None:
    """No whole FPDU was captured.  A row of equal headers is no evidence."""
    octets, truth = build_stream(messages.write(7, 4096, filler * 4000, mulpdu=20_000), crc=crc)
    begun = octets[begin : truth[1].end - 4]
    hole = truth[1].start - 100 - begin
    talk = Talk(syn=False)
    talk.say_with_hole(0, begun, hole, hole + 109, size=1448)
    assert listed(talk.closed(), 0) == []


def test_more_holes_than_are_kept_before_anything_is_known() -> None:
    """Islands are not given up before their octets were searched."""
    octets, truth = build_stream(sends(*[40] * 400))
    missing = set(range(3, 400, 4))
    talk = Talk()
    talk.say(0, startup_frame(REQUEST_KEY, crc=1))
    talk.miss(1, startup_frame(REPLY_KEY, crc=1))
    for index, fpdu in enumerate(truth):
        talk.say(0, octets[fpdu.start : fpdu.end], captured=index not in missing)
        talk.say(1)
    assert listed(talk.fed(), 0) == true(truth, missing)


@pytest.mark.parametrize("first", [0, 1])
def test_what_one_direction_shows_counts_for_the_other(first: int) -> None:
    """Single FPDUs between holes are believed if the other direction carries FPDUs."""
    octets, truth = build_stream(sends(*[60] * 9))
    missing = {1, 2, 4, 6, 7}
    talk = Talk(syn=False)
    talk.miss(0, b"")
    for direction in (first, 1 - first):
        if direction == 0:
            say_fpdus(talk, 0, octets, truth, missing)
        else:
            say_fpdus(talk, 1, *build_stream(sends(400, 30)))
    events = talk.fed()
    ends = {each.connection.endpoints[each.direction] for each in fpdus(events)}
    assert len(ends) == 2
    single = next(each.direction for each in fpdus(events) if len(each.ulpdu) == 78)
    assert listed(events, single) == true(truth, missing)


@pytest.mark.parametrize(
    ("sizes", "begin", "few"),
    [
        # FPDUs of 512 octets: each Marker stands before ULPDU_Length and is zero (RFC 5044 4.3).
        ([482] * 20, 300, 0),
        # An unused CRC field is zero, like such a Marker, every 512 octets if FPDUs add up to
        # that.  The Markers in those FPDUs are above 0.
        *(
            ([first, *sizes * 20], 8, 3)
            for first in (34, 150)
            for sizes in ([482], [232, 228], [148, 144, 144])
        ),
        # Most FPDUs hold no Marker.  Read without Markers, a row of FPDUs ends at the first one.
        ([50, 90, 33] * 20, 0, 8),
    ],
)
def test_without_crcs_places_of_markers_are_found(sizes: list[int], begin: int, few: int) -> None:
    """A few FPDUs before the first Marker may look like chance, and are not found."""
    octets, truth = build_stream(sends(*sizes), markers=True, crc=False)
    found, wanted = listed_alone(octets[begin:]), true(truth[begin > 0 :])
    assert found == wanted[len(wanted) - len(found) :]
    assert len(found) >= len(wanted) - few


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("aligned", [False, True])
def test_without_crcs_segments_show_that_a_row_is_no_payload(aligned: bool, markers: bool) -> None:
    """If FPDUs begin with segments, they are reported soon, otherwise at the end."""
    octets, truth = build_stream(sends(*[300] * 40), markers=markers, crc=False)
    talk = Talk(syn=False)
    for each in truth:
        begin, end = (max(0, at - 20 * (not aligned)) for at in (each.start, each.end))
        talk.say(0, octets[begin:end])
    found = fpdus(talk.fed(), 0)
    assert len(found) == len(truth) - (not aligned)
    assert (found[0].frame < len(truth) / 2) is aligned


def test_without_crcs_markers_of_several_rows_count_together() -> None:
    """Every other Marker is forged.  No row has two that agree, but all rows together do."""
    harm = {at: Damage(fpduptr={0: 4}) for at in range(2, 20, 2)}
    octets, truth = build_stream(sends(34, *[482] * 19), markers=True, crc=False, damage=harm)
    assert octets[truth[1].start - 4 : truth[1].start] == bytes(4)
    assert listed_alone(octets[8:]) == true(truth[1:])


@pytest.mark.parametrize("end", [32, 40, 55])
def test_without_crcs_a_length_that_claims_markers(end: int) -> None:
    """Markers in the octets that a wrong length claims point to FPDUs.  So there are Markers."""
    made = sends(*[30] * 80)
    sizes = build_stream(made, markers=True, crc=False)[1]
    claim = sizes[end].start - sizes[4].start - 6
    harm = {4: Damage(ulpdu_length=claim, sender=True)}
    octets, truth = build_stream(made, markers=True, crc=False, damage=harm)
    claimed = range(sizes[4].start, sizes[end].start, 512)
    assert len(claimed) > 3
    found = listed_alone(octets[truth[1].start :])
    wanted = true([*truth[1:4], *truth[5:]])
    assert [each for each in found if each in wanted] == wanted


@pytest.mark.parametrize("stag", [4, 12, 16])
def test_without_crcs_numbers_in_headers_are_no_markers(stag: int) -> None:
    """An STag that equals its distance from ULPDU_Length, in FPDUs of 512 octets."""
    write = messages.write(stag, 8 << 32, random.Random(stag).randbytes(491 * 20), mulpdu=506)
    octets, truth = build_stream(write, crc=False)
    assert {each.end - each.start for each in truth[:-1]} == {512}
    assert listed_alone(octets[300:]) == true(truth[1:])


def test_places_of_markers_may_stay_unknown() -> None:
    """The Reply says that there are Markers, but no captured FPDU shows where."""
    octets, truth = build_stream(sends(*[60] * 5), markers=True)
    talk = Talk()
    talk.miss(0, startup_frame(REQUEST_KEY, crc=1))
    talk.say(1, startup_frame(REPLY_KEY, markers=1, crc=1))
    talk.miss(0, octets[: truth[1].start])
    # The FPDU after the whole one is cut short, and its length is unknown.
    talk.say(0, octets[truth[1].start : truth[2].start + 30])
    talk.miss(0, octets[truth[2].start + 30 : truth[3].start])
    talk.say(0, octets[truth[3].start : truth[4].start])
    events = talk.fed()
    assert listed(events, 0) == true([truth[1], truth[3]])
    assert not [each for each in events if isinstance(each, ErrorFound)]


@pytest.mark.parametrize(("before", "msn"), [(496, 12), (500, 16)])
def test_octets_between_holes_show_where_markers_are(before: int, msn: int) -> None:
    """MSN 12 and then a Marker of 16 read as a Marker of 12 and then MSN 16."""
    rng = random.Random(msn)
    ulpdus = [
        messages.send(number, rng.randbytes(size), mulpdu=1442)[0]
        for number, size in ((msn - 1, before - 28), (msn, 4), (msn + 1, 1400))
    ]
    octets, truth = build_stream(ulpdus, markers=True)
    assert (truth[1].start, truth[1].markers) == (before, 1)
    end = truth[1].end
    talk = Talk(syn=False)
    talk.miss(0, octets[:100])
    talk.say(0, octets[100:before])
    talk.say(0, octets[before:end])
    talk.miss(0, octets[end : end + 40])
    talk.say(0, octets[end + 40 :])
    assert listed(talk.fed(), 0) == true(truth, missing=(0, 2))


@pytest.mark.parametrize("cut", [0, 1, 2, 3, 4])
def test_an_fpdu_with_an_unknown_marker(cut: int) -> None:
    """Its length leads to the start of a hole, 4 octets too early.  That does not make it bad."""
    octets, truth = build_stream(sends(60, 60, 60, 60, 30, 30, 60), markers=True)
    last = truth[6]
    assert [each.markers for each in truth[1:]] == [0, 0, 0, 0, 0, 1]
    talk = Talk(syn=False)
    talk.miss(0, octets[: truth[1].start])
    say_fpdus(talk, 0, octets[: last.start], truth[1:6])
    talk.say(0, octets[last.start : last.end - cut])
    talk.miss(0, octets[last.end - cut : last.end])
    events = talk.fed()
    assert listed(events, 0) == true(truth[1:6] if cut else truth[1:])
    assert not [each for each in events if isinstance(each, ErrorFound)]


def test_a_damaged_fpdu_at_the_end_with_unknown_markers() -> None:
    """Its length leads to the FIN, which shows how many Markers it holds, as a good FPDU would."""
    harm = {5: Damage(crc_xor=1)}
    octets, truth = build_stream(sends(10, 20, 52, 26, 30, 5), damage=harm)
    talk = Talk(syn=False)
    say_fpdus(talk, 0, octets, truth)
    assert listed(talk.closed(), 0) == true(truth)


@pytest.mark.parametrize(
    ("sizes", "damaged", "begin"),
    [
        # Lengths lead over them to a good FPDU.  That shows how many Markers they hold.
        *(([10, 20, 52, 26, 30, 5, 13, 9], at, 0) for at in ([2], [2, 4], [2, 3], [4, 5, 6])),
        # The only Marker points to a place to which a length leads.  With that Marker, the next
        # length leads to a good FPDU.
        ([60, 60, 60, 60, 60, 300, 60, 60, 60], [5], 20),
    ],
)
def test_damaged_fpdus_with_unknown_markers(
    sizes: list[int], damaged: list[int], begin: int
) -> None:
    """All but the first are reported with the right number of Markers."""
    harm = dict.fromkeys([0, *damaged], Damage(crc_xor=1))
    octets, truth = build_stream(sends(*sizes), markers=True, damage=harm)
    assert [at for at, each in enumerate(truth) if each.markers] == [0, 5][: 1 + (begin > 0)]
    talk = Talk()
    talk.say(0, startup_frame(REQUEST_KEY, markers=1, crc=1))
    talk.miss(1, startup_frame(REPLY_KEY, crc=1) + octets[:begin])
    talk.say(1, octets[begin:])
    assert listed(talk.fed(), 1) == true(truth[1:])


def test_one_forged_marker_hides_no_other() -> None:
    """The second Marker of an FPDU shows where the first one is (RFC 5044 4.3)."""
    octets, truth = build_stream(
        sends(*[3000] * 4),
        markers=True,
        damage={each: Damage(fpduptr={0: 500}, sender=True) for each in range(4)},
    )
    assert listed_alone(octets, size=1460) == true(truth)


def test_one_wrong_length_does_not_hide_the_phase_of_markers() -> None:
    """A length that is wrong by 4, under a good CRC, hides one Marker, not all of the direction."""
    sizes = [8, *[52] * 12, *[182] * 30]
    octets, truth = build_stream(sends(*sizes), markers=True)
    bad = next(at for at in range(6, 40) if truth[at].markers)
    octets, truth = build_stream(
        sends(*sizes),
        markers=True,
        damage={bad: Damage(ulpdu_length=truth[bad].ulpdu_length + 4, sender=True)},
    )
    talk = Talk(syn=False)
    for fpdu in truth:
        talk.say(0, octets[fpdu.start : fpdu.end])
    # This FPDU is read with its Marker, and then its CRC does not fit.
    wanted = true(truth)
    found = listed(talk.fed(), 0)
    assert found[:bad] + found[bad + 1 :] == wanted[:bad] + wanted[bad + 1 :]
    assert found[bad][1:] == (1, "bad")
