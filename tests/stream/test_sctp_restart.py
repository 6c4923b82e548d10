# SPDX-License-Identifier: GPL-2.0-or-later
"""One packet that is late or forged costs an association nothing (RFC 4960 5.2.2, 5.2.3, 8.5)."""

from __future__ import annotations

import struct
from itertools import count

import pytest

from scapy_mpa.stream.events import ConnectionEnded, ErrorFound, Event
from scapy_mpa.stream.limits import Limits
from scapy_mpa.stream.sctp.associations import Associations
from tests.stream.sctp_feed import FIRST_TSNS, OPENING, Talk, closing, events_of, frames_of
from tests.truth import sctpstream as sctp

OTHER_TAGS = (0x77777777, 0x55555555)
"""As ``TAGS``, of another association between the same endpoints."""


def told(frames: list[bytes], limits: Limits | None = None) -> tuple[list[Event], int]:
    """What the core makes of frames, and how many of them belong to no association."""
    numbers = count()
    associations = Associations(lambda: next(numbers), limits)
    return events_of(frames, associations=associations), associations.unknown


def ends(events: list[Event]) -> list[ConnectionEnded]:
    """The ends of sessions."""
    return [each for each in events if isinstance(each, ConnectionEnded)]


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
    made = sctp.init(side, tsn)
    made = made[:4] + struct.pack(">I", OTHER_TAGS[1 - side]) + made[8:]
    return sctp.frame(side, sctp.packet(side, made, tag=OTHER_TAGS[1] if side else 0))


def other_frames(talk: Talk) -> list[bytes]:
    """The frames of the other association."""
    return [
        sctp.frame(
            unit.side,
            sctp.packet(
                unit.side,
                sctp.data(unit.tsn, unit.ppid, unit.user_data),
                tag=OTHER_TAGS[unit.side],
            ),
        )
        for unit in talk.units
    ]


def stray(*chunks: bytes, side: int = 0) -> bytes:
    """A late packet of the other association."""
    return sctp.frame(side, sctp.packet(side, *chunks, tag=OTHER_TAGS[side]))


SEGMENT = sctp.data(77777, 16, sctp.segment(5, sctp.send(5, b"old")))
SACK = sctp.chunk(sctp.SACK, 0, struct.pack(">IIHH", 77777, 65535, 0, 0))
ABORT = sctp.chunk(sctp.ABORT, 0, b"")


@pytest.mark.parametrize(
    ("at", "chunk"), [(0, SEGMENT), (0, SACK), (0, ABORT), (1, SACK), (1, ABORT)]
)
def test_late_packet_of_the_association_before(at: int, chunk: bytes) -> None:
    """Before the INIT or before the INIT ACK: the tag that these say counts, and not its own."""
    talk = spoken()
    frames = [*OPENING, *frames_of(talk.units), *closing(talk)]
    frames.insert(at, stray(chunk))
    # Nothing is believed of it once the right tag is known.
    frames.insert(8, stray(chunk))
    events, unknown = told(frames)
    assert fpdus(events)[-1] == [10, 10]
    (*before, end) = ends(events)
    assert (end.ending, end.errors, unknown) == (
        "closed",
        0,
        2 if at == 0 and chunk != SEGMENT else 1,
    )
    assert not any(half.gaps for half in end.halves)
    assert [each.ending for each in before] == (["reused"] if chunk == SEGMENT else [])


def test_late_data_between_init_and_init_ack() -> None:
    """Its TSN is far from the Initial TSN that the INIT says, so that it belongs to nobody."""
    talk = spoken()
    frames = [*OPENING, *frames_of(talk.units), *closing(talk)]
    frames.insert(1, stray(SEGMENT))
    events, unknown = told(frames)
    (end,) = ends(events)
    assert (fpdus(events), unknown) == ([[10, 10]], 1)
    assert (end.ending, end.errors) == ("closed", 0)


def test_late_init_ack_denies_nothing() -> None:
    """What has begun with the Initial TSN has the right tag."""
    frames = one_way(0)
    late = sctp.init(1, 5000)
    late = late[:4] + struct.pack(">I", OTHER_TAGS[0]) + late[8:]
    frames = [OPENING[0], *frames[:4], sctp.frame(1, sctp.packet(1, late)), *frames[4:]]
    events, unknown = told(frames)
    assert (fpdus(events), unknown) == ([[10, 0]], 0)


def test_late_init_ack_in_a_capture_that_begins_midway() -> None:
    """Whatever it says, what was captured before and behind it is one session."""
    frames = one_way(0)
    events, _ = told([*frames[:4], other_init(1), *frames[4:]])
    assert fpdus(events) == [[10, 0]]


@pytest.mark.parametrize("tag", [None, OTHER_TAGS[0]])
def test_init_ack_with_an_initial_tsn_that_is_not_its_own(tag: int | None) -> None:
    """It would make copies, or things impossible, of all DATA behind it (RFC 4960 5.2.3)."""
    talk = spoken()
    made = sctp.init(1, FIRST_TSNS[1] + 100_000)
    if tag is not None:
        made = made[:4] + struct.pack(">I", tag) + made[8:]
    frames = frames_of(talk.units)
    # What is captured in disorder is held against the Initial TSN.
    frames[11], frames[13] = frames[13], frames[11]
    frames.insert(6, sctp.frame(1, sctp.packet(1, made)))
    events, unknown = told(frames)
    assert (fpdus(events), unknown) == ([[10, 10]], 0)
    assert not [each for each in events if isinstance(each, ErrorFound)]


@pytest.mark.parametrize("is_answered", [False, True])
@pytest.mark.parametrize("at", range(4, 20, 3))
def test_rfc4960_5_2_2_unexpected_init(at: int, is_answered: bool) -> None:
    """The association goes on, though its peer answers; both packets are counted."""
    talk = spoken()
    frames = [*OPENING, *frames_of(talk.units), *closing(talk)]
    frames[at:at] = [other_init(0), *([other_init(1)] if is_answered else [])]
    events, unknown = told(frames)
    (end,) = ends(events)
    assert (fpdus(events), end.ending, end.errors) == ([[10, 10]], "closed", 0)
    assert unknown == 1 + is_answered


@pytest.mark.parametrize("side", [0, 1])
def test_unexpected_init_of_one_direction(side: int) -> None:
    """Nor is the answer taken for a packet of the association, of which one side was captured."""
    frames = one_way(side)
    events, unknown = told([*frames[:4], other_init(0), other_init(1), *frames[4:]])
    assert (fpdus(events), unknown) == ([[10, 0]], 2)


@pytest.mark.parametrize("captured", ["all", "no answer", "no echo", "init only", "init twice"])
@pytest.mark.parametrize("late", [False, True])
def test_rfc4960_5_2_4_restart(captured: str, late: bool) -> None:
    """What follows the setup shows that another association has begun; all of it is followed."""
    old, new = spoken(), Talk(tsns=(5000, 5000))
    new.begin_session()
    new.send(0)
    new.send(1)
    new.end_session()
    echo = stray(sctp.chunk(sctp.COOKIE_ECHO, 0, b"cookie"))
    setup = {
        "all": [other_init(0), other_init(1), echo],
        "no answer": [other_init(0), echo],
        "no echo": [other_init(0), other_init(1)],
        "init only": [other_init(0)],
        "init twice": [other_init(0), other_init(0), other_init(1), other_init(1), echo],
    }[captured]
    # What is left of the old association may come while the new one is set up.
    between = frames_of(old.units[8:10]) if late else []
    frames = [*OPENING, *frames_of(old.units[:8]), *setup[:2], *between, *setup[2:]]
    events, unknown = told([*frames, *other_frames(new)])
    assert fpdus(events) == [[4, 4] if late else [3, 3], [1, 1]]
    assert [each.ending for each in ends(events)] == ["reused", "closed"]
    assert not [each for each in events if isinstance(each, ErrorFound)]
    # Without the INIT ACK, nothing shows whose tag its sender has, until the peer speaks.
    assert unknown == {"no answer": 2, "init only": 1}.get(captured, 0)


def test_restart_told_by_the_peer() -> None:
    """Who has sent the INIT need not have been captured any more."""
    old, new = spoken(), Talk(tsns=(5000, 5000), ssns=(0, 1))
    new.send(1)
    new.send(1)
    frames = [*OPENING, *frames_of(old.units[:8]), other_init(0), *other_frames(new)]
    events, unknown = told(frames)
    assert (fpdus(events)[-1], unknown) == ([0, 2], 0)


def test_other_tags_do_not_restart() -> None:
    """A tag that is neither association's is nobody's (RFC 4960 8.5)."""
    talk = spoken()
    frames = [*OPENING, *frames_of(talk.units), *closing(talk)]
    data = sctp.data(123, 16, sctp.segment(9, sctp.send(9, b"?")))
    forged = [
        sctp.frame(side, sctp.packet(side, data, tag=0x01020304))
        for side in (0, 1)
        for _ in range(2)
    ]
    frames[8:8] = [other_init(0), *forged[:2], other_init(1), *forged[2:]]
    events, unknown = told(frames)
    assert (fpdus(events), unknown) == ([[10, 10]], 6)


def test_many_inits_take_no_more_memory_than_one() -> None:
    """The last one counts; the others are ended at once."""
    numbers = count()
    associations = Associations(lambda: next(numbers), Limits(octets_in_total=50_000))
    frames = []
    for number in range(200):
        made = sctp.init(0, number)
        made = made[:4] + struct.pack(">I", number + 1) + made[8:24] + bytes(1000)
        made = made[:2] + struct.pack(">H", len(made)) + made[4:]
        frames.append(sctp.frame(0, sctp.packet(0, made, tag=0)))
    one = [*OPENING, *frames_of(spoken().units)]
    events = events_of([*one[:8], *frames, *one[8:]], associations=associations)
    assert fpdus(events) == [[10, 10]]
    assert associations.unknown == 200
    assert associations._budget.room == 50_000
