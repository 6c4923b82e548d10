# SPDX-License-Identifier: GPL-2.0-or-later
"""Feed the truth's segments to the stream core, and compare its events with the truth."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import TypeVar

from scapy_mpa.capture import Decoder
from scapy_mpa.capture.frame import Frame
from scapy_mpa.stream.events import Event, FPDURecovered
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.limits import Limits
from scapy_mpa.stream.segment import Segment
from scapy_mpa.wire.dialect import Dialect
from tests.truth import impair, messages, mpastream

Kind = TypeVar("Kind")
INITIATOR_FLOW = bytes.fromhex("0a000001 0a000002 9c40 0fa0")
RESPONDER_FLOW = bytes.fromhex("0a000002 0a000001 0fa0 9c40")


def as_segment(number: int, segment: impair.Segment) -> Segment:
    """A segment of the truth as captured: in frame ``number``, after as many milliseconds."""
    flow = RESPONDER_FLOW if segment.direction else INITIATOR_FLOW
    return Segment(
        flow,
        segment.seq,
        segment.ack,
        segment.flags,
        segment.payload,
        len(segment.payload),
        number,
        number * 1_000_000,
    )


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
        startup = mpastream.startup_frame(
            key,
            # M asks the other side for Markers (RFC 5044 7.1.1).
            markers=int(markers[1 - direction]),
            crc=int(crc),
            private_data=rng.randbytes(rng.randint(0, 60)),
        )
        ulpdus = messages.random_ulpdus(rng, count, mulpdu)
        octets, truth = mpastream.build_stream(ulpdus, markers=markers[direction], crc=crc)
        made.append(impair.Half(startup, octets, truth, rng.getrandbits(32)))
    return made[0], made[1]
