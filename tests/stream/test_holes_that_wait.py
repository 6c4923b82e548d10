# SPDX-License-Identifier: GPL-2.0-or-later
"""Holes that wait for Requests: tried again and again, each time as if for the first time."""

from __future__ import annotations

import random

import pytest

from scapy_mpa.stream.delivery.pairing import OUTSTANDING_REQUESTS, PATIENCE, Hole, Requests
from scapy_mpa.stream.delivery.request import Request
from scapy_mpa.wire.rdmap import ReadRequest
from tests.stream.work import steps

PACKAGE = "scapy_mpa.stream.delivery.pairing"


def read(msn: int, size: int, captured: int = 0) -> Request:
    """A Request for so many octets."""
    return Request(msn, captured=captured, read=ReadRequest(msn, 0, size, 2, 0))


def tried(seed: int, *, afresh: bool) -> list[object]:
    """What becomes of holes while Requests come, some of them late, and of what is known then.

    :param afresh: whether what was seen before is forgotten each time.
    """
    rng = random.Random(seed)
    asked = Requests([])
    msn, frame = 1, 0
    left_out: list[int] = []
    hole: Hole | None = None
    told: list[object] = []
    for _ in range(300):
        frame += rng.choice((0, 1, 1, 30))
        what = rng.randrange(8)
        if what < 3:
            asked.ask(read(msn, rng.choice((0, 8, 500)), frame))
            msn += 1
        elif what == 3:
            count = rng.choice((1, 3, 20))
            left_out += range(msn, msn + count)
            for _ in range(count):
                asked.ask(Request(msn))
                msn += 1
            asked.is_whole = rng.random() < 0.5
        elif what == 4 and left_out:
            number = left_out.pop(rng.randrange(len(left_out)))
            asked.fill(read(number, rng.choice((0, 8, 500)), frame))
        elif what == 5:
            asked.captured = frame
        elif rng.random() < 0.02:
            asked.give_up()
        if hole is None:
            hole = Hole(rng.choice((0, 200, 3000, 100_000)), frame)
        if afresh:
            asked._looked_at = None
        is_over = asked.lost(hole, None, force=rng.random() < 0.02)
        if is_over:
            hole = None
        told.append((is_over, asked._low, asked._high, asked._leftover, len(asked)))
    return told


@pytest.mark.parametrize("seed", range(60))
def test_nothing_else_is_found(seed: int) -> None:
    """Whatever came in between."""
    assert tried(seed, afresh=False) == tried(seed, afresh=True)


@pytest.mark.parametrize("more", [False, True])
def test_trying_again_takes_few_steps(more: bool) -> None:
    """However many Requests there are, and also if there is one more each time."""
    asked = Requests([])
    hole = Hole(1 << 30, 10 * PATIENCE)
    for msn in range(OUTSTANDING_REQUESTS // 2):
        asked.ask(read(msn, 8))
    assert not asked.lost(hole, None)

    def again() -> None:
        for msn in range(100):
            if more:
                asked.ask(read(OUTSTANDING_REQUESTS + msn, 8))
            assert not asked.lost(hole, None)

    assert steps(again, PACKAGE) < 100 * 50
