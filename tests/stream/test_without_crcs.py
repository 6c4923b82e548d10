# SPDX-License-Identifier: GPL-2.0-or-later
"""What lengths, Markers and headers establish where no CRC does (RFC 5044 6), and nothing else."""

from __future__ import annotations

import random

import pytest

from scapy_mpa.stream.events import Event
from tests.stream.feed import fpdus
from tests.stream.test_connections import Talk
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


def captured(
    octets: bytes, holes: list[tuple[int, int]], *, markers: bool, size: int = 1460
) -> list[Event]:
    """The events of a capture that lacks the octets from the one place to the other of each hole.

    The octets are sent in segments of ``size``; what a hole leaves of one was a segment of its own.
    """
    talk = Talk()
    for direction, key in enumerate((mpastream.REQUEST_KEY, mpastream.REPLY_KEY)):
        talk.say(direction, mpastream.startup_frame(key, markers=int(markers)))
    at = 0
    for start, end in [*holes, (len(octets), len(octets))]:
        if at < start:
            talk.say(0, octets[at:start], size=size)
        if start < end:
            talk.miss(0, octets[start:end])
        talk.say(1, flags=ACK)
        at = end
    talk.close()
    return talk.fed()


def found(events: list[Event]) -> list[int]:
    """Offsets of the FPDUs of direction 0, ascending."""
    return sorted(each.offset or 0 for each in fpdus(events, 0))


def whole(truth: list[TrueFPDU], holes: list[tuple[int, int]]) -> list[TrueFPDU]:
    """The FPDUs that no hole touches."""
    return [
        each for each in truth if not any(at < each.end and each.start < end for at, end in holes)
    ]


@pytest.mark.parametrize("before", [1, 2, 3, 6])
def test_lengths_that_lead_to_where_a_marker_points(before: int) -> None:
    """Between a hole and the first FPDU that holds a Marker there are some that hold none."""
    octets, truth = mpastream.build_stream(sends([700, *[30] * 100]), markers=True, crc=False)
    pointed = next(at for at, each in enumerate(truth) if each.start > 1600 and each.markers)
    assert not any(each.markers for each in truth[pointed - before : pointed])
    hole = (900, truth[pointed - before].start - 8)
    assert found(captured(octets, [hole], markers=True)) == [
        each.seq_offset for each in whole(truth, [hole])
    ]


@pytest.mark.parametrize("size", [400, 1400, 3000, 9000])
@pytest.mark.parametrize("shift", range(0, 72, 8))
def test_payloads_that_look_like_headers(size: int, shift: int) -> None:
    """Behind a hole, and before one, nothing is believed that the next Marker contradicts."""
    octets, truth = mpastream.build_stream(
        sends([size] * (40_000 // size), LOOKS_LIKE_HEADERS), markers=True, crc=False
    )
    holes = [(9000 + shift, 13_000 + shift), (21_000, 24_000), (30_000, 30_004)]
    events = captured(octets, holes, markers=True)
    there = {each.seq_offset for each in whole(truth, holes)}
    assert set(found(events)) <= there
    # Those that hold a Marker are located by it.
    assert set(found(events)) >= {each.seq_offset for each in whole(truth, holes) if each.markers}


@pytest.mark.parametrize("size", range(1400, 1472, 4))
def test_what_repeats_itself_in_front_of_a_marker(size: int) -> None:
    """Headers in a payload, of FPDUs that lead exactly to the end of the one that carries them."""
    octets, truth = mpastream.build_stream(
        [*sends([size], LOOKS_LIKE_HEADERS), *sends([600] * 20, first=2)], markers=True, crc=False
    )
    end = truth[0].end
    for begin in range(end - 400, end - 144, 16):
        events = captured(octets, [(0, begin)], markers=True)
        assert found(events) == [each.seq_offset for each in truth[1:]]


def test_two_ways_that_lead_to_the_same_place() -> None:
    """FPDUs in a row, and a payload that claims them: the row says more."""
    ulpdus = sends([900, 6, 4, 600, 30, 30, 600])
    ulpdus[0] = ulpdus[0][:-8] + b"\x00\x40\xc1\x40" + bytes(4)
    octets, truth = mpastream.build_stream(ulpdus, markers=True, crc=False)
    at = truth[0].end - 12
    assert octets[at : at + 4] == b"\x00\x40\xc1\x40"
    assert at + 72 == truth[2].end == truth[3].start
    events = captured(octets, [(100, at)], markers=True)
    assert found(events) == [each.seq_offset for each in truth[1:]]
