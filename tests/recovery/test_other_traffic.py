# SPDX-License-Identifier: GPL-2.0-or-later
"""Traffic that is not iWARP gives no FPDU, no startup frame, no error and no dialect.

Each flow carries more octets than are searched before a direction counts as other traffic.  It is
captured from its SYN or from some point, with holes or without.  Tables are full of words that read
as headers, at places to which lengths lead.
"""

import functools
import random

import pytest

from tests import effort
from tests.recovery.reading import Record, plain, printed
from tests.truth import impair, pcapfile
from tests.truth.othertraffic import REQUEST, TABLES, TRAFFIC, VOLUME, Exchange

SITUATIONS = (
    *("anywhere", "SYN", "SYN, with holes"),
    *("anywhere, with holes", "one direction", "SYN, tiny segments"),
)
"""Where a capture begins, and which segments are missing or tiny."""

SEGMENT_SIZES = (100, 536, 1448, 1460, 8948, 16_384, 21_888, 65_483)


@functools.cache
def exchange(kind: str) -> Exchange:
    """What both sides of a connection send."""
    rng = random.Random(f"{kind} 0")
    return TRAFFIC[kind](rng) if kind in TRAFFIC else (REQUEST, TABLES[kind](rng))


def capture_of(kind: str, situation: str) -> bytes:
    """A capture of one connection."""
    rng = random.Random(f"{kind} {situation}")
    size = rng.choice(SEGMENT_SIZES)
    halves, sendings = [], []
    for octets in exchange(kind):
        halves.append(impair.Half(b"", octets, [], rng.getrandbits(32)))
        cut = impair.cut_mss(octets, size)
        if "tiny" in situation:
            cut = impair.cut_random(octets[:60_000], rng, 1, 60)
        if "holes" in situation:
            cut = impair.reorder(impair.miss(cut, rng, 0.1), rng, 0.1)
        sendings.append(cut)
    segments = impair.conversation(
        (halves[0], halves[1]), (sendings[0], sendings[1]), rng, ack_rate=0.4
    )
    if not situation.startswith("SYN"):
        segments = segments[3 + rng.randint(0, len(segments) // 3) * (len(segments) > 12) :]
    if situation == "one direction":
        segments = [each for each in segments if each.direction == 1]
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


@pytest.mark.parametrize("kind", [*TRAFFIC, *TABLES])
def test_nothing_is_claimed(kind: str) -> None:
    """Neither events, with all checks, nor printed records claim that there is iWARP."""
    count = {"quick": 1, "usual": 2}.get(effort.chosen, len(SITUATIONS))
    for situation in random.Random(kind).sample(SITUATIONS, count):
        octets = capture_of(kind, situation)
        records = plain(octets, checks=True)
        assert claims(kind, records) == [], situation
        assert records[-1]["type"] == "connection", situation
        assert claims(kind, printed(octets)) == [], situation


@pytest.mark.parametrize("kind", TRAFFIC)
def test_flows_are_long_enough(kind: str) -> None:
    """A direction carries more octets than are searched (STREAMING_OCTETS, 256 KiB)."""
    assert max(map(len, exchange(kind))) >= VOLUME > 1 << 18
