# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests that were not captured, taken many at a time: as if each was taken by itself."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from scapy_mpa.stream.delivery.pairing import OUTSTANDING_REQUESTS, Hole, Requests
from scapy_mpa.stream.delivery.request import Request
from scapy_mpa.stream.events import MessageRecovered
from scapy_mpa.wire.rdmap import ReadRequest
from tests.stream.work import calls


def one_by_one(asked: Requests, msns: list[int]) -> None:
    """Each by itself."""
    for msn in msns:
        asked.ask(Request(msn))


def state(asked: Requests) -> object:
    """All that is kept of Requests."""
    kept = {
        name: getattr(asked, name)
        for name in Requests.__slots__
        if name not in ("_queue", "_by_key", "_missing", "_unanswered", "_out")
    }
    queue = [(each.serial, each.msn, each.key, each.answered) for each in asked._queue]
    missing = [(msn, each.serial) for msn, each in asked._missing.items()]
    keys = {key: [each.serial for each in known] for key, known in asked._by_key.items()}
    return kept, queue, missing, keys, len(asked._unanswered), len(asked._out)


def asked_by(seed: int, skip: Callable[[Requests, list[int]], None]) -> Requests:
    """Requests and holes as chance has them, with very many left out now and then."""
    rng = random.Random(seed)
    out: list[MessageRecovered] = []
    asked = Requests(out)
    msn = 1
    for _ in range(60):
        what = rng.randrange(4)
        if what == 0:
            count = rng.choice([1, 3, 100, 700, OUTSTANDING_REQUESTS])
            skip(asked, list(range(msn, msn + count)))
            msn += count
        elif what == 1:
            read = ReadRequest(rng.randrange(3), 0, rng.choice([0, 8]), 2, 0)
            asked.ask(Request(msn, read=read))
            msn += 1
        elif what == 2:
            asked.lost(Hole(rng.randrange(40_000), 0), None, force=rng.random() < 0.8)
        elif asked._queue:
            rng.choice(asked._queue).answered = rng.random() < 0.5
    return asked


@pytest.mark.parametrize("seed", range(40))
def test_many_are_taken_as_each_by_itself(seed: int) -> None:
    """What is kept, and what is forgotten of it, is the same."""
    many = asked_by(seed, lambda asked, msns: asked.ask_missing(msns))
    assert state(many) == state(asked_by(seed, one_by_one))


def test_one_takes_next_to_no_calls() -> None:
    """Also where as many are forgotten."""
    asked = Requests([])
    asked.ask_missing(range(OUTSTANDING_REQUESTS))
    msns = range(OUTSTANDING_REQUESTS, 2 * OUTSTANDING_REQUESTS)
    assert calls(lambda: asked.ask_missing(msns)) <= 1.1 * OUTSTANDING_REQUESTS
