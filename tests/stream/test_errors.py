# SPDX-License-Identifier: GPL-2.0-or-later
"""What is wrong with FPDUs, and what it costs: as little as can be (RFC 5044 section 8)."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from scapy_mpa.stream.events import ErrorFound, Event, FPDURecovered
from scapy_mpa.wire.errors import ErrorCode
from tests.stream.feed import fpdus
from tests.stream.talk import Talk, started
from tests.truth import messages, mpastream
from tests.truth.impair import ACK, FIN, RST
from tests.truth.mpastream import Damage, TrueFPDU

BASE = 1021
"""Sequence number of offset 0 of direction 0 below."""


def ulpdus(count: int = 12, size: int = 700) -> list[bytes]:
    """Sends whose octets say nothing."""
    return [
        messages.send(msn, random.Random(msn).randbytes(size - 18), size)[0]
        for msn in range(1, count + 1)
    ]


def stream(
    damage: dict[int, Damage], *, markers: bool, crc: bool = True, count: int = 12, size: int = 700
) -> tuple[bytes, list[TrueFPDU]]:
    """FPDUs of which some are damaged."""
    return mpastream.build_stream(ulpdus(count, size), markers=markers, crc=crc, damage=damage)


def carried(octets: bytes, *, markers: bool, crc: bool = True, size: int = 1460) -> Talk:
    """A connection that carries these octets from the Initiator to the Responder."""
    talk = started(markers=markers, crc=crc)
    talk.say(0, octets, size=size)
    return talk


def fed(octets: bytes, *, markers: bool, crc: bool = True, size: int = 1460) -> list[Event]:
    """The events of such a connection, properly closed."""
    talk = carried(octets, markers=markers, crc=crc, size=size)
    return talk.closed()


def errors(events: list[Event]) -> list[tuple[ErrorCode | None, int]]:
    """Code and offset in the Full Operation Phase of each error."""
    return [
        (each.code, (each.seq - BASE) % 2**32) for each in events if isinstance(each, ErrorFound)
    ]


def check_all(
    made: tuple[bytes, list[TrueFPDU]],
    expected: Sequence[tuple[ErrorCode, int]],
    *,
    markers: bool,
    crc: bool = True,
    size: int = 1460,
) -> None:
    """All FPDUs are found, good or bad as they are, and of these the errors."""
    octets, truth = made
    events = fed(octets, markers=markers, crc=crc, size=size)
    verdict = {True: "good", False: "bad", None: "off"}
    assert sorted((each.offset or 0, each.ulpdu, each.crc) for each in fpdus(events, 0)) == [
        (fpdu.seq_offset, fpdu.ulpdu, verdict[fpdu.crc_ok]) for fpdu in truth
    ]
    assert errors(events) == [(code, truth[index].seq_offset) for code, index in expected]


def check_others(events: list[Event], truth: list[TrueFPDU], harmed: set[int]) -> None:
    """Every FPDU but the harmed ones is found, whole and good; nothing good is made up."""
    good = [each for each in fpdus(events, 0) if each.crc == "good"]
    assert sorted((each.offset or 0, each.ulpdu) for each in good) == [
        (fpdu.seq_offset, fpdu.ulpdu) for index, fpdu in enumerate(truth) if index not in harmed
    ]


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("size", [1, 700, 1460, 65_000])
@pytest.mark.parametrize(
    "harm",
    [
        *({which: Damage(crc_xor=0x80)} for which in (0, 1, 5, 11)),
        # Whatever octet of the ULPDU, its headers included (4.4).
        *({4: Damage(flip=(at, mask))} for at, mask in ((0, 255), (1, 15), (2, 1), (699, 128))),
        *(dict.fromkeys(several, Damage(flip=(100, 4))) for several in ((0, 1), (3, 4, 5))),
        dict.fromkeys(range(11), Damage(flip=(100, 4))),
    ],
)
def test_a_bad_crc_costs_that_fpdu_only(harm: dict[int, Damage], markers: bool, size: int) -> None:
    """Code 2 where its ULPDU_Length field stands; all the others are good (6, 8 code 2)."""
    expected = [(ErrorCode.CRC_MISMATCH, index) for index in harm]
    check_all(stream(harm, markers=markers), expected, markers=markers, size=size)


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("first", [0, 10])
def test_bad_crcs_up_to_the_last_fpdu(markers: bool, first: int) -> None:
    """The first of them is reported, and those before are found."""
    harmed = set(range(first, 12))
    octets, truth = stream(dict.fromkeys(harmed, Damage(flip=(100, 4))), markers=markers)
    events = fed(octets, markers=markers)
    check_others(events, truth, harmed)
    assert errors(events)[0] == (ErrorCode.CRC_MISMATCH, truth[first].seq_offset)


@pytest.mark.parametrize("count", [1, 2, 3, 6])
@pytest.mark.parametrize("filler", [None, b"\x7f\xf0\x41\x43"])
def test_large_fpdus_with_bad_crcs_in_a_row(count: int, filler: bytes | None) -> None:
    """However many octets they are: what is good behind them is found (6)."""
    payloads = (
        filler * 15_000 if filler else random.Random(msn).randbytes(60_000) for msn in range(count)
    )
    large = [messages.send(9, each, 65_000)[0] for each in payloads]
    small = ulpdus(4, 68)
    harmed = range(1, count + 1)
    made = mpastream.build_stream(
        [small[0], *large, *small[1:]], damage=dict.fromkeys(harmed, Damage(crc_xor=1))
    )
    check_all(made, [(ErrorCode.CRC_MISMATCH, index) for index in harmed], markers=False)


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("size", [97, 65_000])
@pytest.mark.parametrize(
    "harmed",
    [
        {0: Damage(crc_xor=1), 1: Damage(flip=(0, 1)), 3: Damage(flip=(0, 1))},
        {2: Damage(ulpdu_length=99), 3: Damage(flip=(1, 245)), 5: Damage(flip=(0, 2))},
    ],
)
@pytest.mark.parametrize(
    "behind", [Damage(flip=(0, 1)), Damage(ulpdu_length=2054), Damage(ulpdu_length=60_000)]
)
def test_a_good_one_between_damaged_headers(
    markers: bool, size: int, harmed: dict[int, Damage], behind: Damage
) -> None:
    """Though neither what precedes it nor what follows looks like an FPDU, its CRC is good (6)."""
    harmed = {**harmed, max(harmed) + 1: behind}
    octets, truth = stream(harmed, markers=markers)
    check_others(fed(octets, markers=markers, size=size), truth, set(harmed))


@pytest.mark.parametrize("marker", [0, 1])
@pytest.mark.parametrize("fpduptr", [0, 4, 8, 500, 0xFFFC])
@pytest.mark.parametrize(
    ("crc", "sender", "code"),
    [
        (True, True, ErrorCode.MARKER_MISMATCH),
        (False, True, ErrorCode.MARKER_MISMATCH),
        # Code 3 is for FPDUs whose CRC is good (8: "In the event that the CRC is valid").
        (True, False, ErrorCode.CRC_MISMATCH),
    ],
)
def test_a_forged_fpduptr(
    marker: int, fpduptr: int, crc: bool, sender: bool, code: ErrorCode
) -> None:
    """Marker and length disagree: code 3, and the FPDU is good, as the others are (8)."""
    harm = {4: Damage(fpduptr={marker: fpduptr}, sender=sender)}
    made = stream(harm, markers=True, crc=crc, size=1400)
    assert made[1][4].markers >= 2
    check_all(made, [(code, 4)], markers=True, crc=crc)


@pytest.mark.parametrize("low", [1, 2, 3])
def test_the_low_bits_of_a_fpduptr_mean_nothing(low: int) -> None:
    """The receiver takes the low two bits as zero (4.2)."""
    octets, truth = stream({}, markers=True, size=1400)
    first = next(at for at in range(0, len(octets), 512) if at > truth[4].seq_offset)
    said = first - truth[4].seq_offset
    harm = {4: Damage(fpduptr={0: said | low}, sender=True)}
    check_all(stream(harm, markers=True, size=1400), [], markers=True)


def test_reserved_half_of_a_marker_and_pad_mean_nothing() -> None:
    """Ignored by the receiver except for the CRC (4.1, 4.2)."""
    made = mpastream.build_stream(
        ulpdus(12, 701), markers=True, pad_octet=0xEE, marker_reserved=0xBEEF
    )
    check_all(made, [], markers=True)


@pytest.mark.parametrize("markers", [False, True])
def test_crcs_that_are_off_are_not_looked_at(markers: bool) -> None:
    """The field may hold any value and is not checked (4.1)."""
    made = mpastream.build_stream(
        ulpdus(), markers=markers, crc=False, idle_crc_field=b"\x01\x02\x03\x04"
    )
    check_all(made, [], markers=markers, crc=False)


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("short", [1, 4, 5, 600, 703])
@pytest.mark.parametrize("last", [0, 90])
def test_fin_in_the_midst_of_an_fpdu(markers: bool, short: int, last: int) -> None:
    """The connection was closed before the FPDU was whole: code 1 (8).

    :param last: how many octets the segment with FIN has.
    """
    octets, truth = stream({}, markers=markers)
    end = len(octets) - min(short, truth[-1].end - truth[-1].start - 1)
    talk = carried(octets[: end - last], markers=markers)
    talk.say(0, octets[end - last : end], flags=FIN | ACK)
    talk.say(1, flags=FIN | ACK)
    events = talk.fed()
    check_others(events, truth, {11})
    assert len(fpdus(events, 0)) == 11
    ((code, at),) = errors(events)
    assert code is ErrorCode.CONNECTION_LOST
    assert at in (truth[-1].start, truth[-1].seq_offset)


@pytest.mark.parametrize("is_reset", [False, True])
def test_what_ends_in_the_midst_of_an_fpdu(is_reset: bool) -> None:
    """ "Terminated or lost ... RST received" (8 code 1). Where the capture ends, nothing is known
    of what came then."""
    octets, truth = stream({}, markers=False)
    talk = carried(octets[:-100], markers=False)
    if is_reset:
        talk.say(0, flags=RST | ACK)
    events = talk.fed()
    check_others(events, truth, {11})
    assert errors(events) == [(ErrorCode.CONNECTION_LOST, truth[-1].seq_offset)] * is_reset


def test_fpdus_that_look_like_payload_are_not_taken_apart() -> None:
    """A payload may hold whole FPDUs, CRC and all: they are payload (6)."""
    inner, _ = mpastream.build_stream(ulpdus(2, 100))
    outer = [messages.send(msn, inner * 3)[0] for msn in range(1, 9)]
    made = mpastream.build_stream(outer, damage={3: Damage(crc_xor=1)})
    check_all(made, [(ErrorCode.CRC_MISMATCH, 3)], markers=False, size=len(made[0]))


@given(
    seed=st.integers(0, 2**32),
    markers=st.booleans(),
    harmed=st.dictionaries(
        st.integers(0, 11),
        st.one_of(
            st.builds(Damage, crc_xor=st.integers(1, 2**32 - 1)),
            st.builds(Damage, flip=st.tuples(st.integers(0, 31), st.integers(1, 255))),
            st.builds(Damage, ulpdu_length=st.integers(0, 65535), sender=st.booleans()),
        ),
        max_size=4,
    ),
    size=st.sampled_from((97, 1460, 65_000)),
)
def test_whatever_is_damaged_the_others_are_found(
    seed: int, markers: bool, harmed: dict[int, Damage], size: int
) -> None:
    """With CRCs each FPDU whose own octets are right is found once, and none is made up (6)."""
    rng = random.Random(seed)
    made = [
        messages.send(msn, rng.randbytes(rng.choice((20, 300, 1400, 3000))), 4000)[0]
        for msn in range(1, 13)
    ]
    # A lie that happens to be the truth is none, nor is one about the pad under a good CRC.
    for index, harm in harmed.items():
        said, true = harm.ulpdu_length, len(made[index])
        assume(said is None or said != true)
        assume(said is None or not harm.sender or (said + 5) // 4 != (true + 5) // 4)
    octets, truth = mpastream.build_stream(made, markers=markers, damage=harmed)
    events = fed(octets, markers=markers, size=size)
    check_others(events, truth, set(harmed))
    assert bool(errors(events)) == bool(harmed)
    bad = {each.offset for each in events if isinstance(each, FPDURecovered) and each.crc == "bad"}
    # Of the last one nothing follows by which it could be found out.
    if len(harmed) == 1 and 11 not in harmed:
        assert bad == {truth[index].seq_offset for index in harmed}
        assert errors(events)[0][0] is ErrorCode.CRC_MISMATCH
