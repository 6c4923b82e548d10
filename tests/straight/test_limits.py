# SPDX-License-Identifier: GPL-2.0-or-later
"""The straight path keeps the same limits as recovery alone, and ends the same connections."""

import io
import random
import struct
from collections.abc import Collection, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.capture import open_capture
from scapy_mpa.stream import shapes
from scapy_mpa.stream.direction import Direction
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.limits import Limits
from tests.straight.ways import by_turns, connection, recovery, straight
from tests.stream.feed import decoded
from tests.stream.scene import Scene
from tests.truth import messages, mpastream, pcapfile


@given(
    seed=st.integers(0, 2**32),
    count=st.integers(1, 7),
    most=st.integers(1, 7),
    idle=st.sampled_from((0.001, 0.1, 7200)),
    half=st.sampled_from((1, 500, 100_000, 1 << 17, 4 << 20)),
    crc=st.booleans(),
    markers=st.booleans(),
)
def test_many_connections(
    seed: int, count: int, most: int, idle: float, half: int, crc: bool, markers: bool
) -> None:
    """If there are more connections than may be followed, both ways end the same ones."""
    rng = random.Random(seed)
    options: dict[str, Any] = {"crc": crc, "markers": (markers, False), "count": 8}
    scripts = [
        pcapfile.frames(connection(rng, sizes=(700, 1448), **options)[1], ports=(number, 4000))
        for number in range(40_000, 40_000 + count)
    ]
    octets = pcapfile.pcap(by_turns(rng, scripts))
    limits = Limits(octets_per_half=half, connections=most, idle_seconds=idle)
    assert straight(octets, limits) == recovery(octets, limits)


def unfinished(number: int, length: int, head: int) -> list[bytes]:
    """A connection with two FPDUs each way, and a long one without its end.

    :param head: octets of the long FPDU in its first segment.
    """
    rng = random.Random(number)
    talk = Scene("... >Q <A")
    for msn in (1, 2):
        for direction in (0, 1):
            talk.say(direction, mpastream.build_stream([messages.send(msn, b"", 65000)[0]])[0])
    long = mpastream.build_stream([messages.send(3, rng.randbytes(length), 65000)[0]])[0]
    talk.say(0, long[:head])
    talk.say(0, long[head : (len(long) - 1) // 1448 * 1448], size=1448)
    return pcapfile.frames(talk.segments, ports=(40000 + number, 4000))


def followed(octets: bytes, limits: Limits) -> Iterator[Collection[Direction]]:
    """Read a capture; after each frame, yield the directions on the straight path."""
    flows = Flows(limits=limits)
    for segment in decoded(open_capture(io.BytesIO(octets))):
        flows.take(segment)
        yield flows.directions.values()


@pytest.mark.parametrize("head", [1448, 10])
@pytest.mark.parametrize("total", [20_000, 300_000])
def test_pieces_count_like_all_other_octets(total: int, head: int) -> None:
    """A dozen unfinished FPDUs hold no more octets than the limit for all directions."""
    scripts = [unfinished(number, 60_000, head) for number in range(12)]
    octets = pcapfile.pcap([frame for turn in zip(*scripts, strict=True) for frame in turn])
    limits = Limits(octets_in_total=total)
    most = max(sum(half.pieces_length for half in halves) for halves in followed(octets, limits))
    assert most <= total + 1448
    assert (most > len(scripts) * head) == (total > 60_000)
    lines = straight(octets, limits)
    given_up = [line for line in lines if '"type":"gap"' in line and '"reason":"limit"' in line]
    assert given_up
    fpdus = [line for line in lines if line.startswith('{"type":"fpdu"')]
    assert len(fpdus) == len(set(fpdus)) == 12 * 4
    # Without that limit nothing is given up, and the same FPDUs are found.
    every = straight(octets, Limits())
    assert not any('"reason":"limit"' in line for line in every)
    assert [line for line in every if line.startswith('{"type":"fpdu"')] == fpdus


@pytest.mark.parametrize(("most", "kept"), [(1, 1), (7, 7), (1000, 31)])
def test_control_octets_of_any_value(monkeypatch: pytest.MonkeyPatch, most: int, kept: int) -> None:
    """At most ``most`` shapes are kept, for all connections together.  The capture has 31."""
    monkeypatch.setattr(shapes, "_MOST", most)
    frames = []
    for number in range(4):
        ulpdus = [struct.pack(">H16x", control) for control in range(0, 1 << 16, 1 << 11)]
        talk = Scene("... >Q <A")
        for ulpdu in ulpdus:
            talk.say(0, mpastream.build_stream([ulpdu])[0])
        frames.append(pcapfile.frames(talk.segments, ports=(40000 + number, 4000)))
    octets = pcapfile.pcap([frame for turn in zip(*frames, strict=True) for frame in turn])
    lines = recovery(octets, Limits())
    sizes = [len(half.shapes) for halves in followed(octets, Limits()) for half in halves]
    assert max(sizes) == kept
    assert straight(octets, Limits()) == lines
