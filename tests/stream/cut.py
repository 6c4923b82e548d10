# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures that hold only the beginning of segments."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping

from scapy_mpa.stream.events import ErrorFound, Event, GapFound
from scapy_mpa.stream.segment import Segment
from tests.stream.feed import as_segment, feed
from tests.stream.talk import Talk, started
from tests.truth import messages, mpastream
from tests.truth.mpastream import TrueFPDU

BASE = 1021
"""Sequence number of offset 0 of direction 0 where `sent` begins."""


def stream(sizes: list[int], *, markers: bool, crc: bool = True) -> tuple[bytes, list[TrueFPDU]]:
    """FPDUs with these many octets of payload."""
    made = [
        messages.send(msn, random.Random(msn).randbytes(size), 4000)[0]
        for msn, size in enumerate(sizes, 1)
    ]
    return mpastream.build_stream(made, markers=markers, crc=crc)


def wrong(events: list[Event]) -> list[Event]:
    """Errors and gaps."""
    return [each for each in events if isinstance(each, ErrorFound | GapFound)]


def gaps(events: list[Event], base: int, direction: int = 0) -> list[tuple[int, int]]:
    """Offset and length of each gap of a direction; ``base`` is the number of offset 0."""
    return [
        ((each.seq - base + 2**31) % 2**32 - 2**31, each.length)
        for each in events
        if isinstance(each, GapFound) and each.direction == direction
    ]


def fed_with_cuts(talk: Talk, there: Mapping[int, int | None]) -> list[Event]:
    """The events of a connection whose segments are cut to so many octets, by index."""
    return feed(cut_to(talk, there))


def sent(
    octets: bytes,
    pieces: Iterable[tuple[int, int, int | None]],
    *,
    markers: bool = False,
    crc: bool = True,
) -> list[Segment]:
    """A connection, then segments of the Initiator from one offset to another.

    :param pieces: the two offsets, and how many octets of the segment were captured.  None: all.
    """
    talk, there = started(markers=markers, crc=crc), dict[int, int | None]()
    for begin, end, snap in pieces:
        there[len(talk.segments)] = snap
        talk.copy(0, BASE + begin, octets[begin:end])
    return cut_to(talk, there)


def cut_to(talk: Talk, there: Mapping[int, int | None]) -> list[Segment]:
    """The segments of a connection, cut to so many octets by index."""
    segments = [as_segment(number, each) for number, each in enumerate(talk.segments, 1)]
    return [
        each._replace(payload=each.payload[: there.get(index)])
        for index, each in enumerate(segments)
    ]
