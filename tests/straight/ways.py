# SPDX-License-Identifier: GPL-2.0-or-later
"""Two ways to read a capture that must say the same: as it is meant, and by recovery alone."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

import pytest

from scapy_mpa.capture import open_capture
from scapy_mpa.cli.lines import Lines
from scapy_mpa.cli.output import text_of
from scapy_mpa.cli.reading import Reading
from scapy_mpa.records.jsonline import json_of
from scapy_mpa.records.page import RecordPage
from scapy_mpa.records.record import record_of
from scapy_mpa.stream import flows
from scapy_mpa.stream.limits import Limits
from tests.capture import build


@contextmanager
def recovery_alone() -> Iterator[None]:
    """Have recovery read every segment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flows, "STRAIGHT_AT_LEAST", 1 << 62)
        yield


def recovery(octets: bytes, limits: Limits | None = None) -> list[str]:
    """The records of a capture of which recovery reads every segment, each as it comes."""
    with recovery_alone():
        reading = Reading(open_capture(io.BytesIO(octets)), limits=limits, messages=True)
        return [
            json_of(record_of(event, reading.clock))
            for batch in reading.batches()
            for event in batch
        ]


def straight(octets: bytes, limits: Limits | None = None) -> list[str]:
    """The records as ``dissect --json`` prints them."""
    reading = Reading(open_capture(io.BytesIO(octets)), limits=limits, messages=True)
    page = RecordPage(reading.clock).page
    return b"".join([page(rows) for rows in reading.rows()]).decode().splitlines()


def texts(
    octets: bytes,
    open_file: Callable[[], BinaryIO] | None = None,
    limits: Limits | None = None,
) -> tuple[bytes, bytes]:
    """The listing for people, and why reading stopped, by recovery alone and as it is meant.

    :param open_file: opens a file that holds the octets; None: one that gives all of them.
    :param limits: of the memory that either may take.
    """

    def reading() -> Reading:
        file = io.BytesIO(octets) if open_file is None else open_file()
        return Reading(open_capture(file), limits=limits, messages=True)

    with recovery_alone():
        one = reading()
        lines = Lines(one.clock)
        text = b"".join(
            text_of([lines.line(record_of(event, one.clock)) for event in batch])
            for batch in one.batches()
        )
    other = reading()
    page = Lines(other.clock).page
    pages = [page(rows) for rows in other.rows()]
    problems = [str(each.capture.problem).encode() for each in (one, other)]
    return text + problems[0], b"".join(pages) + problems[1]


def same(octets: bytes, limits: Limits | None = None) -> list[str]:
    """Both ways say the same, as records and as text; return the records."""
    lines = recovery(octets, limits)
    assert straight(octets, limits) == lines
    by_recovery, by_both = texts(octets, limits=limits)
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
    """The other format changes nothing."""
    others = as_pcapng(octets)
    assert straight(others) == lines
    assert texts(others) == texts(octets)
