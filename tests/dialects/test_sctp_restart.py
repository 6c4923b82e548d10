# SPDX-License-Identifier: GPL-2.0-or-later
"""A new association between known endpoints, and single packets of another one (RFC 4960 5.2)."""

from __future__ import annotations

import struct

import pytest

from scapy_mpa.stream.events import ErrorFound, Event
from tests.dialects.sctp_feed import (
    FIRST_TSNS,
    OPENING,
    Talk,
    ends,
    events_of,
    frames_of,
    init_frame,
    new_associations,
    of,
    whole,
)
from tests.truth import sctpstream as sctp

OTHER_TAGS = (0x77777777, 0x55555555)
"""As ``TAGS``, of another association between the same endpoints."""


def told(frames: list[bytes]) -> tuple[list[Event], int]:
    """What the core makes of frames, and how many of them belong to no association."""
    associations = new_associations()
    return events_of(frames, associations=associations), associations.unknown


def fpdus(events: list[Event]) -> list[list[int]]:
    """How many DDP segments each session has, by direction."""
    return [[half.fpdus for half in each.halves] for each in ends(events)]


def spoken() -> Talk:
    """A session in which each side sends ten segments."""
    talk = Talk()
    talk.begin_session()
    for _ in range(10):
        talk.send(0)
        talk.send(1)
    talk.end_session()
    return talk


def one_way(side: int) -> list[bytes]:
    """The frames of one side of that session."""
    return frames_of(unit for unit in spoken().units if unit.side == side)


def other_init(side: int, tsn: int = 5000) -> bytes:
    """An INIT or INIT ACK of the other association, as a frame."""
    return init_frame(side, tsn, says=OTHER_TAGS[1 - side], tag=OTHER_TAGS[side])


def other_talk(first: int = 0) -> Talk:
    """A session on the other association in which each side sends a segment, this one first."""
    talk = Talk(tsns=(5000, 5000))
    talk.begin_session()
    talk.send(first)
    talk.send(1 - first)
    talk.end_session()
    return talk


def stray(*chunks: bytes, side: int = 0) -> bytes:
    """A late packet of the other association."""
    return sctp.frame(side, sctp.packet(side, *chunks, tag=OTHER_TAGS[side]))


SEGMENT = sctp.data(77777, 16, sctp.segment(5, sctp.send(5, b"old")))
SACK = sctp.chunk(sctp.SACK, 0, struct.pack(">IIHH", 77777, 65535, 0, 0))
ABORT = sctp.chunk(sctp.ABORT, 0, b"")


ALL = whole(spoken())
ONE_WAY = one_way(0)
DISORDER = frames_of(spoken().units)
DISORDER[11], DISORDER[13] = DISORDER[13], DISORDER[11]
DATA = sctp.data(123, 16, sctp.segment(9, sctp.send(9, b"?")))


def at(number: int, *frames: bytes, within: list[bytes] = ALL) -> list[bytes]:
    """The frames with others among them."""
    return [*within[:number], *frames, *within[number:]]


def near(distance: int) -> bytes:
    """A late DATA chunk so far from the Initial TSN of side 0."""
    tsn = FIRST_TSNS[0] + distance & 0xFFFFFFFF
    return stray(sctp.data(tsn, 16, sctp.segment(5, sctp.send(5, b"old"))))


@pytest.mark.parametrize(
    ("frames", "found", "unknown"),
    [
        # Before the INIT, a packet with DATA is an association of its own.
        pytest.param(at(0, stray(SEGMENT)), [[1, 0], [10, 10]], 0, id="DATA, INIT"),
        pytest.param(at(0, stray(SACK)), [[10, 10]], 1, id="SACK, INIT"),
        pytest.param(at(0, stray(ABORT)), [[10, 10]], 1, id="ABORT, INIT"),
        # The tag that the INIT ACK says counts.
        pytest.param(at(1, stray(SEGMENT)), [[10, 10]], 1, id="INIT, DATA, INIT ACK"),
        pytest.param(at(1, near(1 << 15)), [[10, 10]], 1, id="DATA ahead of the Initial TSN"),
        pytest.param(at(1, near(-1)), [[10, 10]], 1, id="DATA before the Initial TSN"),
        pytest.param(at(1, stray(SACK)), [[10, 10]], 0, id="INIT, SACK, INIT ACK"),
        pytest.param(at(1, stray(ABORT)), [[10, 10]], 0, id="INIT, ABORT, INIT ACK"),
        pytest.param(at(8, stray(SEGMENT)), [[10, 10]], 1, id="DATA amid others"),
        # What has begun with the Initial TSN has the right tag.
        pytest.param(
            [OPENING[0], *at(4, init_frame(1, 5000, says=OTHER_TAGS[0]), within=ONE_WAY)],
            [[10, 0]],
            0,
            id="late INIT ACK",
        ),
        pytest.param(at(4, other_init(1), within=ONE_WAY), [[10, 0]], 0, id="INIT ACK midway"),
        *(
            # It would make copies, or things impossible, of DATA in disorder (RFC 4960 5.2.3).
            pytest.param(
                at(6, init_frame(1, FIRST_TSNS[1] + 100_000, says=tag), within=DISORDER),
                [[10, 10]],
                0,
                id=f"INIT ACK with another Initial TSN and tag {tag}",
            )
            for tag in (None, OTHER_TAGS[0])
        ),
    ],
)
def test_what_costs_an_association_nothing(
    frames: list[bytes], found: list[list[int]], unknown: int
) -> None:
    """A packet that is late or forged leaves its segments, its end and its verdicts as they are."""
    events, counted = told(frames)
    assert (fpdus(events), counted) == (found, unknown)
    end = ends(events)[-1]
    is_one_way = found == [[10, 0]]
    assert end.ending == ("half closed" if is_one_way else "closed")
    assert [half.gaps for half in end.halves] == [0, 0]
    assert not of(ErrorFound, events)


@pytest.mark.parametrize("answered", [True, False])
@pytest.mark.parametrize("echoed", [True, False])
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("first", [0, 1])
def test_rfc4960_5_2_4_restart(answered: bool, echoed: bool, times: int, first: int) -> None:
    """An INIT with another tag ends the association; whatever else of the setup was captured."""
    old, new = spoken(), other_talk(first)
    setup = times * [other_init(0)] + answered * times * [other_init(1)]
    setup += echoed * [stray(sctp.chunk(sctp.COOKIE_ECHO, 0, b"cookie"))]
    frames = [*OPENING, *frames_of(old.units[:8]), *setup, *frames_of(new.units, OTHER_TAGS)]
    events, unknown = told([*frames, frames_of(old.units)[8]])
    assert fpdus(events) == [[3, 3], [1, 1]]
    assert [each.ending for each in ends(events)] == ["reused", "closed"]
    assert not of(ErrorFound, events)
    # What the old association sends after that is nobody's.
    assert unknown == 1


NEXT = other_talk()
ANSWERS = frames_of((unit for unit in NEXT.units if unit.side), OTHER_TAGS)


@pytest.mark.parametrize(
    ("frames", "found"),
    [
        pytest.param(
            [*ONE_WAY, other_init(0), *frames_of(NEXT.units, OTHER_TAGS)],
            [[10, 0], [1, 1]],
            id="an INIT that does not fit the TSNs, while the tag that it says is not known",
        ),
        pytest.param(
            [*ONE_WAY, sctp.frame(0, sctp.packet(0, ABORT)), *ANSWERS],
            [[10, 0], [1, 0]],
            id="DATA after the end, in a direction whose tag is not known",
        ),
        pytest.param(
            at(6, init_frame(1, says=sctp.TAGS[0], adaptation=None), within=DISORDER),
            [[10, 10]],
            id="INIT ACK after DATA of its sender",
        ),
        pytest.param(
            at(4, init_frame(1, says=OTHER_TAGS[0], adaptation=None), within=ONE_WAY),
            [[10, 0]],
            id="INIT ACK that says another tag",
        ),
    ],
)
def test_whose_packets_they_are(frames: list[bytes], found: list[list[int]]) -> None:
    """Each association has its own, and errors of another one are held against none."""
    events, _ = told(frames)
    assert fpdus(events) == found
    assert not of(ErrorFound, events)


def test_restart_told_by_the_peer() -> None:
    """Who has sent the INIT need not have been captured any more."""
    old, new = spoken(), Talk(tsns=(5000, 5000), ssns=(0, 1))
    new.send(1)
    new.send(1)
    frames = [*OPENING, *frames_of(old.units[:8]), other_init(0), *frames_of(new.units, OTHER_TAGS)]
    events, unknown = told(frames)
    assert (fpdus(events)[-1], unknown) == ([0, 2], 0)
