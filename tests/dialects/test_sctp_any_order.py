# SPDX-License-Identifier: GPL-2.0-or-later
"""DDP over SCTP in any order, lost, copied, in fragments, with numbers that wrap (RFC 5043 6.1).

What both sides sent decides what must be found, not the order of the capture.
"""

import random
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.stream.events import DDPSegmentRecovered, Event, SessionControlSeen
from tests.dialects.sctp_feed import OPENING, Talk, closing, ends, events_of, frames_of
from tests.stream.exchange import messages_of
from tests.stream.feed import wrong
from tests.truth import sctpstream as sctp
from tests.truth.sctpstream import Unit

seeds = st.integers(0, 2**32)
counts = st.tuples(st.integers(0, 12), st.integers(0, 12))


def session(
    counts: tuple[int, int], rng: random.Random, sizes: bool = False, talk: Talk | None = None
) -> Talk:
    """A session in which both sides send, perhaps in fragments."""
    talk = talk or Talk()
    talk.begin_session()
    for side, count in enumerate(counts):
        for _ in range(count):
            size = rng.randrange(1, 30) if sizes and rng.random() < 0.5 else None
            talk.send(side, rng.randbytes(rng.randrange(40)), size)
    talk.end_session()
    return talk


def in_any_order(units: list[Unit], rng: random.Random) -> list[Unit]:
    """The same messages with other TSNs: their order is that of DDP-SSNs (RFC 5043 5.2.1).

    The first one, which begins a session, keeps its TSN.
    """
    made = units[:1]
    for side in (0, 1):
        own = [unit for unit in units[1:] if unit.side == side]
        tsns = [unit.tsn for unit in own]
        rng.shuffle(tsns)
        made += [replace(unit, tsn=tsn) for unit, tsn in zip(own, tsns, strict=True)]
    return made


def found_in(events: list[Event]) -> set[tuple[int, int, bytes]]:
    """Sender, TSN and octets of what was found. Nothing is found twice."""
    units = [each for each in events if isinstance(each, (DDPSegmentRecovered, SessionControlSeen))]
    found = [(side_of(each), each.seq, each.octets) for each in units]
    assert len(found) == len(set(found))
    return set(found)


def side_of(event: Event) -> int:
    """The sender of an event's octets."""
    return int(event.connection.endpoints[event.direction] != "10.0.0.1:40000")


def sent_in(talk: Talk) -> set[tuple[int, int, bytes]]:
    """The same of what was sent."""
    return {(side, tsn & 0xFFFFFFFF, user_data) for side, tsn, user_data in talk.said}


def of_units(units: list[Unit]) -> set[tuple[int, int, bytes]]:
    """The same of whole messages."""
    return {(unit.side, unit.tsn, unit.user_data) for unit in units}


@given(st.lists(st.tuples(counts, st.integers(0, 3)), min_size=1, max_size=5), seeds, st.booleans())
def test_any_order_and_copies(
    sessions: list[tuple[tuple[int, int], int]], seed: int, sizes: bool
) -> None:
    """Whole or in fragments (RFC 4960 6.9), everything is found once, without errors.

    Sessions on several streams, one after another on each, are separate connections, and closed.
    """
    rng = random.Random(seed)
    talk, frames, copies = Talk(), list[bytes](), 0
    for counts, stream in sessions:
        talk.stream = stream
        begin = len(talk.units)
        session(counts, rng, sizes, talk)
        # The Initiate stays first, since it separates a session from the one before.
        if not sizes:
            talk.units[begin:] = in_any_order(talk.units[begin:], rng)
        first, *rest = frames_of(talk.units[begin:])
        again = rng.sample(rest, len(rest) // 3)
        rest += again
        rng.shuffle(rest)
        frames += [first, *rest]
        copies += len(again)
    if len(sessions) == 1:
        rng.shuffle(frames)
    events = events_of(OPENING + frames + closing(talk))
    assert found_in(events) == (sent_in(talk) if sizes else of_units(talk.units))
    assert not wrong(events)
    ended = ends(events)
    assert {(each.ending, each.initiator) for each in ended} == {("closed", "10.0.0.1:40000")}
    assert [
        (tuple(half.fpdus for half in each.halves), each.connection.stream) for each in ended
    ] == sessions
    retransmitted = sum(half.retransmitted for each in ended for half in each.halves)
    # Copies are not counted before their session is known.
    is_exact = not sizes and len(sessions) > 1
    assert retransmitted == copies if is_exact else retransmitted <= copies
    found = messages_of(events)
    assert all(each.complete for each in found)
    # In order of DDP-SSN, in any order of capture (RFC 5043 6.1, RFC 5041 5.4).
    msns = [(each.connection.number, each.direction, each.msn) for each in found]
    assert sorted(msns, key=lambda each: each[:2]) == [
        (number, side, msn)
        for number, (counts, _) in enumerate(sessions)
        for side, count in enumerate(counts)
        for msn in range(1, count + 1)
    ]


@given(counts, seeds, st.integers(0, 20), st.integers(0, 20))
def test_numbers_wrap(counts: tuple[int, int], seed: int, tsns: int, ssns: int) -> None:
    """TSNs pass 2^32 and DDP-SSNs 65536. The capture begins within the association."""
    rng = random.Random(seed)
    talk = Talk((2**32 - tsns, 2**32 - 1), (65536 - ssns, 65536 - ssns))
    talk.msns = [2**32 - 1 - ssns, 7]
    for side, count in enumerate(counts):
        # The first chunk stays first, so that the others have something to follow.
        for _ in range(count + 1):
            if talk.msns[side] == 0xFFFFFFFF:
                talk.msns[side] = -1
            talk.send(side, b"some octets", None)
    firsts = [talk.units[0], talk.units[counts[0] + 1]]
    talk.end_session()
    rest = [unit for unit in talk.units if unit not in firsts]
    rng.shuffle(rest)
    events = events_of(frames_of(firsts + rest))
    assert found_in(events) == sent_in(talk)
    assert not wrong(events)
    (ended,) = ends(events)
    # Either side may have sent the first Terminate.
    assert (ended.initiator, ended.ending) == (None, "closed")
    found = messages_of(events)
    for side, count in enumerate(counts):
        msns = [each.msn for each in found if each.direction == side]
        first = (2**32 - 1 - ssns, 7)[side] + 1
        assert msns == [first + number & 0xFFFFFFFF for number in range(count + 1)]


@given(st.lists(st.binary(max_size=60), max_size=30), seeds)
def test_any_octets_in_any_chunk(pieces: list[bytes], seed: int) -> None:
    """Any octets in any chunk give a result, and each association ends once."""
    rng = random.Random(seed)
    frames = list(OPENING)
    for piece in pieces:
        side = rng.randrange(2)
        kind = rng.choice([0, 0, 0, 1, 2, 3, 6, 7, 14])
        if rng.random() < 0.5:
            made = sctp.data(
                rng.randrange(95, 140),
                rng.choice([16, 17, 17, 99]),
                bytes([0, rng.randrange(4)]) + piece,
                flags=rng.randrange(8),
                stream=rng.randrange(2),
            )
        else:
            made = sctp.chunk(kind, rng.randrange(4), piece)
        frames.append(sctp.frame(side, sctp.packet(side, made)))
    events = events_of(frames)
    ended = [each.connection for each in ends(events)]
    assert len(ended) == len(set(ended))
    assert {event.connection for event in events} == set(ended)
