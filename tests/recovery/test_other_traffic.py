# SPDX-License-Identifier: GPL-2.0-or-later
"""Other traffic than iWARP yields nothing: no FPDU, no startup frame, no error, no claim.

Each flow carries more octets than are searched before a direction counts as other traffic.  It is
captured from its SYN or from some point, with holes or without.
"""

from __future__ import annotations

import functools
import random

import pytest

from tests.cli.command import run
from tests.recovery.reading import Record, plain, printed
from tests.truth import impair, pcapfile
from tests.truth.othertables import ASK, TABLES
from tests.truth.othertraffic import TRAFFIC, VOLUME, Said

CUTS = {
    "1460 octets": lambda octets, rng: impair.cut_mss(octets, 1460),
    "any size": lambda octets, rng: impair.cut_random(octets, rng, 20, 60_000),
    "tiny": lambda octets, rng: impair.cut_random(octets[:60_000], rng, 1, 60),
}


CAPTURES = [
    ("SYN", "1460 octets"),
    ("SYN", "tiny"),
    ("anywhere", "any size"),
    ("with holes", "1460 octets"),
]


@functools.cache
def said(kind: str) -> Said:
    """What both sides of a connection send."""
    return TRAFFIC[kind](random.Random(kind))


def capture(kind: str, begin: str, cut: str) -> bytes:
    """A capture of one connection."""
    rng = random.Random(f"{kind} {begin} {cut}")
    halves = tuple(impair.Half(b"", octets, [], rng.getrandbits(32)) for octets in said(kind))
    sendings = [CUTS[cut](half.octets, rng) for half in halves]
    if begin == "with holes":
        sendings = [impair.miss(each, rng, 0.05) for each in sendings]
        sendings = [impair.reorder(each, rng, 0.05) for each in sendings]
    segments = impair.conversation(
        (halves[0], halves[1]), (sendings[0], sendings[1]), rng, ack_rate=0.3
    )
    if begin == "anywhere":
        segments = segments[rng.randint(4, len(segments) // 3) :]
    return pcapfile.pcap(pcapfile.frames(segments))


def claims(kind: str, records: list[Record]) -> list[Record]:
    """Records that claim that there is iWARP.

    A capture of iWARP, sent as payload, holds startup frames.  Streaming mode octets may come
    before them (RFC 5044 7.1.2).  But no FPDU fills a segment of the connection that carries it.
    """
    if kind == "a capture of iWARP":
        return [each for each in records if each["type"] == "fpdu"]
    return [
        each
        for each in records
        if each["type"] in ("fpdu", "startup", "error")
        or (each["type"] == "connection" and (each["dialect"] or each["crc"] is not None))
    ]


@pytest.mark.examples
@pytest.mark.parametrize(
    ("kind", "begin", "cut"),
    [
        pytest.param(kind, *each, id=", ".join((kind, *each)))
        for kind in TRAFFIC
        for each in CAPTURES
    ],
)
def test_nothing_is_claimed(kind: str, begin: str, cut: str) -> None:
    """Neither as events nor as they are printed."""
    octets = capture(kind, begin, cut)
    records = plain(octets)
    assert claims(kind, records) == []
    assert [each["type"] for each in records][-1] == "connection"
    assert claims(kind, printed(octets)) == []


@pytest.mark.parametrize("kind", TRAFFIC)
def test_flows_are_long_enough(kind: str) -> None:
    """A direction carries more octets than are searched (STREAMING_OCTETS, 256 KiB)."""
    assert max(map(len, said(kind))) >= VOLUME > 1 << 18


SEGMENT_SIZES = (100, 536, 1448, 1460, 8948, 16_384, 21_888, 65_483)

SEEDS_OF_TABLES = range(1)

SITUATIONS = ("SYN", "SYN, with holes", "anywhere", "anywhere, with holes", "one direction")
"""Where a capture of a table begins, and what it lacks."""


def table_capture(kind: str, situation: str, seed: int) -> bytes:
    """A capture of a connection on which a client asks for a table, and the server sends it."""
    rng = random.Random(f"{kind} {seed}")
    octets = TABLES[kind](rng)
    rng = random.Random(f"{kind} {situation} {seed}")
    halves = tuple(impair.Half(b"", each, [], rng.getrandbits(32)) for each in (ASK, octets))
    sendings = [impair.cut_mss(half.octets, rng.choice(SEGMENT_SIZES)) for half in halves]
    if "holes" in situation:
        sendings[1] = impair.reorder(impair.miss(sendings[1], rng, 0.1), rng, 0.1)
    segments = impair.conversation(
        (halves[0], halves[1]), (sendings[0], sendings[1]), rng, ack_rate=0.5
    )
    if not situation.startswith("SYN"):
        segments = segments[3 + rng.randint(0, len(segments) // 3) * (len(segments) > 12) :]
    if situation == "one direction":
        segments = [each for each in segments if each.direction == 1]
    return pcapfile.pcap(pcapfile.frames(segments))


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("kind", TABLES)
def test_nothing_is_claimed_of_tables(kind: str, situation: str) -> None:
    """Tables are full of words that read as headers, at places to which lengths lead."""
    for seed in SEEDS_OF_TABLES:
        octets = table_capture(kind, situation, seed)
        assert claims(kind, plain(octets)) == [], f"table_capture{kind, situation, seed}"
        assert claims(kind, printed(octets)) == [], f"table_capture{kind, situation, seed}"


@pytest.mark.parametrize("kind", TABLES)
def test_nothing_is_wrong_with_tables(kind: str) -> None:
    """``dissect --check`` finds no fault and no FPDU."""
    for seed in SEEDS_OF_TABLES:
        result = run("dissect", "--check", "-", stdin=table_capture(kind, "SYN", seed))
        assert result.exit_code == 0, f"table_capture{kind, 'SYN', seed}"
        assert "FPDU" not in result.stdout, f"table_capture{kind, 'SYN', seed}"
