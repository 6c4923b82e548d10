# SPDX-License-Identifier: GPL-2.0-or-later
"""Several captures in one, with frames missing, moved, copied, and cut: both ways say the same."""

from __future__ import annotations

import random

import pytest

from scapy_mpa.capture import Frame, open_capture
from tests.capture import build
from tests.captures import OVER_TCP
from tests.straight.ways import same

SMALL = [path for path in OVER_TCP if path.stat().st_size < 1 << 15 and path.suffix == ".pcap"]
IPV4 = b"\x08\x00\x45"


def elsewhere(frame: Frame, number: int) -> Frame:
    """The same frame from and to other hosts, if that is easy."""
    octets = bytearray(frame.octets)
    if octets[12:15] == IPV4:
        octets[26] ^= number
        octets[30] ^= number
    return frame._replace(octets=bytes(octets))


def hurt(frames: list[Frame], rng: random.Random) -> list[Frame]:
    """What a capture may have made of frames."""
    found = []
    for frame in frames:
        what = rng.random()
        octets, length = bytearray(frame.octets), frame.original_length
        if what < 0.03:
            continue
        if what < 0.08 and octets[12:15] == IPV4:
            # A segment before the interface card cut it; perhaps the snap length did.
            octets[16:18] = bytes(2)
            length += rng.choice((0, 0, 4, 100_000))
        elif what < 0.1:
            del octets[rng.randrange(len(octets)) :]
        found += [frame._replace(octets=bytes(octets), original_length=length)] * (
            1 + (what > 0.97)
        )
    for _ in range(rng.randrange(5)):
        frame = found.pop(rng.randrange(len(found)))
        found.insert(rng.randrange(len(found) + 1), frame)
    return found


@pytest.mark.parametrize("seed", range(40))
def test_mixtures(seed: int) -> None:
    """Connections that begin, end and go wrong while others are ordinary."""
    rng = random.Random(seed)
    mixed: list[tuple[float, Frame]] = []
    for number in range(rng.randint(2, 4)):
        with open_capture(rng.choice(SMALL)) as capture:
            frames = [elsewhere(frame, number) for frame in capture]
        frames = hurt(frames, rng) if rng.random() < 0.7 else frames
        begin, step = rng.random() * 40, rng.random()
        mixed += [(begin + at * step, frame) for at, frame in enumerate(frames)]
    mixed.sort(key=lambda each: each[0])
    # No connection that is over is let go of: when that is told, differs between the two.
    octets = build.pcap(
        (1_700_000_000 + at // 100, at % 100, frame.octets, frame.original_length)
        for at, (_, frame) in enumerate(mixed)
    )
    same(octets)
