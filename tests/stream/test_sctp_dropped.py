# SPDX-License-Identifier: GPL-2.0-or-later
"""DATA chunks that come to nothing are told of: as missing, or as frames that were not followed."""

from __future__ import annotations

import random
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.capture.decoder import Decoder
from scapy_mpa.capture.frame import Frame
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
from scapy_mpa.stream.sctp.packet import SctpPacket
from scapy_mpa.stream.sctp.tsn import HOLES
from tests.stream.sctp_feed import OPENING, Talk, closing, events_of, frames_of
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


def of(kind: type, events: list[Event]) -> list:
    """The events of a kind."""
    return [event for event in events if isinstance(event, kind)]


def cut_up() -> Talk:
    """A session with a segment in one chunk, and one in three of them."""
    talk = Talk()
    talk.begin_session()
    talk.send(0, b"one")
    talk.send(0, bytes(1100), 400)
    assert len(talk.units) == 6
    return talk


@pytest.mark.parametrize(
    ("is_shut_down", "reason"), [(0, "capture ended"), (1, "connection ended")]
)
@pytest.mark.parametrize("lost", [(4,), (5,), (4, 5)])
def test_message_that_is_never_whole(lost: tuple[int, ...], is_shut_down: int, reason: str) -> None:
    """Its DDP-SSN, which is in the first fragment, is missing, though nothing comes behind it."""
    talk = cut_up()
    units = [unit for number, unit in enumerate(talk.units) if number not in lost]
    frames = [*OPENING, *frames_of(units), *(closing(talk) if is_shut_down else [])]
    events, gaps, dropped = told(frames)
    assert gaps == [(2, 1, reason)]
    (end,) = of(ConnectionEnded, events)
    assert end.halves[0].gaps == 1
    # Of what lies behind the missing one nobody can tell what it belongs to.
    assert dropped == ({_DROPPED: 1} if lost == (4,) else {})


def test_message_without_its_beginning() -> None:
    """What DDP-SSN it has is not known: its fragments are counted."""
    talk = cut_up()
    del talk.units[3]
    _, gaps, dropped = told([*OPENING, *frames_of(talk.units)])
    assert (gaps, dropped) == ([], {_DROPPED: 2})


def test_frames_are_counted() -> None:
    """Each once, however many chunks it has brought."""
    talk = Talk()
    talk.begin_session()
    bundle = [sctp.data(101 + number, 16, b"part", flags=sctp.U) for number in range(20)]
    frame = sctp.frame(0, sctp.packet(0, *bundle[::2]))
    _, gaps, dropped = told([*OPENING, *frames_of(talk.units), frame])
    assert (gaps, dropped) == ([], {_DROPPED: 1})


@pytest.mark.parametrize(
    ("user_data", "ppid", "stream"),
    [
        # No session on that stream.
        (sctp.segment(1, bytes(50)), sctp.SEGMENT, 1),
        # Another session begins.
        (sctp.control(0, sctp.INITIATE), sctp.CONTROL, 0),
        (b"diameter", 46, 0),
        (b"\0", sctp.SEGMENT, 0),
    ],
    ids=["other stream", "initiate", "other protocol", "no DDP-SSN"],
)
def test_message_of_no_session(user_data: bytes, ppid: int, stream: int) -> None:
    """It is counted."""
    talk = Talk()
    talk.begin_session()
    chunk = sctp.data(talk.tsns[0], ppid, user_data, stream=stream, flags=sctp.U | sctp.B)
    frame = sctp.frame(0, sctp.packet(0, chunk))
    _, gaps, dropped = told([*OPENING, *frames_of(talk.units), frame])
    assert (gaps, dropped) == ([], {_DROPPED: 1})


def test_message_behind_the_end_of_a_session() -> None:
    """Of which session it is cannot be told."""
    talk = Talk()
    talk.begin_session()
    talk.end_session()
    chunk = sctp.data(talk.tsns[0], 16, sctp.segment(1, bytes(9)), flags=sctp.U | sctp.B)
    frame = sctp.frame(0, sctp.packet(0, chunk))
    _, gaps, dropped = told([*OPENING, *frames_of(talk.units), frame])
    assert (gaps, dropped) == ([], {_DROPPED: 1})


def test_message_of_a_session_long_ended() -> None:
    """One of the session before the last two says nothing of those."""
    talk = cut_up()
    talk.end_session()
    for _ in range(2):
        talk.begin_session()
        talk.send(0)
        talk.send(0)
        talk.send(0)
        talk.end_session()
    del talk.units[5]
    events, gaps, dropped = told([*OPENING, *frames_of(talk.units), *closing(talk)])
    assert [gap[:2] for gap in gaps] == [(2, 1)]
    assert dropped == {_DROPPED: 2}
    assert len(of(ConnectionEnded, events)) == 3 and not of(ErrorFound, events)


def test_nothing_is_held_against_the_sender_of_a_message_that_is_not_whole() -> None:
    """Its DDP-SSN was used, though all TSNs are there, and all of them acknowledged."""
    talk = Talk()
    talk.begin_session()
    chunk = sctp.data(talk.tsns[0], 16, sctp.segment(1, sctp.send(1, b"")), flags=sctp.U | sctp.B)
    part = sctp.frame(0, sctp.packet(0, chunk))
    talk.tsns[0] += 1
    talk.ssns[0] += 1
    begin = frames_of(talk.units)
    talk.units.clear()
    talk.send(0, b"behind")
    talk.end_session()
    frames = [*OPENING, *begin, part, *frames_of(talk.units), *closing(talk)]
    events, gaps, dropped = told(frames)
    assert (gaps, dropped) == ([(1, 1, "connection ended")], {})
    assert not of(ErrorFound, events)


def test_message_given_up_because_of_a_limit() -> None:
    """It is missing for that reason, at once; what comes behind it does not wait."""
    talk = cut_up()
    last = talk.units.pop()
    talk.send(0, b"behind")
    frames = [*OPENING, *frames_of([*talk.units, last])]
    events, gaps, dropped = told(frames, Limits(octets_per_half=1500))
    assert gaps == [(2, 1, "limit")]
    assert dropped == {_DROPPED: 1}
    (end,) = of(ConnectionEnded, events)
    assert (end.halves[0].gaps, end.halves[0].retransmitted) == (1, 0)
    order = [type(each) for each in events]
    assert order.index(ChunksMissing) < len(order) - 1 - order[::-1].index(DDPSegmentRecovered)


def test_many_beginnings_of_messages() -> None:
    """Every frame is told of, be it as missing or as not followed, and no copy is claimed."""
    talk = cut_up()
    frames = [*OPENING, *frames_of(talk.units[:4])]
    many = 3 * HOLES
    for number in range(many):
        chunk = sctp.data(talk.tsns[0] + 2 * number, 16, b"z" * 50, stream=1, flags=sctp.U | sctp.B)
        frames.append(sctp.frame(0, sctp.packet(0, chunk)))
    frames += frames_of(talk.units[4:])
    events, gaps, dropped = told(frames, Limits(octets_per_half=100_000))
    assert gaps == [(2, 1, "limit")]
    assert dropped == {_DROPPED: many + 2}
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
    packets: list[SctpPacket] = []
    decoder = Decoder(packets.append)
    frames = [*OPENING, *frames_of(talk.units)]
    for number, octets in enumerate(frames, 1):
        shown = octets[:captured] if number == len(frames) else octets
        decoder.segment(Frame(number, number, 1, shown, len(octets), None))
        associations.receive(packets.pop())
    assert not unfollowed(decoder, Flows(), associations)
    assert len([each for events in associations.ends() for each in events]) == 1
    assert unfollowed(decoder, Flows(), associations) == {_DROPPED: 1}


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
