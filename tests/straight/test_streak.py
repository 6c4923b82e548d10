# SPDX-License-Identifier: GPL-2.0-or-later
"""Segments in a row that look alike, and all that may come between them."""

from __future__ import annotations

import io
import json
import random
from dataclasses import dataclass, replace

import pytest
from crc32c import crc32c
from hypothesis import example, given
from hypothesis import strategies as st

from scapy_mpa.capture import source
from tests.straight.ways import recovery, same, texts
from tests.truth import impair, messages, mpastream, pcapfile
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


@pytest.mark.examples
@pytest.mark.parametrize("what", ["nothing", *CHANGES])
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


def _with_copies(
    sendings: list[impair.Sending], rng: random.Random, rate: float, differing: float
) -> list[impair.Sending]:
    """Repeat sendings, some of them with other octets; the right ones are captured first."""
    result: list[impair.Sending] = []
    for sending in sendings:
        result.append(sending)
        if rng.random() < rate:
            again = rng.choice(result[-30:])
            if rng.random() < differing:
                octets = bytearray(again.payload)
                octets[rng.randrange(len(octets))] ^= 0x40
                again = replace(again, payload=bytes(octets))
            result.append(again)
    return result


def _damaged(rng: random.Random, fpdu: bytes) -> bytes:
    """An FPDU with a wrong octet, or with a ULPDU_Length that lies and a CRC to go with it.

    Of a piece of one, an octet is wrong.
    """
    octets = bytearray(fpdu)
    if rng.random() < 0.5 or len(octets) < 8:
        octets[rng.randrange(len(octets))] ^= 0x40
    else:
        octets[1] ^= 8
        octets[-4:] = crc32c(octets[:-4]).to_bytes(4, "little")
    return bytes(octets)


@dataclass(frozen=True)
class Disorder:
    """What happens to segments; shares of them, unless it says otherwise."""

    late: float = 0
    overtaken: float = 0
    copied: float = 0
    differing: float = 0
    """Share of the copies with other octets."""
    elsewhere: float = 0
    """Those behind which there are copies with other boundaries."""
    shifted: float = 0
    """Those that come again a little farther on."""
    damaged: float = 0
    """Those with octets that are not as they were sent."""
    odd: int = 0
    """How many acknowledge what they should not."""


@given(
    seed=st.integers(0, 2**32),
    kind=st.sampled_from(("write", "send", "both")),
    size=st.sampled_from((10, 64, 500, 1442)),
    disorder=st.builds(
        Disorder,
        late=st.sampled_from((0, 0.03, 0.1)),
        overtaken=st.sampled_from((0, 0.15, 0.6)),
        copied=st.sampled_from((0, 0.02, 0.2)),
        differing=st.sampled_from((0, 0, 0.3)),
        elsewhere=st.sampled_from((0, 0, 0.02)),
        shifted=st.sampled_from((0, 0, 0.02)),
        damaged=st.sampled_from((0, 0, 0.02)),
        odd=st.sampled_from((0, 0, 3)),
    ),
    answers=st.integers(0, 20),
    wraps=st.booleans(),
    chunk=st.sampled_from((200, 5000, 40000, 7 << 14)),
)
# A number is acknowledged that lies ahead of all, and then one that lies half of all behind that.
@example(
    seed=590649405,
    kind="send",
    size=10,
    disorder=Disorder(late=0.03, overtaken=0.15, differing=0.3, odd=3),
    answers=2,
    wraps=True,
    chunk=5000,
)
def test_any_order(
    seed: int, kind: str, size: int, disorder: Disorder, answers: int, wraps: bool, chunk: int
) -> None:
    """Segments that come late, early, again, with other boundaries and where they do not belong.

    :param answers: FPDUs of the other direction.
    """
    rng = random.Random(seed)
    ulpdus = messages.write(7, 1 << 33, rng.randbytes(size * 75), mulpdu=size + 14)
    sends = [
        messages.send(msn, rng.randbytes(size - 4), mulpdu=size + 14)[0] for msn in range(1, 76)
    ]
    ulpdus = {"write": ulpdus * 2, "send": sends * 2, "both": ulpdus + sends}[kind]
    if kind == "both":
        rng.shuffle(ulpdus)
    pair = []
    for key, sent in (
        (mpastream.REQUEST_KEY, ulpdus),
        (mpastream.REPLY_KEY, sends[:answers]),
    ):
        stream, truth = mpastream.build_stream(sent)
        startup = mpastream.startup_frame(key, crc=1)
        pair.append(impair.Half(startup, stream, truth, rng.randrange(1 << 31)))
    if wraps:
        pair[0] = impair.isn_wrapping_at(pair[0], len(pair[0].octets) // 2 + rng.randrange(9))
    sendings = impair.cut_aligned(pair[0].octets, pair[0].truth)
    sendings = impair.lose_and_retransmit(sendings, rng, disorder.late, 40, seen=rng.random() < 0.5)
    sendings = impair.reorder(sendings, rng, disorder.overtaken, 6)
    sendings = _with_copies(sendings, rng, disorder.copied, disorder.differing)
    sendings = impair.overlap(sendings, pair[0].octets, rng, disorder.elsewhere, 3 * size)
    for _ in range(int(disorder.shifted * len(sendings))):
        at = rng.randrange(len(sendings))
        octets_on = rng.choice((rng.randrange(1, 9 * size), 3 * len(sendings[at].payload)))
        sendings.insert(at, replace(sendings[at], offset=sendings[at].offset + octets_on))
    for _ in range(int(disorder.damaged * len(sendings))):
        at = rng.randrange(len(sendings))
        sendings[at] = replace(sendings[at], payload=_damaged(rng, sendings[at].payload))
    back = impair.cut_aligned(pair[1].octets, pair[1].truth)
    segments = impair.conversation((pair[0], pair[1]), (sendings, back), rng, close=None)
    for _ in range(disorder.odd):
        at = rng.randrange(len(segments))
        ack = segments[at].ack + rng.choice((-70, 1, 5000, 1 << 31)) & 0xFFFFFFFF
        segments[at] = segments[at]._replace(ack=ack)
    octets = pcapfile.pcap([pcapfile.frame(segment) for segment in segments])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "_CHUNK", chunk)
        by_recovery, by_both = texts(octets)
        assert by_both == by_recovery
        lines = recovery(octets)
        if not disorder.shifted and not disorder.damaged:
            assert sum(line.startswith('{"type":"fpdu"') for line in lines) == 150 + answers
