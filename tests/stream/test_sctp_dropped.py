# SPDX-License-Identifier: GPL-2.0-or-later
"""DATA chunks that come to nothing are told of: as missing, or as frames that were not followed."""

from __future__ import annotations

import random
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.capture.decoder import Decoder
from scapy_mpa.capture.unfollowed import unfollowed
from scapy_mpa.stream.events import (
    ChunksMissing,
    ConnectionEnded,
    DDPSegmentRecovered,
    ErrorFound,
    Event,
)
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.limits import Limits
from scapy_mpa.stream.sctp.associations import Associations
from scapy_mpa.stream.sctp.tsn import HOLES
from tests.stream.sctp_feed import OPENING, Talk, closing, events_of, frames_of, of, packet_of
from tests.truth import sctpstream as sctp

_DROPPED = "SCTP chunk not placed"


def told(
    frames: list[bytes], limits: Limits | None = None
) -> tuple[list[Event], list[tuple[int, int, str]], dict[str, int]]:
    """What the core makes of frames: events, what is missing, and what was not followed."""
    numbers = count()
    associations = Associations(lambda: next(numbers), limits)
    events = events_of(frames, associations=associations)
    gaps = [(each.seq, each.length, each.reason) for each in of(ChunksMissing, events)]
    return events, gaps, dict(unfollowed(Decoder(), Flows(), associations))


def cut_up() -> Talk:
    """A session with a segment in one chunk, and one in three of them."""
    talk = Talk()
    talk.begin_session()
    talk.send(0, b"one")
    talk.send(0, bytes(1100), 400)
    assert len(talk.units) == 6
    return talk


_PART = sctp.U | sctp.B


def _chunk(number: int, ppid: int, user_data: bytes, stream: int = 0, flags: int = _PART) -> bytes:
    """A frame with a DATA chunk, so many TSNs after Initiate and Accept."""
    made = sctp.data(101 + number, ppid, user_data, stream=stream, flags=flags)
    return sctp.frame(0, sctp.packet(0, made))


def _without(*lost: int) -> list[bytes]:
    """The frames of a session with a segment in three chunks, without some of them."""
    return frames_of(unit for at, unit in enumerate(cut_up().units) if at not in lost)


@pytest.mark.parametrize(
    ("frames", "dropped"),
    [
        pytest.param(_without(4), 2, id="middle missing"),
        pytest.param(_without(5), 2, id="end missing"),
        pytest.param(_without(4, 5), 1, id="only a beginning"),
        pytest.param(_without(3), 2, id="beginning missing"),
        pytest.param([*_without(4, 5), *_without(4)], 2, id="copies apart"),
        pytest.param([_chunk(0, 16, sctp.segment(1, bytes(50)), 1)], 1, id="other stream"),
        pytest.param([_chunk(0, 17, sctp.control(0, sctp.INITIATE))], 1, id="initiate"),
        pytest.param([_chunk(0, 46, b"diameter")], 1, id="other protocol"),
        pytest.param([_chunk(0, 16, b"\0")], 1, id="no DDP-SSN"),
    ],
)
@pytest.mark.parametrize("is_shut_down", [False, True])
def test_message_that_is_never_whole(frames: list[bytes], dropped: int, is_shut_down: bool) -> None:
    """Each frame with a part of it is counted; nothing is held against its sender."""
    talk = Talk()
    talk.begin_session()
    end = closing(talk) if is_shut_down else []
    events, gaps, counted = told([*OPENING, *frames_of(talk.units), *frames, *end])
    assert (gaps, counted) == ([], {_DROPPED: dropped})
    assert not of(ErrorFound, events)


def test_frames_are_counted() -> None:
    """Each once, however many chunks it has brought."""
    talk = Talk()
    talk.begin_session()
    bundle = [sctp.data(101 + number, 16, b"part", flags=sctp.U) for number in range(20)]
    frame = sctp.frame(0, sctp.packet(0, *bundle[::2]))
    _, gaps, dropped = told([*OPENING, *frames_of(talk.units), frame])
    assert (gaps, dropped) == ([], {_DROPPED: 1})


def test_message_before_others_that_is_never_whole() -> None:
    """Its DDP-SSN is missing, as that of a message of which nothing was captured."""
    talk = cut_up()
    talk.send(0, b"behind")
    talk.end_session()
    del talk.units[5]
    events, gaps, dropped = told([*OPENING, *frames_of(talk.units), *closing(talk)])
    assert (gaps, dropped) == ([(2, 1, "connection ended")], {_DROPPED: 2})
    assert not of(ErrorFound, events)


def test_nothing_is_held_against_the_sender_of_a_message_that_is_not_whole() -> None:
    """Its DDP-SSN was used, though all TSNs are there, and all of them acknowledged."""
    talk = Talk()
    talk.begin_session()
    part = _chunk(0, 16, sctp.segment(1, sctp.send(1, b"")))
    begin = frames_of(talk.units)
    talk.units.clear()
    talk.tsns[0] += 1
    talk.ssns[0] += 1
    talk.send(0, b"behind")
    talk.end_session()
    frames = [*OPENING, *begin, part, *frames_of(talk.units), *closing(talk)]
    events, gaps, dropped = told(frames)
    assert (gaps, dropped) == ([(1, 1, "connection ended")], {_DROPPED: 1})
    assert not of(ErrorFound, events)


def test_many_beginnings_of_messages() -> None:
    """A limit drops them; every frame is counted, and no copy is claimed."""
    many = 3 * HOLES
    frames = [*OPENING, *_without(4, 5)]
    frames += [_chunk(5 + 2 * at, 16, b"z" * 50, 1) for at in range(many)]
    events, gaps, dropped = told(frames, Limits(octets_per_half=100_000))
    assert (gaps, dropped) == ([], {_DROPPED: many + 1})
    (end,) = of(ConnectionEnded, events)
    assert [half.retransmitted for half in end.halves] == [0, 0]


def test_copies_behind_forgotten_holes() -> None:
    """They are known as such; nothing is said to be whole any more."""
    talk = Talk()
    talk.begin_session()
    frames = [*OPENING, *frames_of(talk.units)]
    chunks = [sctp.data(talk.tsns[0] + 2 * number, 46, b"") for number in range(HOLES + 10)]
    frames += [sctp.frame(0, sctp.packet(0, chunk)) for chunk in chunks]
    events, _, dropped = told([*frames, frames[-1]])
    (end,) = of(ConnectionEnded, events)
    assert (end.halves[0].retransmitted, dropped) == (1, {})


def test_rfc4960_3_3_2_tsns_below_the_initial_one() -> None:
    """No receiver takes them, and they are no copies; they are counted."""
    talk = Talk()
    talk.begin_session()
    talk.send(0)
    early = [sctp.data(number, 16, sctp.segment(7, sctp.send(9, b"?"))) for number in (98, 99)]
    frames = [sctp.frame(0, sctp.packet(0, chunk)) for chunk in early]
    for opened in (OPENING, [*OPENING, *frames_of(talk.units)]):
        events, _, dropped = told([*opened, *frames])
        assert dropped == {_DROPPED: 2}
        (end,) = of(ConnectionEnded, events)
        assert [half.retransmitted for half in end.halves] == [0, 0]


def test_chunk_before_anything_shows_ddp() -> None:
    """It is counted when its association turns out to carry DDP."""
    talk = Talk(ssns=(7, 7))
    talk.say(0, sctp.SEGMENT, sctp.segment(7, b"\x43\x4f" + bytes(20)))
    talk.send(0)
    events, _, dropped = told(frames_of(talk.units))
    assert len(of(DDPSegmentRecovered, events)) == 1
    assert dropped == {_DROPPED: 1}


@pytest.mark.parametrize("captured", [14 + 20 + 12 + 8, 14 + 20 + 12 + 16 + 1])
def test_chunk_that_the_snap_length_cut(captured: int) -> None:
    """Without its TSN or its DDP-SSN, it is counted."""
    talk = Talk()
    talk.begin_session()
    talk.send(0)
    numbers = count()
    associations = Associations(lambda: next(numbers))
    frames = [*OPENING, *frames_of(talk.units)]
    for number, octets in enumerate(frames, 1):
        shown = captured if number == len(frames) else None
        associations.receive(packet_of(octets, number, number, shown))
    assert not unfollowed(Decoder(), Flows(), associations)
    assert len([each for events in associations.ends() for each in events]) == 1
    assert unfollowed(Decoder(), Flows(), associations) == {_DROPPED: 1}


def test_association_without_ddp() -> None:
    """Its frames are counted as such, and once."""
    chunk = sctp.data(100, 46, b"part", flags=sctp.U | sctp.B)
    _, _, dropped = told([sctp.frame(0, sctp.packet(0, chunk))])
    assert dropped == {"SCTP without DDP": 1}


@given(st.integers(0, 2**32), st.integers(0, 12_000))
def test_nothing_vanishes(seed: int, limit: int) -> None:
    """In disorder, with losses, copies and limits, each chunk is found, missing or counted."""
    rng = random.Random(seed)
    talk = Talk()
    talk.begin_session()
    for _ in range(rng.randrange(1, 15)):
        for side in (0, 1):
            size = rng.choice([None, rng.randrange(1, 60)])
            talk.send(side, rng.randbytes(rng.randrange(200)), size)
    units = [unit for unit in talk.units if rng.random() < 0.9]
    rng.shuffle(units)
    # A copy of each tenth.
    units += units[::10]
    ddp_ssns = _ddp_ssns(talk)
    events, _, dropped = told([*OPENING, *frames_of(units)], Limits(octets_per_half=1 + limit))
    found = {
        (units[frame - len(OPENING) - 1].side, units[frame - len(OPENING) - 1].tsn)
        for each in events
        for frame in getattr(each, "frames", ())
    }
    missing = {
        (int(each.connection.endpoints[each.direction] != "10.0.0.1:40000"), serial & 0xFFFF)
        for each in of(ChunksMissing, events)
        for serial in range(each.serial, each.serial + each.length)
    }
    captured = {(unit.side, unit.tsn) for unit in units}
    left = [each for each in captured - found if (each[0], ddp_ssns[each]) not in missing]
    assert len(left) <= sum(dropped.values())
    copies = [half.retransmitted for end in of(ConnectionEnded, events) for half in end.halves]
    assert sum(copies) <= len(units) - len(captured)
    assert not of(ErrorFound, events)


def _ddp_ssns(talk: Talk) -> dict[tuple[int, int], int]:
    """By side and TSN, the DDP-SSN of the message that a chunk is of."""
    found: dict[tuple[int, int], int] = {}
    ddp_ssn = 0
    for unit in talk.units:
        if unit.flags & sctp.B:
            ddp_ssn = int.from_bytes(unit.user_data[:2], "big") if len(unit.user_data) > 1 else -1
        found[unit.side, unit.tsn] = ddp_ssn
    return found
