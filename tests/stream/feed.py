# SPDX-License-Identifier: GPL-2.0-or-later
"""Feed segments to the stream core, whole or cut, and select from its events."""

import random
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from scapy_mpa.capture import Decoder
from scapy_mpa.capture.frame import Frame
from scapy_mpa.stream.events import ChunksMissing, ErrorFound, Event, FPDURecovered, GapFound
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.limits import Limits
from scapy_mpa.stream.segment import Segment
from scapy_mpa.wire.dialect import Dialect
from tests.truth import impair, messages, mpastream
from tests.truth.mpastream import TrueFPDU

Kind = TypeVar("Kind")
INITIATOR_FLOW = bytes.fromhex("0a000001 0a000002 9c40 0fa0")
RESPONDER_FLOW = bytes.fromhex("0a000002 0a000001 0fa0 9c40")


def as_segment(number: int, segment: impair.Segment) -> Segment:
    """A segment of the truth as captured: in frame ``number``, after as many milliseconds."""
    flow = RESPONDER_FLOW if segment.direction else INITIATOR_FLOW
    return Segment(flow, *segment[1:], len(segment.payload), number, number * 1_000_000)


def decoded(frames: Iterable[Frame]) -> Iterator[Segment]:
    """The segments that frames carry."""
    decoder = Decoder()
    for frame in frames:
        segment = decoder.segment(frame)
        if segment is not None:
            yield segment


def feed(
    segments: Iterable[Segment],
    dialect: Dialect | None = None,
    limits: Limits | None = None,
    *,
    straight: bool = True,
) -> list[Event]:
    """Events of a whole capture, with a forced dialect and limits."""
    flows = Flows(limits=limits, dialect=dialect, straight=straight)
    return [event for each in segments for event in flows.receive(each)] + flows.finish()


def feed_truth(segments: Iterable[impair.Segment], limits: Limits | None = None) -> list[Event]:
    """Events of the truth's segments."""
    captured = (as_segment(number, each) for number, each in enumerate(segments, 1))
    return feed(captured, limits=limits)


def of(kind: type[Kind], events: Iterable[object]) -> list[Kind]:
    """The events of a kind."""
    return [event for event in events if isinstance(event, kind)]


def fpdus(events: Iterable[Event], direction: int | None = None) -> list[FPDURecovered]:
    """The FPDUs of a direction, or of both, in order of recovery."""
    return [each for each in of(FPDURecovered, events) if direction in (None, each.direction)]


def halves(
    rng: random.Random,
    *,
    markers: tuple[bool, bool],
    crc: bool,
    count: int = 40,
    mulpdu: int = 1442,
) -> tuple[impair.Half, impair.Half]:
    """Both directions of a connection.

    :param markers: for each sender, whether it sends Markers.
    """
    made = []
    for direction, key in enumerate((mpastream.REQUEST_KEY, mpastream.REPLY_KEY)):
        # M asks the other side for Markers (RFC 5044 7.1.1).
        asked, data = int(markers[1 - direction]), rng.randbytes(rng.randint(0, 60))
        startup = mpastream.startup_frame(key, markers=asked, crc=int(crc), private_data=data)
        ulpdus = messages.random_ulpdus(rng, count, mulpdu)
        octets, truth = mpastream.build_stream(ulpdus, markers=markers[direction], crc=crc)
        made.append(impair.Half(startup, octets, truth, rng.getrandbits(32)))
    return made[0], made[1]


BASE = 1021
"""Sequence number of offset 0 of direction 0 in a connection of `talk.started`."""


def stream(sizes: list[int], *, markers: bool, crc: bool = True) -> tuple[bytes, list[TrueFPDU]]:
    """One FPDU for each of these payload sizes."""
    made = [
        messages.send(msn, random.Random(msn).randbytes(size), 4000)[0]
        for msn, size in enumerate(sizes, 1)
    ]
    return mpastream.build_stream(made, markers=markers, crc=crc)


def wrong(events: list[Event]) -> list[Event]:
    """Errors, gaps and missing chunks."""
    return [each for each in events if isinstance(each, ErrorFound | GapFound | ChunksMissing)]


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
