# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures of heavily damaged conversations.  No sender or network makes some of the faults."""

import random

from tests.truth import pcapfile
from tests.truth.cases import Case, case
from tests.truth.impair import Segment

MOST = 300
"""Most segments that are taken from a conversation."""


def heavily_damaged(seed: int) -> bytes:
    """A capture of a conversation with many faults, perhaps with another conversation in it."""
    rng = random.Random(seed)
    made = case(seed)
    segments = list(made.segments)[:MOST]
    if rng.random() < 0.5:
        at = rng.randrange(len(segments) + 1)
        segments[at:at] = moved(case(seed + 10_000_000), made, rng)
    kept = rng.choice((1, 1, 0.9, 0.5, 0.2, 0.05))
    segments = [each for each in segments if rng.random() < kept]
    if rng.random() < 0.5:
        segments = [garbled(each, rng) if rng.random() < 0.15 else each for each in segments]
    if rng.random() < 0.5:
        far = rng.choice((2, 5, 20, 200))
        order = sorted(range(len(segments)), key=lambda at: at + far * rng.random())
        segments = [segments[at] for at in order]
    frames = pcapfile.frames(segments, hosts=made.hosts, ports=made.ports)
    return pcapfile.pcap(frames, snaplen=rng.choice((262144, 262144, 120, 300)))


def moved(other: Case, made: Case, rng: random.Random) -> list[Segment]:
    """The segments of another conversation, at their own sequence numbers or near the first's."""
    by = [
        rng.choice((0, near.base - own.base + rng.randint(-3000, 3000)))
        for near, own in zip(made.halves, other.halves, strict=True)
    ]
    return [
        each._replace(
            seq=(each.seq + by[each.direction]) % 2**32,
            ack=(each.ack + by[1 - each.direction]) % 2**32 if each.ack else 0,
        )
        for each in other.segments[:MOST]
    ]


def garbled(segment: Segment, rng: random.Random) -> Segment:
    """A segment with one thing changed."""
    what = rng.randrange(4)
    if what == 0:
        return segment._replace(direction=1 - segment.direction)
    if what == 1:
        return segment._replace(flags=rng.getrandbits(5))
    if what == 2:
        return segment._replace(payload=segment.payload[rng.randrange(len(segment.payload) + 1) :])
    by = rng.choice((rng.randint(-5000, 5000), rng.getrandbits(32)))
    return segment._replace(ack=(segment.ack + by) % 2**32)
