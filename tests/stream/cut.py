# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures that hold the beginning of segments only."""

from __future__ import annotations

import random
from collections.abc import Mapping

from scapy_mpa.stream.events import ErrorFound, Event, GapFound
from tests.stream.feed import as_segment, feed
from tests.stream.talk import Talk
from tests.truth import messages, mpastream
from tests.truth.mpastream import TrueFPDU

__all__ = ["fed_with_cuts", "stream", "wrong"]


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


def fed_with_cuts(talk: Talk, there: Mapping[int, int | None]) -> list[Event]:
    """The events of a connection of which, by segment, no more than so many octets are there."""
    segments = [as_segment(number, each) for number, each in enumerate(talk.segments, 1)]
    return feed(
        each._replace(payload=each.payload[: there.get(index)])
        for index, each in enumerate(segments)
    )
