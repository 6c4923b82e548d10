# SPDX-License-Identifier: GPL-2.0-or-later
"""The straight path keeps the same limits as recovery alone, and ends the same."""

from __future__ import annotations

import io
import json
import random
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.capture import Decoder, open_capture
from scapy_mpa.stream import shapes
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.limits import Limits
from tests.straight.ways import recovery, straight, texts
from tests.stream.feed import halves
from tests.stream.talk import Talk
from tests.truth import impair, messages, mpastream, pcapfile
from tests.truth.impair import ACK, PSH, Segment


def in_turn(seed: int, count: int, sizes: tuple[int, ...], *, crc: bool, markers: bool) -> bytes:
    """A capture of so many connections at the same time, in segments of one of the sizes."""
    rng = random.Random(seed)
    scripts = []
    for number in range(count):
        pair = halves(rng, markers=(markers, False), crc=crc, count=12, mulpdu=900)
        cut = [impair.cut_mss(each.octets, rng.choice(sizes)) for each in pair]
        segments = impair.conversation(pair, (cut[0], cut[1]), rng, close="fin")
        scripts.append(pcapfile.frames(segments, ports=(40000 + number, 4000)))
    frames = []
    while scripts:
        script = rng.choice(scripts)
        frames += script[:3]
        del script[:3]
        if not script:
            scripts.remove(script)
    return pcapfile.pcap(frames)


@given(
    seed=st.integers(0, 2**32),
    count=st.integers(1, 12),
    most=st.integers(1, 12),
    idle=st.sampled_from((0.001, 0.1, 7200)),
    half=st.sampled_from((1, 500, 100_000, 1 << 17, 4 << 20)),
    crc=st.booleans(),
    markers=st.booleans(),
)
def test_many_connections(
    seed: int, count: int, most: int, idle: float, half: int, crc: bool, markers: bool
) -> None:
    """Connections in turn, more of them than may be followed: the same are ended, as the same."""
    octets = in_turn(seed, count, (700, 1448), crc=crc, markers=markers)
    limits = Limits(octets_per_half=half, connections=most, idle_seconds=idle)
    assert straight(octets, limits) == recovery(octets, limits)


@pytest.mark.parametrize(
    ("connections", "count", "length"),
    [(1, 255, 100), (1, 256, 100), (1, 300, 100), (1, 16, 60000), (1, 20, 60000), (6, 15, 60000)],
)
def test_more_behind_a_hole_than_may_be_kept(connections: int, count: int, length: int) -> None:
    """Segments, or octets, of one connection or of all together, up to the limits and beyond."""
    rng = random.Random(count)
    ulpdus = [messages.send(msn, rng.randbytes(length), 65000)[0] for msn in range(count + 40)]
    request, reply = (
        mpastream.startup_frame(key, crc=1) for key in (mpastream.REQUEST_KEY, mpastream.REPLY_KEY)
    )
    acknowledged, at = 1 + len(reply), 1 + len(request)
    segments = []
    for ulpdu in ulpdus:
        octets = mpastream.build_stream([ulpdu])[0]
        segments.append(Segment(0, at, acknowledged, PSH | ACK, octets))
        at += len(octets)
    first, missed, behind = segments[:20], segments[20], segments[21 : 21 + count]
    first[:0] = [
        Segment(0, 1, 1, PSH | ACK, request),
        Segment(1, 1, 1 + len(request), PSH | ACK, reply),
    ]
    scripts = [
        (
            pcapfile.frames(first, ports=(40000 + number, 4000)),
            pcapfile.frames(behind, ports=(40000 + number, 4000)),
            pcapfile.frames([missed, *segments[21 + count :]], ports=(40000 + number, 4000)),
        )
        for number in range(connections)
    ]
    frames = [frame for part in range(3) for script in scripts for frame in script[part]]
    octets = pcapfile.pcap(frames)
    lines = recovery(octets, Limits())
    assert sum(line.startswith('{"type":"fpdu"') for line in lines) == connections * len(ulpdus)
    assert straight(octets, Limits()) == lines
    # Those who hold less say of more holes that there was no room.
    for limits in (Limits(), Limits(octets_per_half=1 << 17), Limits(octets_in_total=1 << 18)):
        by_recovery, by_both = texts(octets, limits=limits)
        assert by_both == by_recovery


@pytest.mark.parametrize("far", [0, 60, 120])
def test_what_lies_far_ahead_counts_as_well(far: int) -> None:
    """Segments far behind a hole, then those right behind it: together more than may be kept."""
    rng = random.Random(far)
    ulpdus = [messages.send(msn, rng.randbytes(1000), 1200)[0] for msn in range(500)]
    stream, truth = mpastream.build_stream(ulpdus)
    startups = [
        mpastream.startup_frame(key, crc=1) for key in (mpastream.REQUEST_KEY, mpastream.REPLY_KEY)
    ]
    behind = 1 + len(startups[0])
    sent = [
        Segment(0, behind + fpdu.start, 1 + len(startups[1]), ACK, stream[fpdu.start : fpdu.end])
        for fpdu in truth
    ]
    segments = [
        Segment(0, 1, 1, PSH | ACK, startups[0]),
        Segment(1, 1, behind, PSH | ACK, startups[1]),
        *sent[:20],
        *sent[320 : 320 + far],
        *sent[21:210],
        sent[20],
        *sent[210:320],
        *sent[320 + far :],
    ]
    octets = pcapfile.pcap(pcapfile.frames(segments))
    by_recovery, by_both = texts(octets, limits=Limits(octets_in_total=1 << 18))
    assert by_both == by_recovery
    # 249 of them take more than 256 KiB, 189 do not.
    assert (b"gap" in by_recovery) == (far > 0)


def half_told(number: int, length: int) -> list[bytes]:
    """A connection with two FPDUs each way, and a long one that the capture ends in."""
    rng = random.Random(number)
    request, reply = (
        mpastream.startup_frame(key, crc=1) for key in (mpastream.REQUEST_KEY, mpastream.REPLY_KEY)
    )
    talk = Talk((0, 0), syn=False)
    talk.say(0, request)
    talk.say(1, reply)
    for msn in (1, 2):
        for direction in (0, 1):
            talk.say(direction, mpastream.build_stream([messages.send(msn, b"", 65000)[0]])[0])
    long = mpastream.build_stream([messages.send(3, rng.randbytes(length), 65000)[0]])[0]
    talk.say(0, long[: (len(long) - 1) // 1448 * 1448], size=1448)
    return pcapfile.frames(talk.segments, ports=(40000 + number, 4000))


@pytest.mark.parametrize("total", [20_000, 300_000, 1 << 20])
def test_pieces_count_like_all_other_octets(total: int) -> None:
    """Thirty long FPDUs that are begun hold no more than may be held in all, whoever reads them."""
    scripts = [half_told(number, 60_000) for number in range(30)]
    octets = pcapfile.pcap([frame for turn in zip(*scripts, strict=True) for frame in turn])
    flows, decoder = Flows(limits=Limits(octets_in_total=total)), Decoder()
    most = 0
    for frame in open_capture(io.BytesIO(octets)):
        segment = decoder.segment(frame)
        assert segment is not None
        flows.take(segment)
        most = max(most, sum(each.have for each in flows.directions.values()))
    assert most <= total + 1448
    assert (most > 0) == (total > 60_000)
    lines = straight(octets, Limits(octets_in_total=total))
    given_up = [line for line in lines if '"type":"gap"' in line and '"reason":"limit"' in line]
    assert given_up
    fpdus = [line for line in lines if line.startswith('{"type":"fpdu"')]
    assert len(fpdus) == len(set(fpdus)) == 30 * 4
    # With room for all of them nothing is given up, and the rest is the same.
    every = straight(octets, Limits())
    assert not any('"reason":"limit"' in line for line in every)
    assert [line for line in every if line.startswith('{"type":"fpdu"')] == fpdus


@given(
    seed=st.integers(0, 2**32),
    count=st.integers(1, 12),
    total=st.sampled_from((1, 2_000, 6_000, 20_000)),
    crc=st.booleans(),
    markers=st.booleans(),
)
def test_little_room_in_all(seed: int, count: int, total: int, crc: bool, markers: bool) -> None:
    """Whatever gives way: nothing is told that is not there, nothing twice, and no startup lost."""
    octets = in_turn(seed, count, (300, 700, 1448), crc=crc, markers=markers)
    every = told(straight(octets, Limits()))
    some = told(straight(octets, Limits(octets_in_total=total)))
    assert some["startup"] == every["startup"]
    assert len(some["connection"]) == len(every["connection"])
    assert len(set(some["fpdu"])) == len(some["fpdu"])
    assert set(some["fpdu"]) <= set(every["fpdu"])


def told(lines: list[str]) -> dict[str, list[tuple[Any, ...]]]:
    """What lines say was there, by their type; FPDUs and startup frames by what they are."""
    by_type: dict[str, list[tuple[Any, ...]]] = {"startup": [], "fpdu": [], "connection": []}
    for line in lines:
        record = json.loads(line)
        if record["type"] in by_type:
            keys = ("connection", "src", "seq", "ulpdu_length", "crc", "markers")
            by_type[record["type"]].append(tuple(record.get(key) for key in keys))
    return by_type


@pytest.mark.parametrize(("most", "kept"), [(1, 1), (7, 7), (1000, 31)])
def test_control_octets_of_any_value(monkeypatch: pytest.MonkeyPatch, most: int, kept: int) -> None:
    """So many shapes are kept and no more, once for all connections: there are 31."""
    monkeypatch.setattr(shapes, "_MOST", most)
    frames = []
    for number in range(4):
        ulpdus = [struct.pack(">H16x", control) for control in range(0, 1 << 16, 1 << 11)]
        start = 1020
        segments = [
            Segment(0, 1000, 1, PSH | ACK, mpastream.startup_frame(mpastream.REQUEST_KEY, crc=1)),
            Segment(1, 1, start, PSH | ACK, mpastream.startup_frame(mpastream.REPLY_KEY, crc=1)),
        ]
        for at, ulpdu in enumerate(ulpdus):
            octets = mpastream.build_stream([ulpdu])[0]
            segments.append(Segment(0, start + len(octets) * at, 21, PSH | ACK, octets))
        frames.append(pcapfile.frames(segments, ports=(40000 + number, 4000)))
    octets = pcapfile.pcap([frame for turn in zip(*frames, strict=True) for frame in turn])
    lines = recovery(octets, Limits())
    flows, decoder, sizes = Flows(), Decoder(), [0]
    for frame in open_capture(io.BytesIO(octets)):
        segment = decoder.segment(frame)
        assert segment is not None
        flows.take(segment)
        sizes += [len(each.shapes) for each in flows.directions.values()]
    assert max(sizes) == kept
    assert straight(octets, Limits()) == lines
