# SPDX-License-Identifier: GPL-2.0-or-later
"""Segments in a row that look alike, and all that may come between them."""

from __future__ import annotations

import io
import json
import random

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from scapy_mpa.capture import source
from tests.straight.ways import recovery, same, texts
from tests.truth import messages, mpastream, pcapfile
from tests.truth.impair import ACK, PSH, Segment

IP_AT, TCP_AT = 14, 34
START = 1_700_000_000_000_000_000


def _segments(
    rng: random.Random, kind: str, size: int, isn: int, every: int
) -> tuple[list[Segment], int]:
    """FPDUs of one length, a segment each, acknowledged now and then; and how many they are."""
    if kind == "write":
        ulpdus = messages.write(7, 1 << 33, rng.randbytes(size * 60), mulpdu=size + 14)
    else:
        ulpdus = [
            messages.send(msn, rng.randbytes(size), mulpdu=size + 18)[0] for msn in range(1, 61)
        ]
    octets, truth = mpastream.build_stream(ulpdus)
    segments = []
    for at, fpdu in enumerate(truth):
        begin, end = fpdu.start, fpdu.end
        flags = ACK | PSH if rng.random() < 0.2 else ACK
        segments.append(Segment(0, isn + begin & 0xFFFFFFFF, 1, flags, octets[begin:end]))
        if not (at + 1) % every:
            segments.append(Segment(1, 1, isn + end & 0xFFFFFFFF, ACK, b""))
    return segments, len(truth)


def _changed(rng: random.Random, what: str, segment: Segment) -> list[bytes]:
    """The frame of a segment, with something about it that is not as usual, or something else."""
    options = rng.choice((b"", b"\1" * 12)) if what == "options" else b""
    if what == "acknowledged":
        number = segment.ack + rng.choice((-70, -1, 1, 1 << 31)) & 0xFFFFFFFF
        segment = segment._replace(ack=number)
    elif what == "flags":
        segment = segment._replace(flags=segment.flags | rng.choice((1, 2, 4, 32, 64)))
    elif what == "elsewhere":
        segment = segment._replace(seq=segment.seq + rng.choice((-1, 1, 99)) & 0xFFFFFFFF)
    frame = bytearray(pcapfile.frame(segment, tcp_options=options))
    if what == "damage":
        frame[rng.randrange(TCP_AT + 20, len(frame))] ^= 1 << rng.randrange(8)
    elif what == "fragment":
        frame[IP_AT + 6] ^= 0x20
    elif what == "time to live":
        frame[IP_AT + 8] -= 1
    elif what == "service":
        frame[IP_AT + 1] ^= 2
    elif what == "protocol":
        frame[IP_AT + 9] = 17
    elif what == "hardware address":
        frame[3] ^= 1
    elif what == "trailer":
        frame += bytes(4)
    elif what == "header":
        frame[rng.randrange(TCP_AT + 20)] ^= 1 << rng.randrange(8)
    elif what == "total length":
        # 0 is what IP says of a large segment before the interface card has cut it.
        total = rng.choice((0, 0, 1, 20, 39, 40, 41))
        frame[IP_AT + 2 : IP_AT + 4] = total.to_bytes(2, "big")
    elif what == "cut":
        del frame[-8:]
    elif what == "twice":
        return [bytes(frame), bytes(frame)]
    elif what == "missing":
        return []
    elif what == "another":
        other = pcapfile.frame(segment, hosts=("10.0.0.3", "10.0.0.2"))
        return [other, bytes(frame)]
    elif what == "no TCP":
        return [bytes(60), bytes(frame)]
    return [bytes(frame)]


CHANGES = (
    "acknowledged",
    "another",
    "cut",
    "damage",
    "elsewhere",
    "flags",
    "fragment",
    "hardware address",
    "header",
    "missing",
    "no TCP",
    "options",
    "protocol",
    "service",
    "time to live",
    "total length",
    "trailer",
    "twice",
)


@pytest.mark.parametrize("what", ["nothing", *CHANGES])
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 2**32),
    kind=st.sampled_from(("write", "send")),
    size=st.sampled_from((10, 64, 500, 1442)),
    isn=st.sampled_from((1000, (1 << 32) - 9000)),
    every=st.integers(1, 5),
    order=st.sampled_from("<>"),
    nanoseconds=st.booleans(),
)
def test_anything_between(
    what: str,
    seed: int,
    kind: str,
    size: int,
    isn: int,
    every: int,
    order: str,
    nanoseconds: bool,
) -> None:
    """Whatever a frame has that others have not, recovery alone says the same."""
    rng = random.Random(seed)
    segments, count = _segments(rng, kind, size, isn, every)
    unusual = {rng.randrange(15, 40), rng.randrange(40, len(segments))}
    frames = []
    for at, segment in enumerate(segments):
        frames += _changed(rng, what if at in unusual else "nothing", segment)
    octets = pcapfile.pcap(
        frames, order=order, nanoseconds=nanoseconds, start=START, step=rng.choice((1, 77, 10**8))
    )
    lines = same(octets)
    if what == "nothing":
        fpdus = [json.loads(line) for line in lines if line.startswith('{"type":"fpdu"')]
        assert [fpdu["crc"] for fpdu in fpdus] == ["good"] * count


class Fails(io.BytesIO):
    """A file that gives some octets, and then an error."""

    def __init__(self, octets: bytes, good: int) -> None:
        super().__init__(octets)
        self._good = good

    def read1(self, size: int | None = -1, /) -> bytes:
        """Read what there is up to the error."""
        left = self._good - self.tell()
        if not left:
            raise OSError(5, "Input/output error")
        return super().read1(left if size is None or size < 0 else min(size, left))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 2**32),
    kind=st.sampled_from(("write", "send")),
    size=st.sampled_from((10, 64, 500, 1442)),
    every=st.integers(1, 5),
    chunk=st.integers(60, 9000),
    good=st.floats(0, 1),
)
# An acknowledgement of which only the trailer lies in the next window.
@example(seed=0, kind="write", size=10, every=1, chunk=74, good=0.0)
def test_windows_of_any_size(
    seed: int, kind: str, size: int, every: int, chunk: int, good: float
) -> None:
    """A streak goes on where records lie in two windows; a file that fails loses nothing read."""
    segments, count = _segments(random.Random(seed), kind, size, 1000, every)
    octets = pcapfile.pcap([pcapfile.frame(segment) for segment in segments], start=START)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "_CHUNK", chunk)
        lines = recovery(octets)
        assert sum(line.startswith('{"type":"fpdu"') for line in lines) == count
        by_recovery, by_both = texts(octets)
        assert by_both == by_recovery
        read = max(int(good * len(octets)), 24)
        by_recovery, by_both = texts(octets, lambda: Fails(octets, read))
        assert by_both == by_recovery
