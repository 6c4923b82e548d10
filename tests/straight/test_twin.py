# SPDX-License-Identifier: GPL-2.0-or-later
"""The straight path says exactly what recovery alone says."""

from __future__ import annotations

import io
import pathlib
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scapy_mpa.capture import Decoder, open_capture
from scapy_mpa.cli.reading import Reading
from scapy_mpa.records import json_line
from scapy_mpa.stream.clock import Clock
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.octets import overlap
from scapy_mpa.wire.errors import CaptureError
from tests.capture import build
from tests.captures import OVER_TCP, PCAPS, capture_name
from tests.straight.ways import same, straight, texts
from tests.stream.feed import halves
from tests.stream.sending import WAYS, cut
from tests.truth import impair, messages, mpastream, pcapfile
from tests.truth.impair import ACK, PSH, Segment

HEADERS = 20
"""Octets of ULPDU_Length and the longest DDP header."""


@pytest.fixture(autouse=True, scope="module")
def _remembered_for_good() -> Iterator[None]:
    """Let octets be remembered for good: for how long they are, differs a little between the two.

    Recovery remembers them when their FPDU is whole, the straight path as they come.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overlap, "RECENT_CHUNKS", 1 << 40)
        patch.setattr(overlap, "RECENT_OCTETS", 1 << 40)
        yield


def as_pcapng(octets: bytes) -> bytes:
    """The frames of a capture with times in microseconds as a pcapng file."""
    blocks = [build.section(), build.interface()]
    for frame in open_capture(io.BytesIO(octets)):
        assert frame.time_ns % 1000 == 0
        ticks, original = frame.time_ns // 1000, frame.original_length
        blocks.append(build.enhanced(frame.octets, ticks=ticks, original=original))
    return b"".join(blocks)


def is_the_same_in_pcapng(octets: bytes, lines: list[str]) -> None:
    """The other format changes nothing."""
    others = as_pcapng(octets)
    assert straight(others) == lines
    assert texts(others) == texts(octets)


@pytest.mark.examples
@pytest.mark.parametrize("path", OVER_TCP, ids=capture_name)
def test_captures(path: pathlib.Path) -> None:
    """Each capture gives the same lines in the same order, and the same counts without lines."""
    octets = path.read_bytes()
    lines = same(octets)
    is_the_same_in_pcapng(octets, lines)


@given(
    seed=st.integers(0, 2**32),
    markers=st.tuples(st.booleans(), st.booleans()),
    crc=st.booleans(),
    mulpdu=st.sampled_from((64, 500, 1442, 8940, 60000)),
    way=st.sampled_from(WAYS),
    harm=st.sampled_from(
        ("none", "loss", "order", "copies", "missed", "differing", "damage", "header", "all")
    ),
    snap=st.sampled_from((None, None, None, 60, 100, 400)),
    odd=st.integers(0, 3),
)
# Without CRCs where segments begin is evidence: what was taken out comes back as it was captured.
@example(
    seed=4,
    markers=(False, False),
    crc=False,
    mulpdu=64,
    way="any size",
    harm="damage",
    snap=None,
    odd=0,
)
def test_conversations(
    seed: int,
    markers: tuple[bool, bool],
    crc: bool,
    mulpdu: int,
    way: str,
    harm: str,
    snap: int | None,
    odd: int,
) -> None:
    """Whatever happens on the way, and wherever the capture begins.

    :param odd: how many segments have a number that is out of place.
    """
    rng = random.Random(seed)
    pair = halves(rng, markers=markers, crc=crc, count=rng.randint(1, 25), mulpdu=mulpdu)
    if seed % 4 == 0:
        pair = (impair.isn_wrapping_at(pair[0], len(pair[0].octets) // 2), pair[1])
    both = []
    for half in pair:
        if way == "tiny":
            sendings = impair.cut_random(half.octets[:4000], rng, 1, 60)
        else:
            sendings = cut(way, half, rng)
        if harm in ("loss", "all"):
            sendings = impair.lose_and_retransmit(sendings, rng, 0.05, seen=rng.random() < 0.5)
        if harm in ("order", "all"):
            sendings = impair.reorder(sendings, rng, 0.1)
        if harm in ("copies", "all"):
            sendings = impair.duplicate(sendings, rng, 0.1)
        if harm == "copies":
            sendings = impair.keepalive(sendings, half.octets, rng, 0.1, garbage=True)
        elif harm == "missed":
            sendings = impair.miss(sendings, rng, 0.05)
        elif harm == "differing":
            sendings = impair.overlap(sendings, half.octets, rng, 0.1, differing=True)
        if harm in ("damage", "header", "all") and half.octets:
            at = rng.randrange(len(half.octets))
            if harm == "header":
                at = rng.choice(half.truth).seq_offset + rng.randrange(HEADERS)
            sendings = [impair.Sending(each.offset, _flipped(each, at)) for each in sendings]
        both.append(sendings)
    segments = impair.conversation(
        pair, (both[0], both[1]), rng, ack_missed=0.3, close=rng.choice(("fin", "rst", None))
    )
    if seed % 3 == 0:
        segments = segments[rng.randrange(len(segments)) :]
    for _ in range(odd):
        at = rng.randrange(len(segments))
        segments[at] = _out_of_place(segments[at], rng)
    octets = pcapfile.pcap(pcapfile.frames(segments), snaplen=snap or 1 << 18)
    lines = same(octets)
    if seed % 2:
        is_the_same_in_pcapng(octets, lines)


@given(
    seed=st.integers(0, 2**32),
    lengths=st.lists(st.integers(0, 90) | st.integers(0, 3000), max_size=60),
    markers=st.booleans(),
    size=st.sampled_from((100, 1460, 9000)),
    damaged=st.booleans(),
)
# Of the ULPDU_Length there is one octet at first.
@example(seed=0, lengths=[], markers=False, size=1, damaged=False)
def test_fpdus_of_any_length(
    seed: int, lengths: list[int], markers: bool, size: int, damaged: bool
) -> None:
    """ULPDUs of any length and content, too short for a DDP header or empty, in any segments."""
    rng = random.Random(seed)
    ulpdus = [messages.send(msn, rng.randbytes(40), mulpdu=100)[0] for msn in range(1, 9)]
    ulpdus += [rng.randbytes(length) for length in lengths]
    stream = bytearray(mpastream.build_stream(ulpdus, markers=markers)[0])
    if damaged:
        stream[rng.randrange(len(stream) // 2, len(stream))] ^= 0x55
    segments = []
    at = 0
    while at < len(stream):
        octets = bytes(stream[at : at + rng.randint(1, size)])
        segments.append(Segment(0, 1000 + at, 1, PSH | ACK, octets))
        at += len(octets)
        segments.append(Segment(1, 1, 1000 + at, ACK, b""))
    capture = pcapfile.pcap(pcapfile.frames(segments, hosts=("10.0.0.1", "10.0.0.2")))
    same(capture)


def _flipped(sending: impair.Sending, at: int) -> bytes:
    """The octets of a sending, with the one at an offset of the stream changed."""
    payload = bytearray(sending.payload)
    if 0 <= at - sending.offset < len(payload):
        payload[at - sending.offset] ^= 0x55
    return bytes(payload)


def _out_of_place(segment: Segment, rng: random.Random) -> Segment:
    """The segment with another sequence or acknowledgement number."""
    by = rng.choice((-5000, -1, 1, 100, 70_000, 1 << 31))
    if rng.random() < 0.5:
        return segment._replace(seq=(segment.seq + by) % (1 << 32))
    return segment._replace(ack=(segment.ack + by) % (1 << 32))


class Trickle(io.RawIOBase):
    """A file that gives one octet a read, as a slow pipe may."""

    def __init__(self, octets: bytes) -> None:
        self._octets = octets
        self._at = 0

    def readable(self) -> bool:
        """It can be read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return the next octet."""
        self._at += 1
        return self._octets[self._at - 1 : self._at]


def outcome(file: Any, *, walks: bool) -> tuple[list[str], str]:
    """The lines of a file, read as a capture or frame by frame, and what was wrong with it."""
    try:
        capture = open_capture(file)
    except CaptureError as error:
        return [], str(error)
    if walks:
        reading = Reading(capture)
        clock = reading.clock
        events = [event for batch in reading.batches() for event in batch]
    else:
        flows, decoder = Flows(), Decoder()
        events, clock = [], Clock()
        for frame in capture:
            if frame.number == 1:
                clock.begin_ns = frame.time_ns
            clock.note(frame.number, frame.time_ns)
            segment = decoder.segment(frame)
            if segment is not None:
                events += flows.receive(segment)
        events += flows.finish()
    return [json_line(event, clock) for event in events], str(capture.problem)


@given(
    changes=st.lists(st.tuples(st.integers(0, 6169), st.integers(1, 255)), max_size=12),
    cut=st.one_of(st.none(), st.integers(0, 6169)),
    other=st.one_of(st.none(), st.none(), st.binary(max_size=60)),
)
@example(changes=[(536, 208)], cut=None, other=None)  # The Reply seems to begin 12 octets earlier.
def test_any_octets_in_one_piece_or_octet_by_octet(
    changes: list[tuple[int, int]], cut: int | None, other: bytes | None
) -> None:
    """A damaged capture, or none at all, gives the same records and the same complaint."""
    octets = bytearray((PCAPS / "rping_mpa2_crcon.pcap").read_bytes())
    for at, mask in changes:
        octets[at] ^= mask
    whole = bytes(octets[:cut]) if other is None else other
    results = [
        outcome(file, walks=walks)
        for walks in (False, True)
        for file in (io.BytesIO(whole), Trickle(whole))
    ]
    assert all(each == results[0] for each in results)
