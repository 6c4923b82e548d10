# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures that have only the beginning of some segments."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping

from scapy_mpa.stream.events import ErrorFound, Event, GapFound
from scapy_mpa.stream.segment import Segment
from tests.stream.feed import of
from tests.truth import messages, mpastream
from tests.truth.mpastream import TrueFPDU

BASE = 1021
"""Sequence number of offset 0 of direction 0 in the connections of `sent`."""


def stream(sizes: list[int], *, markers: bool, crc: bool = True) -> tuple[bytes, list[TrueFPDU]]:
    """One FPDU for each of these payload sizes."""
    made = [
        messages.send(msn, random.Random(msn).randbytes(size), 4000)[0]
        for msn, size in enumerate(sizes, 1)
    ]
    return mpastream.build_stream(made, markers=markers, crc=crc)


def wrong(events: list[Event]) -> list[Event]:
    """Errors and gaps."""
    return [each for each in events if isinstance(each, ErrorFound | GapFound)]


def gaps(events: list[Event], base: int, direction: int = 0) -> list[tuple[int, int]]:
    """Offset and length of each gap of a direction.

    :param base: the sequence number of offset 0.
    """
    found = [each for each in of(GapFound, events) if each.direction == direction]
    return [((each.seq - base + 2**31) % 2**32 - 2**31, each.length) for each in found]


def cut_to(segments: Iterable[Segment], captured: Mapping[int, int | None]) -> list[Segment]:
    """The segments of a connection, some of them cut.

    :param captured: the number of captured octets, by index of the segment.  None or absent: all.
    """
    return [
        each._replace(payload=each.payload[: captured.get(index)])
        for index, each in enumerate(segments)
    ]
