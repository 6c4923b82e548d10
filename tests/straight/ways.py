# SPDX-License-Identifier: GPL-2.0-or-later
"""Two ways to read a capture that must agree: with the straight path, and by recovery alone."""

import io
import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

import pytest

from scapy_mpa.capture import open_capture
from scapy_mpa.cli.lines import Lines
from scapy_mpa.cli.output import text_of
from scapy_mpa.cli.reading import Reading
from scapy_mpa.records.page import RecordPage
from scapy_mpa.records.record import json_of, record_of
from scapy_mpa.stream import flows
from scapy_mpa.stream.limits import Limits
from tests.capture import build
from tests.stream.feed import halves
from tests.truth import impair
from tests.truth.impair import Half, Segment

T = TypeVar("T")


@contextmanager
def recovery_alone() -> Iterator[None]:
    """Let recovery read every segment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flows, "STRAIGHT_AT_LEAST", 1 << 62)
        yield


def _reading(octets: bytes, limits: Limits | None, checks: bool = True) -> Reading:
    """Read a capture with messages, and with checks or without."""
    capture = open_capture(io.BytesIO(octets))
    return Reading(capture, limits=limits, messages=True, checks=checks)


def recovery(octets: bytes, limits: Limits | None = None, *, checks: bool = False) -> list[str]:
    """The records of a capture, event by event, if recovery reads every segment."""
    with recovery_alone():
        reading = _reading(octets, limits, checks)
        return [
            json_of(record_of(event, reading.clock))
            for batch in reading.batches()
            for event in batch
        ]


def straight(octets: bytes, limits: Limits | None = None, *, checks: bool = False) -> list[str]:
    """The records as ``dissect --json`` prints them."""
    reading = _reading(octets, limits, checks)
    page = RecordPage(reading.clock).page
    return b"".join([page(rows) for rows in reading.rows()]).decode().splitlines()


def texts(octets: bytes, limits: Limits | None = None) -> tuple[bytes, bytes]:
    """The printed lines, and why reading stopped: by recovery alone, and with the straight path."""
    with recovery_alone():
        alone = _reading(octets, limits)
        lines = Lines(alone.clock)
        text = b"".join(
            text_of([lines.line(record_of(event, alone.clock)) for event in batch])
            for batch in alone.batches()
        )
    both = _reading(octets, limits)
    page = Lines(both.clock).page
    pages = [page(rows) for rows in both.rows()]
    problems = [str(each.capture.problem).encode() for each in (alone, both)]
    return text + problems[0], b"".join(pages) + problems[1]


def same(octets: bytes, limits: Limits | None = None) -> list[str]:
    """Check that both ways give the same records and lines, and return the records."""
    lines = recovery(octets, limits, checks=True)
    assert straight(octets, limits, checks=True) == lines
    by_recovery, by_both = texts(octets, limits)
    assert by_both == by_recovery
    return lines


def as_pcapng(octets: bytes) -> bytes:
    """The frames of a capture with times in microseconds as a pcapng file."""
    blocks = [build.section(), build.interface()]
    for frame in open_capture(io.BytesIO(octets)):
        assert frame.time_ns % 1000 == 0
        ticks, original = frame.time_ns // 1000, frame.original_length
        blocks.append(build.enhanced(frame.octets, ticks=ticks, original=original))
    return b"".join(blocks)


def same_in_pcapng(octets: bytes, lines: list[str]) -> None:
    """Check that the same frames in pcapng give the same records and lines."""
    pcapng = as_pcapng(octets)
    assert straight(pcapng, checks=True) == lines
    assert texts(pcapng) == texts(octets)


def connection(
    rng: random.Random,
    *,
    close: str | None = "fin",
    crc: bool = True,
    markers: tuple[bool, bool] = (False, False),
    count: int = 20,
    sizes: Sequence[int] = (300, 700, 1448),
    like: tuple[Half, Half] | None = None,
) -> tuple[tuple[Half, Half], list[Segment]]:
    """Both directions of a connection, and its segments.

    :param sizes: octets of the segments of a side, one of them.
    :param like: directions of another connection, with the same initial sequence numbers.
    """
    sides = halves(rng, markers=markers, crc=crc, count=count, mulpdu=900)
    if like is not None:
        sides = replace(sides[0], isn=like[0].isn), replace(sides[1], isn=like[1].isn)
    cut = [
        impair.cut_mss(each.octets, rng.choice(sizes) if len(sizes) > 1 else sizes[0])
        for each in sides
    ]
    return sides, impair.conversation(sides, (cut[0], cut[1]), rng, close=close)


def by_turns(rng: random.Random, scripts: Iterable[Sequence[T]]) -> list[T]:
    """What each script holds, in its order, a few at a time."""
    left, taken = [[*script] for script in scripts], list[T]()
    while left:
        script = rng.choice(left)
        taken += script[:3]
        del script[:3]
        if not script:
            left.remove(script)
    return taken
