# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures that hold only the beginning of each frame: only the captured part is reported."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.stream.events import Event, OverlapDiffers
from tests.stream.cut import BASE, fed_with_cuts, sent, stream, wrong
from tests.stream.feed import feed, fpdus
from tests.stream.startup import ended
from tests.stream.talk import started
from tests.truth.impair import ACK
from tests.truth.mpastream import TrueFPDU


def offsets(truth: Iterable[TrueFPDU]) -> list[int]:
    """The offsets of FPDUs."""
    return [fpdu.seq_offset for fpdu in truth]


def found(events: list[Event], crc: str | None = None) -> list[int | None]:
    """The offsets of the Initiator's FPDUs that were found, or only those with this CRC verdict."""
    return [each.offset for each in fpdus(events, 0) if crc in (None, each.crc)]


Piece = tuple[int, int, int | None]


def of_fpdus(truth: Iterable[TrueFPDU], snap: int | None) -> list[Piece]:
    """One segment for each FPDU, captured up to ``snap`` octets."""
    return [(fpdu.start, fpdu.end, snap) for fpdu in truth]


@pytest.mark.parametrize("markers", [False, True])
def test_a_copy_does_not_restore_cut_off_octets(markers: bool) -> None:
    """A cut-off FPDU stays cut off, and is reported at once.  A whole copy is no difference."""
    octets, truth = stream([600] * 6, markers=markers)
    second = truth[1]
    pieces = of_fpdus(truth, None)
    pieces[1] = (second.start, second.end, 100)
    pieces.append((second.start + 50, second.end, None))
    events = feed(sent(octets, pieces, markers=markers))
    assert found(events) == offsets(truth)
    assert found(events, "unknown") == offsets([second])
    assert all(each.frames == (each.frame,) for each in fpdus(events, 0))
    assert not any(each.out_of_order for each in fpdus(events, 0))
    assert wrong(events) == [] and not any(isinstance(each, OverlapDiffers) for each in events)


@given(
    seed=st.integers(0, 2**32),
    markers=st.booleans(),
    crc=st.booleans(),
)
def test_only_captured_octets_are_compared(seed: int, markers: bool, crc: bool) -> None:
    """A difference is reported where the octet was captured.  Cut-off octets do not differ."""
    rng = random.Random(seed)
    octets, _ = stream([rng.randrange(300) for _ in range(20)], markers=markers, crc=crc)
    talk, cuts = started(markers=markers, crc=crc), dict[int, int | None]()
    known: set[int] = set()
    differing = []
    at = 0
    while at < len(octets):
        begin, end = at, min(len(octets), at + rng.randint(1, 200))
        if at and rng.random() < 0.4:
            begin = rng.randrange(max(0, at - 600), at)
            # Two octets or more are no keep-alive probe.
            end = rng.randint(begin + 2, begin + 300)
        piece = bytearray(octets[begin:end])
        snap = rng.choice((len(piece), min(len(piece), rng.randint(1, 100))))
        place = begin + rng.randrange(snap)
        if place in known and len(piece) > 1 and rng.random() < 0.5:
            piece[place - begin] ^= 0x55
            differing.append((BASE + place, 1))
        if begin == at:
            # Octets that only a late copy brings need not be kept.
            known.update(range(begin, begin + snap))
        at = max(at, end)
        cuts[len(talk.segments)] = snap
        talk.copy(0, BASE + begin, bytes(piece))
        talk.next[0] = BASE + at
        for _ in range(rng.randrange(3)):
            talk.say(1, flags=ACK)
    events = fed_with_cuts(talk, cuts)
    found = [(each.seq, each.length) for each in events if isinstance(each, OverlapDiffers)]
    assert found == differing


def test_cut_off_fpdus_do_not_show_whether_crcs_are_on() -> None:
    """Without startup frames and whole FPDUs, it stays unknown whether CRCs are on."""
    octets, truth = stream([600] * 8, markers=False)
    # Handshake and startup frames were not captured.
    events = feed(sent(octets, of_fpdus(truth, 200))[6:])
    assert {each.crc for each in fpdus(events, 0)} == {"unknown"}
    assert ended(events).crc is None
