# SPDX-License-Identifier: GPL-2.0-or-later
"""DATA chunks from which nothing can be recovered are neither errors nor copies (RFC 4960 6.9)."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.stream.events import ChunksMissing, ConnectionEnded, DDPSegmentRecovered, ErrorFound
from scapy_mpa.stream.limits import Limits
from tests.dialects.sctp_feed import (
    OPENING,
    Talk,
    closing,
    events_of,
    frames_of,
    new_associations,
    of,
    packet_of,
)
from tests.truth import sctpstream as sctp

_PART = sctp.U | sctp.B


def _cut_up(*lost: int, behind: bool = False) -> list[bytes]:
    """A session with a segment in one chunk and one in three, without some of its six chunks."""
    talk = Talk()
    talk.begin_session()
    talk.send(0, b"one")
    talk.send(0, bytes(1100), 400)
    assert len(talk.units) == 6
    if behind:
        talk.send(0, b"behind")
        talk.end_session()
    return frames_of(unit for at, unit in enumerate(talk.units) if at not in lost)


def _chunk(number: int, ppid: int, user_data: bytes, stream: int = 0, flags: int = _PART) -> bytes:
    """A frame with a DATA chunk, so many TSNs after Initiate and Accept."""
    made = sctp.data(101 + number, ppid, user_data, stream=stream, flags=flags)
    return sctp.frame(0, sctp.packet(0, made))


def _after_a_part() -> list[bytes]:
    """A session in which the first segment is never whole, though its only TSN was captured."""
    talk = Talk()
    talk.begin_session()
    begin = frames_of(talk.units)
    talk.tsns[0] += 1
    talk.ssns[0] += 1
    talk.send(0, b"behind")
    talk.end_session()
    part = _chunk(0, 16, sctp.segment(1, sctp.send(1, b"")))
    return [*begin, part, *frames_of(talk.units[2:]), *closing(talk)]


BEGUN = _cut_up(2, 3, 4, 5)
MANY = [_chunk(2 * at, 16, b"z" * 50, 1) for at in range(3 * 1024)]
EARLY = [_chunk(at, 16, sctp.segment(7, sctp.send(9, b"?")), flags=7) for at in (-3, -2)]
BUNDLE = sctp.packet(0, *(sctp.data(101 + at, 16, b"part", flags=sctp.U) for at in range(0, 20, 2)))


@pytest.mark.parametrize(
    ("frames", "gaps"),
    [
        pytest.param(_cut_up(4), [], id="middle missing"),
        pytest.param(_cut_up(5), [], id="end missing"),
        pytest.param(_cut_up(4, 5), [], id="only a beginning"),
        pytest.param(_cut_up(3), [], id="beginning missing"),
        pytest.param([*BEGUN, _chunk(0, 16, sctp.segment(1, bytes(50)), 1)], [], id="other stream"),
        pytest.param([*BEGUN, _chunk(0, 17, sctp.control(0, 1))], [], id="Initiate"),
        pytest.param([*BEGUN, _chunk(0, 46, b"diameter")], [], id="other protocol"),
        pytest.param([*BEGUN, _chunk(0, 16, b"\0")], [], id="no DDP-SSN"),
        pytest.param([*BEGUN, sctp.frame(0, BUNDLE)], [], id="several in a packet"),
        pytest.param(_cut_up(5, behind=True), [(2, 1, "capture ended")], id="others follow"),
        pytest.param(_after_a_part(), [(1, 1, "connection ended")], id="all TSNs captured"),
        pytest.param([*BEGUN, *MANY], [], id="a limit drops them"),
        pytest.param([*BEGUN, *EARLY], [], id="TSNs below the initial one (3.3.2)"),
        pytest.param([*EARLY, *BEGUN], [], id="TSNs below the initial one come first"),
    ],
)
def test_what_is_never_whole(frames: list[bytes], gaps: list[tuple[int, int, str]]) -> None:
    """A message is missing where others follow; nothing is wrong, and nothing is a copy."""
    events = events_of([*OPENING, *frames], limits=Limits(octets_per_half=100_000))
    assert [(each.seq, each.length, each.reason) for each in of(ChunksMissing, events)] == gaps
    assert not of(ErrorFound, events)


def test_chunk_before_anything_shows_ddp() -> None:
    """It is not recovered, and what follows is."""
    talk = Talk(ssns=(7, 7))
    talk.say(0, sctp.SEGMENT, sctp.segment(7, b"\x43\x4f" + bytes(20)))
    talk.send(0)
    (found,) = of(DDPSegmentRecovered, events_of(frames_of(talk.units)))
    assert found.seq == talk.units[1].tsn


@pytest.mark.parametrize("captured", [14 + 20 + 12 + 8, 14 + 20 + 12 + 16 + 1])
@pytest.mark.parametrize("shortest", [(16, sctp.segment(1, b"")), (17, sctp.control(1, 4))])
def test_chunk_that_the_snap_length_cut(shortest: tuple[int, bytes], captured: int) -> None:
    """Without its TSN or its DDP-SSN, it is nobody's error, however short it was."""
    talk = Talk()
    talk.begin_session()
    talk.say(0, *shortest)
    associations = new_associations()
    frames = [*OPENING, *frames_of(talk.units)]
    for number, octets in enumerate(frames, 1):
        shown = captured if number == len(frames) else None
        associations.receive(packet_of(octets, number, number, shown))
    (end,) = [each for events in associations.ends() for each in events]
    assert isinstance(end, ConnectionEnded) and end.errors == 0


@given(st.integers(0, 2**32), st.integers(0, 12_000))
def test_nothing_is_found_twice(seed: int, limit: int) -> None:
    """In disorder, with losses, copies and limits: no errors."""
    rng = random.Random(seed)
    talk = Talk()
    talk.begin_session()
    for _ in range(rng.randrange(1, 15)):
        for side in (0, 1):
            size = rng.choice([None, rng.randrange(1, 60)])
            talk.send(side, rng.randbytes(rng.randrange(200)), size)
    units = [unit for unit in talk.units if rng.random() < 0.9]
    rng.shuffle(units)
    copies = units[::10]
    events = events_of(
        [*OPENING, *frames_of(units + copies)], limits=Limits(octets_per_half=1 + limit)
    )
    found = [(each.direction, each.seq) for each in of(DDPSegmentRecovered, events)]
    assert len(found) == len(set(found))
    assert not of(ErrorFound, events)
